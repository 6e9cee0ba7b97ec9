"""Medians of large windows of bytes, by counts of levels.

For each column of a window there are 256 counts: of the pixels that are at most each
level. From one row to the next a pixel is added to a column, and one is taken away; the
sums of columns up to each one give the counts of a window by two of them. A median is
the number of levels that too few pixels are at most. A pixel costs the same for windows
of all sizes. But each tile begins anew, with as many rows as a window has: of 2
megapixels a size of 31 takes 1.3 times as long as one of 9, 127 2.3 and 255 3.3 times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, here
from parhelion.filters.lines import vectorize
from parhelion.filters.planes import array, plane
from parhelion.lang.effects import undef
from parhelion.lang.expr import Expr, ExprLike, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import cast, select
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RDom, of_rvar
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import callees, realization_order
from parhelion.types import UInt
from parhelion.whole.array import Array
from parhelion.whole.core import coordinate

#: The largest window: counts of a column are bytes, and those of a window 16 bits.
MOST = 255
_BYTE, _SHORT = UInt(8), UInt(16)
_LEVELS = 256
#: For windows up to a size: the pixels of a row, and the rows, whose counts are kept.
#: Fewer rows need less memory, and begin anew more often.
_TILES = ((15, 128, 16), (31, 128, 32), (MOST, 256, 16))


def by_counts(image: Array, apart: int, size: int, border: str, value: float) -> Array:
    """The medians of an image of uint8, (H, W * apart): see `filters.ranks`. size: odd,
    at most MOST.

    Source: S. Perreault and P. Hébert, Median filtering in constant time, 2007; here
    counts are cumulative, and those of a window are differences of sums.
    """
    if not apart:
        raise BoundsError(
            f"a median of {size} by {size} pixels is a program by itself: as a part of"
            " one its size is 3, 5 or 7",
            at=here(),
            hint="call it with pixels, before or after the function under hl.jit",
        )
    p = plane(image, apart, border, value, "median", size // 2)
    window = _Window(size, apart, p.func, *_tile(size, apart))
    x, y = Var("x"), Var("y")
    sums = window.sums(window.columns())
    fewer = Func("fewer")
    fewer[x, y] = cast(_SHORT, 0)
    level = RDom([(0, _LEVELS)], "level")
    place, tile = x % window.width, x // window.width
    row, strip = y % window.rows, y // window.rows
    upto = sums[level.x, place + size * apart, tile, row, strip]
    count = upto - sums[level.x, place, tile, row, strip]
    is_too_few = count <= cast(_SHORT, size * size // 2)
    fewer[x, y] += select(is_too_few, cast(_SHORT, 1), cast(_SHORT, 0))
    found = cast(_BYTE, fewer[wrap(coordinate(0)), wrap(coordinate(1))])
    return array(found._node, image._whole)


def _tile(size: int, apart: int) -> tuple[int, int]:
    """The elements of a tile's rows, and its rows."""
    width, rows = [(w, r) for most, w, r in _TILES if size <= most][0]
    return width * apart, rows


