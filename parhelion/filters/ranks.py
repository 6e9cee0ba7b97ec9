"""The median of the pixels in a window."""

from __future__ import annotations

from functools import partial

from parhelion.errors import BoundsError, here
from parhelion.filters import medians
from parhelion.filters.given import border_name, number, whole_number
from parhelion.filters.planes import array, plane
from parhelion.filters.running import Image, run
from parhelion.ir.expr import Expr as Node
from parhelion.types import UInt
from parhelion.whole.array import Array
from parhelion.whole.networks import middle, sort

#: Sizes of windows that are sorted.
_SORTED = (3, 5, 7)


def median(
    image: Image, size: int = 3, border: str = "edge", value: float = 0
) -> Image:
    """Returns the median of the pixels in a square window around each pixel.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type.
    size: of the window: 3, 5 or 7; of uint8 any odd number from 3 to 255. Sizes above 7
        are no part of other programs, and take an image of pixels.
    border: a name of `Array.pad`'s, OpenCV's "edge" if none is given; ``value`` is that
        of "constant".

    OpenCV calls it ``cv2.medianBlur``, SciPy ``median_filter``, whose border is
    "symmetric". It is computed by a sorting network, and above 7 by counts of levels,
    where size 255 takes some three times as long as size 9; of a window with NaN in it,
    the result is any of its values. Raises BoundsError for another size, and
    TypeMismatchError for what is no image or border.

    Formula: the value in the middle of all, in order; J. Tukey, Exploratory Data
    Analysis, 1977; of large windows, S. Perreault and P. Hébert, Median filtering in
    constant time, 2007.

    >>> hl.filters.median(np.array([[1, 1, 9, 1, 2, 2]], np.uint8)).tolist()
    [[1, 1, 1, 2, 2, 2]]
    """
    across = whole_number(size, 0, "size")
    if across % 2 == 0 or not 3 <= across <= medians.MOST:
        raise BoundsError(
            f"the size of median is 3, 5 or 7, or for uint8 an odd number up to"
            f" {medians.MOST}, not {across}",
            at=here(),
        )
    given = across, border_name(border), number(value, "value")
    found: Image
    if across in _SORTED:
        found = run(_median, image, *given)
    else:
        schedule = partial(medians.by_tiles, across)
        found = run(_median_by_counts, image, *given, schedule=schedule)
    return found


def _median_by_counts(
    image: Array, apart: int, size: int, border: str, value: float
) -> Array:
    if image.type is not UInt(8):
        raise BoundsError(
            f"the size of median is 3, 5 or 7 for {image.type}, not {size}",
            at=here(),
            hint="of uint8 it is an odd number up to 255",
        )
    return medians.by_counts(image, apart, size, border, value)


def _median(image: Array, apart: int, size: int, border: str, value: float) -> Array:
    half = size // 2
    p = plane(image, apart, border, value, "median", half)
    # Columns are sorted once, for all the windows that they are in.
    ranks = p.columns(
        lambda pixel: [
            array(node, image._whole)
            for node in sort([pixel(d)._whole.value for d in range(-half, half + 1)])
        ]
    )
    rows: list[list[Node]] = [
        sort([r.at(0, d)._whole.value for d in range(-half, half + 1)]) for r in ranks
    ]
    return array(middle(_candidates(rows)), image._whole)


def _candidates(rows: list[list[Node]]) -> list[Node]:
    """What may be the median of a square whose rows and columns are in order: a value
    is not less than those above it and on its left, and not greater than the others'.
    """
    n = len(rows)
    most = (n * n + 1) // 2
    return [
        rows[i][j]
        for i in range(n)
        for j in range(n)
        if (i + 1) * (j + 1) <= most and (n - i) * (n - j) <= most
    ]


__all__ = ["median"]
