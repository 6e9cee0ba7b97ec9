"""What the searches for CPUs and for GPUs share: the descent, and where it begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Generic

from parhelion.autoschedule.model.code_size import most_length
from parhelion.autoschedule.model.plan import Group, Level
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.pipeline.graph import Graph
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.state import LEVELS, AnyState, ComputeLevel, M
from parhelion.ir import progress
from parhelion.ir.function import Function

#: The extent that is taken where nobody can know one.
GUESS = 256
#: How many groups are evaluated at least, for each Func, and at most.
LEAST, _EACH, _MOST = 1000, 24, 2000
#: What a descent from another start comes to must leave no more of the time than this.
_OTHER_START = 0.9


def evaluations_for(funcs: int) -> int:
    """How many groups a search evaluates by itself. With 1000, lens blur on 256-bit
    registers comes to a schedule that is a third dearer than with 1200."""
    return min(max(LEAST, _EACH * funcs), _MOST)


class Descent(ABC, Generic[M]):
    """One run of a search.

    freedom: what of it is not decided by the user or by what the Funcs are.
    budget: after how many evaluations of groups to stop looking for better; None: what
    `evaluations_for` says. It is no time, so that the same pipeline gets the same
    schedule on a busy computer.
    notes: what could not be analysed, a sentence each. most_length: how long the code
    of the whole pipeline may be without being dear. places: where in the loops of its
    group a Func may be computed. starts: the levels at which all Funcs are to begin
    with, one descent for each, beside that from all Funcs by themselves: as changes are
    taken one by one, that may end where two together would gain.
    """

    outputs: tuple[Function, ...]
    sizes: Sizes
    budget: int | None
    evaluations: int
    freedom: Freedom
    notes: list[str]
    most_length: float
    places: ClassVar[tuple[ComputeLevel, ...]] = LEVELS
    starts: ClassVar[tuple[Level, ...]] = ()

    @abstractmethod
    def modelled(self, graph: Graph, regions: Regions) -> M:
        """The cost model of a graph."""

    @abstractmethod
    def _extra(self, model: M, f: Function) -> float:
        """Nanoseconds of computing `f` wherever it is used, beyond computing it once,
        less those of storing and loading it."""

    def inline_cheap(self, model: M) -> M:
        """Inlines what costs less to compute anew than to keep: a Func whose further
        evaluations take less time than writing it and reading it again.

        Not yet what takes the results of a reduction: it is the place where blocks of
        them can be computed in registers.
        """
        for f in reversed(list(model.graph.order)):
            if f not in model.graph.stages:
                # What was inlined meanwhile does not read it after all.
                continue
            takes = any(g.updates for g in model.graph.producers.get(f, ()))
            if self.freedom.inline(f) and not takes and self._extra(model, f) <= 0:
                model = model.with_inlined(f) or model
        return model

    @abstractmethod
    def group(
        self, model: M, root: Function, members: Mapping[Function, Level]
    ) -> Group:
        """The best loops and tiles for a group of these members."""

    @abstractmethod
    def tilings(
        self,
        model: M,
        root: Function,
        members: Mapping[Function, Level],
        most: int,
    ) -> Sequence[Group]:
        """The cheapest ways to tile a group, the cheapest first."""

    def may_host(self, model: M, root: Function) -> bool:
        """Whether Funcs may be computed in the loops of `root` at all."""
        return self.freedom.host(root)

    def may_join(self, model: M, f: Function, root: Function) -> bool:
        """Whether `f` may be computed in the loops of `root` at all."""
        return self.freedom.nest(f) and self.may_host(model, root)

    def dear(self, length: float) -> float:
        """By how much code of a length is dearer than what it takes to run: beyond what
        is usual, by as much as it is longer, so that it is taken where nothing is
        nearly as fast."""
        return max(1.0, length / self.most_length)

    def run(self) -> AnyState[M]:
        """The best state that it comes to within the budget."""
        graph, regions = self.bounded()
        # Of large pipelines, one descent takes the time that there is.
        further = self.budget or LEAST
        if self.budget is None:
            self.budget = evaluations_for(len(graph.order) + len(graph.inlined))
        model = self.inline_cheap(self.modelled(graph, regions))
        apart = AnyState(self, model, {})
        for f in model.graph.order:
            apart.groups[f] = self.group(model, f, {})
        best = self.descended(apart.merged())
        for level in self.starts:
            self.budget = min(self.budget, further)
            if self.late:
                break
            other = self.descended(apart.together(level))
            if other.cost < best.cost * _OTHER_START:
                best = other
        return best

    def descended(self, state: AnyState[M]) -> AnyState[M]:
        """After every change that gains, until none does."""
        while not self.late:
            progress.step(f"{self.evaluations} groups evaluated")
            better = state.improved()
            if better is state:
                break
            state = better.merged()
        return state

    def bounded(self) -> tuple[Graph, Regions]:
        """The pipeline before anything is decided, and what is needed of each Func.

        Where nobody can tell that, a Func is inlined if it may be, which is always
        legal; if not, an extent is guessed, and it stays where it is computed whole.
        """
        while True:
            graph = Graph.of(self.outputs, self.freedom.inlined)
            regions = Regions(graph, self.sizes, guess=GUESS)
            lost = [f for f in graph.order if f in regions.unknown]
            inline = [f for f in lost if self.freedom.inline(f)]
            if not inline:
                break
            for f in inline:
                self.notes.append(f"{regions.unknown[f].what}, so it is inlined")
                self.freedom.inlined.add(f)
        self.most_length = most_length(len(graph.order) + len(graph.inlined))
        for error in regions.unknown.values():
            self.notes.append(f"{error.what}; {GUESS} is taken for its extent")
        self.freedom.whole.update(lost)
        # Of what is never read, in no iteration, nothing is needed.
        for f in graph.order:
            regions.bounds.setdefault(f, ((0, 0),) * f.dimensions)
        for image in graph.images:
            regions.bounds.setdefault(image, ((0, 0),) * len(image.dims))
        return graph, regions

    @property
    def late(self) -> bool:
        """Whether the budget is spent."""
        return self.budget is not None and self.evaluations > self.budget


__all__ = ["GUESS", "LEAST", "Descent", "evaluations_for"]
