"""Funcs on demand: what `compute_lazy` would cost where the user says what is read.

A Func with `set_coverage` may be computed in tiles, or one value at a time, as it is
read. It then is a group of its own, whose loops run over one tile, of which as many are
computed as what is read touches; its readers take longer, by what asking takes. This
file finds the tiles to try, and what they cost; whether one pays is for the search to
say, which places everything else anew beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parhelion.analysis.linear import linear
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.groups import Costs, Model, Tiles
from parhelion.autoschedule.model.plan import Group, Loops, Tiling
from parhelion.autoschedule.model.throughput import one_by_one
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage
from parhelion.autoschedule.search.shapes import plain_loops, row_dimension
from parhelion.dataclass import dataclass
from parhelion.ir.expr import FuncCall
from parhelion.ir.function import Function
from parhelion.ir.rewrite import free_vars
from parhelion.lower.box_reads import Conditions, box_reads, corner_reads
from parhelion.lower.lazy import reads_of
from parhelion.schedule.directives import Coverage

#: Extents of tiles that are tried, along the vectors and along the next dimension.
_ACROSS, _DOWN = (16, 32, 64, 128, 256), (4, 8, 16, 32, 64)
#: Dimensions of no more points are not cut into tiles, unless the user's patch is.
_SMALL = 16
#: Looking up whether a value is there, for each point, as so many lanes of a gather: of
#: neighbours along vectors, which are in the same tiles or lie side by side; of a
#: single place that data decides; and of each of several, between which registers are
#: kept.
_ASKED_DENSE, _ASKED, _ASKED_EACH = 0.15, 0.8, 2.2
#: How many times that takes where each value has an entry of its own.
_ENTRIES = 3.0
#: Beside its loops, a tile is claimed and published, waits for the first of its rows,
#: and its loops begin anew; in times what it takes to begin the loops of a Func inside
#: another's. Measured with tiles from 32 x 4 to 256 x 16 of all of an image.
_CLAIM = 2.5
#: Calling what computes one value, in scalar operations.
_CALL = 40.0
#: How much longer values take that are computed side by side than in loops.
_SIDE_BY_SIDE = 1.2


@dataclass(frozen=True)
class Part:
    """What is computed at a time of a Func: a tile of these extents, None for all of a
    dimension; without any, one value. share: how much of the Func that comes to."""

    tile: tuple[int | None, ...]
    share: float

    @property
    def label(self) -> str:
        """In a few words."""
        if not self.tile:
            return "on demand, values"
        return f"on demand, tiles {' x '.join([str(n or 'all') for n in self.tile])}"


#: Of Funcs that are computed on demand, what is computed at a time.
Parts = Mapping[Function, Part]


def share_touched(
    coverage: Coverage, tile: Sequence[int | None], extents: Sequence[int]
) -> float:
    """How much of a Func lies in tiles that touch what is read.

    Of patches that lie anywhere, so many that they cover the fraction c, a tile of t
    points meets none with probability ``(1 - c) ** ((p + t - 1) / p)``, by dimension p
    the patch's extent. A single piece has the shape of the whole.
    """
    c = coverage.fraction
    cut = [d for d, size in enumerate(tile) if size is not None and extents[d] > size]
    if not coverage.patch:
        side = c ** (1 / len(cut)) if cut else 1.0
        more = 1.0
        for d in cut:
            piece = max(side * extents[d], 1.0)
            more *= (piece + (tile[d] or 1) - 1) / piece
        return min(c * more, 1.0)
    more = 1.0
    for d in cut:
        known = coverage.patch[d] if d < len(coverage.patch) else None
        piece = min(known or extents[d], extents[d])
        more *= (piece + (tile[d] or 1) - 1) / piece
    return float(1 - (1 - c) ** more)


def candidates(model: Model, freedom: Freedom) -> list[Function]:
    """The Funcs that the user's estimates are of, and that are free to be on demand."""
    return [
        f
        for f in model.graph.whole
        if f.schedule.coverage is not None
        and f.dimensions
        and freedom.move(f)
        and freedom.nest(f)
        and f not in freedom.named
        and not freedom.has_loops(f)
    ]


