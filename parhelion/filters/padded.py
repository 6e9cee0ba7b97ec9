"""Images whose rows lie in memory with what a border puts on both of their ends.

A row is computed once, its ends are filled from its own pixels, and all that reads it
needs no condition: neither for vectors, nor for loops that would have to be cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang import boundary
from parhelion.lang.effects import undef
from parhelion.lang.expr import Expr, ExprLike, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp, select
from parhelion.lang.rdom import RDom
from parhelion.lang.ref import FuncRef
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var
from parhelion.whole.core import Whole, coordinate, moved

#: Makes values of the pixel that is so many rows below.
Column = Callable[[Callable[[int], Node]], Sequence[Node]]


@dataclass(frozen=True, slots=True)
class Source:
    """An image, and what a border puts around it.

    whole: (H, W * apart), whose pixels have `apart` elements side by side. border: a
    name of `hl.BoundaryConditions`. fill: the pixel outside of a constant one. reach:
    how many pixels are read on each side of one.
    """

    whole: Whole
    apart: int
    border: str
    fill: Node
    reach: int
    #: How many rows of the image lie from one row of `columns` to the next.
    step: int = 1
    #: The row of the image for each row of `columns`, if it is no such multiple.
    row: Node | None = None

    @property
    def is_constant(self) -> bool:
        return self.border == "constant_exterior"

    def columns(self, make: Column) -> Func:
        """Rows of what is made of the pixels above and below each one, continued on
        both ends as the border says. Values of several are a Tuple."""
        width = wrap(self.whole.extent(0))
        rows_of = _Rows(self)
        made = make(rows_of.pixel)
        rows = Func("rows")
        x, y = Var("x"), Var("y")
        rows[x, y] = _together([undef(node.type) for node in made])
        inside = RDom([(0, width)], "inside")
        to = {0: inside.x._node, 1: y._node}
        rows[inside.x, y] = _together([wrap(moved(node, to)) for node in made])
        if self.reach == 0:
            return rows
        beside = RDom([(0, self.reach * self.apart)], "beside")
        if self.is_constant:
            ends = [wrap(node) for node in make(lambda d: self.fill)]
            rows[beside.x - self.reach * self.apart, y] = _together(ends)
            rows[beside.x + width, y] = _together(ends)
            return rows
        pixels = width // self.apart
        k = Var("k")
        for name, place, first in (
            ("left", beside.x - self.reach * self.apart, wrap(int32(-self.reach))),
            ("right", beside.x + width, pixels),
        ):
            column = Func(name)
            found = _remapped(
                f"{name}_pixel", self.border, k // self.apart + first, pixels
            )
            column[k] = found * self.apart + k % self.apart
            from_ = rows[clamp(column[beside.x], 0, width - 1), y]
            rows[place, y] = _together([wrap(n) for n in values_of(from_)])
        return rows

    def rows(self) -> Func:
        """The rows themselves."""
        return self.columns(lambda pixel: [pixel(0)])


class _Rows:
    """The rows of an image, and what a border puts above and below them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.height = wrap(source.whole.extent(1))
        self.table: Func | None = None
        if source.border not in ("constant_exterior", "repeat_edge"):
            self.table = _table("row", source.border, self.height)

    def pixel(self, down: int) -> Node:
        """The pixel so many rows below each one."""
        source, last = self.source, self.height - 1
        row = source.row
        if row is None:
            row = build.mul(coordinate(1), int32(source.step))
        at = wrap(build.add(row, int32(down)))
        inside = clamp(at if self.table is None else self.table[at], 0, last)
        value = moved(source.whole.value, {1: inside._node})
        if source.is_constant:
            outside = (at < 0) | (at > last)
            return select(outside, wrap(source.fill), wrap(value))._node
        return value


def values_of(ref: FuncRef) -> list[Node]:
    """The values of a Func at a point."""
    return [ref._node] if len(ref) == 1 else [ref[i]._node for i in range(len(ref))]


def _together(values: Sequence[Expr]) -> Expr | Tuple:
    return Tuple(*values) if len(values) > 1 else values[0]


def _table(name: str, border: str, extent: Expr) -> Func:
    """The places inside of [0, extent) that a border takes for others: they are
    computed before all else."""
    n = Var("n")
    places = Func(f"{name}_inside")
    places[n] = n
    around: Func = getattr(boundary, border)(places, [(0, extent)])
    table = Func(name)
    table[n] = around[n]
    return table


def _remapped(name: str, border: str, at: ExprLike, extent: Expr) -> Expr:
    return wrap(_table(name, border, extent)[at]._node)


__all__ = ["Column", "Source", "values_of"]
