"""How often one iteration of a stage evaluates each Func that is inlined into it.

What is counted is what compiled code computes: after inlining, expressions that read
a Func at the same coordinates are one expression, which is evaluated once. So the
coordinates of all reads are found, in canonical form and in terms of the stage's own
loops; distinct ones are counted. Clamps and boundary conditions count as they are in
the middle of the stage's region.

Such points may be too many. From where they are, the number of paths from the stage to
a read bounds the count, and so does the box of the Func that one iteration needs; the
smaller one is taken.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field

from parhelion.analysis.linear import build, difference, linear
from parhelion.analysis.rank import is_pure, reads_data
from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int, int32
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import (
    Cast,
    Div,
    Expr,
    Extern,
    FuncCall,
    ImageLoad,
    Intrinsic,
    Max,
    Min,
    Mod,
    Select,
    Var,
)
from parhelion.ir.function import Definition, Function
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.rewrite import Rewriter, free_vars, nodes
from parhelion.schedule.modes import by_loops
from parhelion.schedule.spans import Span, Spans
from parhelion.types import INT32

Box = tuple[Span, ...]
Point = tuple[Expr, ...]

#: How many coordinates are formed for a pipeline before counting becomes an estimate.
MOST_READS = 1000

_MARKS = LIKELY | {"strict_float", "memoize_tag"}


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A coordinate of a read: an expression, the Vars of its definition that it
    mentions, and where it is just one of them plus a constant, that constant."""

    expr: Expr
    own: tuple[Var, ...]
    shift: int | None

    @classmethod
    def of(cls, expr: Expr) -> Coordinate:
        own = tuple(free_vars(expr))
        if len(own) == 1 and expr.type is INT32:
            form = linear(expr)
            if form.terms == {own[0]: 1}:
                return cls(expr, own, form.const)
        return cls(expr, own, None)


@dataclass(slots=True)
class Reads:
    """What one definition reads of Funcs.

    calls: each distinct read, a Func and its coordinates. coords: all coordinates.
    predicate: the condition of its reduction domain.
    """

    calls: list[tuple[Function, Point]]
    coords: list[Coordinate]
    predicate: Expr


def reads_of(f: Function, d: Definition) -> Reads:
    """The reads of a definition of `f`, those of `f` itself aside. What foreign code
    reads is its own affair."""
    predicate = int32(1) if d.rdom is None else d.predicate
    if not by_loops(f):
        return Reads([], [], predicate)
    calls: dict[tuple[Function, Point], None] = {}
    for e in dict.fromkeys((*d.values, *d.args, predicate)):
        for n in _calls(e):
            if n.func is not f:
                calls[n.func, n.args] = None
    coords = [
        Coordinate.of(a) for a in dict.fromkeys([a for _, args in calls for a in args])
    ]
    return Reads(list(calls), coords, predicate)


def _calls(root: Expr) -> Iterator[FuncCall]:
    """The reads of Funcs in an expression, each once, outer ones first. What reads no
    data has none."""
    seen: set[Expr] = set()
    stack = [root]
    while stack:
        e = stack.pop()
        if e in seen or not reads_data(e):
            continue
        seen.add(e)
        if type(e) is FuncCall:
            yield e
        stack.extend(reversed([c for c in e.children() if isinstance(c, Expr)]))


def work(values: Iterable[Expr]) -> int:
    """The operations and loads of an evaluation, the reads of Funcs and all index
    arithmetic aside. A choice that no pixel decides costs nothing: it is a boundary
    condition, which loops are partitioned for."""
    total = 0
    stack = list(values)
    seen: set[Expr] = set()
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        kind = type(e)
        if kind is FuncCall:
            continue
        if kind is ImageLoad:
            total += 1
            continue
        if isinstance(e, Select) and not reads_data(e.cond):
            stack += [e.a, e.b]
            continue
        if isinstance(e, Intrinsic) and e.op in _MARKS:
            stack.append(e.args[0])
            continue
        children = list(e.children())
        if kind is Intrinsic or kind is Extern:
            total += 2
        elif children and kind is not Cast:
            total += 1
        stack += children
    return total


def is_known(e: Expr, known: Container[Var]) -> bool:
    """Whether these Vars decide the value of an expression, and no pixels."""
    return (
        not reads_data(e)
        and is_pure(e)
        and all([v in known for v in free_vars(e)])
        and not any([type(n) is Intrinsic and n.op == "memoize_tag" for n in nodes(e)])
    )


