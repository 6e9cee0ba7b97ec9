"""Bounds queries: what region of each buffer a call needs, as a program of its own.

A caller that leaves a buffer's pixels out (a null host) asks for its region, as in
Halide: every such buffer is told the least region that serves the others, or what is
promised of it.
"""

from __future__ import annotations

from dataclasses import replace

from parhelion.codegen.asked import answer, of_params
from parhelion.ir.build import cast, int32, maximum, mul, sub
from parhelion.ir.expr import Expr, Load
from parhelion.ir.pipeline import ArgKind, Argument, Lowered
from parhelion.ir.rewrite import substitute
from parhelion.ir.stmt import Block, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32

#: How many numbers are told of a dimension, and with them whether it fits.
NUMBERS, FITS = 4, 3


def query_of(lowered: Lowered, name: str) -> tuple[Lowered, dict[BufferSym, int]]:
    """A program that writes what a call would need: the min, extent and stride of each
    dimension, one after the other, and then whether what is promised of it holds all
    that is needed (else 0), into an array that is its last argument. With it, where in
    the array each buffer's numbers begin. It fails first where a number of the schedule
    is not what it must be."""
    table = BufferSym("regions", INT32, 1, "output")
    stores: list[Stmt] = [*of_params(lowered.demands)]
    places: dict[BufferSym, int] = {}

    def number(e: Expr, at: int) -> None:
        stores.append(Store(table, e, int32(at), None))

    def written(at: int) -> Expr:
        return Load(INT32, table, int32(at), None)

    for a in lowered.args:
        if not isinstance(a.symbol, BufferSym) or a.symbol.embedded:
            continue
        needed = lowered.written if a.kind is ArgKind.OUTPUT else lowered.required
        sides = answer(a.symbol, needed.get(a.symbol), lowered.assumptions)
        place = places[a.symbol] = NUMBERS * sum([len(b.dims) for b in places])
        for d, side in enumerate(sides):
            number(side.min, place + NUMBERS * d)
            number(side.extent, place + NUMBERS * d + 1)
            fits = int32(1) if side.fits is None else cast(INT32, side.fits)
            number(fits, place + NUMBERS * d + FITS)
        # The promised strides first, as others are dense over them.
        for d, side in sorted(enumerate(sides), key=lambda s: s[1].late):
            dense: Expr = int32(1)
            for below in side.below:
                at = place + NUMBERS * below
                one = written(at + 2)
                far = maximum(one, sub(int32(0), one))
                dense = maximum(dense, mul(far, written(at + 1)))
            stride = dense if side.stride is None else side.stride
            if side.own is not None:
                stride = substitute(stride, {side.own: dense})
            number(stride, place + NUMBERS * d + 2)
    body = stores[0] if len(stores) == 1 else Block(tuple(stores))
    made = replace(
        lowered,
        name=name,
        args=(*lowered.args, Argument("regions", ArgKind.OUTPUT, table)),
        body=body,
    )
    return made, places


__all__ = ["FITS", "NUMBERS", "query_of"]
