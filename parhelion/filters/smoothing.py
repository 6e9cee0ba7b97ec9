"""Gaussian and box filters, and sharpening by what they take away."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from parhelion.filters.given import (
    at_least,
    border_name,
    check_window,
    number,
    pair,
    window,
)
from parhelion.filters.planes import plane, saturated
from parhelion.filters.running import Image, run
from parhelion.filters.sums import along, both, sums
from parhelion.types import UInt
from parhelion.whole.array import Array
from parhelion.whole.functions import where
from parhelion.whole.promotion import float_for

_UINT8 = UInt(8)


def gaussian(
    image: Image,
    sigma: float | tuple[float, float],
    truncate: float | None = None,
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns an image smoothed by a Gaussian: each pixel is a sum of those around it,
    with weights ``exp(-d**2 / (2 * sigma**2))`` that add up to 1.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type.
    sigma: in pixels, of both axes, or (rows, columns); 0 leaves an axis as it is.
    truncate: beyond how many sigmas weights are 0, as SciPy takes it; if it is None the
        window is OpenCV's, of 3 sigmas for uint8 and of 4 for other types.
    border: a name of `Array.pad`'s; ``value`` is that of "constant".

    Of uint8 it is what ``cv2.GaussianBlur`` computes, whose weights are multiples of
    1/256. Other types are computed as floats, and integers are rounded to the nearest.
    Raises BoundsError for a sigma or truncate below 0, and TypeMismatchError for what
    is no image, number or border.

    Formula: R. Szeliski, Computer Vision, 2nd edition, section 3.2.

    >>> spot = np.zeros((3, 5), np.uint8)
    >>> spot[1, 2] = 255
    >>> hl.filters.gaussian(spot, 0.6)[1].tolist()
    [1, 28, 114, 28, 1]
    """
    sy, sx = [at_least(s, 0, "sigma") for s in pair(sigma, "sigma")]
    cut = None if truncate is None else at_least(truncate, 0, "truncate")
    name = border_name(border)
    found: Image = run(_gaussian, image, sy, sx, cut, name, number(value, "value"))
    return found


def _gaussian(
    image: Array,
    apart: int,
    sy: float,
    sx: float,
    truncate: float | None,
    border: str,
    value: float,
) -> Array:
    own = image.type
    down, across = [weights(s, truncate, own is _UINT8) for s in (sy, sx)]
    middle = len(down) // 2, len(across) // 2
    p = plane(image, apart, border, value, "gaussian", middle[1])
    if own is not _UINT8:
        return saturated(both(p, down, across, middle), own)
    # The first sums fit 16 bits, as the weights add up to 256.
    kernels = {True: (_fixed(down), -middle[0]), False: (_fixed(across), -middle[1])}
    rows = p.apart > 0
    first = sums(p, rows, *kernels[rows], UInt(16))
    total = along(first, not rows, *kernels[not rows], UInt(32))
    return ((total + (1 << 15)) >> 16).astype("uint8")


@cache
def weights(sigma: float, truncate: float | None, narrow: bool) -> tuple[float, ...]:
    """The weights of a Gaussian, which add up to 1. narrow: whether OpenCV's window is
    that of uint8."""
    if sigma == 0:
        return (1.0,)
    reach = (3 if narrow else 4) if truncate is None else truncate
    check_window(2 * reach * sigma, "sigma")
    if truncate is None:
        radius = (round(sigma * reach * 2 + 1) | 1) // 2
    else:
        radius = int(reach * sigma + 0.5)
    found = [math.exp(-0.5 * (d / sigma) ** 2) for d in range(-radius, radius + 1)]
    total = math.fsum(found)
    return tuple([w / total for w in found])


def _fixed(found: tuple[float, ...]) -> tuple[int, ...]:
    """Weights as multiples of 1/256. What one is rounded by goes to the next, and the
    middle takes what is left."""
    half = len(found) // 2
    side: list[int] = []
    error = 0.0
    for w in found[:half]:
        exact = w * 256 + error
        side.append(round(exact))
        error = exact - side[-1]
    return (*side, 256 - 2 * sum(side), *reversed(side))


