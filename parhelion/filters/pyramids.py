"""Pyramids: images of half the size, of twice the size, and lists of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from parhelion.errors import BoundsError, here
from parhelion.filters.given import border_name, whole_number
from parhelion.filters.planes import Plane, plane, plane_axes, saturated
from parhelion.filters.running import Image, run
from parhelion.filters.sums import weighted
from parhelion.ir import build
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr as Node
from parhelion.types import Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, computed, coordinate, moved, tidy
from parhelion.whole.promotion import float_for

#: The weights along an axis, in 1/16.
_ROW = (1, 4, 6, 4, 1)


def pyr_down(image: Image, border: str = "reflect") -> Image:
    """Returns an image of half the rows and columns, rounded up: every second pixel of
    the smoothed one.

    image: (H, W) or (H, W, C), of any numbers; the result has its type.
    border: a name of `Array.pad`'s, but "constant".

    Sums of integers of at most 16 bits are exact, and rounded to the nearest, the
    greater one of two. OpenCV calls it ``cv2.pyrDown``. Raises BoundsError for the
    border "constant", and TypeMismatchError for what is no image or border.

    Formula: weights (1, 4, 6, 4, 1) / 16 along both axes; P. Burt and E. Adelson, The
    Laplacian pyramid as a compact image code, 1983.

    >>> hl.filters.pyr_down(np.array([[0, 0, 160, 0, 0]], np.uint8)).tolist()
    [[20, 60, 20]]
    """
    name = border_name(border)
    if name in ("constant", "constant_exterior"):
        raise BoundsError(
            'pyr_down takes no border "constant": half-size images would get dark'
            " edges",
            at=here(),
            hint='image.pad(2, "constant") lays one around an Array',
        )
    found: Image = run(_down, image, name)
    return found


def _down(image: Array, apart: int, border: str) -> Array:
    own = image.type
    t = _exact(own, 256)
    p = plane(image, apart, border, 0, "pyr_down", 2)
    if p.source is not None:
        p = replace(p, source=replace(p.source, step=2))
        (rows,) = p.columns(lambda pixel: [weighted(pixel, _ROW, -2, t)])
    else:
        y = coordinate(p.y)
        rows = p.stage(
            weighted(lambda d: p.moved(build.add(y, int32(d)), int32(0)), _ROW, -2, t)
        )
    column = _pixel(p)
    total = weighted(
        lambda d: rows.moved(int32(0), build.add(column, int32(d))), _ROW, -2, t
    )
    return _sized(_rounded(total, own, 8), image, p, _half)


def _pixel(p: Plane) -> Node:
    """The column of each point."""
    at = coordinate(p.x)
    return build.div(at, int32(p.apart)) if p.apart > 1 else at


def _half(n: Node) -> Node:
    return build.div(build.add(n, int32(1)), int32(2))


def _exact(own: Type, most: int) -> Type:
    """The type of sums with weights that add up to `most`."""
    if own is UInt(8):
        return UInt(16)
    if own.is_int_or_uint() and own.width <= 16:
        return Type.from_numpy(np.int32)
    return float_for(own)


def _rounded(total: Array, own: Type, bits: int) -> Array:
    """Sums divided by a power of two, in a type."""
    number: Any = total.dtype.type
    if total.type.is_float():
        return saturated(total * number(1 / (1 << bits)), own)
    up: Array = total + number(1 << (bits - 1))
    found: Array = (up >> number(bits)).astype(own)
    return found


def _sized(image: Array, like: Array, p: Plane, size: Any) -> Array:
    """An image with other extents: what `size` makes of those of another one."""
    whole = like._whole
    shape = list(whole.shape)
    at, across = whole.rank - 1 - p.y, whole.rank - 1 - p.x
    shape[at] = tidy(size(shape[at]))
    if p.apart > 1:
        pixels = build.div(shape[across], int32(p.apart))
        shape[across] = tidy(build.mul(size(pixels), int32(p.apart)))
    else:
        shape[across] = tidy(size(shape[across]))
    value = image._whole.value
    return Array._of(Whole(value, tuple(shape), whole.names, whole.trace))


def pyr_up(image: Image) -> Image:
    """Returns an image of twice the rows and columns, with pixels between those of the
    given one.

    image: (H, W) or (H, W, C), of any numbers; the result has its type. Beyond its
    first row and column the image is reflected, beyond its last ones it continues.

    Sums of integers of at most 16 bits are exact, and rounded to the nearest, the
    greater one of two. OpenCV calls it ``cv2.pyrUp``. Raises TypeMismatchError for what
    is no image.

    Formula: zeros between pixels, and weights (1, 4, 6, 4, 1) / 8 along both axes; P.
    Burt and E. Adelson, ibid.

    >>> hl.filters.pyr_up(np.array([[0, 80, 0]], np.uint8)).tolist()[0]
    [20, 40, 60, 40, 10, 0]
    """
    found: Image = run(_up, image)
    return found


def _up(image: Array, apart: int) -> Array:
    own = image.type
    y, x = plane_axes(image, "pyr_up")
    p = Plane(image.func, image._whole, y, x, apart)
    work = image.astype(_exact(own, 64))
    rows = _twice(work, y, 1)
    columns = _twice(Array._of(computed(rows._whole, "rows")), x, max(apart, 1))
    return _sized(_rounded(columns, own, 6), image, p, lambda n: build.mul(n, int32(2)))


def _twice(image: Array, p: int, apart: int) -> Array:
    """The sums along an axis, which is counted from the last, for twice its pixels."""
    whole = image._whole
    n = whole.extent(p)
    place = coordinate(p)
    at: Node = place
    lane: Node = int32(0)
    if apart > 1:
        n, at = build.div(n, int32(apart)), build.div(place, int32(apart))
        lane = build.mod(place, int32(apart))
    last = build.sub(n, int32(1))

    def pixel(d: int) -> Array:
        k = build.add(build.div(at, int32(2)), int32(d))
        if d < 0:
            k = build.select(build.lt(k, int32(0)), build.minimum(int32(1), last), k)
        elif d > 0:
            k = build.minimum(k, last)
        to = build.add(build.mul(k, int32(apart)), lane) if apart > 1 else k
        value = moved(whole.value, {p: to})
        return Array._of(Whole(value, whole.shape, whole.names, whole.trace))

    number = image.dtype.type
    even = pixel(-1) + pixel(0) * number(6) + pixel(1)
    odd = (pixel(0) + pixel(1)) * number(4)
    is_odd = build.eq(build.mod(at, int32(2)), int32(1))
    value = build.select(is_odd, odd._whole.value, even._whole.value)
    shape = list(whole.shape)
    k = whole.rank - 1 - p
    shape[k] = build.mul(shape[k], int32(2))
    return Array._of(Whole(value, tuple(shape), whole.names, whole.trace))


def gaussian_pyramid(image: Image, levels: int, border: str = "reflect") -> list[Image]:
    """Returns a list of images, each of half the rows and columns of the one before.

    image: (H, W) or (H, W, C), of any numbers, which is the first of the list.
    levels: how many images follow it. border: as of `pyr_down`.

    Raises BoundsError for a negative number of levels, and what `pyr_down` raises.

    scikit-image calls it ``pyramid_gaussian``. Formula: P. Burt and E. Adelson, ibid.

    >>> image = np.zeros((5, 9), np.uint8)
    >>> [level.shape for level in hl.filters.gaussian_pyramid(image, 2)]
    [(5, 9), (3, 5), (2, 3)]
    """
    found = [image]
    for _ in range(whole_number(levels, 0, "levels")):
        found.append(pyr_down(found[-1], border))
    return found


def laplacian_pyramid(
    image: Image, levels: int, border: str = "reflect"
) -> list[Image]:
    """Returns a list of what each level of a Gaussian pyramid has more than the next
    one, and that pyramid's last level.

    image, levels, border: as of `gaussian_pyramid`. Integers of 8 bits give int16,
    those of 16 int32, and wider ones int64; floats stay what they are. The image is
    found again by adding `pyr_up` of each level, from the last on, to the one before.

    scikit-image calls it ``pyramid_laplacian``. Raises what `gaussian_pyramid` raises.

    Formula: L[k] = G[k] - pyr_up(G[k + 1]); P. Burt and E. Adelson, ibid.

    >>> image = np.full((4, 6), 7, np.uint8)
    >>> [level.tolist() for level in hl.filters.laplacian_pyramid(image, 2)][1:]
    [[[0, 0, 0], [0, 0, 0]], [[7, 7]]]
    """
    smooth = gaussian_pyramid(image, levels, border)
    found: list[Image] = []
    for one, smaller in zip(smooth, smooth[1:], strict=False):
        found.append(_less(one, pyr_up(smaller)))
    return [*found, _signed(smooth[-1])]


def _signed(image: Any) -> Any:
    kind, size = image.dtype.kind, image.dtype.itemsize
    return image if kind == "f" else image.astype(f"int{min(size * 16, 64)}")


def _less(image: Any, other: Any) -> Any:
    """The difference of an image and one that may have a row and a column more."""
    if not isinstance(image, Array):
        height, width = image.shape[:2]
        return _signed(image) - _signed(other[:height, :width])
    whole = replace(other._whole, shape=image._whole.shape, func=None, bordered={})
    return _signed(image) - _signed(Array._of(whole))


__all__ = ["gaussian_pyramid", "laplacian_pyramid", "pyr_down", "pyr_up"]
