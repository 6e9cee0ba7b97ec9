"""A tenth of the cases of `tests.dask.fuzz`."""

from __future__ import annotations

import pytest

from tests.dask.fuzz import check


@pytest.mark.parametrize("part", range(5))
def test_chunks_are_as_the_whole(part: int) -> None:
    came_to = [check(27_000_000 + 10 * part + k) for k in range(10)]
    assert came_to.count("same") >= 8
