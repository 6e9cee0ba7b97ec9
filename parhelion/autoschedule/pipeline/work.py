"""What one point of a definition costs: its operations and its loads.

Operations that are shared (one node, used several times) count once, as the compiler
computes them once. Coordinates that are sums and multiples of loop variables count
nothing: they are the addresses of the loads.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TypeVar

from parhelion.analysis.linear import linear
from parhelion.autoschedule.pipeline.edges import Steady, cuts_loops
from parhelion.autoschedule.pipeline.graph import GraphStage, Recoordinate, Source
from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Var
from parhelion.ir.function import Function
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import Stmt
from parhelion.types import Type

_N = TypeVar("_N", Expr, Stmt)

#: How much an operation costs, in units of one addition of its type.
_NODES: Mapping[type, float] = {
    E.Add: 1,
    E.Sub: 1,
    E.Min: 1,
    E.Max: 1,
    E.EQ: 1,
    E.NE: 1,
    E.LT: 1,
    E.LE: 1,
    E.And: 1,
    E.Or: 1,
    E.Not: 1,
    E.Select: 1,
    E.Cast: 1,
}
#: Marks, which cost nothing.
_FREE = {
    "likely",
    "likely_if_innermost",
    "promise_clamped",
    "known_clamped",
    "strict_float",
    "memoize_tag",
    "undef",
}
_FUNCTIONS: Mapping[str, float] = {
    "exp": 25,
    "log": 33,
    "pow": 100,
    "sin": 50,
    "cos": 50,
    "tan": 60,
    "asin": 40,
    "acos": 40,
    "atan": 40,
    "atan2": 45,
    "sinh": 50,
    "cosh": 50,
    "tanh": 50,
    "asinh": 60,
    "acosh": 60,
    "atanh": 60,
    "erf": 50,
}
_INTRINSICS: Mapping[str, float] = {
    **_FUNCTIONS,
    "sqrt": 8,
    "fast_exp": 12,
    "fast_log": 14,
    "fast_pow": 28,
    "fast_sin": 12,
    "fast_cos": 12,
    "fast_inverse": 2,
    "fast_inverse_sqrt": 3,
    "random_int": 20,
    "popcount": 6,
    "clz": 6,
    "ctz": 6,
    "div_round_to_zero": 12,
    "mod_round_to_zero": 14,
}
#: How many of a function's operations need the one before them.
_IN_TURN = 0.5
#: A call of a C function, which vectors cannot make.
CALL = 50.0


@dataclass(frozen=True, slots=True)
class Operation:
    """weight: in units of an addition. bits: width of the widest operand or result.
    depends: the loops in which its value changes. scalar: whether it is scalar code,
    lane by lane, on vectors too. function: whether it is a function such as ``exp``."""

    weight: float
    bits: int
    depends: frozenset[Var]
    scalar: bool = False
    function: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """One load. steps: for each dimension of the source, how far it moves per step of
    each loop, None where that is not a constant (a look-up, or ``x // 2``: see
    `divided`). divided: by dimension and loop, the step as a fraction, where it is one.
    clamped: the loops in which it moves like that in the steady state alone.
    """

    source: Source
    args: tuple[Expr, ...]
    bits: int
    depends: frozenset[Var]
    steps: tuple[Mapping[Var, int | None], ...]
    divided: Mapping[tuple[int, Var], float]
    clamped: frozenset[Var] = frozenset()

    def step(self, dimension: int, v: Var) -> int | None:
        return self.steps[dimension].get(v, 0)


class _Moved(Recoordinate):
    """An expression as it is so many steps of a loop further on."""

    def __init__(self, v: Var, steps: int) -> None:
        super().__init__()
        self.v = v
        self.memo[v] = build.add(v, build.int32(steps))

    def go(self, n: _N) -> _N:
        if isinstance(n, Expr) and self.v not in free_vars(n):
            return n
        return super().go(n)


class _Known(Recoordinate):
    """Leaves out what constants decide: the colours that a choice is not about."""

    def __init__(self, known: Mapping[Var, int]) -> None:
        super().__init__()
        for v, value in known.items():
            self.memo[v] = build.int32(value)

    def on_eq(self, n: E.EQ) -> Expr:
        return build.eq(self.go(n.a), self.go(n.b))

    def on_ne(self, n: E.NE) -> Expr:
        return build.ne(self.go(n.a), self.go(n.b))

    def on_lt(self, n: E.LT) -> Expr:
        return build.lt(self.go(n.a), self.go(n.b))

    def on_le(self, n: E.LE) -> Expr:
        return build.le(self.go(n.a), self.go(n.b))

    def on_and(self, n: E.And) -> Expr:
        return build.land(self.go(n.a), self.go(n.b))

    def on_or(self, n: E.Or) -> Expr:
        return build.lor(self.go(n.a), self.go(n.b))

    def on_not(self, n: E.Not) -> Expr:
        return build.lnot(self.go(n.a))

    def on_select(self, n: E.Select) -> Expr:
        cond = self.go(n.cond)
        if build.is_true(cond):
            return self.go(n.a)
        if build.is_false(cond):
            return self.go(n.b)
        return E.Select(cond, self.go(n.a), self.go(n.b))


class Copies:
    """A definition for points that are computed together: what several of them need is
    computed once.

    A vertical stencil of an inlined horizontal one needs ``count + 2`` rows of it for
    `count` rows of its own, not three times as many. v: the loop along which points are
    neighbours, if any. known: loops of which all iterations are done, and which these
    are; what is chosen by them is known in each.
    """

    def __init__(
        self, stage: GraphStage, v: Var | None, known: Mapping[Var, range] | None = None
    ) -> None:
        steady = Steady(clamps=True)
        values = [steady.go(e) for e in stage.values]
        known = known or {}
        self._v, self._known = v, known
        self._values = values
        if known:
            self._values = []
            for at in itertools.product(*known.values()):
                settled = _Known(dict(zip(known, at, strict=True)))
                self._values += [settled.go(e) for e in values]
        self._seen: set[Node] = set()
        #: Operations and loads of so many copies.
        self._totals: list[tuple[float, int]] = [(0.0, 0)]
        self._alone = self._by_loops(values)

    def left(self, count: int) -> tuple[float, float]:
        """How much of the operations and of the loads is left for `count` neighbours,
        of what they would be by the loops that each of them depends on."""
        while len(self._totals) <= count:
            self._another()
        weight, loads = self._totals[count]
        (one, more), (first, next_) = self._alone
        each, read = one + more * count, first + next_ * count
        return weight / each if each else 1.0, loads / read if read else 1.0

    def _by_loops(
        self, values: Sequence[Expr]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Operations and loads by the loops that they depend on: what neighbours share,
        and what each computes anew."""
        weights, loads = [0.0, 0.0], [0.0, 0.0]
        for e in _distinct(values, set()):
            free = free_vars(e)
            times = math.prod([len(r) for v, r in self._known.items() if v in free])
            moves = int(self._v in free)
            if isinstance(e, FuncCall | ImageLoad):
                loads[moves] += times
            else:
                weights[moves] += _weight(e)[0] * times
        return (weights[0], weights[1]), (loads[0], loads[1])

    def _another(self) -> None:
        steps = len(self._totals) - 1
        values = self._values
        if steps and self._v is not None:
            moved = _Moved(self._v, steps)
            values = [moved.go(e) for e in values]
        weight, loads = self._totals[-1]
        for e in _distinct(values, self._seen):
            if isinstance(e, FuncCall | ImageLoad):
                loads += 1
            else:
                weight += _weight(e)[0]
        self._totals.append((weight, loads))


