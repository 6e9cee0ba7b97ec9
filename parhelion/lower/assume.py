"""What a branch of a specialised definition may take for granted."""

from __future__ import annotations

from parhelion.analysis.facts import Facts
from parhelion.ir.build import (
    FALSE,
    TRUE,
    is_const,
    is_true,
    land,
    le,
    lnot,
    lor,
    mod,
    select,
)
from parhelion.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    And,
    Expr,
    Max,
    Min,
    Not,
    Or,
    Select,
    Var,
)
from parhelion.ir.rewrite import Rewriter, substitute
from parhelion.simplify.simplifier import can_prove, simplify


class Assuming:
    """A condition, and what follows from it.

    Facts hold integers; that a float equals a constant, or that a Bool is what it is,
    takes effect by substitution.
    """

    def __init__(self, condition: Expr) -> None:
        self.trivial = is_true(condition)
        self.facts = Facts.EMPTY
        self._env: dict[Var, Expr] = {}
        self._settled = _Settled(self.facts)
        if not self.trivial:
            self.facts = Facts.EMPTY.assume(condition)
            self._equate(condition)
            self._settled = _Settled(self.facts)

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
        """`e` as it is where the condition holds.

        Nothing changes but what the condition settles. Bounds are inferred from the
        result, and read it better as the user wrote it than in a normal form: a clamp
        that is proven to be idle still says where an index stays.
        """
        if self.trivial:
            return e
        return self._settled.go(substitute(e, self._env))

    def divides(self, factor: Expr, e: Expr) -> bool:
        """Whether the condition implies that `factor` divides `e`."""
        if is_const(factor, 1):
            return True
        return is_const(simplify(mod(e, factor), self.facts), 0)

    def proves(self, e: Expr) -> bool:
        """Whether the condition implies `e`."""
        return can_prove(e, self.facts)


class _Settled(Rewriter):
    """Replaces conditions that are known, and what they choose."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts

    def _compare(self, n: EQ | NE | LT | LE) -> Expr:
        made = simplify(n, self.facts)
        return made if is_const(made) else n.map(self.go)

    on_eq = on_ne = on_lt = on_le = _compare

    def on_and(self, n: And) -> Expr:
        return land(self.go(n.a), self.go(n.b))

    def on_or(self, n: Or) -> Expr:
        return lor(self.go(n.a), self.go(n.b))

    def on_not(self, n: Not) -> Expr:
        return lnot(self.go(n.a))

    def on_select(self, n: Select) -> Expr:
        return select(self.go(n.cond), self.go(n.a), self.go(n.b))

    def on_min(self, n: Min) -> Expr:
        made = self._least(n)
        return n.map(self.go) if made is None else self.go(made)

    def on_max(self, n: Max) -> Expr:
        made = self._least(n)
        if made is None:
            return n.map(self.go)
        return self.go(n.b if made is n.a else n.a)

    def _least(self, n: Min | Max) -> Expr | None:
        """The operand that is never the greater one, and that by the condition."""
        if n.type.is_float():
            return None
        for one, other in ((n.a, n.b), (n.b, n.a)):
            less = le(one, other)
            if is_true(simplify(less, self.facts)) and not is_true(simplify(less)):
                return one
        return None


def _is_zero_float(e: Expr) -> bool:
    """Zero equals zero of the other sign, which is another value."""
    return e.type.is_float() and is_const(e, 0)


__all__ = ["Assuming"]
