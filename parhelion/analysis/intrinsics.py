"""How intervals go through the built-in operations of `ir.intrinsics`.

Most are taken apart into basic nodes of a wider type, which the arithmetic handlers
know already. Functions without a law of growth answer with their range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from parhelion.analysis.interval import never_nan
from parhelion.analysis.symbolic import (
    EVERYTHING,
    SymInterval,
    constants,
    converted,
    fits,
    greatest,
    is_index,
    join,
    least,
    meet,
    negated,
    number,
    point,
    type_range,
)
from parhelion.analysis.transfer import (
    cast_bounds,
    each,
    flipped,
    quotient,
    remainder,
    sign_of,
)
from parhelion.ir import expr as E
from parhelion.ir.build import imm
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr
from parhelion.ir.intrinsics import FUSED
from parhelion.types import Type, TypeCode

if TYPE_CHECKING:
    from parhelion.analysis.bounds import Bounds

_Handler = Callable[["Bounds", E.Intrinsic], SymInterval]


def _first(at: Bounds, e: E.Intrinsic) -> SymInterval:
    return at.of(e.args[0])


def _second(at: Bounds, e: E.Intrinsic) -> SymInterval:
    return at.of(e.args[1])


def _promise_clamped(at: Bounds, e: E.Intrinsic) -> SymInterval:
    lo, hi = at.of(e.args[1]).lo, at.of(e.args[2]).hi
    return meet(at.of(e.args[0]), SymInterval(lo, hi))


def _magnitude(i: SymInterval, t: Type) -> SymInterval:
    """|i|, for floats or integers whose negation does not wrap."""
    sign = sign_of(i)
    if sign:
        return i if sign > 0 else flipped(i)
    zero = imm(0, t)
    if i.lo is None or i.hi is None:
        return SymInterval(zero, None)
    return SymInterval(zero, greatest(i.hi, negated(i.lo)))


def _absolute(at: Bounds, e: E.Intrinsic) -> SymInterval:
    t = e.args[0].type.element_of()
    return _unsigned_magnitude(at.of(e.args[0]), t, e.type.element_of())


def _unsigned_magnitude(i: SymInterval, t: Type, out: Type) -> SymInterval:
    if t.is_float() or t.is_uint():
        return _magnitude(i, t)
    c = constants(i)
    if c.lo is not None and c.hi is not None:
        # In plain numbers where they are known, for -128 has no opposite in 8 bits.
        if number(i.lo) is not None and number(i.hi) is not None or not is_index(t):
            near = 0 if c.lo <= 0 <= c.hi else min(abs(c.lo), abs(c.hi))
            far = max(abs(c.lo), abs(c.hi))
            return SymInterval(imm(near, out), imm(far, out))
    if not is_index(t):
        return type_range(out)
    return each(_magnitude(i, t), lambda x: converted(out, x))


def _distance(at: Bounds, e: E.Intrinsic) -> SymInterval:
    a, b = e.args
    t, out = a.type.element_of(), e.type.element_of()
    if t.is_float() or is_index(t):
        return _unsigned_magnitude(at.of(E.Sub(a, b)), t, out)
    wide = _wide(a.type, signed=True)
    if wide is None:
        return type_range(out)
    gap = at.of(E.Sub(E.Cast(wide, a), E.Cast(wide, b)))
    c = constants(_magnitude(gap, wide.element_of()))
    if c.lo is None or c.hi is None or not fits(out, c.lo, c.hi):
        return type_range(out)
    return SymInterval(imm(c.lo, out), imm(c.hi, out))


def _wide(t: Type, *, signed: bool = False) -> Type | None:
    """The type of twice the width, if there is one."""
    if not t.is_int_or_uint() or not 8 <= t.width <= 32:
        return None
    code = TypeCode.Int if signed else t.kind
    return Type(code, t.width * 2, t.count)


_OPERATION: dict[str, type[E.Add] | type[E.Sub] | type[E.Mul]] = {
    "add": E.Add,
    "sub": E.Sub,
    "mul": E.Mul,
}


def _widening(at: Bounds, e: E.Intrinsic) -> SymInterval:
    a, b = [E.Cast(e.type, x) for x in e.args]
    return at.of(_OPERATION[e.op.removeprefix("widening_")](a, b))


def _widen_right(at: Bounds, e: E.Intrinsic) -> SymInterval:
    kind = _OPERATION[e.op.removeprefix("widen_right_")]
    return at.of(kind(e.args[0], E.Cast(e.type, e.args[1])))


def _fused(at: Bounds, e: E.Intrinsic) -> SymInterval:
    """Rounding is monotonic: the ends are those of the products' corners, fused."""
    a, b, c = [at.of(x) for x in e.args]
    t = e.type.element_of()
    if e.op == "mul_sub":
        c = SymInterval(c.hi, c.lo)
    lows, highs = _corners(a, b)
    if e.op == "sub_mul":
        lows, highs = highs, lows

    def end(
        corners: _Corners,
        z: Expr | None,
        choose: Callable[[Expr, Expr], Expr],
    ) -> Expr | None:
        made: Expr | None = None
        for x, y in corners:
            if x is None or y is None or z is None:
                return None
            one: Expr = E.Intrinsic(t, e.op, (x, y, z))
            if all([number(v) is not None for v in (x, y, z)]):
                one = imm(evaluate(one, {}), t)
            made = one if made is None else choose(made, one)
        return made

    return SymInterval(end(lows, c.lo, least), end(highs, c.hi, greatest))


