"""Bounds queries: what region of each buffer a call needs, as a program of its own.

A caller that leaves a buffer's pixels out (a null host) asks for its region, as in
Halide: every such buffer is told the least region that serves the others.
"""

from __future__ import annotations

from dataclasses import replace

from parhelion.ir.build import add, int32, sub
from parhelion.ir.pipeline import ArgKind, Argument, Lowered
from parhelion.ir.stmt import Block, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32


def query_of(lowered: Lowered, name: str) -> tuple[Lowered, dict[BufferSym, int]]:
    """A program that writes the regions that a call would need: the min and extent of
    each dimension, one after the other, into an array that is its last argument. With
    it, where in the array each buffer's numbers begin."""
    table = BufferSym("regions", INT32, 1, "output")
    stores: list[Stmt] = []
    places: dict[BufferSym, int] = {}
    for a in lowered.args:
        if not isinstance(a.symbol, BufferSym) or a.symbol.bound is not None:
            continue
        regions = (
            lowered.written if a.kind is ArgKind.OUTPUT else lowered.required
        ).get(a.symbol)
        places[a.symbol] = len(stores)
        if regions is None:
            # Of what nothing reads, no pixel is needed.
            for _ in a.symbol.dims:
                stores.append(Store(table, int32(0), int32(len(stores)), None))
                stores.append(Store(table, int32(0), int32(len(stores)), None))
            continue
        for r in regions:
            extent = add(sub(r.max, r.min), int32(1))
            stores.append(Store(table, r.min, int32(len(stores)), None))
            stores.append(Store(table, extent, int32(len(stores)), None))
    body = stores[0] if len(stores) == 1 else Block(tuple(stores))
    made = replace(
        lowered,
        name=name,
        args=(*lowered.args, Argument("regions", ArgKind.OUTPUT, table)),
        body=body,
    )
    return made, places


__all__ = ["query_of"]
