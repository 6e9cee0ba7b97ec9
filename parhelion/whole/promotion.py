"""The types of results: NumPy's, but for the default float.

Arrays promote as NumPy's do, and Python numbers are weak: ``uint8 + 1`` is a uint8.
Where an operation needs a float and its operands are integers of at most 16 bits, it
works in float32, which holds all of them exactly; NumPy takes float64 (or float16).
Integers of 32 and 64 bits become float64, as in NumPy.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.lang.convert import promote_types
from parhelion.types import BOOL, Float, Int, Type, UInt

FLOAT32, FLOAT64 = Float(32), Float(64)
INT64, UINT64 = Int(64), UInt(64)


@cache
def float_for(t: Type) -> Type:
    """The float type that values of a type are computed in where a float is needed."""
    if t.is_float():
        return t
    return FLOAT32 if t.width <= 16 else FLOAT64


@cache
def sum_type(t: Type) -> Type:
    """The type of a sum or product over an axis: integers of 64 bits, as NumPy's."""
    if t.is_float():
        return t
    return UINT64 if t.is_uint() and not t.is_bool() else INT64


@cache
def _common(a: Type, b: Type) -> Type:
    if a is b:
        return a
    if a.is_bfloat() or b.is_bfloat():
        return promote_types(a, b)
    return Type.from_numpy(np.result_type(a.to_numpy(), b.to_numpy()))


def _category(t: Type) -> int:
    return 2 if t.is_float() else 0 if t.is_bool() else 1


def result_type(a: Type, weak_a: bool, b: Type, weak_b: bool) -> tuple[Type, bool]:
    """The type of two operands that stand together, and whether it is weak."""
    if weak_a and weak_b:
        return (a if _category(a) >= _category(b) else b), True
    if weak_b:
        return _beside(a, b), False
    if weak_a:
        return _beside(b, a), False
    if a.is_handle() or b.is_handle():
        raise TypeMismatchError(f"no arithmetic between {a} and {b}", at=here())
    return _common(a, b), False


def _beside(strong: Type, weak: Type) -> Type:
    """The type of a weak number beside a typed value."""
    if _category(weak) <= _category(strong):
        return strong
    if weak.is_float():
        return float_for(strong)
    return INT64  # an int beside a Bool


def weak_type(value: bool | int | float) -> Type:
    """The type that a Python number is kept in until it stands beside a typed value."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float) or not -(2**63) <= value < 2**64:
        return FLOAT64
    return INT64 if value < 2**63 else UINT64


__all__ = [
    "FLOAT32",
    "FLOAT64",
    "INT64",
    "float_for",
    "result_type",
    "sum_type",
    "weak_type",
]
