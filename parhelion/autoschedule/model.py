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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.cost import Copies, Work, element_bytes
from parhelion.autoschedule.geometry import Geometry, Need, Nest, Numbers, Tiles
from parhelion.autoschedule.graph import Graph, Source, Stage
from parhelion.autoschedule.machine import Machine
from parhelion.autoschedule.members import Member, new_in_row, rounded_up
from parhelion.autoschedule.packing import Copied, lost_to_pages
from parhelion.autoschedule.plan import Level, Loops
from parhelion.autoschedule.regions import Regions
from parhelion.autoschedule.throughput import Speed, looked_up, stage_speed
from parhelion.autoschedule.waiting import Rows, in_order
from parhelion.codegen.tables import MOST, WIDTH
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym
from parhelion.lower.prefetch_streams import LINE

#: How much of the lesser of two overlapping times is not hidden by the greater.
_UNHIDDEN = 0.25
#: So many tasks for each thread there are at least, if there are loops for them.
FEW_TASKS = 4
#: For how much of a task other threads wait in the end.
_LAST_TASK = 0.1
#: Blocks of more points are not looked at for what their points share.
_MOST_COPIES = 32
#: Of so many roots in loops is known what they need.
_MOST_ROOTS = 64


@dataclass(frozen=True)
class Costs:
    """For each candidate tile: nanoseconds in all, and by part; and of a source that is
    packed for its reader (see `plan.Packed`) over how many loops, -1 if it is not."""

    total: Numbers
    terms: Mapping[str, Numbers]
    packed: Copied


