"""Loops of lanes over bytes as loops over whole vectors, in C.

C compilers take as many lanes to a vector as there are of the narrowest type in the
loop, 64 bytes with AVX-512. What is left over they compute in one vector of half as
many, and then point by point. Where bytes are made of floats, one point takes as long
as 16 lanes do, and a row that begins and ends with a block of 16 has only points there.
So rows are divided into vectors here, of as many lanes as compilers are told. The last
vector ends with the row, and may overlap the one before: some lanes are computed twice,
which gives the same where they read nothing that lanes write.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.analysis.interval import constant_interval
from parhelion.codegen.c.joined import sum_of
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32

#: Lanes of a vector: as many bytes as there are at most, and as many floats.
WIDTHS = (64, 16)
#: The same at the ends of a row, which are short.
END_WIDTHS = WIDTHS[1:]


def blocked(
    loop: S.For, widths: Sequence[int] = WIDTHS
) -> list[tuple[Expr | None, S.For]]:
    """Loops that do what a loop of lanes (`loops.is_simd`) does: each after the
    condition under which it is the one, of which the last one has none. Empty if the
    loop is better as it is.

    ``for x in [a, a + n): f(x)`` becomes ``if (w <= n)`` for each of `widths`, from the
    largest one, ``for b in [0, (n - 1) / w]: for i in [0, w): f(min(b * w, n - w) + a
    + i)``, and otherwise a serial loop.
    """
    stored = {n.buffer for n in nodes(loop.body) if isinstance(n, S.Store)}
    read = {n.buffer for n in nodes(loop.body) if isinstance(n, E.Load)}
    if loop.var.type is not INT32 or not stored.isdisjoint(read):
        return []
    if min([b.type.width for b in stored | read]) > 8:
        return []
    least, most = constant_interval(loop.extent)
    found: list[tuple[Expr | None, S.For]] = []
    for width in widths:
        if most is not None and most < width:
            continue
        vectors = _vectors(loop, width)
        if least is not None and least >= width:
            return [*found, (None, vectors)]
        found.append((simplify(build.le(build.int32(width), loop.extent)), vectors))
    serial = S.For(loop.var, loop.min, loop.extent, ForKind.SERIAL, loop.body)
    return [*found, (None, serial)]


def _vectors(loop: S.For, width: int) -> S.For:
    """The loop over whole vectors, around one of their lanes."""
    one, lanes = build.int32(1), build.int32(width)
    count = build.add(build.div(sum_of(build.sub(loop.extent, one)), lanes), one)
    block, lane = Var(f"{loop.var.name}.block", INT32), Var("lane", INT32)
    within = build.minimum(
        build.mul(block, lanes), sum_of(build.sub(loop.extent, lanes))
    )
    first = Var(f"{loop.var.name}.first", INT32)
    here = S.LetStmt(loop.var, build.add(first, lane))
    vector = S.For(lane, build.int32(0), lanes, loop.kind, build.block(here, loop.body))
    begins = S.LetStmt(first, simplify(build.add(within, loop.min)))
    body = build.block(begins, vector)
    return S.For(block, build.int32(0), simplify(count), ForKind.SERIAL, body)


__all__ = ["END_WIDTHS", "WIDTHS", "blocked"]
