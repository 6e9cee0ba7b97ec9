"""`loop_nest_text`: the loops of a pipeline as they will run, for print_loop_nest."""

from __future__ import annotations

from parhelion.ir.deep import run_deep
from parhelion.lower.nest import NestBuilder
from parhelion.lower.regions import Regions
from parhelion.lower.stages import collect
from parhelion.schedule.legality import check_pipeline
from parhelion.schedule.loopnest import nest_text
from parhelion.schedule.spec import PipelineSpec


def loop_nest_text(spec: PipelineSpec) -> str:
    """The loop nests in the form of Halide's print_loop_nest.

    Ranges are those of bounds inference where they are constant, and loops that run
    once are left out. Raises ScheduleError or BoundsError as lowering does.
    """
    return run_deep(lambda: _text(spec))


def _text(spec: PipelineSpec) -> str:
    check_pipeline(spec)
    regions = Regions(collect(spec))
    return nest_text(NestBuilder(regions, hoist=False).build(), spec.outputs)
