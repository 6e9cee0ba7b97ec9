"""What a group costs wherever its members are computed: its root's loops, what they
need of everything, and what each member costs at each level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from parhelion.analysis.monotonic import Monotonic
from parhelion.autoschedule.model.core import Core
from parhelion.autoschedule.model.geometry import Geometry, Need, Nest, Numbers, Tiles
from parhelion.autoschedule.model.latency import Rows
from parhelion.autoschedule.model.pages import lost_to_pages
from parhelion.autoschedule.model.plan import Level, Loops
from parhelion.autoschedule.model.rereading import Reader
from parhelion.autoschedule.pipeline.graph import GraphStage, Source
from parhelion.autoschedule.pipeline.regions import Regions, joint
from parhelion.autoschedule.pipeline.work import element_bytes
from parhelion.dataclass import dataclass
from parhelion.ir.expr import Var
from parhelion.ir.function import Function

#: So many tasks for each thread there are at least, if there are loops for them.
FEW_TASKS = 4
#: For how much of a task other threads wait in the end.
_LAST_TASK = 0.1
#: Of so many roots in loops is known what they need.
_MOST_ROOTS = 64

#: How each dimension of what is needed moves from row to row.
Ways = tuple[Monotonic, ...]

_STILL = Monotonic.CONSTANT


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, computed inside a loop level.

    stored: bytes of one run's results. traffic: bytes that move in all where a cache
    does not hold them: of one that is computed once a tile, those that are fetched and
    written back as it writes them, of others, those that are written and read.
    computing: nanoseconds of the core in all. read: of one that is computed once a
    tile, bytes that one run takes of each source from beyond each cache.
    """

    level: int
    stored: Numbers
    traffic: Numbers
    computing: Numbers
    read: Mapping[Source, Numbers]


def new_in_row(need: Need, box: list[Numbers]) -> list[Numbers]:
    """What a row has to compute that the row before it has not."""
    both = need.box[:, -1]
    made = list(box)
    grown = [d for d in range(len(box)) if (both[d] > box[d]).any()]
    if len(grown) == 1:
        (d,) = grown
        made[d] = np.minimum(both[d] - box[d], box[d])
    return made


def rounded_up(box: Sequence[Numbers], loops: Loops) -> Numbers:
    """How many times larger than a box what is stored of it is: a block at least."""
    times: Numbers = np.ones(1)
    for extent, block in zip(box, loops.block, strict=True):
        times = times * np.maximum(1, block / np.maximum(extent, 1))
    return times


def sliding(
    regions: Regions, root: Function, row: int, members: Sequence[Function]
) -> frozenset[Function]:
    """Those of the members whose windows slide as the loop over the root's dimension
    `row` advances. members: consumers before producers.

    `lower.sliding` computes only what the row before has not left behind where it can
    show that what is needed moves one way, along one dimension. Where it cannot, as of
    an image that is looked up at places computed with products of coordinates, each row
    computes all that it needs, and storage around the row loop is of no use.
    """
    if row < 0:
        return frozenset()
    own = [Monotonic.INCREASING if d == row else _STILL for d in range(len(root.args))]
    found: dict[Source, Ways] = {root: tuple(own)}
    for f in (root, *members):
        if f not in found:
            continue
        for stage in regions.graph.stages[f]:
            moving = _loops(stage, found[f])
            for source, ways in regions.reads(stage).ways(moving).items():
                old = found.get(source)
                found[source] = ways if old is None else _both(old, ways)
    return frozenset([m for m in members if m in found and _slides(found[m])])


def _loops(stage: GraphStage, ways: Ways) -> Mapping[Var, Monotonic]:
    """The loops of a stage that move when what is needed of its Func does."""
    own = {stage.func.args[d]: ways[d] for d in stage.dimensions}
    return {v: way for v, way in own.items() if way is not _STILL}


def _both(a: Ways, b: Ways) -> Ways:
    return tuple([joint((x, y)) for x, y in zip(a, b, strict=True)])


def _slides(ways: Ways) -> bool:
    moving = [way for way in ways if way is not _STILL]
    return len(moving) == 1 and moving[0] is not Monotonic.UNKNOWN


