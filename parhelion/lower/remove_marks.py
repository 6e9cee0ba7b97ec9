"""Marks that have served are replaced by their argument."""

from __future__ import annotations

from parhelion.ir.expr import Expr, Intrinsic
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.stmt import Stmt
from parhelion.lower.lanes import MARKS


def remove_marks(s: Stmt) -> Stmt:
    """Drops `likely`, `likely_if_innermost` and `promise_clamped`.

    They guide bounds inference and loop partitioning; behind these they only hide
    expressions from the simplifier and the code generator.
    """
    return _RemoveMarks().go(s)


class _RemoveMarks(Rewriter):
    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op in MARKS:
            return self.go(n.args[0])
        return n.map(self.go)
