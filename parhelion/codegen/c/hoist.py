"""What a loop computes the same in each iteration, computed before it in C.

The functions that stand for quotients and remainders have branches, which C compilers
do not move out of a loop, and with which they do not vectorise it. Rows of folded
storage are counted by such remainders. They go out of all loops that they stand in,
other than those of threads and of branches: one takes longer than a vector of pixels.

So do values that math functions or quotients of floats make of what stays the same, as
``1 - pow(2, contrast)``. C's compilers put the functions in place and make choices of
their branches, by a condition that is no vector's: gcc 12 then vectorises nothing of
the loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import ForKind
from parhelion.lower.instantiate import instantiate

#: Functions of floats that have branches or many operations.
_FUNCTIONS = frozenset(
    ("exp", "log", "pow", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh")
    + ("cosh", "tanh", "asinh", "acosh", "atanh", "erf", "fast_exp", "fast_log")
    + ("fast_pow", "fast_sin", "fast_cos")
)
#: Loops that names leave.
_WITHIN = (ForKind.SERIAL, ForKind.VECTORIZED)


def hoisted(loop: S.For) -> tuple[tuple[S.LetStmt, ...], S.For]:
    """The names to be given before a loop, and the loop with them."""
    before, rest = _risen(loop.body, {loop.var})
    return before, S.For(loop.var, loop.min, loop.extent, loop.kind, rest)


def _risen(body: S.Stmt, moving: set[Var]) -> tuple[tuple[S.LetStmt, ...], S.Stmt]:
    """The names to be given before a statement that is run again and again, and it with
    them. moving: what differs each time. A branch's go too: they have no effects."""
    items: list[S.Stmt] = []
    for item in body.items if isinstance(body, S.Block) else (body,):
        names: tuple[S.LetStmt, ...] = ()
        if isinstance(item, S.For) and item.kind in _WITHIN:
            names, item = hoisted(item)
        elif isinstance(item, S.If) and item.otherwise is None:
            names, inside = _risen(item.then, moving)
            item = S.If(item.cond, inside, None)
        items += [*names, item]
    before: list[S.LetStmt] = []
    kept: list[S.Stmt] = []
    moving = moving | {n.var for n in nodes(body) if isinstance(n, E.Let)}
    for item in items:
        if isinstance(item, S.LetStmt) and _stands(item.value, moving):
            before.append(item)
            continue
        moving |= {n.var for n in nodes(item) if isinstance(n, S.LetStmt | S.For)}
        kept.append(item)
    named: dict[Expr, Var] = {}
    for item in kept:
        if isinstance(item, S.LetStmt | S.Store):
            for n in nodes(item):
                if not isinstance(n, E.Div | E.Mod) or n in named:
                    continue
                if _is_function(n) and _stands(n, moving):
                    made = Var("row", n.type)
                    named[n] = made
                    before.append(S.LetStmt(made, n))
            for n in _factors(item.value, moving):
                if n not in named:
                    named[n] = Var("factor", n.type)
                    before.append(S.LetStmt(named[n], n))
    rest = instantiate(build.block(*kept), {}, dict(named))
    return tuple(before), rest


def _factors(value: Expr, moving: set[Var]) -> Iterator[Expr]:
    """The largest floats in a value that are the same in each iteration, and that a
    function or a division is needed for."""
    stack: list[Expr] = [value]
    seen: set[Expr] = set()
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if e.type.is_float() and any([_is_slow(n) for n in nodes(e)]):
            if _stands(e, moving):
                yield e
                continue
        # What is rounded operation by operation stays together.
        if isinstance(e, E.Intrinsic) and e.op == "strict_float":
            continue
        stack += [c for c in e.children() if isinstance(c, Expr)]


def _is_slow(n: Node) -> bool:
    """Whether it is a division of floats, or a function of one that is no instruction
    everywhere."""
    if isinstance(n, E.Div):
        return n.type.is_float()
    return isinstance(n, E.Intrinsic) and n.op in _FUNCTIONS


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
