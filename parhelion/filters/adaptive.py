"""Thresholds that depend on the pixels around each one."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from parhelion.errors import BoundsError, here
from parhelion.filters.given import number, one_of, whole_number
from parhelion.filters.planes import plane, saturated
from parhelion.filters.running import Image, run
from parhelion.filters.smoothing import boxed, weights
from parhelion.filters.sums import both
from parhelion.types import Type
from parhelion.whole.array import Array
from parhelion.whole.functions import where

_METHODS = ("mean", "gaussian")
_KINDS = ("binary", "binary_inv")


def adaptive_threshold(
    image: Image,
    size: int,
    offset: float = 0,
    most: float = 255,
    method: str = "mean",
    kind: str = "binary",
) -> Image:
    """Returns an image whose pixels depend on whether they are above the mean of those
    around them, less an offset.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type.
    size: of the square window, an odd number of pixels. Beyond its edges the image
        continues with the pixels there.
    offset: is subtracted from the mean; of integers the mean is rounded to the nearest
        first.
    most: of pixels above, or of the others; rounded and limited to what the type holds.
    method: "mean" of the window, or "gaussian", weighted with a sigma of ``0.15 * size
        + 0.35``.
    kind: "binary" gives `most` for pixels above and 0 for others, "binary_inv" the
        contrary.

    OpenCV calls it ``cv2.adaptiveThreshold``, scikit-image has ``threshold_local``.
    Raises BoundsError for an even size and numbers that are not finite, and
    TypeMismatchError for what is no image, number or word.

    Formula: out = most if image > mean - offset else 0; OpenCV's manual,
    adaptiveThreshold.

    >>> image = np.array([[10, 10, 50, 60, 200, 90]], np.uint8)
    >>> hl.filters.adaptive_threshold(image, 3).tolist()
    [[0, 0, 255, 0, 255, 0]]
    """
    extent = whole_number(size, 1, "size")
    if extent % 2 == 0:
        raise BoundsError(
            f"the size of adaptive_threshold is an odd number, not {size}", at=here()
        )
    found: Image = run(
        _adaptive,
        image,
        extent,
        number(offset, "offset"),
        number(most, "most"),
        one_of(method, _METHODS, "method"),
        one_of(kind, _KINDS, "kind"),
    )
    return found


def _adaptive(
    image: Array,
    apart: int,
    size: int,
    offset: float,
    most: float,
    method: str,
    kind: str,
) -> Array:
    own = image.type
    if method == "mean":
        mean = boxed(image, apart, size, size, "edge", 0, True)
    else:
        p = plane(image, apart, "edge", 0, "adaptive_threshold", size // 2)
        row = gaussian_row(size)
        mean = saturated(both(p, row, row, (size // 2, size // 2)), own)
    inverse = kind == "binary_inv"
    above: Array
    if own.is_float():
        above = image > mean - own.to_numpy().type(offset)
    else:
        # Of integers, the offset is rounded so that the pixels above stay the same.
        wide: np.dtype[Any] = np.dtype(np.int32 if own.width <= 16 else np.int64)
        limit = _limited((math.floor if inverse else math.ceil)(offset), own)
        above = image.astype(wide) - mean.astype(wide) > wide.type(-limit)
    zero: np.generic
    high: np.generic
    zero = own.to_numpy().type(0)
    top = _limited(most if own.is_float() else round(most), own)
    high = own.to_numpy().type(max(top, 0) if own.is_uint() else top)
    one, other = (zero, high) if inverse else (high, zero)
    return where(above, one, other)


def _limited(value: float, own: Type) -> float:
    """A number limited to what the type holds, on both sides of 0."""
    if own.is_float():
        return value
    most = int(own.highest())
    return min(max(value, -most), most)


#: OpenCV's weights for small windows, in 1/256.
_SMALL: dict[int, tuple[int, ...]] = {
    1: (256,),
    3: (64, 128, 64),
    5: (16, 64, 96, 64, 16),
    7: (8, 28, 56, 72, 56, 28, 8),
    9: (4, 13, 30, 51, 60, 51, 30, 13, 4),
}


@cache
def gaussian_row(size: int) -> tuple[float, ...]:
    """The weights of a window of OpenCV's without a sigma.

    Source: OpenCV's manual, getGaussianKernel.
    """
    if size in _SMALL:
        return tuple([w / 256 for w in _SMALL[size]])
    sigma = 0.3 * ((size - 1) * 0.5 - 1) + 0.8
    # So many sigmas that the window has its size.
    return weights(sigma, (size // 2) / sigma, False)


__all__ = ["adaptive_threshold"]
