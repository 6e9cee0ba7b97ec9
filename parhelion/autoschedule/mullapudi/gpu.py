"""The 2016 paper's scheduler on a GPU (section 5.4).

Inlining, grouping and tiling are as on a CPU. A group is one kernel: the loops over
tiles are its blocks, those in a tile its threads, a point each, and what is computed in
a tile for it is in shared memory. Everything else has kernels of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.autoschedule.calls import FuncArg
from parhelion.autoschedule.kernels.legal import refusal, unfit
from parhelion.autoschedule.kernels.roles import SMALL, Roles, host_note, roles
from parhelion.autoschedule.kernels.shape import MOST_LOOPS, Shape
from parhelion.autoschedule.kernels.shapes import plain
from parhelion.autoschedule.kernels.write import Levels, write_in_block, write_kernel
from parhelion.autoschedule.mullapudi.groups import Group, Tile
from parhelion.autoschedule.mullapudi.model import Floats
from parhelion.autoschedule.mullapudi.model import Sizes as Rows
from parhelion.autoschedule.mullapudi.params import GpuLimits
from parhelion.autoschedule.mullapudi.plan import Forced, Plan, Style
from parhelion.autoschedule.mullapudi.tiles import tile_sizes
from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.pipeline.regions import extents, points
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.script import Script
from parhelion.errors import HalideError
from parhelion.ir.function import Function
from parhelion.lang.target_api import Target
from parhelion.schedule.modes import by_loops
from parhelion.schedule.order import realization_order
from parhelion.schedule.recomputing import unscheduled

#: Points of a tile along one loop: a block has no more threads.
SIDES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
#: A Func of no more points stays on the CPU as a whole where one definition does.
_SMALL_FUNC = 1 << 16


def style_for(limits: GpuLimits) -> Style:
    """The algorithm with tiles that make blocks of threads."""

    def shapes(
        stage: GraphStage, run: Sequence[int], reuse: Floats, narrowest: int
    ) -> Rows:
        # As many points as a warp has threads, whatever their type.
        return tile_sizes(stage, run, reuse, limits.vector_width, SIDES)

    def allowed(run: tuple[int, ...], sizes: Rows) -> Rows:
        return np.array([_is_block(limits, row, run) for row in sizes.tolist()])

    return Style(tiles_reductions=False, reorders=False, shapes=shapes, allowed=allowed)


def _is_block(limits: GpuLimits, tile: Sequence[int], run: Sequence[int]) -> bool:
    """Whether a tile of a pure definition makes a block of neither too few nor too many
    threads."""
    shape = shape_of(tile, run)
    few = shape.count < limits.target_threads
    unrolled = max(shape.points, default=1)
    return shape.legal(limits.max_threads) and not few and unrolled <= 2 * SMALL


def shape_of(tile: Sequence[int], run: Sequence[int]) -> Shape:
    """The kernel of a tile: a thread for each point, but for dimensions of few points,
    such as colours, and for the fourth one, which each thread does all of.

    run: the extents of the loops.
    """
    long = [d for d, n in enumerate(tile) if n > 1 and run[d] > SMALL][:MOST_LOOPS]
    if not long:
        long = [d for d, n in enumerate(tile) if n > 1][:1]
    threads = [n if d in long else 1 for d, n in enumerate(tile)]
    rest = [1 if d in long else n for d, n in enumerate(tile)]
    return Shape(tuple(threads), tuple(rest))


class GpuPlan(Plan):
    """What the paper's algorithm makes of a pipeline for a GPU.

    apart: Funcs that must not be computed in the kernels of others.
    """

    params: GpuLimits

    def __init__(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        params: GpuLimits,
        forced: Forced | None = None,
        style: Style | None = None,
        apart: frozenset[Function] = frozenset(),
    ) -> None:
        self.apart = apart
        super().__init__(outputs, sizes, params, forced, style or style_for(params))
        for f in self.graph.order:
            for stage in self.graph.stages[f]:
                if self._on_host(stage) and not self.given(stage):
                    own = self.roles(stage, alone=True)
                    self.notes.append(host_note(stage, parallel=bool(own.parallel)))

    def again(self, forced: Forced) -> Plan:
        return GpuPlan(
            self.outputs, self.sizes, self.params, forced, self.style, self.apart
        )

    def roles(self, stage: GraphStage, *, alone: bool) -> Roles:
        return roles(stage, self.model.extents(stage), alone=alone)

    def _on_host(self, stage: GraphStage) -> bool:
        """Whether a definition has no kernel."""
        f = stage.func
        if not by_loops(f):
            return True
        every = [self.roles(s, alone=True) for s in self.graph.stages[f]]
        if all([r.parallel for r in every]):
            return False
        small = float(points(self.model.regions.bounds[f])) <= _SMALL_FUNC
        return small or not every[stage.index].parallel

    def _stays(self, f: Function) -> bool:
        shared = all(
            [
                roles(s, self.model.extents(s), alone=False).parallel
                for s in self.graph.stages[f]
            ]
        )
        return not shared or f in self.apart or super()._stays(f)

    def _solid(self, f: Function) -> bool:
        # A kernel has members only if it is all of its Func.
        return len(self.graph.stages[f]) > 1 or super()._solid(f)

    def movable(self, stage: GraphStage) -> list[int]:
        """None: loops over threads have no order."""
        return []

    def _write_group(self, script: Script, group: Group) -> None:
        g = group.output
        if self.freedom.move(g):
            script.add(g, -1, "compute_root")
        if not by_loops(g):
            return
        levels: Levels | None = None
        for stage, tiled in zip(self.graph.stages[g], group.stages, strict=True):
            if self.given(stage) or self._on_host(stage):
                continue
            tile = self.forced.tiles.get((g, stage.index), tiled.tile)
            levels = self._kernel(script, stage, tile)
            if group.members and tile is not None:
                self._in_kernel(script, group, stage, tile, levels)
        if group.members and levels is None:
            for f in group.members:
                script.add(f, -1, "compute_root")

    def _in_kernel(
        self,
        script: Script,
        group: Group,
        host: GraphStage,
        tile: Tile,
        levels: Levels,
    ) -> None:
        spans = self.model.tiles(host, np.asarray([tile], dtype=np.int64))
        boxes = self.model.boxes(host, group.members, spans)
        for f in group.members:
            script.add(f, -1, "compute_at", FuncArg(group.output), levels.block)
            if f not in boxes:
                continue
            box = [max(1, int(np.max(n))) for n in extents(boxes[f])]
            for stage in self.graph.stages[f]:
                own = self.roles(stage, alone=False)
                sizes = [box[f.args.index(v)] for v in own.parallel]
                if not self.given(stage):
                    write_in_block(script, stage, own, levels.threads, sizes)

    def _kernel(self, script: Script, stage: GraphStage, tile: Tile | None) -> Levels:
        own = self.roles(stage, alone=True)
        run = dict(zip(stage.loops, self.model.extents(stage), strict=True))
        wide = [run[v] for v in own.parallel]
        shape = plain(wide, self.params.max_threads, self.params.target_threads)
        if tile is not None and not stage.rvars:
            sizes = dict(zip(stage.loops, tile, strict=True))
            shape = shape_of([sizes[v] for v in own.parallel], wide)
        return write_kernel(script, stage, own, shape, wide)


def legal_plan(
    outputs: Sequence[Function], sizes: Sizes, params: GpuLimits, target: Target
) -> GpuPlan | HalideError:
    """The plan, without groups that no kernel can be made of: where lowering refuses
    the storage of a Func, it is not grouped with what reads it; where it refuses
    anything else, nothing is. An error if that is refused as well."""
    apart: frozenset[Function] = frozenset()
    notes: list[str] = []
    every = frozenset(realization_order(outputs))
    judged: set[Function] = set()
    while True:
        plan = GpuPlan(outputs, sizes, params, apart=apart)
        found = refusal(plan.script(), target)
        if found is None or not unscheduled(every):
            # What is refused beside directives of the user's, the driver shortens.
            plan.notes += notes
            return plan
        error, f = found
        if apart == every:
            return error
        if f is None or f in apart:
            apart = every
            notes.append(f"nothing is grouped, as {error.what}")
        else:
            root = plan.grouping.owner[f]
            gone = {f}
            if root in judged:
                # The rest of a pyramid, as likely as not.
                gone.update(plan.grouping.groups[root].members)
            judged.add(root)
            apart |= gone
            notes.append(unfit(f, error))


__all__ = ["SIDES", "GpuPlan", "legal_plan", "shape_of", "style_for"]
