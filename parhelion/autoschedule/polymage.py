"""The 2016 paper's comparison ``PolyMage``: tiles of one size in two dimensions.

Section 5.1: its scheduler, restricted to what PolyMage (Mullapudi, Vasista,
Bondhugula, 2015) considers: two spatial dimensions are tiled, by one size for all
groups, and what its analysis of dependences cannot describe, reductions and places that
depend on data, is scheduled as the baseline does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.analysis.rank import reads_data
from parhelion.autoschedule.decisions import Lazily
from parhelion.autoschedule.estimates import Sizes
from parhelion.autoschedule.graph import GraphStage
from parhelion.autoschedule.mullapudi_decisions import decisions
from parhelion.autoschedule.mullapudi_model import Floats
from parhelion.autoschedule.mullapudi_model import Sizes as Rows
from parhelion.autoschedule.mullapudi_params import limits
from parhelion.autoschedule.mullapudi_plan import Plan, Style
from parhelion.autoschedule.params import Parameter
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.ir.expr import FuncCall, ImageLoad
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target

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
    """The scheduler ``PolyMage``: parameters as `mullapudi_params.limits` has them, and
    TILE_X and TILE_Y, 256 and 32 by default."""

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`. The costs are those of section 4.2, in additions."""
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


#: What the registry knows.
scheduler = PolyMage()

__all__ = ["PolyMage", "is_affine", "scheduler", "style"]
