"""The paper's scheduler, by its name: ``Mullapudi2016``.

Automatically Scheduling Halide Image Processing Pipelines (Mullapudi, Adams, Sharlet,
Ragan-Kelley, Fatahalian, 2016).
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.autoschedule.decisions import Lazily
from parhelion.autoschedule.estimates import Sizes
from parhelion.autoschedule.mullapudi_decisions import decisions
from parhelion.autoschedule.mullapudi_params import limits
from parhelion.autoschedule.mullapudi_plan import Plan
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.ir.function import Function
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target


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
            decisions=Lazily(lambda: decisions(plan)),
            notes=plan.notes,
            cost=plan.cost,
            unit="operations",
        )


#: What the registry knows.
scheduler = Mullapudi2016()

__all__ = ["Mullapudi2016", "scheduler"]
