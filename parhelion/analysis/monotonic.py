"""How an expression moves when one Var grows: the step per unit, and its direction.

`slope(e, v)` bounds ``e(v + 1) - e(v)`` by constants, for any v; `monotonic` is its
sign. Only the sign is kept through floats (rounding preserves order and nothing else).
Lets are looked through. As in `interval`, index arithmetic does not overflow. Of floats
that are NaN nothing is said, but what is made of one (a comparison, an integer chosen
by it) moves as told.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from parhelion.analysis.interval import (
    FULL,
    Interval,
    add_intervals,
    constant_interval,
    fits,
    never_nan,
    scale_interval,
    tame,
)
from parhelion.analysis.linear import Linear, linear
from parhelion.analysis.rank import reads_data
from parhelion.ir import expr as E
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr, Var
from parhelion.ir.intrinsics import FUSED, MARKS
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.types import Type


class Monotonic(enum.Enum):
    """The direction of an expression as a Var grows, not strictly."""

    CONSTANT = "constant"
    INCREASING = "increasing"
    DECREASING = "decreasing"
    UNKNOWN = "unknown"


def monotonic(e: Expr, v: Var) -> Monotonic:
    """How `e` moves when `v` grows and every other Var stays."""
    step = slope(e, v)
    if step == _STILL:
        return Monotonic.CONSTANT
    if step.lo is not None and step.lo >= 0:
        return Monotonic.INCREASING
    if step.hi is not None and step.hi <= 0:
        return Monotonic.DECREASING
    return Monotonic.UNKNOWN


def slope(e: Expr, v: Var) -> Interval:
    """Bounds of what `e` changes by when `v` grows by one; None where unknown."""
    return _Slopes(v).of(e)


_STILL = Interval(0, 0)
_UP, _DOWN = Interval(0, None), Interval(None, 0)


def _direction(step: Interval) -> Interval:
    """Only the sign of a step."""
    if step == _STILL:
        return step
    if step.lo is not None and step.lo >= 0:
        return _UP
    return _DOWN if step.hi is not None and step.hi <= 0 else FULL


def _times_sign(step: Interval, by: Interval) -> Interval:
    """The direction of something that moves by `step`, times a constant in `by`."""
    if step == _STILL:
        return step
    if by.lo is not None and by.lo >= 0:
        return _direction(step)
    if by.hi is not None and by.hi <= 0:
        return _direction(scale_interval(step, -1))
    return FULL


class _Slopes:
    """Slopes in one Var, memoised."""

    def __init__(self, v: Var) -> None:
        self.v = v
        self.memo: dict[Expr, Interval] = {v: Interval(1, 1)}

    def of(self, e: Expr) -> Interval:
        found = self.memo.get(e)
        if found is None:
            found = self.memo[e] = self._find(e)
        return found

    def _find(self, e: Expr) -> Interval:
        if type(e) is Var:
            return _STILL if e.value is None else self.of(e.value)
        if not any([self._moves(u) for u in free_vars(e)]):
            return FULL if _changes_by_itself(e) else _STILL
        t = e.type
        if t.count == 1 and t.is_int_or_uint() and type(e) in (E.Add, E.Sub, E.Mul):
            form = linear(e)
            if e not in form.terms:
                total = _STILL
                for atom, k in form.terms.items():
                    total = add_intervals(total, scale_interval(self.of(atom), k))
                return total
        handler = _HANDLERS.get(type(e))
        made = FULL if handler is None else handler(self, e)
        return _direction(made) if t.is_float() else made

    def _moves(self, u: Var) -> bool:
        return u is self.v or (u.value is not None and self.of(u.value) != _STILL)

    def _add(self, e: E.Add) -> Interval:
        return self._exact(e, add_intervals(self.of(e.a), self.of(e.b)))

    def _sub(self, e: E.Sub) -> Interval:
        back = scale_interval(self.of(e.b), -1)
        return self._exact(e, add_intervals(self.of(e.a), back))

    def _exact(self, e: Expr, step: Interval) -> Interval:
        return step if e.type.is_float() or tame(e) else FULL

    def _mul(self, e: E.Mul) -> Interval:
        return self._exact(e, self._product(e.a, e.b))

    def _product(self, a: Expr, b: Expr) -> Interval:
        p, q = self.of(a), self.of(b)
        x, y = constant_interval(a), constant_interval(b)
        if q == _STILL:
            k = y.single()
            if isinstance(k, int) and not a.type.is_float():
                return scale_interval(p, k)
            return _times_sign(p, y)
        if p == _STILL:
            return _times_sign(q, x)
        # Each moves by itself while the other stands.
        return _direction(add_intervals(_times_sign(p, y), _times_sign(q, x)))

    def _fused(self, e: E.Intrinsic) -> Interval:
        a, b, c = e.args
        product, other = self._product(a, b), self.of(c)
        if e.op == "mul_sub":
            other = scale_interval(other, -1)
        elif e.op == "sub_mul":
            product = scale_interval(product, -1)
        return _direction(add_intervals(product, other))

    def _div(self, e: E.Div) -> Interval:
        p, q = self.of(e.a), self.of(e.b)
        x, y = constant_interval(e.a), constant_interval(e.b)
        if q != _STILL:
            one_sign = (y.lo is not None and y.lo > 0) or (
                y.hi is not None and y.hi < 0
            )
            if p != _STILL or not one_sign:
                return FULL
            return scale_interval(_times_sign(q, x), -1)
        d = y.single()
        if e.type.is_float():
            one_sign = (y.lo is not None and y.lo > 0) or (
                y.hi is not None and y.hi < 0
            )
            return _times_sign(p, y) if one_sign else FULL
        if not tame(e.a):
            return FULL
        if d is None or d == 0:
            return _times_sign(p, y)
        step = int(abs(d))
        made = Interval(
            None if p.lo is None else int(p.lo) // step,
            None if p.hi is None else -(-int(p.hi) // step),
        )
        return made if d > 0 else scale_interval(made, -1)

    def _mod(self, e: E.Mod) -> Interval:
        x, y = constant_interval(e.a), constant_interval(e.b)
        inside = x.lo is not None and x.lo >= 0 and None not in (x.hi, y.lo)
        if inside and x.hi < y.lo and not e.type.is_float():  # type: ignore[operator]
            return self.of(e.a)
        return FULL

    def _min_max(self, e: E.Min | E.Max) -> Interval:
        return self.of(e.a).union(self.of(e.b))

    def _select(self, e: E.Select) -> Interval:
        a, b = self.of(e.a), self.of(e.b)
        turn = self.of(e.cond)
        if turn == _STILL:
            return a.union(b)
        if turn == FULL or not e.type.is_int_or_uint() or e.type.count > 1:
            return FULL
        # The condition turns over once: from one side to the other.
        first, then = (e.b, e.a) if turn == _UP else (e.a, e.b)
        gap = _gap(linear(then) - linear(first), e.cond, first is e.a)
        if gap.lo is not None and gap.lo >= 0:
            return _UP if _direction(a.union(b)) in (_UP, _STILL) else FULL
        if gap.hi is not None and gap.hi <= 0:
            return _DOWN if _direction(a.union(b)) in (_DOWN, _STILL) else FULL
        return FULL

    def _less(self, e: E.LT | E.LE) -> Interval:
        if e.a.type.is_int_or_uint() and e.a.type.count == 1:
            step = _STILL
            for atom, k in (linear(e.b) - linear(e.a)).terms.items():
                step = add_intervals(step, scale_interval(self.of(atom), k))
            return _direction(step)
        back = scale_interval(self.of(e.a), -1)
        step = _direction(add_intervals(self.of(e.b), back))
        if e.a.type.is_float() and not (never_nan(e.a) and never_nan(e.b)):
            # What grows may begin as NaN, for which it does not hold either.
            return step if step == _STILL else FULL
        return step

    def _and_or(self, e: E.And | E.Or) -> Interval:
        return _direction(self.of(e.a).union(self.of(e.b)))

    def _not(self, e: E.Not) -> Interval:
        return scale_interval(_direction(self.of(e.a)), -1)

    def _cast(self, e: E.Cast) -> Interval:
        step, t, source = self.of(e.a), e.type, e.a.type
        if t.is_float() or t.is_bool():
            return _direction(step) if t.is_float() else FULL
        known = constant_interval(e.a)
        if source.is_float():
            # Out of range is unspecified.
            if known.lo is None or known.hi is None:
                return FULL
            return _direction(step) if _holds(t, known) else FULL
        if not source.is_int_or_uint():
            return FULL
        if t.can_represent(source) or _holds(t, known):
            return step
        return step if t.is_int() and t.width >= 32 and tame(e.a) else FULL

    def _let(self, e: E.Let) -> Interval:
        return self.of(substitute(e.body, {e.var: e.value}))

    def _broadcast(self, e: E.Broadcast) -> Interval:
        return self.of(e.value)

    def _ramp(self, e: E.Ramp) -> Interval:
        last = E.Mul(e.stride, imm(e.lanes - 1, e.stride.type))
        return self.of(e.base).union(self.of(E.Add(e.base, last)))

    def _shuffle(self, e: E.Shuffle) -> Interval:
        step = self.of(e.vectors[0])
        for vector in e.vectors[1:]:
            step = step.union(self.of(vector))
        return step

    def _intrinsic(self, e: E.Intrinsic) -> Interval:
        op, args = e.op, e.args
        if op in _SAME:
            return self.of(args[0])
        if op in _GROWING:
            return _direction(self.of(args[0]))
        if op in _GROWING_IN_BOTH:
            return _direction(add_intervals(self.of(args[0]), self.of(args[1])))
        if op in _DIFFERENCES:
            back = scale_interval(self.of(args[1]), -1)
            return _direction(add_intervals(self.of(args[0]), back))
        if op == "widening_mul":
            return self._product(*args)
        if op in FUSED:
            return self._fused(e)
        if op == "bit_not":
            return scale_interval(self.of(args[0]), -1)
        if op == "abs":
            return _times_sign(self.of(args[0]), constant_interval(args[0]))
        if op in ("shift_left", "shift_right"):
            k = constant_interval(args[1]).single()
            if k is None or not 0 <= k < e.type.width - 1:
                return FULL
            by = imm(1 << int(k), e.type)
            left = op == "shift_left"
            return self.of(E.Mul(args[0], by) if left else E.Div(args[0], by))
        return FULL


#: Operations that have the value of their argument.
_SAME = MARKS | {"strict_float"}
_GROWING = frozenset(("floor", "ceil", "round", "trunc", "sqrt", "saturating_cast"))
_GROWING_IN_BOTH = frozenset(
    ("widening_add", "halving_add", "rounding_halving_add", "saturating_add")
)
_DIFFERENCES = frozenset(("widening_sub", "saturating_sub"))


def _holds(t: Type, known: Interval) -> bool:
    return known.lo is not None and known.hi is not None and fits(t, *known)


def _gap(form: Linear, cond: Expr, holds: bool) -> Interval:
    """Bounds of `form` where a comparison holds, or does not: that tells something if
    both differ by a constant, as in ``select(x < n, x, n)``."""
    gap = form.interval()
    if type(cond) is not E.LT and type(cond) is not E.LE:
        return gap
    if not cond.a.type.is_int_or_uint() or cond.a.type.count > 1:
        return gap
    strict = type(cond) is E.LT
    known = linear(cond.b) - linear(cond.a)  # At least 0, or 1 if strict.
    known = known.shifted(-int(strict)) if holds else known.scaled(-1)
    if not holds:
        known = known.shifted(-int(not strict))
    rest, opposite = form - known, form + known
    if rest.is_const():
        gap = gap.intersect(Interval(rest.const, None))
    if opposite.is_const():
        gap = gap.intersect(Interval(None, opposite.const))
    return gap


def _changes_by_itself(e: Expr) -> bool:
    """Whether `e` may have another value later: it reads memory that is written."""
    for n in nodes(e) if reads_data(e) else ():
        if type(n) is E.FuncCall or type(n) is E.Extern:
            return True
        if type(n) is E.Load and n.buffer.role != "input":
            return True
    return False


_HANDLERS: dict[type[Expr], Callable[[_Slopes, Any], Interval]] = {
    E.Add: _Slopes._add,
    E.Sub: _Slopes._sub,
    E.Mul: _Slopes._mul,
    E.Div: _Slopes._div,
    E.Mod: _Slopes._mod,
    E.Min: _Slopes._min_max,
    E.Max: _Slopes._min_max,
    E.Select: _Slopes._select,
    E.LT: _Slopes._less,
    E.LE: _Slopes._less,
    E.And: _Slopes._and_or,
    E.Or: _Slopes._and_or,
    E.Not: _Slopes._not,
    E.Cast: _Slopes._cast,
    E.Let: _Slopes._let,
    E.Broadcast: _Slopes._broadcast,
    E.Ramp: _Slopes._ramp,
    E.Shuffle: _Slopes._shuffle,
    E.Intrinsic: _Slopes._intrinsic,
}

__all__ = ["Monotonic", "monotonic", "slope"]
