"""What a group of Funcs costs under given loops: the default scheduler's cost model.

Time is that of the core (`throughput`), or of moving data between the caches where that
takes longer, and some of the lesser of both; it is summed over what runs on one thread
and divided by how well the parallel loop fills the threads. All candidate tiles of a
group are evaluated at once, as NumPy arrays.

Traffic is counted loop by loop, from the blocks outwards: a loop whose single iteration
fits in a cache takes from beyond that cache each byte once; one that does not takes it
anew in every iteration. Members that go on from row to row read, and are read, by the
row. Those that are computed once a tile have loops of their own, which count likewise
(`rereading`); each line that these write is fetched first, and written back later. What
they store has to stay in the second-level cache only until it is read last.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.core import Core
from parhelion.autoschedule.model.frames import Frame, Frames
from parhelion.autoschedule.model.geometry import Numbers, Tiles
from parhelion.autoschedule.model.inlinings import Inlinings
from parhelion.autoschedule.model.pages import Copied
from parhelion.autoschedule.model.plan import Level, Loops
from parhelion.autoschedule.model.rereading import rooms
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, Source
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function


@dataclass(frozen=True)
class Costs:
    """For each candidate tile: nanoseconds in all, and by part; and of a source that is
    packed for its reader (see `plan.Packed`) over how many loops, -1 if it is not."""

    total: Numbers
    terms: Mapping[str, Numbers]
    packed: Copied


class Model(Core, Inlinings):
    """Costs in one graph, and in those in which more or less of it is inlined."""

    def __init__(self, graph: Graph, regions: Regions, machine: Machine) -> None:
        Inlinings.__init__(self, graph, regions)
        Core.__init__(self, graph, regions, machine)
        self._frames = Frames()
        #: What `shapes.plain_loops` has found, by stages and extents.
        self.plain: dict[tuple[tuple[GraphStage, ...], tuple[int, ...]], Loops] = {}

    def again(self, graph: Graph, regions: Regions) -> Self:
        made = type(self)(graph, regions, self.machine)
        made.know(self)
        made._frames, made.plain = self._frames, self.plain
        return made

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


class _GroupCost:
    """The evaluation of one group, with its members at certain levels."""

    def __init__(
        self,
        frame: Frame,
        members: Mapping[Function, Level],
        loops: Mapping[Function, Loops],
    ) -> None:
        self.frame, self.levels = frame, members
        self.members = [frame.member(m, at, loops[m]) for m, at in members.items()]
        self.geometry, self.machine = frame.geometry, frame.machine
        self.nest = frame.nest
        self.loops = {m: loops[m] for m in members}
        self.rows = tuple([m for m, at in members.items() if at is Level.ROW])
        self.blocks = tuple([m for m, at in members.items() if at is Level.BLOCK])

    def costs(self) -> Costs:
        frame, machine = self.frame, self.machine
        near, far, written = self._traffic()
        compute, core = frame.computing, frame.core
        for (f, made), m in zip(self.loops.items(), self.members, strict=True):
            compute = compute + frame.waiting(f, made, m.computing)
            core = core + m.computing
        waiting = compute - core
        compute = compute + frame.pages
        # Each of the two caches moves what it has while the other does, too.
        share = machine.unhidden
        beyond = far * machine.far_byte + written
        moving = _beside(near * machine.near_byte, beyond, share)
        serial = _beside(compute, moving, share)
        parallel, tasks = frame.of.threads, frame.of.tasks
        total = serial / parallel + tasks * machine.task / machine.threads
        if machine.threads > 1:
            # One thread does what is done before the others have begun.
            alone = serial <= total + machine.wake
            total = np.where(alone, serial, total)
            parallel = np.where(alone, 1.0, parallel)
            tasks = np.where(alone, 0.0, tasks)
        terms = {
            "compute": compute,
            "waiting": waiting,
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
        machine, nest = self.machine, self.nest
        fits = self._fits()
        near: Numbers = np.zeros(nest.count)
        far: Numbers = np.zeros(nest.count)
        lost: Numbers = np.zeros(nest.count)
        if self.sources:
            loaded = self._loaded_by_rows(fits)
            loaded, kept = self._loaded_by_tiles(loaded, fits)
            near, far = loaded.sum(axis=1)
            near = near + ~fits[0, nest.tile_level] * kept
            for k, share in enumerate(self.frame.gone):
                lost = lost + share * loaded[1, k]
        for m in self.members:
            near = near + ~fits[0, m.level] * m.traffic
        spilt, beyond = self._spilt(fits[1], rooms(machine)[1])
        far = far + spilt
        extra = machine.far_write - machine.far_byte
        written = self.frame.of.written + spilt / 2 * extra
        written = written + (lost + beyond) * machine.lost_byte
        return near, far, written

    @cached_property
    def kept(self) -> tuple[Function, ...]:
        """The members that are computed once a tile."""
        return tuple([m for m, at in self.levels.items() if at is Level.TILE])

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """What loops may read from beyond a cache: what is outside, and then `kept`."""
        return (*self.geometry.outside, *self.kept)

    @cached_property
    def volumes(self) -> Numbers:
        """Bytes that the root's loops need of the sources: by levels by candidates."""
        inside = tuple([m for m in self.levels if m not in self.kept])
        return self.geometry.read_inside(self.sources, inside)

    def _fits(self) -> NDArray[np.bool_]:
        """Whether the first- and the second-level cache hold what one run of the inside
        of each level touches: caches by levels by candidates."""
        tile = self.nest.tile_level
        # Wherever a member is computed, it is there while the loops inside run; of one
        # that is computed once a tile, these touch what they read of it.
        inner: Any = self.nest.own_bytes
        if self.sources:
            inner = inner + self.volumes[:, :-1].sum(axis=0)
        outer: Any = self.geometry.touched
        for m, at in zip(self.members, self.levels.values(), strict=True):
            outer = outer + m.stored
            if at is not Level.TILE:
                inner = inner + m.stored
        sets = np.concatenate([inner[:tile], outer[tile:]])
        made: NDArray[np.bool_] = sets <= rooms(self.machine)[:, None, None]
        return made

    def _loaded_by_rows(self, fits: NDArray[np.bool_]) -> Numbers:
        """Bytes that the root's loops of one tile take of the sources from beyond each
        cache: caches by sources by candidates."""
        volumes = self.volumes
        loaded = np.stack([volumes[:, 0], volumes[:, 0]])
        for level in range(self.nest.tile_level):
            anew = self.nest.trips[level] * loaded
            if level == self.nest.row_level and self.rows:
                anew = anew * self.frame.read_in_row(
                    self.sources, self.rows, self.blocks, volumes[:, level]
                )
            once = np.minimum(volumes[:, level + 1], anew)
            loaded = np.where(fits[:, None, level], once, anew)
        return loaded

    def _loaded_by_tiles(
        self, loaded: Numbers, fits: NDArray[np.bool_]
    ) -> tuple[Numbers, Numbers]:
        """Bytes that all tiles take of what is outside from beyond each cache, and of
        what is kept for a tile from beyond the first. loaded: what the root's loops
        take of all sources in one tile."""
        geometry, nest = self.geometry, self.nest
        for m in self.members:
            for s, read in m.read.items():
                k = self.sources.index(s)
                loaded[:, k] = loaded[:, k] + read
        count = len(geometry.outside)
        kept = loaded[0, count:].sum(axis=0) * self.frame.of.runs
        loaded, volumes = loaded[:, :count], geometry.incoming
        if self.kept:
            once = np.minimum(volumes[:, nest.tile_level], loaded)
            loaded = np.where(fits[:, None, nest.tile_level], once, loaded)
        for level in range(nest.tile_level, len(nest.trips)):
            anew = nest.trips[level] * loaded
            once = np.minimum(volumes[:, level + 1], anew)
            loaded = np.where(fits[:, None, level], once, anew)
        return loaded, kept


def _beside(a: Numbers, b: Numbers, unhidden: float) -> Numbers:
    """The time of what overlaps: that of the longer, and a share of the other."""
    return np.asarray(np.maximum(a, b) + unhidden * np.minimum(a, b))


__all__ = ["Costs", "Model", "Tiles"]
