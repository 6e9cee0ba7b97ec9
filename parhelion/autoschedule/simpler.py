"""Schedules with less in them than the one that was found, to be run beside it.

Parallel loops, vectors and tiles cost time to begin, which a model can only estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parhelion.autoschedule.fallback import refused
from parhelion.autoschedule.graph import Graph, can_inline
from parhelion.autoschedule.regions import points
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.state import State
from parhelion.autoschedule.throughput import one_by_one
from parhelion.ir.function import Function
from parhelion.schedule.recomputing import unscheduled

#: Pipelines of more Funcs are not looked at without a schedule: inlined into each
#: other, their code may multiply.
_MOST_FUNCS = 6
#: Without a schedule, no more than so many times what the schedule is predicted to
#: take: it would be run for nothing.
_MOST_TIME = 8.0


def simpler(state: State, script: Script) -> Iterator[tuple[str, Script]]:
    """What is legal of these, in words and as a script: the schedule without parallel
    loops, and no schedule where that is not far slower by the cost model.

    state: the schedule, of which `script` has the directives.
    """
    serial = script.copy()
    serial.calls = [c for c in script.calls if c.method != "parallel"]
    made = [("the same without parallel loops", serial)]
    outputs = script.outputs
    if without(state, outputs) <= _MOST_TIME * state.cost:
        made.append(("no schedule", Script(outputs)))
    for words, one in made:
        if one.calls != script.calls and refused(one) is None:
            yield words, one


def without(state: State, outputs: Sequence[Function]) -> float:
    """Nanoseconds of the pipeline without directives, on one core; infinity where that
    is not known, or the Funcs have directives already."""
    every = Graph.of(outputs)
    inside = [f for f in every.order if f not in outputs]
    known = len(inside) < _MOST_FUNCS and unscheduled(every.order)
    if not known or not all(can_inline(f, outputs) for f in inside):
        return float("inf")
    model = state.model
    for f in reversed(inside):
        if f in model.graph.stages:
            more = model.with_inlined(f)
            if more is None:
                return float("inf")
            model = more
    total = 0.0
    for f in outputs:
        box = model.regions.bounds[f]
        for stage in model.graph.stages[f]:
            count = float(points(model.regions.loops(stage, box)))
            total += count * one_by_one(model.work(stage), model.machine)
    return total


__all__ = ["simpler", "without"]
