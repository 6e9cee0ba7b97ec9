"""What the model of a GPU says of kernels: which of two is dearer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.gpu.cards import CARDS, Card, card
from parhelion.autoschedule.gpu.model import Candidates, Costs, KernelModel
from parhelion.autoschedule.gpu.traffic import loading, sectors, turns
from parhelion.autoschedule.kernels.shape import MOST_LOOPS, Shape, fused
from parhelion.autoschedule.kernels.shapes import plain, shapes
from parhelion.autoschedule.model.plan import Level
from parhelion.autoschedule.pipeline.graph import Graph
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.ir.device import SIMULATED

SIDE = 4096
x, y = hl.vars("x y")


def costs(
    f: hl.Func,
    *made: Shape,
    members: dict[Any, Level] | None = None,
    of: Card | None = None,
    side: int = SIDE,
) -> Costs:
    box = ((0, side - 1), (0, side - 1))
    graph = Graph.of((f._function,))
    sizes = Sizes({f._function: box}, dict.fromkeys(graph.images, None))
    model = KernelModel(graph, Regions(graph, sizes), of or card("h100"))
    (stage,) = graph.stages[f._function]
    own = model.roles(stage, alone=True)
    return model.kernel(stage, own, Candidates.of(made), members or {})


def image() -> hl.ImageParam:
    return hl.ImageParam(hl.Float(32), 2)


def test_threads_along_rows_are_better_than_along_columns() -> None:
    f, of = hl.Func("f"), image()
    f[x, y] = of[x, y] * 2.0
    rows, columns = costs(f, Shape((32, 8), (1, 1)), Shape((1, 256), (1, 1))).total
    assert columns > 3 * rows


def test_a_transposed_image_costs_more() -> None:
    f, g, of = hl.Func("f"), hl.Func("g"), image()
    f[x, y] = of[x, y] * 2.0
    g[x, y] = of[y, x] * 2.0
    shape = Shape((32, 8), (1, 1))
    assert costs(g, shape).total[0] > 1.5 * costs(f, shape).total[0]


def test_every_second_pixel_costs_twice_the_sectors() -> None:
    one, two, many = [
        float(sectors(step, 32, np.array(32), np.array(False))) for step in (1, 2, 64)
    ]
    assert (one, two, many) == (4, 8, 32)
    assert float(sectors(0, 32, np.array(32), np.array(False))) == 1
    assert float(sectors(1, 8, np.array(32), np.array(False))) == 1
    # Four rows of eight threads each lie in lines of their own.
    assert float(loading(1, 32, np.array(8), np.array(True), 128)) == 4
    assert float(loading(1, 32, np.array(32), np.array(True), 128)) == 1


def test_banks_take_turns() -> None:
    found = [float(turns(step, 32, np.array(32))) for step in (0, 1, 2, 32, 33)]
    assert found == [1, 1, 2, 32, 1]


def test_points_of_a_thread_share_what_they_load() -> None:
    """A stencil down the columns: eight rows in one thread need ten loads, not 24."""
    f, of = hl.Func("f"), image()
    f[x, y] = of[x, y] + of[x, y + 1] + of[x, y + 2]
    one, eight = costs(f, Shape((32, 4), (1, 1)), Shape((32, 4), (1, 8))).terms[
        "compute"
    ]
    assert eight < one


def test_occupancy() -> None:
    for name in CARDS:
        it = card(name)
        assert it.resident_blocks(256, 0, 32) == 8
        assert it.resident_blocks(256, 0, 64) == 4
        assert it.resident_blocks(32, 0, 32) == it.blocks
        assert it.resident_blocks(1025, 0, 32) == 0
        most = it.device.shared
        assert most == it.shared - it.reserved
        assert it.resident_blocks(128, most + 1, 32) == 0
        assert it.resident_blocks(128, most, 32) == 1
        any_gpu = it.within(SIMULATED)
        assert any_gpu.resident_blocks(128, (48 << 10) + 1, 32) == 0
        assert any_gpu.resident_blocks(128, 48 << 10, 32) == it.shared // (49 << 10)


def test_a_block_that_no_device_takes_costs_infinitely_much() -> None:
    f, g, of = hl.Func("f"), hl.Func("g"), image()
    f[x, y] = of[x, y] * 2.0
    g[x, y] = f[x, y] + f[x + 100, y + 100]
    at = {f._function: Level.TILE}
    # 164 x 108 numbers of four bytes are 69 KB.
    shapes = Shape((8, 8), (1, 1)), Shape((64, 8), (1, 1))
    any_gpu = card("h100").within(SIMULATED)
    small, large = costs(g, *shapes, members=at, of=any_gpu).total
    assert small < large == float("inf")
    assert np.isfinite(costs(g, *shapes, members=at).total).all()


def test_memory_that_is_faster_makes_streams_faster() -> None:
    f, of = hl.Func("f"), image()
    f[x, y] = of[x, y] * 2.0
    shape = Shape((32, 8), (1, 4))
    times = [costs(f, shape, of=card(name)).total[0] for name in ("h100", "a100")]
    ratio = card("h100").memory / card("a100").memory
    assert times[1] / times[0] == pytest.approx(ratio, rel=0.2)


def test_a_launch_is_most_of_a_small_kernel() -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    cost = float(costs(f, Shape((32, 8), (1, 1)), side=16).total[0])
    assert card("h100").launch < cost < 2 * card("h100").launch


@pytest.mark.parametrize(
    "extents",
    [(1,), (3,), (1000,), (3, 1000, 700), (5, 5), (64, 64, 64, 64), (2, 2, 2)],
)
def test_shapes_are_legal(extents: tuple[int, ...]) -> None:
    for made in (
        *shapes(extents, 1024, True, False),
        *shapes(extents, 256, False, True),
        plain(extents, 1024),
    ):
        assert made.legal(1024)
        assert len(made.threads) == len(made.points) == len(extents)
        loops = fused(made.grid(extents))
        assert len(loops) <= MOST_LOOPS
        assert sorted(d for loop in loops for d in loop) == list(range(len(extents)))


def test_a_long_grid_has_one_dimension() -> None:
    assert fused((4, 70000)) == [[0, 1]]
    assert fused((70000, 4)) == [[0], [1]]
    assert fused((2, 3, 4, 5, 6)) == [[0], [1], [2, 3, 4]]
