"""What kernels cost on a GPU, by a model of its parts; nothing of it is measured.

A kernel takes as long as the slowest of four things, and a share of the others: what
its SMs compute and load, how long one block waits after the other, what goes through
the second-level cache, and what comes from memory; and the time of its launch. What an
SM can do at once depends on how many blocks it holds (occupancy), which their threads,
registers and shared memory decide. All candidate shapes of a kernel are evaluated at
once, as NumPy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.gpu.cards import Card
from parhelion.autoschedule.gpu.traffic import (
    WARP,
    bytes_of,
    known_when_compiled,
    loading,
    step_of,
    stored_order,
    strides_of,
    turns,
)
from parhelion.autoschedule.kernels.roles import Roles, roles
from parhelion.autoschedule.kernels.shape import Shape
from parhelion.autoschedule.kernels.write import threads_along
from parhelion.autoschedule.model.inlinings import Inlinings
from parhelion.autoschedule.model.plan import Level
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, Source
from parhelion.autoschedule.pipeline.regions import Regions, Spans, extents, hull
from parhelion.autoschedule.pipeline.work import Access, Copies, Work, element_bytes
from parhelion.dataclass import dataclass
from parhelion.ir.expr import Var
from parhelion.ir.function import Function

Numbers = NDArray[np.float64]

#: Warps of an SM, times independent operations in each, that keep it busy.
_BUSY = 16.0
#: So many independent operations of one thread at once, at most.
_AHEAD = 4
#: How much of the lesser times is not hidden behind the longest.
_UNHIDDEN = 0.2
#: Cycles of a barrier; those of an operation on memory as a whole, in turns of a warp.
_BARRIER, _ATOMIC = 30.0, 64.0
#: Cycles of an SM for a load of a warp from the threads' own memory, where each thread
#: has a place of its own to read.
_LOCAL = 8.0
#: Registers of a thread that does nothing yet.
_FRAME = 24
#: What was written by the kernel before, and fits in half of the second-level cache,
#: comes from memory in so much of all cases.
_EVICTED = 0.3
#: Nanoseconds of an operation on the host, where nothing is parallel; and of a copy.
_HOST, _COPY = 0.5, 10_000.0
#: Blocks of more points of one thread are not looked at for what they share.
_MOST_COPIES = 16


@dataclass
class Costs:
    """For each candidate: nanoseconds, infinite where no SM holds a block; what they
    come from; and operations and loads in the code, all points of a thread counted."""

    total: Numbers
    terms: Mapping[str, Numbers]
    lengths: Numbers


@dataclass(frozen=True)
class Candidates:
    """Shapes that are evaluated at once: by parallel loop, an array of each."""

    threads: tuple[NDArray[np.int64], ...]
    points: tuple[NDArray[np.int64], ...]
    apart: bool

    @staticmethod
    def of(shapes: Sequence[Shape]) -> Candidates:
        """Shapes of the same loops, all `apart` or none."""
        loops = range(len(shapes[0].threads))
        return Candidates(
            tuple([np.array([s.threads[d] for s in shapes]) for d in loops]),
            tuple([np.array([s.points[d] for s in shapes]) for d in loops]),
            shapes[0].apart,
        )

    @property
    def count(self) -> NDArray[np.int64]:
        count: NDArray[np.int64] = np.prod(np.stack(self.threads), axis=0)
        return count


class KernelModel(Inlinings):
    """Costs in one graph, and in those in which more or less of it is inlined.

    floats: whether sums of floats may be regrouped.
    """

    def __init__(
        self, graph: Graph, regions: Regions, card: Card, floats: bool = False
    ) -> None:
        super().__init__(graph, regions)
        self.card, self.floats = card, floats
        self._works: dict[GraphStage, Work] = {}
        self._copies: dict[object, Copies] = {}
        self._roles: dict[tuple[GraphStage, bool], Roles] = {}

    def again(self, graph: Graph, regions: Regions) -> Self:
        made = type(self)(graph, regions, self.card, self.floats)
        made._works, made._copies = self._works, self._copies
        made._roles = self._roles
        return made

    def work(self, stage: GraphStage) -> Work:
        found = self._works.get(stage)
        if found is None:
            found = self._works[stage] = Work(stage)
        return found

    def whole(self, stage: GraphStage) -> Spans:
        """The spans of a stage's loops over the whole run."""
        return self.regions.loops(stage, self.regions.bounds[stage.func])

    def extents(self, stage: GraphStage) -> dict[Var, int]:
        """How often each loop of a stage runs in all."""
        return {
            v: max(1, int(hi - lo + 1))
            for v, (lo, hi) in zip(stage.loops, self.whole(stage), strict=True)
        }

    def roles(self, stage: GraphStage, alone: bool) -> Roles:
        """See `roles.roles`."""
        key = stage, alone
        found = self._roles.get(key)
        if found is None:
            run = list(self.extents(stage).values())
            found = roles(stage, run, alone=alone, floats=self.floats)
            self._roles[key] = found
        return found

    def shared_by(self, stage: GraphStage, points: Sequence[int]) -> float:
        """What is left of the operations of so many neighbouring points of a pure
        definition, that one thread computes."""
        many = [d for d, n in enumerate(points) if n > 1]
        if len(many) != 1 or stage.rvars or points[many[0]] > _MOST_COPIES:
            return 1.0
        (d,) = many
        key = stage, d
        found = self._copies.get(key)
        if found is None:
            found = self._copies[key] = Copies(stage, stage.func.args[d])
        return found.left(points[d])[0]

    def kernel(
        self,
        stage: GraphStage,
        own: Roles,
        candidates: Candidates,
        members: Mapping[Function, Level],
    ) -> Costs:
        """The cost of one kernel for each candidate. members: consumers first."""
        return _Kernel(self, stage, own, candidates, members).costs()

    def boxes(
        self,
        stage: GraphStage,
        own: Roles,
        shape: Shape,
        members: Mapping[Function, Level],
    ) -> dict[Function, tuple[int, ...]]:
        """How many points of each dimension of its members one block of a kernel needs,
        or one thread of those that it computes for itself."""
        one = _Kernel(self, stage, own, Candidates.of([shape]), members)
        found = {}
        for f, at in members.items():
            box = (one.block if at is Level.TILE else one.own).get(f)
            if box is not None:
                found[f] = tuple([max(1, int(np.max(n))) for n in extents(box)])
        return found

    def on_host(self, f: Function) -> float:
        """Nanoseconds of a Func that the host computes, with copies there and back."""
        total, bytes_ = 0.0, 0.0
        for stage in self.graph.stages[f]:
            work = self.work(stage)
            count = math.prod(self.extents(stage).values())
            total += count * (work.arithmetic + len(work.loads) + 1) * _HOST
            for source in stage.sources():
                bytes_ += self.whole_bytes(source)
        bytes_ += self.whole_bytes(f)
        return total + bytes_ / self.card.link + 2 * _COPY

    def whole_bytes(self, source: Source) -> float:
        whole = extents(self.regions.bounds[source])
        return float(math.prod([max(1, n) for n in whole]) * element_bytes(source))


