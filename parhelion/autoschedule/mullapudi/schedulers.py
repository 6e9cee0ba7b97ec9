"""The 2016 paper's scheduler ``Mullapudi2016``, and what it is compared with there.

Automatically Scheduling Halide Image Processing Pipelines (Mullapudi, Adams, Sharlet,
Ragan-Kelley, Fatahalian, 2016); PolyMage is from Mullapudi, Vasista, Bondhugula, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.analysis.rank import reads_data
from parhelion.autoschedule.decisions import Lazily
from parhelion.autoschedule.kernels.legal import without_kernels
from parhelion.autoschedule.mullapudi.decisions import decisions
from parhelion.autoschedule.mullapudi.gpu import legal_plan
from parhelion.autoschedule.mullapudi.model import Floats
from parhelion.autoschedule.mullapudi.model import Sizes as Rows
from parhelion.autoschedule.mullapudi.params import gpu_limits, limits
from parhelion.autoschedule.mullapudi.plan import Plan, Style
from parhelion.autoschedule.params import Parameter
from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.errors import HalideError, ScheduleError, here
from parhelion.ir.expr import FuncCall, ImageLoad
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target, TargetFeature


class Mullapudi2016:
    """The scheduler by the name of the paper's first author. For its parameters see
    `params.limits`."""

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`. The costs are those of section 4.2, in additions."""
        plan: Plan
        if target.has_feature(TargetFeature.CUDA):
            found = legal_plan(
                outputs, sizes, gpu_limits(params.name, params.extra), target
            )
            if isinstance(found, HalideError):
                return without_kernels(outputs, target, params, found)
            plan = found
        else:
            numbers, _ = limits(params.name, params.extra)
            plan = Plan(outputs, sizes, numbers)
        return AutoSchedulerResults(
            target=target,
            autoscheduler_params=params,
            script=plan.script(),
            decisions=Lazily(lambda: decisions(plan)),
            notes=plan.notes,
            cost=plan.cost,
            unit="operations",
        )


_TILE = (
    Parameter(
        "TILE_X", "int", "extent of a tile in the innermost dimension", 1, 1 << 20
    ),
    Parameter("TILE_Y", "int", "extent of a tile in the next dimension", 1, 1 << 20),
)


def style(tile_x: int, tile_y: int) -> Style:
    """What PolyMage considers, with tiles of this size."""

    def shapes(
        stage: GraphStage, extents: Sequence[int], reuse: Floats, narrowest: int
    ) -> Rows:
        tile = list(extents)
        for v, size in zip(stage.func.args, (tile_x, tile_y), strict=False):
            if v in stage.loops:
                d = stage.loops.index(v)
                tile[d] = min(size, extents[d])
        return np.asarray([tile], dtype=np.int64)

    return Style(tiles_reductions=False, shapes=shapes, analysed=is_affine)


def is_affine(stage: GraphStage) -> bool:
    """Whether PolyMage can tell what a definition depends on: it is a pure one, and
    reads at places that depend on its coordinates alone."""
    return stage.index == 0 and not any(
        reads_data(a)
        for e in stage.exprs
        for n in nodes(e)
        if isinstance(n, FuncCall | ImageLoad)
        for a in n.args
    )


class PolyMage:
    """The paper's scheduler restricted to what PolyMage considers (section 5.1).

    Two spatial dimensions are tiled, by one size for all groups, and what its analysis
    of dependences cannot describe, reductions and places that depend on data, is
    scheduled as the baseline does. Parameters: as `params.limits` has them, and TILE_X
    and TILE_Y, 256 and 32 by default.
    """

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`. The costs are those of section 4.2, in additions."""
        _check_for_cpu(params.name, target)
        numbers, more = limits(params.name, params.extra, _TILE)
        tile = int(more.get("TILE_X", 256)), int(more.get("TILE_Y", 32))
        plan = Plan(outputs, sizes, numbers, style=style(*tile))
        return AutoSchedulerResults(
            target=target,
            autoscheduler_params=params,
            script=plan.script(),
            decisions=Lazily(lambda: decisions(plan)),
            notes=plan.notes,
            cost=plan.cost,
            unit="operations",
        )


_PLAIN = Style(
    free_inlining=True,
    merges=False,
    tiles_reductions=False,
    reorders=False,
    outermost=True,
)


class Baseline:
    """What a beginner writes (section 5.1). For its parameters see `params.limits`.

    It inlines what is then still computed once, runs each outermost loop in parallel
    and each innermost one in vectors. No Funcs are grouped, no loops tiled or
    reordered.
    """

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`."""
        _check_for_cpu(params.name, target)
        numbers, _ = limits(params.name, params.extra)
        plan = Plan(outputs, sizes, numbers, style=_PLAIN)
        return AutoSchedulerResults(
            target=target,
            autoscheduler_params=params,
            script=plan.script(),
            notes=plan.notes,
            cost=plan.cost,
            unit="operations",
        )


def _check_for_cpu(name: str, target: Target) -> None:
    """Raises ScheduleError for a target with a GPU: the paper compares on CPUs."""
    if target.has_feature(TargetFeature.CUDA):
        raise ScheduleError(
            f"{name} makes schedules for CPUs alone, but the target {target} has CUDA",
            at=here(),
            hint="Parhelion and Mullapudi2016 make schedules for GPUs",
        )


#: What the registry knows.
MULLAPUDI2016, POLYMAGE, BASELINE = Mullapudi2016(), PolyMage(), Baseline()


__all__ = [
    "BASELINE",
    "MULLAPUDI2016",
    "POLYMAGE",
    "Baseline",
    "Mullapudi2016",
    "PolyMage",
    "is_affine",
    "style",
]
