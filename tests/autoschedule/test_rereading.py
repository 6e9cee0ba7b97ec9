"""What Funcs that are computed once a tile move through the nearest cache."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.geometry import Tiles
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Level
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.shapes import plain_loops

#: The second-level cache holds any of the tiles here, the first none of them.
MACHINE = Machine(1, 64, 32, 32 << 10, 64 << 20, 128 << 20)
WIDTH, HEIGHT = 2048, 512
TAPS = 7
x, y = hl.Var("x"), hl.Var("y")


def bytes_of(rows: int, width: int = WIDTH) -> int:
    return 4 * width * rows


def near_bytes(
    members: Mapping[hl.Func, Level], out: hl.Func, width: int = WIDTH
) -> float:
    """From the second-level cache for tiles of such a width and all rows. members:
    consumers before producers."""
    root = out._function
    sizes = Sizes({root: ((0, WIDTH - 1), (0, HEIGHT - 1))}, {}, {})
    model = Model(*Search((root,), sizes, MACHINE).bounded(), MACHINE)
    plain = plain_loops(model, root, [WIDTH, HEIGHT])
    at = {f._function: level for f, level in members.items()}
    tiles = Tiles((np.array([width]), np.array([HEIGHT])), (0, 1), 1)
    costs = model.group(root, at, dict.fromkeys([root, *at], plain), tiles)
    (found,) = costs.terms["near bytes"]
    return float(found)


def down(f: hl.Func | hl.ImageParam) -> hl.Expr | hl.FuncRef:
    return reduce(add, [f[x, y + k] for k in range(TAPS)])


def chain() -> tuple[hl.ImageParam, hl.Func, hl.Func, hl.Func]:
    """Roots of pixels, sums of seven rows of these, and roots of the sums."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    root, tall, out = hl.Func("root"), hl.Func("tall"), hl.Func("out")
    root[x, y] = hl.sqrt(image[x, y])
    tall[x, y] = down(root)
    out[x, y] = hl.sqrt(tall[x, y])
    return image, root, tall, out


@pytest.mark.parametrize("width", [WIDTH, 128])
def test_a_member_takes_each_row_again_unless_the_cache_holds_them(width: int) -> None:
    _, root, tall, out = chain()
    found = near_bytes({tall: Level.TILE, root: Level.TILE}, out, width)
    times = TAPS if width == WIDTH else 1
    made = bytes_of(HEIGHT + TAPS - 1)
    read = bytes_of(HEIGHT) * times if times > 1 else made
    # Both are fetched and written back as they are written; the output reads `tall`.
    written = 2 * made + 2 * bytes_of(HEIGHT)
    assert found == pytest.approx(made + written + read + bytes_of(HEIGHT), rel=1e-3)


@pytest.mark.parametrize("width", [WIDTH, 128])
def test_so_does_the_root(width: int) -> None:
    _, root, _, _ = chain()
    out = hl.Func("out")
    out[x, y] = down(root)
    found = near_bytes({root: Level.TILE}, out, width)
    made = bytes_of(HEIGHT + TAPS - 1)
    read = TAPS * bytes_of(HEIGHT) if width == WIDTH else made
    assert found == pytest.approx(made + 2 * made + read, rel=1e-3)


def test_what_only_a_member_reads_the_loops_of_the_root_do_not() -> None:
    image = hl.ImageParam(hl.Float(32), 2, "image")
    tall, out = hl.Func("tall"), hl.Func("out")
    tall[x, y] = down(image)
    out[x, y] = hl.sqrt(tall[x, y])
    beside = hl.Func("beside")
    beside[x, y] = hl.sqrt(tall[x, y]) + image[x, y]
    found = near_bytes({tall: Level.TILE}, out)
    assert found == pytest.approx((TAPS + 3) * bytes_of(HEIGHT), rel=1e-3)
    more = near_bytes({tall: Level.TILE}, beside) - found
    assert more == pytest.approx(bytes_of(HEIGHT), rel=1e-3)


def test_each_reader_counts() -> None:
    """Two sums of the same rows, one after the other, find nothing of each other's."""
    _, root, first, _ = chain()
    second, one, both = hl.Func("second"), hl.Func("one"), hl.Func("both")
    second[x, y] = down(root) * 2.0
    one[x, y] = hl.sqrt(first[x, y])
    both[x, y] = hl.sqrt(first[x, y] + second[x, y])
    at = dict.fromkeys((first, second, root), Level.TILE)
    alone = near_bytes({first: Level.TILE, root: Level.TILE}, one)
    # Seven rows, those that it fetches and writes back, and what the output reads.
    more = near_bytes(at, both) - alone
    assert more == pytest.approx((TAPS + 3) * bytes_of(HEIGHT), rel=1e-3)


def test_rows_that_slide_take_what_is_kept_for_the_tile_again() -> None:
    _, root, tall, out = chain()
    out = hl.Func("out")
    out[x, y] = tall[x, y] * tall[x, y - 1]
    kept = near_bytes({tall: Level.ROW, root: Level.TILE}, out)
    made = bytes_of(HEIGHT + TAPS)
    # Two rows of `tall`, beside the seven that each is made of, are more than fits.
    sums = bytes_of(HEIGHT + 1) + 2 * bytes_of(HEIGHT)
    read = TAPS * bytes_of(HEIGHT)
    assert kept == pytest.approx(made + 2 * made + read + sums, rel=0.02)
