"""What a branch of a specialised definition may take for granted."""

from __future__ import annotations

from parhelion.analysis.facts import Facts
from parhelion.ir.build import FALSE, TRUE, is_const, is_true, mod
from parhelion.ir.expr import EQ, And, Expr, Not, Var
from parhelion.ir.rewrite import substitute
from parhelion.simplify.driver import can_prove, simplify


class Assuming:
    """A condition, and what follows from it.

    Facts hold integers; that a float equals a constant, or that a Bool is what it is,
    takes effect by substitution.
    """

    def __init__(self, condition: Expr) -> None:
        self.trivial = is_true(condition)
        self.facts = Facts.EMPTY
        self._env: dict[Var, Expr] = {}
        if not self.trivial:
            self.facts = Facts.EMPTY.assume(condition)
            self._equate(condition)

    def _equate(self, condition: Expr) -> None:
        if isinstance(condition, And):
            self._equate(condition.a)
            self._equate(condition.b)
        elif isinstance(condition, EQ):
            for a, b in ((condition.a, condition.b), (condition.b, condition.a)):
                if isinstance(a, Var) and is_const(b) and not _is_zero_float(b):
                    self._env[a] = b
        elif isinstance(condition, Var):
            self._env[condition] = TRUE
        elif isinstance(condition, Not) and isinstance(condition.a, Var):
            self._env[condition.a] = FALSE

    def simplified(self, e: Expr) -> Expr:
        """`e` as it is where the condition holds."""
        if self.trivial:
            return e
        return simplify(substitute(e, self._env), self.facts)

    def divides(self, factor: Expr, e: Expr) -> bool:
        """Whether the condition implies that `factor` divides `e`."""
        if is_const(factor, 1):
            return True
        return is_const(simplify(mod(e, factor), self.facts), 0)

    def proves(self, e: Expr) -> bool:
        """Whether the condition implies `e`."""
        return can_prove(e, self.facts)


def _is_zero_float(e: Expr) -> bool:
    """Zero equals zero of the other sign, which is another value."""
    return e.type.is_float() and is_const(e, 0)


__all__ = ["Assuming"]
