"""Code that knows the extent of an output's small dimensions."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret


def colours() -> hl.Func:
    """A producer whose channel 3 every channel of the output needs."""
    x, y, c, cu = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("cu")
    f, out = hl.Func("f"), hl.Func("out")
    f[x, y, c] = x + 10 * y + 100 * c
    out[x, y, c] = f[x, y, c] * f[x + 1, y, 3]
    out.split(c, c, cu, 3).reorder(cu, x, y, c).unroll(cu).vectorize(x, 8)
    f.compute_at(out, y).vectorize(x, 8)
    return out


@pytest.mark.parametrize("channels", [3, 1, 2, 4, 6])
def test_any_extent_is_right(channels: int) -> None:
    out = colours()
    size = [21, 5, channels]
    (wanted,) = interpret(out._function, [(0, e) for e in size])
    for _ in range(2):
        assert np.array_equal(np.asarray(out.realize(size)), wanted.T)


def test_another_place_than_zero_is_right() -> None:
    out = colours()
    (wanted,) = interpret(out._function, [(0, 9), (0, 3), (1, 3)])
    buffer = hl.Buffer(hl.Int(32), [9, 3, 3])
    buffer.set_min([0, 0, 1])
    out.realize(buffer)
    assert np.array_equal(np.asarray(buffer), wanted.T)


def test_code_for_all_of_a_split_has_no_outer_loop() -> None:
    out = colours()
    out.realize([21, 5, 3])
    (program,) = out._pipeline()._runner._programs.values()
    (known,) = program.variant.sizes
    assert known[1:] == (2, 3)
    out.realize([21, 5, 4])
    assert len(out._pipeline()._runner._programs) == 2


def test_a_large_split_is_no_reason_for_other_code() -> None:
    x, xi = hl.Var("x"), hl.Var("xi")
    out = hl.Func("out")
    out[x] = x
    out.split(x, x, xi, 16)
    out.realize([16])
    (program,) = out._pipeline()._runner._programs.values()
    assert not program.variant.sizes
