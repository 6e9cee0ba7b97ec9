"""How much code a schedule makes, and that the search makes no more than pays."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.code_size import length_of, most_length
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.state import State

MACHINE = Machine(1, 64, 32, 48 << 10, 2 << 20, 32 << 20)
SIZE = 1024
x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def smoothed() -> hl.Func:
    """Thirteen taps, twice, of an interleaved photograph that is mirrored."""
    photograph = hl.ImageParam(hl.Float(32), 3, "photograph")
    photograph.set(hl.Buffer(np.zeros((SIZE, SIZE, 3), np.float32)))
    inside = hl.BoundaryConditions.mirror_image(photograph)
    across, down = hl.Func("across"), hl.Func("down")
    taps = [(k, 1.0 / (1 + k * k)) for k in range(-6, 7)]
    across[c, x, y] = reduce(add, [inside[c, x + k, y] * w for k, w in taps])
    down[c, x, y] = reduce(add, [across[c, x, y + k] * w for k, w in taps])
    return down


def search_of(out: hl.Func) -> Search:
    f = out._function
    box = ((0, 2), (0, SIZE - 1), (0, SIZE - 1))
    (image,) = Search((f,), Sizes({f: box}), MACHINE).bounded()[0].images
    return Search((f,), Sizes({f: box}, {image: box}), MACHINE)


def length(state: State) -> float:
    return sum(g.length for g in state.groups.values())


def test_the_search_counts_the_code() -> None:
    """With the image inlined into three colours of 13 taps, 15,000 and more."""
    search = search_of(smoothed())
    found = search.run()
    assert length(found) <= search.most_length == most_length(3)
    assert found.cost == found.time
    # It is counted alike in the search and in what it comes to.
    model = found.model
    for g in found.groups.values():
        loops = {f: g.loops[f] for f in (g.root, *g.members)}
        assert g.length == sum([model.length(f, at) for f, at in loops.items()])


def test_code_beyond_the_usual_is_dear_by_as_much_as_it_is_longer() -> None:
    search = search_of(smoothed())
    graph, regions = search.bounded()
    model = Model(graph, regions, MACHINE)
    state = State(search, model, {f: search.group(model, f, {}) for f in graph.order})
    assert state.cost == state.time
    search.most_length = length(state) / 3
    assert state.cost == pytest.approx(3 * state.time)


def test_edges_have_code_for_each_lane() -> None:
    plain, clamped, mirrored = hl.Func("plain"), hl.Func("clamped"), hl.Func("mirrored")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    edge = hl.BoundaryConditions.repeat_edge(image)
    mirror = hl.BoundaryConditions.mirror_image(image)
    plain[x, y] = image[x, y] + image[x + 1, y]
    clamped[x, y] = edge[x, y] + edge[x + 1, y]
    mirrored[x, y] = mirror[x, y] + mirror[x + 1, y]

    def of(out: hl.Func, block: tuple[int, int]) -> float:
        f = out._function
        box = ((0, SIZE - 1), (0, SIZE - 1))
        search = Search((f,), Sizes({f: box}, {}), MACHINE)
        model = Model(*search.bounded(), MACHINE)
        for g in [g for g in model.graph.order if g is not f]:
            less = model.with_inlined(g)
            assert less is not None
            model = less
        (stage,) = model.graph.stages[f]
        loops = Loops(0, 16, block, (0, 1))
        return length_of(model.work(stage), loops, MACHINE)

    # One addition, two loads, one store.
    assert of(plain, (16, 1)) == 4
    # Cut in both dimensions; each load is 16 at both ends of three kinds of rows.
    assert of(clamped, (16, 1)) == 4 * 5 + 2 * 3 * 2 * 16
    assert of(mirrored, (16, 1)) > 2 * of(clamped, (16, 1))
    assert of(clamped, (32, 4)) == 8 * of(clamped, (16, 1))


def test_a_long_chain_of_clamped_stages_is_not_one_group() -> None:
    """Its code would be one function, which LLVM takes long for."""
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    size = [(0, image.width()), (0, image.height())]
    f = hl.BoundaryConditions.repeat_edge(image)
    for k in range(12):
        inside, f = hl.BoundaryConditions.repeat_edge(f, size), hl.Func(f"it{k}")
        near = [inside[x + dx, y + dy] for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1))]
        f[x, y] = hl.cast(hl.UInt(16), reduce(add, near) / 4)
    root = f._function
    box = ((0, SIZE - 1), (0, SIZE - 1))
    (read,) = Search((root,), Sizes({root: box}), MACHINE).bounded()[0].images
    state = Search((root,), Sizes({root: box}, {read: box}), MACHINE).run()
    lengths = [g.length for g in state.groups.values() if g.members]
    assert max(lengths, default=0) < 6000, lengths
