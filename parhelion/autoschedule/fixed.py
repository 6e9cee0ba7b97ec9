"""What of a pipeline the user has scheduled already, which schedulers leave alone."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.schedule.directives import LoopLevel, Place
from parhelion.schedule.sites import callees, realization_order


class Fixed:
    """The user's part of a schedule.

    inlined: Funcs that he wants inline. placed: those whose place he chose, and those
    that must not move for other reasons (they are kept from run to run, or have a
    thread of their own). touched: definitions that have directives. named: by Func,
    the loops in which others are computed or stored. windows: Funcs in whose loops
    something is computed that is stored further out, so that they cannot be parallel.
    """

    def __init__(self, outputs: Sequence[Function]) -> None:
        self.inlined: set[Function] = set()
        self.placed: set[Function] = set()
        self.touched: set[tuple[Function, int]] = set()
        self.named: dict[Function, set[Var]] = {}
        self.windows: set[Function] = set()
        for f in realization_order(outputs):
            s = f.schedule
            if s.compute.place is not Place.INLINED:
                self.placed.add(f)
            elif s.compute.site is not None and f not in outputs:
                self.inlined.add(f)
            if s.memo is not None or s.async_ or s.store or s.hoist or s.storage:
                self.placed.add(f)
            for k, d in enumerate(f.stages()):
                if d.schedule.touched:
                    self.touched.add((f, k))
                    self.placed.add(f)
            for level in (s.compute, s.store_level, s.hoist_level):
                self._name(level)
            if s.store is not None and s.store is not s.compute and s.compute.func:
                self.windows.add(s.compute.func)
        self.inlined -= self.placed
        self._keep_within(outputs)

    def _name(self, level: LoopLevel) -> None:
        if level.func is not None and level.var is not None:
            self.named.setdefault(level.func, set()).add(level.var)

    def _keep_within(self, outputs: Sequence[Function]) -> None:
        """What reads a Func that is computed in loops of another one stays there too:
        it is inlined, as it is by default."""
        order = realization_order(outputs)
        readers: dict[Function, list[Function]] = {f: [] for f in order}
        for f in order:
            for g in callees(f):
                readers[g].append(f)
        for f in order:
            around = f.schedule.compute.func
            waiting = [] if around is None else readers[f][:]
            while waiting:
                g = waiting.pop()
                known = g in self.placed or g in self.inlined or g in outputs
                if g is around or known:
                    continue
                (self.placed if g.updates or g.extern else self.inlined).add(g)
                waiting += readers[g]

    def whole(self, f: Function) -> bool:
        """Whether nothing of a Func may be decided but how its loops run."""
        return f in self.placed or f in self.named

    def stage(self, f: Function, k: int) -> bool:
        """Whether a definition has its loops already."""
        return (f, k) in self.touched


__all__ = ["Fixed"]
