"""Indices and sizes at the ends of their types: nothing leaves its buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")
xo, xi = hl.vars("xo xi")


NOT_NUMBERS = np.array(
    [np.nan, np.inf, -np.inf, 1e30, -1e30, 3.5, 2.0**31, -0.0], np.float32
)


@pytest.mark.parametrize(
    "index",
    [
        lambda v: hl.i32(hl.clamp(v, 2.0, 9.0)),
        lambda v: hl.i32(hl.clamp(v, 2.0, 9.0) * 2.0 - 2.0),
        lambda v: hl.i32(hl.max(hl.min(v, 9.0), 0.0)),
        lambda v: hl.i32(hl.sin(v) * 4 + 5),
        lambda v: hl.clamp(hl.i32(hl.clamp(v, 2.0, 9.0)), 2, 9),
        lambda v: hl.i32(hl.u16(hl.clamp(v, 2.0, 9.0))),
        lambda v: hl.i32(v - hl.floor(v)),
        lambda v: hl.i32(hl.clamp(v, 2.0, 9.0)) + 1,
        lambda v: hl.i32(hl.clamp(v, 2.0, 9.0)) - 2,
    ],
)
@pytest.mark.parametrize("lanes", [1, 8])
def test_nan_indexes_nothing_out_of_bounds(index: Any, lanes: int) -> None:
    """NaN becomes some integer inside of the bounds of what it comes from."""
    p = hl.ImageParam(hl.Float(32), 1, "p")
    t = hl.ImageParam(hl.UInt(8), 1, "t")
    f, g = hl.funcs("f g")
    f[x] = t[hl.clamp(index(p[x]), 0, 1000)]
    # The same with nothing that bounds the index once more.
    r = hl.RDom([(0, len(NOT_NUMBERS))], "r")
    g[x] = 0
    g[index(p[r]) % 32] += 1
    if lanes > 1:
        f.vectorize(x, lanes)
    p.set(NOT_NUMBERS)
    t.set(np.arange(1001, dtype=np.uint8))
    f.realize([8])
    assert int(np.asarray(g.realize([32])).sum()) == len(NOT_NUMBERS)


def test_nan_reads_within_the_inferred_bounds() -> None:
    p = hl.ImageParam(hl.Float(32), 1, "p")
    f, g = hl.funcs("f g")
    g[x] = x * 10
    f[x] = g[hl.i32(hl.clamp(p[x], 2.0, 9.0))]
    g.compute_root()
    f.vectorize(x, 8)
    p.set(NOT_NUMBERS)
    values = np.asarray(f.realize([8]))
    assert values.min() >= 20 and values.max() <= 90
    assert values[5] == 30


def test_the_limit_of_recursion_is_the_users_own() -> None:
    import sys

    before = sys.getrecursionlimit()
    f = hl.Func("f")
    f[x] = x + 1
    f.realize([4])
    assert sys.getrecursionlimit() == before


def test_expressions_of_any_depth() -> None:
    b = hl.Buffer(np.arange(600, dtype=np.int32))
    f, g = hl.funcs("f g")
    e = hl.i32(x)
    for i in range(500):
        e = e + b[x + i] * (i % 7)
    f[x] = e
    deep: Any = hl.f32(x)
    for _ in range(1500):
        deep = hl.sqrt(deep + 1.0)
    g[x] = deep
    want = [k + sum((k + i) * (i % 7) for i in range(500)) for k in range(4)]
    assert np.asarray(f.realize([4])).tolist() == want
    assert np.allclose(np.asarray(g.realize([4])), 1.618034)


EXTREMES = np.array([0, 5, 46341, 2**31 - 1, -(2**31), -1, 9, 100], np.int32)


@pytest.mark.parametrize(
    "index",
    [
        lambda v: hl.min(hl.max(v, 0) + 1, 9),
        lambda v: hl.select(v >= 0, hl.min(v + 1, 9), 0),
        lambda v: hl.min(v * v, 9),
    ],
)
@pytest.mark.parametrize("lanes", [1, 8])
def test_pixels_that_overflow_index_nothing_out_of_bounds(
    index: Any, lanes: int
) -> None:
    p = hl.ImageParam(hl.Int(32), 1, "p")
    t = hl.ImageParam(hl.UInt(8), 1, "t")
    f, g, h = hl.funcs("f g h")
    r = hl.RDom([(0, len(EXTREMES))], "r")
    f[x] = t[index(p[x])]
    g[x] = 0
    g[index(p[r])] += 1
    h[x] = index(p[x])
    k = hl.Func("k")
    k[x] = t[h[x]]
    h.compute_root()
    if lanes > 1:
        f.vectorize(x, lanes)
        k.vectorize(x, lanes)
    p.set(EXTREMES)
    t.set(np.arange(10, dtype=np.uint8))
    assert np.asarray(f.realize([8])).max() <= 9
    assert np.asarray(k.realize([8])).max() <= 9
    assert int(np.asarray(g.realize([10])).sum()) == len(EXTREMES)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9, 1e30, -1e30], ids=str)
def test_float_params_index_nothing_out_of_bounds(value: float) -> None:
    p = hl.ImageParam(hl.UInt(8), 1, "p")
    q = hl.Param(hl.Float(32), "q")
    f = hl.Func("f")
    f[x] = p[hl.i32(x * q)]
    p.set(np.arange(10, dtype=np.uint8))
    q.set(0.5)
    assert np.asarray(f.realize([8])).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    q.set(value)
    # A float beyond 32 bits is the furthest coordinate; infinity by zero is none.
    far = np.isfinite(value)
    told = "'p' is too small in dim" if far else "'p' that is needed overflows"
    with pytest.raises(hl.BoundsError, match=told):
        f.realize([8])


@pytest.mark.parametrize("value", [1 << 30, (1 << 31) - 1, -(1 << 31), -(1 << 30)])
def test_storage_further_in_that_overflows(value: int) -> None:
    q = hl.Param(hl.Int(32), "q")
    f, g = hl.funcs("f g")
    g[x] = hl.u8(x)
    f[x] = g[x * q]
    f.split(x, xo, xi, 4)
    g.compute_at(f, xo)
    q.set(3)
    assert np.asarray(f.realize([8])).tolist() == list(range(0, 24, 3))
    q.set(value)
    with pytest.raises(hl.BoundsError, match="'g.*' that is needed overflows"):
        f.realize([8])
