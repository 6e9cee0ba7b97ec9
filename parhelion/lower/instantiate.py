"""Copies of a statement with Vars or conditions replaced, whose own Vars know it.

Unrolling and loop partitioning put several copies of a body side by side. A let or a
loop inside it is then about other values than before, so each copy binds fresh Vars
wherever the value or the bounds changed: facts on a Var always describe that Var.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from parhelion.ir.build import (
    add,
    is_const,
    is_false,
    is_true,
    land,
    lnot,
    lor,
    mul,
    select,
    sub,
)
from parhelion.ir.expr import (
    Add,
    And,
    Expr,
    Intrinsic,
    Let,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.rewrite import _N, Rewriter, free_vars
from parhelion.ir.stmt import NOP, For, If, LetStmt, Stmt


class _Instantiate(Rewriter):
    def __init__(
        self,
        env: Mapping[Var, Expr],
        replace: Mapping[Expr, Expr] | None,
        renew: bool,
    ) -> None:
        super().__init__()
        self.renew = renew
        self.env: dict[Var, Expr] = dict(env)
        self.replace = replace or {}
        #: What mentions none of these stays as it is. (A node that is replaced has
        #: free Vars, and so has all that contains it.)
        self.watched: set[Var] = set(env)
        for e in self.replace:
            self.watched |= free_vars(e)

    def go(self, n: _N) -> _N:
        if isinstance(n, Expr):
            return cast(_N, self.expr(n))  # type: ignore[redundant-cast]
        handler = self._table.get(type(n))
        return cast(_N, handler(self, n) if handler else n.map(self.go))

    def expr(self, e: Expr) -> Expr:
        if isinstance(e, Var) and e not in self.replace:
            return self.env.get(e, e)
        found = self.memo.get(e)
        if found is None:
            found = self.memo[e] = self.copy(e)
        return found

    def copy(self, e: Expr) -> Expr:
        if self.watched.isdisjoint(free_vars(e)):
            return e
        other = self.replace.get(e)
        if other is not None:
            return self.expr(other)
        if type(e) is Let:
            value = self.expr(e.value)
            var = self.bind(e.var, value)
            return Let(var, value, self.expr(e.body))
        fold = _FOLDS.get(type(e))
        return fold(self, e) if fold else e.map(self.expr)

    # What the replaced Vars and conditions decide is folded at once.

    def fold_sum(self, e: Add | Sub | Mul) -> Expr:
        a, b = self.expr(e.a), self.expr(e.b)
        return e if a is e.a and b is e.b else _SUMS[type(e)](a, b)

    def fold_and(self, e: And) -> Expr:
        return land(self.expr(e.a), self.expr(e.b))

    def fold_or(self, e: Or) -> Expr:
        return lor(self.expr(e.a), self.expr(e.b))

    def fold_not(self, e: Not) -> Expr:
        a = self.expr(e.a)
        return e if a is e.a else lnot(a)

    def fold_select(self, e: Select) -> Expr:
        return select(self.expr(e.cond), self.expr(e.a), self.expr(e.b))

    def fold_mark(self, e: Intrinsic) -> Expr:
        made = e.map(self.expr)
        return made.args[0] if e.op in LIKELY and is_const(made.args[0]) else made

    def on_if(self, n: If) -> Stmt:
        cond = self.expr(n.cond)
        if is_true(cond):
            return self.go(n.then)
        otherwise = NOP if n.otherwise is None else self.go(n.otherwise)
        if is_false(cond):
            return otherwise
        return If(cond, self.go(n.then), None if otherwise is NOP else otherwise)

    # Scopes.

    def bind(self, old: Var, value: Expr) -> Var:
        """The Var that names `value` in this copy."""
        new = old
        if self.renew or old.value is not value:
            new = Var(old.name, old.type, value=value)
        self.rename(old, new)
        return new

    def rename(self, old: Var, new: Var) -> None:
        if old in self.env:
            # A sibling scope bound it before: what was made of it is stale.
            self.memo.clear()
            self.env[old] = new
        elif new is not old:
            self.env[old] = new
            self.watched.add(old)

    def on_letstmt(self, n: LetStmt) -> Stmt:
        value = self.expr(n.value)
        if value is n.value and n.var not in self.env and not self.renew:
            return n
        return LetStmt(self.bind(n.var, value), value)

    def on_for(self, n: For) -> Stmt:
        low, extent = self.expr(n.min), self.expr(n.extent)
        var = n.var
        lo = None if var.lo is None else self.expr(var.lo)
        hi = None if var.hi is None else self.expr(var.hi)
        old = (n.min, n.extent, var.lo, var.hi)
        new = (low, extent, lo, hi)
        if self.renew or any(a is not b for a, b in zip(old, new, strict=True)):
            var = Var(
                var.name, var.type, lo=lo, hi=hi, origin=var.origin, loop=var.loop
            )
        self.rename(n.var, var)
        body = self.go(n.body)
        return NOP if body is NOP else For(var, low, extent, n.kind, body)


_SUMS: dict[type[Expr], Callable[[Expr, Expr], Expr]] = {Add: add, Sub: sub, Mul: mul}

_FOLDS: dict[type[Expr], Callable[[_Instantiate, Any], Expr]] = {
    Add: _Instantiate.fold_sum,
    Sub: _Instantiate.fold_sum,
    Mul: _Instantiate.fold_sum,
    And: _Instantiate.fold_and,
    Or: _Instantiate.fold_or,
    Not: _Instantiate.fold_not,
    Select: _Instantiate.fold_select,
    Intrinsic: _Instantiate.fold_mark,
}


def instantiate(
    s: Stmt,
    env: Mapping[Var, Expr],
    replace: Mapping[Expr, Expr] | None = None,
    *,
    renew: bool = False,
) -> Stmt:
    """`s` with the Vars of `env` and the nodes of `replace` replaced, and its bound
    Vars renewed where needed; all of them with `renew`, for a copy that stands beside
    its original. What the replacements decide is folded."""
    if not (env or replace or renew):
        return s
    return _Instantiate(env, replace, renew).go(s)


class _Inline(_Instantiate):
    def __init__(self, values: Mapping[Var, Expr]) -> None:
        super().__init__(values, None, renew=False)
        self.values = values

    def on_letstmt(self, n: LetStmt) -> Stmt:
        return NOP if n.var in self.values else super().on_letstmt(n)


def inline_lets(s: Stmt, values: Mapping[Var, Expr]) -> Stmt:
    """`s` without the lets of the Vars in `values`, which take their place. A value
    mentions no Var of `values` itself."""
    return _Inline(values).go(s) if values else s