class _Interior(Rewriter):
    """Coordinates as they are in the middle of a region: clamps let them through.

    middle: the values of all Vars there. fixed: those that are the same everywhere.
    """

    def __init__(self, middle: Mapping[Var, int], fixed: Iterable[Var]) -> None:
        super().__init__()
        self.middle, self.fixed = middle, frozenset(fixed)
        self._values: dict[Expr, int | float | bool | None] = {}

    def moved(self, e: Expr, env: Mapping[Var, Expr]) -> Expr:
        """An expression in which Vars stand for others, which are in this form."""
        inner = _Interior(self.middle, ())
        inner.fixed, inner._values = self.fixed, self._values
        inner.memo.update(env.items())
        return inner.go(e)

    def value(self, e: Expr) -> int | float | bool | None:
        """The value in the middle, if pixels do not decide it."""
        if e in self._values:
            return self._values[e]
        known = evaluate(e, self.middle) if is_known(e, self.middle) else None
        self._values[e] = known
        return known

    def _first_if(self, n: Min | Max, sign: int) -> Expr:
        a, b = self.go(n.a), self.go(n.b)
        p, q = self.value(a), self.value(b)
        if p is None or q is None:
            return type(n)(a, b)
        least = a if sign * p <= sign * q else b
        # What ends at a constant there is no clamp at the borders.
        return least if free_vars(least) - self.fixed else type(n)(a, b)

    def on_min(self, n: Min) -> Expr:
        return self._first_if(n, 1)

    def on_max(self, n: Max) -> Expr:
        return self._first_if(n, -1)

    def on_div(self, n: Div) -> Expr:
        a, b = _canonical(self.go(n.a)), self.go(n.b)
        by = const_int(b)
        if by is not None and by > 0 and n.type is INT32:
            form = linear(a)
            (inner,) = form.terms if len(form.terms) == 1 else (None,)
            if isinstance(inner, Div) and form.terms[inner] == 1:
                within = const_int(inner.b)
                if within is not None and within > 0:
                    # (p/2 + 1)/2 is (p + 2)/4.
                    whole = linear(inner.a).shifted(form.const * within)
                    return Div(build(whole, INT32), int32(within * by))
        return Div(a, b)

    def on_mod(self, n: Mod) -> Expr:
        return Mod(_canonical(self.go(n.a)), self.go(n.b))

    def on_select(self, n: Select) -> Expr:
        cond = self.go(n.cond)
        holds = self.value(cond)
        if holds is None:
            return Select(cond, self.go(n.a), self.go(n.b))
        return self.go(n.a if holds else n.b)

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        return self.go(n.args[0]) if n.op in _MARKS else n.map(self.go)


@dataclass(slots=True)
class Footprint:
    """What one iteration of a stage takes.

    counts: how many values of each inlined Func, those in parts that an outer loop
    computes for several iterations. boxes: the extents of what it needs of each Func
    that has loops of its own.
    """

    counts: dict[Function, float] = field(default_factory=dict)
    boxes: dict[Function, tuple[int, ...]] = field(default_factory=dict)


