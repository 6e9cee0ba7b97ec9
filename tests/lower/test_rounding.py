"""Regions seen from outer loops grow by what the tails of splits round, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.errors import BoundsError
from parhelion.ir.build import const_int
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Allocate
from parhelion.lower.passes import lower
from tests.support.spec import spec_of


def chain(tail: Any) -> tuple[Any, Any]:
    """Three stages in strips of lines, each in vectors of 16; the last on 100 pixels
    needs 104 of the input."""
    x, y, yo = hl.Var("x"), hl.Var("y"), hl.Var("yo")
    inp = hl.ImageParam(hl.Int(32), 2, "input")
    f, g, out = hl.Func("f"), hl.Func("g"), hl.Func("out")
    f[x, y] = inp[x - 1, y] + inp[x + 1, y]
    g[x, y] = f[x - 1, y] * f[x + 1, y + 1]
    out[x, y] = g[x, y] - g[x, y + 1]
    out.split(y, yo, y, 4, hl.TailStrategy.GuardWithIf)
    for stage in (g, f):
        stage.store_at(out, yo).compute_at(out, y).vectorize(x, 16, tail)
    return inp, out


def needed(tail: Any, width: int) -> tuple[int, int]:
    """The first and the last pixel of a line of the input."""
    inp, out = chain(tail)
    out.infer_input_bounds([width, 8])
    d = inp.get().dim(0)
    return d.min(), d.max()


@pytest.mark.parametrize("width", [16, 17, 100, 106])
def test_shifting_inwards_needs_what_is_asked_for(width: int) -> None:
    assert needed(hl.TailStrategy.ShiftInwards, width) == (-2, width + 1)


def test_less_than_a_vector_needs_a_vector() -> None:
    # 14 pixels of g are computed as 16 that end with them; so f begins two earlier.
    assert needed(hl.TailStrategy.ShiftInwards, 14) == (-4, 15)


@pytest.mark.parametrize(("width", "last"), [(16, 31), (17, 47), (64, 79)])
def test_rounding_up_needs_whole_vectors(width: int, last: int) -> None:
    # Of 64, g has 64, and f 66, which are 80 from -1 on.
    assert needed(hl.TailStrategy.RoundUp, width) == (-2, last)


@pytest.mark.parametrize("tail", ["ShiftInwards", "RoundUp", "GuardWithIf"])
@pytest.mark.parametrize("width", [5, 16, 37])
def test_result(tail: str, width: int) -> None:
    inp, out = chain(getattr(hl.TailStrategy, tail))
    pixels = np.arange(9 * 100, dtype=np.int32).reshape(9, 100) % 97
    buffer = hl.Buffer(pixels)
    buffer.set_min([-30, 0])
    inp.set(buffer)
    try:
        got = np.asarray(out.realize([width, 7]))
    except BoundsError:
        assert tail == "RoundUp"
        return
    f = pixels[:, 28 : 28 + width + 2] + pixels[:, 30 : 30 + width + 2]
    g = f[:-1, :width] * f[1:, 2 : 2 + width]
    assert np.array_equal(got, g[:-1] - g[1:])


def test_points_of_a_fused_loop_are_not_cut() -> None:
    """Inside of a fused loop its parts are points: what is computed there has constant
    extents, whatever is known of the extents that were fused."""
    x, y, c, t, tx = (hl.Var(n) for n in ("x", "y", "c", "t", "tx"))
    inp = hl.ImageParam(hl.Int(32), 3, "input")
    out, dx = hl.Func("out"), hl.RDom([(0, 5)], "dx")
    out[x, y, c] = hl.maximum(inp[x + dx.x, y, c])
    out.split(x, tx, x, 32).reorder(x, y, c, tx).fuse(c, tx, t).vectorize(x, 8)
    body = lower(spec_of(out), name="out").body
    (maximum,) = [n for n in nodes(body) if isinstance(n, Allocate)]
    assert [const_int(e) for e in maximum.extents[1:]] == [1] * (
        len(maximum.extents) - 1
    )

    pixels = np.random.default_rng(6).integers(0, 99, (2, 5, 70)).astype(np.int32)
    inp.set(pixels)
    got = np.asarray(out.realize([65, 5, 2]))
    windows = np.lib.stride_tricks.sliding_window_view(pixels, 5, axis=2)
    assert np.array_equal(got, windows.max(-1)[..., :65])
