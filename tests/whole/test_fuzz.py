"""Some random functions of arrays, each with several sizes."""

from __future__ import annotations

import pytest

from tests.whole.fuzz import try_one


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_random_functions(start: int) -> None:
    assert sum([try_one(seed) for seed in range(start, start + 10)]) > 5
