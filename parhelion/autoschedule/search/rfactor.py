"""Large reductions in parts: which updates `rfactor` may split, how, and trying it.

A sum over an image has one place for its result, so that its loops are neither tasks
nor vectors. Split into partial results, over lanes along a row and over strips of rows,
they are both. The parts are Funcs of their own, which the search schedules like all
others: this file finds the ways to make them, and tells what each would cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TypeVar

from parhelion.autoschedule.calls import Made, RVarArg, VarArg, var_arg
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Group, Level
from parhelion.autoschedule.model.throughput import load_time
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.search.base import GUESS, Descent
from parhelion.autoschedule.search.layout import StorageOrder
from parhelion.autoschedule.search.shapes import lanes_for
from parhelion.autoschedule.search.state import State, sorted_members
from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError
from parhelion.ir.expr import Intrinsic
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.function import Function, dim_name, var_label
from parhelion.ir.rewrite import nodes
from parhelion.schedule.modes import is_whole
from parhelion.schedule.snapshot import Snapshot

_T = TypeVar("_T")

#: Reductions of fewer iterations than this, in all, are not worth a second Func.
_LEAST_WORK = 1 << 15
#: What a group takes of the whole at least, for its reduction to be looked at.
_LEAST_SHARE = 0.03
#: How many reductions are looked at, and how many vectors a part has at most.
_MOST, _VECTORS = 4, 4
#: Strips for each thread.
_STRIPS = 4
#: Parts must take no more than this share of the time that the whole takes.
_WORTH = 0.8


@dataclass(frozen=True)
class Way:
    """One way to compute an update in parts.

    splits: loops over the RDom, each with its outer and inner part and the size of the
    inner one. kept: the loops that become dimensions of the parts, with their Vars.
    lanes: whether the first of these Vars is along vectors. label: in a few words.
    """

    function: Function
    stage: int
    splits: tuple[tuple[RVarArg, RVarArg, RVarArg, int], ...]
    kept: tuple[tuple[RVarArg, VarArg], ...]
    lanes: bool
    label: str


class Factoring:
    """A pipeline with some of its reductions in parts, and some Funcs in other storage
    orders, as long as `applied` goes on.

    Raises ScheduleError for a reduction that cannot be computed in parts: if its
    operation is not known to be associative, or its order decides.
    """

    def __init__(
        self,
        outputs: Sequence[Function],
        ways: Sequence[Way],
        layouts: Sequence[StorageOrder] = (),
    ) -> None:
        self.ways, self.layouts = tuple(ways), tuple(layouts)
        self._before = Snapshot(outputs)
        self._script = Script(tuple(outputs))
        made: list[Made] = []
        for way in ways:
            f, k = way.function, way.stage
            for loop, outer, inner, size in way.splits:
                self._script.add(f, k, "split", loop, outer, inner, size)
            part = self._script.add(f, k, "rfactor", way.kept)
            made.append(part)
            if way.lanes and f.args:
                # Lanes lie side by side in memory.
                others = [VarArg(v.name) for v in f.args]
                others += [v for _, v in way.kept[1:]]
                dense = (way.kept[0][1], *others)
                self._script.add(part, -1, "reorder_storage", *dense)
        for one in layouts:
            names = [VarArg(name) for name in one.names]
            self._script.add(one.function, -1, "reorder_storage", *names)
        try:
            results = self._script.apply()
            #: The Func of each way's parts.
            self.parts = [results[m.call]._function for m in made]
            self._script.parts = dict(zip(self.parts, made, strict=True))
            self._after = Snapshot(outputs)
        finally:
            self._before.restore()

    @property
    def ours(self) -> frozenset[tuple[Function, int]]:
        """Definitions that have directives only because they are parts."""
        merging = [(way.function, way.stage) for way in self.ways]
        return frozenset([*merging, *[(f, 1) for f in self.parts]])

    def script(self) -> Script:
        """The directives that make the parts, for others to follow."""
        return self._script.copy()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Meanwhile the pipeline has the parts."""
        self._after.restore()
        try:
            yield
        finally:
            self._before.restore()

    def within(self, make: Callable[[], _T]) -> _T:
        """What `make` gives while the pipeline has the parts."""
        with self.applied():
            return make()