class Model:
    """Costs in one graph; what stages cost in the core is computed once."""

    def __init__(self, graph: Graph, regions: Regions, machine: Machine) -> None:
        self.graph, self.regions, self.machine = graph, regions, machine
        self._works: dict[Stage, Work] = {}
        self._copies: dict[object, Copies] = {}
        self._speeds: dict[tuple[Stage, Loops], Speed] = {}
        self._models: dict[frozenset[Function], Model] = {graph.inlined: self}
        self._blocks: dict[tuple[tuple[Stage, ...], Loops], float] = {}
        self._counts: dict[
            tuple[tuple[Stage, ...], Loops], Sequence[tuple[Sequence[int], int, float]]
        ] = {}
        self._extents: dict[Function, Sequence[int]] = {}
        self._foreseen: dict[tuple[tuple[Stage, ...], int], list[Source]] = {}
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
        made._counts, made._extents = self._counts, self._extents
        made._foreseen = self._foreseen
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
            found = self._speed(stage, loops, vector)
            if vector is not None and looked_up(stage, vector):
                # One after the other, what lanes do in pieces may take less.
                block = list(loops.block)
                count, block[loops.vector] = block[loops.vector], 1
                one = self._speed(stage, replace(loops, block=tuple(block)), None)
                if one.block * count < found.block:
                    found = Speed(one.block * count, one.registers)
            self._speeds[key] = found
        return found

    def _speed(self, stage: Stage, loops: Loops, vector: Var | None) -> Speed:
        own = stage.func.args
        spans = self.regions.domain(stage.rdom)
        trips = {
            v: max(1, int(hi - lo + 1))
            for v, (lo, hi) in zip(stage.rvars, spans, strict=True)
        }
        return stage_speed(
            self.work(stage),
            self.machine,
            vector,
            loops.lanes if vector is not None else 1,
            {v: loops.block[own.index(v)] for v in stage.pure},
            trips,
            loops.local,
            self._sharing(stage, loops),
            self._tables(stage),
        )

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

    def extents(self, f: Function) -> Sequence[int]:
        """How much of each dimension of a Func a whole run needs, a point at least."""
        found = self._extents.get(f)
        if found is None:
            found = tuple([max(1, hi - lo + 1) for lo, hi in self.regions.bounds[f]])
            self._extents[f] = found
        return found

    def foreseen(self, f: Function, loops: Loops) -> list[Source]:
        """What a Func reads in the order of memory (see `in_order`)."""
        stages = self.graph.stages[f]
        key = stages, loops.vector
        found = self._foreseen.get(key)
        if found is None:
            vector = f.args[loops.vector] if loops.vector >= 0 else None
            loads = [a for stage in stages for a in self.work(stage).loads]
            found = [s for s in in_order(loads, vector) if s is not f]
            self._foreseen[key] = found
        return found

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
        if box and isinstance(box[0], int):
            steps = [-(-e // b) for e, b in zip(box, loops.block, strict=True)]
        else:
            # Boxes have whole numbers of points.
            steps = [
                e if b == 1 else np.ceil(e / b)
                for e, b in zip(box, loops.block, strict=True)
            ]
        total: Any = 0.0
        for dimensions, inner, one in self._counted(f, loops):
            blocks: Any = 1
            for d in dimensions:
                blocks = blocks * steps[d]
            # A box that is empty has no rows.
            rows = blocks / np.maximum(steps[inner], 1) if inner >= 0 else blocks
            total = total + blocks * one + rows * self.machine.row
        return total

    def _counted(
        self, f: Function, loops: Loops
    ) -> Sequence[tuple[Sequence[int], int, float]]:
        """For each stage: the dimensions that it has loops over, the innermost of those
        that a block does not do all of (-1: none), and the time of one block."""
        stages = self.graph.stages[f]
        found = self._counts.get((stages, loops))
        if found is None:
            whole = self.extents(f)
            # The innermost loop is the first that a block does not do all of.
            open_ = [d for d in loops.order if loops.block[d] < whole[d]][:1]
            found = self._counts[stages, loops] = [
                (
                    s.dimensions,
                    open_[0] if open_ and open_[0] in s.dimensions else -1,
                    self.speed(s, loops).block + self.machine.block,
                )
                for s in stages
            ]
        return found

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


class _Root:
    """What a root costs in its loops, whatever is computed inside of them.

    runs: of tiles. written: the time of writing it. threads, tasks: how many threads
    the tiles keep busy, and how many tasks there are.
    """

    def __init__(self, model: Model, nest: Nest) -> None:
        self.nest, self.machine = nest, model.machine
        self.runs = nest.instances[nest.tile_level]
        self.written = self._written(nest.root in model.graph.outputs)
        self.threads, self.tasks = self._find_threads()

    def _written(self, output: bool) -> Numbers:
        machine, nest = self.machine, self.nest
        size = float(element_bytes(nest.root)) * float(np.prod(nest.full))
        if size <= machine.l2 * 0.5:
            price = machine.near_byte
        elif output and machine.vector_bytes >= LINE:
            # With narrower registers it depends on where arrays lie.
            price = machine.streamed
        else:
            price = machine.far_write
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


class _Frame:
    """What a group costs wherever its members are computed.

    geometry: of its root. computing: the core's time for the root. pages, packed: see
    `packing.lost_to_pages`.
    """

    def __init__(
        self, model: Model, of: _Root, geometry: Geometry, members: Sequence[Function]
    ) -> None:
        self.model, self.of, self.geometry = model, of, geometry
        self.machine, self.nest = model.machine, of.nest
        self.rows = Rows(geometry, of.runs, model.regions, model.machine)
        self.computing = self._computing()
        self.computing = self.waiting(self.nest.root, self.nest.own, self.computing)
        funcs = (self.nest.root, *members)
        self.pages, self.packed = lost_to_pages(
            geometry, lambda s: model.reader(s, funcs), model.machine
        )

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
        key = self.model.graph.stages[m], at, loops
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
        if at is Level.ROW and nest.tiles.row >= 0:
            # The first row of a tile computes all that it needs, others what is new.
            later = self.model.computing(m, loops, new_in_row(need, box))
            one = later + (one - later) / nest.rows
        stored = need.volumes[level] * rounded_up(box, loops)
        return Member(
            level, stored, 2 * stored * runs, runs * (one + self.machine.produce)
        )


class _Frames:
    """The frames of the group that was looked at last: the search goes on to other
    levels for its members, and seldom comes back to it when it has left it."""

    def __init__(self) -> None:
        self._group: object = None
        self._known: dict[tuple[Loops, Tiles], _Frame] = {}
        self._roots: dict[tuple[Function, Loops, Tiles], _Root] = {}

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
            of = self._root(model, root, own, tiles)
            geometry = Geometry(of.nest, model.regions, members)
            found = self._known[own, tiles] = _Frame(model, of, geometry, members)
        return found

    def _root(self, model: Model, root: Function, own: Loops, tiles: Tiles) -> _Root:
        found = self._roots.pop((root, own, tiles), None)
        if found is None:
            found = _Root(model, Nest(model.regions, root, own, tiles))
            if len(self._roots) >= _MOST_ROOTS:
                del self._roots[next(iter(self._roots))]
        # The one that was used last is the last that is forgotten.
        self._roots[root, own, tiles] = found
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
        self.nest = frame.nest
        self.loops = {m: loops[m] for m in members}

    def costs(self) -> Costs:
        frame, machine = self.frame, self.machine
        near, far, written = self._traffic()
        compute = frame.computing
        for (f, made), m in zip(self.loops.items(), self.members, strict=True):
            compute = compute + frame.waiting(f, made, m.computing)
        compute = compute + frame.pages
        moving = near * machine.near_byte + far * machine.far_byte
        moving = moving + written
        greater, lesser = np.maximum(compute, moving), np.minimum(compute, moving)
        serial = greater + _UNHIDDEN * lesser
        parallel, tasks = frame.of.threads, frame.of.tasks
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

    def _spilt(self, fits: NDArray[np.bool_], room: float) -> tuple[Numbers, Numbers]:
        """Bytes that members write to beyond the second-level cache, and read again;
        and how many of them a thread's share of the last level does not hold, either.

        What is computed further in than once a tile is kept while the loops around its
        place run. What is computed once a tile has to stay from then until it is read
        last. fits: whether the cache holds all that is touched, levels by candidates.
        """
        graph, levels = self.frame.model.graph, self.levels
        level = self.nest.tile_level
        spilt: Numbers = np.zeros(self.nest.count)
        lost: Numbers = np.zeros(self.nest.count)
        share = self.machine.shared / self.machine.threads
        # What runs while the root's loops do: by then, some members are read no more.
        inner: Any = self.geometry.touched[level]
        # Bytes of those that are computed once a tile, and come so early in `levels`.
        before: list[Any] = [0.0]
        for m, at in zip(self.members, levels.values(), strict=True):
            if at is Level.TILE:
                before.append(before[-1] + m.stored)
            else:
                inner = inner + m.stored
                before.append(before[-1])
                spilt = spilt + ~fits[m.level] * m.traffic
        # Whatever is not computed once a tile runs after all that is.
        place = {f: k for k, f in enumerate(levels, 1) if levels[f] is Level.TILE}
        for f, k in place.items():
            last = min([place.get(c, 0) for c in graph.consumers[f]], default=0)
            m = self.members[k - 1]
            if last:
                # Its first rows go where those of its reader come.
                live = np.maximum(m.stored, self.members[last - 1].stored)
                live = live + (before[k - 1] - before[last])
            else:
                live = inner + before[k]
            spilt = spilt + (live > room) * m.traffic
            # Of what goes round, the last level keeps a part.
            lost = lost + np.clip(live / share - 1, 0, 1) * m.traffic
        return spilt, lost

    def _traffic(self) -> tuple[Numbers, Numbers, Numbers]:
        """Bytes that come from the second-level cache, bytes from beyond it, and the
        time of writing what leaves the group."""
        machine, geometry, nest = self.machine, self.geometry, self.nest
        # By level, what members store there and how much of that moves.
        stored: dict[int, Numbers] = {}
        moved: dict[int, Numbers] = {}
        for m in self.members:
            at = m.level
            if at in stored:
                stored[at] = stored[at] + m.stored
                moved[at] = moved[at] + m.traffic
            else:
                stored[at], moved[at] = m.stored, m.traffic
        # Wherever a member is computed, it is there while the loops inside run.
        sets = geometry.touched
        for one in stored.values():
            sets = sets + one
        # Those of both caches: caches by levels by candidates.
        first, last = machine.l1 * 0.8, machine.l2 * 0.8
        fits = sets <= np.array([first, last])[:, None, None]
        near: Numbers = np.zeros(nest.count)
        far: Numbers = np.zeros(nest.count)
        if geometry.outside:
            volumes = geometry.incoming
            # From beyond each cache: caches by sources by candidates.
            loaded = np.stack([volumes[:, 0], volumes[:, 0]])
            for level, n in enumerate(nest.trips):
                anew = n * loaded
                once = np.minimum(volumes[:, level + 1], anew)
                loaded = np.where(fits[:, None, level], once, anew)
            near, far = loaded.sum(axis=1)
        for at, one in moved.items():
            near = near + ~fits[0, at] * one
        spilt, lost = self._spilt(fits[1], last)
        far = far + spilt
        extra = machine.far_write - machine.far_byte
        written = self.frame.of.written + spilt / 2 * extra + lost * machine.lost_byte
        return near, far, written


__all__ = ["FEW_TASKS", "Costs", "Model", "Tiles"]
