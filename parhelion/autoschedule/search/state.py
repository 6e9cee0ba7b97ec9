"""One schedule of the default scheduler's search, and the schedules next to it.

A state is a graph, with some Funcs inlined, and a partition of the rest into groups.
Its neighbours differ in where one Func is computed: inlined, at the root, or at one of
three levels in the loops of the group that reads it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from parhelion.autoschedule.model.code_size import dear_group
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Group, Level, Plan
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, Source
from parhelion.autoschedule.pipeline.work import Work
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function

if TYPE_CHECKING:
    from parhelion.autoschedule.search.base import Descent

#: A change must gain at least this share of the whole.
_WORTH = 1e-4
#: More inlined Funcs than this are not moved together.
_MOST_BESIDE = 5


@dataclass(frozen=True)
class ComputeLevel:
    """Where a Func is computed: "inline", "root", or "at" a level of a group."""

    kind: str
    level: Level | None = None

    def __str__(self) -> str:
        if self.level is None:
            return self.kind
        return f"per {self.level.name.lower()}"


INLINE, ROOT = ComputeLevel("inline"), ComputeLevel("root")
LEVELS = tuple(ComputeLevel("at", level) for level in Level)


class Modelled(Protocol):
    """What a state asks of the cost model of its graph."""

    graph: Graph

    def work(self, stage: GraphStage) -> Work: ...

    def with_inlined(self, f: Function) -> Self | None: ...

    def without_inlined(self, f: Function) -> Self: ...


M = TypeVar("M", bound=Modelled)


@dataclass
class AnyState(Generic[M]):
    """search: whose it is. model: of its graph. groups: by their roots."""

    search: Descent[M]
    model: M
    groups: dict[Function, Group]

    @property
    def cost(self) -> float:
        """Its time, and more where it makes too much code (`Search.dear`)."""
        length = sum([g.length for g in self.groups.values()])
        time = sum([g.cost * dear_group(g.length) for g in self.groups.values()])
        return time * self.search.dear(length)

    @property
    def time(self) -> float:
        """Nanoseconds on all threads together."""
        return sum(g.cost for g in self.groups.values())

    def gains(self, on: AnyState[M]) -> bool:
        """Whether this state is worth the change from another one. No state gains on
        one that gains on it, so that every walk comes to an end."""
        return self.cost < on.cost - _WORTH * abs(on.cost)

    def plan(self) -> Plan:
        order = [f for f in self.model.graph.order if f in self.groups]
        return Plan(self.model.graph.inlined, [self.groups[f] for f in order])

    def home(self) -> dict[Function, Function]:
        """The root of the group that each Func belongs to."""
        found = {}
        for root, g in self.groups.items():
            found[root] = root
            for m in g.members:
                found[m] = root
        return found

    def place(self, f: Function) -> ComputeLevel:
        """Where `f` is computed."""
        if f in self.model.graph.inlined:
            return INLINE
        for root, g in self.groups.items():
            if root is f:
                return ROOT
            if f in g.members:
                return ComputeLevel("at", g.members[f])
        raise KeyError(f.name)

    # Changes.

    def merged(self) -> AnyState[M]:
        """After every merge of two groups that gains, the one that gains most first."""
        state = self
        while True:
            best: AnyState[M] | None = None
            for f in state.model.graph.order:
                if f not in state.groups or f in state.model.graph.outputs:
                    continue
                for place in self.search.places:
                    other = state.moved(f, place)
                    if other is not None and (best is None or other.cost < best.cost):
                        best = other
            if best is None or not best.gains(state):
                return state
            state = best

    def together(self, level: Level) -> AnyState[M]:
        """Every Func in the loops of the group that reads it, at this level or further
        out, where it may be."""
        state = self
        for f in reversed(list(self.model.graph.order)):
            if f in state.groups and f not in state.model.graph.outputs:
                other = state.moved(f, ComputeLevel("at", level))
                if other is not None and other.time < math.inf:
                    state = other
        return state

    def improved(self) -> AnyState[M]:
        """After one look at each Func, those of the dearest groups first: it goes where
        the whole costs least."""
        state = self
        weight = {f: self.groups[r].cost for f, r in self.home().items()}
        funcs = self.model.graph.everything
        for f in sorted(funcs, key=lambda f: -weight.get(f, 0.0)):
            if self.search.late:
                break
            best = state
            near = [other for _, other in state.others(f)]
            if f in state.groups:
                near += state.slid(f)
            elif f in state.model.graph.inlined:
                near += state.restored(f)
            for other in near:
                if other.gains(best):
                    best = other
            state = best
        return state

    def others(self, f: Function) -> Iterator[tuple[ComputeLevel, AnyState[M]]]:
        """The states with `f` in another place."""
        if not self.search.freedom.move(f):
            return
        now = self.place(f)
        for place in (INLINE, ROOT, *self.search.places):
            if place != now:
                other = self.moved(f, place)
                if other is not None:
                    yield place, other

    def moved(self, f: Function, place: ComputeLevel) -> AnyState[M] | None:
        """This state with `f` in a place; None where it cannot be there."""
        graph = self.model.graph
        if not self.search.freedom.move(f):
            return None
        if place == INLINE:
            return self._inlined(f)
        if f in graph.inlined:
            return self._restored(f, place)
        if f not in self.groups and place.level is not None:
            return self._leveled({f: place.level})
        state = self if f in self.groups else self._split(f)
        if place == ROOT:
            return state
        assert place.level is not None
        return state._joined(f, place.level)

    def restored(self, f: Function) -> Iterator[AnyState[M]]:
        """`f`, which is inlined, in the loops of its group, and all others there at the
        same level; likewise with what is inlined beside it: where several read the same
        neighbours, or slide along with it, one alone gains nothing; and both again with
        what reads them inlined, which need not be kept as well."""
        for level in (Level.TILE, Level.ROW):
            if ComputeLevel("at", level) not in self.search.places:
                continue
            state = self.moved(f, ComputeLevel("at", level))
            if state is None:
                continue
            yield from state.slid(state.home()[f])
            together: AnyState[M] | None = state
            beside = self._beside(f)
            for g in beside:
                if together is not None:
                    together = together.moved(g, ComputeLevel("at", level))
            if together is not None and together is not state:
                yield together
                yield from together.slid(together.home()[f])
            swapped = (together or state)._swapped(f, beside if together else [])
            if swapped is not None:
                yield swapped
                yield from swapped.slid(swapped.home()[f])

    def _swapped(self, f: Function, beside: Sequence[Function]) -> AnyState[M] | None:
        """This state, where `f` and what is beside it are members of a group, with the
        members inlined that read these at their own point alone: what is computed from
        numbers that are kept anyway. None where there is none, or not all may be."""
        kept = {f, *beside}
        members = self.groups[self.home()[f]].members
        gone = [m for m in members if m not in kept and self._at_one_point(m, kept)]
        if not gone or not all(self.search.freedom.move(m) for m in gone):
            return None
        return self._inlined(*gone)

    def _at_one_point(self, m: Function, kept: Set[Function]) -> bool:
        """Whether `m` reads some of these, and each of them once."""
        loads = [
            a for s in self.model.graph.stages[m] for a in self.model.work(s).loads
        ]
        read = [a.source for a in loads if a.source in kept]
        return bool(read) and len(read) == len({*read})

    def _beside(self, f: Function) -> list[Function]:
        """The other inlined Funcs that read a Func which `f` reads too."""
        inlined = self.model.graph.inlined

        def reads(g: Function) -> set[Source]:
            pure = g.pure
            return set() if pure is None else set(pure.mentions()) - inlined

        found = [
            g
            for g in self.model.graph.whole
            if g in inlined and g is not f and reads(f) & reads(g)
        ]
        return found if len(found) <= _MOST_BESIDE else []

    def _leveled(self, levels: Mapping[Function, Level]) -> AnyState[M] | None:
        """Members of one group at other levels of it, what they need no further in;
        None where one would be further in than what reads it."""
        (root,) = {self.home()[f] for f in levels}
        host = self.groups[root]
        wanted = {**host.members, **levels}
        members = self._legal(self.model, root, wanted)
        if any(members[f] < level for f, level in levels.items()):
            return None
        if members == host.members:
            return None
        group = self.search.group(self.model, root, members)
        return AnyState(self.search, self.model, {**self.groups, root: group})

    def slid(self, root: Function) -> Iterator[AnyState[M]]:
        """A group with all that is computed once a tile sliding along its rows instead,
        and the other way round."""
        if ComputeLevel("at", Level.ROW) not in self.search.places:
            return
        members = self.groups[root].members
        for old, new in ((Level.TILE, Level.ROW), (Level.ROW, Level.TILE)):
            levels = {
                m: new
                for m, at in members.items()
                if at is old and self.search.freedom.move(m)
            }
            other = self._leveled(levels) if levels else None
            if other is not None:
                yield other

    def _restored(self, f: Function, place: ComputeLevel) -> AnyState[M] | None:
        """`f`, which is inlined here, in a place of its own."""
        model = self.model.without_inlined(f)
        graph = model.graph
        if f not in graph.stages:
            return None
        home = self.home()
        groups = dict(self.groups)
        state = AnyState(self.search, model, groups)
        into = list(dict.fromkeys([home[c] for c in graph.consumers[f]]))
        if place == ROOT:
            members: Mapping[Function, Level]
            for root in into:
                # What only `f` needs is no longer read in these groups.
                members = self.groups[root].members
                gone: dict[Function, None] = {}
                for m in members:
                    outside = [c for c in graph.consumers[m] if c is f or c in gone]
                    if outside:
                        gone[m] = None
                stay = {m: at for m, at in members.items() if m not in gone}
                groups[root] = self.search.group(model, root, stay)
                for m in gone:
                    groups[m] = self.search.group(model, m, {})
            groups[f] = self.search.group(model, f, {})
            return state
        if len(into) != 1:
            return None
        root = into.pop()
        assert place.level is not None
        if not self.search.may_join(model, f, root):
            return None
        members = {**self.groups[root].members, f: place.level}
        groups[root] = self.search.group(model, root, self._legal(model, root, members))
        return state

    def _inlined(self, *funcs: Function) -> AnyState[M] | None:
        graph = self.model.graph
        model = self.model
        for f in funcs:
            if f in graph.inlined or not self.search.freedom.inline(f):
                return None
            if f in self.groups and self.groups[f].members:
                return None
            more = model.with_inlined(f)
            if more is None:
                return None
            model = more
        if any(g not in model.graph.stages for g in self.home() if g not in funcs):
            return None
        groups = {r: g for r, g in self.groups.items() if r not in funcs}
        touched = {*funcs, *[c for f in funcs for c in graph.consumers[f]]}
        state = AnyState(self.search, model, groups)
        for root, g in list(groups.items()):
            if not touched.isdisjoint((root, *g.members)):
                members = {m: at for m, at in g.members.items() if m not in funcs}
                groups[root] = self.search.group(
                    model, root, self._legal(model, root, members)
                )
        return state

    def _legal(
        self, model: M, root: Function, members: Mapping[Function, Level]
    ) -> dict[Function, Level]:
        """The same members, none further in than those that read it."""
        made: dict[Function, Level] = {}
        for m in sorted_members(model, members):
            level = members[m]
            for c in model.graph.consumers[m]:
                if c in made:
                    level = min(level, made[c])
            made[m] = level
        return made

    def _split(self, f: Function) -> AnyState[M]:
        """`f`, a member, as the root of a group of its own, with those members that
        only it needs."""
        graph = self.model.graph
        root = self.home()[f]
        host = self.groups[root]
        gone = {f}
        for m in host.members:  # consumers come first
            readers = [c for c in graph.consumers[m] if c is root or c in host.members]
            if m is not f and readers and all(c in gone for c in readers):
                gone.add(m)
        # A member that others need too stays where it is, if it can be read from there.
        stay = {m: at for m, at in host.members.items() if m not in gone}
        if any(c in gone for m in stay for c in graph.consumers[m]):
            for m in list(stay):
                if any(c in gone for c in graph.consumers[m]):
                    return self._scattered(f)
        own = {m: host.members[m] for m in host.members if m in gone and m is not f}
        if own and not self.search.may_host(self.model, f):
            return self._scattered(f)
        groups = dict(self.groups)
        groups[root] = self.search.group(self.model, root, stay)
        groups[f] = self.search.group(self.model, f, own)
        return AnyState(self.search, self.model, groups)

    def _scattered(self, f: Function) -> AnyState[M]:
        """`f` and all that it needs of its group, each at the root."""
        graph = self.model.graph
        root = self.home()[f]
        host = self.groups[root]
        gone = {f: None}
        for m in host.members:
            if any(c in gone for c in graph.consumers[m]):
                gone[m] = None
        groups = dict(self.groups)
        stay = {m: at for m, at in host.members.items() if m not in gone}
        groups[root] = self.search.group(self.model, root, stay)
        for m in gone:
            groups[m] = self.search.group(self.model, m, {})
        return AnyState(self.search, self.model, groups)

    def _joined(self, f: Function, level: Level) -> AnyState[M] | None:
        """The group of `f`, a root, inside the loops of the one group that reads it."""
        graph = self.model.graph
        home = self.home()
        into = {home[c] for c in graph.consumers[f]}
        if len(into) != 1:
            return None
        consumer = into.pop()
        host, own = self.groups[consumer], self.groups[f]
        for c in graph.consumers[f]:
            if host.members.get(c, Level.BLOCK) < level:
                return None
        if not self.search.may_join(self.model, f, consumer):
            return None
        members = {**host.members, f: level}
        for m, at in own.members.items():
            members[m] = min(level, at)
        groups = {r: g for r, g in self.groups.items() if r is not f}
        ordered = {m: members[m] for m in sorted_members(self.model, members)}
        groups[consumer] = self.search.group(self.model, consumer, ordered)
        return AnyState(self.search, self.model, groups)


#: The states of schedules for CPUs.
State = AnyState[Model]


def sorted_members(
    model: Modelled, members: Mapping[Function, Level]
) -> Sequence[Function]:
    """Members in the order of consumers before producers."""
    place = {f: k for k, f in enumerate(model.graph.order)}
    return sorted(members, key=lambda m: -place[m])


__all__ = [
    "INLINE",
    "LEVELS",
    "ROOT",
    "AnyState",
    "ComputeLevel",
    "Modelled",
    "State",
    "sorted_members",
]
