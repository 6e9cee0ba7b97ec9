"""Tiles of a single colour, and the last-level cache that threads share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.geometry import Tiles
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Level, Loops
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.members import Inside
from parhelion.autoschedule.search.shapes import apart_dimensions, tile_choices
from parhelion.ir.function import Function

HERE = Machine(2, 32, 16, 32 << 10, 512 << 10, 32 << 20)
SIDE = 1024


def colours() -> tuple[Model, Function, Function]:
    """A Func of three colours, and one that reads eight rows of it."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inner, out = hl.Func("inner"), hl.Func("out")
    inner[x, y, c] = hl.exp(hl.f32(x * y + c))
    total = hl.Expr(inner[x, y, c])
    for dy in range(1, 8):
        total = total + inner[x, y + dy, c]
    out[x, y, c] = total
    f, root = inner._function, out._function
    box = ((0, SIDE - 1), (0, SIDE - 1), (0, 2))
    search = Search((root,), Sizes({root: box}, {}, {}), HERE, budget=0)
    return search.run().model, root, f


def test_members_of_a_tile_of_one_colour_have_blocks_of_one() -> None:
    model, root, f = colours()
    assert f in model.graph.order
    own = Loops(0, 8, (8, 1, 1), (0, 1, 2))
    inside = Inside(model, root, own, [root, f], {})
    apart = apart_dimensions(model, root, own)
    assert apart == (2,)
    # All colours of a pixel are done together, unless there is only one.
    assert inside.loops(f, Level.TILE).block[2] == 3
    assert inside.loops(f, Level.TILE, apart).block[2] == 1
    whole = replace(own, block=(8, 1, 3))
    assert apart_dimensions(model, root, whole) == ()


def test_tiles_for_such_members_have_one_colour() -> None:
    own = Loops(0, 8, (8, 1, 1), (0, 1, 2))
    (all_tiles,) = tile_choices(own, (SIDE, SIDE, 3))
    (single,) = tile_choices(own, (SIDE, SIDE, 3), apart=(2,))
    assert set(all_tiles.sizes[2]) == {1, 3}
    assert set(single.sizes[2]) == {1}


@pytest.mark.parametrize(
    ("rows", "threads", "dearer"),
    [(512, 2, False), (512, 16, True), (64, 16, False)],
)
def test_what_the_last_level_does_not_hold_is_dearer(
    rows: int, threads: int, dearer: bool
) -> None:
    """512 rows of three colours are 6 MB, of 32 for all threads."""
    model, root, f = colours()
    own = Loops(0, 8, (8, 1, 1), (0, 1, 2))
    tiles = Tiles((np.array([SIDE]), np.array([rows]), np.array([3])), (0, 1, 2), 1)
    written = []
    for shared in (1 << 30, 32 << 20):
        here = replace(HERE, threads=threads, shared=shared)
        at = Model(model.graph, model.regions, here)
        costs = at.group(root, {f: Level.TILE}, {root: own, f: own}, tiles)
        written.append(float(costs.terms["writing"][0]))
    assert (written[1] > written[0]) == dearer
