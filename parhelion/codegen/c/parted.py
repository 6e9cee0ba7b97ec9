"""Loops of lanes without the conditions that are the same for all lanes, in C.

The last rows of a block of rows have a guard each, which stands in the loop along them.
C compilers make masks of it, for every load and store, where one branch would do.
"""

from __future__ import annotations

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars, nodes


def parted(loop: S.For) -> S.Stmt:
    """A loop of lanes (`loops.is_simd`) as branches around loops, one for each branch
    in its body that does not depend on the lane, and for what stands between two.

    No lane reads what another one stores, so that all of them may do the first part
    before any does the second. Names that several parts need are there in each.
    """
    items = loop.body.items if isinstance(loop.body, S.Block) else (loop.body,)
    names: list[S.LetStmt] = []
    moving: set[Var] = {loop.var}
    found: list[S.If | list[S.Stmt]] = []
    for item in items:
        if isinstance(item, S.LetStmt):
            names.append(item)
            moving.add(item.var)
        elif isinstance(item, S.If) and _stands(item.cond, moving):
            found.append(item)
        elif found and isinstance(found[-1], list):
            found[-1].append(item)
        else:
            found.append([item])
    if not any([isinstance(part, S.If) for part in found]):
        return loop
    stored = {n.buffer for n in nodes(loop.body) if isinstance(n, S.Store)}
    if any([n.buffer in stored for n in _loads(*names)]):
        return loop

    def along(*body: S.Stmt) -> S.For:
        inside = build.block(*names, *body)
        return S.For(loop.var, loop.min, loop.extent, loop.kind, inside)

    parts: list[S.Stmt] = []
    for part in found:
        if isinstance(part, S.If):
            otherwise = None if part.otherwise is None else along(part.otherwise)
            parts.append(S.If(part.cond, along(part.then), otherwise))
        else:
            parts.append(along(*part))
    return build.block(*parts)


def _loads(*roots: S.Stmt | Expr) -> list[E.Load]:
    return [n for n in nodes(*roots) if isinstance(n, E.Load)]


def _stands(e: Expr, moving: set[Var]) -> bool:
    """Whether a condition is the same for all lanes, and none of them changes it."""
    return moving.isdisjoint(free_vars(e)) and not _loads(e)


__all__ = ["parted"]
