"""What the parts of the simplifier see of each other."""

from __future__ import annotations

from typing import Protocol

from parhelion.analysis.facts import Facts
from parhelion.analysis.interval import Interval
from parhelion.analysis.linear import Linear, least_of_sum, linear, sum_interval
from parhelion.ir.expr import Expr, Imm, Max, Min, Var


class Engine(Protocol):
    """Simplifies expressions under fixed facts."""

    facts: Facts

    def go(self, n: Expr) -> Expr:
        """The simplified form of an expression."""
        ...

    def chain(self, kind: type[Min | Max], items: list[Expr]) -> Expr:
        """The minimum or maximum of simplified operands in canonical order, of which
        none makes another needless."""
        ...


def form_interval(form: Linear, facts: Facts) -> Interval:
    """Constant bounds of a linear form under facts, each atom taken by itself."""
    return sum_interval(form, facts.fact)


def known_sign(form: Linear, facts: Facts) -> bool | None:
    """Whether ``form >= 0``, if that is cheap to tell.

    Uses constant bounds; the enclosing conditions, one at a time (with a known
    ``f >= 0``, `form` is not negative if ``form - f`` is not, and it is negative if
    ``form + f`` is); and the symbolic bounds of Vars, one at a time.
    """
    lo, hi = form_interval(form, facts)
    if lo is not None and lo >= 0:
        return True
    if hi is not None and hi < 0:
        return False
    for known in facts.about(form):
        lo = least_of_sum(form, 1, known, -1, facts.fact)
        if lo is not None and lo >= 0:
            return True
        hi = least_of_sum(form, -1, known, -1, facts.fact)
        if hi is not None and hi > 0:
            return False
    for atom, k in form.terms.items():
        if type(atom) is Var:
            known_bound = _at_bounds(form, atom, k, facts)
            if known_bound is not None:
                return known_bound
    return None


def _at_bounds(form: Linear, v: Var, k: int, facts: Facts) -> bool | None:
    """The sign of ``form >= 0`` with `v` at the worst of its symbolic bounds."""
    for bound, least in ((v.lo, k > 0), (v.hi, k < 0)):
        if bound is None or type(bound) is Imm:
            continue
        made = form.without(v).plus(linear(bound), k)
        lo, hi = form_interval(made, facts)
        if least and lo is not None and lo >= 0:
            return True
        if not least and hi is not None and hi < 0:
            return False
    return None
