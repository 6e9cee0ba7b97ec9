"""Minima and maxima of floats and constants in loops of lanes, in C.

gcc 12 has one instruction for ``b < a ? b : a`` of two vectors if what is compared and
what is chosen are the same two registers. A constant is put into one register for the
comparison and into another one for the choice, and what becomes of it is a comparison,
whose result is a mask, and a choice under the mask. So constants have names before the
loop, of which gcc is not told what they are (`support`'s ``opaque``).
"""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, FloatImm, Var
from parhelion.ir.rewrite import Rewriter


def with_names(body: S.Stmt) -> tuple[Mapping[FloatImm, Var], S.Stmt]:
    """Names for the constants that a loop of lanes has minima and maxima of, and its
    body with them."""
    names = _Names()
    return names.found, names.go(body)


class _Names(Rewriter):
    """Replaces by their names the constants in minima and maxima of floats."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[FloatImm, Var] = {}

    def on_min(self, n: E.Min) -> Expr:
        n = n.map(self.go)
        return E.Min(self._named(n.a), self._named(n.b))

    def on_max(self, n: E.Max) -> Expr:
        n = n.map(self.go)
        return E.Max(self._named(n.a), self._named(n.b))

    def _named(self, e: Expr) -> Expr:
        if not isinstance(e, FloatImm):
            return e
        return self.found.setdefault(e, Var("limit", e.type))


__all__ = ["with_names"]
