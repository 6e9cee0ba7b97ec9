"""What reading parts of rows of far memory costs: heavy code does not look ahead."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.geometry import Tiles
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.pipeline.graph import Graph
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.ir.symbols import BufferSym

WIDTH, HEIGHT = 2048, 1024
MACHINE = Machine(1, 64, 32, 48 << 10, 1 << 20, 32 << 20)
LOOPS = Loops(0, 16, (16, 1), (0, 1))
x, y = hl.Var("x"), hl.Var("y")


def sizes_of(f: hl.Func) -> Sizes:
    """Images of two dimensions are as large as the output, tables have its cells."""
    box = ((0, WIDTH - 1), (0, HEIGHT - 1))
    cells = ((0, WIDTH // 8 - 1), (0, 9), (0, 11))
    images = Graph.of((f._function,), frozenset()).images
    return Sizes(
        {f._function: box}, {i: box if len(i.dims) == 2 else cells for i in images}
    )


def smoothed(work: int) -> tuple[hl.Func, Sizes]:
    """Points of an image after so many divisions each."""
    image, f = hl.ImageParam(hl.Float(32), 2), hl.Func("f")
    value = image[x, y]
    for _ in range(work):
        value = value / (value + 1.5)
    f[x, y] = value
    return f, sizes_of(f)


def looked_up(rows: int) -> tuple[hl.Func, Sizes]:
    """Sums of so many numbers of a table each, where the points of an image say, in the
    table's row of the cell."""
    image, table = hl.ImageParam(hl.Float(32), 2), hl.ImageParam(hl.Float(32), 3)
    f, value = hl.Func("f"), image[x, y]
    at = hl.clamp(hl.i32(value), 0, 9)
    f[x, y] = sum([table[x // 8, at, k] for k in range(1, rows)], table[x // 8, at, 0])
    return f, sizes_of(f)


def model_of(f: hl.Func, sizes: Sizes) -> Model:
    graph = Graph.of((f._function,), frozenset())
    return Model(graph, Regions(graph, sizes), MACHINE)


def computing(f: hl.Func, sizes: Sizes, *widths: int) -> list[float]:
    """Nanoseconds of the core for tiles as wide as these, and as high as all."""
    tiles = Tiles((np.array(widths), np.full(len(widths), HEIGHT)), (0, 1), 1)
    costs = model_of(f, sizes).group(f._function, {}, {f._function: LOOPS}, tiles)
    return [float(c) for c in costs.terms["compute"]]


def test_whole_rows_are_foreseen() -> None:
    f, sizes = smoothed(100)
    alone = model_of(f, sizes).computing(f._function, LOOPS, [WIDTH, HEIGHT])
    assert computing(f, sizes, WIDTH) == [pytest.approx(alone)]


def test_heavy_code_waits_where_parts_of_rows_begin() -> None:
    whole, half, quarter = computing(*smoothed(200), WIDTH, WIDTH // 2, WIDTH // 4)
    rows = HEIGHT * MACHINE.row
    each = (half - whole - rows) / (2 * HEIGHT)
    assert each == pytest.approx(4 * MACHINE.fetch, rel=0.01)
    assert quarter - whole > 1.9 * (half - whole)


def test_light_code_looks_ahead() -> None:
    whole, parts = computing(*smoothed(1), WIDTH, 512)
    assert parts - whole < 1.2 * 3 * HEIGHT * MACHINE.row


def test_what_data_say_is_never_foreseen() -> None:
    """Only the image has rows that the processor foresees, not the table."""
    f, sizes = looked_up(4)
    (found,) = model_of(f, sizes).foreseen(f._function, LOOPS)
    assert isinstance(found, BufferSym) and len(found.dims) == 2


def test_look_ups_at_an_image_are_not_in_columns() -> None:
    """The table does not fit in the first cache, parts of it would: they cost more."""
    f, sizes = looked_up(12)
    group = Search((f._function,), sizes, MACHINE).run().groups[f._function]
    assert group.tiling.tile[0] == 0
