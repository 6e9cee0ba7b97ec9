"""Summed-area table: the sum of all pixels above and to the left of each one.

Four of its values give the sum of the pixels in a box, however large the box is (Crow,
"Summed-area tables for texture mapping", 1984). Tables of integers are of int32. They
wrap around, and sums of boxes are exact nevertheless, as long as each sum itself fits
into an int32. Tables of floats are of the type of the image.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.recursive.image import dimensions, realized
from parhelion.recfilter import RecFilter


def table_of(image: Array) -> RecFilter:
    """The sums of image[: y + 1, : x + 1], of each channel by itself."""
    inp = hl.Buffer(image)
    *_, x, y = dims = dimensions(image)
    whole = np.issubdtype(image.dtype, np.integer)
    table = RecFilter("table")
    table[dims] = hl.i32(inp[dims]) if whole else inp[dims]
    table.add_filter(+x, [1, 1])
    table.add_filter(+y, [1, 1])
    return table


def summed_area_table(image: Array) -> Array:
    """Returns the summed-area table of an (H, W) or (H, W, C) image: at [y, x] the sum
    of image[: y + 1, : x + 1]."""
    return np.asarray(table_of(image).realize())


def box_sums(image: Array, radius: int) -> Array:
    """Returns the sum over the square around each pixel that reaches `radius` pixels in
    each direction, of those of its pixels that are in the image."""
    return realized(sums_of(image, table_of(image).as_func(), radius), image)


def sums_of(image: Array, table: hl.Func, radius: int) -> hl.Func:
    """What `box_sums` computes, of the image's table."""
    *c, x, y = dims = dimensions(image)
    left, right = hl.max(x - radius, 0), hl.min(x + radius + 1, x.extent)
    top, bottom = hl.max(y - radius, 0), hl.min(y + radius + 1, y.extent)

    def before(i: Any, j: Any) -> Any:
        """The sum of image[:j, :i]."""
        value = table[(*c, hl.max(i - 1, 0), hl.max(j - 1, 0))]
        return hl.select((i > 0) & (j > 0), value, 0)

    sums = hl.Func("sums")
    sums[dims] = (before(right, bottom) - before(left, bottom)) - (
        before(right, top) - before(left, top)
    )
    return sums