def _distinct(roots: Sequence[Expr], seen: set[Node]) -> Iterator[Expr]:
    """All expressions in these that have not been `seen`, each once."""
    stack: list[Node] = list(roots)
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if isinstance(n, Expr):
            yield n
        stack.extend(n.children())


class Work:
    """All that one point of a stage costs.

    reads: its loads as they are written, which `loads` tells more of. stores: how many.
    """

    def __init__(self, stage: GraphStage) -> None:
        self.stage = stage
        self._loops = frozenset(stage.loops)
        self.operations: list[Operation] = []
        self.reads: list[FuncCall | ImageLoad] = []
        self.stores = len(stage.values)
        self._seen: set[Expr] = set()
        self._fused: set[Expr] = set()
        #: What the code computes but at the edges.
        self.steady = Steady(clamps=True)
        for e in stage.values:
            self._visit(self.steady.go(e))
        #: Where it stores, as loads of the same places are written: what a look-up and
        #: a value have in common is computed once.
        self.args = self.steady.coordinates(stage.args)
        if stage.index:
            for a in self.args:
                self._coordinate(a)
        self._visit(self.steady.go(stage.predicate))

    @cached_property
    def arithmetic(self) -> float:
        """The cost of all operations, each in units of one addition."""
        return sum(o.weight for o in self.operations)

    @cached_property
    def chain(self) -> float:
        """How many operations of functions, such as ``exp``, follow one another, as
        each needs the one before it, in units of one addition."""
        if not any([o.function for o in self.operations]):
            return 0.0
        known: dict[Expr, float] = {}
        return max([_chain(self.steady.go(e), known) for e in self.stage.values])

    @cached_property
    def adds_products(self) -> bool:
        """Whether it adds products to sums, and nothing else, as of matrices: each
        factor is of several products."""
        if len(self.operations) != 1 or not self._fused:
            return False
        points = self.stage.pure
        factors = [a for a in self.loads if a.source is not self.stage.func]
        return not any(a.depends.issuperset(points) for a in factors)

    @cached_property
    def recurs(self) -> bool:
        """Whether it is a scan: an iteration over the reduction's domain reads what
        other iterations have written at other places."""
        stage = self.stage
        domain = frozenset(stage.rvars)
        return any(
            a.source is stage.func and a.args != self.args and a.depends & domain
            for a in self.loads
        )

    @cached_property
    def alike(self) -> Mapping[tuple[frozenset[Var], int, bool, bool], float]:
        """The cost of all operations that depend on the same loops, are as wide, and
        are done alike on vectors: by these four."""
        found: dict[tuple[frozenset[Var], int, bool, bool], float] = {}
        for o in self.operations:
            key = o.depends, o.bits, o.scalar, o.function
            found[key] = found.get(key, 0.0) + o.weight
        return found

    def _depends(self, e: Expr) -> frozenset[Var]:
        return free_vars(e) & self._loops

    def _visit(self, e: Expr) -> None:
        if e in self._seen:
            return
        self._seen.add(e)
        if isinstance(e, FuncCall | ImageLoad):
            self.reads.append(e)
            for a in e.args:
                self._coordinate(a)
            return
        if isinstance(e, E.Let):
            self._visit(e.value)
            self._visit(e.body)
            return
        weight, scalar = _weight(e)
        if e in self._fused:
            weight = 0.0
        depends = self._depends(e)
        # What no loop changes is computed before the loops.
        if weight and depends:
            bits = max(c.type.width for c in (e, *_exprs(e)))
            function = isinstance(e, Intrinsic) and e.op in _FUNCTIONS
            self.operations.append(Operation(weight, bits, depends, scalar, function))
        if isinstance(e, E.Add | E.Sub) and e.type.is_float():
            # A product that is added at once: one instruction.
            for c in (e.b, e.a):
                if isinstance(c, E.Mul) and c not in self._seen:
                    self._fused.add(c)
                    break
        for c in _exprs(e):
            self._visit(c)

    def _coordinate(self, e: Expr) -> None:
        """Visits a coordinate: only what is not an affine part of the address costs."""
        for inner, _ in _moving(e, self._loops):
            if isinstance(inner, Var | E.Imm):
                continue
            if isinstance(inner, E.Min | E.Max | E.Div | E.Mod) and cuts_loops(inner):
                continue  # a clamp or a resampling: taken out of the inner loop
            self._visit(inner)

    @cached_property
    def loads(self) -> list[Access]:
        """One for each of `reads`."""
        return [self._access(e) for e in self.reads]

    @cached_property
    def beside(self) -> list[bool]:
        """Of each of `loads`, whether another one before it is a constant distance
        away, wherever the loops are: both take their lanes from one index."""
        found: list[bool] = []
        seen: set[object] = set()
        for a in self.loads:
            place = a.source, *[_moved(e) for e in a.args]
            found.append(place in seen)
            seen.add(place)
        return found

    def _access(self, e: FuncCall | ImageLoad) -> Access:
        source: Source = e.func if isinstance(e, FuncCall) else e.image
        steps: list[Mapping[Var, int | None]] = []
        divided: dict[tuple[int, Var], float] = {}
        for d, a in enumerate(e.args):
            step: dict[Var, int | None] = {}
            for inner, k in _moving(a, self._loops):
                for v in self._depends(inner):
                    if inner is v and step.get(v, 0) is not None:
                        step[v] = (step.get(v) or 0) + k
                    else:
                        step[v] = None
                        share = _fraction(inner, v)
                        if share is not None:
                            divided[d, v] = k * share
            steps.append(step)
        return Access(
            source,
            e.args,
            e.type.width,
            self._depends(e),
            tuple(steps),
            divided,
            self._clamped(e),
        )

    def _clamped(self, e: FuncCall | ImageLoad) -> frozenset[Var]:
        """The loops of the coordinates that are other ones at the edges."""
        found = frozenset[Var]()
        for raw in self.steady.found.get(e, ()):
            for a, b in zip(raw.args, e.args, strict=True):
                if a is not b:
                    found |= free_vars(a)
        return found & self._loops