_Corners = list[tuple[Expr | None, Expr | None]]


def _corners(a: SymInterval, b: SymInterval) -> tuple[_Corners, _Corners]:
    """Of which ends a product of floats is the least, and the greatest."""
    if b.is_point and not a.is_point:
        a, b = b, a
    sa = sign_of(a)
    if a.is_point and (sa or b.is_point):
        low, high = [(a.lo, b.lo)], [(a.lo, b.hi)]
        return (high, low) if sa < 0 else (low, high)
    every = [(x, y) for x in a for y in b]
    return every, every


def _halving(at: Bounds, e: E.Intrinsic) -> SymInterval:
    subtract = e.op == "halving_sub"
    wide = _wide(e.type, signed=subtract)
    if wide is None:
        return type_range(e.type)
    a, b = [E.Cast(wide, x) for x in e.args]
    total: Expr = E.Sub(a, b) if subtract else E.Add(a, b)
    if e.op == "rounding_halving_add":
        total = E.Add(total, imm(1, wide))
    half = at.of(E.Div(total, imm(2, wide)))
    return cast_bounds(e.type.element_of(), half, wide)


def _saturating(at: Bounds, e: E.Intrinsic) -> SymInterval:
    subtract = e.op == "saturating_sub"
    wide = _wide(e.type, signed=subtract)
    if wide is None:
        return type_range(e.type)
    a, b = [E.Cast(wide, x) for x in e.args]
    total = at.of(E.Sub(a, b) if subtract else E.Add(a, b))
    return _saturated(total, e.type.element_of())


def _saturated(i: SymInterval, t: Type) -> SymInterval:
    """`i` clamped to integer type `t`."""
    lo, hi = imm(t.lowest(), t), imm(t.highest(), t)
    if i.lo is not None:
        lo = _clamped(i.lo, t)
    if i.hi is not None:
        hi = _clamped(i.hi, t)
    return SymInterval(lo, hi)


def _clamped(e: Expr, t: Type) -> Expr:
    made = E.Intrinsic(t, "saturating_cast", (e,))
    if number(e) is not None:
        return imm(evaluate(made, {}), t)
    c = constants(point(e))
    inside = not e.type.is_float() and fits(t, c.lo, c.hi)
    return converted(t, e) if inside else made


def _saturating_cast(at: Bounds, e: E.Intrinsic) -> SymInterval:
    a, t = at.of(e.args[0]), e.type.element_of()
    if t.is_float() or t.is_bool():
        return cast_bounds(t, a, e.args[0].type)
    made = _saturated(a, t)
    if e.args[0].type.is_float() and not never_nan(e.args[0]):
        made = join(made, point(imm(0, t)))  # NaN gives 0.
    return made


