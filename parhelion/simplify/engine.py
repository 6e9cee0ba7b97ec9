"""What the parts of the simplifier see of each other."""

from __future__ import annotations

from typing import Protocol

from parhelion.analysis.facts import Facts
from parhelion.analysis.interval import Interval, add_intervals, scale_interval
from parhelion.analysis.linear import Linear
from parhelion.ir.expr import Expr


class Engine(Protocol):
    """Simplifies expressions under fixed facts."""

    facts: Facts

    def go(self, n: Expr) -> Expr:
        """The simplified form of an expression."""
        ...


def form_interval(form: Linear, facts: Facts) -> Interval:
    """Constant bounds of a linear form under facts, each atom taken by itself."""
    total = Interval(form.const, form.const)
    for atom, k in form.terms.items():
        total = add_intervals(total, scale_interval(facts.interval(atom), k))
        if total.lo is None and total.hi is None:
            return total
    return total


def known_sign(form: Linear, facts: Facts) -> bool | None:
    """Whether ``form >= 0``, if that is cheap to tell.

    Uses constant bounds, and the enclosing conditions one at a time: with a known
    ``f >= 0``, `form` is not negative if ``form - f`` is not, and it is negative if
    ``form + f`` is.
    """
    lo, hi = form_interval(form, facts)
    if lo is not None and lo >= 0:
        return True
    if hi is not None and hi < 0:
        return False
    for known in facts.nonneg:
        if form.terms.keys().isdisjoint(known.terms):
            continue
        lo = form_interval(form.plus(known, -1), facts).lo
        if lo is not None and lo >= 0:
            return True
        hi = form_interval(form.plus(known, 1), facts).hi
        if hi is not None and hi < 0:
            return False
    return None
