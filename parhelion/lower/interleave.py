"""Vectors whose lanes repeat a pattern become one vector per phase, interleaved.

Up-sampling and mosaics read ``g[x/2]`` and choose by ``x % 2``. Over a vector of x that
is a gather, and a choice lane by lane. The even lanes alone are dense loads of half the
width, and so are the odd ones; the choice is one of scalars, or a constant where it is
known whether x is even:

    f[ramp(x, 1, 8)] = select(ramp(x, 1, 8) % x8(2) == x8(0),
                              g[ramp(x, 1, 8)/x8(2)], h[ramp(x, 1, 8)/x8(2)])

    a = select(x % 2 == 0, g[ramp(x/2, 1, 4)], h[ramp(x/2, 1, 4)])
    b = select((x + 1) % 2 == 0, g[ramp((x + 1)/2, 1, 4)], h[ramp((x + 1)/2, 1, 4)])
    f[ramp(x, 1, 8)] = a0 b0 a1 b1 a2 b2 a3 b3

The largest expressions that gain by it are taken apart, so that what they compute from
their loads is interleaved once; where an expression also has dense loads, which lose by
it, its operands are looked at one by one. A look-up, whose index is data, gains nothing
by being done in parts: its index is interleaved, before it is widened.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, lcm

from parhelion.ir.build import add, const_int, imm, mul
from parhelion.ir.expr import (
    Broadcast,
    Cast,
    Div,
    Expr,
    Intrinsic,
    Load,
    Mod,
    Not,
    Ramp,
    Reinterpret,
    Select,
    Shuffle,
    _Binary,
)
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import Stmt
from parhelion.simplify.simplifier import simplify
from parhelion.types import Type

#: The most phases. Beyond, a gather is as good as the shuffles.
MOST_PHASES = 8
#: The least bits of a phase: half a vector register. Parts of one cost as much as it.
LEAST_BITS = 128
#: The least lanes of a phase of Bools.
LEAST_LANES = 4


def interleave_phases(s: Stmt) -> Stmt:
    """Takes vectors of ``x/2``, ``x % 2`` and the like apart, as above."""
    return _Interleave().go(s)


class _Interleave(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._periods: dict[Expr, int] = {}
        self._loose: dict[Expr, bool] = {}
        self._loading: dict[Expr, bool] = {}
        self._phases: dict[tuple[Expr, int, int], Expr] = {}

    def go(self, n: _N) -> _N:
        if isinstance(n, Expr) and n.type.count > 1 and n not in self.memo:
            made = self._looked_up(n) if type(n) is Load else None
            made = made or self._taken_apart(n)
            if made is not None:
                self.memo[n] = made
        return super().go(n)

    def _looked_up(self, n: Load) -> Expr | None:
        """A look-up with its index interleaved; None for other loads."""
        if n.predicate is not None or not self._loads(n.index):
            return None
        casts: list[Type] = []
        index = n.index
        while isinstance(index, Cast) and index.a.type.width <= index.type.width:
            casts.append(index.type)
            index = index.a
        index = self.go(index)
        for t in reversed(casts):
            index = Cast(t, index)
        return Load(n.type, n.buffer, index, None)

    def _taken_apart(self, e: Expr) -> Expr | None:
        """`e` as interleaved phases, if that is better."""
        count = self._period(e)
        if count == 1 or not self._is_loose(e):
            return None
        lanes = e.type.count // count
        if lanes < LEAST_LANES if e.type.is_bool() else self._narrow(e, lanes):
            return None
        phases = [self._phase(e, i, count) for i in range(count)]
        if not self._loads(e):
            # Arithmetic alone gains if nothing is left of it.
            phases = [simplify(p) for p in phases]
            if not all(type(p) is Broadcast and not p.value.children() for p in phases):
                return None
        turns = [i % count * lanes + i // count for i in range(e.type.count)]
        return Shuffle(tuple(phases), tuple(turns))

    @staticmethod
    def _narrow(e: Expr, lanes: int) -> bool:
        return lanes < 2 or lanes * e.type.width < LEAST_BITS

    def _period(self, e: Expr) -> int:
        """After how many lanes what `e` computes repeats; 1 if that is nothing new."""
        found = self._periods.get(e)
        if found is None:
            found = self._periods[e] = self._find_period(e)
        return found

    def _find_period(self, e: Expr) -> int:
        lanes = e.type.count
        if lanes == 1:
            return 1
        if isinstance(e, (Div, Mod)) and type(e.a) is Ramp and type(e.b) is Broadcast:
            if not (self._is_loose(e.a) and self._is_loose(e.b)):
                return 1
            step, by = const_int(e.a.stride), const_int(e.b.value)
            if step is None or by is None or by < 2:
                return 1
            return _allowed(by // gcd(step, by), lanes)
        if not _is_elementwise(e):
            return 1
        out = 1
        for child in e.children():
            if isinstance(child, Expr) and child.type.count == lanes:
                out = lcm(out, self._period(child))
        return _allowed(out, lanes)

    def _is_loose(self, e: Expr) -> bool:
        """Whether no load in `e` is of neighbours as it stands, and all of `e` can be
        taken apart."""
        found = self._loose.get(e)
        if found is None:
            found = self._loose[e] = self._find_loose(e)
        return found

    def _find_loose(self, e: Expr) -> bool:
        if e.type.count == 1:
            return True
        if isinstance(e, (Broadcast, Ramp)):
            one = e.value if isinstance(e, Broadcast) else e.base
            return one.type.count == 1
        if type(e) is Load and (self._period(e.index) == 1 or self._loads(e.index)):
            return False
        return _is_elementwise(e) and all(
            self._is_loose(c) for c in e.children() if isinstance(c, Expr)
        )

    def _loads(self, e: Expr) -> bool:
        """Whether there are vector loads in `e`."""
        if e.type.count == 1 or type(e) is Load:
            return type(e) is Load and e.type.count > 1
        found = self._loading.get(e)
        if found is None:
            found = self._loading[e] = any(map(self._loads, e.children()))
        return found

    def _phase(self, e: Expr, first: int, count: int) -> Expr:
        """Every `count`-th lane of `e` from `first` on."""
        if e.type.count == 1:
            return e
        key = (e, first, count)
        found = self._phases.get(key)
        if found is None:
            found = self._phases[key] = self._find_phase(e, first, count)
        return found

    def _find_phase(self, e: Expr, first: int, count: int) -> Expr:
        lanes = e.type.count // count
        if isinstance(e, Broadcast):
            return Broadcast(e.value, lanes)
        if isinstance(e, Ramp):
            t = e.stride.type
            start = add(e.base, mul(e.stride, imm(first, t)))
            return Ramp(start, mul(e.stride, imm(count, t)), lanes)

        def part(child: Expr) -> Expr:
            return self._phase(child, first, count)

        return _rebuilt(e, part, lanes)


def _rebuilt(e: Expr, part: Callable[[Expr], Expr], lanes: int) -> Expr:
    """An elementwise operation on parts of its operands."""
    t = e.type.with_lanes(lanes)
    if isinstance(e, Cast):
        return Cast(t, part(e.a))
    if isinstance(e, Reinterpret):
        return Reinterpret(t, part(e.a))
    if isinstance(e, Load):
        mask = None if e.predicate is None else part(e.predicate)
        return Load(t, e.buffer, part(e.index), mask)
    if isinstance(e, Intrinsic):
        return Intrinsic(t, e.op, tuple([part(a) for a in e.args]))
    return e.map(part)


def _allowed(period: int, lanes: int) -> int:
    fits = 1 < period <= MOST_PHASES and lanes % period == 0 and lanes > period
    return period if fits else 1


def _is_elementwise(e: Expr) -> bool:
    """Whether each lane of the vector `e` is made of the same lane of its operands."""
    if isinstance(e, Intrinsic):
        lanes = e.type.count
        return INTRINSICS[e.op].pure and all(a.type.count == lanes for a in e.args)
    return isinstance(e, (_Binary, Cast, Reinterpret, Not, Select, Load))


__all__ = ["interleave_phases"]
