"""Rows of storage rounded up to whole vectors, in the schedules of the default."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.calls import VarArg
from parhelion.autoschedule.machine.machine import host
from parhelion.autoschedule.search.padding import _gains
from parhelion.interp import interpret

x, y = hl.vars("x y")
SIZE = [400, 300]


def stencils(dtype: hl.Type) -> tuple[hl.Func, hl.Func]:
    """An output, and the Func of which its tiles need their neighbours too."""
    rng = np.random.default_rng(3)
    image = hl.Buffer(rng.integers(0, 99, (304, 404)).astype(np.uint8))
    image.set_min([-2, -2])
    first, out = hl.Func("first"), hl.Func("out")
    value = hl.cast(dtype, image[x, y])
    for _ in range(6):
        value = value * value + hl.cast(dtype, 3)
    first[x, y] = value
    total = hl.cast(dtype, 0)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            total += first[x + dx, y + dy] * hl.cast(dtype, 2 + dx * dy)
    out[x, y] = total
    return out, first


def rows_of(result: hl.AutoSchedulerResults, f: hl.Func) -> list[tuple[str, int]]:
    found = []
    for call in result.script.calls:
        if call.function is f._function and call.method == "align_storage":
            dimension, alignment = call.args
            assert isinstance(dimension, VarArg) and isinstance(alignment, int)
            found.append((dimension.name, alignment))
    return found


@pytest.mark.parametrize("dtype", [hl.UInt(32), hl.UInt(16)])
def test_rows_of_a_tile_are_whole_vectors(dtype: hl.Type) -> None:
    out, first = stencils(dtype)
    result = hl.autoschedule(out, SIZE, parallelism=4)
    assert rows_of(result, first) == [("x", host().vector_bytes // (dtype.bits() // 8))]
    assert ".align_storage(x, " in result.to_python()
    for size in (SIZE, [37, 11]):
        (wanted,) = interpret(out._function, [(0, extent) for extent in size])
        np.testing.assert_array_equal(np.asarray(out.realize(size)).T, wanted)


def test_storage_that_the_user_has_laid_out_stays() -> None:
    out, first = stencils(hl.UInt(32))
    first.align_storage(x, 3)
    result = hl.autoschedule(out, SIZE, parallelism=4)
    assert rows_of(result, first) == []


@pytest.mark.parametrize(
    "extents, gains",
    [
        ([130, 18], True),
        ([130, 18, 3], True),
        ([128, 18], False),  # is a multiple already
        ([130, 1], False),  # has one row only
        ([17, 18], False),  # would become nearly twice as long
        ([255, 18], False),  # rows would lie a kilobyte apart
        ([250, 18], False),  # so they would
        ([266, 18], True),
        ([100, 16, 8], False),  # planes would lie 7 KiB apart
        ([100, 16, 1], True),  # of which there is one
    ],
)
def test_where_longer_rows_gain(extents: Sequence[int], gains: bool) -> None:
    assert _gains(extents, 16, 4) is gains
