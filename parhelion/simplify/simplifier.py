"""What others ask of this layer: `simplify`, for expressions and statements, and
`can_prove`."""

from __future__ import annotations

from typing import overload

from parhelion.analysis.facts import Facts
from parhelion.ir.expr import Expr
from parhelion.ir.stmt import Stmt
from parhelion.simplify.driver import ready


@overload
def simplify(n: Expr, facts: Facts = ...) -> Expr: ...
@overload
def simplify(n: Stmt, facts: Facts = ...) -> Stmt: ...
def simplify(n: Expr | Stmt, facts: Facts = Facts.EMPTY) -> Expr | Stmt:
    """`n` in a smaller or canonical form of the same value, where `facts` hold."""
    engine = ready(facts)
    if isinstance(n, Expr):
        return engine.go(n)
    from parhelion.simplify.stmt import simplify_stmt

    return simplify_stmt(n, facts)


def can_prove(cond: Expr, facts: Facts = Facts.EMPTY) -> bool:
    """Whether `cond` certainly holds wherever its Vars are in scope and `facts` do.

    False means only that no proof was found.
    """
    from parhelion.simplify.prove import prove

    return prove(cond, facts)


__all__ = ["can_prove", "simplify"]
