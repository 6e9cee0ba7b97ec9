"""How intervals go through arithmetic: products, quotients, remainders and casts.

Functions here take the intervals of the operands, as scalars, and give that of the
result. Where an integer operation may wrap, it is all that its type can hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from parhelion.analysis.interval import FULL, Interval
from parhelion.analysis.linear import build, linear
from parhelion.analysis.modulus import alignment
from parhelion.analysis.symbolic import (
    EVERYTHING,
    SymInterval,
    constants,
    converted,
    fits,
    fold,
    greatest,
    is_index,
    least,
    negated,
    number,
    order,
    point,
    shifted,
    times,
    type_range,
)
from parhelion.ir import expr as E
from parhelion.ir.build import FALSE, TRUE, floor_mod, imm
from parhelion.ir.expr import Expr
from parhelion.ir.rewrite import nodes
from parhelion.types import Type


def combine(kind: type[Expr], a: Expr | None, b: Expr | None) -> Expr | None:
    """One bound of a float operation from one bound of each operand."""
    if a is None or b is None:
        return None
    out = fold(kind, a, b)
    value = number(out)
    return None if value is not None and not math.isfinite(value) else out


def constant_product(a: SymInterval, b: SymInterval) -> Interval:
    """Numbers around the product of two integer intervals."""
    c, d = constants(a), constants(b)
    if c.lo is None or c.hi is None or d.lo is None or d.hi is None:
        return FULL
    corners = (c.lo * d.lo, c.lo * d.hi, c.hi * d.lo, c.hi * d.hi)
    return Interval(min(corners), max(corners))


def sign_of(i: SymInterval) -> int:
    """1 if never negative, -1 if never positive, 0 if that is not known."""
    c = constants(i)
    if c.lo is not None and c.lo >= 0:
        return 1
    return -1 if c.hi is not None and c.hi <= 0 else 0


def flipped(i: SymInterval) -> SymInterval:
    return SymInterval(
        None if i.hi is None else negated(i.hi), None if i.lo is None else negated(i.lo)
    )


def product(a: SymInterval, b: SymInterval, t: Type) -> SymInterval:
    """a * b, for floats or integers whose product does not wrap."""

    def mul(x: Expr | None, y: Expr | None) -> Expr | None:
        if t.is_float():
            return combine(E.Mul, x, y)
        return None if x is None or y is None else times(x, y)

    if b.is_point:
        a, b = b, a
    sa, sb = sign_of(a), sign_of(b)
    if a.is_point and sa:
        low, high = mul(b.lo, a.lo), mul(b.hi, a.lo)
        return SymInterval(low, high) if sa > 0 else SymInterval(high, low)
    if sa and sb:
        # (nearest to zero, farthest from it)
        x, y = (a.lo, a.hi) if sa > 0 else (a.hi, a.lo)
        z, w = (b.lo, b.hi) if sb > 0 else (b.hi, b.lo)
        near, far = mul(x, z), mul(y, w)
        return SymInterval(near, far) if sa == sb else SymInterval(far, near)
    if sb:
        a, b, sa = b, a, sb
    if sa:
        low, high = (b.lo, b.hi) if sa > 0 else (b.hi, b.lo)
        lows, highs = [mul(x, low) for x in a], [mul(x, high) for x in a]
    else:
        lows = highs = [mul(x, y) for x in a for y in b]
    return SymInterval(_fold_all(least, lows), _fold_all(greatest, highs))


def _fold_all(
    f: Callable[[Expr, Expr], Expr], corners: list[Expr | None]
) -> Expr | None:
    out = corners[0]
    for e in corners[1:]:
        if out is None or e is None:
            return None
        out = f(out, e)
    return out


def square(a: SymInterval, t: Type) -> SymInterval:
    """The product of something in `a` with itself."""
    if sign_of(a):
        return product(a, a, t)
    zero = imm(0, t)
    if a.lo is None or a.hi is None:
        return SymInterval(zero, None)
    far = product(point(a.lo), point(a.lo), t).hi
    other = product(point(a.hi), point(a.hi), t).hi
    if far is None or other is None:
        return SymInterval(zero, None)
    return SymInterval(zero, greatest(far, other))


def quotient(a: SymInterval, b: SymInterval, t: Type) -> SymInterval:
    """a / b"""
    if a.is_point and b.is_point:
        assert a.lo is not None and b.lo is not None
        return point(fold(E.Div, a.lo, b.lo))
    if t.is_float():
        return _float_quotient(a, b)
    ca, cb = constants(a), constants(b)
    if t.is_int() and not (
        (ca.lo is not None and ca.lo > t.lowest())
        or (cb.lo is not None and cb.lo > -1)
        or (cb.hi is not None and cb.hi < -1)
    ):
        # The lowest number divided by -1 wraps.
        if not is_index(t):
            return type_range(t)
    positive = cb.lo is not None and cb.lo >= 0
    if b.is_point:
        assert b.lo is not None
        low, high = _divided(a.lo, b.lo), _divided(a.hi, b.lo)
        if positive:
            return SymInterval(low, high)
        if cb.hi is not None and cb.hi <= 0:
            return SymInterval(high, low)
        if low is None or high is None:
            return EVERYTHING
        return SymInterval(least(low, high), greatest(low, high))
    zero = imm(0, t)
    if positive and ca.lo is not None and ca.lo >= 0:
        if not cb.lo:
            return SymInterval(zero, a.hi)
        low = zero if b.hi is None else _divided(a.lo, b.hi)
        return SymInterval(low, _divided(a.hi, b.lo))  # type: ignore[arg-type]
    if not is_index(t) or a.lo is None or a.hi is None:
        return type_range(t)
    if positive and cb.lo and b.lo is not None and b.hi is not None:
        lows = [_divided(a.lo, b.lo), _divided(a.lo, b.hi)]
        highs = [_divided(a.hi, b.lo), _divided(a.hi, b.hi)]
        return SymInterval(_fold_all(least, lows), _fold_all(greatest, highs))
    reach = greatest(a.hi, negated(a.lo))
    return SymInterval(negated(reach), reach)


def _divided(a: Expr | None, b: Expr) -> Expr | None:
    if a is None:
        return None
    out = fold(E.Div, a, b)
    return build(linear(out), a.type) if type(out) is E.Div else out


def _float_quotient(a: SymInterval, b: SymInterval) -> SymInterval:
    c = constants(b)
    away = (c.lo is not None and c.lo > 0) or (c.hi is not None and c.hi < 0)
    if not away and not b.is_point:
        return EVERYTHING
    if away and b.is_point:
        low, high = combine(E.Div, a.lo, b.lo), combine(E.Div, a.hi, b.lo)
        positive = c.lo is not None and c.lo > 0
        return SymInterval(low, high) if positive else SymInterval(high, low)
    corners = [combine(E.Div, x, y) for x in a for y in b]
    return SymInterval(_fold_all(least, corners), _fold_all(greatest, corners))


def remainder(a: SymInterval, b: SymInterval, t: Type) -> SymInterval:
    """a % b"""
    if a.is_point and b.is_point:
        assert a.lo is not None and b.lo is not None
        return point(fold(E.Mod, a.lo, b.lo))
    if t.is_float():
        return EVERYTHING
    zero = imm(0, t)
    ca, cb = constants(a), constants(b)
    positive = ca.lo is not None and ca.lo >= 0
    if positive and a.hi is not None and b.lo is not None:
        # A dividend below the divisor is its own remainder.
        gap = (linear(b.lo) - linear(a.hi)).interval().lo
        if gap is not None and gap > 0:
            return a
    d = number(b.lo) if b.is_point else None
    if d is not None:
        return _constant_remainder(a, abs(int(d)), t)
    far: Expr | None = None
    if cb.lo is not None and cb.lo >= 0:
        far = b.hi
    elif cb.lo is not None and cb.hi is not None:
        reach = int(max(abs(cb.lo), abs(cb.hi)))
        far = imm(reach, t) if reach <= t.highest() else None
    hi = None
    if far is not None:
        if not cb.lo or cb.lo < 0:
            far = greatest(far, imm(1, t))
        hi = shifted(far, -1)
    if positive and a.hi is not None:
        hi = a.hi if hi is None or order(a.hi, hi) == -1 else hi
    return SymInterval(zero, hi if hi is not None else type_range(t).hi)


def _constant_remainder(a: SymInterval, d: int, t: Type) -> SymInterval:
    if d == 0:
        return point(imm(0, t))
    if a.lo is not None and a.hi is not None:
        span = linear(a.hi) - linear(a.lo)
        m, r = alignment(a.lo)
        if span.is_const() and 0 <= span.const < d and m % d == 0:
            first = floor_mod(r, d)
            if first + span.const < d:
                return SymInterval(imm(first, t), imm(first + span.const, t))
        c = constants(a)
        if c.lo is not None and c.hi is not None and c.lo // d == c.hi // d:
            return SymInterval(imm(int(c.lo) % d, t), imm(int(c.hi) % d, t))
    hi = imm(d - 1, t)
    c = constants(a)
    if c.lo is not None and c.lo >= 0 and c.hi is not None and c.hi < d:
        hi = imm(int(c.hi), t)
    return SymInterval(imm(0, t), hi)


def cast_bounds(t: Type, a: SymInterval, source: Type) -> SymInterval:
    """`a`, of type `source`, cast to the scalar type `t`."""
    source = source.element_of()
    if t.is_float():
        return each(a, lambda x: converted(t, x))
    c = constants(a)
    if t.is_bool():
        if (c.lo is not None and c.lo > 0) or (c.hi is not None and c.hi < 0):
            return SymInterval(TRUE, TRUE)
        zero = c.lo == 0 and c.hi == 0 and not source.is_float()
        return SymInterval(FALSE, FALSE if zero else TRUE)
    if not t.is_int_or_uint():
        return EVERYTHING
    if source.is_float():
        # Out of range is unspecified: nothing to be said with a side open.
        if a.lo is None or a.hi is None:
            return type_range(t)
        low, high = _whole(c.lo), _whole(c.hi)
        if low is None or high is None:
            outside = not is_index(t)
        else:
            outside = low < t.lowest() or high > t.highest()
        return type_range(t) if outside else each(a, lambda x: converted(t, x))
    if not source.is_int_or_uint():
        return type_range(t)
    if t.can_represent(source):
        return each(a, lambda x: converted(t, x))
    if is_index(t):
        if source.is_uint() and a.hi is None or _is_of_types(a):
            return EVERYTHING
        made = each(a, lambda x: converted(t, x))
        # A bound that was of this type before it was unsigned (as abs gives) fits.
        inside = (c.lo is None or c.lo >= t.lowest() or _was(a.lo, t)) and (
            c.hi is None or c.hi <= t.highest() or _was(a.hi, t)
        )
        return made if inside else EVERYTHING
    if fits(t, c.lo, c.hi):
        return each(a, lambda x: converted(t, x))
    if t.is_uint() and t.width >= source.width and c.lo is not None and c.lo >= 0:
        return each(a, lambda x: converted(t, x))
    return type_range(t)


#: Numbers of this size are not made of coordinates: they are what a type can hold.
_OF_TYPES = 1 << 30


def _is_of_types(i: SymInterval) -> bool:
    """Whether a symbolic end is made of what 32 bits of anything can hold: too little
    is known of the value to say that it fits in an index."""
    return any(
        [
            type(n) is E.Imm and abs(n.value) >= _OF_TYPES
            for end in i
            if end is not None and number(end) is None
            for n in nodes(end)
        ]
    )


def _was(x: Expr | None, t: Type) -> bool:
    """Whether a bound of an unsigned type is a number of type `t` of its width."""
    return type(x) is E.Cast and x.a.type is t and x.type.width == t.width


def each(i: SymInterval, f: Callable[[Expr], Expr]) -> SymInterval:
    if i.is_point:
        assert i.lo is not None
        return point(f(i.lo))
    return SymInterval(
        None if i.lo is None else f(i.lo), None if i.hi is None else f(i.hi)
    )


def _whole(x: int | float | None) -> int | None:
    return None if x is None or not math.isfinite(x) else math.trunc(x)


__all__ = [
    "cast_bounds",
    "combine",
    "constant_product",
    "each",
    "flipped",
    "product",
    "quotient",
    "remainder",
    "sign_of",
    "square",
]
