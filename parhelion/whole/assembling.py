"""Arrays put together of others, and with their axes in other places, as NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import const_int, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.checked import integer
from parhelion.whole import borders, gathering, indexing, tables
from parhelion.whole.align import together
from parhelion.whole.core import Whole, computed, coordinate, moved, number, tidy
from parhelion.whole.elementwise import common_type, convert, where
from parhelion.whole.operands import operand
from parhelion.whole.reductions import Axes, places
from parhelion.whole.trace import SameExtent, shape_of


def choose(condition: object, *values: object) -> Whole:
    """`numpy.where` with three arguments. Raises TypeMismatchError for one alone."""
    if len(values) != 2:
        raise TypeMismatchError(
            "where takes a condition and two arrays to choose from: how many elements"
            " a condition holds for is known only when the function runs",
            at=here(),
        )
    return where(operand(condition), operand(values[0]), operand(values[1]))


def stack(arrays: Sequence[object], axis: int = 0) -> Whole:
    """`numpy.stack`: arrays of one shape side by side, along a new axis."""
    given = _listed(arrays, "stack")
    rank = given[0].rank + 1
    for one in given[1:]:
        if one.rank != given[0].rank:
            raise TypeMismatchError(
                "stack takes arrays of one shape, not of the shapes"
                f" {shape_of(given[0].shape, {})} and {shape_of(one.shape, {})}",
                at=here(),
            )
        for k in range(one.rank):
            _check_same(given[0], one, k)
    wholes = together(given)
    t, _ = common_type(wholes)
    at = _new_place(axis, rank, "stack")
    index = (*[slice(None)] * at, None)
    spread = [indexing.take(w, index) for w in wholes]
    value = convert(spread[-1], t)
    for k in reversed(range(len(spread) - 1)):
        found = build.eq(coordinate(rank - 1 - at), int32(k))
        value = build.select(found, convert(spread[k], t), value)
    first = spread[0]
    shape = (*first.shape[:at], int32(len(spread)), *first.shape[at + 1 :])
    return Whole(value, shape, first.names, first.trace)


def concatenate(arrays: Sequence[object], axis: int | str = 0) -> Whole:
    """`numpy.concatenate`: arrays one behind the other, along an axis that they
    have."""
    return reduce(lambda a, b: _joined(a, b, axis), _listed(arrays, "concatenate"))


def _joined(one: Whole, other: Whole, axis: int | str) -> Whole:
    if one.rank != other.rank or not one.rank:
        raise TypeMismatchError(
            "concatenate takes arrays of one number of axes, at least 1, not of the"
            f" shapes {shape_of(one.shape, {})} and {shape_of(other.shape, {})}",
            at=here(),
        )
    (at,) = places(one, axis, "concatenate")
    for k in range(one.rank):
        if k != at:
            _check_same(one, other, k)
    t, _ = common_type([one, other])
    one, other = computed(one), computed(other)
    p = one.rank - 1 - at
    here_, first = coordinate(p), one.shape[at]
    # Neither is read where it has no elements.
    before = build.minimum(here_, build.maximum(build.sub(first, int32(1)), int32(0)))
    after = build.maximum(build.sub(here_, first), int32(0))
    trace = one.trace or other.trace
    if const_int(first) == 0:
        return Whole(convert(other, t), other.shape, other.names, trace)
    if const_int(other.shape[at]) == 0:
        return Whole(convert(one, t), one.shape, one.names, trace)
    a = convert(
        Whole(moved(one.value, {p: before}), one.shape, one.names, one.trace), t
    )
    b = convert(
        Whole(moved(other.value, {p: after}), other.shape, other.names, other.trace), t
    )
    shape = list(one.shape)
    shape[at] = tidy(build.add(first, other.shape[at]))
    value = build.select(build.lt(here_, first), a, b)
    return Whole(value, tuple(shape), one.names, trace)


def _check_same(one: Whole, other: Whole, axis: int) -> None:
    """Checks that arrays have one extent along an axis, now or when they are given."""
    same = SameExtent(one.shape, other.shape, (axis, axis), here())
    trace = one.trace or other.trace
    if trace is not None:
        trace.check(same)
    else:
        same.look({})


def _listed(arrays: object, what: str) -> list[Whole]:
    found = list(arrays) if isinstance(arrays, list | tuple) else []
    if not found:
        raise TypeMismatchError(f"{what} takes a list of arrays", at=here())
    return [operand(a) for a in found]


def _new_place(axis: int, rank: int, what: str) -> int:
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise TypeMismatchError(
            f"{what}: the result has {rank} axes, and no axis {axis!r}", at=here()
        )
    return axis % rank


def flip(m: object, axis: Axes = None) -> Whole:
    """`numpy.flip`: the elements in reverse along axes."""
    whole = operand(m)
    over = places(whole, axis, "flip")
    index = [slice(None, None, -1 if k in over else 1) for k in range(whole.rank)]
    return indexing.take(whole, tuple(index))


def roll(a: object, shift: int | Sequence[int], axis: Axes = None) -> Whole:
    """`numpy.roll` along named axes: what leaves at one edge comes in at the other."""
    whole = operand(a)
    if axis is None and whole.rank != 1:
        raise TypeMismatchError(
            "roll is told the axes: np.roll(a, 1, axis=0)", at=here()
        )
    axes = [axis] if axis is None or isinstance(axis, int | str) else list(axis)
    over = [k for one in axes for k in places(whole, one, "roll")]
    by = list(shift) if isinstance(shift, tuple | list) else [shift]
    if len(over) != len(by) and 1 not in (len(over), len(by)):
        raise TypeMismatchError(
            f"roll is given {len(by)} distances for {len(over)} axes", at=here()
        )
    moves = dict.fromkeys(over, 0)
    many = max(len(over), len(by))
    for k, n in zip(over * (many // len(over)), by * (many // len(by)), strict=True):
        moves[k] += integer(n, "a distance")
    return borders.shift(whole, moves, "wrap", number(0))


def expand_dims(a: object, axis: int) -> Whole:
    """`numpy.expand_dims`: a new axis of one element."""
    whole = operand(a)
    at = _new_place(axis, whole.rank + 1, "expand_dims")
    return indexing.take(whole, (*[slice(None)] * at, None))


def squeeze(a: object, axis: Axes = None) -> Whole:
    """`numpy.squeeze`: without axes of one element."""
    whole = operand(a)
    ones = [k for k, n in enumerate(whole.shape) if const_int(n) == 1]
    over = ones if axis is None else places(whole, axis, "squeeze")
    if not set(over) <= set(ones):
        raise TypeMismatchError(
            f"squeeze drops axes of one element, and the shape is"
            f" {shape_of(whole.shape, {})}",
            at=here(),
        )
    index = [0 if k in over else slice(None) for k in range(whole.rank)]
    return indexing.take(whole, tuple(index))


def moveaxis(a: object, source: int | str, destination: int) -> Whole:
    """`numpy.moveaxis` of one axis."""
    whole = operand(a)
    (at,) = places(whole, source, "moveaxis")
    order = [k for k in range(whole.rank) if k != at]
    order.insert(_new_place(destination, whole.rank, "moveaxis"), at)
    return indexing.transposed(whole, order)


def swapaxes(a: object, axis1: int | str, axis2: int | str) -> Whole:
    """`numpy.swapaxes`."""
    whole = operand(a)
    (i,), (j,) = places(whole, axis1, "swapaxes"), places(whole, axis2, "swapaxes")
    order = list(range(whole.rank))
    order[i], order[j] = j, i
    return indexing.transposed(whole, order)


def full_like(a: object, fill_value: object) -> Whole:
    """`numpy.full_like`: an array of the same shape and type with one value."""
    whole, fill = operand(a), operand(fill_value)
    value: Node = convert(fill, whole.type)
    return Whole(value, whole.shape, whole.names, whole.trace)


#: By NumPy's functions.
FUNCTIONS: dict[Any, Callable[..., Whole]] = {
    np.where: choose,
    np.take: gathering.take,
    np.stack: stack,
    np.concatenate: concatenate,
    np.flip: flip,
    np.roll: roll,
    np.expand_dims: expand_dims,
    np.squeeze: squeeze,
    np.moveaxis: moveaxis,
    np.swapaxes: swapaxes,
    np.full_like: full_like,
    np.cumsum: tables.cumsum,
    np.zeros_like: lambda a: full_like(a, 0),
    np.ones_like: lambda a: full_like(a, 1),
}

__all__ = ["FUNCTIONS", "choose", "concatenate", "flip", "roll", "stack"]
