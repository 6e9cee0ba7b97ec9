"""One recursive filter as data, and the checks of its coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from parhelion.errors import DefinitionError, Site, TypeMismatchError, here
from parhelion.recfilter.coefficients import Number, growth, largest_pole
from parhelion.recfilter.warning import warn
from parhelion.types import Type

#: How far outside of the unit circle rounding may put a pole that is on it.
_ON_CIRCLE = 1e-6
#: A tail that grows by so much within a tile costs half of the digits of a float32.
_MOST_GROWTH = float(1 << 12)


@dataclass(frozen=True, slots=True)
class Filter:
    """y[i] = sum of feedforward[m] x[i -+ m] + sum of feedback[j - 1] y[i -+ j].

    dim: the position of its dimension. causal: whether it runs from point 0 on.
    site: the user's line.
    """

    dim: int
    causal: bool
    feedforward: tuple[Number, ...]
    feedback: tuple[Number, ...]
    site: Site | None = None

    @property
    def order(self) -> int:
        """How many points back it reads its own values."""
        return len(self.feedback)


def numbers(given: object, what: str, t: Type) -> tuple[Number, ...]:
    """Coefficients as numbers of a type that filters compute in. Raises
    TypeMismatchError for anything else."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeMismatchError(
            f"{what}: the coefficients must be a list of numbers, not {given!r}",
            at=here(),
        )
    found = [_number(a, what, t) for a in given]
    if not found:
        raise DefinitionError(f"{what}: no coefficients are given", at=here())
    return tuple(found)


def _number(a: object, what: str, t: Type) -> Number:
    if isinstance(a, np.generic):
        a = a.item()
    if isinstance(a, bool) or not isinstance(a, int | float):
        raise TypeMismatchError(
            f"{what}: a coefficient must be a real number, not {a!r}", at=here()
        )
    if not np.isfinite(a):
        raise DefinitionError(
            f"{what}: a coefficient must be finite, not {a!r}", at=here()
        )
    if t.is_float():
        return float(a)
    if a != int(a):
        raise TypeMismatchError(
            f"{what}: coefficients of a filter over {t} must be integers, not {a!r}",
            at=here(),
            hint="filter floats: hl.f32(value)",
        )
    return int(a)


def check_stable(feedback: Sequence[Number], what: str) -> None:
    """Raises DefinitionError for a filter whose values grow without end."""
    if not feedback:
        return
    pole = largest_pole(feedback)
    # A pole of multiplicity k is found to the k-th root of the precision.
    slack = _ON_CIRCLE if len(feedback) == 1 else 10 ** (-12 / len(feedback))
    if pole > 1 + slack:
        raise DefinitionError(
            f"{what}: the filter is unstable: it has a pole of magnitude {pole:.6g},"
            " outside of the unit circle, so that its values grow without end",
            at=here(),
            hint="the signs are those of y[i] = a0 x[i] + a1 y[i-1] + …; SciPy's"
            " denominators have the opposite ones (hl.iir takes those)",
        )


def check_border(one: Filter, border: str, t: Type, what: str) -> None:
    """Raises DefinitionError for a filter that cannot go on for ever."""
    if border == "zero":
        return
    if not t.is_float():
        raise DefinitionError(
            f"{what}: values of {t} have the border 'zero' alone: what comes from"
            f" outside of an image with the border {border!r} is no integer",
            at=here(),
            hint="filter floats: hl.f32(value)",
        )
    pole = largest_pole(one.feedback)
    if pole > 1 - _ON_CIRCLE:
        raise DefinitionError(
            f"{what}: with the border {border!r}, where an image goes on for ever, the"
            f" filter has no end: it has a pole of magnitude {pole:.6g}, on the unit"
            " circle",
            at=here(),
            hint="sums have the border 'zero'",
        )


def most_growth(t: Type) -> float:
    """By how much values may grow within a tile: to half of the digits."""
    return _MOST_GROWTH if t.bits() <= 32 else _MOST_GROWTH**2


def check_growth(one: Filter, width: int, t: Type, what: str) -> None:
    """Warns of tiles in which rounding errors grow to half of the digits."""
    if not t.is_float():
        return
    most = most_growth(t)
    grows = growth(one.feedback, width)
    if grows > most:
        warn(
            f"{what}: values that come into a tile of {width} points grow by"
            f" {grows:.3g} in it, and so do their rounding errors in {t}; use narrower"
            " tiles, filters of lower order, or float64"
        )


__all__ = [
    "Filter",
    "check_border",
    "check_growth",
    "check_stable",
    "most_growth",
    "numbers",
]
