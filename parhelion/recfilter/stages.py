"""The stages of recursive filters with the tags of their dimensions.

What a schedule by tags needs to know of them (2015 paper, section 7): their loops,
innermost first, what each of these is, and in whose loops a stage may be computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from parhelion.lang.func import Func, Stage
from parhelion.lang.rdom import RVar
from parhelion.lang.var import Var
from parhelion.recfilter.dims import RecFilterDim, another
from parhelion.recfilter.directives import FULL, INTER, INTRA, RESIDUAL, Class
from parhelion.recfilter.tags import Kind, VarTag
from parhelion.recfilter.tiling import Axis, Residual, Run, Tiles
from parhelion.recfilter.walks import Walk
from parhelion.schedule.directives import TailStrategy

#: What is outside of the image in the last tile is not written.
LAST_TILE = TailStrategy.GuardWithIf


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop over `extent` iterations. number: among those of its kind. part: whether
    it is the inner one of a split. idle: of a dimension that is scanned elsewhere."""

    var: Var | RVar
    kind: Kind
    extent: int
    number: int = 0
    part: bool = False
    idle: bool = False

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


@dataclass
class Staged:
    """A Func of a class of stages. nests: of its definitions. storage: its dimensions;
    none if its layout is for others to say. readers: in whose loops it may be computed;
    none if it is always computed as a whole."""

    func: Func
    stages: Class
    nests: list[Nest]
    storage: list[Loop]
    readers: list[Staged] = field(default_factory=list)


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
    return Loop(walk.domain.x, Kind.SCAN, walk.points)


# Whole lines.


def free_points(f: Func, dims: Sequence[RecFilterDim]) -> list[Staged]:
    """The stage of a Func whose points do not depend on each other."""
    made = _staged(f, FULL, [Loop(d, Kind.FULL, d.extent) for d in dims], [])
    return [replace(made, storage=[])]


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
        idle = Loop(a.inner, Kind.SCAN, a.width, idle=True)
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
    that they leave behind, then those of the last one, which `out` reads."""
    tags, made = _Tags(tiles, dims), list[Staged]()
    tails = [tags.tails(INTRA, run, {}) for run in tiles.intra]
    made += tails
    for run in tiles.intra:
        numbers = range(len(run.stages))
        made += [tags.scan(INTRA, run, n, {}, tails) for n in numbers]
    result = tags.result(out)
    made.append(result)
    for run in tiles.final:
        numbers = range(len(run.stages))
        made += [tags.scan(INTRA, run, n, {}, [result]) for n in numbers]
    return made


def residual(tiles: Tiles, one: Residual, dims: Sequence[RecFilterDim]) -> list[Staged]:
    """The stages that follow what comes into tiles along one axis along later ones."""
    tags, e, made = _Tags(tiles, dims), one.first, list[Staged]()
    at = {e.position: slots(e)}
    for run in one.runs:
        tails = tags.tails(RESIDUAL, run, at)
        made.append(tails)
        # All but the last are read by those of the next axis too.
        readers = [tails] if run is one.runs[-1] else []
        numbers = range(len(run.stages))
        made += [tags.scan(RESIDUAL, run, n, at, readers) for n in numbers]
    return made


def across_tiles(tiles: Tiles, dims: Sequence[RecFilterDim], g: int) -> list[Staged]:
    """The stage that completes the tails of axis `g` from tile to tile."""
    return [_Tags(tiles, dims).completed(g)]


__all__ = [
    "LAST_TILE",
    "Loop",
    "Nest",
    "Staged",
    "across_tiles",
    "free_points",
    "residual",
    "whole_lines",
    "within_tiles",
]
