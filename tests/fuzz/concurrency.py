"""Directives about iterations that run at the same time, applied to a case's Funcs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import parhelion as hl
from parhelion.schedule.directives import DimType
from tests.fuzz.case import Choices

if TYPE_CHECKING:
    from tests.fuzz.apply import Scheduler
    from tests.fuzz.ops import Built


def atomic(
    scheduler: Scheduler, built: Built, target: Any, loops: list[Any], choices: Choices
) -> Callable[[], object] | None:
    """On updates of integers: those of floats depend on the order in the last bits."""
    if target is built.func or any(t.is_float() for t in built.func.types()):
        return None
    return lambda: target.atomic()


def allow_race_conditions(
    scheduler: Scheduler, built: Built, target: Any, loops: list[Any], choices: Choices
) -> Callable[[], object] | None:
    """Where there are none: anything else may change the result."""
    stage = 0 if target is built.func else target._stage
    dims = built.func._function.stages()[stage].schedule.dims
    if any(d.type is DimType.IMPURE_RVAR for d in dims):
        return None
    return lambda: target.allow_race_conditions()


def prefetch(
    scheduler: Scheduler, built: Built, target: Any, loops: list[Any], choices: Choices
) -> Callable[[], object] | None:
    """Of something that the stage reads; it may turn out to have no effect."""
    program = scheduler.program
    number = program.stages.index(built)
    sources = program.case.stages[number].sources
    source = sources[choices.upto(len(sources) - 1)]
    what: Any
    if source >= 0 and number:
        what = program.stages[source % number].func
    else:
        what = program.images[(-1 - source) % len(program.images)]
    if isinstance(what, hl.Buffer):
        return None
    at = choices.upto(len(loops) - 1)
    start = loops[at + choices.upto(len(loops) - 1 - at)]
    offset = scheduler.params.number(
        (1, 2, 7, -1)[choices.upto(3)], -(1 << 20), free=True
    )
    strategy = list(hl.PrefetchBoundStrategy)[choices.upto(2)]
    return lambda: target.prefetch(what, loops[at], start, offset, strategy)


def async_(
    scheduler: Scheduler, built: Built, choices: Choices
) -> Callable[[], object] | None:
    return built.func.async_


def ring_buffer(
    scheduler: Scheduler, built: Built, choices: Choices
) -> Callable[[], object] | None:
    """With the storage further out, which it needs."""
    if not built.dims:
        return None
    extent = scheduler.params.number(choices.upto(3) + 1, free=True)

    def both() -> None:
        built.func.ring_buffer(extent)
        built.func.hoist_storage_root()

    return both


#: Each alone, as wild schedules have them; `places` draws them where they fit.
WHOLE = {"async_": async_, "ring_buffer": ring_buffer}
WHOLE_NAMES = tuple(WHOLE)
