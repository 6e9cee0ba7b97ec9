"""Which Funcs are inlined: greedily, for all consumers (2016 paper, section 4.3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from parhelion.autoschedule.pipeline.graph import (
    Graph,
    GraphStage,
    Inliner,
    TooLong,
    can_inline,
)
from parhelion.autoschedule.pipeline.work import Work
from parhelion.dataclass import dataclass
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.schedule.modes import by_loops

_MARKS = ("likely", "likely_if_innermost", "guarded")

#: By definition: over how many points it runs in the whole pipeline.
Points = Mapping[tuple[Function, int], float]


_Stages = tuple[GraphStage, ...]
_Made = tuple[tuple[_Stages, _Stages], _Stages, float]


@dataclass(frozen=True)
class Inlining:
    """One decision: what the Func and its consumers cost in all, if it is inlined and
    if it is not. trivial: it computes nothing, so that costs were not asked."""

    func: Function
    inlined: float
    apart: float
    trivial: bool
    chosen: bool

    @property
    def benefit(self) -> float:
        return self.apart - self.inlined


class Inlines:
    """The Funcs of a graph while some of them are being inlined.

    points: how often each definition is evaluated, were nothing inlined. load_cost: of
    one load, in units of an addition. keep: Funcs that must stay. forced: what has been
    decided beforehand.
    """

    def __init__(
        self,
        graph: Graph,
        points: Points,
        load_cost: float,
        keep: Collection[Function] = (),
        forced: Mapping[Function, bool] | None = None,
    ) -> None:
        self.graph, self.points, self.load_cost = graph, points, load_cost
        self.forced = forced or {}
        self.stages: dict[Function, tuple[GraphStage, ...]] = dict(graph.stages)
        self.costs = {f: self._cost(stages) for f, stages in self.stages.items()}
        self.consumers = {f: list(graph.consumers[f]) for f in graph.order}
        self.candidates = {
            f
            for f in graph.order
            if f not in keep
            and can_inline(f, graph.outputs)
            and self.consumers[f]
            and all(map(by_loops, self.consumers[f]))
        }
        self.inlined: list[Function] = []
        self.decisions: list[Inlining] = []
        self._tried: dict[Function, _Trial] = {}
        #: By producer and consumer, what they were, and the consumer with the producer
        #: inlined, and its cost.
        self._made: dict[tuple[Function, Function], _Made] = {}

    def run(self, *, free_only: bool = False) -> frozenset[Function]:
        """Inlines all that it pays to inline, the greatest benefit first.

        free_only: only what is read at one place by one consumer, so that nothing is
        computed twice (the paper's baseline).
        """
        for f in self.graph.order:
            if f in self.candidates and self.forced.get(f, trivial(self.stages[f][0])):
                if self._trial(f).inlined < float("inf"):
                    self._decide(f, trivial_=f not in self.forced)
        while True:
            best, gain = None, 0.0
            for f in self.graph.order:
                if f not in self.candidates or f in self.forced:
                    continue
                trial = self._trial(f)
                allowed = not free_only or trial.once
                if allowed and trial.benefit > gain:
                    best, gain = f, trial.benefit
            if best is None:
                break
            self._decide(best)
        for f in self.graph.order:
            if f in self.candidates:
                trial = self._trial(f)
                self.decisions.append(
                    Inlining(f, trial.inlined, trial.apart, False, False)
                )
        return frozenset(self.inlined)

    def take_back(self) -> None:
        """Leaves out the last Func that was to be inlined."""
        last = self.inlined.pop()
        self.decisions = [
            replace(d, chosen=False) if d.func is last else d for d in self.decisions
        ]

    # One Func.

    def _cost(self, stages: tuple[GraphStage, ...]) -> float:
        total = 0.0
        for s in stages:
            work = Work(s)
            each = work.arithmetic + self.load_cost * len(work.reads)
            total += self.points[s.func, s.index] * each
        return total

    def _trial(self, f: Function) -> _Trial:
        found = self._tried.get(f)
        if found is None:
            found = self._tried[f] = self._attempt(f)
        return found

    def _attempt(self, f: Function) -> _Trial:
        stages: dict[Function, tuple[GraphStage, ...]] = {}
        costs: dict[Function, float] = {}
        inliner = Inliner(frozenset((f,)), self.graph.written_size)
        inliner.bodies[f] = self.stages[f][0].values
        places = 0
        for c in self.consumers[f]:
            before = (self.stages[f], self.stages[c])
            found = self._made.get((f, c))
            if found is None or found[0] != before:
                try:
                    made = tuple([_inlined(s, inliner) for s in self.stages[c]])
                except TooLong:
                    apart = sum(self.costs[g] for g in (f, *self.consumers[f]))
                    return _Trial({}, {}, apart, float("inf"), False)
                found = self._made[f, c] = (before, made, self._cost(made))
            _, stages[c], costs[c] = found
            places += sum(len(_calls(s, f)) for s in self.stages[c])
        apart = self.costs[f] + sum(self.costs[c] for c in costs)
        once = places == 1 and not any(s.rdom for s in stages[self.consumers[f][0]])
        return _Trial(stages, costs, apart, sum(costs.values()), once)

    def _decide(self, f: Function, trivial_: bool = False) -> None:
        trial = self._trial(f)
        self.decisions.append(
            Inlining(f, trial.inlined, trial.apart, trivial_, chosen=True)
        )
        self.inlined.append(f)
        self.candidates.discard(f)
        changed = list(trial.stages)
        self.stages.update(trial.stages)
        self.costs.update(trial.costs)
        producers = [p for p, readers in self.consumers.items() if f in readers]
        for p in producers:
            left = [c for c in self.consumers[p] if c is not f]
            self.consumers[p] = list(dict.fromkeys([*left, *changed]))
        del self.consumers[f]
        stale = {f, *changed, *producers}
        for p, readers in self.consumers.items():
            if any(c in trial.stages for c in readers):
                stale.add(p)
        for p in stale:
            self._tried.pop(p, None)


@dataclass(frozen=True)
class _Trial:
    """stages, costs: of the consumers, were the Func inlined. inlined: what those cost,
    infinity where a definition would become too long. once: it is read at one
    place, by a definition that runs once for each point."""

    stages: dict[Function, tuple[GraphStage, ...]]
    costs: dict[Function, float]
    apart: float
    inlined: float
    once: bool

    @property
    def benefit(self) -> float:
        return self.apart - self.inlined


def _inlined(s: GraphStage, inliner: Inliner) -> GraphStage:
    made = replace(
        s,
        args=inliner.coordinates(s.args),
        values=tuple([inliner.go(v) for v in s.values]),
        predicate=inliner.go(s.predicate),
    )
    inliner.check(s.func, (*made.args, *made.values, made.predicate))
    return made


def _calls(s: GraphStage, f: Function) -> set[tuple[Expr, ...]]:
    """The different places at which a definition reads a Func."""
    return {
        n.args
        for e in s.exprs
        for n in nodes(e)
        if isinstance(n, FuncCall) and n.func is f
    }


def trivial(s: GraphStage) -> bool:
    """Whether a pure definition computes nothing but coordinates: a view of a Func or
    an image, or one behind a boundary condition.

    What a boundary condition adds is taken out of the inner loops when these are
    partitioned, so that inlining it is free.
    """
    return all(_is_view(v, frozenset(s.loops)) for v in s.values)


def _is_view(e: Expr, loops: frozenset[Var]) -> bool:
    while isinstance(e, Intrinsic) and e.op in _MARKS:
        e = e.args[0]
    if isinstance(e, FuncCall | ImageLoad):
        return not any(_reads(a) for a in e.args)
    if isinstance(e, E.Select):
        return (
            not _reads(e.cond) and _is_view(e.a, loops) and _is_view(e.b, loops)
        ) and _is_boundary(e)
    return not free_vars(e) & loops and not _reads(e)


def _is_boundary(e: E.Select) -> bool:
    """Whether one branch is marked as the one that the inside of an image takes."""
    return any(
        isinstance(side, Intrinsic) and side.op.startswith("likely")
        for side in (e.a, e.b)
    )


def _reads(e: Expr) -> bool:
    return any(isinstance(n, FuncCall | ImageLoad) for n in nodes(e))


__all__ = ["Inlines", "Inlining", "Points", "trivial"]
