"""What the scheduler knows of images that are looked up at places made of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.pipeline.work import Work
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.state import INLINE

MACHINE = Machine(1, 64, 32, 32 << 10, 1 << 20, 32 << 20)
WIDTH, HEIGHT = 1280, 960
x, y = hl.Var("x"), hl.Var("y")

Border = Callable[[Any], hl.Func]


def black(image: Any) -> hl.Func:
    return hl.BoundaryConditions.constant_exterior(image, hl.u8(0))


def turned(source: Any) -> hl.Func:
    """The mean of the four pixels around each place of a turned image."""
    out = hl.Func("out")
    left = hl.i32(hl.floor(x * 0.875 - y * 0.25 + 80.0))
    top = hl.i32(hl.floor(x * 0.25 + y * 0.875 - 60.0))
    around = [hl.u16(source[left + i, top + j]) for i in (0, 1) for j in (0, 1)]
    out[x, y] = hl.u8((around[0] + around[1] + around[2] + around[3]) / 4)
    return out


def modelled(out: hl.Func) -> tuple[Search, Model]:
    f = out._function
    search = Search(
        (f,), Sizes({f: ((0, WIDTH - 1), (0, HEIGHT - 1))}, {}, {}), MACHINE
    )
    return search, Model(*search.bounded(), MACHINE)


def work_of(out: hl.Func, inline: bool) -> Work:
    """What one point of the output costs, with all else inlined or not."""
    model = modelled(out)[1]
    for f in reversed(list(model.graph.order)) if inline else ():
        if f is not out._function:
            less = model.with_inlined(f)
            assert less is not None
            model = less
    (stage,) = model.graph.stages[out._function]
    return model.work(stage)


@pytest.fixture
def image() -> hl.Buffer:
    return hl.Buffer(np.zeros((HEIGHT, WIDTH), np.uint8))


@pytest.mark.parametrize(
    "border", [black, hl.BoundaryConditions.repeat_edge], ids=["black", "repeat_edge"]
)
def test_no_loop_is_cut_where_a_turned_image_ends(
    border: Border, image: hl.Buffer
) -> None:
    """So all that is at the edges is computed everywhere."""
    padded = border(image)
    alone = work_of(turned(padded), inline=False).arithmetic
    inside = work_of(turned(padded), inline=True).arithmetic
    # A minimum and a maximum for each of two coordinates along each dimension.
    assert inside >= alone + 8


def test_neighbours_are_looked_up_by_one_index(image: hl.Buffer) -> None:
    padded = black(image)
    assert work_of(turned(padded), inline=False).beside == [False, True, True, True]
    # Clamped by itself, each has an index of its own.
    assert not any(work_of(turned(padded), inline=True).beside)


def test_lanes_beside_others_are_cheaper(image: hl.Buffer) -> None:
    padded = black(image)
    far = hl.Func("far")
    far[x, y] = padded[hl.i32(x * 0.875), y] + padded[hl.i32(y * 0.875), x]
    near = hl.Func("near")
    near[x, y] = padded[hl.i32(x * 0.875), y] + padded[hl.i32(x * 0.875) + 3, y]
    times = []
    for f in (near, far):
        model = modelled(f)[1]
        (stage,) = model.graph.stages[f._function]
        times.append(model.speed(stage, Loops(0, 16, (16, 1), (0, 1))).block)
    assert times[0] < times[1]


def test_a_turned_image_is_laid_out_with_its_border(image: hl.Buffer) -> None:
    """Inlined, each of four pixels would be clamped and looked up by itself."""
    padded = black(image)
    search, _ = modelled(turned(padded))
    assert search.run().place(padded._function) is not INLINE
