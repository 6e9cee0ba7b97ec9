"""Random pipelines over videos; `tests/stream/fuzz.py` draws more of them."""

from __future__ import annotations

import pytest

from tests.stream.fuzz import check


def test_some_of_them_keep_funcs() -> None:
    assert sum([check(seed) for seed in range(500, 504)]) >= 1


@pytest.mark.parametrize(
    "seed", [2, 5, 33, 41, 71, 143, 175, 180, 6005, *range(1, 120, 17)]
)
def test_a_random_pipeline(seed: int) -> None:
    check(seed)
