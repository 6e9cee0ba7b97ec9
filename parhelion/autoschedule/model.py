"""What a group of Funcs costs under given loops: the default scheduler's cost model.

Time is that of the core (`throughput`), or of moving data between the caches where that
takes longer, and some of the lesser of both; it is summed over what runs on one thread
and divided by how well the parallel loop fills the threads. All candidate tiles of a
group are evaluated at once, as NumPy arrays.

Traffic is counted loop by loop, from the blocks outwards: a loop whose single iteration
fits in a cache takes from beyond that cache each byte once; one that does not takes it
anew in every iteration. What a member stores for a whole tile has to stay in the
second-level cache only until it is read last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.cost import Copies, Work, element_bytes
from parhelion.autoschedule.geometry import PAGE, Geometry, Numbers, Tiles
from parhelion.autoschedule.graph import Graph, Source, Stage
from parhelion.autoschedule.machine import Machine
from parhelion.autoschedule.plan import Level, Loops
from parhelion.autoschedule.regions import Regions
from parhelion.autoschedule.throughput import Speed, stage_speed
from parhelion.codegen.tables import MOST, WIDTH
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym

#: How much of the lesser of two overlapping times is not hidden by the greater.
_UNHIDDEN = 0.25
#: Nanoseconds of one block, whatever is in it.
_BLOCK = 1.0
#: Blocks of more points are not looked at for what their points share.
_MOST_COPIES = 32
#: How many pages the translation buffers know.
_NEAR_PAGES, _FAR_PAGES = 64, 1024


@dataclass(frozen=True)
class Costs:
    """For each candidate tile: nanoseconds in all, and by part; and whether a source is
    packed for its reader (see `plan.Group`)."""

    total: Numbers
    terms: Mapping[str, Numbers]
    packed: Mapping[tuple[Source, Function], NDArray[np.bool_]]


class Model:
    """Costs in one graph; what stages cost in the core is computed once."""

    def __init__(self, graph: Graph, regions: Regions, machine: Machine) -> None:
        self.graph, self.regions, self.machine = graph, regions, machine
        self._works: dict[Stage, Work] = {}
        self._copies: dict[object, Copies] = {}
        self._speeds: dict[tuple[Stage, Loops], Speed] = {}
        self._models: dict[frozenset[Function], Model] = {graph.inlined: self}
        self._blocks: dict[tuple[tuple[Stage, ...], Loops], float] = {}
        self._frames = _Frames()
        #: What `shapes.plain_loops` has found, by stages and extents.
        self.plain: dict[tuple[tuple[Stage, ...], tuple[int, ...]], Loops] = {}

    def with_inlined(self, f: Function) -> Model:
        """The model of the graph with `f` inlined, knowing what this one knows."""
        found = self._models.get(self.graph.inlined | {f})
        return found or self._with(self.graph.with_inlined(f))

    def without_inlined(self, f: Function) -> Model:
        """The model of the graph with `f` not inlined."""
        found = self._models.get(self.graph.inlined - {f})
        return found or self._with(self.graph.without_inlined(f))

    def _with(self, graph: Graph) -> Model:
        made = self._models[graph.inlined] = Model(
            graph,
            Regions(graph, self.regions.sizes, self.regions, self.regions.guess),
            self.machine,
        )
        made._works, made._speeds = self._works, self._speeds
        made._copies, made._models = self._copies, self._models
        made._frames, made._blocks = self._frames, self._blocks
        made.plain = self.plain
        return made

    def work(self, stage: Stage) -> Work:
        found = self._works.get(stage)
        if found is None:
            found = self._works[stage] = Work(stage)
        return found

    def speed(self, stage: Stage, loops: Loops) -> Speed:
        key = (stage, loops)
        found = self._speeds.get(key)
        if found is None:
            own = stage.func.args
            vector = own[loops.vector] if loops.vector >= 0 else None
            if vector is not None and vector not in stage.pure:
                vector = None
            block = {v: loops.block[own.index(v)] for v in stage.pure}
            spans = self.regions.domain(stage.rdom)
            trips = {
                v: max(1, int(hi - lo + 1))
                for v, (lo, hi) in zip(stage.rvars, spans, strict=True)
            }
            found = self._speeds[key] = stage_speed(
                self.work(stage),
                self.machine,
                vector,
                loops.lanes if vector is not None else 1,
                block,
                trips,
                loops.local,
                self._sharing(stage, loops),
                self._tables(stage),
            )
        return found

    def _tables(self, stage: Stage) -> dict[Source, int]:
        """The Funcs that a stage reads which fit a few registers, and their bytes."""
        found: dict[Source, int] = {}
        if self.machine.vector_bytes >= WIDTH:
            for s in stage.sources():
                if isinstance(s, Function):
                    size = element_bytes(s) * math.prod(self.extents(s))
                    if size <= WIDTH * MOST:
                        found[s] = size
        return found

    def _sharing(self, stage: Stage, loops: Loops) -> tuple[float, float]:
        """What is left of operations and loads of a block's points."""
        if stage.index or stage.rvars or loops.vector < 0:
            return 1.0, 1.0
        counts = [
            (d, n) for d, n in enumerate(loops.block) if n > 1 and d != loops.vector
        ]
        return self.shared(stage, tuple(counts))

    def shared(
        self, stage: Stage, counts: tuple[tuple[int, int], ...]
    ) -> tuple[float, float]:
        """What is left of operations and loads when so many points of each of these
        dimensions are computed together (`Copies.left`)."""
        own, whole = stage.func.args, self.regions.bounds[stage.func]
        known: list[int] = []
        rows: list[tuple[int, int]] = []
        for d, n in counts:
            lo, hi = whole[d]
            if n == hi - lo + 1:
                known.append(d)
            else:
                rows.append((d, n))
        if (
            not counts
            or len(rows) > 1
            or math.prod(n for _, n in counts) > _MOST_COPIES
        ):
            return 1.0, 1.0
        (row, count) = rows[0] if rows else (-1, 1)
        key = stage, row, tuple([(d, whole[d]) for d in known])
        found = self._copies.get(key)
        if found is None:
            found = self._copies[key] = Copies(
                stage,
                own[row] if row >= 0 else None,
                {own[d]: range(whole[d][0], whole[d][1] + 1) for d in known},
            )
        return found.left(count)

    def reader(self, source: Source, funcs: Sequence[Function]) -> Function | None:
        """The one of these Funcs that reads a source, if it is just one, which mentions
        it itself, and the source can have a wrapper."""
        if isinstance(source, BufferSym) and source.bound is not None:
            return None
        found = [
            f for f in funcs if any(source in s.sources() for s in self.graph.stages[f])
        ]
        if len(found) != 1:
            return None
        mentions = any(source in d.mentions() for d in found[0].stages())
        inlined = any(
            source in d.mentions() for g in self.graph.inlined for d in g.stages()
        )
        return found[0] if mentions and not inlined else None

    def extents(self, f: Function) -> list[int]:
        """How much of each dimension of a Func a whole run needs, a point at least."""
        return [max(1, hi - lo + 1) for lo, hi in self.regions.bounds[f]]

    # One Func over one box.

    def one_block(self, f: Function, loops: Loops) -> float:
        """Nanoseconds in the core for all stages over one block."""
        key = self.graph.stages[f], loops
        found = self._blocks.get(key)
        if found is None:
            found = self._blocks[key] = float(self.computing(f, loops, loops.block))
        return found

    def computing(self, f: Function, loops: Loops, box: Sequence[Any]) -> Any:
        """Nanoseconds in the core for all stages over a box of these extents: numbers,
        or arrays of candidates."""
        rounded = math.ceil if isinstance(box[0] if box else 1, int) else np.ceil
        steps = [rounded(e / b) for e, b in zip(box, loops.block, strict=True)]
        total: Any = 0.0
        own, whole = f.args, self.extents(f)
        # The innermost loop is the first that a block does not do all of.
        open_ = [d for d in loops.order if loops.block[d] < whole[d]]
        for stage in self.graph.stages[f]:
            blocks: Any = 1
            inner: Any = 1
            pure = stage.pure
            for d, v in enumerate(own):
                if v in pure:
                    blocks = blocks * steps[d]
                    if open_ and d == open_[0]:
                        inner = steps[d]
            one = self.speed(stage, loops).block
            # A box that is empty has no rows.
            rows = blocks / np.maximum(inner, 1)
            total = total + blocks * (one + _BLOCK) + rows * self.machine.row
        return total

    # One group.

    def group(
        self,
        root: Function,
        members: Mapping[Function, Level],
        loops: Mapping[Function, Loops],
        tiles: Tiles,
    ) -> Costs:
        """The cost of a group for each candidate tile. `members` are in the order of
        consumers before producers."""
        frame = self._frames.of(self, root, tuple(members), loops[root], tiles)
        return _GroupCost(frame, members, loops).costs()


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a group, computed inside a loop level.

    stored: bytes of one run's results. traffic: bytes written and read in all.
    computing: nanoseconds of the core in all.
    """

    level: int
    stored: Numbers
    traffic: Numbers
    computing: Numbers


class _Frame:
    """What a group costs wherever its members are computed.

    geometry: of its root. computing: the core's time for the root. written: the time of
    writing the root. threads, tasks: how many threads the tiles keep busy, and how many
    tasks there are. pages, packed: see `_find_pages`.
    """

    def __init__(self, model: Model, geometry: Geometry, members: Sequence[Function]):
        self.model, self.geometry, self.machine = model, geometry, model.machine
        self.root = geometry.root
        self.runs = geometry.instances[geometry.tile_level]
        self.computing = self.runs * model.computing(
            self.root, geometry.own, geometry.tile
        )
        self.written = self._written()
        self.threads, self.tasks = self._find_threads()
        self.pages, self.packed = self._find_pages((self.root, *members))
        self._members: dict[tuple[Function, Level, Loops], _Member] = {}

    def member(self, m: Function, at: Level, loops: Loops) -> _Member:
        """What a member costs at a level."""
        found = self._members.get((m, at, loops))
        if found is None:
            found = self._members[m, at, loops] = self._member(m, at, loops)
        return found

    def _member(self, m: Function, at: Level, loops: Loops) -> _Member:
        geometry = self.geometry
        level = geometry.tile_level if at is Level.TILE else 0
        if at is Level.ROW:
            level = geometry.row_level
        runs = geometry.instances[level]
        box = list(geometry.box(m)[:, level])
        one = self.model.computing(m, loops, box)
        if at is Level.ROW and geometry.tiles.row >= 0:
            # The first row of a tile computes all that it needs, others what is new.
            later = self.model.computing(m, loops, self._new_in_row(m, box))
            one = later + (one - later) / geometry.rows
        stored = geometry.volumes(m)[level]
        return _Member(
            level, stored, 2 * stored * runs, runs * (one + self.machine.produce)
        )

    def _new_in_row(self, m: Function, box: list[Numbers]) -> list[Numbers]:
        """What a row has to compute that the row before it has not."""
        both = self.geometry.box(m)[:, -1]
        made = list(box)
        grown = [d for d in range(len(box)) if (both[d] > box[d]).any()]
        if len(grown) == 1:
            (d,) = grown
            made[d] = np.minimum(both[d] - box[d], box[d])
        return made

    def _written(self) -> Numbers:
        machine, geometry = self.machine, self.geometry
        size = float(element_bytes(self.root)) * float(np.prod(geometry.full))
        if size <= machine.l2 * 0.5:
            price = machine.near_byte
        elif self.root in self.model.graph.outputs:
            price = machine.streamed
        else:
            price = machine.far_write
        written = np.full(geometry.count, size * price)
        if geometry.full and size > machine.l2 * 0.5:
            # Pieces of rows: far memory is fetched and written ahead within a row.
            pieces = self.runs
            for t in geometry.tile[1:]:
                pieces = pieces * t
            parts = geometry.tile[0] < geometry.full[0]
            written = written + np.where(parts, pieces * machine.piece, 0.0)
        return written

    def _find_threads(self) -> tuple[Numbers, Numbers]:
        threads = self.machine.threads
        trips: Numbers = np.ones(self.geometry.count)
        # From the outermost loop inwards, as many as are needed.
        for n in reversed(self.geometry.trips[self.geometry.tile_level :]):
            trips = np.where(trips >= 4 * threads, trips, trips * n)
        rounds = np.ceil(trips / threads)
        return trips / rounds, trips

    def _find_pages(
        self, funcs: Sequence[Function]
    ) -> tuple[Numbers, dict[tuple[Source, Function], NDArray[np.bool_]]]:
        """Nanoseconds that blocks lose to pages that they come back to too late, or to
        copying what they need into dense memory, tile by tile, where that is less."""
        machine, geometry = self.machine, self.geometry
        level = geometry.tile_level
        blocks, tiles = geometry.instances[0], self.runs
        total: Numbers = np.zeros(geometry.count)
        packed: dict[tuple[Source, Function], NDArray[np.bool_]] = {}
        for s in geometry.outside:
            pages = geometry.pages(s)
            if pages[0].max() <= _NEAR_PAGES:
                continue
            loss = blocks * self._page_time(pages[0])
            reader = self.model.reader(s, funcs)
            if reader is not None:
                volumes = geometry.volumes(s)
                dense = blocks * self._page_time(volumes[0] / PAGE)
                copied = volumes[level] / machine.vector_bytes
                copying = tiles * (
                    copied * (machine.load + machine.store)
                    + self._page_time(pages[level])
                    + machine.produce
                )
                fits = volumes[level] <= machine.l2 * 0.6
                there = level < len(geometry.trips)
                better = fits & there & (tiles > 1) & (dense + copying < loss)
                loss = np.where(better, dense + copying, loss)
                packed[s, reader] = better
            total = total + loss
        return total, packed

    def _page_time(self, pages: Numbers) -> Numbers:
        """Touching so many pages in turn, again and again."""
        machine = self.machine
        each = np.where(pages > _FAR_PAGES, machine.far_page, machine.page)
        return np.where(pages > _NEAR_PAGES, pages * each, 0.0)


class _Frames:
    """The frames of the group that was looked at last: the search goes on to other
    levels for its members, and seldom comes back to it when it has left it."""

    def __init__(self) -> None:
        self._group: object = None
        self._known: dict[tuple[Loops, Tiles], _Frame] = {}

    def of(
        self,
        model: Model,
        root: Function,
        members: tuple[Function, ...],
        own: Loops,
        tiles: Tiles,
    ) -> _Frame:
        graph = model.graph
        group = graph.inlined, [graph.stages[f] for f in (root, *members)]
        if group != self._group:
            self._group = group
            self._known.clear()
        found = self._known.get((own, tiles))
        if found is None:
            geometry = Geometry(model.regions, root, members, own, tiles)
            found = self._known[own, tiles] = _Frame(model, geometry, members)
        return found


class _GroupCost:
    """The evaluation of one group, with its members at certain levels."""

    def __init__(
        self,
        frame: _Frame,
        members: Mapping[Function, Level],
        loops: Mapping[Function, Loops],
    ) -> None:
        self.frame, self.levels = frame, members
        self.members = [frame.member(m, at, loops[m]) for m, at in members.items()]
        self.geometry, self.machine = frame.geometry, frame.machine

    def costs(self) -> Costs:
        frame, machine = self.frame, self.machine
        near, far, written = self._traffic()
        compute = frame.computing
        for m in self.members:
            compute = compute + m.computing
        compute = compute + frame.pages
        moving = near * machine.near_byte + far * machine.far_byte
        moving = moving + written
        greater, lesser = np.maximum(compute, moving), np.minimum(compute, moving)
        serial = greater + _UNHIDDEN * lesser
        parallel, tasks = frame.threads, frame.tasks
        total = serial / parallel + tasks * machine.task / machine.threads
        terms = {
            "compute": compute,
            "near bytes": near,
            "far bytes": far,
            "writing": written,
            "pages": frame.pages,
            "threads": parallel,
            "tasks": tasks,
        }
        return Costs(total, terms, frame.packed)

    def _live(self) -> list[Numbers | None]:
        """For each member that is computed once a tile, the bytes that are touched from
        when it is computed to when it is read last. None for members further in."""
        geometry, graph = self.geometry, self.frame.model.graph
        level = geometry.tile_level
        # What runs while the root's loops do: by then, some members are read no more.
        inner: Any = geometry.touched[level]
        for m in self.members:
            if m.level != level:
                inner = inner + m.stored
        place = {f: k for k, f in enumerate(self.levels, 1)}
        live: list[Numbers | None] = []
        for k, f in enumerate(self.levels, 1):
            if self.levels[f] is not Level.TILE:
                live.append(None)
                continue
            # Whatever is not computed once a tile runs after all that is.
            last = min(
                [
                    place[c] if self.levels.get(c) is Level.TILE else 0
                    for c in graph.consumers[f]
                ],
                default=0,
            )
            own = self.members[k - 1].stored
            if last:
                # Its first rows go where those of its reader come.
                made = np.maximum(own, self.members[last - 1].stored)
            else:
                made = inner + own
            for other in range(last + 1, k):
                m = self.members[other - 1]
                if m.level == level:
                    made = made + m.stored
            live.append(made)
        return live

    def _traffic(self) -> tuple[Numbers, Numbers, Numbers]:
        """Bytes that come from the second-level cache, bytes from beyond it, and the
        time of writing what leaves the group."""
        machine, geometry = self.machine, self.geometry
        # Wherever a member is computed, it is there while the loops inside run.
        stored = sum([m.stored for m in self.members], np.zeros(geometry.count))
        sets = geometry.touched + stored
        # Those of both caches: caches by levels by candidates.
        first, last = machine.l1 * 0.8, machine.l2 * 0.8
        fits = sets <= np.array([first, last])[:, None, None]
        near: Numbers = np.zeros(geometry.count)
        far: Numbers = np.zeros(geometry.count)
        spilt: Numbers = np.zeros(geometry.count)
        if geometry.outside:
            volumes = geometry.incoming
            # From beyond each cache: caches by sources by candidates.
            loaded = np.stack([volumes[:, 0], volumes[:, 0]])
            for level, n in enumerate(geometry.trips):
                anew = n * loaded
                once = np.minimum(volumes[:, level + 1], anew)
                loaded = np.where(fits[:, None, level], once, anew)
            near, far = loaded.sum(axis=1)
        for m, live in zip(self.members, self._live(), strict=True):
            near = near + ~fits[0, m.level] * m.traffic
            out = (~fits[1, m.level] if live is None else live > last) * m.traffic
            far = far + out
            spilt = spilt + out / 2
        extra = machine.far_write - machine.far_byte
        return near, far, self.frame.written + spilt * extra


__all__ = ["Costs", "Model", "Tiles"]
