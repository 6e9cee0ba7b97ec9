"""What recursive filters compute, as values of the type that is filtered in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parhelion.ir.build import imm
from parhelion.lang.effects import likely
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import max as max_
from parhelion.lang.functions import select
from parhelion.lang.rdom import RDom
from parhelion.recfilter.coefficients import Matrix, Number
from parhelion.recfilter.filters import Filter
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


def scan(
    f: Func,
    at: Callable[[Any], tuple[Any, ...]],
    one: Filter,
    r: RDom,
    t: Type,
    *,
    alone: bool,
) -> None:
    """Gives a Func the update by which a filter walks over its points.

    at: the coordinates of a point, counted from the first that the filter meets. alone:
    whether there are zeros before that one; otherwise the Func has what there is.
    """
    gain = one.feedforward[0]
    total: Any = f[at(r)] if gain == 1 else constant(gain, t) * f[at(r)]
    for j, a in enumerate(one.feedback, 1):
        if a == 0:
            continue
        if alone:
            term = constant(a, t) * f[at(max_(r - j, 0))]
            term = select(likely(r >= j), term, constant(0, t))
        else:
            term = constant(a, t) * f[at(r - j)]
        total = total + term
    f[at(r)] = total


__all__ = ["Source", "as_type", "constant", "scan"]