@dataclass
class Reduction:
    """An update that could be computed in parts: the ways, the cheapest first, with the
    nanoseconds that its group takes with each, beside those that it takes without."""

    function: Function
    whole: float
    ways: list[tuple[float, Way]] = field(default_factory=list)

    @property
    def best(self) -> Way | None:
        """The way to take; None where none is worth it."""
        if not self.ways or self.ways[0][0] > self.whole * _WORTH:
            return None
        return self.ways[0][1]


def reductions(state: State, floats: bool) -> list[Reduction]:
    """The updates of a schedule that might gain by being computed in parts, the
    dearest first. floats: also sums and products of floats, which parts round
    otherwise."""
    search = state.search
    found: list[Reduction] = []
    least = state.cost * _LEAST_SHARE
    for g in sorted(state.groups.values(), key=lambda g: -g.cost):
        if g.cost < least:
            break
        for f in (g.root, *g.members):
            stage = _candidate(state, f, floats) if f.updates else None
            if stage is None or len(found) == _MOST:
                continue
            made = Reduction(f, g.cost)
            for way in _ways(state.model, g, stage):
                cost = _cost(search, state.model, g, way)
                if cost is not None:
                    made.ways.append((cost, way))
            made.ways.sort(key=lambda one: one[0])
            if made.ways:
                found.append(made)
    return found


def _candidate(state: State, f: Function, floats: bool) -> GraphStage | None:
    """The one update of a Func that takes its time, if it is ours to split."""
    model, freedom = state.model, state.search.freedom
    stages = model.graph.stages[f]
    if is_whole(f):
        return None
    if not all(freedom.loops(f, s.index) for s in stages) or f in freedom.whole:
        return None
    (stage, *others) = sorted(stages, key=lambda s: -_iterations(model, s))
    if not stage.rvars or stage.definition.schedule.specializations:
        return None
    if _iterations(model, stage) < _LEAST_WORK:
        return None
    if others and _iterations(model, others[0]) * 2 > _iterations(model, stage):
        return None
    if any(t.is_float() for t in f.types):
        strict = any(
            isinstance(n, Intrinsic) and n.op == "strict_float"
            for e in stage.values
            for n in nodes(e)
        )
        if strict or not floats:
            return None
    return stage


def _iterations(model: Model, stage: GraphStage) -> int:
    box = model.regions.bounds[stage.func]
    total = 1
    for lo, hi in model.regions.loops(stage, box):
        total *= max(0, int(hi - lo + 1))
    return total


def _ways(model: Model, g: Group, stage: GraphStage) -> Iterator[Way]:
    """Over lanes, over strips, and both, as far as the loops that are there already
    leave vectors or threads idle."""
    lanes = _lanes(model, g, stage)
    strips = _strips(model, stage, lanes)
    if lanes is not None:
        yield _way(stage, lanes, None)
    if strips is not None:
        yield _way(stage, None, strips)
    if lanes is not None and strips is not None:
        yield _way(stage, lanes, strips)


def _lanes(model: Model, g: Group, stage: GraphStage) -> tuple[IRVar, int] | None:
    """The loop along which partial results fill vectors, and how many there are; None
    where vectors are busy, or the loop that would fill them says where to write."""
    f, machine = stage.func, model.machine
    if any(a is not v for a, v in zip(stage.args, f.args, strict=True)):
        return None
    work, spans = model.work(stage), _spans(model, stage)
    best: tuple[float, IRVar, int] | None = None
    for r in stage.rvars:
        lanes = lanes_for(f, machine, spans[r])
        if lanes < 2 or spans[r] < 4 * lanes:
            continue
        each = sum(
            load_time(a, machine, r, lanes) for a in work.loads if a.source is not f
        )
        each = (each + work.arithmetic * machine.operation) / lanes
        if best is None or each < best[0]:
            best = each, r, lanes
    if best is None:
        return None
    each, r, lanes = best
    block = 1
    for v in stage.pure:
        block *= g.loops[f].block[f.args.index(v)]
    for n in (spans[one] for one in stage.rvars):
        block *= n
    now = model.speed(stage, g.loops[f]).block / block
    if now < 2 * each:
        return None
    while spans[r] >= 8 * lanes and lanes < _VECTORS * lanes_for(f, machine, spans[r]):
        lanes *= 2
    return r, lanes