def box(
    image: Image,
    size: int | tuple[int, int],
    border: str = "reflect",
    value: float = 0,
    normalize: bool = True,
) -> Image:
    """Returns the mean of the pixels in a window around each pixel.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type.
    size: of the window in both axes, or (rows, columns). The window of an even size has
        one pixel more above and on the left.
    border: a name of `Array.pad`'s; ``value`` is that of "constant".
    normalize: False gives sums, limited to what the type holds.

    Sums of integers are exact where 32 bits hold them; a mean is rounded to the
    nearest, the even one of two. OpenCV calls it ``cv2.blur`` and ``cv2.boxFilter``,
    SciPy ``uniform_filter``. Raises BoundsError for a size below 1, and
    TypeMismatchError for what is no image, integer or border.

    Formula: out[y, x] = sum of image[y + i, x + j] / (rows * columns).

    >>> hl.filters.box(np.array([[0, 0, 90, 0, 0]], np.uint8), (1, 3)).tolist()
    [[0, 30, 30, 30, 0]]
    """
    rows, columns = window(size, "size")
    name = border_name(border)
    fill = number(value, "value")
    found: Image = run(boxed, image, rows, columns, name, fill, bool(normalize))
    return found


def boxed(
    image: Array,
    apart: int,
    rows: int,
    columns: int,
    border: str,
    value: float,
    normalize: bool,
) -> Array:
    """As `box`, of an Array."""
    p = plane(image, apart, border, value, "box", columns // 2)
    total = both(p, (1,) * rows, (1,) * columns, (rows // 2, columns // 2))
    if not normalize:
        return saturated(total, image.type)
    if (
        total.type is UInt(16)
        and _most(image, rows * columns) + rows * columns < 1 << 16
    ):
        return _mean(total, rows * columns).astype(image.dtype)
    to = float_for(total.type).to_numpy()
    # Sums of integers are divided as floats that hold them; a float32 does up to 2**24.
    if total.type.is_int_or_uint() and _most(image, rows * columns) < 1 << 24:
        to = np.dtype(np.float32)
    mean = total.astype(to) / to.type(rows * columns)
    return saturated(mean, image.type)


def _mean(total: Array, count: int) -> Array:
    """Sums divided by their count in 16 bits: to the nearest, the even one of two."""
    up = total + np.uint16(count // 2)
    mean = up // np.uint16(count)
    if count % 2:
        return mean
    # What is half way between two was rounded up.
    is_odd_half = (mean * np.uint16(count) == up) & ((mean & np.uint16(1)) == 1)
    return where(is_odd_half, mean - np.uint16(1), mean)


def _most(image: Array, count: int) -> int:
    limits = image.type.lowest(), image.type.highest()
    return int(max([abs(n) for n in limits])) * count


def unsharp(
    image: Image,
    sigma: float | tuple[float, float] = 1.0,
    amount: float = 1.0,
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns an image sharpened by what a Gaussian takes away from it.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type.
    sigma, border, value: as of `gaussian`. amount: how much of the difference is added.

    Computed as a float: also the blurred image is not rounded. Integers are rounded to
    the nearest and limited to what their type holds. Raises BoundsError for a sigma
    below 0, and TypeMismatchError for what is no image, number or border.

    Formula: image + amount * (image - gaussian(image)); R. Gonzalez and R. Woods,
    Digital Image Processing, 4th edition, section 3.6.

    >>> step = np.array([[10, 10, 10, 90, 90, 90]], np.uint8)
    >>> hl.filters.unsharp(step, 1.0).tolist()
    [[9, 5, 0, 114, 95, 91]]
    """
    sy, sx = [at_least(s, 0, "sigma") for s in pair(sigma, "sigma")]
    name = border_name(border)
    factor, fill = number(amount, "amount"), number(value, "value")
    found: Image = run(_unsharp, image, sy, sx, factor, name, fill)
    return found


def _unsharp(
    image: Array,
    apart: int,
    sy: float,
    sx: float,
    amount: float,
    border: str,
    value: float,
) -> Array:
    down, across = weights(sy, None, False), weights(sx, None, False)
    middle = len(down) // 2, len(across) // 2
    p = plane(image, apart, border, value, "unsharp", middle[1])
    blurred = both(p, down, across, middle)
    own = image.astype(blurred.dtype)
    return saturated(own + (own - blurred) * blurred.dtype.type(amount), image.type)


__all__ = ["box", "boxed", "gaussian", "unsharp", "weights"]
