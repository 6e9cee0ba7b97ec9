"""A scan that a user wrote as an ordinary update, as stages in tiles.

What `analysis.recurrence` finds in an update is a filter along lines. Their points are
counted from the first that it meets: so it is causal, whichever way it goes, and
`tiling` has the stages that compute it. The update then reads the last of them. Before
the first point there is what the definitions before the update say, as ever; tiles read
it too, so these are a Func of their own.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from parhelion.analysis.linear import linear
from parhelion.analysis.recurrence import Recurrence
from parhelion.dataclass import dataclass
from parhelion.errors import here
from parhelion.ir.build import (
    FALSE,
    add,
    conjunction,
    const_int,
    div,
    eq,
    imm,
    int32,
    is_const,
    le,
    likely,
    maximum,
    minimum,
    mod,
    mul,
    select,
    sub,
)
from parhelion.ir.expr import Expr, FuncCall, Intrinsic, Var
from parhelion.ir.function import Definition, DimName, Function, ReductionDomain
from parhelion.ir.names import unique_name, wished
from parhelion.ir.rewrite import Rewriter
from parhelion.lang.expr import to_expr, wrap
from parhelion.recfilter.coefficients import Number
from parhelion.recfilter.dims import ScanDim
from parhelion.recfilter.edges import Tail
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.tiling import Tiles, tiled
from parhelion.schedule.branches import copied
from parhelion.schedule.directives import INLINED, ROOT, FuncSchedule, LoopLevel
from parhelion.schedule.order import realization_order
from parhelion.schedule.rules import stage_label
from parhelion.schedule.stage import initial_stage_schedule
from parhelion.schedule.wrappers import Redirect
from parhelion.simplify.simplifier import simplify


@dataclass(frozen=True)
class Scan:
    """A scan of constant coefficients.

    update: definition number `number` of the Func. found: what it is. feedback: the
    coefficients of each value; none for one that is no scan. lines: for each dimension
    of the Func, the Var of the update that numbers lines in it (for that of the scan,
    their points); None where the coordinate is one number. first, points: of each line.
    """

    function: Function
    number: int
    update: Definition
    found: Recurrence
    feedback: tuple[tuple[Number, ...], ...]
    lines: tuple[Var | None, ...]
    first: Expr
    points: Expr

    @property
    def extent(self) -> int | None:
        """How many points a line has, where that is a number."""
        return const_int(self.points)

    def size(self, k: int) -> int | None:
        """How many coordinates of a dimension there are lines of, if that is known."""
        v = self.lines[k]
        domain = self.update.rdom
        assert domain is not None
        if v in domain.vars:
            return const_int(simplify(domain.extents[domain.vars.index(v)]))
        for b in self.function.schedule.bounds:
            if b.var is v and b.extent is not None:
                return const_int(b.extent)
        return None


@dataclass(frozen=True)
class TiledScan:
    """The stages of a scan in tiles, those of each value that is scanned.

    dims: of these stages, and loops, the Var of the update that each stands for.
    position: of that along the lines. width: of tiles.
    """

    values: tuple[Tiles, ...]
    dims: tuple[ScanDim, ...]
    loops: tuple[Var, ...]
    position: int
    width: int


def rewritten(scan: Scan, width: int) -> TiledScan:
    """Has the update of a scan read stages in tiles, which are new Funcs."""
    before = _before(scan)
    source = _Source(scan, before)
    label = f"{wished(scan.function.name)}_scan"
    tiles: list[Tiles] = []
    values: list[Expr] = []
    for index, feedback in enumerate(scan.feedback):
        if not feedback:
            values.append(source.value(index, {}))
            continue
        one = _One(source, index)
        filters = [[Filter(source.position, True, (1,), feedback)]]
        made = tiled(
            label,
            one,
            source.dims,
            filters,
            {source.position: width},
            scan.function.types[index],
            one,
        )
        for f in made.funcs():
            for d in f._function.stages():
                d.known_as = f"{stage_label(scan.function, scan.number)}.tile_scan"
        tiles.append(made)
        values.append(source.read(made, width))
    _replace(scan, tuple(values))
    return TiledScan(
        tuple(tiles), tuple(source.dims), tuple(source.loops), source.position, width
    )


class _Placed(Rewriter):
    """An expression of the update at another point."""

    def __init__(self, values: dict[Var, Expr]) -> None:
        super().__init__()
        self.values = values

    def on_var(self, n: Var) -> Expr:
        return self.values.get(n, n)


class _Source:
    """What is scanned, at the points of lines."""

    def __init__(self, scan: Scan, before: Function) -> None:
        self.scan, self.before = scan, before
        self.dims: list[ScanDim] = []
        self.loops: list[Var] = []
        for k, v in enumerate(scan.lines):
            if v is None:
                continue
            extent: Any = scan.size(k)
            if k == scan.found.position:
                self.position = len(self.dims)
                extent = wrap(scan.points) if extent is None else extent
            self.dims.append(ScanDim(scan.function.args[k].name, extent))
            self.loops.append(v)

    def at(self, coordinates: tuple[Any, ...], point: Expr) -> dict[Var, Expr]:
        """The Vars of the update at a point of the line of some coordinates."""
        values = [to_expr(c)._node for c in coordinates]
        values[self.position] = add(self.scan.first, point)
        return dict(zip(self.loops, values, strict=True))

    def earlier(self, index: int, at: dict[Var, Expr]) -> Expr:
        """The value that is there before the update."""
        into = _Placed(at)
        args = tuple([into.go(a) for a in self.scan.update.args])
        t = self.scan.function.types[index]
        return FuncCall(t, self.before, args, index)

    def value(self, index: int, at: dict[Var, Expr]) -> Expr:
        """What the update stores but for multiples of earlier values."""
        found, into = self.scan.found.values[index], _Placed(at)
        total: Expr | None = None
        if found.own is not None:
            own = into.go(found.own)
            here_before = self.earlier(index, at)
            total = here_before if is_const(own, 1) else mul(own, here_before)
        if found.rest is not None:
            rest = into.go(found.rest)
            total = rest if total is None else add(total, rest)
        return imm(0, self.scan.function.types[index]) if total is None else total

    def read(self, tiles: Tiles, width: int) -> Expr:
        """The value of the last stage at a point of the update."""
        final = tiles.final[-1].stages[-1]._function
        args: list[Expr] = list(self.loops)
        point = sub(args[self.position], self.scan.first)
        args[self.position] = mod(point, int32(width))
        outer = div(point, int32(width))
        return FuncCall(final.types[0], final, (*args, outer), 0)


class _One:
    """One value of what is scanned: as the source of a filter, and its edges."""

    def __init__(self, source: _Source, index: int) -> None:
        self.source, self.index = source, index

    def __call__(self, *coordinates: Any) -> Any:
        # Tiles go on beyond the last point, where nothing is used.
        last = sub(self.source.scan.points, int32(1))
        point = to_expr(coordinates[self.source.position])._node
        near = maximum(minimum(point, last), int32(0))
        return wrap(self.source.value(self.index, self.source.at(coordinates, near)))

    def entering(self, n: int, q: Any, tail: Tail) -> Any:
        """See `Edges`."""
        point = sub(int32(-1), to_expr(q)._node)
        at = self.source.at(tuple(self.source.dims), point)
        return wrap(self.source.earlier(self.index, at))


# The definitions.


def _replace(scan: Scan, values: tuple[Expr, ...]) -> None:
    """Gives the update other values."""
    f, d = scan.function, scan.update
    made = _definition(f, d.args, values, d.rdom, d)
    made.directive = "tile_scan"
    f.updates = (*f.updates[: scan.number - 1], made, *f.updates[scan.number :])


def _definition(
    f: Function,
    args: tuple[Expr, ...],
    values: tuple[Expr, ...],
    rdom: ReductionDomain | None,
    instead_of: Definition,
) -> Definition:
    schedule = initial_stage_schedule(args, f.args, rdom, function=f, values=values)
    made = Definition(args, values, rdom, schedule, instead_of.site)
    made.original = instead_of.original or instead_of
    return made


def _before(scan: Scan) -> Function:
    """A new Func of the values that a Func has before a scan.

    Updates before it are computed there, and not once more where they were; and what
    the scan overwrites is not written before it.
    """
    f, number = scan.function, scan.number
    made = Function(unique_name(f"{wished(f.name)}_before"), FuncSchedule(), here())
    made.args, made.types, made.frozen = f.args, f.types, True
    made.schedule.storage_order = tuple(range(len(f.args)))
    made.schedule.instead = dict(f.schedule.instead)
    stages = f.stages()[:number]
    copies = [_copy(k, f, made) for k in range(number)]
    made.pure, made.updates = copies[0], tuple(copies[1:])
    if number == 1:
        # Every pass over the tiles reads it at other points.
        made.schedule.compute = dataclasses.replace(INLINED, site=here())
        made.pure.schedule = initial_stage_schedule(
            made.args, made.args, None, function=made, values=made.pure.values
        )
        f.pure = _left_out(scan, stages[0], stages[0].values)
        return made
    made.schedule.compute = ROOT
    for producer in realization_order([made]):
        _move(producer.schedule, f, made, number)
    calls = [FuncCall(t, made, f.args, k) for k, t in enumerate(f.types)]
    f.pure = _left_out(scan, stages[0], tuple(calls))
    by = f"{stage_label(f, number)}.tile_scan"
    empty = [_nothing(f, d, d.moved_by or by) for d in stages[1:]]
    f.updates = (*empty, *f.updates[number - 1 :])
    return made


def _left_out(
    scan: Scan, instead_of: Definition, values: tuple[Expr, ...]
) -> Definition:
    """A pure definition by these values but for the points that the scan writes."""
    f, written = scan.function, likely(_written(scan))
    left = [select(written, Intrinsic(v.type, "undef", ()), v) for v in values]
    made = _definition(f, f.args, tuple(left), None, instead_of)
    made.schedule = copied(instead_of.schedule)
    return made


def _written(scan: Scan) -> Expr:
    """Whether a scan writes a point of its Func."""
    d = scan.update
    domain = d.rdom
    assert domain is not None
    found: list[Expr] = []
    for k, (arg, own, v) in enumerate(
        zip(d.args, scan.function.args, scan.lines, strict=True)
    ):
        if v is None:
            found.append(eq(own, arg))
        elif v in domain.vars:
            n = domain.vars.index(v)
            first, count = domain.mins[n], domain.extents[n]
            ends = [first, sub(add(first, count), int32(1))]
            position = scan.found.position
            step = scan.found.step if k == position else linear(arg).terms[v]
            low, high = [_Placed({v: end}).go(arg) for end in ends[::step]]
            found += [le(low, own), le(own, high)]
    return conjunction(found)


def _copy(k: int, f: Function, made: Function) -> Definition:
    """Definition number `k` of `f` as one of another Func."""
    d, to = f.stages()[k], Redirect({f: made})
    copy = Definition(
        tuple([to.go(a) for a in d.args]),
        tuple([to.go(v) for v in d.values]),
        d.rdom,
        copied(d.schedule),
        d.site,
    )
    if d.rdom is not None:
        copy.read_predicate(to.go(d.predicate))
    copy.original, copy.directive = d.original, d.directive
    copy.known_as = stage_label(f, k)
    return copy


def _move(s: FuncSchedule, f: Function, to: Function, number: int) -> None:
    """Has what is computed in the loops of the first definitions of `f` computed in
    those of another Func."""

    def moved(level: LoopLevel) -> LoopLevel:
        if level.func is not f or level.stage >= number:
            return level
        return dataclasses.replace(level, func=to)

    s.compute = moved(s.compute)
    s.store = None if s.store is None else moved(s.store)
    s.hoist = None if s.hoist is None else moved(s.hoist)


def _nothing(f: Function, instead_of: Definition, moved_by: str) -> Definition:
    """An update that computes nothing, in place of one that a directive has moved."""
    never = ReductionDomain(
        (DimName(f"{wished(f.name)}_never"),), (int32(0),), (int32(1),), FALSE, here()
    )
    never.frozen = True
    calls = [FuncCall(t, f, f.args, k) for k, t in enumerate(f.types)]
    made = _definition(f, f.args, tuple(calls), never, instead_of)
    made.schedule.touched, made.moved_by = True, moved_by
    return made


__all__ = ["Scan", "TiledScan", "rewritten"]
