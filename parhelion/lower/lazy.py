"""Funcs that are computed on demand: a table of what is made, and who asks for it.

Around all that uses such a Func stand its storage, a table of its parts (see `parts`)
and what computes one of them; before each point that reads it, a demand:

    realize f(…)
      realize f.made(…)
        for …: f.made(…) = 0
        lazy f.part of f {…} in {
          for y: for x:
            demand f.part(row, column, f.made(column, row)) if c
            g(x, y) = select(c, f(u(x, y), v(x, y)), 0)

A value that the consumer only selects under a condition is only demanded where it
holds; elsewhere it reads what happens to be in the storage, and drops it. Not so for
what coordinates are computed from: those have to be inside of what they index.

From: the 2013 paper on dynamic scheduling, whose draft leaves open how code is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from parhelion.errors import ScheduleError
from parhelion.ir.build import TRUE, block, conjunction, imm, int32, le, lnot
from parhelion.ir.expr import (
    Expr,
    FuncCall,
    ImageLoad,
    Intrinsic,
    Let,
    Select,
    Var,
)
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.rewrite import substitute
from parhelion.ir.stmt import (
    Demand,
    For,
    ForKind,
    OnDemand,
    Produce,
    Provide,
    Realize,
    Stmt,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.hulls import Region
from parhelion.lower.parts import Grid
from parhelion.lower.regions import Regions
from parhelion.schedule.directives import FuncSchedule
from parhelion.schedule.rules import stage_label
from parhelion.simplify.simplifier import can_prove
from parhelion.types import INT32, UInt

#: What a part is needed under: conditions of selections, and guards of reads that may
#: be out of bounds where they fail.
_Need = tuple[tuple[Expr, bool], ...]


@dataclass(frozen=True, slots=True)
class _Lazy:
    """One Func that is computed on demand.

    made: its table, of 0 where a part has not been computed. thunk: what demands name.
    """

    grid: Grid
    made: Function
    thunk: BufferSym
    claims: bool
    rank: int


class Lazies:
    """The Funcs of a program that are computed on demand."""

    def __init__(self, regions: Regions) -> None:
        self._lazy: dict[Function, _Lazy] = {}
        order = regions.program.order
        found = [f for f in order if regions.sites.on_demand(f)]
        for k, f in enumerate(found):
            _check_updates(regions, f)
            thunk = BufferSym(f"{f.name}.part", UInt(8), 1, "internal", func=f)
            claims = bool(f.schedule.tile)
            rank = len(found) - k  # producers come first
            grid = regions.grid(f)
            self._lazy[f] = _Lazy(grid, _table(f, claims), thunk, claims, rank)

    def __contains__(self, f: Function) -> bool:
        return f in self._lazy

    def around(self, f: Function, production: Stmt, body: Stmt) -> Stmt:
        """`body`, which may demand parts of `f`. production: of the part at hand."""
        lazy = self._lazy[f]
        grid = lazy.grid
        made = _loops(grid, ForKind.ON_DEMAND, production)
        one = OnDemand(
            *(f, lazy.thunk, (made,), (1,), lazy.claims, lazy.rank),
            Produce(f, False, body),
        )
        row, col = _fresh(grid.row), _fresh(grid.col)
        t = lazy.made.types[0]
        empty = Provide(lazy.made, (imm(0, t),), (col, row), None)
        zero = int32(0)
        clear: Stmt = For(col, zero, grid.columns, ForKind.SERIAL, empty)
        clear = For(row, zero, grid.rows, ForKind.SERIAL, clear)
        bounds = ((zero, grid.columns), (zero, grid.rows))
        return Realize(lazy.made, bounds, TRUE, block(clear, one))

    def demands(self, reader: Function, exprs: Iterable[Expr]) -> list[Stmt]:
        """What has to be asked for before a definition of `reader` evaluates some
        expressions at one point, in that order."""
        if not self._lazy:
            return []
        finder = _Finder(self._lazy, reader)
        for e in exprs:
            finder.visit(e, (), {})
        return list(finder.found)


def _table(f: Function, claims: bool) -> Function:
    """The table of the parts of `f`. What threads claim is a word."""
    made = Function(f"{f.name}.made", FuncSchedule(), f.site)
    made.label = f.label
    made.args = (Var("column", INT32), Var("row", INT32))
    made.types = (INT32 if claims else UInt(8),)
    return made


def _fresh(v: Var) -> Var:
    return Var(v.name, v.type, lo=v.lo, hi=v.hi)


def _loops(grid: Grid, kind: ForKind, body: Stmt) -> Stmt:
    inner = For(grid.col, int32(0), grid.columns, kind, body)
    return For(grid.row, int32(0), grid.rows, kind, inner)


def _check_updates(regions: Regions, f: Function) -> None:
    """Raises ScheduleError unless the stages of `f`, if there are several, leave other
    parts than the one at hand alone: those may be finished, and in use."""
    if not f.updates:
        return
    site = regions.sites.compute(f)
    needed, touched = regions.computed(f), regions.touched(f, site)
    if _within(touched, needed):
        return
    for k, stage in enumerate(regions.program.stages[f]):
        raise ScheduleError(
            f"{f.label} cannot be computed on demand: to compute a tile of it,"
            f" {stage_label(f, k)} or another of its stages reads or writes points"
            " outside of that tile, which may be finished and in use",
            at=f.schedule.compute.site or stage.definition.site,
            hint=f"compute a wrapper on demand, and {f.label} inside of it:"
            f" w = {f.label}.in_(); w.compute_lazy(tile=…);"
            f" {f.label}.compute_at(w, hl.Var.outermost()). If loops are split, a tile"
            " that is a multiple of the factors may do",
        )


def _within(inner: Region, outer: Region) -> bool:
    return all(
        can_prove(le(o.lo, i.lo)) and can_prove(le(i.hi, o.hi))
        for i, o in zip(inner, outer, strict=True)
    )


class _Finder:
    """Finds what an expression reads of Funcs that are computed on demand."""

    def __init__(self, lazy: dict[Function, _Lazy], reader: Function) -> None:
        self._lazy = lazy
        self._reader = reader
        self.found: dict[Stmt, None] = {}
        self._seen: set[tuple[Expr, _Need]] = set()

    def visit(self, e: Expr, need: _Need, env: dict[Var, Expr]) -> None:
        """`need`: under which conditions the value is used. env: of names around it."""
        if (e, need) in self._seen:
            return
        if not env:
            self._seen.add((e, need))
        handler = _HANDLERS.get(type(e))
        if handler is not None:
            handler(self, e, need, env)
            return
        for child in e.children():
            self.visit(child, need, env)

    def call(self, e: FuncCall, need: _Need, env: dict[Var, Expr]) -> None:
        for a in e.args:
            self.visit(a, _guards(need), env)
        lazy = self._lazy.get(e.func)
        if lazy is None or e.func is self._reader:
            return
        row, col = lazy.grid.place([substitute(a, env) for a in e.args])
        conditions = [substitute(c, env) for c, _ in need]
        cond = conjunction(conditions) if conditions else None
        self.found[Demand(lazy.thunk, row, col, lazy.made, (col, row), cond)] = None

    def image(self, e: ImageLoad, need: _Need, env: dict[Var, Expr]) -> None:
        for a in e.args:
            self.visit(a, _guards(need), env)

    def select(self, e: Select, need: _Need, env: dict[Var, Expr]) -> None:
        self.visit(e.cond, need, env)
        self.visit(e.a, (*need, (e.cond, False)), env)
        self.visit(e.b, (*need, (lnot(e.cond), False)), env)

    def intrinsic(self, e: Intrinsic, need: _Need, env: dict[Var, Expr]) -> None:
        if e.op == "guarded":
            pixel, cond = e.args
            self.visit(cond, _guards(need), env)
            self.visit(pixel, (*need, (cond, True)), env)
            return
        if not INTRINSICS[e.op].pure:
            need = _guards(need)  # what it does with the value is no selection
        for a in e.args:
            self.visit(a, need, env)

    def let(self, e: Let, need: _Need, env: dict[Var, Expr]) -> None:
        self.visit(e.value, need, env)
        self.visit(e.body, need, {**env, e.var: substitute(e.value, env)})


def _guards(need: _Need) -> _Need:
    """What is left of conditions where the value decides what is read."""
    return tuple([one for one in need if one[1]])


_HANDLERS: dict[type[Expr], Callable[[_Finder, Any, _Need, dict[Var, Expr]], None]] = {
    FuncCall: _Finder.call,
    ImageLoad: _Finder.image,
    Select: _Finder.select,
    Intrinsic: _Finder.intrinsic,
    Let: _Finder.let,
}

__all__ = ["Lazies"]
