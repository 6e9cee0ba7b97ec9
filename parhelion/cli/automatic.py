"""Schedules that are found for a pipeline, where its file has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import parhelion as hl
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.cli.problem import Problem
from parhelion.cli.programs import NamedPipeline
from parhelion.cli.region import asked_extents, of_output
from parhelion.schedule.order import realization_order
from parhelion.schedule.recomputing import unscheduled


def is_unscheduled(program: NamedPipeline) -> bool:
    """Whether nothing says how any of its Funcs is to be computed."""
    return unscheduled(realization_order(program.pipeline._functions()))


def find_schedule(
    program: NamedPipeline,
    extents: Sequence[int],
    scheduler: str = "Parhelion",
    **told: Any,
) -> AutoSchedulerResults:
    """Schedules all outputs for these extents, of which each has as many as it has
    dimensions."""
    outputs = program.pipeline.outputs()
    if len({f.dimensions() for f in outputs}) == 1:
        return hl.autoschedule(
            program.pipeline, sizes=extents, scheduler=scheduler, **told
        )
    for f in outputs:
        f.set_estimates([(0, extent) for extent in of_output(f, extents)])
    return hl.autoschedule(program.pipeline, scheduler=scheduler, **told)


def schedule_as_run(
    program: NamedPipeline,
    extents: Sequence[int],
    auto: bool,
    scheduler: str | None,
) -> AutoSchedulerResults | None:
    """Schedules a program as `parhelion run` does: by itself where the user asks for
    it, or where nothing is scheduled; returns what was found then."""
    if auto or scheduler is not None or is_unscheduled(program):
        return find_schedule(program, extents, scheduler or "Parhelion")
    return None


def ensure_schedule(program: NamedPipeline, size: str | None) -> None:
    """Schedules a program of several stages that has no schedule, for outputs of this
    size. Raises Problem where it is not given: all inlined, code grows beyond use."""
    outputs = program.pipeline._functions()
    order = realization_order(outputs)
    between = [f for f in order if f not in outputs]
    if not between or not unscheduled(order):
        return
    if size is None:
        raise Problem(
            f"nothing says how {program.name} is to be computed: it has "
            f"{len(order)} Funcs and no schedule",
            hint="give --size WIDTHxHEIGHT for an automatic one, or schedule it in its "
            "Generator"
            if program.built is not None
            else "give --schedule NAME, a schedule of its file, or --size WIDTHxHEIGHT "
            "for an automatic one",
        )
    find_schedule(program, asked_extents(program, {}, size))


__all__ = ["ensure_schedule", "find_schedule", "is_unscheduled", "schedule_as_run"]
