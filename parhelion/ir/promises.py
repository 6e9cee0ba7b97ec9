"""What is promised of images, outputs and Params, and which of them code mentions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from parhelion.dataclass import dataclass
from parhelion.ir.expr import Expr, ImageLoad, Load, Var
from parhelion.ir.node import Node
from parhelion.ir.rewrite import nodes
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
        """What the user promises now."""
        return Promise(dim.fixed_min, dim.fixed_extent, dim.fixed_stride)


#: The range of a Param; None where it is open.
Bounds = tuple[Expr | None, Expr | None]


@dataclass(frozen=True, slots=True, eq=False)
class Assumptions:
    """What one compilation assumes of its arguments: of each dimension of its images
    and outputs, and of each Param."""

    dims: Mapping[DimSym, Promise]
    params: Mapping[ParamSym, Bounds]

    @staticmethod
    def now(symbols: Iterable[Symbol]) -> Assumptions:
        """What the user promises now of the symbols, and of those that these promises
        mention in turn."""
        dims: dict[DimSym, Promise] = {}
        params: dict[ParamSym, Bounds] = {}
        found = dict.fromkeys(symbols)
        waiting = list(found)
        while waiting:
            symbol = waiting.pop()
            if isinstance(symbol, ParamSym):
                params[symbol] = (symbol.lo, symbol.hi)
            else:
                dims |= {d: Promise.of(d) for d in symbol.dims}
            for e in promises(symbol):
                new = {} if e is None else mentioned(e)
                waiting += [s for s in new if s not in found]
                found |= new
        return Assumptions(dims, params)

    def but(self, instead: Mapping[DimSym, Promise]) -> Assumptions:
        """The same, with other promises of some dimensions."""
        return replace(self, dims={**self.dims, **instead}) if instead else self

    def also(self, symbols: Iterable[Symbol]) -> Assumptions:
        """The same, and what the user promises now of other symbols."""
        others = Assumptions.now(symbols)
        dims, params = {**others.dims, **self.dims}, {**others.params, **self.params}
        return replace(self, dims=dims, params=params)

    def min(self, dim: DimSym) -> Expr:
        """The constant that is promised (and is checked), else the run-time value."""
        return known(self.dims[dim].min, dim.min)

    def extent(self, dim: DimSym) -> Expr:
        """As `min`."""
        return known(self.dims[dim].extent, dim.extent)

    def stride(self, dim: DimSym) -> Expr:
        """As `min`."""
        return known(self.dims[dim].stride, dim.stride)

    def of(self, symbol: Symbol) -> list[Expr | None]:
        """The range of a Param; the min, extent and stride of each dimension of a
        buffer. None where nothing is promised."""
        if isinstance(symbol, ParamSym):
            return list(self.params[symbol])
        return _sides([self.dims[d] for d in symbol.dims])


#: What is assumed of a program without arguments.
NOTHING = Assumptions({}, {})


def promises(symbol: Symbol) -> list[Expr | None]:
    """What the user promises now, as `Assumptions.of` tells it."""
    if isinstance(symbol, ParamSym):
        return [symbol.lo, symbol.hi]
    return _sides([Promise.of(d) for d in symbol.dims])


def _sides(dims: Iterable[Promise]) -> list[Expr | None]:
    return [side for p in dims for side in (p.min, p.extent, p.stride)]


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


def mentioned(*roots: Node) -> dict[Symbol, None]:
    """All that the nodes of trees refer to, in order of first appearance."""
    return {s: None for n in nodes(*roots) if (s := symbol_of(n)) is not None}


__all__ = [
    "NOTHING",
    "Assumptions",
    "Bounds",
    "Promise",
    "Symbol",
    "mentioned",
    "promises",
    "symbol_of",
]