def _chain(e: Expr, known: dict[Expr, float]) -> float:
    """How many operations of functions follow one another down to an expression."""
    found = known.get(e)
    if found is None:
        found = max([_chain(c, known) for c in _exprs(e)], default=0.0)
        if isinstance(e, Intrinsic) and e.op in _FUNCTIONS:
            found += _FUNCTIONS[e.op] * _IN_TURN
        known[e] = found
    return found


def _moved(e: Expr) -> frozenset[tuple[Expr, int]]:
    """What a coordinate moves with: all but constants that are added to it."""
    while isinstance(e, E.Add | E.Sub) and isinstance(e.b, E.Imm):
        e = e.a
    return frozenset(linear(e).terms.items())


def _exprs(e: Expr) -> list[Expr]:
    return [c for c in e.children() if isinstance(c, Expr)]


def _moving(e: Expr, loops: frozenset[Var]) -> Iterator[tuple[Expr, int]]:
    """The terms of a coordinate with their multiples. What is clamped, marked or
    promised counts without that: inside of the image it moves as its operand does."""
    for atom, k in linear(e).terms.items():
        inner = _stripped(atom, loops)
        if inner is None:
            yield atom, k
        else:
            for term, n in _moving(inner, loops):
                yield term, k * n


def _stripped(e: Expr, loops: frozenset[Var]) -> Expr | None:
    """The operand of a mark, or the one side of a clamp that moves with the loops, and
    with one only: that loop can be cut where it is clamped. None for anything else."""
    if isinstance(e, Intrinsic) and e.op in _FREE and e.args:
        return e.args[0]
    if isinstance(e, E.Min | E.Max):
        sides = [c for c in (e.a, e.b) if not loops.isdisjoint(free_vars(c))]
        if len(sides) == 1 and len(free_vars(sides[0]) & loops) == 1:
            return sides[0]
    return None


