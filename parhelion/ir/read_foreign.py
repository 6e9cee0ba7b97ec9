"""Reads the statements of foreign stages; a part of `ir.reader`."""

from __future__ import annotations

from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.line import Line
from parhelion.ir.symbols import BufferSym


def provide(line: Line) -> S.Stmt:
    """What follows ``extern``."""
    func = line.func(line.name())
    line.need("(")
    at = line.list(")")
    line.need("as")
    line.need("(")
    region = line.box()
    line.need("from")
    line.need("(")
    scalars: list[Expr] = []
    sources: list[Expr] = []
    boxes: list[tuple[Expr, Expr]] = []
    while not line.take(")"):
        given = line.expr()
        if line.take("as"):
            line.need("(")
            sources.append(given)
            boxes += line.box()
        else:
            scalars.append(given)
        line.take(",")
    line.end()
    return S.ProvideExtern(
        func, region, at, tuple(scalars), tuple(sources), tuple(boxes)
    )


def run(line: Line) -> S.Stmt:
    """What follows ``run``."""
    func = line.func(line.name())
    scalars: list[Expr] = []
    sides: tuple[list[BufferSym], list[BufferSym]] = ([], [])
    places: list[Expr] = []
    shapes: list[Expr] = []
    for side, buffers in enumerate(sides):
        if side == 1:
            line.need("into")
        line.need("(")
        while not line.take(")"):
            given = line.expr()
            if not line.take("as"):
                scalars.append(given)
            else:
                if type(given) is not E.Load:
                    line.fail("a buffer should be here")
                buffers.append(given.buffer)
                places.append(given.index)
                line.need("(")
                while line.take("["):
                    shapes += line.exactly(3, "]")
                    line.take(",")
                line.need(")")
            line.take(",")
    line.end()
    return S.RunExtern(
        func,
        tuple(scalars),
        tuple(sides[0]),
        tuple(sides[1]),
        tuple(places),
        tuple(shapes),
    )


__all__ = ["provide", "run"]
