"""Buffers without pixels, as outputs."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl

x, y = hl.Var("x"), hl.Var("y")


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_nothing_is_computed_into_no_pixels(shape: tuple[int, int]) -> None:
    """NumPy gives some of them strides of 0, which is no broadcast."""
    f = hl.Func("f")
    f[x, y] = x + y
    f.vectorize(x, 8)
    f.realize(hl.Buffer(np.empty(shape, np.int32)))
    f.compile_to_callable([])(hl.Buffer(np.empty(shape, np.int32)))


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0)])
@pytest.mark.parametrize("called", [False, True])
def test_outputs_with_and_without_pixels(sizes: tuple[int, int], called: bool) -> None:
    a, b = hl.Func("a"), hl.Func("b")
    a[x], b[x] = hl.i32(x) + 1, hl.i32(x) + 2
    pipeline = hl.Pipeline([a, b])
    given = [hl.Buffer(np.full(n, -1, np.int32)) for n in sizes]
    with pytest.raises(hl.InvalidBufferError, match="has no pixels, that for '[ab]"):
        if called:
            pipeline.compile_to_callable([])(*given)
        else:
            pipeline.realize(given)
    assert all([np.all(np.asarray(one) == -1) for one in given])