def _fraction(e: Expr, v: Var) -> float | None:
    """1 / n for ``(v + c) // n``; None for anything else."""
    if isinstance(e, E.Div) and isinstance(e.b, E.Imm) and e.b.value > 0:
        k = linear(e.a).terms.get(v)
        if k is not None and len(linear(e.a).terms) == 1:
            return k / e.b.value
    return None


def _weight(e: Expr) -> tuple[float, bool]:
    """The cost of one node by itself, and whether vectors do it lane by lane."""
    found = _NODES.get(type(e))
    if found is not None:
        return found, False
    t: Type = e.type
    if isinstance(e, E.Mul):
        return (2.0 if t.is_int_or_uint() and t.width in (8, 32, 64) else 1.0), False
    if isinstance(e, E.Div | E.Mod):
        if t.is_float():
            return (1.0 if isinstance(e.b, E.FloatImm) else 5.0), False
        if isinstance(e.b, E.Imm):
            power = e.b.value > 0 and e.b.value & (e.b.value - 1) == 0
            return (1.0 if power else 4.0), False
        return 20.0, False
    if isinstance(e, Intrinsic):
        if e.op in _FREE:
            return 0.0, False
        return _INTRINSICS.get(e.op, 1.0), False
    if isinstance(e, E.Extern):
        return CALL, True
    return 0.0, False


def element_bytes(source: Source) -> int:
    """Bytes of one point: all values of a Func that has several."""
    # Kept by the types: what is kept by a Func or an image keeps it for ever.
    return _bytes(source.types if isinstance(source, Function) else (source.type,))


@cache
def _bytes(types: tuple[Type, ...]) -> int:
    return sum([max(1, t.width // 8) for t in types])


__all__ = ["CALL", "Access", "Copies", "Operation", "Work", "element_bytes"]
