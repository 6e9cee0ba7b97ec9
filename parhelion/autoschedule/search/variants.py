"""What the default scheduler comes to: a state of its search, with parts or without.

The search runs on the pipeline as it is. Where large reductions turn out to leave lanes
or threads idle, it runs once more with these in parts; where vectors gather what lies
in memory in the wrong order, with another one. The cheapest schedule stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeVar

from parhelion.autoschedule.decisions import Decision, Option
from parhelion.autoschedule.fallback import refused
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.directives import script_of
from parhelion.autoschedule.search.layout import StorageOrder, layouts
from parhelion.autoschedule.search.on_demand import (
    Part,
    Parts,
    asking,
    candidates,
    parts_of,
    told,
)
from parhelion.autoschedule.search.rfactor import Factoring, Reduction, Way, reductions
from parhelion.autoschedule.search.state import State
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function
from parhelion.lang.target_api import Target

_T = TypeVar("_T")

#: A change must leave no more than this share of the time.
_WORTH = 0.97
_NANO = 1e-9

#: Of a Func, the schedules without and with it on demand.
Tried = Mapping[Function, "Sequence[tuple[Part | None, Found]]"]


@dataclass
class Finder:
    """What there is to be scheduled, and how.

    budget: of each search, its own if None. floats: whether sums of floats may be
    computed in parts, too. notes: what the user should know anyway. target: what code
    will be for.
    """

    outputs: tuple[Function, ...]
    sizes: Sizes
    machine: Machine
    budget: int | None = None
    floats: bool = True
    notes: list[str] = field(default_factory=list)
    target: Target | None = None

    def search(
        self,
        ours: frozenset[tuple[Function, int]] = frozenset(),
        parts: Parts | None = None,
    ) -> Search:
        made = Search(
            self.outputs, self.sizes, self.machine, ours=ours, parts=parts or {}
        )
        made.notes += self.notes
        if self.budget is not None:
            made.budget = self.budget
        return made

    def found(self, plain: State) -> Found:
        """The best schedule, given the one that has no reductions in parts."""
        best = Found(self, plain)
        large = reductions(plain, self.floats)
        ways = [one.best for one in large if one.best is not None]
        if ways:
            best = self._better(best, self.trial(ways, ()), "reductions in parts")
        best.reductions = large
        state = best.state
        parts = [] if best.factoring is None else best.factoring.parts
        for layout in best.within(lambda: layouts(state)):
            if layout.function in parts:
                continue  # each trial makes its own, with lanes side by side
            other = self.trial(best.ways, (*best.layouts, layout))
            stored = layout.function not in other.state.model.graph.inlined
            if stored:
                other.reductions = large
                best = self._better(best, other, "another storage order")
        chosen = best.state
        for f in best.within(lambda: candidates(chosen.model, chosen.search.freedom)):
            best = self._on_demand(best, f)
        return best

    def _on_demand(self, best: Found, f: Function) -> Found:
        """With a Func on demand if that takes less time, in the tiles, or the values,
        that cost least."""
        tried: list[tuple[Part | None, Found]] = [(None, best)]
        for part in best.within(lambda: self._cheapest(best, f)):
            other = self.trial(best.ways, best.layouts, {**best.parts, f: part})
            other.reductions, other.tried = best.reductions, best.tried
            tried.append((part, other))
        for which, other in sorted(tried[1:], key=lambda one: one[1].state.cost):
            label = "" if which is None else which.label
            better = self._better(best, other, f"computing {f.name} {label}")
            if better is other:
                best = other
                break
        best.tried = {**best.tried, f: tried}
        return best

    def _cheapest(self, best: Found, f: Function) -> list[Part]:
        """Of tiles, and of single values, those that cost least by themselves."""
        state = best.state
        inlined = f in state.model.graph.inlined
        model = state.model.without_inlined(f) if inlined else state.model
        found: dict[bool, tuple[float, Part]] = {}
        if f not in model.graph.stages:
            return []
        for part in parts_of(model, f):
            search = self.search(best.search.ours, {f: part})
            cost = search.group(model, f, {}).cost
            for c in model.graph.consumers[f]:
                cost += asking(model, c, {f: part}) / self.machine.threads
            kind = bool(part.tile)
            if kind not in found or cost < found[kind][0]:
                found[kind] = cost, part
        return [part for _, part in sorted(found.values(), key=lambda one: one[0])]

    def _better(self, best: Found, other: Found, what: str) -> Found:
        """The other schedule if it takes less time and is legal."""
        if other.state.cost > best.state.cost * _WORTH:
            return best
        # What is on demand may be refused where it is lowered, and not before.
        illegal = refused(other.script(), self.target if other.parts else None)
        if illegal is not None:
            best.state.search.notes.append(
                f"{what} would gain, but cannot be had here ({illegal.what})"
            )
            return best
        return other

    def trial(
        self,
        ways: Sequence[Way],
        layouts: Sequence[StorageOrder],
        parts: Parts | None = None,
    ) -> Found:
        """The schedule that the search finds with these reductions in parts, these
        storage orders, and these Funcs on demand."""
        if not ways and not layouts:
            return Found(self, self.search(parts=parts).run())
        factoring = Factoring(self.outputs, ways, layouts)
        with factoring.applied():
            return Found(self, self.search(factoring.ours, parts).run(), factoring)


@dataclass
class Found:
    """A schedule. factoring: what puts reductions in parts; None where none are.
    reductions: those that might have been. tried: of Funcs of which the user says how
    much is read, the schedules without and with them on demand."""

    finder: Finder
    state: State
    factoring: Factoring | None = None
    reductions: Sequence[Reduction] = field(default_factory=list)
    tried: Tried = field(default_factory=dict)

    @property
    def search(self) -> Search:
        """The search that has come to it."""
        search = self.state.search
        assert isinstance(search, Search)
        return search

    @property
    def parts(self) -> Parts:
        return self.search.parts

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
        made = [self._parts(one) for one in self.reductions]
        made += [self._layout(one) for one in self.layouts]
        return made + [self._demanded(f) for f in self.tried]

    def _demanded(self, f: Function) -> Decision:
        """Whether a Func is computed on demand, as the user says what is read of it."""
        chosen: Option | None = None
        options: list[Option] = []
        for part, found in self.tried[f]:
            if part is None:
                label = str(found.state.place(f))
            else:
                label = part.label
            one = Option(label, found.state.cost * _NANO, found.script)
            options.append(one)
            if part == self.parts.get(f):
                chosen = Option(label, self.state.cost * _NANO)
                options[-1] = chosen
        assert chosen is not None
        reason = told(f, self.parts.get(f), [p for p, _ in self.tried[f]])
        return Decision("demand", f.name, chosen, tuple(options), reason, "coverage")

    def _layout(self, layout: StorageOrder) -> Decision:
        chosen = Option(layout.label, self.state.cost * _NANO)
        rest = [one for one in self.layouts if one is not layout]
        other = self.finder.trial(self.ways, rest, self.parts)
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
                other = self.finder.trial(ways, self.layouts, self.parts)
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
