"""The loops of one definition as directives: tiles, order, vectors, unrolling, tasks.

What the paper's schedulers do last (the 2016 paper, section 4.4), and its baseline does
at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf, prod

from parhelion.autoschedule.calls import RVarArg, VarArg, var_arg
from parhelion.autoschedule.mullapudi.tiles import innermost
from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.script import Script
from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int
from parhelion.ir.expr import Var
from parhelion.schedule.args import is_rvar
from parhelion.schedule.directives import TailStrategy

#: The innermost loop is unrolled if it has no more iterations.
FEW = 4

#: Reductions of no more iterations go inside the loop over vectors.
SHORT = 64

Name = VarArg | RVarArg


@dataclass(frozen=True)
class Wishes:
    """How the loops of a definition are to run.

    extents: of each loop, innermost first, as far as it is to run here. tile: the
    extents of a tile, None for no tiling. reuse: of each loop; the greatest goes
    innermost, None leaves the loops in order. lanes: of a vector. tasks: how many
    parallel iterations there are to be; 0 for none. named: loops that must stay as
    they are, as other Funcs are computed in them. rounds: loops that may compute more
    than is asked for.
    """

    extents: Sequence[int]
    lanes: int
    tile: Sequence[int] | None = None
    reuse: Sequence[float] | None = None
    tasks: int = 0
    named: Collection[Var] = ()
    rounds: Collection[Var] = ()


@dataclass
class _Loop:
    """One loop that there will be. place: of which loop of the definition it is made.
    fixed: whether its extent is a constant when the code is compiled."""

    name: Name
    place: int
    extent: int
    fixed: bool = False


def write_loops(script: Script, stage: GraphStage, wishes: Wishes) -> Name | None:
    """Writes the directives for one definition. Returns the innermost loop over tiles;
    None if there is none."""
    if not stage.loops:
        return None
    return _Writer(script, stage, wishes).write()


class _Writer:
    def __init__(self, script: Script, stage: GraphStage, wishes: Wishes) -> None:
        self.script, self.stage, self.wishes = script, stage, wishes
        self.rank = len(stage.rvars)
        self.taken = {v.name for v in (*stage.func.args, *stage.loops)}
        self.inner: list[_Loop] = []
        self.outer: list[_Loop] = []
        #: The loops as they are now, innermost first.
        self.now: list[Name] = []
        #: The loop whose iterations are the lanes.
        self.lanes: _Loop | None = None
        self.outer_order: list[_Loop] = []

    def give(self, method: str, *args: object) -> None:
        self.script.add(self.stage.func, self.stage.index, method, *args)

    def write(self) -> Name | None:
        self._tile()
        if self.wishes.named:
            vector = self._vector()
            loops = self.stage.loops
            if vector is not None and loops[vector.place] not in self.wishes.named:
                self.give("vectorize", vector.name, self._lanes(vector))
            self._parallel(self.inner)
            return None
        short, vector = self._short(), self._vector()
        order = self._order(short, vector)
        if vector is not None:
            order = self._keep_sums(self._vectorize_within(order, short, vector))
        self._reorder([loop.name for loop in order])
        for loop in short:
            self.give("unroll", loop.name, loop.extent)
        if self.lanes is not None:
            self._unroll(order, self.lanes)
            self.give("vectorize", self.lanes.name)
        self._parallel(order)
        return self.outer_order[0].name if self.outer_order else None

    # Tiles.

    def _tile(self) -> None:
        tile = self.wishes.tile or self.wishes.extents
        for d, v in enumerate(self.stage.loops):
            name, extent, size = var_arg(v), self.wishes.extents[d], tile[d]
            if size >= extent:
                fixed = d < self.rank and self._constant(v)
                self.inner.append(_Loop(name, d, extent, fixed))
                self.now.append(name)
                continue
            self.outer.append(_Loop(name, d, -(-extent // size)))
            if size == 1 and d != innermost(self.stage):
                self.now.append(name)
                continue
            within = self._new(v, "i")
            # A large tile would be rounded up to much that nobody asked for.
            tail = self._tail(name, d) if -extent % size * 8 <= extent else ()
            self.give("split", name, name, within, size, *tail)
            self.inner.append(_Loop(within, d, size, True))
            self.now += [within, name]

    def _constant(self, v: Var) -> bool:
        rdom = self.stage.rdom
        assert rdom is not None
        return const_int(rdom.extents[rdom.vars.index(v)]) is not None

    def _new(self, v: Var, suffix: str) -> Name:
        base = "".join([c if c.isalnum() else "_" for c in v.name])
        name, k = base + suffix, 1
        while name in self.taken:
            k += 1
            name = f"{base}{suffix}{k}"
        self.taken.add(name)
        return RVarArg(name) if is_rvar(v) else VarArg(name)

    # Order.

    def _short(self) -> list[_Loop]:
        """The innermost dimension, if it is too short to become vectors."""
        d = innermost(self.stage)
        if len(self.stage.pure) < 2:
            return []
        return [o for o in self.inner if o.place == d and 1 < o.extent < FEW]

    def _vector(self) -> _Loop | None:
        """The loop that becomes vectors: the innermost dimension in memory that is no
        reduction's, or the next if it is short."""
        args = self.stage.func.args
        loops = self.stage.loops
        pure = [o for o in self.inner if o.place >= self.rank]
        pure.sort(key=lambda o: args.index(loops[o.place]))
        for o in pure:
            if o.extent >= FEW:
                return o
            if o.extent > 1 and o is not pure[0]:
                return None
        return None

    def _sorted(self, loops: list[_Loop], reuse: Sequence[float]) -> list[_Loop]:
        """The greatest reuse first, reduction loops in their own order; of loops whose
        reuse is about the same, the one that is further in already."""
        finite = [reuse[o.place] for o in loops if reuse[o.place] < inf]
        steps = (max(finite, default=0.0) or 1.0) / 20

        def rank(loop: _Loop) -> float:
            n = reuse[loop.place]
            return -(n if n == inf else n // steps)  # inf // 1.0 is nan

        made = sorted(loops, key=rank)
        reductions = iter([loop for loop in loops if loop.place < self.rank])
        return [next(reductions) if m.place < self.rank else m for m in made]

    def _order(self, short: list[_Loop], vector: _Loop | None) -> list[_Loop]:
        """All loops in their final order, innermost first."""
        first = [*short, *([vector] if vector else [])]
        reuse = self.wishes.reuse
        rest = [loop for loop in self.inner if loop not in first]
        outer = self.outer
        if reuse is not None:
            rest, outer = self._sorted(rest, reuse), self._sorted(outer, reuse)
        # Loops over tiles can be parallel where they go outside the reduction's.
        reductions = [loop for loop in outer if loop.place < self.rank]
        outer = [*reductions, *[o for o in outer if o not in reductions]]
        self.outer_order = outer
        return [*first, *rest, *outer]

    def _reorder(self, wanted: list[Name]) -> None:
        moved = [n for n in wanted if n in self.now]
        if moved != self.now and len(moved) > 1:
            self.give("reorder", *moved)
        self.now = moved

    # Vectors.

    def _lanes(self, loop: _Loop) -> int:
        lanes = self.wishes.lanes
        while lanes > loop.extent:
            lanes //= 2
        return lanes

    def _vectorize_within(
        self, order: list[_Loop], short: list[_Loop], vector: _Loop
    ) -> list[_Loop]:
        """The order once the vector loop is split into vectors; what is left of it
        goes outside reductions of greater reuse, whose results stay in registers."""
        lanes = self._lanes(vector)
        if vector.fixed and vector.extent == lanes:
            self.lanes = vector
            return order
        within = self._new(self.stage.loops[vector.place], "v")
        tail = self._tail(vector.name, vector.place)
        self.give("split", vector.name, vector.name, within, lanes, *tail)
        self.now.insert(self.now.index(vector.name), within)
        made = self.lanes = _Loop(within, vector.place, lanes, True)
        vector.fixed = vector.fixed and vector.extent % lanes == 0
        vector.extent = -(-vector.extent // lanes)
        at = order.index(vector)
        rest = order[at + 1 :]
        after = 0
        if not self._few(vector):
            # Few iterations in all: their sums stay in registers meanwhile.
            inside = [r for r in rest if r.place < self.rank and r not in self.outer]
            if prod([r.extent for r in inside]) <= SHORT:
                after = max((rest.index(r) + 1 for r in inside), default=0)
        rest.insert(after, vector)
        return [*order[:at], made, *rest]

    def _tail(self, loop: Name, place: int) -> tuple[TailStrategy, ...]:
        """RoundUp where it does no harm: the tail of an update would be guarded, and
        with narrower registers masked stores are slow. What is further in a tile has
        the tail of the tile."""
        v = self.stage.loops[place]
        rounds = v in self.wishes.rounds and loop == var_arg(v)
        return (TailStrategy.RoundUp,) if rounds else ()

    def _few(self, loop: _Loop) -> bool:
        return loop.fixed and loop.extent <= FEW

    def _unroll(self, order: list[_Loop], lanes: _Loop) -> None:
        """The innermost loop outside of the vectors, if it is short."""
        at = order.index(lanes)
        if at + 1 < len(order):
            loop = order[at + 1]
            if self._few(loop) and loop not in self.outer_order:
                self.give("unroll", loop.name)

    def _keep_sums(self, order: list[_Loop]) -> list[_Loop]:
        """The order in which sums of a few vectors stay in registers: as many of them
        as there are here are unrolled, and what else there may be, where the extent is
        no constant, goes outside of the reductions."""
        assert self.lanes is not None
        at = order.index(self.lanes) + 1
        around = [
            k
            for k, loop in enumerate(order)
            if k > at and loop.place < self.rank and loop not in self.outer_order
        ]
        if not around:
            return order
        loop, last = order[at], max(around)
        if self._few(loop) or not 1 < loop.extent <= FEW or loop.place < self.rank:
            return order
        within = self._new(self.stage.loops[loop.place], "u")
        tail = self._tail(loop.name, loop.place)
        self.give("split", loop.name, loop.name, within, loop.extent, *tail)
        self.now.insert(self.now.index(loop.name), within)
        few = _Loop(within, loop.place, loop.extent, True)
        loop.extent = 1
        return [*order[:at], few, *order[at + 1 : last + 1], loop, *order[last + 1 :]]

    # Tasks.

    def _parallel(self, order: list[_Loop]) -> None:
        """As many of the outermost loops as make enough tasks."""
        tasks = 1
        for loop in reversed(order):
            if tasks >= self.wishes.tasks or loop.place < self.rank:
                return
            if loop is self.lanes:
                return
            if loop.extent > 1:
                self.give("parallel", loop.name)
                tasks *= loop.extent


__all__ = ["FEW", "Name", "Wishes", "write_loops"]
