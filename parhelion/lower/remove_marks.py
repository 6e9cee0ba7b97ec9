"""Marks that have served are replaced by what they mean."""

from __future__ import annotations

from parhelion.ir.build import clamp
from parhelion.ir.expr import Expr, Intrinsic
from parhelion.ir.intrinsics import MARKS
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.stmt import Stmt


def remove_marks(s: Stmt) -> Stmt:
    """Drops `likely` and `likely_if_innermost`; `promise_clamped` becomes a clamp.

    They guide bounds inference and loop partitioning; behind these they only hide
    expressions from the simplifier and the code generator. A promise about what
    nobody knows is kept by force: where it is broken, regions were made too small, and
    two instructions are cheaper than an access outside of them.
    """
    return _RemoveMarks().go(s)


class _RemoveMarks(Rewriter):
    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op == "promise_clamped":
            return clamp(*[self.go(a) for a in n.args])
        if n.op in MARKS:
            return self.go(n.args[0])
        return n.map(self.go)
