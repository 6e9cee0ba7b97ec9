"""`loop_nest_text`: the loops of a pipeline as they will run, for print_loop_nest."""

from __future__ import annotations

from parhelion.lower.passes import nests_of
from parhelion.schedule.loopnest import nest_text
from parhelion.schedule.spec import PipelineSpec


def loop_nest_text(spec: PipelineSpec) -> str:
    """The loop nests in the form of Halide's print_loop_nest.

    Ranges are those of bounds inference where they are constant, and loops that run
    once are left out. Raises ScheduleError or BoundsError as lowering does.
    """
    return nest_text(nests_of(spec, printed=True).nests, spec.outputs)
