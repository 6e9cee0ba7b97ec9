"""What the default scheduler comes to: a state of its search, with parts or without.

The search runs on the pipeline as it is. Where large reductions turn out to leave lanes
or threads idle, it runs once more with these in parts, and the cheaper schedule stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from parhelion.autoschedule.decisions import Decision, Option
from parhelion.autoschedule.emit import script_of
from parhelion.autoschedule.estimates import Sizes
from parhelion.autoschedule.factored import Factoring, Reduction, Way, reductions
from parhelion.autoschedule.fallback import refused
from parhelion.autoschedule.machine import Machine
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.search import Search
from parhelion.autoschedule.state import State
from parhelion.ir.function import Function

_T = TypeVar("_T")

#: With parts, the whole must take no more than this share of the time without.
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
        whole = Found(self, plain)
        whole.reductions = reductions(plain, self.floats)
        ways = [one.best for one in whole.reductions]
        if not any(ways):
            return whole
        parted = self.with_ways([way for way in ways if way is not None])
        if parted.state.cost > plain.cost * _WORTH:
            return whole
        illegal = refused(parted.script())
        if illegal is not None:
            plain.search.notes.append(
                "large reductions stay whole, as they cannot be in parts here"
                f" ({illegal.what})"
            )
            return whole
        parted.reductions = whole.reductions
        return parted

    def with_ways(self, ways: Sequence[Way]) -> Found:
        """The schedule that the search finds with these reductions in parts."""
        if not ways:
            return Found(self, self.search().run())
        factoring = Factoring(self.outputs, ways)
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
        """Of each large reduction: whether it is computed in parts, and in which."""
        return [self._parts(one) for one in self.reductions]

    def _parts(self, reduction: Reduction) -> Decision:
        now = next((w for w in self.ways if w.function is reduction.function), None)
        chosen = Option(_label(now), self.state.cost * _NANO)
        options = [chosen]
        rest = [way for way in self.ways if way is not now]
        for way in (None, *[way for _, way in reduction.ways]):
            if way is not now:
                other = self.finder.with_ways(rest if way is None else [*rest, way])
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