class Root:
    """What a root costs in its loops, whatever is computed inside of them.

    runs: of tiles. written: the time of writing it. threads, tasks: how many threads
    the tiles keep busy, and how many tasks there are.
    """

    def __init__(self, model: Core, nest: Nest) -> None:
        self.nest, self.machine = nest, model.machine
        self.runs = nest.instances[nest.tile_level]
        self.written = self._written(nest.root in model.graph.outputs)
        self.threads, self.tasks = self._find_threads()

    def _written(self, output: bool) -> Numbers:
        machine, nest = self.machine, self.nest
        size = float(element_bytes(nest.root)) * float(np.prod(nest.full))
        if size <= machine.l2 * 0.5:
            price = machine.near_byte
        elif output and machine.family.streams:
            price = machine.streamed
        else:
            price = machine.far_write
            if not output:
                price += machine.lost(size) * machine.lost_byte
        written = np.full(nest.count, size * price)
        if nest.full and size > machine.l2 * 0.5:
            # Pieces of rows: far memory is fetched and written ahead within a row.
            pieces = self.runs
            for t in nest.tile[1:]:
                pieces = pieces * t
            parts = nest.tile[0] < nest.full[0]
            written = written + np.where(parts, pieces * machine.piece, 0.0)
        return written

    def _find_threads(self) -> tuple[Numbers, Numbers]:
        threads = self.machine.threads
        trips: Numbers = np.ones(self.nest.count)
        # From the outermost loop inwards, as many as are needed.
        for n in reversed(self.nest.trips[self.nest.tile_level :]):
            trips = np.where(trips >= FEW_TASKS * threads, trips, trips * n)
        rounds = np.ceil(trips / threads)
        if threads > 1:
            # Cores are not equally fast: all wait for the last task of the slowest.
            rounds = rounds + _LAST_TASK
        return trips / rounds, trips


class Frame:
    """What a group costs wherever its members are computed.

    geometry: of its root. core: the core's time for the root; computing: with what it
    waits for rows. pages, packed: see `pages.lost_to_pages`.
    """

    def __init__(
        self, model: Core, of: Root, geometry: Geometry, members: Sequence[Function]
    ) -> None:
        self.model, self.of, self.geometry = model, of, geometry
        self.machine, self.nest = model.machine, of.nest
        self.rows = Rows(geometry, of.runs, model.regions, model.machine)
        self.core = self._computing()
        self.computing = self.waiting(self.nest.root, self.nest.own, self.core)
        #: The members that go on from row to row.
        self.sliding = sliding(
            model.regions, self.nest.root, self.nest.tiles.row, members
        )
        funcs = (self.nest.root, *members)
        self.pages, self.packed = lost_to_pages(
            geometry, lambda s: model.reader(s, funcs), model.machine
        )
        #: Of each of the group's sources, how much of it has to come from memory.
        self.gone = [self._gone(s) for s in geometry.outside]
        self._in_row: dict[object, Numbers] = {}

    def _gone(self, source: Source) -> float:
        """What the pipeline has written itself, so large that the caches lost it."""
        if not isinstance(source, Function):
            return 0.0
        size = element_bytes(source) * math.prod(self.model.extents(source))
        return self.machine.lost(size)

    def _computing(self) -> Numbers:
        nest = self.nest
        stages = self.model.graph.stages[nest.root]
        found = nest.computing.get(stages)
        if found is None:
            one = self.model.computing(nest.root, nest.own, nest.tile)
            found = nest.computing[stages] = self.of.runs * one
        return found

    def waiting(self, f: Function, loops: Loops, computing: Numbers) -> Numbers:
        """The time of a Func of the group in the core, with what it waits for rows."""
        waited = self.rows.waited(self.model.foreseen(f, loops), computing)
        return np.asarray(computing + waited)

    def member(self, m: Function, at: Level, loops: Loops) -> Member:
        """What a member costs at a level."""
        need = self.geometry.need(m)
        key = self.model.graph.stages[m], at, loops, m in self.sliding
        found = need.costs.get(key)
        if found is None:
            found = need.costs[key] = self._member(need, m, at, loops)
        return found

    def _member(self, need: Need, m: Function, at: Level, loops: Loops) -> Member:
        nest = self.nest
        level = nest.tile_level if at is Level.TILE else 0
        if at is Level.ROW:
            level = nest.row_level
        runs = nest.instances[level]
        box = list(need.box[:, level])
        one = self.model.computing(m, loops, box)
        if at is Level.ROW and m in self.sliding:
            # The first row of a tile computes all that it needs, others what is new.
            later = self.model.computing(m, loops, new_in_row(need, box))
            one = later + (one - later) / nest.rows
        stored = need.volumes[level] * rounded_up(box, loops)
        traffic = 2 * stored * runs
        if at is Level.ROW and (m in self.sliding or nest.tiles.row < 0):
            # Written once, read by each of the rows that need it.
            traffic = traffic * (1 + self._anew(need)) / 2
        computing = runs * (one + self.machine.produce)
        read = self._read(need, m, loops) if at is Level.TILE else {}
        return Member(level, stored, traffic, computing, read)

    def _read(self, need: Need, m: Function, loops: Loops) -> Mapping[Source, Numbers]:
        """Bytes that a member's loops take of each source for one tile, from beyond
        each cache."""
        model = self.model
        reader = Reader(need, self.nest.tile_level, loops, model.regions, self.machine)
        found: dict[Source, Numbers] = {}
        for stage in model.graph.stages[m]:
            for s, one in reader.read(stage, model.scattered).items():
                found[s] = found[s] + one if s in found else one
        return found

    def _anew(self, need: Need) -> Numbers:
        """How much of what a row needs of a source the row before it has not needed."""
        nest = self.nest
        if nest.tiles.row < 0:
            return np.ones(nest.count)
        one, two = need.volumes[nest.row_level], need.volumes[-1]
        return self._average(np.clip((two - one) / np.maximum(one, 1), 0, 1))

    def _average(self, share: Numbers) -> Numbers:
        """Of a tile's rows, where the first takes all and others this share."""
        return np.asarray(share + (1 - share) / self.nest.rows)

    def read_in_row(
        self,
        sources: tuple[Source, ...],
        rows: tuple[Function, ...],
        blocks: tuple[Function, ...],
        whole: Numbers,
    ) -> Numbers:
        """How much of what a row needs of these sources is read for each row: by the
        new rows of members that keep what they have computed for the row before, by the
        root, and by what is computed in its blocks. Shares, sources by candidates.
        whole: what a row needs."""
        found = self._in_row.get((sources, rows, blocks))
        if found is None:
            nest, at = self.nest, self.nest.row_level
            read = dict.fromkeys(sources, np.zeros(nest.count))
            for s, need in nest.needs(self.model.regions, blocks).items():
                if s in read:
                    read[s] = read[s] + need.volumes[at]
            going_on = set()
            for f in rows:
                for s, volume in self._read_by_new_row(f).items():
                    if s in read:
                        going_on.add(s)
                        read[s] = read[s] + volume
            made = []
            for (s, volume), all_ in zip(read.items(), whole, strict=True):
                share = np.ones(nest.count)
                if s in going_on:
                    share = np.minimum(volume / np.maximum(all_, 1), 1)
                made.append(self._average(share))
            found = self._in_row[sources, rows, blocks] = np.stack(made)
        return found

    def _read_by_new_row(self, f: Function) -> dict[Source, Numbers]:
        """Bytes that the new rows of a member read of its sources, for each row."""
        nest, need = self.nest, self.geometry.need(f)
        stages = self.model.graph.stages[f]
        key = "read by new row", stages, f in self.sliding
        found: dict[Source, Numbers] | None = need.costs.get(key)
        if found is None:
            at = nest.row_level
            box = list(need.box[:, at])
            made = new_in_row(need, box) if f in self.sliding else box
            spans = []
            for (lo, hi), all_, new in zip(need.spans, box, made, strict=True):
                if new is not all_:
                    # At other levels it is as good as any.
                    later = np.zeros((need.box.shape[1], nest.count))
                    later[at] = all_ - new
                    lo = lo + later.reshape(-1)
                spans.append((lo, hi))
            found = need.costs[key] = {}
            for stage in stages:
                for s, read in self.model.regions.touched(stage, tuple(spans)).items():
                    volume = nest.need(s, read).volumes[at]
                    found[s] = found.get(s, 0) + volume
        return found


