"""Elements repeated, turned, and beside each other: `numpy.repeat`, `numpy.rot90`, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import int32
from parhelion.lang.checked import integer
from parhelion.whole import indexing
from parhelion.whole.align import broadcast
from parhelion.whole.assembling import concatenate, flip
from parhelion.whole.core import Whole, computed, coordinate, moved, tidy
from parhelion.whole.creating import extents_of
from parhelion.whole.elementwise import apply
from parhelion.whole.operands import operand
from parhelion.whole.reductions import places
from parhelion.whole.reshaping import ravel, reshape


def repeat(a: object, repeats: int, axis: int | str | None = None) -> Whole:
    """`numpy.repeat`: each element so often, one after the other, along an axis; of all
    elements in a row, if none is given.

    Raises TypeMismatchError for what is no number of repeats.
    """
    whole = ravel(a) if axis is None else operand(a)
    times = integer(repeats, "the repeats")
    if times < 0:
        raise TypeMismatchError(f"{times} repeats are none: 0 at least", at=here())
    (at,) = places(whole, -1 if axis is None else axis, "repeat")
    shape = list(whole.shape)
    shape[at] = tidy(build.mul(shape[at], int32(times)))
    p = whole.rank - 1 - at
    found = computed(whole)
    value = moved(found.value, {p: build.div(coordinate(p), int32(max(times, 1)))})
    return Whole(value, tuple(shape), whole.names, whole.trace)


def tile(A: object, reps: int | Sequence[int]) -> Whole:
    """`numpy.tile`: the array so often beside itself along each axis, the last ones if
    there are fewer numbers."""
    whole = operand(A)
    given = list(reps) if isinstance(reps, tuple | list) else [reps]
    times = [integer(n, "a number of tiles") for n in given]
    if any([n < 0 for n in times]):
        raise TypeMismatchError(f"{reps} tiles are none: 0 at least", at=here())
    more = len(times) - whole.rank
    if more > 0:
        whole = indexing.take(whole, (*[None] * more, ...))
    times = [*[1] * -more, *times]
    whole = computed(whole)
    to = {
        whole.rank - 1 - k: build.mod(coordinate(whole.rank - 1 - k), whole.shape[k])
        for k, n in enumerate(times)
        if n != 1
    }
    shape = [
        tidy(build.mul(extent, int32(n)))
        for extent, n in zip(whole.shape, times, strict=True)
    ]
    return Whole(moved(whole.value, to), tuple(shape), whole.names, whole.trace)


def broadcast_to(array: object, shape: object) -> Whole:
    """`numpy.broadcast_to`: the array spread over a shape."""
    whole = operand(array)
    sizes = extents_of(shape, "broadcast_to")
    more = len(sizes) - whole.rank
    return broadcast(whole, (*[None] * max(more, 0), *whole.names), sizes)


def diff(a: object, n: int = 1, axis: int | str = -1) -> Whole:
    """`numpy.diff`: each element less the one before it, `n` times; of Bools, whether
    they differ."""
    found = operand(a)
    for _ in range(integer(n, "the number of differences")):
        (at,) = places(found, axis, "diff")
        before = (slice(None),) * at
        one = indexing.take(found, (*before, slice(1, None)))
        other = indexing.take(found, (*before, slice(None, -1)))
        step = "not_equal" if found.type.is_bool() else "subtract"
        found = apply(step, one, other)
    return found


def rot90(m: object, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Whole:
    """`numpy.rot90`: a quarter turn, `k` times, from the first of two axes to the
    second."""
    whole = operand(m)
    first, second = places(whole, tuple(axes), "rot90")
    turns = integer(k, "the number of quarter turns") % 4
    order = list(range(whole.rank))
    order[first], order[second] = second, first
    if turns == 0:
        return whole
    if turns == 2:
        return flip(whole, (first, second))
    if turns == 1:
        return indexing.transposed(flip(whole, second), order)
    return flip(indexing.transposed(whole, order), second)


def hstack(tup: Sequence[object]) -> Whole:
    """`numpy.hstack`: beside each other along the second axis, or the only one."""
    given = [at_least(1, x) for x in _several(tup, "hstack")]
    return concatenate(given, 0 if given[0].rank == 1 else 1)


def vstack(tup: Sequence[object]) -> Whole:
    """`numpy.vstack`: one below the other; an array of one axis is a row."""
    return concatenate([at_least(2, x) for x in _several(tup, "vstack")], 0)


def dstack(tup: Sequence[object]) -> Whole:
    """`numpy.dstack`: one behind the other along the third axis, as channels."""
    return concatenate([at_least(3, x) for x in _several(tup, "dstack")], 2)


def _several(arrays: object, what: str) -> list[object]:
    found = list(arrays) if isinstance(arrays, list | tuple) else []
    if not found:
        raise TypeMismatchError(f"{what} takes a list of arrays", at=here())
    return found


def at_least(rank: int, a: object) -> Whole:
    """An array with new axes of one element, where NumPy's ``atleast_3d`` and kin put
    them."""
    whole = operand(a)
    if rank > 1 and whole.rank < 2:
        whole = indexing.take(whole, (None,) * (2 - whole.rank))
    if whole.rank >= rank:
        return whole
    return indexing.take(whole, (..., None))


#: By NumPy's functions.
FUNCTIONS: dict[Any, Callable[..., Whole]] = {
    np.repeat: repeat,
    np.tile: tile,
    np.broadcast_to: broadcast_to,
    np.diff: diff,
    np.rot90: rot90,
    np.fliplr: lambda m: flip(m, 1),
    np.flipud: lambda m: flip(m, 0),
    np.hstack: hstack,
    np.vstack: vstack,
    np.dstack: dstack,
    np.atleast_1d: lambda a: at_least(1, a),
    np.atleast_2d: lambda a: at_least(2, a),
    np.atleast_3d: lambda a: at_least(3, a),
    np.ravel: ravel,
    np.reshape: reshape,
}

__all__ = ["FUNCTIONS"]