def told(f: Function, part: Part | None, tried: Sequence[Part | None]) -> str:
    """Why a Func is computed on demand, or is not."""
    coverage = f.schedule.coverage
    assert coverage is not None
    shown = part or next((p for p in tried if p is not None and p.tile), None)
    said = f"set_coverage says that {100 * coverage.fraction:g}% of it is read"
    if shown is None:
        return said
    what = f"tiles that this touches are {100 * shown.share:.3g}% of it"
    if not shown.tile:
        what = f"{100 * shown.share:.3g}% of the values are computed"
    return f"{said}; {what}"


def parts_of(model: Model, f: Function) -> Iterator[Part]:
    """What might be computed of a Func at a time: one value, or a tile of some size."""
    coverage, extents = f.schedule.coverage, list(model.extents(f))
    assert coverage is not None
    if not f.updates:
        yield Part((), share_touched(coverage, (1,) * f.dimensions, extents))
    loops = plain_loops(model, f, tuple(extents))
    vector = loops.vector
    patch = coverage.patch
    cut = [
        d
        for d, extent in enumerate(extents)
        if extent > _SMALL or d < len(patch) and patch[d] is not None and extent > 1
    ]
    across = vector if vector in cut else next(iter(cut), -1)
    rest = [d for d in cut if d != across][:1]
    for wide in _ACROSS if across >= 0 else ():
        for high in _DOWN if rest else (1,):
            tile: list[int | None] = [None] * (max([across, *rest]) + 1)
            tile[across] = wide
            for d in rest:
                tile[d] = high
            fits = [
                s is None or loops.block[d] <= s < extents[d]
                for d, s in enumerate(tile)
            ]
            if all(fits):
                yield Part(tuple(tile), share_touched(coverage, tile, extents))


def asking(model: Model, f: Function, parts: Parts) -> float:
    """Nanoseconds that a Func takes longer over all of a run, on one thread, as what it
    reads is on demand."""
    total = 0.0
    for g, part in parts.items():
        if g is f or g not in model.graph.stages:
            continue
        for stage in model.graph.stages[f]:
            if g not in stage.sources():
                continue
            points = 1.0
            for lo, hi in model.regions.loops(stage, model.regions.bounds[f]):
                points *= max(float(hi - lo + 1), 1.0)
            total += points * _asked_at_point(stage, g, part, model.machine)
    return total


def _asked_at_point(
    stage: GraphStage, g: Function, part: Part, machine: Machine
) -> float:
    """Nanoseconds of asking for what one point reads. Boxes, whose points are all read,
    are asked for outside of the innermost loops; what a selection reads, where it is
    taken, which is thought to be as often as the Func is read."""
    own = frozenset((*stage.pure, *stage.rvars))
    sizes = {g: _sizes(g, part)}
    reads = reads_of([g], stage.func, stage.exprs)
    free = [read for read, conditions in reads if not conditions]
    _, covered = box_reads(own, free, sizes)
    left: list[tuple[FuncCall, Conditions]] = [r for r in reads if r[0] not in covered]
    coverage = g.schedule.coverage
    assert coverage is not None
    total = 0.0
    for selected, often in ((False, 1.0), (True, coverage.fraction)):
        some = [r for r in left if bool(r[1]) is selected]
        asked = [read for read, _, _ in corner_reads(own, some, sizes)]
        apart = [read for read in asked if not _is_dense(read, stage)]
        each = _ASKED if len(apart) == 1 else _ASKED_EACH
        lanes = len(apart) * each * (1 if part.tile else _ENTRIES)
        lanes += (len(asked) - len(apart)) * _ASKED_DENSE
        total += often * lanes * machine.lane
    return total


def _is_dense(read: FuncCall, stage: GraphStage) -> bool:
    """Whether neighbours along the innermost loop read neighbours."""
    if not stage.pure or not read.args:
        return False
    v, form = stage.pure[0], linear(read.args[0])
    others = [*read.args[1:], *[atom for atom in form.terms if atom is not v]]
    return form.terms.get(v, 0) == 1 and all([v not in free_vars(e) for e in others])


def _sizes(g: Function, part: Part) -> list[int | None]:
    if not part.tile:
        return [1] * g.dimensions
    return [*part.tile, *[None] * (g.dimensions - len(part.tile))]


