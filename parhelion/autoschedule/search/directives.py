"""From a plan to directives: the default scheduler's schedule as a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from parhelion.autoschedule.calls import RVarArg, VarArg, var_arg
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.frames import FEW_TASKS
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Group, Level, Loops, Packed, Plan
from parhelion.autoschedule.model.throughput import fetches, looked_up
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, Source
from parhelion.autoschedule.pipeline.growth import Growth
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.work import Work, element_bytes
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.search.levels import Levels
from parhelion.autoschedule.search.padding import Padding
from parhelion.dataclass import dataclass
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.schedule.directives import (
    OUTERMOST,
    Place,
    Rename,
    TailStrategy,
)
from parhelion.schedule.modes import by_loops
from parhelion.schedule.order import realization_order

#: How many tasks for each thread are enough if they are long.
_MANY_TASKS = 32
#: A long task takes so many times what it costs to begin one.
_TASK = 100


def script_of(
    plan: Plan,
    graph: Graph,
    regions: Regions,
    machine: Machine,
    freedom: Freedom,
    script: Script | None = None,
) -> Script:
    """The directives of a plan; what the user has scheduled stays. script: those that
    come before it, to be continued."""
    script = Script(graph.outputs) if script is None else script
    growth = Growth(regions)
    for group in plan.groups:
        _Emitter(script, group, graph, regions, machine, freedom, growth).write()
    planned = {f for g in plan.groups for f in (g.root, *g.members)}
    for f in realization_order(graph.outputs):
        # What nobody needs once its readers are inlined is no part of a plan; foreign
        # code and what it reads are not inlined even then.
        solid = not by_loops(f) or f in freedom.given
        if solid and f not in planned and freedom.move(f):
            script.add(f, -1, "compute_root")
    script.acknowledge()
    return script


@dataclass
class _Names:
    """The loops of one dimension: over tiles, inside one, and inside a block."""

    outer: str = ""
    inner: str = ""
    block: str = ""


@dataclass
class _Emitter:
    script: Script
    group: Group
    graph: Graph
    regions: Regions
    machine: Machine
    freedom: Freedom
    growth: Growth
    #: The root's loops over tiles, the innermost first.
    around: list[str] = field(default_factory=list, init=False)
    #: Loops of the root whose iterations are tasks.
    tasks: set[str] = field(default_factory=set, init=False)

    def write(self) -> None:
        levels = self._root()
        padding = Padding(self.group, self.regions, self.machine.vector_bytes)
        for f in self.group.members:
            assert levels is not None
            self._member(f, levels, padding)
        for packed in self.group.packed:
            self._packed(packed)

    # The root.

    def _root(self) -> Levels | None:
        """Writes the loops of the root. Returns those that members can be in."""
        root, tiling = self.group.root, self.group.tiling
        loops, tile = self.group.loops[root], self.group.tile
        if tile is not None:
            self.script.add(root, -1, "compute_lazy", *([tile] if tile else []))
            if not tile:
                return None
        elif self.freedom.move(root):
            self.script.add(root, -1, "compute_root")
        if root.schedule.compute.place is Place.LOOP and root not in self.graph.outputs:
            # How much of it is computed there is the user's affair, and so its loops.
            return None
        taken = {v.name for stage in self.graph.stages[root] for v in stage.loops}
        names = self._names(root, loops, taken)
        for stage in self.graph.stages[root]:
            self._stage(stage, loops, names, outer=tiling.outer)
        return self._levels(root, loops, names)

    def _names(self, f: Function, loops: Loops, taken: set[str]) -> list[_Names]:
        """Names for the loops of each dimension; no name where there is no loop."""
        tiling = self.group.tiling if f is self.group.root else None
        made = []
        for d, v in enumerate(f.args):
            own = _Names(inner=v.name)
            tile = tiling.tile[d] if tiling is not None else 0
            if loops.block[d] > 1:
                own.block = _fresh(
                    f"{v.name}v" if d == loops.vector else f"{v.name}u", taken
                )
            if tile:
                if tile <= loops.block[d]:
                    own.outer, own.inner = own.inner, ""
                else:
                    own.outer, own.inner = v.name, _fresh(f"{v.name}i", taken)
            made.append(own)
        return made

    def _stage(
        self, stage: GraphStage, loops: Loops, names: list[_Names], outer: Sequence[int]
    ) -> None:
        f, k = stage.func, stage.index
        if not self.freedom.loops(f, k):
            return
        pure = [d for d, v in enumerate(f.args) if v in stage.pure]
        tiling = self.group.tiling if f is self.group.root else None
        add = self.script.add
        if loops.vector in pure and self._alone(stage, loops):
            loops, names = _one_by_one(loops, names)
        for d in pure:
            own = names[d]
            at = VarArg(f.args[d].name)
            if own.outer and own.inner:
                assert tiling is not None
                size = tiling.tile[d]
                within = VarArg(own.inner)
                add(
                    f,
                    k,
                    "split",
                    at,
                    VarArg(own.outer),
                    within,
                    size,
                    *self._tail(f, d),
                )
                at = within
            if own.block:
                size = loops.block[d]
                tail = () if own.outer and own.inner else self._tail(f, d)
                add(f, k, "split", at, at, VarArg(own.block), size, *tail)
        inside = [d for d in (loops.vector, *loops.order) if d in pure]
        block = [names[d].block for d in dict.fromkeys(inside) if names[d].block]
        inner = [names[d].inner for d in loops.order if d in pure and names[d].inner]
        around = [names[d].outer for d in outer if d in pure and names[d].outer]
        wanted = [
            *[VarArg(n) for n in block],
            *[_loop_over(stage, r) for r in stage.rvars],
            *[VarArg(n) for n in inner],
            *[VarArg(n) for n in around],
        ]
        if len(wanted) > 1:
            add(f, k, "reorder", *wanted)
        for d in pure:
            if not names[d].block:
                continue
            at = VarArg(names[d].block)
            if d == loops.vector:
                if loops.block[d] > loops.lanes:
                    add(f, k, "vectorize", at, loops.lanes)
                    add(f, k, "unroll", at)
                else:
                    add(f, k, "vectorize", at)
            else:
                add(f, k, "unroll", at)
        if f is self.group.root and self.group.tile is None:
            self._parallel(stage, loops, names, around, inner)

    def _alone(self, stage: GraphStage, loops: Loops) -> bool:
        """Whether a definition takes less time without the vectors of the others."""
        vector = stage.func.args[loops.vector]
        if not looked_up(stage, vector) and not fetches(
            Work(stage), vector, self.machine
        ):
            return False
        model = Model(self.graph, self.regions, self.machine)
        return model.speed(stage, loops).lanes < loops.lanes

    def _tail(self, f: Function, d: int) -> tuple[TailStrategy, ...]:
        """RoundUp for Funcs with updates, whose tails would be guarded otherwise, where
        computing more than is needed does no harm. Others shift inwards: rounding up
        the levels of a pyramid would make those that they read from grow by as much
        times the powers of two."""
        if f is self.group.root and self.group.tile is not None:
            # The last tile of a row may be narrower than a vector.
            return (TailStrategy.GuardWithIf,)
        if f in self.graph.outputs or not f.updates or not self.growth.harmless(f, d):
            return ()
        return (TailStrategy.RoundUp,)

    def _parallel(
        self,
        stage: GraphStage,
        loops: Loops,
        names: list[_Names],
        around: list[str],
        inner: list[str],
    ) -> None:
        """Parallel loops from the outermost inwards, until there are tasks enough."""
        if self.machine.threads > 1 and self.group.alone:
            return
        f = stage.func
        trips = 1
        extents = {
            v.name: hi - lo + 1
            for v, (lo, hi) in zip(f.args, self.regions.bounds[f], strict=True)
        }
        whole = not self.group.members and not around
        if whole and stage.rvars:
            around = inner
        elif whole or self.machine.threads > 1 and self._all_in_blocks():
            # Nothing is computed between these loops.
            around = [*inner[1:], *around]
        enough = self._enough_tasks()
        for name in reversed(around):
            if trips >= enough:
                break
            d = next(k for k, own in enumerate(names) if name in (own.outer, own.inner))
            tile, block = self.group.tiling.tile[d], loops.block[d]
            if names[d].outer == name:
                n = -(-extents[f.args[d].name] // (tile or block))
            else:
                n = -(-(tile or extents[f.args[d].name]) // block)
            if n > 1:
                self.script.add(f, stage.index, "parallel", VarArg(name))
                self.tasks.add(name)
                trips *= n

    def _all_in_blocks(self) -> bool:
        return all(at is Level.BLOCK for at in self.group.members.values())

    def _enough_tasks(self) -> float:
        """As many as even out that cores are not equally fast, or have other work too,
        where each takes longer than it costs to begin it."""
        threads = self.machine.threads
        few = FEW_TASKS * threads
        if threads == 1:
            return few
        long = self.group.cost * threads / (_TASK * self.machine.task)
        return min(_MANY_TASKS * threads, max(few, long))

    def _levels(self, root: Function, loops: Loops, names: list[_Names]) -> Levels:
        tiling = self.group.tiling
        around = [names[d].outer for d in tiling.outer if names[d].outer]
        if self.group.tile is not None:
            around = [OUTERMOST.name]
        self.around = around
        inner = [names[d].inner for d in loops.order if names[d].inner]
        tile = around[0] if around else ""
        row = names[tiling.row] if tiling.row >= 0 else _Names()
        at = {
            Level.TILE: tile,
            Level.ROW: row.inner or row.outer or tile,
            Level.BLOCK: inner[0] if inner else tile,
        }
        stages = {
            s.index: frozenset(
                [
                    name
                    for own, v in zip(names, root.args, strict=True)
                    if v in s.pure
                    for name in (own.outer, own.inner)
                ]
                + (around if self.group.tile is not None else [])
            )
            for s in self.graph.stages[root]
        }
        return Levels(
            self.group, self.graph, [*inner, *around], at, stages, frozenset(self.tasks)
        )

    # Members.

    def _member(self, f: Function, levels: Levels, padding: Padding) -> None:
        root, add = self.group.root, self.script.add
        at, store = levels.place(f)
        if not at:
            add(f, -1, "compute_root")
        else:
            if store:
                add(f, -1, "store_at", root, VarArg(store))
            elif store is not None:
                add(f, -1, "store_root")
            add(f, -1, "compute_at", root, VarArg(at))
            elements = padding.of(f)
            if elements > 1:
                row = next(iter(f.schedule.storage_order), 0)
                add(f, -1, "align_storage", VarArg(f.args[row].name), elements)
        loops = self.group.loops[f]
        names = self._names(
            f, loops, {v.name for s in self.graph.stages[f] for v in s.loops}
        )
        for stage in self.graph.stages[f]:
            self._stage(stage, loops, names, outer=())

    def _packed(self, packed: Packed) -> None:
        """A dense copy of what a tile needs of a source, in the order in which the
        reader goes through it."""
        if not self.around:
            return
        source, reader = packed.source, packed.reader
        at = self.around[min(packed.over, len(self.around) - 1)]
        if isinstance(source, Function):
            names = [v.name for v in source.args]
        else:
            names = [f"_{d}" for d in range(len(source.dims))]
        add = self.script.add
        copy = add(source, -1, "in_", reader)
        add(copy, -1, "compute_at", self.group.root, VarArg(at))
        order = self._order(source, reader)
        if order != sorted(order):
            add(copy, -1, "reorder_storage", *[VarArg(names[d]) for d in order])
        lanes = self.machine.lanes(8 * element_bytes(source))
        whole = self.regions.bounds[source]
        if whole[0][1] - whole[0][0] + 1 >= lanes > 1:
            # The last tile may be narrower than a vector, and images have no more.
            tail = TailStrategy.GuardWithIf
            add(copy, 0, "vectorize", VarArg(names[0]), lanes, tail)

    def _order(self, source: Source, reader: Function) -> list[int]:
        """The dimensions of a source, the first and then as the reader's loops over its
        reduction's variables move along them, the innermost loop first."""
        found: dict[int, None] = {0: None}
        for stage in self.graph.stages[reader]:
            for access in Work(stage).loads:
                if access.source is source:
                    for r in stage.rvars:
                        for d in range(len(access.steps)):
                            if access.step(d, r) != 0:
                                found[d] = None
                    for d in range(len(access.steps)):
                        found[d] = None
        return list(found)


def _one_by_one(loops: Loops, names: list[_Names]) -> tuple[Loops, list[_Names]]:
    """The same loops without vectors. A tile of one vector keeps a loop inside."""
    d, block, made = loops.vector, list(loops.block), list(names)
    block[d] = 1
    own = made[d]
    within = own.inner or (own.block if own.outer else "")
    made[d] = replace(own, inner=within, block="")
    return replace(loops, vector=-1, lanes=1, block=tuple(block)), made


def _loop_over(stage: GraphStage, r: Var) -> VarArg | RVarArg:
    """The loop over a reduction's variable: those that `rfactor` makes have the names
    of the loops that they come from."""
    for t in stage.definition.schedule.transforms:
        if isinstance(t, Rename) and t.old is r:
            r = t.new
    return var_arg(r)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


__all__ = ["script_of"]
