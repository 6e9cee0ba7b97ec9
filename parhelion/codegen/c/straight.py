"""Loops of lanes that read memory whatever they choose, in C.

A choice computes all of its operands, as a vector does. C computes one, and where there
are reads in it, its compilers make branches of it, or gathers under a mask. So what is
read gets a name before; what is left of the choice are registers. (gcc 12 makes
branches of a choice between conditions that is a condition itself, too.)
"""

from __future__ import annotations

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.node import Node
from parhelion.ir.rewrite import Rewriter, free_vars, nodes, substitute
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32


def straight(body: S.Stmt) -> S.Stmt:
    """The body of a loop of lanes, with names for what choices read."""
    if isinstance(body, S.Block):
        return build.block(*[straight(item) for item in body.items])
    if isinstance(body, S.If):
        otherwise = body.otherwise
        return S.If(
            body.cond,
            straight(body.then),
            None if otherwise is None else straight(otherwise),
        )
    if not isinstance(body, S.LetStmt | S.Store):
        return body
    if any([isinstance(n, E.Let) for n in nodes(body.value)]):
        return body
    names = _Names(_chosen(body.value))
    body = body.map(names.go)
    return build.block(*names.before, body) if names.before else body


def opened(body: S.Stmt, lane: Var) -> S.Stmt:
    """The body of a loop of lanes, where places are halves of names of doubles, without
    those names: C compilers do not see that these are the places of a row."""
    halves = [n for n in nodes(body) if isinstance(n, E.Div | E.Mod)]
    if not isinstance(body, S.Block) or not any([n.type is INT32 for n in halves]):
        return body
    env: dict[Var, Expr] = {}
    kept: list[S.Stmt] = []
    for item in body.items:
        if isinstance(item, S.LetStmt) and _is_place(item.value):
            env[item.var] = substitute(item.value, env)
        else:
            kept.append(item)
    inside = {v for v, e in env.items() if lane in free_vars(e)}
    if not any([inside & free_vars(n) for n in halves]):
        return body
    # The names that stay have the same values, and places may mention them.
    return simplify(substitute(build.block(*kept), env))


def _is_place(e: Expr) -> bool:
    if e.type is not INT32:
        return False
    return not any([isinstance(n, E.Load | E.Let | E.Intrinsic) for n in nodes(e)])


class _Names(Rewriter):
    """Replaces by names what choices read, and choices between conditions: as numbers
    these are what C compilers make no branches of."""

    def __init__(self, loads: dict[Expr, None]) -> None:
        super().__init__()
        self.before: list[S.LetStmt] = []
        self._loads = loads

    def _name(self, name: str, value: Expr) -> Var:
        made = Var(name, value.type)
        self.before.append(S.LetStmt(made, value))
        return made

    def on_load(self, n: E.Load) -> Expr:
        return self._name("pixel", n) if n in self._loads else n.map(self.go)

    def on_select(self, n: E.Select) -> Expr:
        n = n.map(self.go)
        if not n.type.is_bool():
            return n
        yes, no = build.cast(INT32, n.a), build.cast(INT32, n.b)
        chosen = self._name("chosen", E.Select(n.cond, yes, no))
        return build.ne(chosen, build.int32(0))


def _chosen(value: Expr) -> dict[Expr, None]:
    """What is read in the operands of choices. What is read only where something holds
    stays there, and so does what is read at places that are read or named in it."""
    found: dict[Expr, None] = {}
    kept: set[Node] = set()
    for n in nodes(value):
        if isinstance(n, E.Intrinsic) and n.op == "guarded":
            kept |= set(nodes(n))
        elif isinstance(n, E.Select | E.And | E.Or):
            found |= {m: None for m in nodes(n) if isinstance(m, E.Load)}
    return {one: None for one in found if one not in kept and _is_plain(one)}


def _is_plain(load: Expr) -> bool:
    assert isinstance(load, E.Load)
    if load.predicate is not None and not build.is_true(load.predicate):
        return False
    return not any([isinstance(n, E.Load) for n in nodes(load.index)])


__all__ = ["opened", "straight"]
