"""`loop_nest_text`: the loops of a pipeline as they will run, for print_loop_nest."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.ir.deep import run_deep
from parhelion.ir.function import Function
from parhelion.lower.nest import NestBuilder
from parhelion.lower.regions import Regions
from parhelion.lower.stages import collect
from parhelion.schedule.legality import check_pipeline
from parhelion.schedule.loopnest import nest_text


def loop_nest_text(outputs: Sequence[Function]) -> str:
    """The loop nests in the form of Halide's print_loop_nest.

    Ranges are those of bounds inference where they are constant, and loops that run
    once are left out. Raises ScheduleError or BoundsError as lowering does. Every
    output must have its `buffers`.
    """
    return run_deep(lambda: _text(outputs))


def _text(outputs: Sequence[Function]) -> str:
    check_pipeline(outputs)
    regions = Regions(collect(outputs))
    return nest_text(NestBuilder(regions, hoist=False).build(), outputs)