def _mul_shift(at: Bounds, e: E.Intrinsic) -> SymInterval:
    wide = _wide(e.type)
    k = number(at.of(e.args[2]).lo) if at.of(e.args[2]).is_point else None
    if wide is None or k is None or not 0 <= k < wide.width - 1:
        return type_range(e.type)
    total: Expr = E.Mul(E.Cast(wide, e.args[0]), E.Cast(wide, e.args[1]))
    if e.op == "rounding_mul_shift_right" and k > 0:
        total = E.Add(total, imm(1 << int(k) - 1, wide))
    shifted_down = at.of(E.Div(total, imm(1 << int(k), wide)))
    return _saturated(shifted_down, e.type.element_of())


def _shift_amount(at: Bounds, e: E.Intrinsic) -> int | None:
    """A constant shift that a multiplication or division can stand for."""
    by = at.of(e.args[1])
    k = number(by.lo) if by.is_point else None
    return int(k) if k is not None and abs(k) < e.type.width - 1 else None


def _shift(at: Bounds, e: E.Intrinsic) -> SymInterval:
    a = e.args[0] if e.args[0].type is e.type else E.Cast(e.type, e.args[0])
    k = _shift_amount(at, e)
    if k is None:
        i = at.of(a)
        right = e.op.endswith("right") and (constants(at.of(e.args[1])).lo or -1) >= 0
        if right and sign_of(i) > 0:
            return SymInterval(imm(0, e.type.element_of()), i.hi)
        return type_range(e.type)
    if e.op.endswith("right"):
        k = -k
    if k >= 0:
        return at.of(E.Mul(a, imm(1 << k, e.type)))
    return at.of(E.Div(a, imm(1 << -k, e.type)))


def _rounding_shift(at: Bounds, e: E.Intrinsic) -> SymInterval:
    k = _shift_amount(at, e)
    wide = _wide(e.type)
    if k is None or wide is None:
        return type_range(e.type)
    if e.op == "rounding_shift_right":
        k = -k
    if k >= 0:
        return at.of(E.Mul(e.args[0], imm(1 << k, e.type)))
    total = E.Add(E.Cast(wide, e.args[0]), imm(1 << (-k - 1), wide))
    return cast_bounds(
        e.type.element_of(), at.of(E.Div(total, imm(1 << -k, wide))), wide
    )


def _bit_and(at: Bounds, e: E.Intrinsic) -> SymInterval:
    t = e.type.element_of()
    for x, y in (e.args, e.args[::-1]):
        i = at.of(y)
        mask = number(i.lo) if i.is_point else None
        if mask is None:
            continue
        m = int(mask)
        if m == -1 or (t.is_uint() and m == t.highest()):
            return at.of(x)
        if m >= 0 and m & (m + 1) == 0 and m + 1 <= t.highest():
            return at.of(E.Mod(x, imm(m + 1, e.type)))
        if m < 0 and -m & (-m - 1) == 0 and -m <= t.highest():
            step = imm(-m, e.type)
            return at.of(E.Mul(E.Div(x, step), step))
    i, j = at.of(e.args[0]), at.of(e.args[1])
    tops = [k.hi for k in (i, j) if sign_of(k) > 0 and k.hi is not None]
    if not tops:
        return (
            SymInterval(imm(0, t), None)
            if max(sign_of(i), sign_of(j)) > 0
            else (type_range(t))
        )
    return SymInterval(imm(0, t), tops[0] if len(tops) == 1 else least(*tops))


def _bit_or(at: Bounds, e: E.Intrinsic) -> SymInterval:
    t = e.type.element_of()
    c, d = constants(at.of(e.args[0])), constants(at.of(e.args[1]))
    if None in c or None in d or c.lo < 0 or d.lo < 0:  # type: ignore[operator]
        return type_range(t)
    top = (1 << int(max(c.hi, d.hi)).bit_length()) - 1  # type: ignore[type-var,arg-type]
    low = max(c.lo, d.lo) if e.op == "bit_or" else 0  # type: ignore[type-var]
    return SymInterval(imm(low, t), imm(min(top, t.highest()), t))  # type: ignore[arg-type]


def _bit_not(at: Bounds, e: E.Intrinsic) -> SymInterval:
    top = -1 if e.type.is_int() else e.type.highest()
    return at.of(E.Sub(imm(top, e.type), e.args[0]))


