"""Solving a condition for a loop variable: an interval in which it surely holds.

Conditions are comparisons of integers, and their conjunctions, disjunctions and
negations. A comparison is the question whether a linear form is at least 0. Loops
inside the loop in question run through: their variables are replaced by the end that
makes the form least. Min, Max and Select in the form split the question; a division
by a constant is inverted; what is left has the loop variable alone:

    4*v + x - 3 >= 0 for all x in [a, b]   ->   v >= -((a - 3) / 4)

A vector comparison has to hold in all lanes, so its lanes' least value decides.
"""

from __future__ import annotations

from dataclasses import replace

from parhelion.analysis.linear import Linear, build, difference, linear
from parhelion.analysis.rank import is_small
from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    add,
    conjunction,
    div,
    int32,
    le,
    lor,
    maximum,
    minimum,
    select,
    sub,
)
from parhelion.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    And,
    Broadcast,
    Div,
    Expr,
    Imm,
    Intrinsic,
    Let,
    Load,
    Max,
    Min,
    Mod,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from parhelion.ir.intrinsics import INTRINSICS, MARKS
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.ir.stmt import For
from parhelion.lower.lanes import binary, lane_bounds
from parhelion.types import INT32

#: How many questions one condition may become before it is given up.
_FUEL = 48
_LOW, _HIGH = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Bound:
    """An inclusive bound. exact: beyond it the condition is surely false.

    Of two bounds on one side with the same `family`, that of less `slack` is tighter.
    """

    at: Expr
    exact: bool
    family: object = None
    slack: int = 0

    @property
    def kind(self) -> object:
        return self.at if self.family is None else self.family


@dataclass(frozen=True, slots=True)
class Solution:
    """The condition holds wherever the variable keeps all bounds and the guards,
    which do not depend on it, hold."""

    lows: tuple[Bound, ...] = ()
    highs: tuple[Bound, ...] = ()
    guards: tuple[Expr, ...] = ()

    @property
    def everywhere(self) -> bool:
        return not (self.lows or self.highs or self.guards)

    @property
    def bounded(self) -> bool:
        return bool(self.lows or self.highs)


EVERYWHERE = Solution()


