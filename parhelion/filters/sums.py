"""Weighted sums of the pixels around a point, with one kernel or one for each axis.

Kernels of integers over images of integers are summed exactly, in the smallest type
that holds all sums; other sums are floats of 32 bits, or of 64 where pixels have more
than 16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parhelion.filters.planes import Plane, array
from parhelion.ir.build import cast, int32
from parhelion.lang import inline
from parhelion.lang.expr import wrap
from parhelion.lang.rdom import RDom
from parhelion.types import INT32, Int, Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.promotion import FLOAT32, float_for

#: Kernels of more weights are a loop in the code, and not written out.
_MOST_TERMS = 33
#: From so many weights on that are 1, sums are made of sums.
_MANY_ALIKE = 24

Row = Sequence[float]


def whole_numbers(weights: Row) -> bool:
    """Whether all weights are integers."""
    return all([float(w).is_integer() for w in weights])


def float_type(t: Type) -> Type:
    """The float type that pixels of a type are summed in: of 32 bits at least, as sums
    of float16 would soon be infinite."""
    found = float_for(t)
    return found if found.width >= 32 else FLOAT32


def sum_type(t: Type, weights: Row) -> Type:
    """The type that the sum of pixels of a type is exact in, if there is one of at most
    32 bits, or else a float."""
    if not t.is_int_or_uint() or not whole_numbers(weights):
        return float_type(t)
    low = sum([w * (int(t.lowest()) if w > 0 else int(t.highest())) for w in weights])
    high = sum([w * (int(t.highest()) if w > 0 else int(t.lowest())) for w in weights])
    for one in (UInt(16), Int(16), INT32):
        if one.can_represent(int(low)) and one.can_represent(int(high)):
            # Parts of a sum with signs wrap, but the sum does not.
            return one
    return float_type(t)


def weighted(
    pixel: Callable[[int], Array], weights: Row, first: int, to: Type
) -> Array:
    """The sum of ``weights[i] * pixel(first + i)`` in a type.

    Pixels that have one weight, on both sides of the middle, are added up first.
    """
    last = len(weights) - 1
    terms: list[Array] = []
    for i, weight in enumerate(weights):
        j = last - i
        mirrored = weights[j] == weight and j != i
        if weight == 0 or (mirrored and j < i):
            continue
        one = pixel(first + i).astype(to.to_numpy())
        if mirrored:
            one = one + pixel(first + j).astype(to.to_numpy())
        terms.append(one if weight == 1 else one * _literal(weight, to))
    if not terms:
        return pixel(first).astype(to.to_numpy()) * _literal(0, to)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _literal(weight: float, to: Type) -> np.generic:
    made: np.generic = to.to_numpy().type(
        int(weight) if to.is_int_or_uint() else weight
    )
    return made


def _looped(p: Plane, rows: bool, weights: Row, first: int, to: Type) -> Array:
    """As `weighted`, as a loop over a table of the weights."""
    r = RDom([(0, len(weights))])
    table = Array(np.asarray(weights, to.to_numpy()))
    at = cast(INT32, (r.x + first)._node)
    pixel = p.moved(at, int32(0)) if rows else p.moved(int32(0), at)
    term = wrap(cast(to, pixel._whole.value)) * table[r.x]
    return array(inline.sum(r, term)._node, p.whole)


def _doubled(p: Plane, rows: bool, count: int, first: int, to: Type) -> Array:
    """The sum of so many neighbours: of two, of two such sums, and so on, as stages.

    Of 51 pixels, these are 5 additions, and 3 for what the sums of 32, 16, 2 and 1 come
    to.
    """

    def at(plane: Plane, place: int) -> Array:
        found = plane.at(place, 0) if rows else plane.at(0, place)
        return found.astype(to.to_numpy())

    size, place, part = 1, first + count, p
    total: Array | None = None
    while True:
        if count & size:
            place -= size
            total = at(part, place) if total is None else at(part, place) + total
        if 2 * size > count:
            assert total is not None
            return total
        part = p.stage(at(part, 0) + at(part, size))
        size *= 2


def along(p: Plane, rows: bool, weights: Row, first: int, to: Type) -> Array:
    """The weighted sum along one axis. rows: whether it is that of rows, so down a
    column. first: where the first weight is, counted from the pixel."""
    if len(weights) >= _MANY_ALIKE and set(weights) == {1}:
        return _doubled(p, rows, len(weights), first, to)
    if len(weights) > _MOST_TERMS:
        return _looped(p, rows, weights, first, to)
    if rows:
        return weighted(lambda d: p.at(d, 0), weights, first, to)
    return weighted(lambda d: p.at(0, d), weights, first, to)


def sums(p: Plane, rows: bool, weights: Row, first: int, to: Type) -> Plane:
    """As `along`, as a stage."""
    is_alike = len(weights) >= _MANY_ALIKE and set(weights) == {1}
    if not rows or is_alike or len(weights) > _MOST_TERMS:
        return p.stage(along(p, rows, weights, first, to))
    (found,) = p.columns(lambda pixel: [weighted(pixel, weights, first, to)])
    return found


def both(p: Plane, down: Row, across: Row, middle: tuple[int, int]) -> Array:
    """The sum with the product of a kernel down and one across.

    The former is first where rows are computed one by one, so that a single row of sums
    is kept; the latter elsewhere.

    middle: which of the weights are the pixel's own.
    """
    outer = [a * b for a in down for b in across]
    to = sum_type(p.whole.type, outer)
    kernels = {True: (down, -middle[0]), False: (across, -middle[1])}
    order = [rows for rows in (p.apart > 0, p.apart == 0) if kernels[rows][0] != (1,)]
    if not order:
        return p.at(0, 0).astype(to.to_numpy())
    if len(order) == 2:
        weights, first = kernels[order[0]]
        inner = sum_type(p.whole.type, weights) if to.is_int_or_uint() else to
        p = sums(p, order[0], weights, first, inner)
    weights, first = kernels[order[-1]]
    return along(p, order[-1], weights, first, to)


def square(p: Plane, kernel: Sequence[Row], middle: tuple[int, int]) -> Array:
    """The sum with a kernel of rows and columns."""
    flat = [w for row in kernel for w in row]
    to = sum_type(p.whole.type, flat)
    columns = len(kernel[0])
    if len(flat) > 4 * _MOST_TERMS:
        return _looped_square(p, kernel, middle, to)

    def pixel(i: int) -> Array:
        return p.at(i // columns - middle[0], i % columns - middle[1])

    return weighted(pixel, flat, 0, to)


def _looped_square(
    p: Plane, kernel: Sequence[Row], middle: tuple[int, int], to: Type
) -> Array:
    r = RDom([(0, len(kernel[0])), (0, len(kernel))])
    table = Array(np.asarray(kernel, to.to_numpy()))
    dy, dx = (r.y - middle[0])._node, (r.x - middle[1])._node
    pixel = p.moved(cast(INT32, dy), cast(INT32, dx))
    term = wrap(cast(to, pixel._whole.value)) * table[r.y, r.x]
    return array(inline.sum(r, term)._node, p.whole)


__all__ = [
    "along",
    "both",
    "float_type",
    "square",
    "sum_type",
    "sums",
    "weighted",
    "whole_numbers",
]