def _bit_count(at: Bounds, e: E.Intrinsic) -> SymInterval:
    t = e.type.element_of()
    return SymInterval(imm(0, t), imm(e.args[0].type.width, t))


def _truncated_div(at: Bounds, e: E.Intrinsic) -> SymInterval:
    a, b = at.of(e.args[0]), at.of(e.args[1])
    t = e.type.element_of()
    if sign_of(a) > 0 and sign_of(b) > 0:
        return quotient(a, b, t)
    if not is_index(t) or a.lo is None or a.hi is None:
        return type_range(t)
    reach = greatest(a.hi, negated(a.lo))
    return SymInterval(negated(reach), reach)


def _truncated_mod(at: Bounds, e: E.Intrinsic) -> SymInterval:
    a, b = at.of(e.args[0]), at.of(e.args[1])
    t = e.type.element_of()
    if sign_of(a) > 0 and sign_of(b) > 0:
        return remainder(a, b, t)
    d = number(b.lo) if b.is_point else None
    if d is None or d == 0 or not is_index(t):
        return type_range(t)
    top = int(abs(d)) - 1
    lo = 0 if sign_of(a) > 0 else -top
    return SymInterval(imm(lo, t), imm(0 if sign_of(a) < 0 else top, t))


def _exact_monotone(at: Bounds, e: E.Intrinsic) -> SymInterval:
    t = e.type.element_of()

    def apply(x: Expr) -> Expr:
        made = E.Intrinsic(t, e.op, (x,))
        return made if number(x) is None else imm(evaluate(made, {}), t)

    return each(at.of(e.args[0]), apply)


def _sqrt(at: Bounds, e: E.Intrinsic) -> SymInterval:
    a, t = at.of(e.args[0]), e.type.element_of()
    zero = imm(0.0, t)
    lo = zero if a.lo is None else greatest(a.lo, zero)
    root = [None if x is None else E.Intrinsic(t, "sqrt", (x,)) for x in (lo, a.hi)]
    return SymInterval(
        *[
            x if x is None or number(x.args[0]) is None else imm(evaluate(x, {}), t)
            for x in root
        ]
    )


#: How far, relatively, our polynomials may stray from the function they stand for,
#: generously: a rounded approximation of a growing function need not grow.
_ERROR = 2.0**-18
_FAST_ERROR = 2.0**-8


def _between(lo: float | None, hi: float | None) -> _Handler:
    """A function with a known range, of numbers a little beyond it."""

    def bounds(at: Bounds, e: E.Intrinsic) -> SymInterval:
        t = e.type.element_of()
        return SymInterval(_outwards(lo, t, -1), _outwards(hi, t, 1))

    return bounds


def _outwards(x: float | None, t: Type, sign: int) -> Expr | None:
    return None if x is None else imm(x + sign * abs(x) * _ERROR, t)


def _growing(
    f: Callable[[float], float],
    least_value: float | None,
    most: float | None,
    domain: float | None = None,
) -> _Handler:
    """A function that grows, with its range; from `domain` on if that is given."""

    def bounds(at: Bounds, e: E.Intrinsic) -> SymInterval:
        t = e.type.element_of()
        fast = e.op.startswith("fast_")
        error, slack = (_FAST_ERROR, _FAST_ERROR / 64) if fast else (_ERROR, _tiny(t))

        def apply(x: Expr | None, sign: int, limit: float | None) -> Expr | None:
            end = _outwards(limit, t, sign)
            if x is None:
                return end
            low = constants(point(x)).lo
            if domain is not None and (low is None or low <= domain):
                return end
            value = number(x)
            if value is None:
                made = E.Intrinsic(t, e.op, (x,))
                away: Expr = E.Mul(E.Intrinsic(t, "abs", (made,)), imm(error, t))
                away = E.Add(away, imm(slack, t))
                return E.Add(made, away) if sign > 0 else E.Sub(made, away)
            try:
                y = f(float(value))
            except (OverflowError, ValueError):
                return end
            return imm(y + sign * (abs(y) * error + slack), t)

        a = at.of(e.args[0])
        return SymInterval(apply(a.lo, -1, least_value), apply(a.hi, 1, most))

    return bounds