def in_turn(model: Model, root: Function, g: Function, part: Part, tiles: Tiles) -> Any:
    """For each candidate of a root's tiles, for how much of what it has computed of a
    Func on demand its tasks wait for each other: neighbours that come to the same row
    of tiles have it computed by one of them."""
    shared: Any = np.zeros(len(tiles.sizes[0])) if tiles.sizes else 0.0
    extents = model.extents(root)
    for stage in model.graph.stages[root]:
        for a in model.work(stage).loads:
            if a.source is not g:
                continue
            for d, size in enumerate(part.tile):
                for k in stage.dimensions if size else ():
                    if a.step(d, root.args[k]) == 1:
                        chunk = np.maximum(tiles.sizes[k], 1)
                        one = np.where(chunk < extents[k], (size or 0) / chunk, 0.0)
                        shared = np.maximum(shared, np.minimum(one, 1.0))
    return shared


def values_group(model: Model, f: Function, part: Part) -> Group:
    """A Func of which one value is computed at a time, where it is read."""
    machine, extents = model.machine, tuple(model.extents(f))
    (stage,) = model.graph.stages[f]
    loops = plain_loops(model, f, extents)
    alone = one_by_one(model.work(stage), machine) + _CALL * machine.scalar
    each = alone
    if loops.lanes > 1 and _side_by_side(model, f):
        # Only whole vectors of them, of which the patch's ends are none.
        share = max(1 - loops.lanes / _piece(f, loops.vector, extents), 0.0)
        together = model.one_block(f, loops) / math.prod(loops.block) * _SIDE_BY_SIDE
        each += share * (min(alone, together) - alone)
    count = part.share * math.prod(extents)
    cost = count * (each + machine.store) / machine.threads
    tiling = Tiling((0,) * f.dimensions, -1, ())
    terms = {"share": part.share}
    return Group(f, {}, tiling, {f: loops}, cost, terms, tile=())


def _piece(f: Function, d: int, extents: Sequence[int]) -> float:
    """How far what is read of a Func goes on along one of its dimensions."""
    coverage = f.schedule.coverage
    assert coverage is not None
    if not coverage.patch:
        side = coverage.fraction ** (1 / len(extents))
        return max(float(side) * extents[d], 1.0)
    known = coverage.patch[d] if d < len(coverage.patch) else None
    return min(known or extents[d], extents[d])


def _side_by_side(model: Model, f: Function) -> bool:
    """Whether readers ask for values that lie side by side, vector by vector."""
    graph: Graph = model.graph
    return all(
        any([a.step(0, v) == 1 for v in stage.loops[:1]])
        for c in graph.consumers[f]
        for stage in graph.stages[c]
        for a in model.work(stage).loads
        if a.source is f
    )


def one_tile(
    model: Model, f: Function, part: Part, loops: Loops, apart: Sequence[int]
) -> Sequence[Tiles]:
    """The one candidate that a part is, if blocks of these loops fit into it. apart:
    the dimensions in which tiles would be no more than a block."""
    extents = model.extents(f)
    given = [*part.tile, *[None] * (len(extents) - len(part.tile))]
    tile = [size or e for size, e in zip(given, extents, strict=True)]
    if apart or any([b > t for b, t in zip(loops.block, tile, strict=True)]):
        return ()
    sizes = tuple([np.array([size]) for size in tile])
    order = tuple(range(len(extents)))
    return [Tiles(sizes, order, row_dimension(loops, tile))]


def tiled(model: Model, group: Group, part: Part, costs: Costs) -> Group:
    """A group whose root is computed in tiles on demand, given one that computes all of
    them, with its costs."""
    f = group.root
    machine, extents = model.machine, model.extents(f)
    terms = {name: float(t[0]) for name, t in costs.terms.items()}
    tasks = terms["tasks"] * machine.task / machine.threads
    serial = (float(costs.total[0]) - tasks) * terms["threads"]
    # What a tile waits for its rows is in what it takes to begin one, as measured.
    serial -= terms["waiting"]
    tiles = 1.0
    for extent, size in zip(extents, part.tile, strict=False):
        tiles *= -(-extent // size) if size else 1
    serial += tiles * _CLAIM * machine.produce
    return replace(
        group,
        tiling=Tiling((0,) * f.dimensions, group.tiling.row, ()),
        cost=part.share * serial / machine.threads,
        packed=(),
        tile=part.tile,
    )


__all__ = [
    "Part",
    "Parts",
    "asking",
    "in_turn",
    "candidates",
    "parts_of",
    "share_touched",
    "told",
    "tiled",
    "one_tile",
    "values_group",
]
