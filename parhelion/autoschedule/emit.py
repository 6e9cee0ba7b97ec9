"""From a plan to directives: the default scheduler's schedule as a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from parhelion.autoschedule.graph import Graph, Stage
from parhelion.autoschedule.machine import Machine
from parhelion.autoschedule.plan import Group, Level, Loops, Plan
from parhelion.autoschedule.regions import Regions
from parhelion.autoschedule.script import Script, VarArg, var_arg
from parhelion.ir.function import Function
from parhelion.schedule.directives import TailStrategy


def script_of(
    plan: Plan,
    graph: Graph,
    regions: Regions,
    machine: Machine,
    fixed: Sequence[Function],
) -> Script:
    """The directives of a plan; Funcs that the user has scheduled get none."""
    script = Script(graph.outputs)
    for group in plan.groups:
        _Emitter(script, group, graph, regions, machine, frozenset(fixed)).write()
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
    fixed: frozenset[Function]
    tile_loop: str = field(default="", init=False)
    row_loop: str = field(default="", init=False)
    store_loop: str = field(default="", init=False)
    block_loop: str = field(default="", init=False)

    def write(self) -> None:
        self._root()
        for f in self.group.members:
            self._member(f)

    # The root.

    def _root(self) -> None:
        root, tiling = self.group.root, self.group.tiling
        loops = self.group.loops[root]
        if root in self.fixed:
            return
        if root not in self.graph.outputs:
            self.script.add(root, -1, "compute_root")
        taken = {v.name for stage in self.graph.stages[root] for v in stage.loops}
        names = self._names(root, loops, taken)
        for stage in self.graph.stages[root]:
            self._stage(stage, loops, names, outer=tiling.outer)
        self._levels(root, loops, names)

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
        self, stage: Stage, loops: Loops, names: list[_Names], outer: Sequence[int]
    ) -> None:
        f, k = stage.func, stage.index
        pure = [d for d, v in enumerate(f.args) if v in stage.pure]
        tiling = self.group.tiling if f is self.group.root else None
        add = self.script.add
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
                    *self._tail(f, d, size),
                )
                at = within
            if own.block:
                size = loops.block[d]
                tail = () if own.outer and own.inner else self._tail(f, d, size)
                add(f, k, "split", at, at, VarArg(own.block), size, *tail)
        inside = [d for d in (loops.vector, *loops.order) if d in pure]
        block = [names[d].block for d in dict.fromkeys(inside) if names[d].block]
        inner = [names[d].inner for d in loops.order if d in pure and names[d].inner]
        around = [names[d].outer for d in outer if d in pure and names[d].outer]
        wanted = [
            *[VarArg(n) for n in block],
            *[var_arg(r) for r in stage.rvars],
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
        if f is self.group.root:
            self._parallel(stage, loops, names, around, inner)

    def _tail(self, f: Function, d: int, factor: int) -> tuple[TailStrategy, ...]:
        """RoundUp where computing more than is needed reads no more of any image."""
        if f in self.graph.outputs:
            return ()
        order = self.graph.order[: self.graph.order.index(f) + 1][::-1]
        whole = self.regions.bounds[f]
        more = list(whole)
        more[d] = whole[d][0], whole[d][1] + factor - 1
        exact = self.regions.needed(order, {f: whole})
        grown = self.regions.needed(order, {f: tuple(more)})
        for image in self.graph.images:
            if image in exact and exact[image] != grown[image]:
                return ()
        return (TailStrategy.RoundUp,)

    def _parallel(
        self,
        stage: Stage,
        loops: Loops,
        names: list[_Names],
        around: list[str],
        inner: list[str],
    ) -> None:
        """Parallel loops from the outermost inwards, until there are tasks enough."""
        f = stage.func
        trips = 1
        extents = {
            v.name: hi - lo + 1
            for v, (lo, hi) in zip(f.args, self.regions.bounds[f], strict=True)
        }
        alone = not self.group.members and not around
        if alone and stage.rvars:
            around = inner
        for name in reversed(around or (inner[1:] if alone else [])):
            if trips >= 4 * self.machine.threads:
                break
            d = next(k for k, own in enumerate(names) if name in (own.outer, own.inner))
            step = self.group.tiling.tile[d] if names[d].outer == name else 0
            step = step or loops.block[d]
            n = -(-extents[f.args[d].name] // step)
            if n > 1:
                self.script.add(f, stage.index, "parallel", VarArg(name))
                trips *= n

    def _levels(self, root: Function, loops: Loops, names: list[_Names]) -> None:
        tiling = self.group.tiling
        around = [names[d].outer for d in tiling.outer if names[d].outer]
        inner = [names[d].inner for d in loops.order if names[d].inner]
        self.tile_loop = around[0] if around else ""
        row = names[tiling.row] if tiling.row >= 0 else _Names()
        self.row_loop = row.inner or row.outer or self.tile_loop
        # What slides along the rows lives as long as they go on.
        loops_outwards = [*inner, *around, ""]
        if self.row_loop:
            at = loops_outwards.index(self.row_loop)
            self.store_loop = loops_outwards[at + 1]
        self.block_loop = inner[0] if inner else self.tile_loop

    # Members.

    def _member(self, f: Function) -> None:
        if f in self.fixed:
            return
        root, level = self.group.root, self.group.members[f]
        at = {
            Level.TILE: self.tile_loop,
            Level.ROW: self.row_loop,
            Level.BLOCK: self.block_loop,
        }[level]
        add = self.script.add
        if not at:
            add(f, -1, "compute_root")
        else:
            if level is Level.ROW and at != self.tile_loop:
                if self.store_loop:
                    add(f, -1, "store_at", root, VarArg(self.store_loop))
                else:
                    add(f, -1, "store_root")
            add(f, -1, "compute_at", root, VarArg(at))
        loops = self.group.loops[f]
        names = self._names(
            f, loops, {v.name for s in self.graph.stages[f] for v in s.loops}
        )
        for stage in self.graph.stages[f]:
            self._stage(stage, loops, names, outer=())


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


__all__ = ["script_of"]
