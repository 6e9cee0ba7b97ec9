"""Arithmetic on constant intervals: what operations make of the bounds of operands.

Bounds are exact numbers; `checked` says what is left of a result that may leave its
type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from parhelion.ir.build import floor_div
from parhelion.ir.expr import Expr
from parhelion.types import Type

Number = int | float


class Interval(NamedTuple):
    """Inclusive bounds; None is unbounded."""

    lo: Number | None
    hi: Number | None

    def contains(self, value: Number) -> bool:
        return (self.lo is None or self.lo <= value) and (
            self.hi is None or value <= self.hi
        )

    def single(self) -> Number | None:
        """The only value, if there is just one."""
        return self.lo if self.lo == self.hi else None

    def intersect(self, other: Interval) -> Interval:
        lo = self.lo if other.lo is None else other.lo
        if self.lo is not None and other.lo is not None:
            lo = max(self.lo, other.lo)
        hi = self.hi if other.hi is None else other.hi
        if self.hi is not None and other.hi is not None:
            hi = min(self.hi, other.hi)
        return Interval(lo, hi)

    def union(self, other: Interval) -> Interval:
        return Interval(
            None if self.lo is None or other.lo is None else min(self.lo, other.lo),
            None if self.hi is None or other.hi is None else max(self.hi, other.hi),
        )


#: The interval of a pair of bounds: made in C, which takes half as long.
interval_of: Callable[[tuple[Number | None, Number | None]], Interval] = partial(
    tuple.__new__, Interval
)

FULL = Interval(None, None)
BOOL_RANGE = Interval(0, 1)

#: The interval and the tameness of a node.
Fact = tuple[Interval, bool]
Get = Callable[[Expr], Fact]

_TYPE_FACTS: dict[Type, Fact] = {}


def is_index_type(t: Type) -> bool:
    """Whether arithmetic of `t` may be assumed not to overflow: int32 and int64."""
    return t.is_int() and t.width >= 32


def type_interval(t: Type) -> Interval:
    """What any value of the type lies between: unbounded for int32, int64, floats."""
    return type_fact(t)[0]


def type_fact(t: Type) -> Fact:
    found = _TYPE_FACTS.get(t)
    if found is None:
        if t.is_uint() or (t.is_int() and t.width < 32):
            found = Interval(t.lowest(), t.highest()), True
        else:
            found = FULL, False
        _TYPE_FACTS[t] = found
    return found


def fits(t: Type, lo: Number | None, hi: Number | None) -> bool:
    """Whether no finite bound lies outside the integer type."""
    return (lo is None or lo >= t.lowest()) and (hi is None or hi <= t.highest())


def checked(t: Type, lo: Number | None, hi: Number | None, operands_tame: bool) -> Fact:
    """The fact of an integer operation whose exact result lies in [lo, hi]."""
    if not fits(t, lo, hi):
        known = type_fact(t)[0]
        return known, False
    if operands_tame or lo is not None and hi is not None:
        return interval_of((lo, hi)), True
    return FULL, False


def chosen(interval: Interval, tame_operands: bool) -> Fact:
    """Returns the fact of an operation whose result is one of its operands."""
    finite = interval.lo is not None and interval.hi is not None
    return interval, finite or tame_operands


def add_intervals(a: Interval, b: Interval) -> Interval:
    al, ah = a
    bl, bh = b
    lo = None if al is None or bl is None else al + bl
    hi = None if ah is None or bh is None else ah + bh
    return interval_of((lo, hi))


def scale_interval(a: Interval, k: int) -> Interval:
    """k * a, exactly."""
    if k == 0:
        return Interval(0, 0)
    lo, hi = a
    lo = None if lo is None else lo * k
    hi = None if hi is None else hi * k
    return interval_of((lo, hi) if k > 0 else (hi, lo))


def mul_intervals(a: Interval, b: Interval) -> Interval:
    ka, kb = a.single(), b.single()
    if kb is not None:
        return scale_interval(a, int(kb))
    if ka is not None:
        return scale_interval(b, int(ka))
    if None not in a and None not in b:
        corners = [p * q for p in a for q in b]  # type: ignore[operator]
        return Interval(min(corners), max(corners))
    # With an unbounded side only the sign can be known.
    if a.lo is not None and b.lo is not None and a.lo >= 0 and b.lo >= 0:
        return Interval(a.lo * b.lo, None)
    if a.hi is not None and b.hi is not None and a.hi <= 0 and b.hi <= 0:
        return Interval(a.hi * b.hi, None)
    for p, q in ((a, b), (b, a)):
        if p.lo is not None and p.lo >= 0 and q.hi is not None and q.hi <= 0:
            return Interval(None, p.lo * q.hi)
    return FULL


def div_intervals(a: Interval, b: Interval) -> Interval:
    """Division of the language, for any divisor in b; zero gives zero."""
    if b.lo is None or b.hi is None or a.lo is None or a.hi is None:
        if b.lo is not None and b.lo > 0:
            # Dividing by something positive moves the value towards zero (or -1).
            least, most = b.lo, b.hi
            lo = hi = None
            if a.lo is not None:
                lo = min(floor_div(int(a.lo), int(least)), 0 if a.lo >= 0 else -1)
                if a.lo >= 0:
                    lo = 0 if most is None else floor_div(int(a.lo), int(most))
            if a.hi is not None:
                hi = floor_div(int(a.hi), int(least))
                if a.hi < 0:
                    hi = -1 if most is None else floor_div(int(a.hi), int(most))
            return Interval(lo, hi)
        if a.lo is not None and a.hi is not None:
            reach = max(abs(a.lo), abs(a.hi))
            return Interval(-reach, reach)
        if b.single() is not None and b.lo is not None and b.lo < 0:
            positive = div_intervals(a, Interval(-b.lo, -b.lo))
            return scale_interval(positive, -1)
        return FULL
    divisors = {int(b.lo), int(b.hi)}
    divisors |= {k for k in (-1, 1) if b.lo <= k <= b.hi}
    results = [floor_div(int(n), k) for n in (a.lo, a.hi) for k in divisors if k != 0]
    if b.lo <= 0 <= b.hi:
        results.append(0)
    return Interval(min(results), max(results))


def mod_interval(a: Interval, b: Interval) -> Interval:
    reach: Number | None = None
    if b.lo is not None and b.hi is not None:
        reach = max(abs(b.lo), abs(b.hi), 1) - 1
    lo: Number = 0
    hi = reach
    if a.lo is not None and a.lo >= 0 and a.hi is not None:
        # A dividend that is already below the divisor is its own remainder.
        if b.lo is not None and a.hi < b.lo:
            lo = a.lo
        if hi is None or a.hi < hi:
            hi = a.hi
    return Interval(lo, hi)


def min_intervals(a: Interval, b: Interval) -> Interval:
    if a.lo is None or b.lo is None:
        lo = None
    else:
        lo = min(a.lo, b.lo)
    if a.hi is None:
        hi = b.hi
    else:
        hi = a.hi if b.hi is None else min(a.hi, b.hi)
    return interval_of((lo, hi))


def max_intervals(a: Interval, b: Interval) -> Interval:
    if a.lo is None:
        lo = b.lo
    else:
        lo = a.lo if b.lo is None else max(a.lo, b.lo)
    if a.hi is None or b.hi is None:
        hi = None
    else:
        hi = max(a.hi, b.hi)
    return interval_of((lo, hi))
