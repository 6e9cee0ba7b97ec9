"""What a loop of lanes computes the same in each of them, computed before it in C.

The functions that stand for quotients and remainders have branches, which C compilers
do not move out of a loop, and with which they do not vectorise it. Rows of folded
storage are counted by such remainders.
"""

from __future__ import annotations

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.lower.instantiate import instantiate


def hoisted(loop: S.For) -> tuple[tuple[S.LetStmt, ...], S.For]:
    """The names to be given before a loop, and the loop with them. What only a branch
    computes stays there."""
    body = loop.body
    items = body.items if isinstance(body, S.Block) else (body,)
    before: list[S.LetStmt] = []
    kept: list[S.Stmt] = []
    moving = {loop.var} | {n.var for n in nodes(loop.body) if isinstance(n, E.Let)}
    for item in items:
        if isinstance(item, S.LetStmt) and _stands(item.value, moving):
            before.append(item)
            continue
        moving |= {n.var for n in nodes(item) if isinstance(n, S.LetStmt)}
        kept.append(item)
    named: dict[Expr, Expr] = {}
    for item in kept:
        if isinstance(item, S.LetStmt | S.Store):
            for n in nodes(item):
                if not isinstance(n, E.Div | E.Mod) or n in named:
                    continue
                if _is_function(n) and _stands(n, moving):
                    made = Var("row", n.type)
                    named[n] = made
                    before.append(S.LetStmt(made, n))
    rest = instantiate(build.block(*kept), {}, named)
    return tuple(before), S.For(loop.var, loop.min, loop.extent, loop.kind, rest)


def _stands(e: Expr, moving: set[Var]) -> bool:
    """Whether a value is the same in each iteration, and may be computed before."""
    for n in nodes(e):
        if isinstance(n, E.Load | E.Extern | E.Let):
            return False
        if isinstance(n, E.Intrinsic) and not INTRINSICS[n.op].pure:
            return False
    return moving.isdisjoint(free_vars(e))


def _is_function(n: E.Div | E.Mod) -> bool:
    """Whether it is a function in C, with branches."""
    if not n.type.is_int():
        return False
    known = build.const_int(n.b)
    return known is None or known <= 0 or known & (known - 1) != 0


__all__ = ["hoisted"]
