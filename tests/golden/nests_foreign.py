"""Loop nests of foreign stages, for `test_loop_nests`."""

from __future__ import annotations

from typing import Any

from tests.golden.nests import Module, Pipeline, case, variables


def foreign(hl: Module) -> tuple[Any, Any, Any]:
    x, y = variables(hl, "x y")
    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x, y] = x + y
    given = [hl.ExternFuncArgument(g)]
    e.define_extern("abs", given, hl.Int(32), 2)
    o[x, y] = e[x, y] + e[x, y + 1]
    return g, e, o


@case
def foreign_at_root(hl: Module) -> Pipeline:
    g, e, o = foreign(hl)
    g.compute_root()
    e.compute_root()
    return o


@case
def foreign_in_a_loop(hl: Module) -> Pipeline:
    g, e, o = foreign(hl)
    g.compute_at(o, hl.Var("y"))
    e.compute_at(o, hl.Var("y"))
    return o


@case
def foreign_left_inline(hl: Module) -> Pipeline:
    g, _, o = foreign(hl)
    g.compute_root()
    return o


@case
def foreign_stored_apart(hl: Module) -> Pipeline:
    g, e, o = foreign(hl)
    g.compute_root()
    e.store_root().compute_at(o, hl.Var("y"))
    return o
