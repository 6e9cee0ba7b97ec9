"""Edges: the lines along which an image changes most."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.filters.channels import at_once, colours
from parhelion.filters.corners import gradients
from parhelion.filters.given import number
from parhelion.filters.growing import NOTHING, OPEN, TAKEN, by_walk, grown
from parhelion.filters.planes import array, plane, plane_axes
from parhelion.filters.running import Image
from parhelion.filters.whole_images import run_with
from parhelion.ir import build
from parhelion.ir.build import int32
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.functions import cast, select
from parhelion.types import INT32, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import coordinate, moved
from parhelion.whole.functions import where

_APERTURES = (3, 5, 7)
#: The tangent of 22.5 degrees, in units of 2**-15.
_TANGENT = round((math.sqrt(2) - 1) * (1 << 15))
#: What sums of gradients, and of their squares, are compared by at most.
_MOST = {False: (1 << 15) - 1, True: (1 << 31) - 1}


def canny(
    image: Image, low: float, high: float, aperture: int = 3, l2: bool = False
) -> Image:
    """Returns the edges of an image: 255 on lines, a pixel wide, along which it changes
    most, and 0 elsewhere.

    image: (H, W) or (H, W, 3), of uint8; of colours, each pixel has the gradient of the
        channel that changes most, the first of several. The result is (H, W), of uint8.
    low, high: thresholds of the gradient, in its units: a line begins where it is above
        the higher one, and goes on, to any of eight neighbours, while it is above the
        lower one. It does not matter which is given first.
    aperture: the size of the kernels of `sobel` that find gradients: 3, 5 or 7; 7 takes
        a sixteenth of gradients and thresholds.
    l2: whether gradients are compared by their lengths, or by ``|dx| + |dy|``.

    OpenCV calls it ``cv2.Canny``, with apertureSize and L2gradient; results are equal.
    It smooths nothing before, as scikit-image's ``canny`` does: `gaussian` does. How
    long it takes depends on the number of pixels, not on what lines look like. Raises
    BoundsError for another aperture and another number of channels, and
    TypeMismatchError for what is no image of uint8 or number.

    Formula: J. Canny, A computational approach to edge detection, 1986; directions are
    compared with 22.5 degrees, whose tangent is 13573 / 32768.

    >>> image = np.zeros((5, 8), np.uint8)
    >>> image[:, 4:] = 100
    >>> hl.filters.canny(image, 100, 200)[2].tolist()
    [0, 0, 0, 255, 0, 0, 0, 0]
    """
    if aperture not in _APERTURES or isinstance(aperture, bool):
        raise BoundsError(
            f"the aperture of canny is 3, 5 or 7, not {aperture}", at=here()
        )
    given = sorted([number(low, "low"), number(high, "high")])
    # They are no part of the program, so that others need no other code.
    limits = np.array([_threshold(n, aperture, bool(l2)) for n in given], np.int32)
    found: Image = run_with(
        _canny, image, (limits,), int(aperture), bool(l2), schedule=by_walk
    )
    return found


def _threshold(value: float, aperture: int, l2: bool) -> int:
    """The greatest integer that a gradient is compared with."""
    found = value / 16 if aperture == 7 else value
    if l2:
        found = min(found, 32767)
        found = found * found if found > 0 else found
    return max(min(math.floor(found), _MOST[l2]), -1)


def _canny(image: Array, limits: Array, aperture: int, l2: bool) -> Array:
    plane_axes(image, "canny")
    if image.type is not UInt(8):
        raise TypeMismatchError(
            f"canny takes an image of uint8, not of {image.type}",
            at=here(),
            hint="hl.clip(image, 0, 255).astype('uint8') makes one of levels up to 255",
        )
    found = [_slopes(c, aperture, l2) for c in colours(image, "canny")]
    steepest = found[0]
    for one in found[1:]:
        steepest = _steeper(steepest, one)
    dx, dy, size = at_once(steepest, "slopes")
    low, high = [
        cast(size.type, wrap(moved(limits._whole.value, {0: int32(k)}))) for k in (0, 1)
    ]
    return grown(_thin(dx, dy, size, low, high))


def _slopes(image: Array, aperture: int, l2: bool) -> list[Array]:
    """The derivatives across and down, and how large they are together."""
    p = plane(image, 0, "edge", 0, "canny", aperture // 2)
    dx, dy = gradients(p, aperture)
    if aperture == 7:
        dx, dy = _sixteenth(dx), _sixteenth(dy)
    if l2:
        wide = [d.astype("int32") for d in (dx, dy)]
        return [dx, dy, wide[0] * wide[0] + wide[1] * wide[1]]
    return [dx, dy, (abs(dx) + abs(dy)).astype("int16")]


def _sixteenth(d: Array) -> Array:
    """Rounded to the nearest, the even one of two."""
    return ((d + 7 + ((d >> 4) & 1)) >> 4).astype("int16")


def _steeper(one: list[Array], other: list[Array]) -> list[Array]:
    more = other[2] > one[2]
    return [where(more, b, a) for a, b in zip(one, other, strict=True)]


def _thin(dx: Array, dy: Array, size: Array, low: Expr, high: Expr) -> Array:
    """What kind of pixel each one is: of a line where its gradient is larger than both
    beside it, across the line."""
    y, x = plane_axes(size, "canny")
    whole = size._whole

    def at(down: int, right: int) -> Expr:
        """The size of a gradient nearby; it is 0 outside of the image."""
        places = {
            p: build.add(coordinate(p), int32(d)) for p, d in ((y, down), (x, right))
        }
        value = wrap(moved(whole.value, places))
        inside = [
            wrap(build.land(build.le(int32(0), i), build.lt(i, whole.extent(p))))
            for p, i in places.items()
            if i is not coordinate(p)
        ]
        return select(reduce(lambda a, b: a & b, inside), value, 0)

    own = wrap(whole.value)
    across, down = [wrap(d._whole.value) for d in (dx, dy)]
    rise, run_ = [cast(INT32, abs(d)) for d in (down, across)]
    flat = run_ * _TANGENT
    steep = flat + (run_ << 16)
    is_falling = (across ^ down) < 0
    sides = [
        (own > at(0, -1)) & (own >= at(0, 1)),
        (own > at(-1, 0)) & (own >= at(1, 0)),
        (own > select(is_falling, at(-1, 1), at(-1, -1)))
        & (own > select(is_falling, at(1, -1), at(1, 1))),
    ]
    height = rise << 15
    is_line = select(height < flat, sides[0], height > steep, sides[1], sides[2])
    byte = [cast(UInt(8), k) for k in (NOTHING, OPEN, TAKEN)]
    kind = select(own > high, byte[TAKEN], byte[OPEN])
    found = select((own > low) & is_line, kind, byte[NOTHING])
    return array(found._node, whole)


__all__ = ["canny"]
