"""``image[ys, xs]``: elements at computed coordinates, as NumPy's integer indexing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import const_int, imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.types import INT32
from parhelion.whole import indexing
from parhelion.whole.align import together
from parhelion.whole.core import Whole, computed, coordinate, moved
from parhelion.whole.operands import operand
from parhelion.whole.reductions import places

#: Coordinates are int32: wider ones are limited to these.
_MOST = (1 << 31) - 1


def is_gather(key: object) -> bool:
    """Whether an index has an array of coordinates in it."""
    return any([_is_array(k) for k in (key if isinstance(key, tuple) else (key,))])


def _is_array(item: object) -> bool:
    whole = getattr(item, "_whole", None)
    if isinstance(whole, Whole) or isinstance(item, list):
        return True
    return isinstance(item, np.ndarray) and item.ndim > 0


def _coordinates(given: object) -> Whole:
    """Coordinates as an array. An empty list is one of integers, as NumPy has it."""
    return operand(
        np.zeros(0, np.int64) if isinstance(given, list) and not given else given
    )


def gather(whole: Whole, key: object) -> Whole:
    """The elements of an array at coordinates that are arrays of integers.

    These fit together as NumPy's do, and their axes stand where they are in the index,
    or first if other axes are between them. Negative coordinates count from the end,
    and those outside of the array are limited to its edges. Raises TypeMismatchError
    for arrays of other types, and what `indexing.take` and `together` raise.
    """
    given = list(key) if isinstance(key, tuple) else [key]
    arrays = [_coordinates(k) for k in given if _is_array(k)]
    for one in arrays:
        _check_type(one)
    plain = tuple([slice(None) if _is_array(k) else k for k in given])
    base = indexing.take(whole, plain)
    items = indexing.listed(plain, whole)
    # Which of the listed items are arrays: those before … stand where they were given.
    dots = next((k for k, item in enumerate(plain) if item is ...), len(plain))
    more = len(items) - len(plain)
    at = [k if k < dots else k + more for k, g in enumerate(given) if _is_array(g)]
    numbers = [
        k
        for k, item in enumerate(items)
        if item is not None and not isinstance(item, slice)
    ]
    # NumPy takes numbers beside arrays for arrays, too.
    all_of_them = sorted([*at, *numbers])
    side_by_side = all_of_them[-1] - all_of_them[0] == len(all_of_them) - 1
    first = all_of_them[0] if side_by_side else 0
    axes = [k - sum([n < k for n in numbers]) for k in at]
    place = first - sum([n < first for n in numbers])
    return _picked(base, dict(zip(axes, together(arrays), strict=True)), place)


def take(a: object, indices: object, axis: int | str | None = None) -> Whole:
    """`numpy.take` along an axis, whose elements outside are those at the edges."""
    whole, index = operand(a), _coordinates(indices)
    _check_type(index)
    if axis is None and whole.rank != 1:
        raise TypeMismatchError(
            "take is told the axis: np.take(a, indices, axis=0)", at=here()
        )
    (at,) = places(whole, axis, "take")
    return _picked(whole, {at: together([index])[0]}, at)


def _check_type(index: Whole) -> None:
    if not index.type.is_int_or_uint() or index.type.is_bool():
        raise TypeMismatchError(
            f"an array of {index.type} is no index of an array: coordinates are arrays"
            " of integers",
            at=here(),
            hint="hl.where(condition, a, b) chooses by a condition; astype('int32')"
            " makes integers of floats",
        )


def _picked(whole: Whole, index: Mapping[int, Whole], place: int) -> Whole:
    """An array with coordinates of one shape for some of its axes.

    index: by the places of axes. place: where the axes of the coordinates go, among
    those that stay.
    """
    base = computed(whole)
    rank, some = base.rank, next(iter(index.values()))
    kept = [k for k in range(rank) if k not in index]
    total = len(kept) + some.rank
    spread: dict[int, Node] = {
        some.rank - 1 - j: coordinate(total - 1 - place - j) for j in range(some.rank)
    }
    to: dict[int, Node] = {}
    for k, one in index.items():
        limited = within(one.value, base.shape[k])
        to[rank - 1 - k] = moved(limited, spread)
    for i, k in enumerate(kept):
        there = i if i < place else i + some.rank
        to[rank - 1 - k] = coordinate(total - 1 - there)
    shape = [base.shape[k] for k in kept]
    names = [base.names[k] for k in kept]
    shape[place:place] = some.shape
    names[place:place] = [None if n in names else n for n in some.names]
    trace = base.trace or some.trace
    return Whole(moved(base.value, to), tuple(shape), tuple(names), trace)


def within(index: Node, extent: Node) -> Node:
    """A coordinate as int32, which counts from the end if it is negative, and is
    limited to an axis."""
    t = index.type
    if t.width > 32 or (t.is_uint() and t.width == 32):
        if t.is_int():
            index = build.maximum(index, imm(-_MOST, t))
        index = build.minimum(index, imm(_MOST, t))
    at = build.cast(INT32, index)
    known = const_int(extent)
    if t.is_uint() and t.width <= 16 and known is not None and known >= 1 << t.width:
        return at
    last = build.sub(extent, int32(1))
    if t.is_uint():
        return build.minimum(at, last)
    turned = build.select(build.lt(at, int32(0)), build.add(at, extent), at)
    return build.clamp(turned, int32(0), last)


__all__ = ["gather", "is_gather", "take", "within"]
