"""How filters in tiles are computed by default (2015 paper, section 7).

What is computed within a tile is kept while the tile is; tiles run in parallel. Scans
are innermost, with vectors across another dimension, in whose direction a stage is
dense. The stages are ordinary Funcs, so that all of it is done by directives.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.lang.expr import Expr
from parhelion.lang.func import Func
from parhelion.lang.var import Var
from parhelion.recfilter.by_tags import ByTags
from parhelion.recfilter.dims import Dim, RecFilterDim, another
from parhelion.recfilter.directives import INTER, INTRA, RESIDUAL
from parhelion.recfilter.schedules import (
    across,
    in_blocks,
    in_parallel,
    is_dense,
    lanes,
    strip_of,
    strips_of,
    tail_of,
)
from parhelion.recfilter.stages import (
    LAST_TILE,
    across_tiles,
    residual,
    within_tiles,
)
from parhelion.recfilter.tiling import Axis, Residual, Run, Tiles
from parhelion.recfilter.walks import Walk, schedule_walk
from parhelion.schedule.directives import TailStrategy
from parhelion.types import Type


def schedule_tiles(
    tiles: Tiles, out: Func, dims: Sequence[RecFilterDim], t: Type, by_tags: ByTags
) -> None:
    """Schedules filters in tiles, but for the stages that the user's directives are
    for. out: what reads the last stage, over `dims`."""
    if by_tags.takes(INTRA):
        by_tags.add(within_tiles(tiles, out, dims))
    elif len(tiles.axes) > 1:
        _Joint(tiles, out, dims, t).within_tiles()
    else:
        _single(tiles, out, dims, t)
    for one in tiles.residuals:
        if by_tags.takes(RESIDUAL):
            by_tags.add(residual(tiles, one, dims))
        else:
            _Joint(tiles, out, dims, t).residual(one)
    for g, axis in enumerate(tiles.axes):
        if by_tags.takes(INTER):
            by_tags.add(across_tiles(tiles, dims, g))
        elif len(tiles.axes) > 1:
            _Joint(tiles, out, dims, t).completion(g)
        else:
            _completion(tiles, axis, across(dims, axis.position, t), t)


def _single(tiles: Tiles, out: Func, dims: Sequence[RecFilterDim], t: Type) -> None:
    """The stages within tiles along one dimension."""
    axis = tiles.axes[0]
    v = across(dims, axis.position, t)
    dense = v is not None and is_dense(dims, v, axis.position)
    _first_pass(tiles, axis, v, dense, t)
    _last_pass(tiles, axis, out, dims[axis.position], v, dense, t)


# Tiles along one dimension.


def schedule_first_passes(tiles: Tiles, v: Dim | None, dense: bool, t: Type) -> None:
    """Schedules tails and their completion.

    v: the dimension of vectors; None for that of tiles. dense: whether points lie side
    by side along it.
    """
    axis = tiles.axes[0]
    _first_pass(tiles, axis, v, dense, t)
    _completion(tiles, axis, v, t)


def schedule_within(
    f: Func, walks: Sequence[Walk], tiles: Tiles, v: Var, dense: bool, n: int
) -> None:
    """Schedules a stage within tiles: vectors across `v`, where points lie side by side
    if `dense`."""
    axis = tiles.axes[0]
    rest = [d for d in (*tiles.others, axis.outer) if d is not v]
    for one in walks:
        schedule_walk(f, one, v, rest, n, across_tiles=v is axis.outer)
    if not dense:
        f.reorder_storage(v, axis.inner, *rest)


def _first_pass(tiles: Tiles, axis: Axis, v: Dim | None, dense: bool, t: Type) -> None:
    """Tails, each tile computed and left again but for them."""
    run = tiles.intra[0]
    tails, q, n = run.tails, axis.slots, lanes(t)
    assert tails is not None
    tails.compute_root().bound(q, 0, axis.starts[-1])
    if v is None:
        strips, inside = strips_of(tails, axis.outer)
        tails.split(axis.outer, strips, inside, n, tail_of(n, axis.count))
        tails.reorder(inside, q, *tiles.others, strips).parallel(strips)
    else:
        strips, inside = strips_of(tails, v)
        size = strip_of(dense, axis.width, t, v.extent)
        tails.split(v, strips, inside, size, tail_of(size, v.extent))
        rest = [d for d in tiles.others if d is not v]
        tails.reorder(inside, q, strips, *rest, axis.outer).parallel(axis.outer)
    tails.vectorize(inside, n).unroll(q)
    for f, walks in zip(run.stages, run.walks, strict=True):
        f.compute_at(tails, strips)
        schedule_within(f, walks, tiles, axis.outer if v is None else v, dense, n)


def _completion(tiles: Tiles, axis: Axis, v: Dim | None, t: Type) -> None:
    f, q, n = tiles.completed[0], axis.slots, lanes(t)
    f.compute_root()
    if v is None:
        return
    rest = [d for d in tiles.others if d is not v]
    f.reorder(v, q, *rest, axis.outer).vectorize(v, n, tail_of(n, v.extent))
    f.parallel(axis.outer)
    for k, r in enumerate(tiles.domains[0]):
        strips, inside = strips_of(f, v)
        stage = f.update(k).split(v, strips, inside, max(n, strip_of(True, 1, t)))
        stage.reorder(inside, r.x, r.y, strips, *rest).vectorize(inside, n)
        in_parallel(stage, strips, rest)


def _last_pass(
    tiles: Tiles,
    axis: Axis,
    out: Func,
    scanned: RecFilterDim,
    v: RecFilterDim | None,
    dense: bool,
    t: Type,
) -> None:
    n = lanes(t)
    outer, inner = [another(out.args(), scanned, suffix) for suffix in "oi"]
    out.split(scanned, outer, inner, axis.width, LAST_TILE)
    if v is None:
        strips, inside = strips_of(out, outer, inner)
        out.split(outer, strips, inside, n, tail_of(n, axis.count))
        order = _turned(out, inner, inside, axis.width, n)
        out.reorder(*order, *tiles.others, strips).parallel(strips)
    else:
        rest = [d for d in tiles.others if d is not v]
        strips, inside = strips_of(out, v, outer, inner)
        size = strip_of(dense, axis.width, t, v.extent)
        out.split(v, strips, inside, size, tail_of(size, v.extent))
        if dense:
            out.reorder(inside, inner, strips, outer, *rest).vectorize(inside, n)
            in_parallel(out, outer, rest)
        else:
            order = _turned(out, inner, inside, axis.width, n)
            out.reorder(*order, outer, strips, *rest)
            in_parallel(out, strips, rest)
            strips = outer
    run = tiles.final[0]
    for f, walks in zip(run.stages, run.walks, strict=True):
        f.compute_at(out, strips)
        if v is None and isinstance(axis.count, int) and axis.count >= n:
            # A strip always has n tiles, as the last one begins further in. The
            # compiler cannot prove it, and would add code for strips of fewer tiles.
            f.bound_extent(axis.outer, n)
        schedule_within(f, walks, tiles, axis.outer if v is None else v, dense, n)


def _turned(out: Func, inner: Var, line: Var, width: int, n: int) -> list[Var]:
    """The loops of what is written along tiles, several lines at a time."""
    if width < n:
        out.vectorize(inner, width)
        return [inner, line]
    return in_blocks(out, inner, line, n, tail_of(n, width))


# Tiles along several dimensions.


class _Joint:
    """Schedules filters of several dimensions in the same tiles."""

    def __init__(
        self, tiles: Tiles, out: Func, dims: Sequence[RecFilterDim], t: Type
    ) -> None:
        self.tiles, self.out, self.dims = tiles, out, dims
        self.lanes = lanes(t)
        self.axes = sorted(tiles.axes, key=lambda a: a.position)
        self.outers = [a.outer for a in self.axes]

    def within_tiles(self) -> None:
        self._first_pass()
        self._last_pass()

    def _vectors(self, a: Axis) -> Var:
        """The dimension across which scans along an axis have their vectors."""
        return next(b.inner for b in self.axes if b is not a)

    def _tail(self, v: Var) -> TailStrategy:
        """How vectors across a dimension end, within tiles or of them."""
        sizes: list[tuple[Var, int | Expr]]
        sizes = [(a.inner, a.width) for a in self.axes]
        sizes += [(a.outer, a.count) for a in self.axes]
        return tail_of(self.lanes, next(n for one, n in sizes if one is v))

    def _order(self, first: Sequence[Var], f: Func) -> list[Var]:
        """The loops of a stage: those given, the rest within tiles, the tiles, and
        what is in no tiles."""
        last = [*self.outers, *self.tiles.others]
        inside = [v for v in f.args() if not _among(v, [*first, *last])]
        return [*first, *inside, *[v for v in last if not _among(v, first)]]

    def _stages(self, run: Run, v: Var) -> None:
        """Stages of an axis within tiles, vectors across `v`."""
        inner = run.axis.inner
        for f, walks in zip(run.stages, run.walks, strict=True):
            order = self._order([v, inner], f)
            f.reorder_storage(*order)
            for one in walks:
                schedule_walk(f, one, v, order[2:], self.lanes)

    def _first_pass(self) -> None:
        """All tails of a tile, then the next tile."""
        runs = self.tiles.intra
        lead = runs[-1].tails
        assert lead is not None
        for run in runs:
            tails, v = run.tails, self._vectors(run.axis)
            assert tails is not None
            q = run.axis.slots
            tails.compute_root().bound(q, 0, run.axis.starts[-1])
            tails.reorder(*self._order([v, q], tails))
            tails.vectorize(v, self.lanes, self._tail(v))
            in_parallel(tails.unroll(q), self.outers[-1], self.tiles.others)
            if tails is not lead:
                tails.compute_with(lead, self.outers[0])
            self._stages(run, v)
            for f in run.stages:
                f.compute_at(lead, self.outers[0])

    def residual(self, residual: Residual) -> None:
        """Vectors across tiles: there are few tails in one."""
        e = residual.first
        for run in residual.runs:
            tails, q = run.tails, run.axis.slots
            assert tails is not None
            for axis in (e, run.axis):
                tails.bound(axis.slots, 0, axis.starts[-1])
            tails.compute_root()
            tails.reorder(*self._order([e.outer, q, e.slots], tails))
            tails.vectorize(e.outer, self.lanes, self._tail(e.outer))
            in_parallel(tails, self._other(e), self.tiles.others)
            self._stages(run, e.outer)
            last = run is residual.runs[-1]
            for f in run.stages:
                if last:
                    f.compute_at(tails, self._other(e))
                else:
                    in_parallel(f.compute_root(), self._other(e), self.tiles.others)

    def _other(self, a: Axis) -> Var:
        """The outermost loop of tiles, other than those along an axis."""
        return [v for v in self.outers if v is not a.outer][-1]

    def completion(self, g: int) -> None:
        a, f = self.tiles.axes[g], self.tiles.completed[g]
        v = self._vectors(a)
        f.compute_root().reorder(*self._order([v, a.slots], f))
        f.vectorize(v, self.lanes, self._tail(v))
        in_parallel(f, self.outers[-1], self.tiles.others)
        for k, r in enumerate(self.tiles.domains[g]):
            order = self._order([v, a.slots, a.outer], f)[3:]
            stage = f.update(k).reorder(v, r.x, r.y, *order)
            stage.vectorize(v, self.lanes)
            in_parallel(stage, self._other(a), self.tiles.others)

    def _last_pass(self) -> None:
        out, first = self.out, self.axes[0]
        inners: list[Var] = []
        outers: list[Var] = []
        for a in self.axes:
            d = self.dims[a.position]
            among = [*out.args(), *inners, *outers]
            outer, inner = [another(among, d, suffix) for suffix in "oi"]
            out.split(d, outer, inner, a.width, LAST_TILE)
            inners.append(inner)
            outers.append(outer)
        out.reorder(*inners, *outers, *self.tiles.others)
        out.vectorize(inners[0], min(self.lanes, first.width))
        in_parallel(out, outers[-1], self.tiles.others)
        for run in self.tiles.final:
            self._stages(run, self._vectors(run.axis))
            for f in run.stages:
                f.compute_at(out, outers[0])


def _among(v: Var, others: Sequence[Var]) -> bool:
    return any([v.same_as(one) for one in others])


__all__ = ["schedule_first_passes", "schedule_tiles", "schedule_within"]
