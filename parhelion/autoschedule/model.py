"""What a group of Funcs costs under given loops: the default scheduler's cost model.

Time is that of the core (`throughput`), or of moving data between the caches where that
takes longer, and some of the lesser of both; it is summed over what runs on one thread
and divided by how well the parallel loop fills the threads. All candidate tiles of a
group are evaluated at once, as NumPy arrays.

Traffic is counted loop by loop, from the blocks outwards: a loop whose single iteration
fits in a cache takes from beyond that cache each byte once; one that does not takes it
anew in every iteration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.cost import Work, element_bytes, shared
from parhelion.autoschedule.graph import Graph, Source, Stage
from parhelion.autoschedule.machine import Machine
from parhelion.autoschedule.plan import Level, Loops
from parhelion.autoschedule.regions import Regions
from parhelion.autoschedule.throughput import Speed, stage_speed
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym

Numbers = NDArray[np.float64]

#: How much of the lesser of two overlapping times is not hidden by the greater.
_UNHIDDEN = 0.25
#: Nanoseconds of one block, whatever is in it.
_BLOCK = 1.0
#: Bytes of a page, and how many of them the translation buffers know.
_PAGE, _NEAR_PAGES, _FAR_PAGES = 4096, 64, 1024


@dataclass(frozen=True)
class Tiles:
    """Candidates: for each, the points of every dimension in one tile (an array for
    each dimension), the dimensions whose tile loops are around, innermost first, and
    the dimension of the row loop."""

    sizes: tuple[Any, ...]
    outer: tuple[int, ...]
    row: int


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
        self._shared: dict[tuple[Stage, int, int], tuple[float, float]] = {}
        self._speeds: dict[tuple[Stage, Loops], Speed] = {}

    def with_inlined(self, f: Function) -> Model:
        """The model of the graph with `f` inlined, knowing what this one knows."""
        return self._with(self.graph.with_inlined(f))

    def without_inlined(self, f: Function) -> Model:
        """The model of the graph with `f` not inlined."""
        return self._with(self.graph.without_inlined(f))

    def _with(self, graph: Graph) -> Model:
        made = Model(
            graph,
            Regions(graph, self.regions.sizes, self.regions, self.regions.guess),
            self.machine,
        )
        made._works, made._speeds = self._works, self._speeds
        made._shared = self._shared
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
            )
        return found

    def _sharing(self, stage: Stage, loops: Loops) -> tuple[float, float]:
        """What is left of operations and loads where a block has several rows."""
        if stage.index or stage.rvars or loops.vector < 0:
            return 1.0, 1.0
        rows = [d for d, n in enumerate(loops.block) if n > 1 and d != loops.vector]
        if len(rows) != 1:
            return 1.0, 1.0
        key = (stage, rows[0], loops.block[rows[0]])
        found = self._shared.get(key)
        if found is None:
            v = stage.func.args[rows[0]]
            found = self._shared[key] = shared(stage, v, loops.block[rows[0]])
        return found

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

    def computing(self, f: Function, loops: Loops, box: Sequence[Any]) -> Any:
        """Nanoseconds in the core for all stages over a box of these extents: numbers,
        or arrays of candidates."""
        rounded = math.ceil if isinstance(box[0] if box else 1, int) else np.ceil
        steps = [rounded(e / b) for e, b in zip(box, loops.block, strict=True)]
        total: Any = 0.0
        own = f.args
        for stage in self.graph.stages[f]:
            blocks: Any = 1
            inner: Any = 1
            pure = stage.pure
            for d, v in enumerate(own):
                if v in pure:
                    blocks = blocks * steps[d]
                    if d == loops.order[0]:
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
        return _GroupCost(self, root, members, loops, tiles).costs()


class _GroupCost:
    """The evaluation of one group: boxes at all loop levels first, then sums."""

    def __init__(
        self,
        model: Model,
        root: Function,
        members: Mapping[Function, Level],
        loops: Mapping[Function, Loops],
        tiles: Tiles,
    ) -> None:
        self.model, self.root, self.members = model, root, members
        self.loops, self.tiles = loops, tiles
        self.machine = model.machine
        whole = model.regions.bounds[root]
        self.low = [lo for lo, _ in whole]
        self.full = [hi - lo + 1 for lo, hi in whole]
        own = loops[root]
        count = len(np.atleast_1d(np.asarray(tiles.sizes[0]))) if tiles.sizes else 1
        self.count = count
        ones = np.ones(count, dtype=np.int64)
        self.tile = [
            np.minimum(t * ones, e)
            for t, e in zip(tiles.sizes, self.full, strict=False)
        ]
        self.block = [
            np.minimum(b * ones, t) for b, t in zip(own.block, self.tile, strict=True)
        ]
        self._levels()
        self._boxes()

    def _levels(self) -> None:
        """The root's loops from the blocks outwards: (trips, extents after it)."""
        own = self.loops[self.root]
        extents = list(self.block)
        self.trips: list[Any] = []
        self.extents: list[list[Any]] = [list(extents)]
        self.row_level = 0
        for d in own.order:
            n = np.ceil(self.tile[d] / extents[d])
            extents[d] = self.tile[d]
            if d == self.tiles.row:
                # Members at ROW are computed inside this loop.
                self.row_level = len(self.trips)
            self.trips.append(n)
            self.extents.append(list(extents))
        self.tile_level = len(self.trips)
        for d in self.tiles.outer:
            n = np.ceil(self.full[d] / extents[d])
            extents[d] = np.full(self.count, self.full[d])
            self.trips.append(n)
            self.extents.append(list(extents))
        if self.tiles.row < 0:
            self.row_level = self.tile_level
        after: Any = np.ones(self.count)
        self.instances: list[Any] = [after]
        for n in reversed(self.trips):
            after = after * n
            self.instances.append(after)
        self.instances.reverse()  # instances[k]: how often the loops inside level k run

    def _boxes(self) -> None:
        """What every source needs at each level, and over two rows."""
        levels = [*self.extents]
        two = list(self.extents[self.row_level])
        row = self.tiles.row
        if row >= 0:
            two[row] = np.minimum(two[row] + self.block[row], self.full[row])
        levels.append(two)
        spans: list[tuple[Any, Any]] = []
        for d, low in enumerate(self.low):
            sizes = np.concatenate([np.asarray(level[d]) for level in levels])
            # In the middle of the image, where nothing is clamped.
            start = low + np.maximum(0, (self.full[d] - sizes) // 2)
            block = self.loops[self.root].block[d]
            start = low + (start - low) // block * block
            spans.append((start, start + sizes - 1))
        order = [self.root, *self.members]
        self.needed = self.model.regions.needed(order, {self.root: tuple(spans)})
        self._known: dict[Source, list[Any]] = {}
        self._volumes: dict[Source, Numbers] = {}

    def box(self, source: Source, level: int) -> list[Any]:
        """The extents that one run of the loops inside `level` needs of a source."""
        return [e[level] for e in self._extents(source)]

    def _extents(self, source: Source) -> list[Any]:
        """For each dimension of a source: levels by candidates."""
        found = self._known.get(source)
        if found is None:
            shape = (len(self.extents) + 1, self.count)
            found = []
            # What is never read is not needed at all.
            for lo, hi in self.needed.get(source, self.model.regions.bounds[source]):
                size = np.asarray(hi - lo + 1, dtype=np.float64)
                found.append(
                    np.broadcast_to(size, (shape[0] * shape[1],)).reshape(shape)
                )
            self._known[source] = found
        return found

    def volumes(self, source: Source) -> Numbers:
        """Bytes of a source that one run of the loops inside each level needs."""
        found = self._volumes.get(source)
        if found is None:
            total: Any = float(element_bytes(source))
            for e in self._extents(source):
                total = total * e
            shape = (len(self.extents) + 1, self.count)
            found = self._volumes[source] = np.broadcast_to(
                np.asarray(total, dtype=np.float64), shape
            )
        return found

    def level_of(self, member: Function) -> int:
        at = self.members[member]
        if at is Level.TILE:
            return self.tile_level
        return self.row_level if at is Level.ROW else 0

    def costs(self) -> Costs:
        compute = self._compute()
        near, far, written = self._traffic()
        pages, packed = self._pages()
        compute = compute + pages
        moving = near * self.machine.near_byte + far * self.machine.far_byte
        moving = moving + written
        greater, lesser = np.maximum(compute, moving), np.minimum(compute, moving)
        serial = greater + _UNHIDDEN * lesser
        parallel, tasks = self._threads()
        total = serial / parallel + tasks * self.machine.task / self.machine.threads
        terms = {
            "compute": compute,
            "near bytes": near,
            "far bytes": far,
            "writing": written,
            "pages": pages,
            "threads": parallel,
            "tasks": tasks,
        }
        return Costs(total, terms, packed)

    def _compute(self) -> Numbers:
        model = self.model
        root_runs = self.instances[self.tile_level]
        total = root_runs * model.computing(self.root, self.loops[self.root], self.tile)
        for m in self.members:
            at = self.level_of(m)
            runs = self.instances[at]
            box = self.box(m, at)
            if self.members[m] is Level.ROW and self.tiles.row >= 0:
                box = self._sliding(m, box)
            one = model.computing(m, self.loops[m], box)
            total = total + runs * (one + self.machine.produce)
        return np.asarray(total, dtype=np.float64)

    def _sliding(self, m: Function, box: list[Any]) -> list[Any]:
        """What a row has to compute anew: averaged over a tile, whose first row
        computes all that it needs."""
        both = self.box(m, len(self.extents))
        rows = np.maximum(1, self.trips[self.row_level])
        made = list(box)
        grown = [d for d in range(len(box)) if np.any(both[d] > box[d])]
        if len(grown) != 1:
            return made
        d = grown[0]
        new = np.minimum(both[d] - box[d], box[d])
        made[d] = new + (box[d] - new) / rows
        return made

    def _traffic(self) -> tuple[Numbers, Numbers, Numbers]:
        """Bytes that come from the second-level cache, bytes from beyond it, and the
        time of writing what leaves the group."""
        machine = self.machine
        members = set(self.members)
        outside = [s for s in self.needed if s is not self.root and s not in members]
        stored = self._stored()
        own: Any = float(element_bytes(self.root))
        for d in range(len(self.full)):
            own = own * np.array([level[d] for level in self.extents], dtype=np.float64)
        sets = stored + own
        # All sources together: sources by levels by candidates.
        volumes = np.array([self.volumes(s) for s in outside])
        if outside:
            sets = sets + volumes[:, :-1].sum(axis=0)
        fits_near, fits_far = sets <= machine.l1 * 0.8, sets <= machine.l2 * 0.8
        near: Any = np.zeros(self.count)
        far: Any = np.zeros(self.count)
        spilt: Any = np.zeros(self.count)
        if outside:
            from_near = from_far = volumes[:, 0]
            for level, n in enumerate(self.trips):
                union = volumes[:, level + 1]
                anew = n * from_near
                from_near = np.where(fits_near[level], np.minimum(union, anew), anew)
                anew = n * from_far
                from_far = np.where(fits_far[level], np.minimum(union, anew), anew)
            near, far = from_near.sum(axis=0), from_far.sum(axis=0)
        for m in self.members:
            at = self.level_of(m)
            traffic = 2 * self.volumes(m)[at] * self.instances[at]
            near = near + np.where(fits_near[at], 0, traffic)
            far = far + np.where(fits_far[at], 0, traffic)
            spilt = spilt + np.where(fits_far[at], 0, traffic / 2)
        size = float(element_bytes(self.root)) * float(np.prod(self.full))
        if size <= machine.l2 * 0.5:
            price = machine.near_byte
        elif self.root in self.model.graph.outputs:
            price = machine.streamed
        else:
            price = machine.far_write
        extra = machine.far_write - machine.far_byte
        written = np.full(self.count, size * price) + spilt * extra
        if self.full and size > machine.l2 * 0.5:
            # Pieces of rows: far memory is fetched and written ahead within a row.
            pieces = self.instances[self.tile_level]
            for t in self.tile[1:]:
                pieces = pieces * t
            parts = self.tile[0] < self.full[0]
            written = written + np.where(parts, pieces * machine.piece, 0.0)
        return (
            np.asarray(near, dtype=np.float64),
            np.asarray(far, dtype=np.float64),
            written,
        )

    def _pages(
        self,
    ) -> tuple[Numbers, dict[tuple[Source, Function], NDArray[np.bool_]]]:
        """Nanoseconds that blocks lose to pages that they come back to too late, or to
        copying what they need into dense memory, tile by tile, where that is less."""
        machine = self.machine
        blocks, tiles = self.instances[0], self.instances[self.tile_level]
        total: Any = np.zeros(self.count)
        packed: dict[tuple[Source, Function], NDArray[np.bool_]] = {}
        for s in self.needed:
            if s is self.root or s in self.members:
                continue
            loss = blocks * self._page_time(self._page_count(s)[0])
            if not np.any(loss):
                continue
            reader = self.model.reader(s, (self.root, *self.members))
            if reader is not None:
                volumes = self.volumes(s)
                dense = blocks * self._page_time(volumes[0] / _PAGE)
                copied = volumes[self.tile_level] / machine.vector_bytes
                copying = tiles * (
                    copied * (machine.load + machine.store)
                    + self._page_time(self._page_count(s)[self.tile_level])
                    + machine.produce
                )
                fits = volumes[self.tile_level] <= machine.l2 * 0.6
                there = self.tile_level < len(self.trips)
                better = fits & there & (tiles > 1) & (dense + copying < loss)
                loss = np.where(better, dense + copying, loss)
                packed[s, reader] = better
            total = total + loss
        return np.asarray(total, dtype=np.float64), packed

    def _page_time(self, pages: Numbers) -> Numbers:
        """Touching so many pages in turn, again and again."""
        machine = self.machine
        each = np.where(pages > _FAR_PAGES, machine.far_page, machine.page)
        return np.where(pages > _NEAR_PAGES, pages * each, 0.0)

    def _page_count(self, source: Source) -> Numbers:
        """How many pages of a source are touched at each level."""
        whole = self.model.regions.bounds[source]
        stride = run = float(element_bytes(source))
        pages: Any = np.ones((len(self.extents) + 1, self.count))
        first = True
        for size, (lo, hi) in zip(self._extents(source), whole, strict=True):
            if stride < _PAGE:
                run = size * stride if first else np.maximum(run, size * stride)
            else:
                pages = pages * size
            first = False
            stride *= hi - lo + 1
        return np.asarray(pages * np.ceil(run / _PAGE), dtype=np.float64)

    def _stored(self) -> Numbers:
        """Bytes of all members' storage, at each level: wherever it is computed, it is
        there while the loops inside run."""
        alive = np.zeros((len(self.extents), self.count))
        for m in self.members:
            alive += self.volumes(m)[self.level_of(m)]
        return alive

    def _threads(self) -> tuple[Numbers, Numbers]:
        """How many threads the tiles keep busy, and how many tasks there are."""
        threads = self.machine.threads
        trips: Any = np.ones(self.count)
        # From the outermost loop inwards, as many as are needed.
        for n in reversed(self.trips[self.tile_level :]):
            trips = np.where(trips >= 4 * threads, trips, trips * n)
        rounds = np.ceil(trips / threads)
        return trips / rounds, trips


__all__ = ["Costs", "Model", "Tiles"]
