"""CLAHE: equalisation by the histograms around each pixel, with limited contrast."""

from __future__ import annotations

import numpy as np

from parhelion.filters.applied import applied
from parhelion.filters.given import at_least, sizes
from parhelion.filters.planes import plane_axes
from parhelion.filters.running import Image
from parhelion.filters.sampling import inside
from parhelion.filters.tabled import as_table, by_tables, check_bytes, others
from parhelion.filters.whole_images import run
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.inline import update_over
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.types import INT32, Float, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, computed, coordinate, letters, moved, read
from parhelion.whole.tables import accumulated

_FLOAT, _WIDE = Float(32), Float(64)
_COUNT = UInt(32)
_LEVELS = 256


def clahe(
    image: Image, clip_limit: float = 40.0, tiles: int | tuple[int, int] = 8
) -> Image:
    """Returns an image whose levels are spread by the histograms of tiles around each
    pixel, so that dark and bright parts both get contrast.

    image: (H, W) or (H, W, C) of uint8, each of whose channels is treated by itself;
        the result has its shape and type.
    clip_limit: what a level of a tile's histogram may have at most, in units of the
        mean over all levels; what is above it is shared among all. 0 sets no limit.
    tiles: how many there are, (rows, columns), or of both. If they do not divide the
        image, it is reflected beyond its last row and column.

    OpenCV calls it ``cv2.createCLAHE(clip_limit, tiles)``, where the columns come
    first; scikit-image ``equalize_adapthist``. Raises BoundsError for a limit below 0
    and no tiles, and TypeMismatchError for what is no image of uint8 or number.

    Formula: K. Zuiderveld, Contrast limited adaptive histogram equalization, Graphics
    Gems IV, 1994; between the centres of tiles, tables are interpolated linearly.

    >>> image = np.arange(64, dtype=np.uint8).reshape(8, 8)
    >>> hl.filters.clahe(image, 0, 1)[0].tolist()
    [4, 8, 12, 16, 20, 24, 28, 32]
    """
    rows, columns = sizes(tiles, "tiles")
    limit = at_least(clip_limit, 0, "clip_limit")
    found: Image = run(_clahe, image, float(limit), rows, columns, schedule=by_tables)
    return found


def _clahe(image: Array, limit: float, rows: int, columns: int) -> Array:
    check_bytes(image, "clahe")
    y, x = plane_axes(image, "clahe")
    whole = computed(image._whole)
    image = Array._of(whole)
    high, wide = _tile(whole.extent(y), whole.extent(x), rows, columns)
    found = _counts(image, (y, x), (rows, columns), (high, wide))
    area = build.mul(high, wide)
    levels = _limited(found, area, limit) if limit > 0 else found
    summed = Array._of(accumulated(levels._whole, levels.ndim - 1, INT32))
    by = _number(
        build.div(imm(float(_LEVELS - 1), _FLOAT), build.cast(_FLOAT, area)), whole
    )
    tables = as_table(
        (summed.astype("float32") * by).round().clip(0, 255).astype("uint8")
    )
    return _between(tables, image, (y, x), (rows, columns), (high, wide))


def _tile(h: Node, w: Node, rows: int, columns: int) -> tuple[Node, Node]:
    """The rows and columns of a tile."""
    over = build.mod(h, int32(rows)), build.mod(w, int32(columns))
    even = build.land(build.eq(over[0], int32(0)), build.eq(over[1], int32(0)))
    # OpenCV enlarges both axes if one of them is not divided, by a pixel for each tile
    # even where the other is.
    more = build.select(even, int32(0), int32(1))
    return (
        build.add(build.div(h, int32(rows)), more),
        build.add(build.div(w, int32(columns)), more),
    )


def _number(value: Node, like: Whole) -> Array:
    return Array._of(Whole(value, (), (), like.trace))


def _line(value: Node, extent: Node, like: Whole, name: str) -> Whole:
    """Numbers along an axis, computed once."""
    return computed(Whole(value, (extent,), (None,), like.trace), name)


