"""Pyramids: images of half the size, of twice the size, and lists of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from parhelion.errors import BoundsError, here
from parhelion.filters.given import border_name, whole_number
from parhelion.filters.planes import Plane, array, plane, plane_axes, saturated
from parhelion.filters.running import Image, run
from parhelion.filters.sums import float_type, weighted
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.effects import undef, unsafe_promise_clamped
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import min as min_
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.types import Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, computed, coordinate, moved, tidy

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
    if p.apart > 1:
        # All sums lie side by side, but their pixels every second one: the latter are
        # taken of rounded ones.
        total = _rounded(weighted(lambda d: rows.at(0, d), _ROW, -2, t), own, 8)
        halved = _every_second(total._whole, p.apart)
        return _sized(halved, image, p, _half)
    column = coordinate(p.x)
    total = weighted(
        lambda d: rows.moved(int32(0), build.add(column, int32(d))), _ROW, -2, t
    )
    return _sized(_rounded(total, own, 8), image, p, _half)


def _every_second(row: Whole, apart: int) -> Array:
    """Every second pixel of rows whose pixels have several elements side by side."""
    x, table = Var("x"), Func("place")
    pixel = build.mul(build.div(x._node, int32(apart)), int32(2))
    lane = build.mod(x._node, int32(apart))
    at = build.add(build.mul(pixel, int32(apart)), lane)
    last = build.sub(row.extent(0), int32(1))
    table[x] = wrap(build.clamp(at, int32(0), last))
    place = unsafe_promise_clamped(table[wrap(coordinate(0))], 0, wrap(last))._node
    return array(moved(computed(row, "sums").value, {0: place}), row)


def _half(n: Node) -> Node:
    return build.div(build.add(n, int32(1)), int32(2))


def _exact(own: Type, most: int) -> Type:
    """The type of sums with weights that add up to `most`."""
    if own is UInt(8):
        return UInt(16)
    if own.is_int_or_uint() and own.width <= 16:
        return Type.from_numpy(np.int32)
    return float_type(own)


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
    rows = _twice(work, y)
    if apart > 1:
        columns = _twice_of_colours(rows, apart, own)
    else:
        rows = Array._of(computed(rows._whole, "rows"))
        columns = _rounded(_twice(rows, x), own, 6)
    return _sized(columns, image, p, lambda n: build.mul(n, int32(2)))


def _twice(image: Array, p: int) -> Array:
    """The sums along an axis, which is counted from the last, for twice its pixels."""
    whole = image._whole
    place, last = coordinate(p), build.sub(whole.extent(p), int32(1))

    def pixel(d: int) -> Array:
        k = _beside(build.div(place, int32(2)), d, last)
        return array(moved(whole.value, {p: k}), whole)

    even, odd = _sums(pixel, image.dtype.type)
    is_odd = build.eq(build.mod(place, int32(2)), int32(1))
    value = build.select(is_odd, odd._whole.value, even._whole.value)
    shape = list(whole.shape)
    k = whole.rank - 1 - p
    shape[k] = build.mul(shape[k], int32(2))
    return Array._of(Whole(value, tuple(shape), whole.names, whole.trace))


def _twice_of_colours(image: Array, apart: int, own: Type) -> Array:
    """As `_twice` along rows whose pixels have several elements side by side, rounded.

    Both sums are stages of as many elements as the image has. Of these, a table says
    which of them is where in the result.
    """
    whole = image._whole
    n = whole.extent(0)
    last = build.sub(build.div(n, int32(apart)), int32(1))
    rows = _with_neighbours(whole, apart)

    def place(make: Callable[[Node], Node]) -> Node:
        """An element of the same channel, of the pixel that is made of a pixel."""
        x = Var("x")
        pixel = make(build.div(x._node, int32(apart)))
        lane = build.mod(x._node, int32(apart))
        table = Func("place")
        table[x] = wrap(build.add(build.mul(pixel, int32(apart)), lane))
        end = wrap(build.sub(n, int32(1)))
        return unsafe_promise_clamped(table[wrap(coordinate(0))], 0, end)._node

    def beside(d: int) -> Array:
        at = wrap(coordinate(0)) + (1 + d) * apart
        return array(rows[at, wrap(coordinate(1))]._node, whole)

    both = [
        computed(_rounded(sums, own, 6)._whole, name)
        for sums, name in zip(
            _sums(beside, image.dtype.type), ("even", "odd"), strict=True
        )
    ]
    at = place(lambda k: build.clamp(build.div(k, int32(2)), int32(0), last))
    even, odd = [moved(one.value, {0: at}) for one in both]
    x = Var("x")
    parity = Func("parity")
    number = build.mod(build.div(x._node, int32(apart)), int32(2))
    parity[x] = wrap(build.cast(own, number))
    is_odd = build.ne(parity[wrap(coordinate(0))]._node, imm(0, own))
    shape = (*whole.shape[:-1], build.mul(n, int32(2)))
    value = build.select(is_odd, odd, even)
    return Array._of(Whole(value, shape, whole.names, whole.trace))


def _with_neighbours(whole: Whole, apart: int) -> Func:
    """Rows between a pixel that is reflected before the first one, and a copy of the
    last one."""
    width = wrap(whole.extent(0))
    rows = Func("rows")
    x, y = Var("x"), Var("y")
    rows[x, y] = undef(whole.type)
    inside = RDom([(0, width)], "inside")
    to = {0: inside.x._node, 1: y._node}
    rows[inside.x + apart, y] = wrap(moved(whole.value, to))
    beside = RDom([(0, apart)], "beside")
    # The only pixel, if there is no second one.
    second = min_(width, 2 * apart)
    rows[beside.x, y] = rows[beside.x + second, y]
    rows[beside.x + width + apart, y] = rows[beside.x + width, y]
    return rows


def _beside(k: Node, d: int, last: Node) -> Node:
    """The pixel beside one of an axis: reflected before the first, and the last one
    behind it."""
    at = build.add(k, int32(d))
    if d < 0:
        at = build.select(build.lt(at, int32(0)), build.minimum(int32(1), last), at)
    return build.minimum(at, last) if d > 0 else at


def _sums(pixel: Callable[[int], Array], number: Any) -> tuple[Array, Array]:
    """The sums for the two pixels that one becomes."""
    even = pixel(-1) + pixel(0) * number(6) + pixel(1)
    return even, (pixel(0) + pixel(1)) * number(4)


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
