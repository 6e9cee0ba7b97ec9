"""The pixel of a window that has a place in the order of all: ranks and percentiles."""

from __future__ import annotations

from parhelion.errors import BoundsError, here
from parhelion.filters.given import border_name, number, sizes, whole_number
from parhelion.filters.planes import array, plane
from parhelion.filters.running import Image, run
from parhelion.ir.expr import Expr as Node
from parhelion.whole.array import Array
from parhelion.whole.networks import sort

#: The most pixels of a window: networks grow faster than these.
_MOST = 49


def rank(
    image: Image,
    position: int,
    size: int | tuple[int, int] = 3,
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns the pixel at a position in the order of all pixels of a window.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type.
    position: 0 is the least pixel, 1 the next, -1 the greatest.
    size: of the window in both axes, or (rows, columns), of 49 pixels at most. The
        window of an even size has one pixel more above and on the left.
    border: a name of `Array.pad`'s; ``value`` is that of "constant".

    SciPy calls it ``rank_filter``, whose border is "symmetric". It is computed by a
    sorting network; of a window with NaN in it, the result is any of its values. Raises
    BoundsError for a larger window and a position that it has not, and
    TypeMismatchError for what is no image, integer or border.

    Formula: the value at a place in the order of all; W. Pratt, Digital Image
    Processing, 4th edition, section 10.3.

    >>> hl.filters.rank(np.array([[5, 1, 9, 3]], np.uint8), 1, (1, 3)).tolist()
    [[1, 5, 3, 9]]
    """
    rows, columns = _window(size, "rank")
    place = whole_number(position, -rows * columns, "position")
    if place >= rows * columns:
        raise BoundsError(
            f"a window of {rows} by {columns} pixels has no position {place}",
            at=here(),
        )
    return _run(image, place % (rows * columns), rows, columns, border, value)


def percentile(
    image: Image,
    percent: float,
    size: int | tuple[int, int] = 3,
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns the pixel below which so many percent of the pixels of a window lie.

    image, size, border, value: as of `rank`. percent: in [0, 100].

    No values between those of pixels are computed. SciPy calls it
    ``percentile_filter``, whose border is "symmetric". Raises BoundsError for other
    percents, and what `rank` raises.

    Formula: `rank` with the position floor(rows * columns * percent / 100), and of 100
    the last.

    >>> hl.filters.percentile(np.array([[5, 1, 9, 3]], np.uint8), 50, (1, 3)).tolist()
    [[1, 5, 3, 9]]
    """
    rows, columns = _window(size, "percentile")
    share = number(percent, "percent")
    if not 0 <= share <= 100:
        raise BoundsError(f"percent is in [0, 100], not {share}", at=here())
    count = rows * columns
    place = count - 1 if share == 100 else int(float(count) * share / 100.0)
    return _run(image, place, rows, columns, border, value)


def _window(size: object, what: str) -> tuple[int, int]:
    rows, columns = sizes(size, "size")
    if rows * columns > _MOST:
        raise BoundsError(
            f"the window of {what} has at most {_MOST} pixels, not {rows} by {columns}",
            at=here(),
            hint="of a larger one, erode and dilate have the least and the greatest"
            " pixel",
        )
    return rows, columns


def _run(
    image: Image, place: int, rows: int, columns: int, border: str, value: float
) -> Image:
    name, fill = border_name(border), number(value, "value")
    found: Image = run(_rank, image, place, rows, columns, name, fill)
    return found


def _rank(
    image: Array,
    apart: int,
    place: int,
    rows: int,
    columns: int,
    border: str,
    value: float,
) -> Array:
    p = plane(image, apart, border, value, "rank", columns // 2)
    up, left = rows // 2, columns // 2
    # Columns are sorted once, for all the windows that they are in.
    ranks = p.columns(
        lambda pixel: [
            array(node, image._whole)
            for node in sort([pixel(d - up)._whole.value for d in range(rows)])
        ]
    )
    grid = [
        sort([r.at(0, d - left)._whole.value for d in range(columns)]) for r in ranks
    ]
    found, before = _candidates(grid, place)
    return array(sort(found)[place - before], image._whole)


def _candidates(grid: list[list[Node]], place: int) -> tuple[list[Node], int]:
    """What may be at a place in the order of a grid whose rows and columns are in
    order, and how many of the others are before it."""
    rows, columns = len(grid), len(grid[0])
    found: list[Node] = []
    before = 0
    for i in range(rows):
        for j in range(columns):
            if rows * columns - (rows - i) * (columns - j) < place:
                before += 1
            elif (i + 1) * (j + 1) - 1 <= place:
                found.append(grid[i][j])
    return found, before


__all__ = ["percentile", "rank"]
