"""What a program of loops does, counted without running it: for sizes that are known.

The loop nests are walked with numbers for the loops' Vars (`Var.value` gives the names
of regions their values). A loop whose body counts the same in each iteration is walked
once and multiplied; of others, all iterations where they are few, else the first, the
last, and some that are evenly spread, each of which stands for those around it; fewer
in loops that are nested deep. What pixels decide counts as if it always happened: of a
Func on demand, all parts are computed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Load, Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import (
    Atomic,
    Block,
    For,
    Fork,
    ForKind,
    If,
    OnDemand,
    Produce,
    Provide,
    Realize,
    Stmt,
)
from parhelion.schedule.footprint import work

#: How many iterations of a loop are walked whose bodies are not alike.
MOST_WALKED = 12
#: How many iterations of all loops of a nest are walked together, about.
MOST_TOGETHER = 50_000

Number = int | float | bool


@dataclass(slots=True)
class Parallel:
    """A parallel loop. entries: how often it is run; iterations: of all of these in
    sum; work: operations and loads of values, of all iterations in sum."""

    func: Function
    name: str
    entries: float = 0.0
    iterations: float = 0.0
    work: float = 0.0


@dataclass(slots=True)
class Tally:
    """produced: how often each Func is produced; computed: how many points that is.
    extents, peak: the largest storage of each, and its bytes; `peak_of_all`: the bytes
    of all storage that there is at a time, if one thread runs everything."""

    produced: dict[Function, float] = field(default_factory=dict)
    computed: dict[Function, float] = field(default_factory=dict)
    extents: dict[Function, tuple[int, ...]] = field(default_factory=dict)
    peak: dict[Function, int] = field(default_factory=dict)
    peak_of_all: int = 0
    parallel: dict[Var, Parallel] = field(default_factory=dict)


def tally(
    s: Stmt,
    volumes: Mapping[Function, Sequence[Expr]],
    env: Mapping[Var, Number],
) -> Tally:
    """Counts of loop nests, in which Funcs are still functions of coordinates.

    volumes: the extents of what one production of each Func computes, in names that are
    visible there. env: the numbers of the outputs' regions, images and Params.
    """
    walker = _Walker(volumes, MOST_TOGETHER // max(_depth(s), 1))
    walker.told.peak_of_all = walker.go(s, dict(env), 1.0, None)
    return walker.told


def _depth(s: Stmt) -> int:
    """How many loops are inside of each other."""
    inside = max([_depth(c) for c in s.children() if isinstance(c, Stmt)], default=0)
    return inside + isinstance(s, For)


class _Walker:
    def __init__(self, volumes: Mapping[Function, Sequence[Expr]], room: int) -> None:
        self.volumes = volumes
        #: How many iterations may be walked in place of one of the loop at hand.
        self.room = room
        self.told = Tally()
        self.done = 0.0  # work, so far
        self._open: dict[Node, frozenset[Var]] = {}
        self._seen: dict[Expr, frozenset[Var]] = {}

    def go(
        self, s: Stmt, env: dict[Var, Number], times: float, at: Function | None
    ) -> int:
        """Counts a statement that happens `times` times inside the production of `at`;
        the most bytes of storage that there are inside at a time."""
        if isinstance(s, Block):
            return max([self.go(i, env, times, at) for i in s.items], default=0)
        if isinstance(s, Produce):
            if s.producing:
                self._produce(s.func, env, times)
                at = s.func
            return self.go(s.body, env, times, at)
        if isinstance(s, For):
            return self._for(s, env, times, at)
        if isinstance(s, If):
            return self._if(s, env, times, at)
        if isinstance(s, Realize):
            return self._realize(s, env, times, at)
        if isinstance(s, Fork):
            return self.go(s.first, env, times, at) + self.go(s.second, env, times, at)
        if isinstance(s, OnDemand):
            # As if all parts were asked for, one at a time.
            part = self.go(s.makes[0], env, times, at)
            return part + self.go(s.body, env, times, at)
        if isinstance(s, Atomic):
            return self.go(s.body, env, times, at)
        if isinstance(s, Provide):
            self.done += times * work(s.values)
        return 0

    def _produce(self, f: Function, env: dict[Var, Number], times: float) -> None:
        _add(self.told.produced, f, times)
        points = 1.0
        for extent in self.volumes.get(f, ()):
            n = self._number(extent, env)
            if n is None:
                return
            points *= max(n, 0)
        _add(self.told.computed, f, times * points)

    def _realize(
        self, s: Realize, env: dict[Var, Number], times: float, at: Function | None
    ) -> int:
        numbers = [self._number(extent, env) for _, extent in s.bounds]
        extents = tuple([0 if n is None else max(int(n), 0) for n in numbers])
        size = sum([t.bytes() for t in s.func.types]) * math.prod(extents)
        if size >= self.told.peak.get(s.func, 0):
            self.told.peak[s.func], self.told.extents[s.func] = size, extents
        return size + self.go(s.body, env, times, at)

    def _if(
        self, s: If, env: dict[Var, Number], times: float, at: Function | None
    ) -> int:
        known = self._number(s.cond, env)
        if known is not None:
            taken = s.then if known else s.otherwise
            return 0 if taken is None else self.go(taken, env, times, at)
        return self.go(s.then, env, times, at)

    def _for(
        self, s: For, env: dict[Var, Number], times: float, at: Function | None
    ) -> int:
        lo, n = self._number(s.min, env), self._number(s.extent, env)
        if lo is None or n is None or n <= 0:
            return 0
        before, trips = self.done, int(n)
        walked = [(0, trips)]
        if s.var in self._needs(s.body):
            walked = _spread(trips, min(self.room, MOST_WALKED))
        most, room = 0, self.room
        self.room = max(room // len(walked), 1)
        for i, weight in walked:
            inner = {**env, s.var: int(lo) + i}
            most = max(most, self.go(s.body, inner, times * weight, at))
        self.room = room
        if s.kind is ForKind.PARALLEL and at is not None:
            found = self.told.parallel.get(s.var)
            if found is None:
                found = self.told.parallel[s.var] = Parallel(
                    at, var_label(s.var.loop.var)
                )
            found.entries += times
            found.iterations += times * trips
            found.work += self.done - before
        return most

    def _needs(self, s: Stmt) -> frozenset[Var]:
        """The loops' Vars that what is counted in a statement depends on."""
        found = self._open.get(s)
        if found is not None:
            return found
        needed: set[Var] = set()
        if isinstance(s, For):
            needed |= self._vars(s.min) | self._vars(s.extent)
        elif isinstance(s, If):
            needed |= self._vars(s.cond)
        elif isinstance(s, Realize):
            for _, extent in s.bounds:
                needed |= self._vars(extent)
        elif isinstance(s, Produce) and s.producing:
            for extent in self.volumes.get(s.func, ()):
                needed |= self._vars(extent)
        if not isinstance(s, Provide):
            for child in s.children():
                if isinstance(child, Stmt):
                    needed |= self._needs(child)
        made = self._open[s] = frozenset(needed)
        return made

    def _vars(self, e: Expr) -> frozenset[Var]:
        """The Vars of an expression, those of the values of its names included."""
        found = self._seen.get(e)
        if found is None:
            out = set(free_vars(e))
            for v in free_vars(e):
                if v.value is not None:
                    out |= self._vars(v.value)
            found = self._seen[e] = frozenset(out)
        return found

    def _number(self, e: Expr, env: dict[Var, Number]) -> Number | None:
        """The value of an expression; None if only a run can tell it."""
        if any(_is_data(n) for v in (e, *self._values(e)) for n in nodes(v)):
            return None
        return evaluate(e, env)

    def _values(self, e: Expr) -> list[Expr]:
        return [v.value for v in self._vars(e) if v.value is not None]


def _spread(trips: int, most: int) -> list[tuple[int, int]]:
    """Up to `most` iterations to be walked, and for how many each stands: the first and
    the last one, which are often unlike the others, for themselves."""
    if most < 3:
        return [(trips // 2, trips)]
    few = min(trips, most) - 2
    ends = [1 + k * (trips - 2) // max(few, 1) for k in range(few + 1)]
    inner = [((a + b) // 2, b - a) for a, b in itertools.pairwise(ends)]
    return [(0, 1), *inner, (trips - 1, 1)] if trips > 1 else [(0, 1)]


def _is_data(n: Node) -> bool:
    return isinstance(n, Load | FuncCall | ImageLoad) or (
        isinstance(n, Intrinsic) and not INTRINSICS[n.op].pure
    )


def _add(counts: dict[Function, float], f: Function, n: float) -> None:
    counts[f] = counts.get(f, 0.0) + n


__all__ = ["Parallel", "Tally", "tally"]
