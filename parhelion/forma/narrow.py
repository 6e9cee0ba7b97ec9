"""Integers of fewer bits: what a stencil computes in int, in the fewest that hold it.

Arithmetic of Forma is done in int at least, and a vector has twice as many lanes of
half the width. What a value lies between is known from the types of what is read, and
from `min`, `max` and numbers: where an operation and its operands fit in fewer bits, it
is done in those, and gives the same number. Of sums, differences and products that are
wrapped to fewer bits, the operands may be, too.

A quotient of what is never negative needs no correction towards zero, and half of a sum
of two numbers is one instruction. Coordinates are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from parhelion.analysis.interval import constant_interval, fits
from parhelion.analysis.ranges import Interval
from parhelion.analysis.rank import reads_data
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Imm, Intrinsic
from parhelion.types import Int, Type, UInt

#: The types that a value may have instead, the best first. Products and sums of bytes
#: are no faster than those of 16 bits, so these are of the last two.
_BYTES = (UInt(8), Int(8))
_WORDS = (Int(16), UInt(16))
_MODULAR: dict[type[Expr], Callable[[Expr, Expr], Expr]] = {
    E.Add: build.add,
    E.Sub: build.sub,
    E.Mul: build.mul,
}
_CHOICES: dict[type[Expr], Callable[[Expr, Expr], Expr]] = {
    E.Min: build.minimum,
    E.Max: build.maximum,
}
_COMPARISONS: dict[type[Expr], Callable[[Expr, Expr], Expr]] = {
    E.LT: build.lt,
    E.LE: build.le,
    E.EQ: build.eq,
    E.NE: build.ne,
}
_CUT = {"div_round_to_zero": build.div, "mod_round_to_zero": build.mod}


def type_for(e: Expr) -> Type:
    """The type of the fewest bits that holds an expression's value: its own, if that is
    no integer."""
    if not e.type.is_int_or_uint():
        return e.type
    return _fitting((*_BYTES, *_WORDS), e.type, constant_interval(e)) or e.type


def _fitting(
    types: Iterable[Type], own: Type, *values: Interval, same: bool = False
) -> Type | None:
    """The first type of fewer bits than `own`, or of as many if `same`, that holds all
    of some intervals."""
    for one in types:
        if one.width < own.width or (same and one.width == own.width):
            if all([_holds(one, known) for known in values]):
                return one
    return None


def _holds(t: Type, known: Interval) -> bool:
    return (
        known.lo is not None
        and known.hi is not None
        and fits(t, int(known.lo), int(known.hi))
    )


def between(e: Expr, known: Interval) -> Expr:
    """An integer expression with a mark of what its value lies between, where its type
    says less; an end that is not known is that of the type. `Narrower` removes such
    marks."""
    if not e.type.is_int_or_uint() or known == constant_interval(e):
        return e
    lo = e.type.lowest() if known.lo is None else known.lo
    hi = e.type.highest() if known.hi is None else known.hi
    ends = [build.imm(int(one), e.type) for one in (lo, hi)]
    return Intrinsic(e.type, "known_clamped", (e, *ends))


class Narrower:
    """Rewrites expressions of one program. All have the values that they had."""

    def __init__(self) -> None:
        self._same: dict[Expr, Expr] = {}
        self._exact: dict[Expr, Expr] = {}
        self._low: dict[tuple[Expr, Type], Expr] = {}

    def of(self, e: Expr, to: Type) -> Expr:
        """An expression in a type that holds its value."""
        if e.type.is_int_or_uint() and reads_data(e):
            return _converted(self.exact(e), to)
        return build.cast(to, self.same(e))

    def same(self, e: Expr) -> Expr:
        """An expression of the same type, what it is made of in fewer bits."""
        if not reads_data(e) or isinstance(e, E.FuncCall | E.ImageLoad):
            return e
        found = self._same.get(e)
        if found is None:
            found = self._same[e] = self._rewritten(e)
        return found

    def _rewritten(self, e: Expr) -> Expr:
        if e.type.is_int_or_uint():
            return _converted(self.exact(e), e.type)
        if type(e) in _COMPARISONS and e.a.type.is_int_or_uint():  # type: ignore[attr-defined]
            a, b = e.a, e.b  # type: ignore[attr-defined]
            known = constant_interval(a), constant_interval(b)
            t = _fitting((*_BYTES, *_WORDS), a.type, *known) or a.type
            return _COMPARISONS[type(e)](self.of(a, t), self.of(b, t))
        return e.map(self.same)

    def exact(self, e: Expr) -> Expr:
        """An integer expression of the same value, in fewer bits if it fits there."""
        if not reads_data(e) or isinstance(e, E.FuncCall | E.ImageLoad):
            return e
        found = self._exact.get(e)
        if found is None:
            found = self._exact[e] = self._narrow(e)
        return found

    def _narrow(self, e: Expr) -> Expr:
        known, kind = constant_interval(e), type(e)
        if kind in _MODULAR:
            t = _fitting(_WORDS, e.type, known) or e.type
            return _MODULAR[kind](self.low(e.a, t), self.low(e.b, t))  # type: ignore[attr-defined]
        if kind in _CHOICES:
            a, b = e.a, e.b  # type: ignore[attr-defined]
            ranges = constant_interval(a), constant_interval(b)
            t = _fitting((*_BYTES, *_WORDS), e.type, *ranges) or e.type
            return _CHOICES[kind](self.of(a, t), self.of(b, t))
        if isinstance(e, E.Select):
            t = _fitting((*_BYTES, *_WORDS), e.type, known) or e.type
            return build.select(self.same(e.cond), self.of(e.a, t), self.of(e.b, t))
        if isinstance(e, E.Cast):
            return self._cast(e)
        if isinstance(e, Intrinsic):
            return self._intrinsic(e)
        return e.map(self.same)

    def _cast(self, e: E.Cast) -> Expr:
        a = e.a
        if not a.type.is_int_or_uint():
            return build.cast(e.type, self.same(a))
        if _holds(e.type, constant_interval(a)):
            return self.exact(a)
        return self.low(a, e.type)

    def _intrinsic(self, e: Intrinsic) -> Expr:
        if e.op == "likely" and len(e.args) == 1:
            return build.likely(self.exact(e.args[0]))
        if e.op == "known_clamped":
            return self.exact(e.args[0])
        if e.op in _CUT:
            return self._quotient(e)
        if e.op == "abs":
            return self._distance(e.args[0]) or self._magnitude(e)
        return e.map(self.same)

    def _quotient(self, e: Intrinsic) -> Expr:
        """A quotient or a remainder, cut towards zero."""
        a, b = e.args
        above, below = constant_interval(a), constant_interval(b)
        half = self._half(e) if e.op == "div_round_to_zero" else None
        if half is not None:
            return half
        t = _fitting(_WORDS, e.type, above, below, constant_interval(e)) or e.type
        a, b = self.of(a, t), self.of(b, t)
        if above.lo is not None and above.lo >= 0:
            if below.lo is not None and below.lo > 0:
                return _CUT[e.op](a, b)  # what is not negative is cut either way
        return Intrinsic(t, e.op, (a, b))

    def _half(self, e: Intrinsic) -> Expr | None:
        """Half of a sum of two numbers, and of one more."""
        total, two = e.args
        known = constant_interval(total)
        if not build.is_const(two, 2) or known.lo is None or known.lo < 0:
            return None
        waiting, one = [total], 0
        addends: list[Expr] = []
        while waiting and len(addends) < 3:
            term = waiting.pop()
            if isinstance(term, E.Add):
                waiting += [term.a, term.b]
            elif isinstance(term, Imm):
                one += term.value
            else:
                addends.append(term)
        if len(addends) != 2 or one not in (0, 1):
            return None
        ranges = [constant_interval(a) for a in addends]
        t = _fitting((UInt(8), UInt(16)), e.type, *ranges)
        if t is None:
            return None
        op = "rounding_halving_add" if one else "halving_add"
        return Intrinsic(t, op, tuple([self.of(a, t) for a in addends]))

    def _distance(self, e: Expr) -> Expr | None:
        """How far two numbers are apart."""
        if not isinstance(e, E.Sub):
            return None
        ranges = constant_interval(e.a), constant_interval(e.b)
        t = _fitting((*_BYTES, *_WORDS), e.type, *ranges)
        if t is None:
            return None
        a, b = self.of(e.a, t), self.of(e.b, t)
        return Intrinsic(UInt(t.width), "absd", (a, b))

    def _magnitude(self, e: Intrinsic) -> Expr:
        a = e.args[0]
        t = _fitting((Int(16),), a.type, constant_interval(a)) or a.type
        return Intrinsic(UInt(t.width), "abs", (self.of(a, t),))

    def low(self, e: Expr, t: Type) -> Expr:
        """The lowest bits of an integer expression, as a type of no more bits."""
        if not reads_data(e):
            return build.cast(t, e)
        key = (e, t)
        found = self._low.get(key)
        if found is None:
            found = self._low[key] = self._lowest(e, t)
        return found

    def _lowest(self, e: Expr, t: Type) -> Expr:
        kind = type(e)
        if kind in _MODULAR and e.type.width > t.width:
            return _MODULAR[kind](self.low(e.a, t), self.low(e.b, t))  # type: ignore[attr-defined]
        if isinstance(e, E.Select) and e.type.width > t.width:
            return build.select(self.same(e.cond), self.low(e.a, t), self.low(e.b, t))
        if isinstance(e, E.Cast) and e.type.width >= t.width:
            if e.a.type.is_int_or_uint() and e.a.type.width >= t.width:
                return self.low(e.a, t)
        if isinstance(e, Intrinsic) and e.op == "known_clamped":
            return self.low(e.args[0], t)
        return _converted(self.exact(e), t)


def _converted(e: Expr, to: Type) -> Expr:
    """An integer in another type, without steps between that keep the value."""
    while (
        isinstance(e, E.Cast)
        and e.a.type.is_int_or_uint()
        and e.type.can_represent(e.a.type)
    ):
        e = e.a
    return build.cast(to, e)


def widest(values: Iterable[Expr], least: int) -> int:
    """The bits of the widest numbers that values are computed in, or `least`. What they
    read of other domains counts as what is read."""
    found, seen = least, set()
    waiting = [e for e in values if reads_data(e)]
    while waiting:
        e = waiting.pop()
        if e in seen:
            continue
        seen.add(e)
        found = max(found, e.type.width)
        if not isinstance(e, E.FuncCall | E.ImageLoad):
            waiting += [
                c for c in e.children() if isinstance(c, Expr) and reads_data(c)
            ]
    return found


__all__ = ["Narrower", "between", "type_for", "widest"]
