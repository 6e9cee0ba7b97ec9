"""Histograms of images, and their equalisation."""

from __future__ import annotations

import numpy as np

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.filters.applied import applied
from parhelion.filters.given import number, whole_number
from parhelion.filters.planes import plane_axes
from parhelion.filters.running import Image
from parhelion.filters.tabled import (
    as_table,
    by_tables,
    check_bytes,
    counts,
    looked_up,
)
from parhelion.filters.whole_images import run
from parhelion.types import UInt
from parhelion.whole.array import Array
from parhelion.whole.functions import where
from parhelion.whole.tables import cumsum

_BYTES = UInt(8)
#: The most bins of a histogram.
_MOST = 1 << 16


def histogram(
    image: Image, bins: int = 256, range: tuple[float, float] | None = None
) -> Image:
    """Returns how many pixels of an image have values in each of some intervals.

    image: (H, W) or (H, W, C), of any numbers.
    bins: how many intervals of the same length there are, 65536 at most.
    range: from where on, and to where: each interval has its lower end, and the last
        one its upper end too. Values outside are not counted. If it is None, it is that
        of the type for integers of at most 16 bits, so that 256 bins are the values of
        bytes, and from 0 to 1 for floats.

    The result is (bins,) or (bins, C), of int64: each channel is counted by itself.
    OpenCV calls it ``cv2.calcHist``, NumPy ``histogram``. Raises BoundsError for other
    numbers of bins and an empty range, and TypeMismatchError for what is no image or
    number, and for integers of more bits without a range.

    Formula: W. Pratt, Digital Image Processing, 4th edition, section 5.5.

    >>> image = np.array([[0, 3, 3, 2]], np.uint8)
    >>> hl.filters.histogram(image, 4, (0, 4)).tolist()
    [1, 0, 1, 2]
    """
    count = whole_number(bins, 1, "bins")
    if count > _MOST:
        raise BoundsError(f"bins is at most {_MOST}, not {count}", at=here())
    limits = None
    if range is not None:
        low, high = [number(n, "range") for n in range]
        if not low < high:
            raise BoundsError(
                f"range is from a number to a greater one, not {range!r}", at=here()
            )
        limits = (low, high)
    found: Image = run(_histogram, image, count, limits, schedule=by_tables)
    return found


def _histogram(image: Array, bins: int, limits: tuple[float, float] | None) -> Array:
    plane_axes(image, "histogram")
    own = image.type
    if limits is None:
        if own.is_float():
            limits = (0.0, 1.0)
        elif own.width <= 16:
            # Each value has the interval up to the next one.
            limits = (int(own.lowest()), int(own.highest()) + 1)
        else:
            raise TypeMismatchError(
                f"histogram of {own} is told the range of its bins",
                at=here(),
                hint="range=(0, 1000)",
            )
    low, high = limits
    if own.is_uint() and low == 0 and high == bins == 1 << own.width:
        return counts(image, bins, "histogram")
    wide = image.astype("float64")
    # As of NumPy's: the upper end belongs to the last one.
    place = applied("floor", (wide - low) * (bins / (high - low)))
    is_last = wide == high
    inside = (wide >= low) & (wide <= high)
    index = where(is_last, float(bins - 1), place).clip(0, bins - 1)
    return counts(where(inside, index, -1.0).astype("int32"), bins, "histogram")


def equalize_hist(image: Image) -> Image:
    """Returns an image whose levels are spread so that about as many pixels have each.

    image: (H, W) or (H, W, C) of uint8, each of whose channels is treated by itself;
    the result has its shape and type. An image of one level stays as it is.

    OpenCV calls it ``cv2.equalizeHist``, scikit-image ``equalize_hist``. Raises
    TypeMismatchError for what is no image of uint8.

    Formula: 255 * (C[v] - C[v0]) / (n - C[v0]), where C[v] of the n pixels are at most
    v, and v0 is the least level; R. Gonzalez and R. Woods, Digital Image Processing,
    4th edition, section 3.3.

    >>> hl.filters.equalize_hist(np.array([[10, 11, 11, 14]], np.uint8)).tolist()
    [[0, 170, 170, 255]]
    """
    found: Image = run(_equalize, image, schedule=by_tables)
    return found


def _equalize(image: Array) -> Array:
    check_bytes(image, "equalize_hist")
    found = counts(image, 256, "equalize_hist")
    so_far = as_table(Array._of(cumsum(found, 0)))
    least = as_table(where(so_far > 0, so_far, np.int64(1 << 62)).min(axis=0))
    total = so_far[255]
    rest = (total - least).astype("float32")
    scale = as_table(np.float32(255) / rest)
    spread = ((so_far - least).astype("float32") * scale).round().clip(0, 255)
    table = as_table(spread.astype("uint8"))
    # Of one level, nothing is left to be divided by.
    levels = Array(np.arange(256, dtype=np.uint8))
    if table.ndim > 1:
        levels = levels[:, None]
    table = as_table(where(total == least, levels, table))
    return looked_up(table, image, "equalize_hist")


__all__ = ["equalize_hist", "histogram"]
