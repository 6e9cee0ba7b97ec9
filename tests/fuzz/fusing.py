"""compute_with, for the fuzzer: drawn and applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import parhelion as hl
from parhelion.schedule.directives import Place
from parhelion.schedule.sites import callees
from tests.fuzz.case import Choices, Directive

if TYPE_CHECKING:
    import random

    from tests.fuzz.apply import Scheduler
    from tests.fuzz.case import Numbers
    from tests.fuzz.ops import Built

ALIGNS = (
    hl.LoopAlignStrategy.Auto,
    hl.LoopAlignStrategy.AlignStart,
    hl.LoopAlignStrategy.AlignEnd,
    hl.LoopAlignStrategy.NoAlign,
)


def draw_fusing(
    rng: random.Random, stages: list[int], numbers: Callable[[], Numbers]
) -> list[Directive]:
    """Given last, when the loops stand."""
    if len(stages) < 2 or rng.random() < 0.5:
        return []
    return [
        Directive("compute_with", stage, rng.choice((0, 0, 1)), numbers())
        for stage in rng.sample(stages, min(2, len(stages)))
    ]


def compute_with(
    scheduler: Scheduler, built: Built, target: Any, loops: list[Any], choices: Choices
) -> Callable[[], object] | None:
    """Shares loops with some stage of a Func computed at the same place that neither
    needs the other, down to a loop that both have so far."""
    function, own = built.func._function, target._stage
    place = _place(scheduler, function)
    if place is None or function.stages()[own].schedule.fused_with is not None:
        return None
    found: list[tuple[Any, int, int]] = []
    for other in scheduler.program.stages:
        g = other.func._function
        if g is function or _place(scheduler, g) != place:
            continue
        if _needs(function, g) or _needs(g, function):
            continue
        for k in range(len(g.stages())):
            shared = _shared(function, own, g, k)
            if shared and g.stages()[k].schedule.fused_with is None:
                found.append((other.func, k, shared))
    if not found:
        return None
    func, k, shared = found[choices.upto(len(found) - 1)]
    depth = choices.upto(shared - 1)
    var = list(reversed(function.stages()[own].schedule.dims))[depth].var
    known = {v._var: v for v in built.wrappers.values()}
    known |= {v._var: v for v in scheduler._rvars(built, own)}
    if var not in known:
        return None
    stage = func if k == 0 else func.update(k - 1)
    align = ALIGNS[choices.upto(len(ALIGNS) - 1)]
    return lambda: target.compute_with(stage, known[var], align)


def _place(scheduler: Scheduler, function: Any) -> object:
    """Where a Func is computed, if it is at one place that the schedule names."""
    if not function.defined or function.extern is not None:
        return None
    case, stages = scheduler.program.case, scheduler.program.stages
    if any(stages[n].func._function is function for n in case.outputs):
        return ()
    level = function.schedule.compute
    if level.place is Place.ROOT:
        return ()
    return None


def _needs(f: Any, g: Any) -> bool:
    """Whether `f` depends on `g`."""
    seen: set[Any] = set()
    left = [f]
    while left:
        for h in callees(left.pop()):
            if h is g:
                return True
            if h not in seen:
                seen.add(h)
                left.append(h)
    return False


def _shared(f: Any, i: int, g: Any, k: int) -> int:
    """How many loops of the two stages are alike, from the outermost."""
    a, b = f.stages()[i].schedule, g.stages()[k].schedule
    if a.specializations or b.specializations:
        return 0
    count = 0
    for one, two in zip(reversed(a.dims), reversed(b.dims), strict=False):
        if one.var is not two.var or one.kind is not two.kind:
            break
        count += 1
    return count
