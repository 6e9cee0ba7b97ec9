"""What the default scheduler comes to: a state of its search, with parts or without.

The search runs on the pipeline as it is. Where large reductions turn out to leave lanes
or threads idle, it runs once more with these in parts; where vectors gather what lies
in memory in the wrong order, with another one. The cheapest schedule stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from parhelion.autoschedule.decisions import Decision, Option
from parhelion.autoschedule.fallback import refused
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.directives import script_of
from parhelion.autoschedule.search.layout import StorageOrder, layouts
from parhelion.autoschedule.search.rfactor import Factoring, Reduction, Way, reductions
from parhelion.autoschedule.search.state import State
from parhelion.ir.function import Function

_T = TypeVar("_T")

#: A change must leave no more than this share of the time.
_WORTH = 0.97
_NANO = 1e-9


@dataclass
class Finder:
    """What there is to be scheduled, and how.

    budget: of each search, its own if None. floats: whether sums of floats may be
    computed in parts, too. notes: what the user should know anyway.
    """

    outputs: tuple[Function, ...]
    sizes: Sizes
    machine: Machine
    budget: int | None = None
    floats: bool = True
    notes: list[str] = field(default_factory=list)

    def search(self, ours: frozenset[tuple[Function, int]] = frozenset()) -> Search:
        made = Search(self.outputs, self.sizes, self.machine, ours=ours)
        made.notes += self.notes
        if self.budget is not None:
            made.budget = self.budget
        return made

    def found(self, plain: State) -> Found:
        """The best schedule, given the one that has no reductions in parts."""
        best = Found(self, plain)
        candidates = reductions(plain, self.floats)
        ways = [one.best for one in candidates if one.best is not None]
        if ways:
            best = self._better(best, self.trial(ways, ()), "reductions in parts")
        best.reductions = candidates
        state = best.state
        parts = [] if best.factoring is None else best.factoring.parts
        for layout in best.within(lambda: layouts(state)):
            if layout.function in parts:
                continue  # each trial makes its own, with lanes side by side
            other = self.trial(best.ways, (*best.layouts, layout))
            stored = layout.function not in other.state.model.graph.inlined
            if stored:
                other.reductions = candidates
                best = self._better(best, other, "another storage order")
        return best

    def _better(self, best: Found, other: Found, what: str) -> Found:
        """The other schedule if it takes less time and is legal."""
        if other.state.cost > best.state.cost * _WORTH:
            return best
        illegal = refused(other.script())
        if illegal is not None:
            best.state.search.notes.append(
                f"{what} would gain, but cannot be had here ({illegal.what})"
            )
            return best
        return other

    def trial(self, ways: Sequence[Way], layouts: Sequence[StorageOrder]) -> Found:
        """The schedule that the search finds with these reductions in parts, and these
        storage orders."""
        if not ways and not layouts:
            return Found(self, self.search().run())
        factoring = Factoring(self.outputs, ways, layouts)
        with factoring.applied():
            return Found(self, self.search(factoring.ours).run(), factoring)


@dataclass
class Found:
    """A schedule. factoring: what puts reductions in parts; None where none are.
    reductions: those that might have been."""

    finder: Finder
    state: State
    factoring: Factoring | None = None
    reductions: Sequence[Reduction] = field(default_factory=list)

    @property
    def ways(self) -> tuple[Way, ...]:
        return () if self.factoring is None else self.factoring.ways

    @property
    def layouts(self) -> tuple[StorageOrder, ...]:
        return () if self.factoring is None else self.factoring.layouts

    def within(self, make: Callable[[], _T]) -> _T:
        """What `make` gives while the pipeline is the one that was searched."""
        return make() if self.factoring is None else self.factoring.within(make)

    def script(self, state: State | None = None) -> Script:
        """The directives of the schedule, or of another state of its search."""
        chosen = self.state if state is None else state
        model = chosen.model
        start = None if self.factoring is None else self.factoring.script()
        return self.within(
            lambda: script_of(
                chosen.plan(),
                model.graph,
                model.regions,
                model.machine,
                chosen.search.freedom,
                start,
            )
        )

    def decisions(self) -> list[Decision]:
        """Of each large reduction, whether it is computed in parts, and in which; of
        each Func that lies in memory otherwise than by default, what that gains."""
        parts = [self._parts(one) for one in self.reductions]
        return parts + [self._layout(one) for one in self.layouts]

    def _layout(self, layout: StorageOrder) -> Decision:
        chosen = Option(layout.label, self.state.cost * _NANO)
        rest = [one for one in self.layouts if one is not layout]
        other = self.finder.trial(self.ways, rest)
        names = ", ".join([v.name for v in layout.function.args])
        plain = Option(names, other.state.cost * _NANO, other.script)
        name = layout.function.name
        return Decision("storage", name, chosen, (chosen, plain), group="storage")

    def _parts(self, reduction: Reduction) -> Decision:
        now = next((w for w in self.ways if w.function is reduction.function), None)
        chosen = Option(_label(now), self.state.cost * _NANO)
        options = [chosen]
        rest = [way for way in self.ways if way is not now]
        for way in (None, *[way for _, way in reduction.ways]):
            if way is not now:
                ways = rest if way is None else [*rest, way]
                other = self.finder.trial(ways, self.layouts)
                options.append(
                    Option(_label(way), other.state.cost * _NANO, other.script)
                )
        return Decision(
            "parts",
            reduction.function.name,
            chosen,
            tuple(options),
            group="reductions",
        )


def _label(way: Way | None) -> str:
    return "whole" if way is None else way.label


__all__ = ["Finder", "Found"]
