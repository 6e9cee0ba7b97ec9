"""Boxes: which coordinates of each Func and image an expression touches.

Both sides of a `select` are evaluated, so what either reads counts; only the *values*
that its sides can have are narrowed by its condition. What is guarded by a real branch
(the predicate of a reduction) is narrowed by the caller, with `narrow`.
"""

from __future__ import annotations

from collections.abc import Iterable

from parhelion.analysis.bounds import Bounds, Scope, SymInterval, Values
from parhelion.analysis.narrowing import Narrower
from parhelion.analysis.rank import reads_data
from parhelion.analysis.symbolic import join
from parhelion.errors import internal_assert
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Let
from parhelion.ir.function import Function
from parhelion.ir.rewrite import substitute
from parhelion.ir.symbols import BufferSym

#: One interval per dimension.
Box = tuple[SymInterval, ...]


def boxes_touched(
    exprs: Iterable[Expr], scope: Scope, values: Values | None = None
) -> dict[Function | BufferSym, Box]:
    """What of each Func and image the expressions read, all together, while the Vars
    of `scope` run over their intervals."""
    at = Bounds(scope, values)
    boxes: dict[Function | BufferSym, Box] = {}
    seen: set[Expr] = set()
    stack = list(exprs)
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if not reads_data(e):
            continue
        kind = type(e)
        if kind is FuncCall or kind is ImageLoad:
            read = e.func if kind is FuncCall else e.image  # type: ignore[attr-defined]
            box = tuple([at.of(a) for a in e.args])  # type: ignore[attr-defined]
            boxes[read] = union(boxes[read], box) if read in boxes else box
        if type(e) is Let:
            stack.append(e.value)
            stack.append(substitute(e.body, {e.var: e.value}))
        else:
            stack.extend(e.children())
    return boxes


def union(a: Box, b: Box) -> Box:
    """The smallest box around both."""
    internal_assert(len(a) == len(b), f"boxes of {len(a)} and {len(b)} dimensions")
    return tuple([join(x, y) for x, y in zip(a, b, strict=True)])


def narrow(scope: Scope, cond: Expr, values: Values | None = None) -> Scope:
    """`scope` where `cond` holds: the same object if it says nothing.

    The bounds of a Var may cross where the condition cannot hold.
    """
    narrower = Narrower(Bounds(scope, values))
    narrower.assume(cond)
    return narrower.scope


__all__ = ["Box", "SymInterval", "boxes_touched", "narrow", "union"]
