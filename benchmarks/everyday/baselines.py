"""Schedules that ask for no thought, as schedulers: rows of vectors, and random ones.

`register` makes them known by their names.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from parhelion.autoschedule.calls import VarArg, var_arg
from parhelion.autoschedule.fallback import refused
from parhelion.autoschedule.params import Parameter, Parameters
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, can_inline
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import Script
from parhelion.ir.expr import FuncCall, ImageLoad
from parhelion.ir.function import Function
from parhelion.ir.names import plain_name
from parhelion.ir.rewrite import nodes
from parhelion.lang.autoscheduling import AutoschedulerParams, register_autoscheduler
from parhelion.lang.target_api import Target
from parhelion.schedule.order import callees

ROWS, RANDOM = "Rows8", "Random"
#: How many random schedules a pipeline gets.
DRAWS = 30
#: The extent that is taken where nobody can know one.
_GUESS = 256
#: Dimensions of fewer points are no rows: colours, or the halves of something.
_FEW = 4
#: Calls and loads in one definition, beyond which nothing more is inlined into it.
_MOST_CALLS = 250
#: How often a draw that is refused is made again.
_AGAIN = 40
#: What boundary conditions are called: nobody schedules them.
_BOUNDARIES = ("repeat_edge", "repeat_image", "mirror", "constant_exterior")

Extents = dict[Function, list[int]]


def register() -> None:
    """Makes both known to `apply_autoscheduler`."""
    register_autoscheduler(ROWS, f"{__name__}:rows")
    register_autoscheduler(RANDOM, f"{__name__}:draws")


def boundary(f: Function) -> bool:
    """Whether a Func is what a boundary condition makes."""
    return plain_name(f.name).startswith(_BOUNDARIES)


def _extents(graph: Graph, sizes: Sizes) -> Extents:
    """How many points are needed along each dimension of each Func."""
    bounds = Regions(graph, sizes, guess=_GUESS).bounds
    return {
        f: [
            int(hi) - int(lo) + 1
            for lo, hi in bounds.get(f, ((0, _GUESS - 1),) * f.dimensions)
        ]
        for f in graph.order
    }


def _write_rows(
    script: Script, stage: GraphStage, extents: list[int], lanes: int
) -> None:
    """Vectors along dimension 0, and the outermost long dimension in parallel, as far
    as the definition may be reordered along them."""
    f = stage.func
    free = list(stage.dimensions)
    across = 0 if 0 in free and extents[0] >= lanes else -1
    if across == 0:
        script.add(f, stage.index, "vectorize", var_arg(f.args[0]), lanes)
    long = [d for d in free if d != across and extents[d] > _FEW]
    if long:
        script.add(f, stage.index, "parallel", var_arg(f.args[max(long)]))


class Rows:
    """Every Func at the root, in vectors of 8 and rows in parallel."""

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`."""
        script = Script(tuple(outputs))
        every = Graph.of(outputs)
        graph = Graph.of(outputs, [f for f in every.order if boundary(f)])
        extents = _extents(graph, sizes)
        for f in graph.order:
            if f not in outputs:
                script.add(f, -1, "compute_root")
            for stage in graph.stages[f]:
                _write_rows(script, stage, extents[f], 8)
        return AutoSchedulerResults(
            target=target, autoscheduler_params=params, script=script
        )


_PARAMETERS = Parameters(
    RANDOM,
    [
        Parameter("seed", "int", "which schedule is drawn", 0),
        Parameter("parallelism", "int", "how many threads there will be", 1, 4096),
    ],
)


class Draws:
    """A legal schedule drawn at random: what is inlined, where the rest is computed
    and stored, tiles, vectors, unrolled and parallel loops."""

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """See `result.Scheduler`. Raises RuntimeError where none is found."""
        told = _PARAMETERS.read(params.extra)
        rng = random.Random(int(told.get("seed", 0)))
        every = Graph.of(outputs)
        extents = _extents(every, sizes)
        for _ in range(_AGAIN):
            script = _Draw(rng, every, extents).script()
            if refused(script) is None:
                return AutoSchedulerResults(
                    target=target, autoscheduler_params=params, script=script
                )
        raise RuntimeError(f"no legal schedule in {_AGAIN} draws")


#: A loop that something may be computed in: whose it is, and its name.
_Level = tuple[Function, str]


