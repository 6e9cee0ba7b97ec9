"""compute_with, for the fuzzer: drawn and applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import parhelion as hl
from parhelion.schedule.directives import Place
from parhelion.schedule.order import callees, realization_order
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


#: Directives that leave the outer loops of two Funcs alike.
INNER = ("vectorize", "unroll", "prefetch", "atomic", "never_partition_all")


def draw_pair(
    rng: random.Random, stages: list[int], needs: Callable[[int], set[int]]
) -> tuple[int, ...]:
    """Sometimes, two of the stages that neither need each other: they are left alike,
    to share loops."""
    if rng.random() > 0.7:
        return ()
    pairs = [(a, b) for a in stages for b in stages if a < b and a not in needs(b)]
    return rng.choice(pairs) if pairs else ()


def draw_fusing(
    rng: random.Random,
    stages: list[int],
    pair: tuple[int, ...],
    numbers: Callable[[], Numbers],
) -> list[Directive]:
    """Given last, when the loops stand."""
    if pair:
        later = rng.choice((0, 0, 1))
        return [Directive("compute_with", rng.choice(pair), later, numbers())]
    if len(stages) < 2 or rng.random() < 0.3:
        return []
    return [
        Directive("compute_with", stage, rng.choice((0, 0, 1)), numbers())
        for stage in rng.sample(stages, min(2, len(stages)))
    ]


def compute_with(
    scheduler: Scheduler, built: Built, target: Any, loops: list[Any], choices: Choices
) -> Callable[[], object] | None:
    """Shares loops with some stage of a Func computed at the same place that neither
    needs the other, down to a loop that both have so far. If there is none, the next
    Func of the case takes the place of `built`."""
    stages = scheduler.program.stages
    order = realization_order([f._function for f in scheduler.program.outputs()])
    alive = [s for s in stages if s.func._function in order]
    if built not in alive:
        return None
    first, own = alive.index(built), target._stage
    for one in alive[first:] + alive[:first]:
        for k in sorted(range(len(one.func._function.stages())), key=own.__ne__):
            found = _partners(scheduler, one, k, alive)
            if found:
                other, their, shared = found[choices.upto(len(found) - 1)]
                return _joined(scheduler, (one, k), (other, their), shared, choices)
    return None


def _partners(
    scheduler: Scheduler, built: Built, own: int, alive: list[Built]
) -> list[tuple[Built, int, int]]:
    """The stages that could run with one, and how many loops they have in common."""
    function = built.func._function
    place = _place(scheduler, function)
    if place is None or function.stages()[own].schedule.fused_with is not None:
        return []
    found = []
    joined = {
        (b.func._function, k): d.schedule.fused_with.func
        for b in alive
        for k, d in enumerate(b.func._function.stages())
        if d.schedule.fused_with is not None
    }
    for other in alive:
        g = other.func._function
        if g is function or _place(scheduler, g) != place:
            continue
        if _needs(function, g) or _needs(g, function):
            continue
        # Two pairs of stages might ask for opposite orders.
        if any({f, h} == {function, g} for (f, _), h in joined.items()):
            continue
        for k in range(len(g.stages())):
            shared = _shared(function, own, g, k)
            if shared and g.stages()[k].schedule.fused_with is None:
                found.append((other, k, shared))
    return found


def _joined(
    scheduler: Scheduler,
    follower: tuple[Built, int],
    leader: tuple[Built, int],
    shared: int,
    choices: Choices,
) -> Callable[[], object] | None:
    """The call that has a stage follow another one in some of their `shared` loops."""
    built, own = follower
    depth = choices.upto(shared - 1)
    dims = built.func._function.stages()[own].schedule.dims
    var = list(reversed(dims))[depth].var
    known = {v._var: v for v in built.wrappers.values()}
    known |= {v._var: v for v in scheduler._rvars(built, own)}
    if var not in known:
        return None
    align = ALIGNS[choices.upto(len(ALIGNS) - 1)]
    scheduler.also = [f"LoopAlignStrategy.{align.name}"]
    target, stage = _stage(*follower), _stage(*leader)
    return lambda: target.compute_with(stage, known[var], align)


def _stage(built: Built, k: int) -> Any:
    return built.func.update(k - 1) if k else built.func


def _place(scheduler: Scheduler, function: Any) -> object:
    """Where a Func is computed, if it is at one place that the schedule names."""
    if not function.defined or function.extern is not None:
        return None
    if function.schedule.async_ or function.schedule.memo is not None:
        return None
    case, stages = scheduler.program.case, scheduler.program.stages
    if any(stages[n].func._function is function for n in case.outputs):
        return ()
    level = function.schedule.compute
    if level.place is Place.ROOT:
        return ()
    if level.place is Place.LOOP:
        return level.func, level.var, level.stage
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
