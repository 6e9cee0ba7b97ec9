"""The stages of recursive filters with the tags of their dimensions.

What a schedule by tags needs to know of them (2015 paper, section 7): their loops,
innermost first, what each of these is, and in whose loops a stage may be computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from parhelion.dataclass import dataclass
from parhelion.lang.func import Func, Stage
from parhelion.lang.rdom import RVar
from parhelion.lang.var import Var
from parhelion.recfilter.chains import Link
from parhelion.recfilter.dims import RecFilterDim, another
from parhelion.recfilter.directives import FULL, INTER, INTRA, RESIDUAL, Class
from parhelion.recfilter.edges import SummedEdges
from parhelion.recfilter.tags import Kind, VarTag
from parhelion.recfilter.tiling import Axis, Residual, Run, Tiles
from parhelion.recfilter.walks import Walk
from parhelion.schedule.directives import TailStrategy

#: What is outside of the image in the last tile is not written.
LAST_TILE = TailStrategy.GuardWithIf
#: Pixels that a thread of a GPU adds at a time to what filters find at the edges.
_AT_EDGES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop over `extent` iterations. number: among those of its kind. part: whether
    it is the inner one of a split. idle: of a dimension that is scanned elsewhere.
    before: how many values before the first point are kept. terms: of the sum that each
    point of a scan along a line is. free: of tails that are lines to what scans them.
    """

    var: Var | RVar
    kind: Kind
    extent: int
    number: int = 0
    part: bool = False
    idle: bool = False
    before: int = 0
    terms: int = 0
    free: bool = False

    def has(self, tag: VarTag) -> bool:
        same = tag.kind is self.kind and tag.part == self.part
        return same and tag.number in (None, self.number)


