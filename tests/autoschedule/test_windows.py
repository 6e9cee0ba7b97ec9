"""Whose windows slide along the rows of a group, as the scheduler sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.frames import sliding
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search

MACHINE = Machine(1, 64, 32, 32 << 10, 1 << 20, 32 << 20)
WIDTH, HEIGHT = 640, 480
x, y = hl.Var("x"), hl.Var("y")

Value = hl.Expr | hl.FuncRef
Reader = Callable[[hl.Func], Value]


def taps(f: hl.Func) -> Value:
    return f[x, y - 1] + f[x, y + 1]


def upwards(f: hl.Func) -> Value:
    return f[x, 479 - y] + f[x, 480 - y]


def half(f: hl.Func) -> Value:
    return f[x, y / 2]


def looked_up(f: hl.Func) -> Value:
    flow = hl.Buffer(np.zeros((HEIGHT, WIDTH), np.uint8))
    return f[x, y + hl.i32(flow[x, y])]


def turned(f: hl.Func) -> Value:
    """Of a lens: the square of the distance from the middle moves both ways."""
    away = hl.f32(y - 240) * (1.0 + hl.f32((x - 320) * (y - 240)) * 1e-6)
    return f[x, hl.clamp(hl.i32(hl.floor(away)), 0, HEIGHT - 1)]


def diagonal(f: hl.Func) -> Value:
    return f[x + y, y]


def chained(f: hl.Func) -> Value:
    """What a Func between needs moves as that Func does."""
    between = hl.Func("between")
    between[x, y] = f[x, y] * f[x, y + 2]
    between.compute_root()
    return between[x, y] + between[x, y + 1]


def model_of(out: hl.Func) -> Model:
    f = out._function
    box = ((0, WIDTH - 1), (0, HEIGHT - 1))
    return Model(*Search((f,), Sizes({f: box}, {}, {}), MACHINE).bounded(), MACHINE)


@pytest.mark.parametrize(
    ("reader", "slides"),
    [
        (taps, True),
        (upwards, True),
        (half, True),
        (looked_up, True),
        (chained, True),
        (turned, False),
        (diagonal, False),
    ],
)
def test_windows_slide_where_the_compiler_lets_them(
    reader: Reader, slides: bool
) -> None:
    source, out = hl.Func("source"), hl.Func("out")
    source[x, y] = hl.sqrt(hl.f32(x * y))
    out[x, y] = reader(source)
    model = model_of(out)
    members = [f for f in reversed(model.graph.order) if f is not out._function]
    found = sliding(model.regions, out._function, 1, members)
    assert (source._function in found) is slides
    assert sliding(model.regions, out._function, -1, members) == frozenset()
    if reader in (chained, diagonal):
        return
    # What the compiler makes of it. (Of a diagonal, the box of all is mostly unused.)
    source.store_root().compute_at(out, y)
    once = out.report([WIDTH, HEIGHT])["source"].recomputed
    assert (once < 1.5) is slides


def test_rows_that_do_not_slide_are_computed_anew() -> None:
    """However cheap it is to begin rows, an image that is looked up by a lens is not
    computed for each row of what looks it up."""
    source, out = hl.Func("source"), hl.Func("out")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    source[x, y] = hl.sqrt(image[x, y])
    out[x, y] = turned(source)
    cheap = replace(MACHINE, row=0.5, produce=1.0)
    f = out._function
    (read,) = [b for b in model_of(out).graph.images if b.name == "image"]
    box = ((0, WIDTH - 1), (0, HEIGHT - 1))
    state = Search((f,), Sizes({f: box}, {read: box}, {}), cheap).run()
    assert "per row" not in str(state.place(source._function))
