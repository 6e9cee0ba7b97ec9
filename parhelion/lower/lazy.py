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
what coordinates are computed from: those have to be inside of what they index. Nor for
what foreign functions are given, which are called whatever is selected.

From: the 2013 paper on dynamic scheduling, whose draft leaves open how code is made.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from typing import Any

from parhelion.analysis.bounds import bounds_of
from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError
from parhelion.ir.build import (
    TRUE,
    add,
    block,
    cast,
    conjunction,
    const_int,
    imm,
    int32,
    int64,
    is_true,
    le,
    lnot,
    maximum,
    minimum,
    mul,
    sub,
)
from parhelion.ir.expr import (
    NE,
    Expr,
    Extern,
    FuncCall,
    ImageLoad,
    Intrinsic,
    Let,
    Select,
    StringImm,
    Var,
)
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.rewrite import substitute
from parhelion.ir.stmt import (
    Demand,
    Evaluate,
    For,
    ForKind,
    OnDemand,
    Produce,
    Provide,
    Realize,
    Stmt,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.box_reads import BoxRead, box_reads, corner_reads, variables
from parhelion.lower.hulls import Region
from parhelion.lower.loops import Range
from parhelion.lower.parts import Grid, demanded_box, sizes_of
from parhelion.lower.regions import Regions, Scope
from parhelion.lower.stages import LoopStage
from parhelion.schedule.directives import FuncSchedule
from parhelion.schedule.rules import warn
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32, INT64, Handle, UInt

#: Under how many conditions a value is looked at. What is used in more ways than that,
#: which can be exponential in how deep selections are nested, is taken to be used.
_MOST_WAYS = 16

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

    def demand(
        self,
        row: Expr,
        col: Expr,
        cond: Expr | None = None,
        *,
        reads: int = 1,
        waits: bool = True,
    ) -> Stmt:
        """Asks for the part at a row and a column, if a condition holds. reads: how
        many it stands for. waits: whether also if another thread has begun it."""
        where = (self.thunk, row, col, self.made, (col, row))
        return Demand(*where, cond, reads, waits)

    def begun(self, row: Expr, col: Expr) -> Expr:
        """Whether the part at a row and a column has been begun, if not more."""
        kind = self.made.types[0]
        entry = FuncCall(kind, self.made, (col, row), 0)
        return NE(entry, imm(0, kind))


class Lazies:
    """The Funcs of a program that are computed on demand."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._counted = regions.options.profile
        self._lazy: dict[Function, _Lazy] = {}
        self._plans: dict[LoopStage, _Plan] = {}
        order = regions.program.order
        found = [f for f in order if regions.sites.on_demand(f)]
        for k, f in enumerate(found):
            _check_parts(regions, f)
            thunk = BufferSym(f"{f.name}.part", UInt(8), 1, "internal", func=f)
            claims = bool(f.schedule.tile)
            rank = len(found) - k  # producers come first
            grid = regions.grid(f)
            _warn_of_one_tile(f, grid)
            self._lazy[f] = _Lazy(grid, _table(f, claims), thunk, claims, rank)

    def __contains__(self, f: Function) -> bool:
        return f in self._lazy

    def around(self, f: Function, production: Stmt, body: Stmt) -> Stmt:
        """`body`, which may demand parts of `f`. production: of the part at hand."""
        lazy = self._lazy[f]
        grid = lazy.grid
        body = Produce(f, False, body)
        if self._counted:
            stored = _counts(f, "stored", _values(grid.region))
            body = block(stored, body)
            if lazy.claims:
                values = _values(self._regions.computed(f))
                production = block(production, _counts(f, "computed", values))
        made = _loops(grid, (grid.row, grid.col), ForKind.ON_DEMAND, production)
        one = OnDemand(f, lazy.thunk, (made,), (1,), lazy.claims, lazy.rank, body)
        row, col = _fresh(grid.row), _fresh(grid.col)
        nothing = imm(0, lazy.made.types[0])
        empty = Provide(lazy.made, (nothing,), (col, row), None)
        clear = _loops(grid, (row, col), ForKind.SERIAL, empty)
        bounds = ((int32(0), grid.columns), (int32(0), grid.rows))
        return Realize(lazy.made, bounds, TRUE, block(clear, one))

    def demands(
        self, stage: LoopStage, exprs: Iterable[Expr], env: Mapping[Var, Expr]
    ) -> list[Stmt]:
        """What has to be asked for before a stage evaluates some of its expressions at
        one point. env: its variables in terms of the loops."""
        if not self._lazy:
            return []
        covered = self._plan(stage).covered
        found: dict[Stmt, None] = {}
        reads = [one for one in self._reads(stage, exprs) if one[0] not in covered]
        sizes = {read.func: sizes_of(read.func) for read, _ in reads}
        for read, conditions, count in corner_reads(variables(stage), reads, sizes):
            lazy = self._lazy[read.func]
            row, col = lazy.grid.place([substitute(a, env) for a in read.args])
            cond: Expr | None = None
            if conditions:
                cond = conjunction([substitute(c, env) for c in conditions])
            found[lazy.demand(row, col, cond, reads=count)] = None
        return list(found)

    def of_boxes(self, stage: LoopStage, depth: int) -> list[Stmt]:
        """What is asked for inside `depth` loops of a stage, for all points inside."""
        if not self._lazy:
            return []
        boxes = [box for at, box in self._plan(stage).boxes if at == depth]
        if not boxes:
            return []
        scope = self._regions.loops(stage).region(depth)
        return [self._box(box, scope) for box in boxes]

    def _box(self, box: BoxRead, scope: Scope) -> Stmt:
        """Demands of all parts that a box touches."""
        lazy = self._lazy[box.func]
        grid = lazy.grid
        ends: list[Range] = []
        for (first, last), r in zip(box.ends, grid.region, strict=True):
            lo = bounds_of(first, scope, self._regions.value_bounds).lo
            hi = bounds_of(last, scope, self._regions.value_bounds).hi
            # The same points, by another way; see `Regions.computed`.
            lo = r.lo if lo is None else maximum(lo, r.lo)
            hi = r.hi if hi is None else minimum(hi, r.hi)
            ends.append(Range(simplify(lo), simplify(hi)))
        made = _asked(lazy, tuple(ends))
        if not self._counted:
            return made
        points: Expr = int64(box.reads)
        for span in scope.values():
            assert span.lo is not None and span.hi is not None
            points = mul(points, _extent(Range(span.lo, span.hi)))
        return block(_counts(box.func, "hits", points), made)

    def _plan(self, stage: LoopStage) -> _Plan:
        found = self._plans.get(stage)
        if found is None:
            found = self._plans[stage] = self._find_plan(stage)
        return found

    def _find_plan(self, stage: LoopStage) -> _Plan:
        sites = self._regions.sites
        fusing = sites.fusing
        nothing = _Plan((), frozenset())
        shares = stage in fusing.follows or len(fusing.members(stage, 1)) > 1
        own = self._lazy.get(stage.func)
        # One value at a time is computed without loops that boxes could be outside of.
        point = own is not None and not own.claims
        if shares or point or not is_true(stage.predicate):
            return nothing
        depths: dict[Function, int] = {}
        for f in self._lazy:
            store = sites.store(f)
            depth = _depth_of_boxes(stage, store.depth if store.stage is stage else 0)
            if depth is not None and store.contains(sites.inside(stage, depth)):
                depths[f] = depth
        reads = self._reads(stage, (*stage.args, *stage.values))
        free = [read for read, cond in reads if not cond and read.func in depths]
        sizes = {f: sizes_of(f) for f in depths}
        boxes, covered = box_reads(variables(stage), free, sizes)
        placed = tuple([(depths[box.func], box) for box in boxes])
        return _Plan(placed, frozenset(covered))

    def _reads(
        self, stage: LoopStage, exprs: Iterable[Expr]
    ) -> list[tuple[FuncCall, tuple[Expr, ...]]]:
        """What expressions read of such Funcs, and under which conditions."""
        return reads_of(self._lazy, stage.func, exprs)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a stage asks: for `boxes`, each inside so many loops, of which `covered` are
    the reads; for all others at each point."""

    boxes: tuple[tuple[int, BoxRead], ...]
    covered: frozenset[FuncCall]


def _asked(lazy: _Lazy, box: Region) -> Stmt:
    """Demands of all parts that a box touches.

    Of tiles, first those in rows that nobody else has begun, then those that nobody
    else is at, then all: threads whose boxes overlap share the work so, where else each
    would wait for one tile after the other. Rows come first because a tile is computed
    faster after the one before it in its row, whose neighbours the processor has
    fetched ahead: threads that took the tiles of a row in turn took up to 1.8 times as
    long for each, when other programs used the last-level cache.
    """
    asked = demanded_box(lazy.grid, box, partial(lazy.demand, reads=0))
    if not lazy.claims or lazy.grid.is_within_one(box):
        return asked
    ask = partial(lazy.demand, reads=0, waits=False)
    rows = demanded_box(lazy.grid, box, ask, lazy.begun)
    return block(rows, demanded_box(lazy.grid, box, ask), asked)


def _depth_of_boxes(stage: LoopStage, stored: int) -> int | None:
    """Inside how many of its loops a stage asks for boxes of a Func: inside those that
    are parallel or that its storage is in, and outside of the last two others, so that
    little is asked for at a time but often enough. Not inside vectorized loops. None if
    all loops are around."""
    kinds = [d.kind for d in reversed(stage.schedule.dims)]
    apart = [i for i, kind in enumerate(kinds, 1) if kind.threaded]
    least = max(apart[-1] if apart else 0, stored)
    vectors = [i for i, kind in enumerate(kinds) if kind is ForKind.VECTORIZED]
    most = vectors[0] if vectors else len(kinds)
    depth, serial = most, 0
    while depth > least and serial < 2:
        depth -= 1
        serial += kinds[depth] is ForKind.SERIAL
    if depth == 0 and most > 1:
        depth = 1  # else all would be asked for at once
    return depth if least <= depth < len(kinds) and depth <= most else None


def _table(f: Function, claims: bool) -> Function:
    """The table of the parts of `f`. What threads claim is a word."""
    made = Function(f"{f.name}.made", FuncSchedule(), f.site)
    made.label = f.label
    made.args = (Var("column", INT32), Var("row", INT32))
    made.types = (INT32 if claims else UInt(8),)
    return made


def _counts(f: Function, what: str, n: Expr) -> Stmt:
    """In code that is profiled, `n` more of what a Func on demand has counted."""
    name, word = StringImm(Handle(), f.name), StringImm(Handle(), what)
    return Evaluate(Intrinsic(INT32, "lazy_count", (name, word, n)))


def _values(region: Region) -> Expr:
    """How many points a region has."""
    total: Expr = int64(1)
    for r in region:
        total = mul(total, _extent(r))
    return total


def _extent(r: Range) -> Expr:
    wide = [cast(INT64, e) for e in (r.hi, r.lo)]
    return maximum(add(sub(*wide), int64(1)), int64(0))


def _fresh(v: Var) -> Var:
    return Var(v.name, v.type, lo=v.lo, hi=v.hi)


def _loops(grid: Grid, over: tuple[Var, Var], kind: ForKind, body: Stmt) -> Stmt:
    """Loops over all rows and columns."""
    row, col = over
    inner = For(col, int32(0), grid.columns, kind, body)
    return For(row, int32(0), grid.rows, kind, inner)


def _warn_of_one_tile(f: Function, grid: Grid) -> None:
    """Warns of a tile that is sure to be larger than the whole region."""
    if not f.schedule.tile or not all([const_int(n) == 1 for n in grid.counts]):
        return
    sizes = [None if size is None else const_int(size) for size in grid.sizes]
    extents = [const_int(simplify(_extent(r))) for r in grid.region]
    if any([s and e and s > e for s, e in zip(sizes, extents, strict=True)]):
        warn(
            f"{f.label}.compute_lazy(tile={f.schedule.tile}): what could be needed of"
            f" {f.label} is smaller than one tile, so that the first read has all of it"
            " computed",
            f.schedule.compute.site,
        )


def _stores_values(regions: Regions, stage: LoopStage) -> bool:
    """Whether all that a stage stores are values of its Func, rather than what masked
    loads make of points outside, or what was there before."""
    loops = regions.loops(stage)
    return not loops.blends and all(
        [loops.writes(v) is loops.reads(v) for v in loops.nominal]
    )


def _check_parts(regions: Regions, f: Function) -> None:
    """Raises ScheduleError unless the stages of `f` leave other parts than the one at
    hand alone: those may be finished, and in use. One stage that computes more than the
    part may store that: these are the values of the other parts as well."""
    stages = regions.program.stages[f]
    if not f.updates and all(map(partial(_stores_values, regions), stages)):
        return
    site = regions.sites.compute(f)
    needed, touched = regions.computed(f), regions.touched(f, site)
    if _within(touched, needed):
        return
    raise ScheduleError(
        f"{f.label} cannot be computed on demand: to compute a tile of it, its"
        " definitions read or write points outside of that tile, which may be finished"
        " and in use",
        at=f.schedule.compute.site,
        hint=f"compute a wrapper on demand, and {f.label} inside of it:"
        f" w = {f.label}.in_(); w.compute_lazy(tile=…);"
        f" {f.label}.compute_at(w, hl.Var.outermost()). If loops are split, a tile that"
        " is a multiple of the factors may do, or the tail GuardWithIf",
    )


def _within(inner: Region, outer: Region) -> bool:
    return all(
        can_prove(le(o.lo, i.lo)) and can_prove(le(i.hi, o.hi))
        for i, o in zip(inner, outer, strict=True)
    )


def reads_of(
    funcs: Container[Function], reader: Function, exprs: Iterable[Expr]
) -> list[tuple[FuncCall, tuple[Expr, ...]]]:
    """What expressions of a reader read of some Funcs, and under which conditions."""
    finder = _Finder(funcs, reader)
    for e in exprs:
        finder.visit(e, (), {})
    return list(finder.found)


class _Finder:
    """Finds what an expression reads of Funcs that are computed on demand."""

    def __init__(self, lazy: Container[Function], reader: Function) -> None:
        self._lazy = lazy
        self._reader = reader
        self.found: dict[tuple[FuncCall, tuple[Expr, ...]], None] = {}
        self._seen: set[tuple[Expr, _Need]] = set()
        self._ways: dict[Expr, int] = {}

    def visit(self, e: Expr, need: _Need, env: dict[Var, Expr]) -> None:
        """`need`: under which conditions the value is used. env: of names around it."""
        free = _guards(need)
        if (e, need) in self._seen or (e, free) in self._seen:
            return  # known, under the same conditions or under none
        if not env:
            ways = self._ways[e] = self._ways.get(e, 0) + 1
            need = free if ways > _MOST_WAYS else need
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
        if e.func not in self._lazy or e.func is self._reader:
            return
        args = tuple([substitute(a, env) for a in e.args])
        # One demand has all values of a Tuple computed.
        read = FuncCall(e.func.types[0], e.func, args, 0)
        self.found[read, tuple([substitute(c, env) for c, _ in need])] = None

    def always(self, e: ImageLoad | Extern, need: _Need, env: dict[Var, Expr]) -> None:
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
    Extern: _Finder.always,
    FuncCall: _Finder.call,
    ImageLoad: _Finder.always,
    Select: _Finder.select,
    Intrinsic: _Finder.intrinsic,
    Let: _Finder.let,
}

__all__ = ["Lazies", "reads_of"]