def _fast_log(at: Bounds, e: E.Intrinsic) -> SymInterval:
    """Anything, where the argument may not be positive."""
    low = constants(at.of(e.args[0])).lo
    if low is None or low <= 0:
        return EVERYTHING
    return _growing(math.log, None, None, 0.0)(at, e)


def _tiny(t: Type) -> float:
    """A float near the smallest normal one of the type."""
    return {16: 2.0**-14, 32: 2.0**-126, 64: 2.0**-1022}[t.width]


def _pow(at: Bounds, e: E.Intrinsic) -> SymInterval:
    a, b = at.of(e.args[0]), at.of(e.args[1])
    if sign_of(a) <= 0:
        return EVERYTHING
    t = e.type.element_of()
    zero = imm(0.0, t)
    y = number(b.lo) if b.is_point else None
    high = number(a.hi)
    if y is None or y < 0 or high is None:
        return SymInterval(zero, None)
    try:
        top = float(high) ** float(y)
    except OverflowError:
        return SymInterval(zero, None)
    error = _FAST_ERROR if e.op == "fast_pow" else _ERROR
    low = number(a.lo)
    bottom = 0.0 if low is None else float(low) ** float(y) * (1.0 - error)
    return SymInterval(imm(bottom, t), imm(top * (1.0 + error) + _tiny(t), t))


INTRINSIC_BOUNDS: dict[str, _Handler] = {
    **dict.fromkeys(
        (
            "likely",
            "likely_if_innermost",
            "strict_float",
            "print",
            "trace",
            "guarded",
            "memoize_tag",
        ),
        _first,
    ),
    "require": _second,
    "print_when": _second,
    "promise_clamped": _promise_clamped,
    "known_clamped": _promise_clamped,
    "abs": _absolute,
    "absd": _distance,
    **dict.fromkeys(FUSED, _fused),
    **dict.fromkeys(("widening_add", "widening_sub", "widening_mul"), _widening),
    **dict.fromkeys(
        ("widen_right_add", "widen_right_sub", "widen_right_mul"), _widen_right
    ),
    **dict.fromkeys(("halving_add", "halving_sub", "rounding_halving_add"), _halving),
    "saturating_add": _saturating,
    "saturating_sub": _saturating,
    "saturating_cast": _saturating_cast,
    "mul_shift_right": _mul_shift,
    "rounding_mul_shift_right": _mul_shift,
    **dict.fromkeys(
        (
            "shift_left",
            "shift_right",
            "widening_shift_left",
            "widening_shift_right",
        ),
        _shift,
    ),
    "rounding_shift_left": _rounding_shift,
    "rounding_shift_right": _rounding_shift,
    "bit_and": _bit_and,
    "bit_or": _bit_or,
    "bit_xor": _bit_or,
    "bit_not": _bit_not,
    "popcount": _bit_count,
    "clz": _bit_count,
    "ctz": _bit_count,
    "div_round_to_zero": _truncated_div,
    "mod_round_to_zero": _truncated_mod,
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), _exact_monotone),
    "sqrt": _sqrt,
    "exp": _growing(math.exp, 0.0, None),
    "fast_exp": _growing(math.exp, 0.0, None),
    "log": _growing(math.log, None, None, 0.0),
    "fast_log": _fast_log,
    "sinh": _growing(math.sinh, None, None),
    "asinh": _growing(math.asinh, None, None),
    "tanh": _growing(math.tanh, -1.0, 1.0),
    "erf": _growing(math.erf, -1.0, 1.0),
    "atan": _growing(math.atan, -math.pi / 2, math.pi / 2),
    "sin": _between(-1.0, 1.0),
    "cos": _between(-1.0, 1.0),
    "asin": _between(-math.pi / 2, math.pi / 2),
    "acos": _between(0.0, math.pi),
    "atan2": _between(-math.pi, math.pi),
    "cosh": _between(1.0, None),
    "acosh": _between(0.0, None),
    "pow": _pow,
    "fast_pow": _pow,
}

__all__ = ["INTRINSIC_BOUNDS"]
