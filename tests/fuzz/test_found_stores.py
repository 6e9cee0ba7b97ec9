"""Stores found by fuzzing that wrote where they should not have."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl

x, xo, xi = hl.Var("x"), hl.Var("xo"), hl.Var("xi")
xoo, xoi = hl.Var("xoo"), hl.Var("xoi")


@pytest.mark.parametrize("size", range(1, 24))
def test_the_last_lanes_of_a_narrowed_vector(size: int) -> None:
    """A mask of one constant lane: LLVM stored it as it was before it was narrowed,
    three bytes further than the end of the output."""
    wide, f = hl.Func("wide"), hl.Func("f")
    wide[x] = hl.i32(x) * 3 + 1000
    f[x] = hl.cast(hl.UInt(8), wide[x])
    wide.compute_root()
    f.bound(x, 0, size)
    f.split(x, xo, xi, 8, hl.TailStrategy.PredicateStores).vectorize(xi)
    room = np.full(64, 77, np.uint8)
    f.realize(hl.Buffer(room[:size]))
    wanted = np.full(64, 77, np.uint8)
    wanted[:size] = (np.arange(size) * 3 + 1000).astype(np.uint8)
    assert np.array_equal(room, wanted)


@pytest.mark.parametrize("size", (5, 9, 15))
def test_backwards(size: int) -> None:
    """The same for lanes that are written from last to first."""
    wide, f = hl.Func("wide"), hl.Func("f")
    wide[x] = hl.i32(x) * 3 + 1000
    r = hl.RDom([(0, size)])
    f[x] = hl.cast(hl.UInt(8), 77)
    f[size - 1 - r[0]] = hl.cast(hl.UInt(8), wide[r[0]])
    wide.compute_root()
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    update = f.update().split(r[0], ro, ri, 4, hl.TailStrategy.Predicate)
    update.vectorize(ri)
    f.compute_root()
    wanted = (np.arange(size)[::-1] * 3 + 1000).astype(np.uint8)
    found = np.asarray(f.realize([size + 3]))
    assert np.array_equal(found, [*wanted, 77, 77, 77])


@pytest.mark.parametrize("t", (hl.UInt(8), hl.Int(16)))
@pytest.mark.parametrize(
    "inner", (hl.TailStrategy.GuardWithIf, hl.TailStrategy.Predicate)
)
@pytest.mark.parametrize("size", (3, 5, 19))
def test_the_tail_of_vectors_of_vectors(
    size: int, inner: hl.TailStrategy, t: hl.Type
) -> None:
    """A mask of one lane, of two conditions: three bytes past the end were written."""
    wide, f = hl.Func("wide"), hl.Func("f")
    wide[x] = hl.i32(x) * 3 + 1000
    f[x] = hl.cast(t, wide[x])
    wide.compute_root()
    f.bound(x, 0, size)
    f.split(x, xo, xi, 2, inner).split(xo, xoo, xoi, 2, hl.TailStrategy.GuardWithIf)
    f.vectorize(xi).vectorize(xoi)
    kind = np.uint8 if t == hl.UInt(8) else np.int16
    room = np.full(64, 77, kind)
    f.realize(hl.Buffer(room[:size]))
    wanted = np.full(64, 77, kind)
    wanted[:size] = (np.arange(size) * 3 + 1000).astype(kind)
    assert np.array_equal(room, wanted)