@dataclass(frozen=True, slots=True)
class _Window:
    """A window of `size` by `size` pixels of rows with `apart` elements for each.
    width, rows: of a tile."""

    size: int
    apart: int
    source: Func
    width: int
    rows: int

    def columns(self) -> Func:
        """The counts of columns: [level, x, row of a strip, strip]."""
        level, x, row, strip = [Var(n) for n in ("level", "x", "row", "strip")]
        half, rows = self.size // 2, self.rows

        def counted(y: ExprLike) -> Expr:
            """1 for each level that a pixel is at most."""
            is_in = self.source[x, y] <= cast(_BYTE, level)
            return select(is_in, cast(_BYTE, 1), cast(_BYTE, 0))

        f = Func("columns")
        f[level, x, row, strip] = undef(_BYTE)
        f[level, x, 0, strip] = cast(_BYTE, 0)
        # What the first row of a strip needs is added up of blocks of as many rows.
        blocks, first = self.size // rows, strip * rows - half
        if blocks:
            block = Func("block")
            block[level, x, strip] = cast(_BYTE, 0)
            r = RDom([(0, rows)])
            block[level, x, strip] += counted(first + r.x)
            k = RDom([(0, blocks)])
            f[level, x, 0, strip] += block[level, x, strip + k.x]
        rest = RDom([(blocks * rows, self.size - blocks * rows)])
        f[level, x, 0, strip] += counted(first + rest.x)
        r = RDom([(1, rows - 1)])
        below = strip * rows + r.x + half
        f[level, x, r.x, strip] = (
            f[level, x, r.x - 1, strip] + counted(below) - counted(below - self.size)
        )
        return f

    def sums(self, columns: Func) -> Func:
        """The sums of the counts of columns of a tile, up to each one: [level, place,
        tile, row of a strip, strip]. They wrap around, and their differences are
        right."""
        level, place, *others = [
            Var(n) for n in ("level", "place", "tile", "row", "strip")
        ]
        tile, row, strip = others
        half = self.size // 2 * self.apart
        f = Func("sums")
        f[(level, place, *others)] = undef(_SHORT)
        none = RDom([(0, self.apart)])
        f[(level, none.x, *others)] = cast(_SHORT, 0)
        r = RDom([(self.apart, self.width + 2 * half)])
        x = tile * self.width + r.x - self.apart - half
        f[(level, r.x, *others)] = f[(level, r.x - self.apart, *others)] + cast(
            _SHORT, columns[level, x, row, strip]
        )
        return f


def by_tiles(size: int, apart: int) -> Callable[[Pipeline], None]:
    """The schedule of medians by counts, in tiles of some pixels and rows."""
    return partial(_schedule, *_tile(size, apart))


def _schedule(width: int, rows: int, pipeline: Pipeline) -> None:
    (out,) = pipeline.outputs()
    order = realization_order([out._function])
    by_rank = {n: [Func._of(f) for f in order if f.dimensions == n] for n in range(6)}
    (columns,), (sums,) = by_rank[4], by_rank[5]
    (fewer,) = [Func._of(f) for f in callees(out._function)]
    x, y = out.args()
    strip, row, tile, pixel = [Var(n) for n in ("strip", "row", "tile", "pixel")]
    out.split(y, strip, row, rows, TailStrategy.GuardWithIf)
    out.split(x, tile, pixel, width, TailStrategy.GuardWithIf)
    if by_rank[3]:
        # Blocks are computed for a column of tiles, whose strips share them.
        out.reorder(pixel, row, strip, tile).parallel(tile)
    else:
        out.reorder(pixel, row, tile, strip).parallel(strip)
    out.never_partition(pixel, row, tile, strip)
    fewer.compute_at(out, pixel)
    level = fewer._function.updates[0].rdom
    assert level is not None
    fewer.update(0).atomic().vectorize(of_rvar(level.vars[0]), _LEVELS)
    _by_levels(columns.compute_at(out, strip if by_rank[3] else tile))
    _by_levels(sums.compute_at(out, row))
    for block in by_rank[3]:
        block.compute_at(out, tile).vectorize(block.args()[0], _LEVELS)
        _by_levels(block)
    for f in [*by_rank[1], *by_rank[2]]:
        if f._function not in (out._function, fewer._function):
            f.compute_root()
            if f.dimensions() == 2:
                vectorize(f, f._function)


def _by_levels(f: Func) -> None:
    """Computes all counts of a pixel at once, and pixels before the steps of an
    update."""
    level, x, *_ = f.args()
    for k, definition in enumerate(f._function.updates):
        stage = f.update(k)
        if definition.rdom is not None and definition.args[1] is x._node:
            stage.reorder(level, of_rvar(definition.rdom.vars[0]), x)
        stage.vectorize(level, _LEVELS)


__all__ = ["MOST", "by_counts", "by_tiles"]
