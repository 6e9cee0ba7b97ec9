"""What the scheduler knows of the edges of images: clamped and mirrored coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.pipeline.edges import Edges
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.shapes import plain_loops

MACHINE = Machine(1, 64, 32, 48 << 10, 2 << 20, 32 << 20)
REACH, HEIGHT = 4, 512
x, y = hl.Var("x"), hl.Var("y")
BOUNDARIES = [
    hl.BoundaryConditions.repeat_edge,
    hl.BoundaryConditions.mirror_image,
    hl.BoundaryConditions.mirror_interior,
    hl.BoundaryConditions.repeat_image,
]


Boundary = Callable[[Any], hl.Func]


def summed(width: int, boundary: Boundary) -> hl.Func:
    """The sum of nine neighbours of a row of an image, whatever is beyond it."""
    image = hl.Buffer(np.zeros((HEIGHT, width), np.float32))
    inside = boundary(image)
    out = hl.Func("out")
    out[x, y] = reduce(add, [inside[x + k, y] for k in range(-REACH, REACH + 1)])
    return out


def inlined(out: hl.Func, width: int) -> Model:
    """The model where nothing but the output is computed by itself."""
    f = out._function
    box = ((0, width - 1), (0, HEIGHT - 1))
    model = Model(*Search((f,), Sizes({f: box}, {}, {}), MACHINE).bounded(), MACHINE)
    for g in [g for g in model.graph.order if g is not f]:
        less = model.with_inlined(g)
        assert less is not None
        model = less
    return model


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_stage_is_not_steady_where_it_reaches_beyond_the_image(
    boundary: Boundary,
) -> None:
    out = summed(640, boundary)
    model = inlined(out, 640)
    (stage,) = model.graph.stages[out._function]
    work = model.work(stage)
    edges = Edges(stage, work.steady.found, model.regions.sizes.lookup)
    spans = ((0, 639), (0, HEIGHT - 1))
    assert edges.along(out._function.args[0], spans) == (REACH, REACH)
    assert edges.along(out._function.args[1], spans) == (0, 0)
    # Elsewhere it reads neighbours, in the order of memory.
    assert all(a.step(0, stage.loops[0]) == 1 for a in work.loads)
    assert all(a.clamped >= {stage.loops[0]} for a in work.loads)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_sum_over_a_window_reaches_as_far_as_its_ends(boundary: Boundary) -> None:
    """In its middle a window reads the point itself, which is inside everywhere."""
    inside = boundary(hl.Buffer(np.zeros((HEIGHT, 640), np.float32)))
    out, r = hl.Func("out"), hl.RDom([(-REACH, 2 * REACH + 1)])
    out[x, y] += inside[x + r, y]
    model = inlined(out, 640)
    _, stage = model.graph.stages[out._function]
    edges = Edges(stage, model.work(stage).steady.found, model.regions.sizes.lookup)
    spans = model.regions.loops(stage, model.regions.bounds[stage.func])
    assert edges.along(out._function.args[0], spans) == (REACH, REACH)
    assert edges.along(out._function.args[1], spans) == (0, 0)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_vectors_at_the_edges_fetch_lane_by_lane(boundary: Boundary) -> None:
    """Two of four, or two of forty: short rows take longer for each point."""

    def per_point(width: int) -> float:
        out = summed(width, boundary)
        model = inlined(out, width)
        loops = plain_loops(model, out._function, (width, HEIGHT))
        return float(model.computing(out._function, loops, [width, HEIGHT])) / width

    both = 2 * (2 * REACH + 1) * 16 * MACHINE.edge * HEIGHT
    row = MACHINE.row * HEIGHT
    middle = per_point(640) - (both + row) / 640
    assert per_point(64) == pytest.approx(middle + (both + row) / 64, rel=1e-6)
    assert per_point(64) > 3 * middle


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_block_needs_what_is_near_it(boundary: Boundary) -> None:
    """Though a mirrored coordinate may be anywhere."""
    out = summed(640, boundary)
    model = inlined(out, 640)
    (stage,) = model.graph.stages[out._function]
    (image,) = model.graph.images
    box = ((320, 335), (100, 100))
    found = model.regions.touched(stage, box)[image]
    assert [tuple(map(int, span)) for span in found] == [
        (320 - REACH, 335 + REACH),
        (100, 100),
    ]
    # What a whole run needs is never more than there is.
    assert model.regions.bounds[image] == ((0, 639), (0, HEIGHT - 1))


def test_a_choice_by_data_is_no_edge() -> None:
    image = hl.Buffer(np.zeros((HEIGHT, 640), np.float32))
    out = hl.Func("out")
    out[x, y] = hl.select(
        image[x, y] > 0, hl.likely(hl.sqrt(image[x, y])), hl.exp(image[x, y])
    )
    model = inlined(out, 640)
    (stage,) = model.graph.stages[out._function]
    kinds = {o.function for o in model.work(stage).operations}
    assert kinds == {True, False}


def spread(image: Any) -> hl.Func:
    """How many points of each cell of 8 by 8 have each value, and their sum."""
    r = hl.RDom([(0, 8), (0, 8)])
    z, c = hl.Var("z"), hl.Var("c")
    out = hl.Func("out")
    value = hl.clamp(image[x * 8 + r.x - 4, y * 8 + r.y - 4], 0.0, 1.0)
    out[x, y, z, c] = 0.0
    out[x, y, hl.i32(value * 10.0 + 0.5), c] += hl.mux(c, [value, 1.0])
    return out


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_the_place_and_the_value_share_what_both_read(boundary: Boundary) -> None:
    """What is read once, and looked up with, is the same load at both places, whatever
    is beyond the image; so what a point costs is what it costs without any boundary."""
    image = hl.Buffer(np.zeros((HEIGHT, 640), np.float32))
    times = []
    for source in (image, boundary(image)):
        out = spread(source)
        f = out._function
        box = ((1, 72), (1, 56), (0, 10), (0, 1))
        apart = replace(MACHINE, steps=(4, 4, 4, 4))
        search = Search((f,), Sizes({f: box}, {}, {}), apart)
        model = Model(*search.bounded(), apart)
        for g in [g for g in model.graph.order if g is not f]:
            less = model.with_inlined(g)
            assert less is not None
            model = less
        update = model.graph.stages[f][1]
        work = model.work(update)
        assert len(work.loads) == 2
        # No iteration reads what another has written elsewhere.
        assert not work.recurs
        loops = plain_loops(model, f, (72, 56, 11, 2))
        speed = model.speed(update, loops)
        # It fetches lane by lane anyway.
        assert not speed.edge
        times.append((work.arithmetic, speed.block, speed.lanes))
    assert times[0] == times[1]