class Solver:
    """Solves conditions of the body of `loop` for its variable.

    Tell it of the loops and lets on the way to the condition, from the outside in.
    """

    def __init__(self, loop: For) -> None:
        self.loop = loop
        self.last = sub(add(loop.min, loop.extent), int32(1))
        self.inner: dict[Var, tuple[Expr, Expr]] = {}
        self.varying: set[Var] = {loop.var}
        #: The lets, what each is in terms of what is not let (found when it is asked
        #: for), and the Vars that it comes down to.
        self.lets: dict[Var, Expr] = {}
        self._whole: dict[Var, Expr] = {}
        self._told: dict[Var, frozenset[Var]] = {}
        #: Whether conditions that mention an expression have no solution.
        self._opaque: dict[Expr, bool] = {}
        self._fuel = 0

    def enter(self, inner: For) -> None:
        """A loop inside, through which conditions must hold."""
        low = self.resolve(inner.min)
        last = sub(add(low, self.resolve(inner.extent)), int32(1))
        self.inner[inner.var] = low, last
        self.varying.add(inner.var)

    def let(self, var: Var, value: Expr) -> None:
        """A let inside the loop."""
        if var in self.lets:
            # Bound anew: what others mean by it stays.
            for one in self.lets:
                self._resolved(one)
            self._whole.pop(var)
            self._opaque.clear()
        told = self.told(value)
        self.lets[var], self._told[var] = value, told
        if not self.varying.isdisjoint(told):
            self.varying.add(var)

    def resolve(self, e: Expr) -> Expr:
        """`e` in terms of loop variables and what is defined outside the loop."""
        mine = {v: self._resolved(v) for v in free_vars(e) if v in self.lets}
        return substitute(e, mine)

    def _resolved(self, var: Var) -> Expr:
        found = self._whole.get(var)
        if found is None:
            found = self._whole[var] = self.resolve(self.lets[var])
        return found

    def told(self, e: Expr) -> frozenset[Var]:
        """The Vars of `e` when it is resolved."""
        free = free_vars(e)
        mine = [v for v in free if v in self.lets]
        return free.difference(mine).union(*[self._told[v] for v in mine])

    def _is_opaque(self, e: Expr) -> bool:
        """Whether a part of `e` may change inside the loop, or must not be repeated."""
        kind = type(e)
        if kind is Var:
            value = self._whole.get(e, self.lets.get(e))  # type: ignore[call-overload]
            return value is not None and self._is_opaque(value)
        found = self._opaque.get(e)
        if found is None:
            found = self._opaque[e] = (
                kind is Load
                or kind is Let
                or (kind is Intrinsic and not INTRINSICS[e.op].pure)  # type: ignore[attr-defined]
                or any([self._is_opaque(c) for c in e.children()])
            )
        return found

    def solve(self, cond: Expr, want: bool = True) -> Solution | None:
        """Where `cond` is `want` (in all lanes); None if that is not known."""
        if self._is_opaque(cond):
            return None
        cond = self.resolve(cond)
        if not is_small(cond):
            return None
        self._fuel = _FUEL
        return self._solve(cond, want)

    def _solve(self, c: Expr, want: bool) -> Solution | None:
        while isinstance(c, Intrinsic) and c.op in MARKS:
            c = c.args[0]
        if isinstance(c, Imm):
            return EVERYWHERE if (c.value == 1) is want else None
        if isinstance(c, Broadcast):
            return self._solve(c.value, want)
        if isinstance(c, Not):
            return self._solve(c.a, not want)
        if isinstance(c, (And, Or)):
            a, b = self._solve(c.a, want), self._solve(c.b, want)
            together = isinstance(c, And) is want
            return both(a, b) if together else self._either(a, b)
        if not isinstance(c, (LT, LE, EQ, NE)) or not _is_index(c.a):
            return None
        if isinstance(c, (EQ, NE)):
            if isinstance(c, EQ) is want:
                return both(self._at_least(c.a, c.b, 0), self._at_least(c.b, c.a, 0))
            return self._unequal(c.a, c.b)
        if want:
            return self._at_least(c.b, c.a, 1 if isinstance(c, LT) else 0)
        return self._at_least(c.a, c.b, 0 if isinstance(c, LT) else 1)

    def _at_least(self, a: Expr, b: Expr, margin: int) -> Solution | None:
        """Where ``a - b >= margin``."""
        if a.type.count == 1:
            return self._nonneg(difference(a, b).shifted(-margin), True)
        least, _ = lane_bounds(binary(Sub, a, b))
        if least is None:
            return None
        return self._nonneg(linear(least).shifted(-margin), False)

    def _unequal(self, a: Expr, b: Expr) -> Solution | None:
        """Where ``a != b``: above b or below it, whichever excludes less."""
        above, below = self._at_least(a, b, 1), self._at_least(b, a, 1)
        for one in (above, below):
            if one is None or one.guards:
                continue
            lows = [_offset(low.at, self.loop.min) for low in one.lows]
            highs = [_offset(self.last, high.at) for high in one.highs]
            if all(gap is not None and gap <= 1 for gap in (*lows, *highs)):
                return inexact(one)
        return None

    # Linear forms.

    def _nonneg(self, f: Linear, exact: bool) -> Solution | None:
        """Where `f` is at least 0."""
        self._fuel -= 1
        if self._fuel < 0:
            return None
        varying = [a for a in f.terms if not self.varying.isdisjoint(free_vars(a))]
        for atom in varying:
            if not isinstance(atom, Var):
                return self._open(f, atom, len(varying) == 1, exact)
        for var in reversed(self.inner):
            k = f.terms.get(var)
            if k is not None:
                end = self.inner[var][0 if k > 0 else 1]
                return self._nonneg(f.without(var).plus(linear(end), k), False)
        if varying and varying != [self.loop.var]:
            return None
        return self._bounds(f, exact)

    def _bounds(self, f: Linear, exact: bool) -> Solution | None:
        k = f.terms.get(self.loop.var, 0)
        rest = f.without(self.loop.var)
        if k == 0:
            known = rest.interval()
            if known.lo is not None and known.lo >= 0:
                return EVERYWHERE
            if known.hi is not None and known.hi < 0:
                return None
            return Solution(guards=(le(int32(0), build(rest, INT32)),))
        if rest.is_const():
            # Bounds beyond the type are no bounds, or leave nothing.
            limit = -(rest.const // k) if k > 0 else rest.const // -k
            if not _LOW <= limit <= _HIGH:
                return EVERYWHERE if (limit < _LOW) is (k > 0) else None
            at: Expr = int32(limit)
        elif k == 1:
            at = build(rest.scaled(-1), INT32)
        else:
            # v >= -(rest / k), or with a negative k: v <= rest / -k
            at = div(build(rest, INT32), int32(abs(k)))
            at = sub(int32(0), at) if k > 0 else at
        bound = Bound(at, exact, (frozenset(rest.terms.items()), k), rest.const)
        return Solution(lows=(bound,)) if k > 0 else Solution(highs=(bound,))

    def _open(self, f: Linear, atom: Expr, alone: bool, exact: bool) -> Solution | None:
        """Goes on with what stands inside a compound atom of `f`."""
        k = f.terms[atom]
        rest = f.without(atom)
        if isinstance(atom, (Min, Max)):
            a = self._nonneg(rest.plus(linear(atom.a), k), exact)
            b = self._nonneg(rest.plus(linear(atom.b), k), exact)
            together = isinstance(atom, Min) is (k > 0)
            return both(a, b) if together else self._either(a, b)
        if isinstance(atom, Select):
            a = self._nonneg(rest.plus(linear(atom.a), k), False)
            b = self._nonneg(rest.plus(linear(atom.b), k), False)
            return both(a, b)
        if isinstance(atom, Intrinsic) and atom.op in MARKS:
            return self._nonneg(rest.plus(linear(atom.args[0]), k), exact)
        if isinstance(atom, (Div, Mod)):
            d = atom.b
            if isinstance(d, Imm) and d.value > 0 and _is_index(atom):
                if isinstance(atom, Mod):
                    return self._nonneg(rest.shifted(min(0, k * (d.value - 1))), False)
                return self._divided(rest, k, linear(atom.a), d.value, alone, exact)
        return None

    def _divided(
        self, rest: Linear, k: int, inner: Linear, d: int, alone: bool, exact: bool
    ) -> Solution | None:
        """Where ``k * (inner / d) + rest >= 0``."""
        if not alone:
            # d * (inner / d) lies in [inner - (d - 1), inner].
            slack = -k * (d - 1) if k > 0 else 0
            return self._nonneg(rest.scaled(d).plus(inner, k).shifted(slack), False)
        # inner / d >= -(rest / k) is inner >= -d * (rest / k); with a negative k,
        # inner / d <= rest / -k is inner <= d * (rest / -k) + d - 1.
        q = linear(div(build(rest, INT32), int32(abs(k))))
        if k > 0:
            return self._nonneg(inner.plus(q, d), exact)
        return self._nonneg(q.scaled(d).plus(inner, -1).shifted(d - 1), exact)

    def _either(self, a: Solution | None, b: Solution | None) -> Solution | None:
        """Where at least one is sure to hold: an interval of that, perhaps not all."""
        if a is None or b is None:
            one = a or b
            return None if one is None else inexact(one)
        if a.everywhere or b.everywhere:
            return EVERYWHERE
        if not a.bounded or not b.bounded:
            if a.bounded:
                a, b = b, a
            if b.bounded:
                return self._unless(a, b)
            whole = [conjunction(s.guards) for s in (a, b)]
            return Solution(guards=(lor(*whole),))
        if not (a.guards or b.guards):
            if len(a.lows) == len(b.lows) == 1 and not (a.highs or b.highs):
                p, q = a.lows[0], b.lows[0]
                at = Bound(minimum(p.at, q.at), p.exact and q.exact)
                return Solution(lows=(at,))
            if len(a.highs) == len(b.highs) == 1 and not (a.lows or b.lows):
                p, q = a.highs[0], b.highs[0]
                at = Bound(maximum(p.at, q.at), p.exact and q.exact)
                return Solution(highs=(at,))
        return inexact(a)

    def _unless(self, free: Solution, bounds: Solution) -> Solution:
        """`bounds`, lifted where the guards of `free` hold."""
        lifted = conjunction(free.guards)
        return Solution(
            tuple([_lifted(lifted, self.loop.min, b) for b in bounds.lows]),
            tuple([_lifted(lifted, self.last, b) for b in bounds.highs]),
            tuple([lor(lifted, g) for g in bounds.guards]),
        )


def _lifted(free: Expr, end: Expr, bound: Bound) -> Bound:
    return Bound(select(free, end, bound.at), False)


def _is_index(e: Expr) -> bool:
    return e.type.is_int() and e.type.width == 32


def _offset(a: Expr, b: Expr) -> int | None:
    """``a - b`` if it is constant."""
    form = difference(a, b)
    return form.const if form.is_const() else None


def both(a: Solution | None, b: Solution | None) -> Solution | None:
    """Where both hold."""
    if a is None or b is None:
        return None
    return Solution(
        tuple(dict.fromkeys((*a.lows, *b.lows))),
        tuple(dict.fromkeys((*a.highs, *b.highs))),
        tuple(dict.fromkeys((*a.guards, *b.guards))),
    )


def inexact(s: Solution) -> Solution:
    """`s`, beyond whose bounds nothing is known."""
    return Solution(
        tuple([replace(b, exact=False) for b in s.lows]),
        tuple([replace(b, exact=False) for b in s.highs]),
        s.guards,
    )


__all__ = ["EVERYWHERE", "Bound", "Solution", "Solver", "both", "inexact"]
