"""Arithmetic on symbolic intervals: pairs of expressions, folded and kept small.

Integer bounds go through linear forms, so that ``(x + 8) - x`` is 8 and the lesser of
``x`` and ``x + 1`` is ``x``. Where neither of two bounds is known to be the lesser, a
`Min` is made.
"""

from __future__ import annotations

from typing import NamedTuple

from parhelion.analysis.interval import Interval, constant_interval
from parhelion.analysis.linear import Linear, build, linear
from parhelion.ir.build import cast as build_cast
from parhelion.ir.build import imm
from parhelion.ir.expr import Broadcast, Cast, Expr, FloatImm, Imm, Max, Min, Mul, Sub
from parhelion.ir.scalars import binary, cast_value
from parhelion.types import Type


class SymInterval(NamedTuple):
    """Inclusive bounds as scalar expressions; None is unbounded."""

    lo: Expr | None
    hi: Expr | None

    @property
    def is_point(self) -> bool:
        return self.lo is self.hi and self.lo is not None

    @property
    def bounded(self) -> bool:
        return self.lo is not None and self.hi is not None


EVERYTHING = SymInterval(None, None)

_TYPE_RANGE: dict[Type, SymInterval] = {}


def type_range(t: Type) -> SymInterval:
    """What any value of a type lies between: bounded up to 16 bits, never negative if
    unsigned, otherwise unbounded."""
    found = _TYPE_RANGE.get(t)
    if found is None:
        s = t.element_of()
        if t.is_int_or_uint() and t.width <= 16:
            found = SymInterval(imm(t.lowest(), s), imm(t.highest(), s))
        elif t.is_uint():
            found = SymInterval(imm(0, s), None)
        else:
            found = EVERYTHING
        _TYPE_RANGE[t] = found
    return found


def point(e: Expr) -> SymInterval:
    return SymInterval(e, e)


def constants(i: SymInterval) -> Interval:
    """Numbers that enclose the interval, wherever its symbols are in scope."""
    return Interval(
        None if i.lo is None else constant_interval(i.lo).lo,
        None if i.hi is None else constant_interval(i.hi).hi,
    )


def number(e: Expr | None) -> int | float | None:
    """The value of a constant, else None."""
    if type(e) is Imm or type(e) is FloatImm:
        return e.value
    return None


def is_index(t: Type) -> bool:
    """Whether arithmetic of `t` is taken not to overflow."""
    return t.is_int() and t.width >= 32


def plus(a: Expr, b: Expr, k: int = 1) -> Expr:
    """a + k*b of integers that do not overflow."""
    return build(linear(a).plus(linear(b), k), a.type)


def shifted(a: Expr, k: int) -> Expr:
    """a + k of an integer that does not overflow."""
    return build(linear(a).shifted(k), a.type) if k else a


def negated(a: Expr) -> Expr:
    if a.type.is_float():
        value = number(a)
        return imm(-value, a.type) if value is not None else Sub(imm(-0.0, a.type), a)
    return build(linear(a).scaled(-1), a.type)


def times(a: Expr, b: Expr) -> Expr:
    """The product of integers that do not overflow."""
    for x, y in ((a, b), (b, a)):
        if type(y) is Imm:
            return build(linear(x).scaled(y.value), a.type)
    return Mul(a, b)


def fold(kind: type[Expr], a: Expr, b: Expr) -> Expr:
    """A binary node, or the constant that it is."""
    x, y = number(a), number(b)
    if x is not None and y is not None:
        return imm(binary(kind, a.type, x, y), a.type)
    return kind(a, b)  # type: ignore[call-arg]


def converted(to: Type, a: Expr) -> Expr:
    """A cast that keeps its argument's order, folded."""
    value = number(a)
    if value is not None:
        return imm(cast_value(value, to), to)
    if type(a) is Cast and a.a.type is to and a.type.is_int_or_uint():
        # There and back again, if nothing was lost on the way.
        through, c = a.type, constant_interval(a.a)
        if to.is_int_or_uint() and (
            through.width >= to.width or fits(through, c.lo, c.hi)
        ):
            return a.a
    return build_cast(to, a)


def order(a: Expr, b: Expr) -> int:
    """-1 if a <= b is certain, 1 if b <= a is, else 0."""
    if a is b:
        return -1
    x, y = number(a), number(b)
    if x is not None and y is not None:
        return -1 if x <= y else 1 if y <= x else 0
    if a.type.is_int_or_uint():
        d = (linear(a) - linear(b)).interval()
        if d.hi is not None and d.hi <= 0:
            return -1
        if d.lo is not None and d.lo >= 0:
            return 1
        return -1 if _at_most(a, b, 3) else 1 if _at_most(b, a, 3) else 0
    return 0