def _counts(
    image: Array,
    axes: tuple[int, int],
    tiles: tuple[int, int],
    tile: tuple[Node, Node],
) -> Array:
    """The histograms of tiles: (rows, columns, …, levels)."""
    whole = image._whole
    rest = others(image, "clahe")
    kept = [whole.rank - 1 - p for p in rest]
    shape = (
        *[int32(n) for n in tiles],
        *[whole.shape[k] for k in kept],
        int32(_LEVELS),
    )
    names = (None, None, *[whole.names[k] for k in kept], None)
    named = [Var(c) for c in letters(names)]
    strip, column = Var("strip"), named[-2]
    channels = named[1:-2]
    inside_of = [
        _line(
            inside(coordinate(0), whole.extent(p), "reflect"),
            build.mul(int32(n), size),
            whole,
            "inside",
        )
        for p, n, size in zip(axes, tiles, tile, strict=True)
    ]
    high, wide = tile
    r = RDom([(0, wrap(wide)), (0, wrap(high))])
    places = (
        build.add(build.mul(strip._node, high), r.y._node),
        build.add(build.mul(column._node, wide), r.x._node),
    )
    at: dict[int, Node] = {
        p: moved(line.value, {0: place})
        for p, line, place in zip(axes, inside_of, places, strict=True)
    }
    for i, p in enumerate(rest):
        at[p] = channels[len(rest) - 1 - i]._node
    level = wrap(build.cast(INT32, moved(whole.value, at)))
    counts = Func("counts")
    counts[(named[0], *channels, column, strip)] = wrap(imm(0, _COUNT))
    bin_of = (level, *channels, column, strip)
    update_over(counts, bin_of, counts[bin_of] + wrap(imm(1, _COUNT)), r)
    value = build.cast(INT32, read(counts, shape))
    return Array._of(Whole(value, shape, names, whole.trace))


def _limited(found: Array, area: Node, limit: float) -> Array:
    """Histograms with no level above a limit; what was is shared among all."""
    whole = found._whole
    mean = build.div(
        build.mul(imm(limit, _WIDE), build.cast(_WIDE, area)),
        imm(float(_LEVELS), _WIDE),
    )
    top = _number(build.maximum(build.cast(INT32, mean), int32(1)), whole)
    above = (found - top).clip(0, None).sum(axis=-1, keepdims=True)
    excess = as_table(above.astype("int32"))
    each = excess // np.int32(_LEVELS)
    left = excess - each * np.int32(_LEVELS)
    step = np.int32(_LEVELS) // left.clip(1, None)
    level = Array(np.arange(_LEVELS, dtype=np.int32))
    gets_more = (level % step == 0) & (level // step < left)
    return applied("minimum", found, top) + each + gets_more.astype("int32")


def _between(
    tables: Array,
    image: Array,
    axes: tuple[int, int],
    tiles: tuple[int, int],
    tile: tuple[Node, Node],
) -> Array:
    """The levels of pixels in the tables of the four tiles around them."""
    whole = image._whole
    last = tables.ndim - 1
    level = build.cast(INT32, whole.value)
    base: dict[int, Node] = {0: level}
    for i, p in enumerate(others(image, "clahe")):
        base[last - 2 - i] = coordinate(p)
    sides: list[tuple[list[Node], list[Array]]] = []
    for p, n, size in zip(axes, tiles, tile, strict=True):
        by = build.div(imm(1.0, _FLOAT), build.cast(_FLOAT, size))
        at = build.mul(build.cast(_FLOAT, coordinate(0)), by)
        line = Array._of(Whole(at, (whole.extent(p),), (None,), whole.trace)) - 0.5
        before = applied("floor", line)
        first = before.astype("int32")
        share = Array._of(computed((line - before)._whole, "share"))
        ends = [
            computed(one.clip(0, n - 1)._whole, "tile") for one in (first, first + 1)
        ]
        to: dict[int, Node] = {0: coordinate(p)}
        weight = Array._of(
            Whole(moved(share._whole.value, to), whole.shape, whole.names, whole.trace)
        )
        sides.append(([moved(end.value, to) for end in ends], [1 - weight, weight]))
    (above, below), down = sides[0]
    (left, right), across = sides[1]

    def pixel(row: Node, column: Node) -> Array:
        to = base | {last: row, last - 1: column}
        value = build.cast(_FLOAT, moved(tables._whole.value, to))
        return Array._of(Whole(value, whole.shape, whole.names, whole.trace))

    rows = [
        pixel(row, left) * across[0] + pixel(row, right) * across[1]
        for row in (above, below)
    ]
    total = rows[0] * down[0] + rows[1] * down[1]
    return total.round().clip(0, 255).astype("uint8")


__all__ = ["clahe"]
