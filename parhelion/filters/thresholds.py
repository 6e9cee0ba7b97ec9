"""Thresholds: pixels above a level, and those below."""

from __future__ import annotations

import math

import numpy as np

from parhelion.filters.given import number, one_of
from parhelion.filters.otsu import otsu_threshold
from parhelion.filters.planes import plane_axes
from parhelion.filters.running import Image, run
from parhelion.types import Type
from parhelion.whole.array import Array
from parhelion.whole.functions import where

_KINDS = ("binary", "binary_inv", "trunc", "tozero", "tozero_inv")


def threshold(
    image: Image, level: float | str, most: float = 255, kind: str = "binary"
) -> Image:
    """Returns an image whose pixels depend on whether they are above a level.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type.
    level: a number, or "otsu" for that of `threshold_otsu`, of uint8. Pixels of
        integers are above a number from its integer part on.
    kind: "binary" gives `most` for pixels above the level and 0 for others,
        "binary_inv" the contrary; "trunc" lowers those above to the level; "tozero"
        keeps those above and gives 0 for others, "tozero_inv" the contrary.
    most: of the first two kinds, rounded and limited to what the type holds.

    OpenCV calls it ``cv2.threshold``. Raises BoundsError for numbers that are not
    finite, and TypeMismatchError for what is no image, number or kind.

    Formula: out = most if image > level else 0; OpenCV's manual, threshold.

    >>> image = np.array([[3, 100, 101, 250]], np.uint8)
    >>> hl.filters.threshold(image, 100).tolist()
    [[0, 0, 255, 255]]
    >>> hl.filters.threshold(image, 100, kind="trunc").tolist()
    [[3, 100, 100, 100]]
    """
    top, word = number(most, "most"), one_of(kind, _KINDS, "kind")
    found: Image
    if isinstance(level, str):
        one_of(level, ("otsu",), "a level that is no number")
        found = otsu_threshold(image, top, word)
        return found
    limit = number(level, "level")
    found = run(_threshold, image, limit, top, word)
    return found


def _threshold(image: Array, apart: int, level: float, most: float, kind: str) -> Array:
    plane_axes(image, "threshold")
    own = image.type
    limit: np.generic
    zero: np.generic
    if own.is_float():
        limit = own.to_numpy().type(level)
        above = image > limit
    else:
        whole = math.floor(level)
        low, high = int(own.lowest()), int(own.highest())
        # Beyond what the type holds all pixels are above it, or none.
        above = image > max(whole, low) if whole < high else image != image
        above = above if whole >= low else image == image
        limit = own.to_numpy().type(min(max(whole, low), high))
    zero = own.to_numpy().type(0)
    if kind == "trunc":
        return where(above, limit, image)
    if kind == "tozero":
        return where(above, image, zero)
    if kind == "tozero_inv":
        return where(above, zero, image)
    top = _held(most, own)
    one, other = (top, zero) if kind == "binary" else (zero, top)
    return where(above, one, other)


def _held(value: float, t: Type) -> np.generic:
    """A number in a type: rounded, of two to the even one, and limited to it."""
    if t.is_int_or_uint():
        value = min(max(round(value), int(t.lowest())), int(t.highest()))
    made: np.generic = t.to_numpy().type(value)
    return made


__all__ = ["threshold"]
