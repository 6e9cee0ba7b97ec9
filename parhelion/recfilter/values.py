"""Numbers of recursive filters as values and arrays of the type that is filtered in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parhelion.ir.build import imm
from parhelion.lang.expr import Expr, wrap
from parhelion.recfilter.coefficients import Matrix, Number
from parhelion.types import Type

#: A value at coordinates, those of the filter's dimensions.
Source = Callable[..., Any]


def constant(a: Number, t: Type) -> Expr:
    """A coefficient as a value of a type; integers wrap."""
    return wrap(imm(float(a) if t.is_float() else _wrapped(int(a), t), t))


def _wrapped(a: int, t: Type) -> int:
    """An integer as one of a type of so many bits, which it wraps around in."""
    low = a % (1 << t.bits())
    return low - (1 << t.bits()) if t.is_int() and low >> (t.bits() - 1) else low


def as_type(m: Matrix, t: Type) -> Matrix:
    """A matrix as an array of a type; integers wrap."""
    if not t.is_float():
        m = np.array([[_wrapped(int(a), t) for a in row] for row in m], object)
    return m.astype(t.to_numpy())


__all__ = ["Source", "as_type", "constant"]
