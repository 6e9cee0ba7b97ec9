"""The paper's scheduler, by its name: ``Mullapudi2016``.

Automatically Scheduling Halide Image Processing Pipelines (Mullapudi, Adams, Sharlet,
Ragan-Kelley, Fatahalian, 2016). Its steps: numbers of each Func (section 4.1,
`mullapudi_model`), inlining (4.3, `mullapudi_inline`), grouping and tiling (4.2,
`mullapudi_groups`), and the directives (4.4, `loopnests`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from parhelion.autoschedule.estimates import Sizes
from parhelion.autoschedule.fixed import Fixed
from parhelion.autoschedule.graph import Graph, Stage, can_inline
from parhelion.autoschedule.loopnests import Name, Wishes, write_loops
from parhelion.autoschedule.mullapudi_groups import Group, Grouping, Tile
from parhelion.autoschedule.mullapudi_inline import Inlines
from parhelion.autoschedule.mullapudi_model import Model
from parhelion.autoschedule.mullapudi_model import Sizes as Rows
from parhelion.autoschedule.mullapudi_params import Limits, limits
from parhelion.autoschedule.numeric import Number
from parhelion.autoschedule.regions import Regions, extents
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import FuncArg, Script
from parhelion.ir.function import Function
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target


@dataclass(frozen=True)
class Forced:
    """What has been decided beforehand, to see what else would come of it.

    inlined: by Func. merged: by producer, its consumer, None for not at all. tiles: by
    definition, None for no tiling.
    """

    inlined: Mapping[Function, bool] = field(default_factory=dict)
    merged: Mapping[Function, Function | None] = field(default_factory=dict)
    tiles: Mapping[tuple[Function, int], Tile | None] = field(default_factory=dict)


class Plan:
    """What the paper's algorithm makes of a pipeline; nothing of it is applied.

    Raises BoundsError where the bounds of a Func or reduction cannot be known.
    """

    def __init__(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        params: Limits,
        forced: Forced | None = None,
    ) -> None:
        self.outputs, self.sizes, self.params = tuple(outputs), sizes, params
        self.forced = forced or Forced()
        self.fixed = Fixed(self.outputs)
        asked = [f for f in self.fixed.inlined if can_inline(f, self.outputs)]
        graph = Graph.of(self.outputs, asked)
        first = Model(graph, Regions(graph, sizes))
        points = {
            (f, s.index): first.points(s) for f in graph.order for s in graph.stages[f]
        }
        keep = [f for f in graph.order if self.fixed.whole(f)]
        self.inlines = Inlines(
            graph, points, params.load_cost, keep, self.forced.inlined
        )
        inlined = self.inlines.run()
        self.graph = Graph.of(self.outputs, graph.inlined | frozenset(inlined))
        self.model = Model(self.graph, Regions(self.graph, sizes))
        solid = [f for f in self.graph.order if self._solid(f)]
        self.grouping = Grouping(
            self.model,
            params,
            keep=[f for f in keep if f in self.fixed.placed],
            solid=solid,
            forced=self.forced.merged,
        )
        self.grouping.run()

    def _solid(self, f: Function) -> bool:
        """Whether the loops of a Func are given, one of its definitions' at least."""
        return f in self.fixed.named or any(
            self.fixed.stage(f, k) for k in range(len(f.stages()))
        )

    @property
    def cost(self) -> float:
        return sum(g.cost for g in self.grouping.groups.values())

    # Section 4.4.

    def script(self) -> Script:
        """The directives."""
        script = Script(self.outputs)
        for f in reversed(self.graph.order):
            group = self.grouping.groups.get(f)
            if group is not None:
                self._write_group(script, group)
        script.acknowledge()
        return script

    def _write_group(self, script: Script, group: Group) -> None:
        g = group.output
        if g not in self.outputs and g not in self.fixed.placed:
            script.add(g, -1, "compute_root")
        if g.extern is not None:
            return
        at: Name | None = None
        for stage, tiled in zip(self.graph.stages[g], group.stages, strict=True):
            if self.fixed.stage(g, stage.index):
                continue
            tile = self.forced.tiles.get((g, stage.index), tiled.tile)
            members = group.members if stage.index == group.host else []
            wishes = Wishes(
                self.model.extents(stage),
                self.params.lanes(self.model.bits(stage)),
                tile,
                list(self.model.overlap(stage, members, outside=True)),
                0 if g in self.fixed.windows else self.params.parallelism_threshold,
                self.fixed.named.get(g, ()),
            )
            level = write_loops(script, stage, wishes)
            if members:
                at = level
        if group.members:
            self._write_members(script, group, at)

    def _write_members(self, script: Script, group: Group, at: Name | None) -> None:
        host = self.graph.stages[group.output][group.host]
        tile = group.stages[group.host].tile
        assert tile is not None
        tile = self.forced.tiles.get((group.output, group.host), tile) or tile
        spans = self.model.tiles(host, _row(tile))
        boxes = self.model.boxes(host, group.members, spans)
        for f in group.members:
            if at is None:
                script.add(f, -1, "compute_root")
            else:
                script.add(f, -1, "compute_at", FuncArg(group.output), at)
            if f not in boxes:
                continue
            for stage in self.graph.stages[f]:
                if self.fixed.stage(f, stage.index):
                    continue
                loops = extents(self.model.regions.loops(stage, boxes[f]))
                wishes = Wishes(
                    [max(1, int(_one(n))) for n in loops],
                    self.params.lanes(self.model.bits(stage)),
                    reuse=self._member_reuse(stage),
                    named=self.fixed.named.get(f, ()),
                )
                write_loops(script, stage, wishes)

    def _member_reuse(self, stage: Stage) -> list[float] | None:
        """Of members only updates are reordered, so that vectors go inside."""
        if not stage.index:
            return None
        return list(self.model.overlap(stage, (), outside=True))


class Mullapudi2016:
    """The scheduler by the name of the paper's first author. For its parameters see
    `mullapudi_params.limits`."""

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`. The costs are those of section 4.2, in additions."""
        numbers, _ = limits(params.name, params.extra)
        plan = Plan(outputs, sizes, numbers)
        return AutoSchedulerResults(
            target=target,
            autoscheduler_params=params,
            script=plan.script(),
            cost=plan.cost,
            unit="operations",
        )


def _row(tile: Tile) -> Rows:
    return np.asarray([tile], dtype=np.int64)


def _one(n: Number) -> int:
    return int(np.max(n))


#: What the registry knows.
scheduler = Mullapudi2016()

__all__ = ["Forced", "Mullapudi2016", "Plan", "scheduler"]
