"""The parts of a Func that is computed on demand: tiles of a grid over its region.

A part has a row and a column: the column counts along the first dimension, the row
along all others, the second one fastest. The grid begins where the region does that is
needed of the Func where its storage begins, so that only the last part of a dimension
may be smaller than the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    add,
    block,
    conjunction,
    div,
    int32,
    le,
    lnot,
    minimum,
    mod,
    mul,
    sub,
)
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import For, ForKind, If, LetStmt, Stmt
from parhelion.lower.hulls import Region
from parhelion.lower.loops import Range
from parhelion.lower.sites import Site
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32

_ZERO, _ONE = int32(0), int32(1)


@dataclass(frozen=True, slots=True)
class Grid:
    """The parts of `func` over `region`.

    sizes: the extent of a part in each dimension; None for all of the region.
    counts: how many parts there are along each dimension. rows, columns: how many of
    each there are. row, col: of the part at hand, where one is computed.
    """

    func: Function
    region: Region
    sizes: tuple[Expr | None, ...]
    counts: tuple[Expr, ...]
    rows: Expr
    columns: Expr
    row: Var
    col: Var

    def part(self) -> Region:
        """The region of the part at hand."""
        left: Expr = self.row
        places: list[Expr] = [_ZERO] * len(self.region)
        cut = [d for d, size in enumerate(self.sizes) if size is not None]
        for d in cut:
            if d == 0:
                places[d] = self.col
            elif d == cut[-1]:
                places[d] = left
            else:
                places[d] = mod(left, self.counts[d])
                left = div(left, self.counts[d])
        return tuple([self._range(d, place) for d, place in enumerate(places)])

    def place(self, at: Sequence[Expr]) -> tuple[Expr, Expr]:
        """The row and the column of the part that a point is in."""
        row: Expr = _ZERO
        for d in range(len(self.region) - 1, 0, -1):
            if self.sizes[d] is not None:
                row = add(mul(row, self.counts[d]), self.step(d, at[d]))
        return row, self.step(0, at[0]) if self.region else _ZERO

    def span(self, d: int, box: Region) -> tuple[Expr, Expr]:
        """The first and the last part of dimension `d` that touch a box."""
        return simplify(self.step(d, box[d].lo)), simplify(self.step(d, box[d].hi))

    def is_within_one(self, box: Region) -> bool:
        """Whether it is sure that a box touches no more than one part."""
        cut = [d for d, size in enumerate(self.sizes) if size is not None]
        return all([first is last for first, last in [self.span(d, box) for d in cut]])

    def step(self, d: int, at: Expr) -> Expr:
        """Which part of dimension `d` a coordinate is in."""
        size = self.sizes[d]
        return _ZERO if size is None else div(sub(at, self.region[d].lo), size)

    def _range(self, d: int, place: Expr) -> Range:
        size, r = self.sizes[d], self.region[d]
        if size is None:
            return r
        lo = simplify(add(r.lo, mul(place, size)))
        last = simplify(add(lo, sub(size, _ONE)))
        return Range(lo, last if size is _ONE else simplify(minimum(last, r.hi)))


#: How many entries of the table are looked at together: for points side by side.
LOOKS = 32


def demanded_box(
    grid: Grid,
    box: Region,
    demand: Callable[[Expr, Expr], Stmt],
    begun: Callable[[Expr, Expr], Expr] | None = None,
) -> Stmt:
    """Demands of all parts that touch a box, each made by `demand` of its row and
    column. Points are asked for by whole vectors, the last of which is moved back.

    begun: whether some thread has begun a part; if given, rows whose first one is begun
    are left out.
    """
    f = grid.func
    cut = [d for d in range(1, len(box)) if grid.sizes[d] is not None]
    places = {
        d: Var(f"{f.name}.asked.{d}", INT32, lo=first, hi=last)
        for d in cut
        for first, last in [grid.span(d, box)]
    }
    row: Expr = _ZERO
    for d in reversed(cut):
        row = add(mul(row, grid.counts[d]), places[d])
    made = _columns(grid, box, lambda col: demand(row, col))
    if begun is not None:
        first = grid.span(0, box)[0] if box else _ZERO
        made = If(lnot(begun(row, first)), made, None)
    for d in cut:
        first, last = grid.span(d, box)
        extent = simplify(add(sub(last, first), _ONE))
        made = For(places[d], first, extent, ForKind.SERIAL, made)
    there = conjunction([le(r.lo, r.hi) for r in box])
    return If(there, made, None)


def _columns(grid: Grid, box: Region, demand: Callable[[Expr], Stmt]) -> Stmt:
    name = f"{grid.func.name}.asked"
    if not box or grid.sizes[0] is None:
        return demand(_ZERO)
    first, last = grid.span(0, box)
    extent = simplify(add(sub(last, first), _ONE))
    one = Var(name, INT32, lo=first, hi=last)
    each: Stmt = For(one, first, extent, ForKind.SERIAL, demand(one))
    if grid.func.schedule.tile:
        return each
    many = int32(LOOKS)
    looks = simplify(div(add(extent, int32(LOOKS - 1)), many))
    look = Var(f"{name}.look", INT32, lo=_ZERO, hi=sub(looks, _ONE))
    lane = Var(f"{name}.lane", INT32, lo=_ZERO, hi=int32(LOOKS - 1))
    start = minimum(add(first, mul(look, many)), sub(last, int32(LOOKS - 1)))
    begin = Var(f"{name}.first", INT32, value=start)
    lanes = For(lane, _ZERO, many, ForKind.VECTORIZED, demand(add(begin, lane)))
    whole = For(look, _ZERO, looks, ForKind.SERIAL, block(LetStmt(begin, start), lanes))
    return If(le(many, extent), whole, each)


def sizes_of(f: Function) -> list[int | None]:
    """The extent of a part in each dimension; None for all of it."""
    tile = f.schedule.tile
    if not tile:
        return [1] * f.dimensions
    return [*tile, *[None] * (f.dimensions - len(tile))]


def grid_of(f: Function, region: Region, site: Site) -> Grid:
    """The parts of `f` over the region that is needed of it, which is known at a site,
    whose names get those of how many there are."""
    sizes: list[Expr | None] = []
    counts: list[Expr] = []
    for d, (r, given) in enumerate(zip(region, sizes_of(f), strict=True)):
        size = None if given is None else int32(given)
        sizes.append(size)
        count: Expr = _ONE
        if size is not None:
            count = div(add(sub(r.hi, r.lo), size), size)
        counts.append(_named(f"{f.name}.parts.{d}", count, site))
    total: Expr = _ONE
    for count in counts[1:]:
        total = mul(total, count)
    rows = _named(f"{f.name}.rows", total, site)
    columns = counts[0] if counts else _ONE
    row = Var(f"{f.name}.row", INT32, lo=_ZERO, hi=simplify(sub(rows, _ONE)))
    col = Var(f"{f.name}.column", INT32, lo=_ZERO, hi=simplify(sub(columns, _ONE)))
    return Grid(f, region, tuple(sizes), tuple(counts), rows, columns, row, col)


def _named(name: str, e: Expr, site: Site) -> Expr:
    """`e`, or a name for it at a site."""
    e = simplify(e)
    if isinstance(e, Var) or not e.children():
        return e
    var = Var(name, INT32, value=e)
    site.lets.append(LetStmt(var, e))
    return var


__all__ = ["Grid", "demanded_box", "grid_of", "sizes_of"]
