"""Directives that a random pipeline has before an automatic scheduler sees it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import parhelion as hl
from parhelion.schedule.legality import resolve
from parhelion.schedule.order import realization_order
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import Program, build
from tests.fuzz.case import Case
from tests.fuzz.draw import used
from tests.support.spec import spec_of


class Refused(Exception):
    """The schedule that is there before is no legal one."""


#: Directives that promise something about sizes, which others do not keep.
_PROMISES = {"bound", "bound_storage", "fold_storage"}


def give_some(program: Program, case: Case, rng: random.Random) -> int:
    """Gives one or two Funcs the directives that the case has for them. Returns how
    many."""
    alive = sorted(used(case))
    chosen = set(rng.sample(alive, min(len(alive), rng.choice((1, 1, 2)))))
    some = [d for d in case.schedule if d.stage in chosen and d.name not in _PROMISES]
    program.case = replace(case, schedule=tuple(some))
    scheduler = Scheduler(program)
    try:
        scheduler.run()
        resolve(spec_of(*program.outputs()))
    except hl.ScheduleError as error:
        raise Refused(str(error).split("\n")[0]) from error
    return sum(scheduler.accepted.values())


def legal_alone(given: Case) -> bool:
    """Whether a program compiles with no more than the directives of the case."""
    program = build(given)
    try:
        Scheduler(program).run()
        hl.Pipeline(program.outputs()).compile_jit()
    except hl.ScheduleError:
        return False
    return True


def states(program: Program) -> list[tuple[Any, ...]]:
    """What the Funcs have been given: places, and loops where there are directives."""
    found: list[tuple[Any, ...]] = []
    functions = [f._function for f in program.outputs()]
    for f in realization_order(functions):
        s = f.schedule
        if s.compute.site is not None:
            found.append((f, None, s.compute, s.store, s.hoist))
        for k, d in enumerate(f.stages()):
            if d.schedule.touched:
                loops = list(d.schedule.dims)
                found.append((f, k, list(d.schedule.transforms), loops))
    return found


def changed(before: Sequence[tuple[Any, ...]]) -> str:
    """What of the directives that were there before is not there any more."""
    for f, k, *was in before:
        if k is None:
            now = [f.schedule.compute, f.schedule.store, f.schedule.hoist]
        else:
            schedule = f.stages()[k].schedule
            now = [schedule.transforms, schedule.dims]
        if now != was:
            what = "the place" if k is None else f"definition {k}"
            return f"{what} of {f.name} is not as it was: {now}, not {was}"
    return ""
