"""What is promised of images, outputs and Params, and which of them code mentions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parhelion.ir.expr import Expr, ImageLoad, Load, Var
from parhelion.ir.node import Node
from parhelion.ir.symbols import BufferSym, DimSym, ParamSym, known

Symbol = BufferSym | ParamSym


@dataclass(frozen=True, slots=True)
class Promise:
    """What is promised of one dimension of a buffer; None where nothing is."""

    min: Expr | None
    extent: Expr | None
    stride: Expr | None

    @staticmethod
    def of(dim: DimSym) -> Promise:
        """What the user has promised."""
        return Promise(dim.fixed_min, dim.fixed_extent, dim.fixed_stride)


@dataclass(frozen=True, slots=True, eq=False)
class Assumptions:
    """What one compilation assumes of the arguments: what the user has promised, and
    of the dimensions of `instead` what is said there."""

    instead: Mapping[DimSym, Promise] = field(default_factory=dict)

    def of(self, dim: DimSym) -> Promise:
        """What is promised of a dimension."""
        found = self.instead.get(dim)
        return Promise.of(dim) if found is None else found

    def min(self, dim: DimSym) -> Expr:
        """The constant that is promised (and is checked), else the run-time value."""
        return known(self.of(dim).min, dim.min)

    def extent(self, dim: DimSym) -> Expr:
        """As `min`."""
        return known(self.of(dim).extent, dim.extent)

    def stride(self, dim: DimSym) -> Expr:
        """As `min`."""
        return known(self.of(dim).stride, dim.stride)

    def of_symbol(self, symbol: Symbol) -> list[Expr | None]:
        """The range of a Param; the min, extent and stride of each dimension of a
        buffer. None where nothing is promised."""
        if isinstance(symbol, ParamSym):
            return [symbol.lo, symbol.hi]
        sides: list[Expr | None] = []
        for d in symbol.dims:
            promise = self.of(d)
            sides += (promise.min, promise.extent, promise.stride)
        return sides


#: What the user has promised, and nothing else.
STANDING = Assumptions()


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


__all__ = ["STANDING", "Assumptions", "Promise", "Symbol", "symbol_of"]
