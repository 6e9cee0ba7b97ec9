"""Boxes: which coordinates of each Func and image an expression touches.

Both sides of a `select` are evaluated, so what either reads counts; only the *values*
that its sides can have are narrowed by its condition. A read marked `guarded` happens
only where its condition holds, and is narrowed by it (see `lower.guards`). What is
guarded by a real branch (the predicate of a reduction) is narrowed by the caller, with
`narrow`.

Where nothing can be evaluated, because the scope or a condition leaves no values,
nothing is read: no image, and of Funcs an empty box, for they are there all the same.
Other boxes do not grow to hold one that is empty.
"""

from __future__ import annotations

from collections.abc import Iterable

from parhelion.analysis.bounds import Bounds, Scope, SymInterval, Values
from parhelion.analysis.narrowing import Narrower
from parhelion.analysis.rank import reads_data
from parhelion.analysis.symbolic import is_empty, join, shifted
from parhelion.errors import internal_assert
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Let
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
    nowhere = any(map(is_empty, scope.values()))
    boxes: dict[Function | BufferSym, _Hull] = {}
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
        if isinstance(e, Intrinsic) and e.op == "guarded":
            pixel, cond = e.args
            found = _guarded(pixel, cond, at)
            if found is not None:
                boxes.setdefault(found[0], _Hull()).add(found[1])
            # The pixel itself has been seen to, where nobody else reads it.
            stack.append(cond)
            stack.extend(pixel.children())
            continue
        if kind is FuncCall or kind is ImageLoad and not nowhere:
            read = e.func if kind is FuncCall else e.image  # type: ignore[attr-defined]
            box = tuple([at.of(a) for a in e.args])  # type: ignore[attr-defined]
            boxes.setdefault(read, _Hull()).add(_emptied(box) if nowhere else box)
        if type(e) is Let:
            stack.append(e.value)
            stack.append(substitute(e.body, {e.var: e.value}))
        else:
            stack.extend(e.children())
    return {read: hull.box for read, hull in boxes.items()}


class _Hull:
    """The smallest box around others.

    A stencil of stencils reads few intervals of coordinates in many ways: each is
    joined once.
    """

    __slots__ = ("box", "joined")

    def __init__(self) -> None:
        self.box: Box = ()
        self.joined: list[set[SymInterval]] = []

    def add(self, box: Box) -> None:
        if not self.joined or holds_nothing(self.box):
            self.box, self.joined = box, [{i} for i in box]
            return
        new = [i not in one for i, one in zip(box, self.joined, strict=True)]
        if not any(new) or holds_nothing(box):
            return
        sides = zip(self.box, box, new, strict=True)
        self.box = tuple([join(old, i) if yes else old for old, i, yes in sides])
        for i, one in zip(box, self.joined, strict=True):
            one.add(i)


def _guarded(
    pixel: Expr, cond: Expr, at: Bounds
) -> tuple[Function | BufferSym, Box] | None:
    """What a read touches where `cond` holds; None for an image that it never does."""
    internal_assert(
        isinstance(pixel, FuncCall | ImageLoad), f"a guard around {pixel!r}"
    )
    assert isinstance(pixel, FuncCall | ImageLoad)
    narrower = Narrower(at)
    narrower.assume(cond)
    box = tuple([narrower.at.of(a) for a in pixel.args])
    if isinstance(pixel, ImageLoad):
        return None if narrower.contradiction else (pixel.image, box)
    return pixel.func, _emptied(box) if narrower.contradiction else box


def _emptied(box: Box) -> Box:
    """Nothing, at the place of `box`."""
    return tuple([SymInterval(i.lo, _before(i.lo)) for i in box])


def _before(lo: Expr | None) -> Expr | None:
    return None if lo is None else shifted(lo, -1)


def union(a: Box, b: Box) -> Box:
    """The smallest box around what is in either."""
    internal_assert(len(a) == len(b), f"boxes of {len(a)} and {len(b)} dimensions")
    if holds_nothing(a):
        return b
    if holds_nothing(b):
        return a
    return tuple([join(x, y) for x, y in zip(a, b, strict=True)])


def holds_nothing(box: Box) -> bool:
    """Whether a box certainly has no points."""
    return any(map(is_empty, box))


def narrow(scope: Scope, cond: Expr, values: Values | None = None) -> Scope:
    """`scope` where `cond` holds: the same object if it says nothing.

    The bounds of a Var may cross where the condition cannot hold.
    """
    narrower = Narrower(Bounds(scope, values))
    narrower.assume(cond)
    return narrower.scope


__all__ = ["Box", "SymInterval", "boxes_touched", "holds_nothing", "narrow", "union"]