class Frames:
    """The frames of the group that was looked at last: the search goes on to other
    levels for its members, and seldom comes back to it when it has left it."""

    def __init__(self) -> None:
        self._group: object = None
        self._known: dict[tuple[Loops, Tiles], Frame] = {}
        self._roots: dict[tuple[Function, Loops, Tiles], Root] = {}

    def of(
        self,
        model: Core,
        root: Function,
        members: tuple[Function, ...],
        own: Loops,
        tiles: Tiles,
    ) -> Frame:
        graph = model.graph
        group = graph.inlined, [graph.stages[f] for f in (root, *members)]
        if group != self._group:
            self._group = group
            self._known.clear()
        found = self._known.get((own, tiles))
        if found is None:
            of = self._root(model, root, own, tiles)
            geometry = Geometry(of.nest, model.regions, members, model.scattered)
            found = self._known[own, tiles] = Frame(model, of, geometry, members)
        return found

    def _root(self, model: Core, root: Function, own: Loops, tiles: Tiles) -> Root:
        found = self._roots.pop((root, own, tiles), None)
        if found is None:
            found = Root(model, Nest(model.regions, root, own, tiles))
            if len(self._roots) >= _MOST_ROOTS:
                del self._roots[next(iter(self._roots))]
        # The one that was used last is the last that is forgotten.
        self._roots[root, own, tiles] = found
        return found


__all__ = [
    "FEW_TASKS",
    "Frame",
    "Frames",
    "Member",
    "new_in_row",
    "rounded_up",
    "sliding",
]
