"""Loops over blocks of lanes as one loop over points, in C.

A split whose inner loop is vectorised is a loop over blocks around one of, say, 16
lanes, of which machine code makes vectors. C compilers take vectors of their own
choice, and of each block they compute by itself what is left over of them: what reads
every second pixel has no vector at the end of a loop, as that would read beyond the
last one. In one loop along the whole row that happens once.
"""

from __future__ import annotations

from parhelion.analysis.linear import built, linear
from parhelion.codegen.c.limits import ends
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import ForKind
from parhelion.lower.instantiate import instantiate
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32


def joined(loop: S.For) -> S.For | None:
    """A serial loop over blocks, whose body is nothing but names and a loop of lanes,
    as the loop of the lanes of all blocks; None if it is another loop.

    ``for x in [a, b): for i in [0, n): f(x * n + i)`` becomes
    ``for i in [a * n, b * n): f(i)``.
    """
    if loop.kind is not ForKind.SERIAL or loop.var.type is not INT32:
        return None
    *names, last = loop.body.items if isinstance(loop.body, S.Block) else (loop.body,)
    if not isinstance(last, S.For) or last.kind is not ForKind.VECTORIZED:
        return None
    lanes = build.const_int(last.extent)
    if lanes is None or build.const_int(last.min) != 0:
        return None
    env: dict[Var, Expr] = {}
    for one in names:
        if not isinstance(one, S.LetStmt) or not _is_plain(one.value):
            return None
        env[one.var] = substitute(one.value, env)
    first = build.mul(loop.var, build.int32(lanes))
    found, then = ends(last)
    limits = [substitute(end, env) for end in found]
    for end in limits:
        if _mentions(built(linear(build.add(first, end)), INT32), loop.var):
            return None
    point = Var(loop.var.name, INT32)
    env[last.var] = build.sub(point, first)
    body = simplify(instantiate(then, env))
    if _mentions(body, loop.var):
        return None
    # Where the last block ends: where a whole one would end may be no int.
    after = build.add(loop.min, loop.extent)
    at = {loop.var: sum_of(build.sub(after, build.int32(1)))}
    size: Expr = build.int32(lanes)
    for end in limits:
        size = build.minimum(size, substitute(end, at))
    low = build.mul(loop.min, build.int32(lanes))
    high = sum_of(build.add(substitute(first, at), size))
    return S.For(point, low, build.sub(high, low), ForKind.VECTORIZED, body)


def sum_of(e: Expr) -> Expr:
    """A sum of int32, without what it adds and subtracts again."""
    found = built(linear(e), INT32)
    return e if found is None else found


def _is_plain(e: Expr) -> bool:
    """Whether a name's value may be computed elsewhere."""
    for n in nodes(e):
        if isinstance(n, E.Load | E.Extern | E.Let):
            return False
        if isinstance(n, E.Intrinsic) and not INTRINSICS[n.op].pure:
            return False
    return True


def _mentions(n: Expr | S.Stmt | None, v: Var) -> bool:
    if n is None:
        return True
    if isinstance(n, Expr):
        return v in free_vars(n)
    return any([one is v for one in nodes(n)])


__all__ = ["joined", "sum_of"]
