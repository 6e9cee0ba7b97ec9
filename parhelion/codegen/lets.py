"""Lets: a name for a value, which indices see through."""

from __future__ import annotations

from parhelion.codegen import opaque
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.stmt import LetStmt, Stmt
from parhelion.types import INT32, INT64


def bind_let(f: Function, var: Var, value: Expr) -> None:
    """Binds a let. Indices see through it to the sum that it stands for.

    Only where it follows a loop, which then steps the index: the terms of a stride or
    of a storage's first coordinate would be multiplied anew in every row's offset, and
    the time of LLVM's strength reduction grows with their number.
    """
    text = f.value(value)
    level = f.level(value)
    f.bind(var, text, level)
    opaque.weigh_let(f, var, value)
    if var.type.count > 1 and var.type.element_of() is INT32:
        f.vector_lets[var] = value
    plain = value
    while isinstance(plain, E.Reinterpret):
        plain = plain.a
    if isinstance(plain, E.Load) and plain.predicate is not None:
        f.masked.add(text)
    if (
        f.in_loop(level)
        and (var.type is INT32 or var.type is INT64)
        and isinstance(value, E.Add | E.Sub | E.Mul | E.Var)
    ):
        if not f.module.reads(value):
            f.let_values[var] = value


def bound_twice(s: Stmt) -> frozenset[Var]:
    """The Vars that more than one LetStmt binds: copies made by unrolling."""
    once: set[Var] = set()
    again: set[Var] = set()
    stack: list[Stmt] = [s]
    while stack:
        n = stack.pop()
        if isinstance(n, LetStmt):
            (again if n.var in once else once).add(n.var)
            continue
        for child in n.children():
            if isinstance(child, Stmt):
                stack.append(child)
    return frozenset(again)


__all__ = ["bind_let", "bound_twice"]
