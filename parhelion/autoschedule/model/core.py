"""What Funcs cost in the core, wherever their data are: one block, and one box."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.code_size import length_of
from parhelion.autoschedule.model.latency import in_order
from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.model.scattered import Scattered, scattered_reads
from parhelion.autoschedule.model.throughput import (
    Speed,
    fetches,
    looked_up,
    one_by_one,
    stage_speed,
)
from parhelion.autoschedule.pipeline.edges import Edges
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, Source
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.work import Copies, Work, element_bytes
from parhelion.codegen.x86.tables import MOST, WIDTH
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym

#: Blocks of more points are not looked at for what their points share.
_MOST_COPIES = 32


class Core:
    """The core's time in one graph; what stages cost is computed once."""

    def __init__(self, graph: Graph, regions: Regions, machine: Machine) -> None:
        self.graph, self.regions, self.machine = graph, regions, machine
        self._works: dict[GraphStage, Work] = {}
        self._copies: dict[object, Copies] = {}
        self._speeds: dict[tuple[GraphStage, Loops], Speed] = {}
        self._blocks: dict[tuple[tuple[GraphStage, ...], Loops], float] = {}
        self._counts: dict[
            tuple[tuple[GraphStage, ...], Loops],
            Sequence[tuple[Sequence[int], int, float, float]],
        ] = {}
        self._lengths: dict[tuple[tuple[GraphStage, ...], Loops], float] = {}
        self._edges: dict[tuple[GraphStage, Var], tuple[int, int]] = {}
        self._extents: dict[Function, Sequence[int]] = {}
        self._foreseen: dict[tuple[tuple[GraphStage, ...], int], list[Source]] = {}
        self._scattered: dict[GraphStage, Mapping[Source, Scattered]] = {}

    def know(self, other: Core) -> None:
        """Shares all that is known of stages with the same of another graph."""
        self._works, self._speeds = other._works, other._speeds
        self._copies, self._blocks = other._copies, other._blocks
        self._counts, self._extents = other._counts, other._extents
        self._foreseen, self._edges = other._foreseen, other._edges
        self._lengths, self._scattered = other._lengths, other._scattered

    def work(self, stage: GraphStage) -> Work:
        found = self._works.get(stage)
        if found is None:
            found = self._works[stage] = Work(stage)
        return found

    def speed(self, stage: GraphStage, loops: Loops) -> Speed:
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
            elif vector is not None and fetches(self.work(stage), vector, self.machine):
                one_each = one_by_one(self.work(stage), self.machine)
                alone = one_each * math.prod(loops.block)
                if alone < self._speed(stage, loops, vector, as_lanes=True).block:
                    found = Speed(alone, 0)
            self._speeds[key] = found
        return found

    def _speed(
        self,
        stage: GraphStage,
        loops: Loops,
        vector: Var | None,
        as_lanes: bool = False,
    ) -> Speed:
        """as_lanes: whether narrow lanes are to cost no more than gathered ones, as
        they do where there is nothing else to do (0.27 ns for bytes and 0.37 for 16
        bits on a Zen 5, where gathered ones take 0.35)."""
        machine = self.machine
        if as_lanes:
            machine = replace(machine, narrow=min(machine.narrow, machine.lane))
        own = stage.func.args
        spans = self.regions.domain(stage.rdom)
        trips = {
            v: max(1, int(hi - lo + 1))
            for v, (lo, hi) in zip(stage.rvars, spans, strict=True)
        }
        return stage_speed(
            self.work(stage),
            machine,
            vector,
            loops.lanes if vector is not None else 1,
            {v: loops.block[own.index(v)] for v in stage.pure},
            trips,
            loops.local,
            self._sharing(stage, loops),
            self._tables(stage),
        )

    def _tables(self, stage: GraphStage) -> dict[Source, int]:
        """The Funcs that a stage reads which fit a few registers, and their bytes."""
        found: dict[Source, int] = {}
        if self.machine.permutes:
            for s in stage.sources():
                if isinstance(s, Function):
                    size = element_bytes(s) * math.prod(self.extents(s))
                    if size <= WIDTH * MOST:
                        found[s] = size
        return found

    def _sharing(self, stage: GraphStage, loops: Loops) -> tuple[float, float]:
        """What is left of operations and loads of a block's points."""
        if stage.index or stage.rvars or loops.vector < 0:
            return 1.0, 1.0
        counts = [
            (d, n) for d, n in enumerate(loops.block) if n > 1 and d != loops.vector
        ]
        return self.shared(stage, tuple(counts))

    def shared(
        self, stage: GraphStage, counts: tuple[tuple[int, int], ...]
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
        if isinstance(source, BufferSym) and source.embedded:
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

    def scattered(self, stage: GraphStage) -> Mapping[Source, Scattered]:
        """What is only read where data decides: how much of it one point reads."""
        found = self._scattered.get(stage)
        if found is None:
            trips = 1.0
            for lo, hi in self.regions.domain(stage.rdom):
                trips *= max(float(hi - lo + 1), 1.0)
            loads = self.work(stage).loads
            found = self._scattered[stage] = scattered_reads(loads, stage.loops, trips)
        return found

    # One Func over one box.

    def length(self, f: Function, loops: Loops) -> float:
        """How much code all stages of a Func make (`code_size.length_of`)."""
        key = self.graph.stages[f], loops
        found = self._lengths.get(key)
        if found is None:
            lengths = [
                length_of(self.work(s), loops, self.machine)
                for s in self.graph.stages[f]
            ]
            found = self._lengths[key] = sum(lengths)
        return found

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
        for dimensions, inner, one, edges in self._counted(f, loops):
            blocks: Any = 1
            for d in dimensions:
                blocks = blocks * steps[d]
            # A box that is empty has no rows.
            rows = blocks / np.maximum(steps[inner], 1) if inner >= 0 else blocks
            total = total + blocks * one + rows * self.machine.row
            if edges:
                # Wherever a box is, this much of the image's edges is its share.
                total = total + blocks * (edges / self._blocks_across(f, loops))
        return total

    def _blocks_across(self, f: Function, loops: Loops) -> int:
        """How many blocks there are in all along the vectors' dimension."""
        d = loops.vector
        return -(-self.extents(f)[d] // loops.block[d])

    def _counted(
        self, f: Function, loops: Loops
    ) -> Sequence[tuple[Sequence[int], int, float, float]]:
        """For each stage: the dimensions that it has loops over, the innermost of those
        that a block does not do all of (-1: none), the time of one block, and how much
        longer the blocks at the edges of one line take together."""
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
                    self._at_edges(s, loops),
                )
                for s in stages
            ]
        return found

    def _at_edges(self, stage: GraphStage, loops: Loops) -> float:
        """How much longer the vectors at both edges of one line take."""
        more = self.speed(stage, loops).edge
        if not more:
            return 0.0
        v = stage.func.args[loops.vector]
        found = self._edges.get((stage, v))
        if found is None:
            steady = self.work(stage).steady.found
            edges = Edges(stage, steady, self.regions.sizes.lookup)
            whole = self.regions.loops(stage, self.regions.bounds[stage.func])
            found = self._edges[stage, v] = edges.along(v, whole)
        size = loops.block[loops.vector]
        across = self._blocks_across(stage.func, loops)
        return min(across, sum([-(-points // size) for points in found])) * more


__all__ = ["Core"]
