"""Directives about iterations that run at the same time, applied to a case's Funcs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