@dataclass
class Nest:
    """The loops of one definition of a Func, innermost first. number: 0 for the first
    definition, k for update k - 1."""

    func: Func
    number: int
    loops: list[Loop]

    @property
    def stage(self) -> Func | Stage:
        return self.func.update(self.number - 1) if self.number else self.func

    def having(self, tag: VarTag) -> list[Loop]:
        return [one for one in self.loops if one.has(tag)]

    def replace(self, old: Loop, *new: Loop) -> None:
        at = self.loops.index(old)
        self.loops[at : at + 1] = new

    def split(self, loop: Loop, factor: int, tail: TailStrategy) -> tuple[Loop, Loop]:
        """Splits a loop, and returns the inner one, a part, and the outer one."""
        inner = self._new(loop, "v")
        self.stage.split(loop.var, loop.var, inner, factor, tail)
        part = replace(loop, var=inner, extent=factor, part=True)
        rest = replace(loop, extent=-(-loop.extent // factor))
        self.replace(loop, part, rest)
        return part, rest

    def fuse(self, a: Loop, b: Loop) -> Loop:
        """Makes one loop of two, `a` the inner one, whose tag it has."""
        fused = self._new(a, "f", isinstance(b.var, RVar))
        self.stage.fuse(a.var, b.var, fused)
        made = replace(a, var=fused, extent=a.extent * b.extent)
        self.replace(a, made)
        self.loops.remove(b)
        return made

    def reorder(self, order: Sequence[Loop]) -> None:
        """Puts some of its loops inside each other in this order, innermost first."""
        if len(order) < 2:
            return
        self.stage.reorder([loop.var for loop in order])
        left = iter(order)
        self.loops = [next(left) if loop in order else loop for loop in self.loops]

    def _new(self, loop: Loop, suffix: str, reduces: bool = False) -> Var | RVar:
        """A loop made of one, called after it. reduces: whether it is also made of a
        loop over points of a domain."""
        taken = {one.var.name() for one in self.loops}
        taken |= {v.name() for v in self.func.args()}
        name = loop.var.name().replace(".", "_") + suffix
        while name in taken:
            name += suffix
        return RVar(name) if reduces or isinstance(loop.var, RVar) else Var(name)


@dataclass
class Staged:
    """A Func of a class of stages. nests: of its definitions. storage: its dimensions;
    none if its layout is for others to say. readers: in whose loops it may be computed;
    none if it is always computed as a whole. own: Funcs that each of its points is
    computed by, where these are the stages of kernels."""

    func: Func
    stages: Class
    nests: list[Nest]
    storage: list[Loop]
    readers: list[Staged] = field(default_factory=list)
    own: list[Func] = field(default_factory=list)


def _staged(
    f: Func, stages: Class, loops: Sequence[Loop], updates: Sequence[Sequence[Loop]]
) -> Staged:
    """A Func from the loops of its definitions, in the order of dimensions."""
    numbered = _numbered(loops)
    nests = [Nest(f, 0, numbered)]
    for k, one in enumerate(updates):
        # Loops of domains are innermost, in their order.
        made = sorted(_numbered(one), key=lambda loop: not isinstance(loop.var, RVar))
        nests.append(Nest(f, k + 1, made))
    return Staged(f, stages, nests, list(numbered))


def _numbered(loops: Sequence[Loop]) -> list[Loop]:
    counts: dict[Kind, int] = {}
    made: list[Loop] = []
    for one in loops:
        number = counts[one.kind] = counts.get(one.kind, -1) + 1
        made.append(replace(one, number=number))
    return made


def _along(walk: Walk) -> Loop:
    """The loop of an update along lines."""
    return Loop(walk.domain.x, Kind.SCAN, walk.points, terms=walk.terms)


#: Loops in the innermost of which stages are computed locally.
_AROUND = (Kind.OUTER, Kind.FULL)


def level_of(reader: Staged) -> Loop | None:
    """The loop in which what a stage reads is computed locally."""
    loops = reader.nests[0].loops
    return next((one for one in loops if one.kind in _AROUND and not one.part), None)


# Whole lines.


def free_points(
    f: Func, dims: Sequence[RecFilterDim], own: Sequence[Func] = ()
) -> list[Staged]:
    """The stage of a Func whose points do not depend on each other. own: see
    `Staged`."""
    made = _staged(f, FULL, [Loop(d, Kind.FULL, d.extent) for d in dims], [])
    return [replace(made, storage=[], own=list(own))]


def sums_at_edges(
    f: Func, dims: Sequence[RecFilterDim], position: int, edges: SummedEdges
) -> list[Staged]:
    """The stage of what filters find at the edges, some values in place of a dimension,
    each a sum of pixels, which each point of a kernel computes."""
    for k, r in enumerate(edges.domains):
        # As a loop, it takes all registers that there are.
        edges.func.update(k).unroll(r.x, _AT_EDGES)
    loops = [Loop(d, Kind.FULL, d.extent) for d in dims]
    slots = f.args()[position]
    loops[position] = Loop(slots, Kind.TAIL, edges.count, free=True)
    f.bound(slots, 0, edges.count)
    return [replace(_staged(f, FULL, loops, []), own=[edges.func])]


def whole_lines(
    scans: Sequence[tuple[Func, Sequence[Walk]]],
    out: Func,
    dims: Sequence[RecFilterDim],
    position: int,
) -> list[Staged]:
    """The stages of filters along one dimension, untiled. scans: Funcs, and their
    updates. out: what reads the last one."""
    first = [Loop(d, Kind.FULL, d.extent) for d in dims]
    scanned = dims[position]
    first[position] = Loop(scanned, Kind.SCAN, scanned.extent, idle=True)
    last = replace(_staged(out, FULL, first, []), storage=[])
    made = [last]
    for f, walks in scans:
        updates = [list(first) for _ in walks]
        for loops, walk in zip(updates, walks, strict=True):
            loops[position] = _along(walk)
        made.append(replace(_staged(f, FULL, first, updates), readers=[last]))
    return made


# Tiles.

#: What stands in place of the coordinate within a tile, and of that of tiles.
_Instead = Mapping[int, Loop]


class _Tags:
    """The loops of the stages of filters in tiles."""

    def __init__(self, tiles: Tiles, dims: Sequence[RecFilterDim]) -> None:
        self.tiles, self.dims = tiles, dims
        self.axes = {a.position: a for a in tiles.axes}

    def loops(self, inner: _Instead, outer: _Instead) -> list[Loop]:
        """The loops of a stage, in the order of its arguments, numbered by dimensions
        of the image."""
        made: list[Loop] = []
        for k, d in enumerate(self.dims):
            a = self.axes.get(k)
            own = (
                Loop(d, Kind.FULL, d.extent)
                if a is None
                else Loop(a.inner, Kind.INNER, a.width)
            )
            made.append(inner.get(k, own))
        for k, a in sorted(self.axes.items()):
            made.append(outer.get(k, Loop(a.outer, Kind.OUTER, tiles_along(a))))
        return made

    def scan(
        self, stages: Class, run: Run, n: int, at: _Instead, readers: list[Staged]
    ) -> Staged:
        """Filter `n` of a run within tiles."""
        a, f = run.axis, run.stages[n]
        before = a.filters[n].order
        idle = Loop(a.inner, Kind.SCAN, a.width, idle=True, before=before)
        first, *updates = [
            self.loops({**at, a.position: one}, {})
            for one in (idle, *map(_along, run.walks[n]))
        ]
        return replace(_staged(f, stages, first, updates), readers=readers)

    def tails(self, stages: Class, run: Run, at: _Instead) -> Staged:
        a, f = run.axis, run.tails
        assert f is not None
        loops = self.loops({**at, a.position: slots(a)}, {})
        for one in loops:
            if one.kind is Kind.TAIL:
                f.bound(one.var, 0, one.extent)
        return _staged(f, stages, loops, [])

    def loaded(self, f: Func, readers: list[Staged]) -> Staged:
        return replace(_staged(f, INTRA, self.loops({}, {}), []), readers=readers)

    def completed(self, g: int) -> Staged:
        a, f = self.tiles.axes[g], self.tiles.completed[g]
        idle = Loop(a.outer, Kind.SCAN, tiles_along(a), idle=True)
        first = self.loops({a.position: slots(a)}, {a.position: idle})
        updates: list[list[Loop]] = []
        for one, r in zip(a.filters, self.tiles.domains[g], strict=True):
            tail, scan = (
                Loop(r.x, Kind.TAIL, one.order),
                Loop(r.y, Kind.SCAN, tiles_along(a)),
            )
            updates.append(self.loops({a.position: tail}, {a.position: scan}))
        return _staged(f, INTER, first, updates)

    def link(self, one: Link) -> Staged:
        """A Func that completes the tails of a line in groups."""
        one.func.bound(one.values, 0, one.order)
        first, update = [Loop(one.values, Kind.TAIL, one.order)], list[Loop]()
        if one.domain is not None:
            update.append(Loop(one.domain.x, Kind.TAIL, one.order))
        if one.steps is not None:
            first.append(Loop(one.steps, Kind.SCAN, one.step_count, idle=True))
        if one.domain is not None:
            update.append(Loop(one.domain.y, Kind.SCAN, one.step_count))
        if one.sides is not None:
            side = Loop(one.sides, Kind.OUTER, one.side_count)
            first.append(side)
            update.append(side)
        return _staged(one.func, INTER, first, [] if one.domain is None else [update])

    def result(self, out: Func) -> Staged:
        """What reads the last stage, in tiles too."""
        inner: dict[int, Loop] = {}
        outer: dict[int, Loop] = {}
        among: list[Var] = list(out.args())
        for k, a in sorted(self.axes.items()):
            d = self.dims[k]
            made = [another(among, d, suffix) for suffix in "oi"]
            among += made
            out.split(d, made[0], made[1], a.width, LAST_TILE)
            outer[k] = Loop(made[0], Kind.OUTER, tiles_along(a))
            inner[k] = Loop(made[1], Kind.INNER, a.width)
        loops = self.loops(inner, outer)
        out.reorder([one.var for one in loops])
        return replace(_staged(out, INTRA, loops, []), storage=[])


def tiles_along(a: Axis) -> int:
    """How many tiles there are along an axis of a RecFilter, whose size is known."""
    assert isinstance(a.count, int)
    return a.count


def slots(a: Axis) -> Loop:
    """The loop over the values that the filters of an axis leave behind."""
    return Loop(a.slots, Kind.TAIL, a.starts[-1])


def within_tiles(tiles: Tiles, out: Func, dims: Sequence[RecFilterDim]) -> list[Staged]:
    """The stages within the tiles of the image: those of the first pass with the tails
    that they leave behind, then those of the last one, which `out` reads; of a GPU also
    what they filter."""
    tags, made = _Tags(tiles, dims), list[Staged]()
    tails = [tags.tails(INTRA, run, {}) for run in tiles.intra]
    made += tails
    made += [tags.loaded(f, tails) for f in tiles.loaded[:1]]
    for run in tiles.intra:
        numbers = range(len(run.stages))
        made += [tags.scan(INTRA, run, n, {}, tails) for n in numbers]
    result = tags.result(out)
    made.append(result)
    made += [tags.loaded(f, [result]) for f in tiles.loaded[1:]]
    for run in tiles.final:
        numbers = range(len(run.stages))
        made += [tags.scan(INTRA, run, n, {}, [result]) for n in numbers]
    return made


def residual(tiles: Tiles, one: Residual, dims: Sequence[RecFilterDim]) -> list[Staged]:
    """The stages that follow what comes into tiles along one axis along later ones."""
    tags, e, made = _Tags(tiles, dims), one.first, list[Staged]()
    at = {e.position: replace(slots(e), free=True)}
    for run in one.runs:
        tails = tags.tails(RESIDUAL, run, at)
        made.append(tails)
        # All but the last are read by those of the next axis too.
        readers = [tails] if run is one.runs[-1] else []
        numbers = range(len(run.stages))
        made += [tags.scan(RESIDUAL, run, n, at, readers) for n in numbers]
    return made


def across_tiles(tiles: Tiles, dims: Sequence[RecFilterDim], g: int) -> list[Staged]:
    """The stages that complete the tails of axis `g` from tile to tile."""
    tags = _Tags(tiles, dims)
    if tiles.links:
        return [tags.link(one) for one in tiles.links]
    return [tags.completed(g)]


__all__ = [
    "LAST_TILE",
    "Loop",
    "Nest",
    "Staged",
    "across_tiles",
    "free_points",
    "level_of",
    "residual",
    "sums_at_edges",
    "whole_lines",
    "within_tiles",
]
