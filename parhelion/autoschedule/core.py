"""What Funcs cost in the core, wherever their data are: one block, and one box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parhelion.autoschedule.cost import Copies, Work, element_bytes
from parhelion.autoschedule.graph import Graph, Source, Stage
from parhelion.autoschedule.machine import Machine
from parhelion.autoschedule.plan import Loops
from parhelion.autoschedule.regions import Regions
from parhelion.autoschedule.throughput import Speed, looked_up, stage_speed
from parhelion.autoschedule.waiting import in_order
from parhelion.codegen.tables import MOST, WIDTH
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym

#: Blocks of more points are not looked at for what their points share.
_MOST_COPIES = 32


class Core:
    """The core's time in one graph; what stages cost is computed once."""

    def __init__(self, graph: Graph, regions: Regions, machine: Machine) -> None:
        self.graph, self.regions, self.machine = graph, regions, machine
        self._works: dict[Stage, Work] = {}
        self._copies: dict[object, Copies] = {}
        self._speeds: dict[tuple[Stage, Loops], Speed] = {}
        self._blocks: dict[tuple[tuple[Stage, ...], Loops], float] = {}
        self._counts: dict[
            tuple[tuple[Stage, ...], Loops], Sequence[tuple[Sequence[int], int, float]]
        ] = {}
        self._extents: dict[Function, Sequence[int]] = {}
        self._foreseen: dict[tuple[tuple[Stage, ...], int], list[Source]] = {}

    def know(self, other: Core) -> None:
        """Shares all that is known of stages with the same of another graph."""
        self._works, self._speeds = other._works, other._speeds
        self._copies, self._blocks = other._copies, other._blocks
        self._counts, self._extents = other._counts, other._extents
        self._foreseen = other._foreseen

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


__all__ = ["Core"]
