"""Running sums along rows, and a filter along columns, in one pass and in two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim
from parhelion.runtime.threads import get_num_threads

SIZES = [(64, 16), (100, 37), (333, 50), (1040, 511), (17, 8)]
TYPES = ["float32", "float64", "uint8", "int16", "int32", "uint64"]


def table(image: Any, down: bool = True, coefficient: float = 1) -> RecFilter:
    height, width = image.shape
    x, y = RecFilterDim("x", width), RecFilterDim("y", height)
    made = RecFilter("table")
    made[x, y] = hl.Buffer(image)[x, y]
    made.add_filter(+x, [1, 1])
    made.add_filter(+y if down else -y, [1, coefficient])
    return made


def sums(image: Any, down: bool) -> Any:
    rows = np.cumsum(image, 1, image.dtype)
    if down:
        return np.cumsum(rows, 0, image.dtype)
    return np.cumsum(rows[::-1], 0, image.dtype)[::-1]


@pytest.fixture(params=[1, 4])
def threads(request: pytest.FixtureRequest) -> Any:
    before = get_num_threads()
    hl.set_num_threads(request.param)
    yield request.param
    hl.set_num_threads(before)


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("t", TYPES)
def test_tables(t: str, size: tuple[int, int], down: bool, threads: int) -> None:
    image = np.random.default_rng(2).integers(0, 4, size[::-1]).astype(t)
    got = np.asarray(table(image, down).realize())
    assert got.dtype == image.dtype
    assert np.array_equal(got, sums(image, down))


def test_floats_do_not_depend_on_threads() -> None:
    image = np.random.default_rng(2).random((37, 333), np.float32) - 0.5
    before, found = get_num_threads(), []
    for n in (1, 2, 3):
        hl.set_num_threads(n)
        found.append(np.asarray(table(image).realize()))
    hl.set_num_threads(before)
    assert all([np.array_equal(one, found[0]) for one in found])


def test_any_filter_of_order_one_along_columns(threads: int) -> None:
    image = np.random.default_rng(2).random((40, 100))
    wanted = np.cumsum(image, 1)
    for k in range(1, len(wanted)):
        wanted[k] += 0.5 * wanted[k - 1]
    got = np.asarray(table(image, coefficient=0.5).realize())
    assert np.allclose(got, wanted, rtol=1e-12)


def test_each_pixel_is_summed_up_once() -> None:
    """In one pass, of rows that end within a vector too."""
    before = get_num_threads()
    hl.set_num_threads(1)
    made = table(np.ones((16, 70), np.int32)).as_func()
    events = [e for e in made.trace([70, 16]) if e.kind == "store"]
    hl.set_num_threads(before)
    within = [e for e in events if e.func == "table_0" and e.coordinates[0] >= 0]
    assert len(within) == len([e for e in events if e.func == "table"]) == 70 * 16
