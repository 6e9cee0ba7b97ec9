"""The schedule of a program: the user's, one that is kept, or one that is found.

Few elements are not worth a search: then each Func that is read at several places is
computed by itself. For more, the automatic scheduler is asked once for each class of
sizes, and what it answers is kept beside the compiled code, so that other processes
need not ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from parhelion.errors import TypeMismatchError, here
from parhelion.lang.autoscheduling import autoschedule
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.target_api import get_host_target
from parhelion.runtime import cache, versions
from parhelion.schedule import keys
from parhelion.schedule.order import realization_order
from parhelion.schedule.reach import Reach
from parhelion.whole.arguments import Pixels

if TYPE_CHECKING:
    from parhelion.autoschedule.result import AutoSchedulerResults

#: What a user gives as ``schedule=``.
Schedule: TypeAlias = "Callable[[Pipeline], Any] | str | None"


class Scheduled(Protocol):
    """What is given a schedule: the Funcs of a program, or of its gradients."""

    @property
    def pipeline(self) -> Pipeline: ...

    @property
    def funcs(self) -> Sequence[Func]: ...

    def estimate(
        self, arrays: Sequence[Pixels], shapes: Sequence[Sequence[int]]
    ) -> None: ...


#: The most elements of the classes of sizes but the last. What is best for a preview is
#: up to 2.4 times as slow as need be for a photograph of six times its size.
_CLASSES = (1 << 14, 1 << 19, 1 << 21, 1 << 23, 1 << 25)


def size_class(arrays: Sequence[Pixels], shapes: Sequence[Sequence[int]]) -> int:
    """The class of the sizes of a call: of its largest array."""
    most = 0
    for shape in [*[a.shape for a in arrays], *shapes]:
        count = 1
        for n in shape:
            count *= n
        most = max(most, count)
    return sum([most > limit for limit in _CLASSES])


def function_of(schedule: Schedule) -> Callable[[Pipeline], Any] | None:
    """A user's schedule as a function of a Pipeline.

    A text is a program that defines ``schedule(pipeline)``, as `to_python` prints it.
    Raises TypeMismatchError for what is neither.
    """
    if schedule is None or (callable(schedule) and not isinstance(schedule, str)):
        return schedule
    if isinstance(schedule, str):
        found = _defined_by(schedule)
        if callable(found):
            return found  # type: ignore[no-any-return]
    raise TypeMismatchError(
        f"schedule= is a function of a Pipeline, or a text that defines"
        f" schedule(pipeline), not {schedule!r:.60}",
        at=here(),
        hint="print(found.to_python()) of what autoschedule returns is such a text",
    )


def _defined_by(text: str) -> Any:
    scope: dict[str, object] = {}
    try:
        exec(compile(text, "<string>", "exec"), scope)
    except SyntaxError:
        return None
    return scope.get("schedule")


def compute_all(pipeline: Pipeline) -> None:
    """Computes each Func of a pipeline by itself, one after the other."""
    outputs = {f._function for f in pipeline.outputs()}
    for function in realization_order([f._function for f in pipeline.outputs()]):
        if function not in outputs:
            Func._of(function).compute_root()


def search(
    program: Scheduled, arrays: Sequence[Pixels], shapes: Sequence[Sequence[int]]
) -> AutoSchedulerResults:
    """Asks the automatic scheduler for the sizes of a call, and applies its answer."""
    program.estimate(arrays, shapes)
    return autoschedule(program.pipeline)


def apply_kept(
    program: Scheduled, of_class: int, arrays: Sequence[Pixels], shapes: Sequence[Any]
) -> None:
    """Gives a program the schedule of a class of sizes, which is kept or found now."""
    if of_class == 0:
        compute_all(program.pipeline)
        return
    name = _name(program, of_class)
    kept = None if name is None else cache.load(name)
    if kept is not None:
        found = _defined_by(kept.decode())
        if callable(found):
            found(program.pipeline)
            return
    answer = search(program, arrays, shapes)
    if name is not None:
        cache.store(name, answer.to_python().encode())


def _name(program: Scheduled, of_class: int) -> str | None:
    """The name that a schedule is kept under: of the program, the class of sizes, the
    compiler and the machine; None where there is no such name."""
    if cache.folder() is None:
        return None
    functions = [f._function for f in program.funcs]
    target = str(get_host_target())
    told = ("schedule", versions.compiler(), target, of_class)
    try:
        return keys.key_of((*told, *Reach(functions).look()), False).digest
    except keys.NotPortable:
        return None


__all__ = [
    "Schedule",
    "apply_kept",
    "compute_all",
    "function_of",
    "search",
    "size_class",
]
