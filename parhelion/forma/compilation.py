"""From the stages of a program to compiled code: fused, as Funcs with a schedule."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from parhelion.errors import located
from parhelion.forma.arguments import Number
from parhelion.forma.funcs import Funcs, funcs_of
from parhelion.forma.fuse import Fusion, fuse
from parhelion.forma.schedules import schedule, schedule_strips, whole_stages
from parhelion.forma.stages import Graph
from parhelion.forma.strips import Strips, strips
from parhelion.lang.autoscheduling import autoschedule, find_autoscheduler
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.target_api import Target

if TYPE_CHECKING:
    from parhelion.lang.callable import Callable

#: The scheduler of the paper, which is in this package.
FORMA = "Forma"
#: The default, which goes on from there: groups are computed in lines of others.
STRIPS = "Strips"
#: The most stages that are compiled together, and the most of them that are stored: the
#: compiler takes 4 ms for each, and 100 ms for one that is stored.
MOST_STAGES, MOST_STORED = 4000, 1000


def is_automatic(scheduler: str | None) -> bool:
    """Whether a scheduler is one that `hl.autoschedule` knows."""
    return scheduler not in (FORMA, STRIPS, None)


class Compilation:
    """A program as the compiler has it.

    graph: its stages. fusion: the groups that they are merged to. strips: of the
    scheduler "Strips", what is computed in lines of what. funcs: the Funcs of the
    stages. pipeline: what is compiled.
    """

    def __init__(self, graph: Graph, scheduler: str | None, target: Target) -> None:
        """Raises FormaError for a program that is too large, and HalideError for a
        scheduler that there is not."""
        self.graph, self.scheduler, self.target = graph, scheduler, target
        self._site = graph.outputs[0].span.site()
        if scheduler is not None and is_automatic(scheduler):
            find_autoscheduler(scheduler)
        self.fusion: Fusion = fuse(graph, merging=scheduler in (FORMA, STRIPS))
        self._check_size()
        self.funcs: Funcs = funcs_of(graph)
        self.pipeline = Pipeline([one.func for one in self.funcs.results])
        self.strips: Strips | None = None
        self.lock = threading.RLock()
        self._callable: Callable | None = None
        if scheduler is None:
            whole_stages(self.funcs, self.fusion)
        elif scheduler == FORMA:
            schedule(self.funcs, self.fusion, target)
        elif scheduler == STRIPS:
            self.strips = strips(graph, self.fusion)
            schedule_strips(self.funcs, self.strips, target)

    def _check_size(self) -> None:
        """Raises FormaError for programs that take too long to compile."""
        for count, most, what in (
            (len(self.fusion.stages), MOST_STAGES, "stages"),
            (len(self.fusion.groups), MOST_STORED, "stages that are stored"),
        ):
            if count > most:
                raise self.graph.outputs[0].span.error(
                    f"the program has {count} {what}, and at most {most} are compiled "
                    "together",
                    hint="make several programs of it",
                )

    def is_scheduled(self) -> bool:
        """Whether there is a schedule: automatic ones are made at the first call."""
        return self._callable is not None or not is_automatic(self.scheduler)

    def _schedule(self, numbers: Mapping[str, Number]) -> None:
        """Asks an automatic scheduler, for these parameters."""
        for name, param in self.funcs.parameters.items():
            if name in numbers:
                param.set_estimate(numbers[name])
        assert self.scheduler is not None
        autoschedule(self.pipeline, scheduler=self.scheduler, target=self.target)

    def compiled(self, numbers: Mapping[str, Number] | None = None) -> Callable:
        """The compiled code, made at the first use. numbers: the parameters of that."""
        found = self._callable
        if found is not None:
            return found
        with self.lock, located(self._site):
            if self._callable is None:
                if numbers is not None and is_automatic(self.scheduler):
                    self._schedule(numbers)
                self._callable = self.pipeline.compile_to_callable(
                    self.arguments(), self.target
                )
            return self._callable

    def arguments(self) -> list[ImageParam | Param]:
        """What the compiled function takes: the images of the inputs, then the Params,
        each in the order in which the program declares them."""
        images = [one for image in self.funcs.images for one in image.params]
        return [*images, *self.funcs.parameters.values()]


__all__ = [
    "FORMA",
    "MOST_STAGES",
    "MOST_STORED",
    "STRIPS",
    "Compilation",
    "is_automatic",
]
