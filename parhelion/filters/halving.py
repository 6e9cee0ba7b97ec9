"""Images of pixels in half their size: means of squares of four pixels."""

from __future__ import annotations

from parhelion.filters.planes import array, plane_axes, saturated
from parhelion.filters.sampling import work_type
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.effects import unsafe_promise_clamped
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.var import Var
from parhelion.types import Float, Int, Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, computed, coordinate, moved


def halved(image: Array, apart: int) -> Array:
    """The means of squares of four pixels, rounded to the nearest, of two to the even
    one.

    image: (2 * H, 2 * W * apart), the elements of a pixel side by side, in a program by
    itself. Sums of integers of at most 16 bits are exact; others are of floats, those
    of two rows first.
    """
    plane_axes(image, "resize")
    whole = image._whole
    own = image.type
    t = _sum_type(own)
    rows = [_at(whole, 1, k) for k in (0, 1)]
    down = Array._of(computed(_added(rows, t, whole)._whole, "down"))
    if apart == 1:
        columns = [_at(down._whole, 0, k) for k in (0, 1)]
        found = _mean(_added(columns, t, whole), own)._whole.value
    else:
        # Sums of all neighbours lie side by side, but those that are wanted every
        # second one: these are taken of rounded ones.
        beside = build.add(coordinate(0), int32(apart))
        columns = [down._whole.value, moved(down._whole.value, {0: beside})]
        means = computed(_mean(_added(columns, t, whole), own)._whole, "means")
        found = moved(means.value, {0: _every_second(whole.extent(0), apart)})
    extents = build.div(whole.extent(1), int32(2)), build.div(whole.extent(0), int32(2))
    return Array._of(Whole(found, extents, whole.names, whole.trace))


def _sum_type(own: Type) -> Type:
    """The type of sums of four values."""
    if own.is_int_or_uint() and own.width == 8:
        return UInt(16) if own.is_uint() else Int(16)
    if own.is_int_or_uint() and own.width == 16:
        return Int(32)
    return Float(64) if work_type(own) == "float64" else Float(32)


def _at(whole: Whole, p: int, k: int) -> Node:
    """The k-th of the two elements along an axis that an element is made of."""
    twice = build.mul(coordinate(p), int32(2))
    return moved(whole.value, {p: build.add(twice, int32(k))})


def _added(two: list[Node], t: Type, like: Whole) -> Array:
    """The sum of two values, or of floats their mean, which never overflows."""
    a, b = [build.cast(t, n) for n in two]
    if t.is_float():
        a, b = [build.mul(n, imm(0.5, t)) for n in (a, b)]
    return array(build.add(a, b), like)


def _mean(total: Array, own: Type) -> Array:
    """A quarter of a sum, rounded to the nearest, of two to the even one."""
    if total.type.is_float():
        return saturated(total, own)
    number = total.dtype.type
    odd = (total >> number(2)) & number(1)
    found: Array = ((total + odd + number(1)) >> number(2)).astype(own)
    return found


def _every_second(extent: Node, apart: int) -> Node:
    """The place of an element of the result in a row of that many elements: of every
    second pixel, as a table says."""
    x, table = Var("x"), Func("place")
    pixel = build.mul(build.div(x._node, int32(apart)), int32(2))
    lane = build.mod(x._node, int32(apart))
    table[x] = wrap(build.add(build.mul(pixel, int32(apart)), lane))
    # The last pixel but one: no sum begins with the last.
    last = build.sub(extent, int32(apart + 1))
    place = table[wrap(coordinate(0))]
    return unsafe_promise_clamped(place, 0, wrap(last))._node


__all__ = ["halved"]