def _strips(
    model: Model, stage: GraphStage, lanes: tuple[IRVar, int] | None
) -> tuple[IRVar, int] | None:
    """The loop whose strips are tasks, and how long a strip is; None where there are
    tasks enough."""
    threads, spans = model.machine.threads, _spans(model, stage)
    tasks = 1
    for v, (lo, hi) in zip(
        stage.func.args, model.regions.bounds[stage.func], strict=True
    ):
        if v in stage.pure:
            tasks *= hi - lo + 1
    width = lanes_for(stage.func, model.machine, 1 << 20)
    if threads == 1 or tasks >= _STRIPS * threads * width:
        return None
    count = _STRIPS * threads
    # The outermost loop that is long enough: strips are then far apart.
    long = [r for r in stage.rvars if spans[r] >= count]
    if not long:
        return None
    r = long[-1]
    size = -(-spans[r] // count)
    if lanes is not None and lanes[0] is r:
        size = -(-size // lanes[1]) * lanes[1]
    return r, size


def _spans(model: Model, stage: GraphStage) -> dict[IRVar, int]:
    ends = model.regions.domain(stage.rdom)
    return {r: int(hi - lo + 1) for r, (lo, hi) in zip(stage.rvars, ends, strict=True)}


def _way(
    stage: GraphStage, lanes: tuple[IRVar, int] | None, strips: tuple[IRVar, int] | None
) -> Way:
    f = stage.func
    taken = {v.name for v in (*stage.loops, *f.args)}
    splits: list[tuple[RVarArg, RVarArg, RVarArg, int]] = []
    kept: list[tuple[RVarArg, VarArg]] = []
    words: list[str] = []

    def fresh(name: str) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    inside: dict[IRVar, RVarArg] = {}
    if strips is not None:
        r, size = strips
        loop, base = _arg(r), "".join(dim_name(r))
        outer, inner = RVarArg(fresh(f"{base}s")), RVarArg(fresh(f"{base}i"))
        splits.append((loop, outer, inner, size))
        kept.append((outer, VarArg(fresh("strip"))))
        inside[r] = inner
        words.append(f"strips of {size} along {var_label(r)}")
    if lanes is not None:
        r, size = lanes
        loop, base = inside.get(r, _arg(r)), "".join(dim_name(r))
        outer, inner = RVarArg(fresh(f"{base}o")), RVarArg(fresh(f"{base}l"))
        splits.append((loop, outer, inner, size))
        kept.insert(0, (inner, VarArg(fresh("lane"))))
        words.append(f"{size} lanes along {var_label(r)}")
    label = " and ".join(words)
    return Way(f, stage.index, tuple(splits), tuple(kept), lanes is not None, label)


def _arg(r: IRVar) -> RVarArg:
    made = var_arg(r)
    assert isinstance(made, RVarArg)
    return made


def _cost(search: Descent[Model], model: Model, g: Group, way: Way) -> float | None:
    """What a group costs with one of its reductions in parts, wherever these cost
    least; None where the update cannot be computed that way."""
    try:
        factoring = Factoring(search.outputs, [way])
    except ScheduleError:
        return None
    with factoring.applied():
        graph = Graph.of(search.outputs, model.graph.inlined)
        regions = Regions(graph, search.sizes, guess=GUESS)
        made = Model(graph, regions, model.machine)
        (part,) = factoring.parts
        alone = search.group(made, part, {}).cost
        costs = [alone + search.group(made, g.root, g.members).cost]
        levels = tuple(Level) if g.root.dimensions else ()
        for level in levels:
            if level <= g.members.get(way.function, level):
                members = {**g.members, part: level}
                ordered = {m: members[m] for m in sorted_members(made, members)}
                costs.append(search.group(made, g.root, ordered).cost)
    return min(costs)


__all__ = ["Factoring", "Reduction", "Way", "reductions"]
