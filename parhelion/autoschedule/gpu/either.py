"""The default scheduler: the target decides whether it is that for CPUs or for GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.search.scheduler import PARHELION as FOR_CPU
from parhelion.ir.function import Function
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target, TargetFeature


class Parhelion:
    """See the module."""

    tiles_scans = FOR_CPU.tiles_scans

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`."""
        if not target.has_feature(TargetFeature.CUDA):
            return FOR_CPU.schedule(outputs, sizes, target, params)
        from parhelion.autoschedule.gpu.scheduler import schedule

        return schedule(outputs, sizes, target, params)


#: What the registry knows.
PARHELION = Parhelion()

__all__ = ["PARHELION", "Parhelion"]