class Tracer:
    """Follows the reads of stages through the Funcs that are inlined into them.

    order: all Funcs, consumers first. looped: those that have loops of their own.
    """

    def __init__(
        self,
        order: list[Function],
        looped: frozenset[Function],
        constants: Mapping[Var, int],
    ) -> None:
        self.order = order
        self.looped = looped
        self.constants = constants
        self.known: dict[Var, Span] = {v: (n, n) for v, n in constants.items()}
        self.left = MOST_READS
        self._reads: dict[Definition, Reads] = {}

    def reads(self, f: Function, d: Definition) -> Reads:
        found = self._reads.get(d)
        if found is None:
            found = self._reads[d] = reads_of(f, d)
        return found

    def constant(self, e: Expr) -> Span:
        """What an expression of run-time constants lies between."""
        return Spans(self.known).of(e)

    def demand(
        self, f: Function, d: Definition, scope: Mapping[Var, Span]
    ) -> dict[Function, Box]:
        """What a definition reads while the Vars lie as `scope` says."""
        reads = self.reads(f, d)
        at = Spans({**self.known, **scope})
        spans = {c.expr: at.of(c.expr) for c in reads.coords}
        boxes: dict[Function, Box] = {}
        for g, args in reads.calls:
            box = tuple([spans[a] for a in args])
            boxes[g] = hull(boxes[g], box) if g in boxes else box
        return boxes

    def footprint(
        self,
        f: Function,
        d: Definition,
        middle: Mapping[Var, int],
        scope: Mapping[Var, Span],
    ) -> Footprint:
        """What one iteration of a stage takes; `middle` is one in its middle, `scope`
        are the bounds of its loops."""
        made = Footprint()
        share = _Shares(d, scope)
        inside = _Interior({**self.constants, **middle}, self.constants)
        points: dict[Function, dict[Point, None]] = {}
        paths: dict[Function, float] = {}
        needed: dict[Function, Box] | None = None
        memo: dict[tuple[Expr, ...], Expr] = {}
        for g, args in self.reads(f, d).calls:
            there = tuple([_canonical(inside.go(a)) for a in args])
            points.setdefault(g, {})[there] = None
        for g in self.order:
            mine = points.get(g, {})
            count = sum([share.of(p) for p in mine]) + paths.get(g, 0.0)
            if not count:
                continue
            if g in paths:
                if needed is None:
                    needed = self._needed(f, d, middle)
                count = min(count, volume(needed[g]) or count)
            if g in self.looped:
                made.boxes[g] = (
                    tuple([_extent(s) or 1 for s in (needed or {})[g]])
                    if g in paths
                    else _extents(list(mine), inside)
                )
                continue
            made.counts[g] = count
            if g.pure is None:
                continue
            reads = self.reads(g, g.pure)
            if g in paths or len(mine) * len(reads.calls) > self.left:
                for h, _ in reads.calls:
                    paths[h] = paths.get(h, 0.0) + count
                continue
            self.left -= len(mine) * len(reads.calls)
            for point in mine:
                env = dict(zip(g.args, point, strict=True))
                at = {c.expr: _moved(c, env, inside, memo) for c in reads.coords}
                for h, args in reads.calls:
                    points.setdefault(h, {})[tuple([at[a] for a in args])] = None
        return made

    def _needed(
        self, f: Function, d: Definition, middle: Mapping[Var, int]
    ) -> dict[Function, Box]:
        """The boxes that one iteration needs."""
        boxes = self.demand(f, d, {v: (at, at) for v, at in middle.items()})
        for g in self.order:
            if g in boxes and g not in self.looped and g.pure is not None:
                scope = dict(zip(g.args, boxes[g], strict=True))
                for h, box in self.demand(g, g.pure, scope).items():
                    boxes[h] = hull(boxes[h], box) if h in boxes else box
        return boxes


class _Shares:
    """Which part of a value each iteration computes: what does not depend on the inner
    loops of a stage is computed outside of them."""

    def __init__(self, d: Definition, scope: Mapping[Var, Span]) -> None:
        self.loops: list[tuple[Var, float]] = []
        share = 1.0
        for dim in d.schedule.dims:  # innermost first
            self.loops.append((dim.var, share))
            share /= max(_extent(scope.get(dim.var)), 1)
        self.once = share

    def of(self, point: Point) -> float:
        for v, share in self.loops:
            for at in point:
                if at is v or v in free_vars(at):
                    return share
        return self.once


def _canonical(e: Expr) -> Expr:
    if isinstance(e, Var) or e.type is not INT32:
        return e
    return build(linear(e), INT32)


def _moved(
    c: Coordinate,
    env: Mapping[Var, Expr],
    inside: _Interior,
    memo: dict[tuple[Expr, ...], Expr],
) -> Expr:
    """A coordinate in the terms of the stage at hand, where `env` says what the Vars of
    its definition are."""
    if c.shift == 0:
        return env.get(c.own[0], c.expr)
    key = (c.expr, *[env.get(v, v) for v in c.own])
    found = memo.get(key)
    if found is None:
        if c.shift is not None:
            found = build(linear(key[1]).shifted(c.shift), INT32)
        else:
            found = _canonical(inside.moved(c.expr, env))
        memo[key] = found
    return found


def _extents(points: list[Point], inside: _Interior) -> tuple[int, ...]:
    """The extents of the box around points, at least: where pixels decide how far two
    are apart, each counts as one."""
    extents = []
    for along in zip(*points, strict=True):
        first, *rest = dict.fromkeys(along)
        offsets = [0]
        for other in rest:
            apart = difference(other, first)
            here, there = inside.value(first), inside.value(other)
            if apart.is_const():
                offsets.append(apart.const)
            elif here is not None and there is not None:
                offsets.append(int(there) - int(here))
        extents.append(max(offsets) - min(offsets) + 1)
    return tuple(extents)


def hull(a: Box, b: Box) -> Box:
    """The smallest box around both."""
    return tuple(
        [
            None if s is None or t is None else (min(s[0], t[0]), max(s[1], t[1]))
            for s, t in zip(a, b, strict=True)
        ]
    )


def _extent(s: Span) -> int:
    """0 where it is not known."""
    return 0 if s is None else max(s[1] - s[0] + 1, 0)


def volume(box: Box) -> int:
    """The number of points, 0 where it is not known."""
    total = 1
    for s in box:
        total *= _extent(s)
    return total


__all__ = ["Box", "Footprint", "Tracer", "hull", "is_known", "volume", "work"]