class _Kernel:
    """The evaluation of one kernel under all candidates."""

    def __init__(
        self,
        model: KernelModel,
        stage: GraphStage,
        own: Roles,
        candidates: Candidates,
        members: Mapping[Function, Level],
    ) -> None:
        self.model, self.stage, self.roles = model, stage, own
        self.card, self.members = model.card, members
        self.run = model.extents(stage)
        self.cands = candidates
        self.points = dict(zip(own.parallel, candidates.points, strict=True))
        self.threads = dict(zip(own.parallel, candidates.threads, strict=True))
        self.count: Numbers = candidates.count.astype(np.float64)
        zero = np.zeros(len(self.count))
        #: Cycles of an SM for one block: of its lanes, and of its loads and stores.
        self.issue, self.moves = zero.copy(), zero.copy()
        #: Cycles until a block that is alone is done; bytes of shared memory.
        self.chain, self.shared = zero.copy(), zero.copy()
        self.registers: Numbers = np.full(len(self.count), float(_FRAME))
        self.in_flight = zero.copy()
        self.length = zero.copy()
        self.block, self.own = self._boxes()

    # Boxes.

    def _boxes(self) -> tuple[dict[Source, Spans], dict[Source, Spans]]:
        """What one block needs of everything, and what one thread needs of the members
        that it computes for itself."""
        tile = self._spans(
            {v: self.threads[v] * self.points[v] for v in self.roles.parallel}
        )
        block = self._needed(tile, list(self.members))
        inside = [f for f, at in self.members.items() if at is Level.BLOCK]
        thread = self._needed(self._spans(self.points), inside) if inside else {}
        return block, thread

    def _spans(self, sizes: Mapping[Var, Any]) -> Spans:
        """Spans of the kernel's loops in the middle, of these sizes; all of others."""
        made: list[tuple[Any, Any]] = []
        for v, (lo, hi) in zip(
            self.stage.loops, self.model.whole(self.stage), strict=True
        ):
            size = sizes.get(v)
            if size is None:
                made.append((lo, hi))
                continue
            size = np.minimum(size, hi - lo + 1)
            start = lo + np.maximum(0, (hi - lo + 1) // size // 2) * size
            start = np.minimum(start, hi - size + 1)
            made.append((start, start + size - 1))
        return tuple(made)

    def _needed(self, spans: Spans, through: Sequence[Function]) -> dict[Source, Spans]:
        regions = self.model.regions
        box = dict(regions.touched_by(self.stage, spans))
        for f in through:
            if f not in box:
                continue
            for stage in self.model.graph.stages[f]:
                for source, found in regions.touched(stage, box[f]).items():
                    old = box.get(source)
                    box[source] = found if old is None else hull(old, found)
        return box

    def _box(self, of: Mapping[Source, Spans], f: Source) -> list[Any]:
        return [np.maximum(1.0, n) for n in extents(of[f])]

    # One stage.

    def costs(self) -> Costs:
        host, model = self.stage, self.model
        for f, level in reversed(list(self.members.items())):
            if f not in (self.block if level is Level.TILE else self.own):
                continue
            for stage in model.graph.stages[f]:
                if level is Level.TILE:
                    self._in_block(stage)
                else:
                    self._in_thread(stage)
            values = len(f.types)
            if level is Level.TILE:
                sizes = self._box(self.block, f)
                self.shared += math.prod(sizes, start=1.0) * element_bytes(f)
            else:
                sizes = self._box(self.own, f)
                self.registers += math.prod(sizes, start=1.0) * values
        trips = {r: float(self.run[r]) for r in self.roles.inside}
        inner: dict[Var, Any] = {**self.points, **trips}
        left = self._left()
        times = math.prod(inner.values(), start=1.0)
        serial = math.prod(trips.values(), start=1.0)
        each = self._thread(host, inner, left)
        self._moves(host, inner, self._first(self.roles.parallel), self.block, serial)
        self.registers += math.prod(self.points.values(), start=1.0) * len(host.values)
        self._waits(host, each, serial, times / serial)
        return self._total()

    def _left(self) -> Numbers:
        """What is left of the operations by what points of a thread share."""
        rows = [
            tuple(int(n) for n in row) for row in zip(*self.cands.points, strict=True)
        ]
        if self.cands.apart or self.stage.rvars:
            return np.ones(len(rows))
        order = self.stage.func.args
        where = [order.index(v) for v in self.roles.parallel]
        known: dict[tuple[int, ...], float] = {}
        for row in set(rows):
            points = [1] * len(order)
            for d, n in zip(where, row, strict=True):
                points[d] = n
            known[row] = self.model.shared_by(self.stage, points)
        return np.array([known[row] for row in rows])

    def _first(self, loops: Sequence[Var]) -> Var | None:
        """The loop that neighbouring threads run along."""
        for v, n in zip(self.roles.parallel, self.cands.threads, strict=True):
            if n.max() > 1 and v in loops:
                return v
        return loops[0] if loops else None

    def _thread(
        self, stage: GraphStage, inner: Mapping[Var, Any], left: Any = 1.0
    ) -> Any:
        """Adds what the lanes do for all threads of a block, each of which runs these
        loops by itself; returns the operations of one thread."""
        work = self.model.work(stage)
        each: Any = 0.0
        for o in work.operations:
            times = math.prod([inner[v] for v in o.depends if v in inner], start=1.0)
            each = each + o.weight * (2.0 if o.bits > 32 else 1.0) * times
        each = each * left
        loads: Any = float(work.stores)
        for a in work.loads:
            loads = loads + math.prod(
                [inner[v] for v in a.depends if v in inner], start=1.0
            )
        each = each + loads
        # Loops of a reduction are not unrolled.
        serial = math.prod([inner[r] for r in stage.rvars if r in inner], start=1.0)
        self.length += each / serial
        warps = np.ceil(self.count / WARP)
        self.issue += each * warps * WARP / self.card.lanes
        return each

    def _moves(
        self,
        stage: GraphStage,
        inner: Mapping[Var, Any],
        first: Var | None,
        box: Mapping[Source, Spans],
        serial: float,
        rounds: Any = 1.0,
    ) -> None:
        """Adds what a stage's loads and stores take of the way between an SM and its
        caches. rounds: how often all threads of the block go through it."""
        work = self.model.work(stage)
        warps = np.ceil(self.count / WARP) * rounds
        in_registers = self.members.get(stage.func) is Level.BLOCK
        for a in work.loads:
            own = a.source is stage.func
            if own and in_registers and known_when_compiled(a, stage):
                continue
            times = math.prod([inner[v] for v in a.depends if v in inner], start=1.0)
            self.moves += warps * times * self._turns(a, a.source, first, stage)
            if not own:
                self.in_flight = np.maximum(self.in_flight, times / serial)
        stores = math.prod(inner.values(), start=1.0) * work.stores
        if in_registers:
            if not known_when_compiled(self._stored(stage), stage):
                self.moves += warps * stores * _LOCAL
            return
        turn: Any = self._turns(self._stored(stage), stage.func, first, stage)
        if self.roles.atomic and stage is self.stage:
            turn = turn * _ATOMIC
        self.moves += warps * stores * turn

    def _stored(self, stage: GraphStage) -> Access:
        """Where a stage stores, as if it were a load."""
        for a in self.model.work(stage).loads:
            if a.source is stage.func:
                return a
        f = stage.func
        steps: list[dict[Var, int | None]] = []
        for e in stage.args:
            own = e if isinstance(e, Var) and e in stage.loops else None
            known: dict[Var, int | None] = {}
            if own is not None:
                known[own] = 1
            else:
                known.update((v, None) for v in stage.rvars)
            steps.append(known)
        bits = max(t.width for t in f.types)
        return Access(f, stage.args, bits, frozenset(stage.loops), tuple(steps), {})

    def _turns(
        self, a: Access, source: Source, first: Var | None, reader: GraphStage
    ) -> Any:
        """Cycles of an SM for one load of a warp."""
        level = self.members.get(source) if isinstance(source, Function) else None
        if level is Level.BLOCK:
            return 0.0 if known_when_compiled(a, reader) else _LOCAL
        box = self.block if level is Level.TILE else self.model.regions.bounds
        sizes = [np.maximum(1.0, n) for n in extents(box[source])]
        order: Sequence[int] = range(len(sizes))
        if isinstance(source, Function) and level is None:
            order = stored_order(source)
        strides = strides_of(sizes, order)
        along: Any = self.threads.get(first) if first is not None else None
        far: Any = 1.0
        if along is None:
            along = self.cands.threads[0]
        if first in self.points and not self.cands.apart:
            far = self.points[first]
        step = 0.0 if first is None else step_of(a, first, strides)
        if step is not None:
            step = step * far
        if level is Level.TILE:
            return turns(step, a.bits, along)
        rows = any(v in self.threads and v is not first for v in a.depends)
        return loading(step, a.bits, along, rows, self.card.near)

    def _in_block(self, stage: GraphStage) -> None:
        """A stage that the threads of a block compute together."""
        own = self.model.roles(stage, alone=False)
        box = self._box(self.block, stage.func)
        sizes = {v: box[stage.func.args.index(v)] for v in own.parallel}
        deep = [n for n in self.cands.threads if n.max() > 1] or [self.cands.threads[0]]
        typical = [int(np.max(sizes[v])) for v in own.parallel]
        along = threads_along(typical, len(deep))
        rounds: Any = 1.0
        for d, v in enumerate(own.parallel):
            n = deep[along.index(d)] if d in along else 1.0
            rounds = rounds * np.ceil(sizes[v] / n)
        trips = {r: float(n) for r, n in self._domain(stage).items()}
        each = self._thread(stage, trips)
        # `_thread` has counted one round.
        warps = np.ceil(self.count / WARP)
        self.issue += each * (rounds - 1) * warps * WARP / self.card.lanes
        serial = math.prod(trips.values(), start=1.0)
        first = own.parallel[along[0]] if along else None
        self._moves(stage, trips, first, self.block, serial, rounds)
        self._waits(stage, each * rounds, serial, rounds)
        self.chain += _BARRIER

    def _in_thread(self, stage: GraphStage) -> None:
        """A stage that each thread computes for itself."""
        own = self.model.roles(stage, alone=False)
        box = self._box(self.own, stage.func)
        inner: dict[Var, Any] = {v: box[stage.func.args.index(v)] for v in own.parallel}
        trips = {r: float(n) for r, n in self._domain(stage).items()}
        each = self._thread(stage, {**inner, **trips})
        serial = math.prod(trips.values(), start=1.0)
        at = self._first(self.roles.parallel)
        place = self.roles.parallel.index(at) if at is not None else 0
        first = own.parallel[min(place, len(own.parallel) - 1)]
        self._moves(stage, {**inner, **trips}, first, self.own, serial)
        count = math.prod(inner.values(), start=1.0)
        self._waits(stage, each, serial, count)

    def _domain(self, stage: GraphStage) -> dict[Var, int]:
        spans = self.model.regions.domain(stage.rdom)
        return {
            r: max(1, int(hi - lo + 1))
            for r, (lo, hi) in zip(stage.rvars, spans, strict=True)
        }

    def _waits(
        self, stage: GraphStage, each: Any, serial: float, independent: Any
    ) -> None:
        """Adds how long one thread takes for a stage: its operations, as far as they
        wait for each other, and its loads, of which those of one iteration are under
        way together."""
        ahead = np.clip(independent, 1.0, _AHEAD)
        self.chain += each * self.card.answer / ahead
        work = self.model.work(stage)
        far = any(
            not isinstance(a.source, Function) or a.source not in self.members
            for a in work.loads
        )
        if not far:
            return
        again = 1.0
        if serial > 1:
            in_registers = self.members.get(stage.func) is Level.BLOCK
            reads_own = any(a.source is stage.func for a in work.loads)
            # What goes on from the value before waits for it to come back.
            again = serial if reads_own and not in_registers else serial / 8
        self.chain += self.card.wait * max(1.0, again)

    # All of it.

    def _total(self) -> Costs:
        card = self.card
        grid: Any = 1.0
        for v in self.roles.parallel:
            grid = grid * np.ceil(self.run[v] / (self.threads[v] * self.points[v]))
        registers = np.minimum(self.registers + np.minimum(16, self.in_flight), 1024)
        # What does not fit in registers is kept in memory, more often than not in the
        # first-level cache.
        spilt = np.maximum(0.0, registers - card.own)
        self.moves += spilt * 2 * np.ceil(self.count / WARP)
        registers = np.minimum(registers, card.own)
        held = np.array(
            [
                card.resident_blocks(int(t), math.ceil(s), math.ceil(r))
                for t, s, r in zip(self.count, self.shared, registers, strict=True)
            ],
            dtype=np.float64,
        )
        possible = held > 0
        held = np.maximum(held, 1)
        each = np.ceil(grid / card.processors)
        together = np.minimum(held, each)
        warps = together * np.ceil(self.count / WARP)
        ahead = np.clip(np.maximum(self.in_flight, 1), 1, _AHEAD)
        busy = np.minimum(1.0, warps * ahead / _BUSY)
        longer = np.maximum(self.issue, self.moves)
        lesser = np.minimum(self.issue, self.moves)
        core = each * (longer + _UNHIDDEN * lesser) / busy
        waves = np.ceil(grid / (card.processors * held))
        core = np.maximum(core, waves * self.chain) / card.clock
        far, near = self._bytes(grid)
        through = near / (card.far * card.clock)
        # By Little's law: bytes under way are bandwidth times waiting.
        enough = card.memory * card.wait / card.clock / card.processors
        under_way = warps * WARP * 4 * ahead
        memory = far / card.memory / np.minimum(1.0, under_way / enough)
        parts = np.stack(np.broadcast_arrays(core, through, memory))
        most = parts.max(axis=0)
        total = card.launch + most + _UNHIDDEN * (parts.sum(axis=0) - most)
        total = np.where(possible, total, np.inf)
        full = card.resident / WARP
        occupancy = held * np.ceil(self.count / WARP) / full
        terms: dict[str, Any] = {
            "compute": core,
            "cache": through,
            "memory": memory,
            "occupancy": np.where(possible, occupancy, 0.0),
            "registers": registers,
            "shared bytes": self.shared,
            "blocks": grid,
        }
        shape = total.shape
        return Costs(
            total,
            {k: np.broadcast_to(n, shape) for k, n in terms.items()},
            np.broadcast_to(self.length, shape),
        )

    def _bytes(self, grid: Any) -> tuple[Any, Any]:
        """Bytes that come from memory, and that go through the second-level cache."""
        card, model = self.card, self.model
        far: Any = 0.0
        near: Any = 0.0
        for source, spans in self.block.items():
            if source in self.members or source is self.stage.func:
                continue
            size = element_bytes(source)
            once = bytes_of([np.maximum(1, n) for n in extents(spans)], size)
            anew = grid * once
            near = near + anew
            whole = model.whole_bytes(source)
            cold = 1.0
            if isinstance(source, Function) and whole <= card.cache / 2:
                cold = _EVICTED
            far = far + np.minimum(anew, whole) * cold
        own = model.whole_bytes(self.stage.func)
        points = math.prod([float(self.run[v]) for v in self.stage.loops], start=1.0)
        stores = min(points * element_bytes(self.stage.func), 4 * own)
        ways = 2.0 if self.stage.index else 1.0
        near = near + stores * ways
        kept = own <= card.cache / 2 and self.stage.func not in model.graph.outputs
        far = far + min(stores, own) * ways * (_EVICTED if kept else 1.0)
        return far, near


__all__ = ["Candidates", "Costs", "KernelModel"]
