"""What a scheduler may decide of each Func, and what the user has decided.

Whatever is scheduled already stays as it is: the place of a Func that has one, the
loops of a definition that has directives, loops in which the user computes or stores
something. The rest is free, but for what a Func's nature rules out: foreign code has no
loops, and finds its inputs in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.autoschedule.pipeline.graph import can_inline
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.schedule.directives import LoopLevel, Place
from parhelion.schedule.idle import layout_calls
from parhelion.schedule.modes import by_loops, modes
from parhelion.schedule.order import callees, realization_order


class Freedom:
    """Which decisions about the Funcs of a pipeline are still to be made.

    inlined: Funcs that the user wants inline. placed: those whose place he chose, or
    that have to stay where they are for other reasons. looped: definitions that have
    directives. named: Funcs in whose loops the user computes or stores others, and
    these loops. windows: Funcs in whose loops something is computed that is kept
    further out, so that they cannot be parallel. given: Funcs that foreign code reads
    and those that run beside others, which are at the root. whole: those that are to be
    computed as a whole, as nobody can tell what part is needed where. points: those of
    which one value is computed at a time, without loops.
    """

    def __init__(
        self,
        outputs: Sequence[Function],
        ours: frozenset[tuple[Function, int]] = frozenset(),
    ) -> None:
        """ours: definitions whose directives are the scheduler's own."""
        self.outputs, self.ours = frozenset(outputs), ours
        self.inlined: set[Function] = set()
        self.placed: set[Function] = set()
        self.looped: set[tuple[Function, int]] = set()
        self.named: dict[Function, set[Var]] = {}
        self.windows: set[Function] = set()
        self.given: set[Function] = set()
        self.whole: set[Function] = set()
        self.points: set[Function] = set()
        order = realization_order(outputs)
        for f in order:
            self._look(f)
        self._keep_within(order)

    def _look(self, f: Function) -> None:
        s = f.schedule
        if not by_loops(f):
            self.given.update(callees(f))
        if s.compute.place is not Place.INLINED:
            self.placed.add(f)
        elif s.compute.site is not None and can_inline(f, tuple(self.outputs)):
            self.inlined.add(f)
        if s.store is not None or s.hoist is not None:
            self.placed.add(f)
        if f not in self.placed and f not in self.inlined:
            self._store(f)
        for k, d in enumerate(f.stages()):
            if d.schedule.touched and (f, k) not in self.ours:
                self.looped.add((f, k))
            other = d.schedule.fused_with
            if other is not None:
                # Both run together wherever they are.
                for g in (f, other.func):
                    self.placed.add(g)
                    self.looped.update((g, n) for n in range(len(g.stages())))
        for level in (s.compute, s.store, s.hoist):
            self._name(level)
        if any(at is not s.compute for at in (s.store_level, s.hoist_level)):
            self._keep_serial(s.compute.func, s.hoist_level.func)

    def _keep_serial(self, around: Function | None, last: Function | None) -> None:
        """Loops between the place where a Func is computed and that of its storage; it
        is in loops of `last`, or outside of all."""
        seen: set[Function] = set()
        while around is not None and around not in seen:
            seen.add(around)
            if around is last:
                break
            around = around.schedule.compute.func
        self.windows |= seen

    def _store(self, f: Function) -> None:
        """What storage directives of a Func without a place mean for it. To be computed
        at the same time as others, it cannot be inlined. How much of it is kept at a
        time is enough for some places, which only a run shows, and copies of it need
        loops around them, so that it stays where it is."""
        s = f.schedule
        kept = any(
            d.fold is not None or d.bound is not None for d in s.storage.values()
        )
        if kept or s.ring is not None:
            self._leave(f)
        elif modes(f):
            self.given.add(f)

    def _leave(self, f: Function) -> None:
        """Leaves a Func without a place as it is by default."""
        if can_inline(f, tuple(self.outputs)):
            self.inlined.add(f)
        else:
            self.placed.add(f)
            self.looped.update((f, k) for k in range(len(f.stages())))

    def _keep_within(self, order: Sequence[Function]) -> None:
        """What reads a Func that is computed in loops of another one stays there too:
        inlined, or without loops of its own, as it is by default."""
        readers: dict[Function, list[Function]] = {f: [] for f in order}
        for f in order:
            for g in callees(f):
                readers[g].append(f)
        for f in order:
            s = f.schedule
            for around in {s.compute.func, s.store_level.func, s.hoist_level.func}:
                if around is not None:
                    self._keep_readers(f, around, readers)

    def _keep_readers(
        self,
        f: Function,
        around: Function,
        readers: Mapping[Function, Sequence[Function]],
    ) -> None:
        waiting, seen = list(readers[f]), {around}
        while waiting:
            g = waiting.pop()
            root = g in self.outputs or g.schedule.compute.place is Place.ROOT
            if g in seen or root:
                continue
            seen.add(g)
            waiting += readers[g]
            if self.move(g):
                self._leave(g)

    def _name(self, level: LoopLevel | None) -> None:
        if level is not None and level.func is not None:
            loops = self.named.setdefault(level.func, set())
            if level.var is not None:
                loops.add(level.var)

    def move(self, f: Function) -> bool:
        """Whether the place of a Func is to be chosen."""
        return f not in self.outputs and f not in self.placed and f not in self.inlined

    def inline(self, f: Function) -> bool:
        """Whether a Func may be inlined."""
        return (
            self.move(f)
            and can_inline(f, tuple(self.outputs))
            and f not in self.given
            and f not in self.named
            and not self.has_loops(f)
            and not any(layout_calls(f))
        )

    def nest(self, f: Function) -> bool:
        """Whether a Func may be computed in the loops of another. Foreign code, `given`
        Funcs and what is kept from run to run, is computed at the root."""
        return (
            self.move(f)
            and f not in self.given
            and f not in self.whole
            and not modes(f)
        )

    def host(self, f: Function) -> bool:
        """Whether Funcs may be computed in the loops of this one."""
        return (
            by_loops(f)
            and f not in self.named
            and f not in self.points
            and not self.has_loops(f)
            and (f in self.outputs or f.schedule.compute.place is not Place.LOOP)
        )

    def loops(self, f: Function, k: int) -> bool:
        """Whether the loops of a definition are to be chosen."""
        return by_loops(f) and f not in self.named and (f, k) not in self.looped

    def has_loops(self, f: Function) -> bool:
        """Whether one definition of a Func at least has its loops already."""
        return any((f, k) in self.looped for k in range(len(f.stages())))


__all__ = ["Freedom"]
