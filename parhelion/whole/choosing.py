"""Where the greatest element is, and what lies between others: `numpy.argmax`,
`numpy.average`, `numpy.ptp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr as Node
from parhelion.whole import reductions
from parhelion.whole.core import Whole, computed, coordinate
from parhelion.whole.elementwise import apply, cast, truth, where
from parhelion.whole.operands import operand
from parhelion.whole.promotion import FLOAT64, INT64, float_for
from parhelion.whole.reductions import Axes, places


def argmax(a: object, axis: int | str | None = None, keepdims: bool = False) -> Whole:
    """`numpy.argmax`: the place of the first of the greatest elements, or of the first
    NaN, along an axis; in the order of all elements, if none is given."""
    return _place_of("max", operand(a), axis, keepdims)


def argmin(a: object, axis: int | str | None = None, keepdims: bool = False) -> Whole:
    """`numpy.argmin`, as `argmax`."""
    return _place_of("min", operand(a), axis, keepdims)


def _place_of(kind: str, whole: Whole, axis: int | str | None, keepdims: bool) -> Whole:
    """The least place at which the extreme is: two reductions, each in any order."""
    over = places(whole, axis, f"arg{kind}")
    whole = computed(whole)
    extreme = reductions.reduce(kind, whole, list(over), True)
    at: Node = imm(0, INT64)
    for k in over:
        here_ = build.cast(INT64, coordinate(whole.rank - 1 - k))
        at = build.add(build.mul(at, build.cast(INT64, whole.shape[k])), here_)
    place = Whole(at, whole.shape, whole.names, whole.trace)
    found = apply("equal", whole, extreme)
    if whole.type.is_float():
        found = apply("logical_or", found, apply("isnan", whole))
    beyond = Whole(imm(INT64.highest(), INT64), (), ())
    chosen = where(found, place, beyond)
    return reductions.reduce("min", chosen, list(over), keepdims)


def ptp(a: object, axis: Axes = None, keepdims: bool = False) -> Whole:
    """`numpy.ptp`: the greatest element less the least."""
    whole = computed(operand(a))
    low, high = [reductions.reduce(k, whole, axis, keepdims) for k in ("min", "max")]
    return apply("subtract", high, low)


def count_nonzero(a: object, axis: Axes = None, keepdims: bool = False) -> Whole:
    """`numpy.count_nonzero`: how many elements are not 0."""
    whole = operand(a)
    found = Whole(truth(whole.value), whole.shape, whole.names, whole.trace)
    return reductions.reduce("sum", found, axis, keepdims)


def average(
    a: object, axis: Axes = None, weights: object = None, keepdims: bool = False
) -> Whole:
    """`numpy.average`: the mean, or that of elements with weights, which fit the array.

    Raises TypeMismatchError for weights of one axis beside an array of several.
    """
    whole = operand(a)
    if weights is None:
        return reductions.mean(whole, axis, keepdims)
    heavy = operand(weights)
    if heavy.rank != whole.rank:
        raise TypeMismatchError(
            f"weights have the axes of the array, {whole.rank}, not {heavy.rank}",
            at=here(),
            hint="weights[:, None] has a new axis; np.broadcast_to spreads it",
        )
    gives = float_for(apply("multiply", whole, heavy).type)
    total, weight = [
        reductions.reduce("sum", cast(w, FLOAT64), axis, keepdims)
        for w in (apply("multiply", cast(whole, FLOAT64), heavy), _spread(heavy, whole))
    ]
    return cast(apply("divide", total, weight), gives)


def _spread(weights: Whole, whole: Whole) -> Whole:
    zero = Whole(imm(0, FLOAT64), whole.shape, whole.names, whole.trace)
    return apply("add", cast(weights, FLOAT64), zero)


#: By NumPy's functions.
FUNCTIONS: dict[Any, Callable[..., Whole]] = {
    np.argmax: argmax,
    np.argmin: argmin,
    np.ptp: ptp,
    np.count_nonzero: count_nonzero,
    np.average: average,
}

__all__ = ["FUNCTIONS", "argmax", "argmin"]
