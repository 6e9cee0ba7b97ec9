"""What rows of a group's members move through the nearest cache."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import host
from parhelion.autoschedule.model.geometry import Tiles
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Level
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.shapes import plain_loops

#: Of the output. Seven rows do not fit in the nearest cache.
WIDTH, HEIGHT = 2048, 512
ROW = 4 * WIDTH
TAPS = 7


def near_bytes(member: hl.Func, out: hl.Func, level: Level) -> float:
    """From the second-level cache, where all of the output is one tile."""
    small = replace(host(1), l1=32 << 10, l2=1 << 20)
    f, root = member._function, out._function
    box = ((0, WIDTH - 1), (0, HEIGHT - 1))
    model = Model(*Search((root,), Sizes({root: box}, {}, {}), small).bounded(), small)
    plain = plain_loops(model, root, [WIDTH, HEIGHT])
    tiles = Tiles((np.array([WIDTH]), np.array([HEIGHT])), (0, 1), 1)
    costs = model.group(root, {f: level}, dict.fromkeys([root, f], plain), tiles)
    (found,) = costs.terms["near bytes"]
    return float(found)


def rows_of(f: hl.Func | hl.ImageParam, x: hl.Var, y: hl.Var) -> hl.Expr | hl.FuncRef:
    return reduce(add, [f[x, y + k] for k in range(TAPS)])


def test_a_row_that_slides_reads_what_is_new_and_is_read_by_all_that_need_it() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    gray, out = hl.Func("gray"), hl.Func("out")
    gray[x, y] = hl.sqrt(image[x, y])
    out[x, y] = rows_of(gray, x, y)
    read = ROW * (HEIGHT + TAPS - 1)
    # Each row is written once and read seven times; the first one brings six others.
    moved = ROW * (HEIGHT + TAPS - 1) + ROW * TAPS * HEIGHT
    found = near_bytes(gray, out, Level.ROW)
    assert found == pytest.approx(read + moved, rel=1e-3)


def test_a_row_made_of_many_reads_all_of_them() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    tall, out = hl.Func("tall"), hl.Func("out")
    tall[x, y] = hl.sqrt(rows_of(image, x, y))
    out[x, y] = tall[x, y] * tall[x, y]
    # What a single row of it takes stays in the nearest cache.
    found = near_bytes(tall, out, Level.ROW)
    assert found == pytest.approx(ROW * TAPS * HEIGHT + 2 * ROW * HEIGHT, rel=0.01)


def test_what_the_root_reads_itself_comes_again() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    gray, out = hl.Func("gray"), hl.Func("out")
    gray[x, y] = hl.sqrt(image[x, y])
    out[x, y] = rows_of(gray, x, y) * image[x, y]
    other = hl.Func("other")
    other[x, y] = rows_of(gray, x, y)
    more = near_bytes(gray, out, Level.ROW) - near_bytes(gray, other, Level.ROW)
    assert more == pytest.approx(ROW * HEIGHT, rel=0.01)


@pytest.mark.parametrize(("shared", "lost"), [(1 << 30, 0.0), (1 << 20, 1.0)])
def test_what_the_last_level_loses_costs_more_to_write_and_to_read(
    shared: int, lost: float
) -> None:
    """What the pipeline writes itself; its inputs and outputs stream."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    first, out = hl.Func("first"), hl.Func("out")
    first[x, y] = hl.sqrt(image[x, y])
    out[x, y] = hl.sqrt(first[x, y])
    box = ((0, WIDTH - 1), (0, HEIGHT - 1))
    found = {}
    for size in (1 << 40, shared):
        here = replace(host(1), l1=32 << 10, l2=1 << 20, shared=size)
        sizes = Sizes({out._function: box}, {}, {})
        model = Model(*Search((out._function,), sizes, here).bounded(), here)
        tiles = Tiles((np.array([WIDTH]), np.array([HEIGHT])), (0, 1), 1)
        for f in (first._function, out._function):
            plain = plain_loops(model, f, [WIDTH, HEIGHT])
            terms = model.group(f, {}, {f: plain}, tiles).terms
            found[f, size] = float(terms["writing"][0])
    for f in (first._function, out._function):
        more = found[f, shared] - found[f, 1 << 40]
        assert more == pytest.approx(lost * ROW * HEIGHT * here.lost_byte)
