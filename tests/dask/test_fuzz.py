"""A tenth of the cases of `tests.dask.fuzz`, and of those of reductions and scans."""

from __future__ import annotations

import pytest

from tests.dask import fuzz_folds, fuzz_scans
from tests.dask.fuzz import check


@pytest.mark.parametrize("part", range(5))
def test_chunks_are_as_the_whole(part: int) -> None:
    came_to = [check(27_000_000 + 10 * part + k) for k in range(10)]
    assert came_to.count("same") >= 8


def test_folds_are_as_of_the_whole() -> None:
    came_to = [fuzz_folds.check(27_000_000 + k) for k in range(8)]
    assert came_to.count("same") >= 4


def test_scans_are_as_of_the_whole() -> None:
    assert {fuzz_scans.check(27_000_000 + k) for k in range(4)} == {"same"}
