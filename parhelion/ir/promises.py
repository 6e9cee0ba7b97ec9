"""What is promised of images, outputs and Params, and which of them code mentions."""

from __future__ import annotations

from parhelion.ir.expr import Expr, ImageLoad, Load, Var
from parhelion.ir.node import Node
from parhelion.ir.symbols import BufferSym, ParamSym

Symbol = BufferSym | ParamSym


def promised(symbol: Symbol) -> list[Expr | None]:
    """The range of a Param; the min, extent and stride of each dimension of a buffer.
    None where nothing is promised."""
    if isinstance(symbol, ParamSym):
        return [symbol.lo, symbol.hi]
    sides: list[Expr | None] = []
    for d in symbol.dims:
        sides += (d.fixed_min, d.fixed_extent, d.fixed_stride)
    return sides


def symbol_of(n: Node) -> Symbol | None:
    """The Param, or the image or output of a caller's, that one node refers to; not the
    storage of Funcs."""
    if isinstance(n, ImageLoad):
        return n.image
    if isinstance(n, Load):
        return n.buffer if n.buffer.role != "internal" else None
    if isinstance(n, Var):
        origin = n.origin
        if isinstance(origin, ParamSym):
            return origin
        if isinstance(origin, tuple) and origin[0].role != "internal":
            owner: BufferSym = origin[0]
            return owner
    return None


__all__ = ["Symbol", "promised", "symbol_of"]
