"""A small share of the fuzzer of gradients; `make fuzz` runs more."""

from __future__ import annotations

import pytest

from tests.adjoint.fuzz import try_one


@pytest.mark.parametrize("seed", range(4))
def test_gradients_of_random_pipelines(seed: int) -> None:
    try_one(seed)
