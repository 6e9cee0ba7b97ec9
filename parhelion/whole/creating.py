"""Arrays of no other array: `numpy.zeros(shape, like=array)` and its kin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import const_int, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.convert import check_type, is_literal
from parhelion.types import Type
from parhelion.whole.core import Whole, coordinate, number, tidy
from parhelion.whole.elementwise import convert
from parhelion.whole.indexing import extents
from parhelion.whole.operands import operand
from parhelion.whole.promotion import FLOAT64, INT64


def type_named(dtype: object, otherwise: Type) -> Type:
    """The type that NumPy means by a `dtype`, such as Python's ``float`` or ``"f4"``;
    `otherwise` for None.

    Raises TypeMismatchError for what is no type of numbers.
    """
    if dtype is None:
        return otherwise
    if isinstance(dtype, Type):
        return check_type(dtype, "an array has")
    try:
        return Type.from_numpy(np.dtype(dtype))  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise TypeMismatchError(
            f"{dtype!r:.60} is no type of the elements of an array",
            at=here(),
            hint="'float32', 'uint8', np.uint8 and hl.UInt(8) are",
        ) from None


def extents_of(shape: object, what: str) -> tuple[Node, ...]:
    """A shape: integers, or what is made of extents; one alone is that of one axis.

    Raises TypeMismatchError for other ones.
    """
    given = list(shape) if isinstance(shape, tuple | list) else [shape]
    found = [extents(n, f"an extent of {what}") for n in given]
    for n in found:
        known = const_int(n)
        if known is not None and known < 0:
            raise TypeMismatchError(
                f"{what}: an extent is not negative, {known}", at=here()
            )
    return tuple(found)


def full(shape: object, fill_value: object, dtype: object = None) -> Whole:
    """`numpy.full`: an array of a shape with one value."""
    fill = operand(fill_value)
    if fill.rank:
        raise TypeMismatchError(
            "full takes one number for all elements; np.broadcast_to spreads an array",
            at=here(),
        )
    own = fill.type
    t = type_named(dtype, own)
    sizes = extents_of(shape, "full")
    return Whole(convert(fill, t), sizes, (None,) * len(sizes), fill.trace)


def zeros(shape: object, dtype: object = None) -> Whole:
    """`numpy.zeros`."""
    return full(shape, 0, type_named(dtype, FLOAT64))


def ones(shape: object, dtype: object = None) -> Whole:
    """`numpy.ones`."""
    return full(shape, 1, type_named(dtype, FLOAT64))


def arange(*ends: object, step: object = None, dtype: object = None) -> Whole:
    """`numpy.arange`: the numbers from a start up to an end, which may be made of
    extents.

    Raises TypeMismatchError for other ends, and a step of 0.
    """
    if not 1 <= len(ends) <= 3 or (len(ends) == 3 and step is not None):
        raise TypeMismatchError(
            "arange takes an end; a start and an end; or these and a step", at=here()
        )
    start = ends[0] if len(ends) > 1 else 0
    stop = ends[1] if len(ends) > 1 else ends[0]
    by = ends[2] if len(ends) == 3 else 1 if step is None else step
    if any([isinstance(n, float | np.floating) for n in (start, stop, by)]):
        return _float_range(start, stop, by, dtype)
    low, high, each = [extents(n, "a number of arange") for n in (start, stop, by)]
    known = const_int(each)
    if known is None or known == 0:
        raise TypeMismatchError("the step of arange is a number, and not 0", at=here())
    span = build.sub(high, low) if known > 0 else build.sub(low, high)
    more = build.add(span, int32(abs(known) - 1))
    count = build.maximum(build.div(more, int32(abs(known))), int32(0))
    t = type_named(dtype, INT64)
    place = build.add(build.mul(coordinate(0), each), low)
    return Whole(build.cast(t, place), (tidy(count),), (None,))


def _float_range(start: object, stop: object, by: object, dtype: object) -> Whole:
    given = (start, stop, by)
    if not all([is_literal(n) or isinstance(n, np.generic) for n in given]):
        raise TypeMismatchError(
            "arange takes floats alone, or integers and what is made of extents",
            at=here(),
            hint="np.arange(n, like=a) * 0.5 has steps of a half",
        )
    low, high, each = [float(n) for n in given]  # type: ignore[arg-type]
    if each == 0 or not all([math.isfinite(n) for n in (low, high, each)]):
        raise TypeMismatchError(
            "the numbers of arange are finite, and the step is not 0", at=here()
        )
    count = max(math.ceil((high - low) / each), 0)
    at = build.cast(FLOAT64, coordinate(0))
    first, step = [convert(number(n), FLOAT64) for n in (low, each)]
    value = build.add(first, build.mul(at, step))
    t = type_named(dtype, FLOAT64)
    return Whole(build.cast(t, value), (int32(count),), (None,))


#: By NumPy's functions, which come here if they are given ``like=array``.
FUNCTIONS: dict[Any, Callable[..., Whole]] = {
    np.zeros: zeros,
    np.ones: ones,
    np.full: full,
    np.arange: arange,
}

__all__ = ["FUNCTIONS", "arange", "extents_of", "full", "ones", "type_named", "zeros"]