@dataclass
class _Draw:
    """One draw. chains: by Func, the loops around its points that something may be
    computed in, the outermost first. inner: those levels that are inside a task."""

    rng: random.Random
    graph: Graph
    extents: Extents
    chains: dict[Function, list[_Level]] = field(default_factory=dict)
    parallel: set[_Level] = field(default_factory=set)

    def script(self) -> Script:
        outputs = self.graph.outputs
        graph = Graph.of(outputs, self._inlined())
        script = Script(outputs)
        for f in reversed(graph.order):
            around = [] if f in outputs else self._place(script, graph, f)
            own = self._loops(script, graph, f, bool(around))
            self.chains[f] = [*around, *own]
        return script

    def _chance(self, share: float) -> bool:
        return self.rng.random() < share

    def _inlined(self) -> set[Function]:
        """Funcs that are inlined, no definition growing beyond measure."""
        found: set[Function] = set()
        size: dict[Function, int] = {}
        share = self.rng.choice((0.2, 0.5, 0.8))
        for f in self.graph.order:
            calls = [
                n
                for stage in self.graph.stages[f]
                for e in stage.exprs
                for n in nodes(e)
                if isinstance(n, FuncCall | ImageLoad)
            ]

            def weight(calls: Sequence[FuncCall | ImageLoad] = calls) -> int:
                funcs = [n.func for n in calls if isinstance(n, FuncCall)]
                loads = len(calls) - len(funcs)
                return loads + sum(size[g] if g in found else 1 for g in funcs)

            inside = [g for g in callees(f) if g in found and not boundary(g)]
            self.rng.shuffle(inside)
            while weight() > _MOST_CALLS and inside:
                found.discard(inside.pop())
            size[f] = weight()
            likely = 0.95 if boundary(f) else share
            if can_inline(f, self.graph.outputs) and self._chance(likely):
                found.add(f)
        return found

    def _place(self, script: Script, graph: Graph, f: Function) -> list[_Level]:
        """Writes where a Func is computed. Returns the loops around it."""
        chains = [self.chains[c] for c in graph.consumers[f]]
        common = 0
        while all(len(c) > common for c in chains) and (
            len({c[common] for c in chains}) == 1
        ):
            common += 1
        scans = any(
            s.rvars and f in s.sources() and len(s.pure) < f.dimensions
            for s in graph.stages[f]
        )
        if not common or scans or self._chance(0.4):
            script.add(f, -1, "compute_root")
            return []
        place = self.rng.randrange(common)
        around = chains[0][: place + 1]
        # A window slides along loops inside the innermost parallel one.
        first = max(
            [k + 1 for k, at in enumerate(around) if at in self.parallel] or [0]
        )
        if first and first - 1 < place and self._chance(0.4):
            func, name = around[self.rng.randrange(first - 1, place)]
            script.add(f, -1, "store_at", func, VarArg(name))
        func, name = around[place]
        script.add(f, -1, "compute_at", func, VarArg(name))
        return around

    def _loops(
        self, script: Script, graph: Graph, f: Function, inside: bool
    ) -> list[_Level]:
        """Writes the loops of a Func. Returns those of its pure definition that others
        may be computed in."""
        first, *updates = graph.stages[f]
        lanes = self.rng.choice((4, 8, 8, 16, 16, 32))
        for stage in updates:
            _write_rows(script, stage, self.extents[f], lanes)
        found = self._pure_loops(script, first, lanes, inside)
        return found if not updates else []

    def _pure_loops(
        self, script: Script, stage: GraphStage, lanes: int, inside: bool
    ) -> list[_Level]:
        f, extents = stage.func, self.extents[stage.func]
        names = [v.name for v in f.args]
        if not names:
            return []
        add: Callable[..., object] = script.add
        while lanes > 1 and extents[0] < lanes:
            lanes //= 2
        rows = next((d for d in range(1, len(names)) if extents[d] > _FEW), -1)
        order = list(names)
        small = [d for d in range(1, len(names)) if extents[d] <= _FEW]
        for d in small:
            if extents[d] > 1 and self._chance(0.5):
                # Colours of a pixel inside of its neighbours.
                order.remove(names[d])
                order.insert(0, names[d])
        if rows > 0 and not inside and self._chance(0.6):
            wide = self.rng.choice((32, 64, 128, 256))
            high = self.rng.choice((4, 8, 16, 32, 64))
            if wide * 2 <= extents[0] and high * 2 <= extents[rows]:
                x, y = names[0], names[rows]
                add(f, 0, "split", VarArg(x), VarArg(x), VarArg(f"{x}_in"), wide)
                add(f, 0, "split", VarArg(y), VarArg(y), VarArg(f"{y}_in"), high)
                kept = [n for n in order if n not in (x, y)]
                front = [n for n in kept if order.index(n) < order.index(x)]
                back = [n for n in kept if n not in front]
                order = [*front, f"{x}_in", f"{y}_in", x, y, *back]
        if order != names:
            add(f, 0, "reorder", *[VarArg(n) for n in order])
        inner = f"{names[0]}_in" if f"{names[0]}_in" in order else names[0]
        if lanes > 1:
            add(f, 0, "vectorize", VarArg(inner), lanes)
        if rows > 0 and self._chance(0.2):
            down = names[rows]
            down = f"{down}_in" if f"{down}_in" in order else down
            if down != order[-1]:
                add(f, 0, "unroll", VarArg(down), 2)
        levels = [(f, n) for n in reversed(order) if n != inner]
        small_names = {names[d] for d in small}
        outer = [level for level in levels if level[1] not in small_names]
        if outer and not inside and self._chance(0.9):
            add(f, 0, "parallel", VarArg(outer[0][1]))
            self.parallel.add(outer[0])
        return levels


rows, draws = Rows(), Draws()

__all__ = ["DRAWS", "RANDOM", "ROWS", "boundary", "register"]
