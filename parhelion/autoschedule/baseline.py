"""The 2016 paper's comparison ``Baseline``: what a beginner writes (section 5.1).

Inlines what is then still computed once, runs each outermost loop in parallel and each
innermost one in vectors. No Funcs are grouped, no loops tiled or reordered.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.autoschedule.estimates import Sizes
from parhelion.autoschedule.mullapudi_params import limits
from parhelion.autoschedule.mullapudi_plan import Plan, Style
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.ir.function import Function
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target

BASELINE = Style(
    free_inlining=True,
    merges=False,
    tiles_reductions=False,
    reorders=False,
    outermost=True,
)


class Baseline:
    """The scheduler ``Baseline``. For its parameters see `mullapudi_params.limits`."""

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`."""
        numbers, _ = limits(params.name, params.extra)
        plan = Plan(outputs, sizes, numbers, style=BASELINE)
        return AutoSchedulerResults(
            target=target,
            autoscheduler_params=params,
            script=plan.script(),
            notes=plan.notes,
            cost=plan.cost,
            unit="operations",
        )


#: What the registry knows.
scheduler = Baseline()

__all__ = ["BASELINE", "Baseline", "scheduler"]