def _at_most(a: Expr, b: Expr, depth: int, k: int = 0) -> bool:
    """Whether a <= b + k follows from the operands of Min and Max."""
    p, q = linear(a), linear(b)
    gap = (q - p).interval().lo
    if gap is not None and gap + k >= 0:
        return True
    if depth == 0:
        return False
    (a, m), (b, n) = _apart(a, p), _apart(b, q)
    k, d = k + n - m, depth - 1
    if type(a) is type(b) and (type(a) is Min or type(a) is Max):
        # As of two coordinates that are clamped alike.
        if _at_most(a.a, b.a, d, k) and _at_most(a.b, b.b, d, k):  # type: ignore[attr-defined]
            return True
    if type(a) is Max:
        return _at_most(a.a, b, d, k) and _at_most(a.b, b, d, k)
    if type(b) is Min:
        return _at_most(a, b.a, d, k) and _at_most(a, b.b, d, k)
    if type(a) is Min and (_at_most(a.a, b, d, k) or _at_most(a.b, b, d, k)):
        return True
    return type(b) is Max and (_at_most(a, b.a, d, k) or _at_most(a, b.b, d, k))


def _apart(e: Expr, form: Linear) -> tuple[Expr, int]:
    """An expression as another one and a constant."""
    if form.const and len(form.terms) == 1:
        ((atom, factor),) = form.terms.items()
        if factor == 1:
            return atom, form.const
    return e, 0


def least(a: Expr, b: Expr) -> Expr:
    """The lesser of two bounds."""
    return _extreme(Min, a, b, -1)


def greatest(a: Expr, b: Expr) -> Expr:
    """The greater of two bounds."""
    return _extreme(Max, a, b, 1)


#: With more operands than this, a Min or Max is not searched for redundant ones.
_MANY = 8


def _extreme(kind: type[Min] | type[Max], a: Expr, b: Expr, sign: int) -> Expr:
    known = order(a, b)
    if known:
        return a if known == sign else b
    if a.type.is_float():
        return kind(a, b)
    other = Max if kind is Min else Min
    for x, y in ((a, b), (b, a)):
        # min(x, max(x, z)) is x.
        if type(y) is other and (x is y.a or x is y.b):
            return x
    kept = _operands(kind, a)
    if len(kept) > _MANY:
        return kind(a, b)
    for new in _operands(kind, b):
        dominated = False
        survivors: list[Expr] = []
        for old in kept:
            known = order(old, new)
            if known == sign:
                dominated = True
            if known != -sign:
                survivors.append(old)
        if not dominated:
            survivors.append(new)
            kept = survivors
    # The constant comes last, as the simplifier wants it.
    kept.sort(key=_is_constant)
    out = kept[0]
    for e in kept[1:]:
        out = kind(out, e)
    return out


def _is_constant(e: Expr) -> bool:
    return type(e) is Imm


def _operands(kind: type[Min] | type[Max], e: Expr) -> list[Expr]:
    out: list[Expr] = []
    stack = [e]
    while stack:
        n = stack.pop()
        if type(n) is kind:
            stack.append(n.b)
            stack.append(n.a)
        else:
            out.append(n)
    return out


def join(a: SymInterval, b: SymInterval) -> SymInterval:
    """The smallest interval around both."""
    return SymInterval(
        None if a.lo is None or b.lo is None else least(a.lo, b.lo),
        None if a.hi is None or b.hi is None else greatest(a.hi, b.hi),
    )


def meet(a: SymInterval, b: SymInterval) -> SymInterval:
    """What lies in both; the bounds may cross where nothing does."""
    lo = b.lo if a.lo is None else a.lo
    if a.lo is not None and b.lo is not None:
        lo = greatest(a.lo, b.lo)
    hi = b.hi if a.hi is None else a.hi
    if a.hi is not None and b.hi is not None:
        hi = least(a.hi, b.hi)
    return SymInterval(lo, hi)


def is_empty(i: SymInterval) -> bool:
    """Whether the bounds certainly cross."""
    if i.lo is None or i.hi is None or i.lo is i.hi:
        return False
    if i.lo.type.is_float():
        x, y = number(i.lo), number(i.hi)
        return x is not None and y is not None and x > y
    least_gap = (linear(i.lo) - linear(i.hi)).interval().lo
    return least_gap is not None and least_gap > 0


def fits(t: Type, lo: int | float | None, hi: int | float | None) -> bool:
    """Whether all of a constant interval is known to lie in an integer type."""
    return lo is not None and hi is not None and t.lowest() <= lo and hi <= t.highest()


def may_hold(t: Type, exact: Interval) -> bool:
    """Whether an operation of integer type `t` keeps results that lie in `exact`: all
    must fit. Index types are taken not to overflow unless a number says so."""
    lo, hi = exact
    if is_index(t):
        return (lo is None or lo >= t.lowest()) and (hi is None or hi <= t.highest())
    return fits(t, lo, hi)


def scalar(e: Expr) -> Expr:
    """A broadcast's value, or the expression itself."""
    while type(e) is Broadcast:
        e = e.value
    return e


__all__ = [
    "EVERYTHING",
    "SymInterval",
    "constants",
    "converted",
    "fits",
    "fold",
    "greatest",
    "is_empty",
    "is_index",
    "join",
    "least",
    "may_hold",
    "meet",
    "negated",
    "number",
    "order",
    "plus",
    "point",
    "scalar",
    "shifted",
    "times",
    "type_range",
]
