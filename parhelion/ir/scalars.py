"""Operations on numbers as the language defines them: those of the nodes, and of the
intrinsics that are no polynomials.

Floats are computed as Python floats and rounded to their type after each operation.
For +, -, *, / and sqrt that is exact: double precision has more than twice the digits
of every narrower type, so rounding twice gives what rounding once does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from parhelion.ir import expr as E
from parhelion.ir.build import floor_div, floor_mod
from parhelion.ir.expr import Expr, float_bits
from parhelion.types import Float, Type, round_float

Value = int | float | bool


def binary(kind: type[Expr], of: Type, a: Value, b: Value) -> Value:
    """One binary node's operation on two values of type `of`."""
    if kind in _COMPARE:
        return bool(_COMPARE[kind](a, b))
    if of.is_float():
        return round_float(_FLOAT[kind](float(a), float(b), of), of)
    out = of.wrap(_INT[kind](int(a), int(b)))
    return bool(out) if of.is_bool() else out


def cast_value(value: Value, to: Type) -> Value:
    """`Cast` of a value (of whatever type) to `to`. Out of range floats saturate."""
    if to.is_float():
        return round_float(value, to)
    if to.is_bool():
        return value != 0
    if isinstance(value, float):
        return saturate(value, to)
    return to.wrap(value)


def saturate(value: Value, to: Type) -> int:
    """A number truncated and clamped to an integer type; NaN gives 0."""
    low, high = int(to.lowest()), int(to.highest())
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        value = math.trunc(value)
    return min(max(int(value), low), high)


def to_bits(value: Value, of: Type) -> int:
    if of.is_float():
        return float_bits(float(value), of)
    return int(value) & ((1 << of.width) - 1)


def from_bits(bits: int, to: Type) -> Value:
    if not to.is_float():
        return bool(bits) if to.is_bool() else to.wrap(bits)
    return E.FloatImm(to.element_of(), bits).value


def divide(a: float, b: float, of: Type) -> float:
    if b == 0.0:
        if a == 0.0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))
    return a / b


def _float_mod(a: float, b: float, of: Type) -> float:
    """``a - b * floor(a / b)``, each operation rounded."""
    q = _whole(math.floor, round_float(divide(a, b, of), of))
    return a - round_float(b * q, of)


def _whole(f: Callable[[float], int], x: float) -> float:
    """A function to the integers, of any float; keeps the sign of zero."""
    if math.isnan(x) or math.isinf(x):
        return x
    return math.copysign(float(f(x)), x)


def nan_unless(f: Callable[[float], float], x: float) -> float:
    try:
        return f(x)
    except ValueError:
        return math.nan


_COMPARE: dict[type[Expr], Callable[[Any, Any], bool]] = {
    E.EQ: lambda a, b: a == b,
    E.NE: lambda a, b: a != b,
    E.LT: lambda a, b: a < b,
    E.LE: lambda a, b: a <= b,
    E.And: lambda a, b: a and b,
    E.Or: lambda a, b: a or b,
}
_INT: dict[type[Expr], Callable[[int, int], int]] = {
    E.Add: int.__add__,
    E.Sub: int.__sub__,
    E.Mul: int.__mul__,
    E.Div: floor_div,
    E.Mod: floor_mod,
    E.Min: min,
    E.Max: max,
}
_FLOAT: dict[type[Expr], Callable[[float, float, Type], float]] = {
    E.Add: lambda a, b, of: a + b,
    E.Sub: lambda a, b, of: a - b,
    E.Mul: lambda a, b, of: a * b,
    E.Div: divide,
    E.Mod: _float_mod,
    E.Min: lambda a, b, of: b if b < a else a,
    E.Max: lambda a, b, of: b if b > a else a,
}
REDUCTIONS: dict[str, type[Expr]] = {
    "add": E.Add,
    "mul": E.Mul,
    "min": E.Min,
    "max": E.Max,
    "and": E.And,
    "or": E.Or,
}


def _shift_left(a: int, b: int) -> int:
    # Beyond any width all is shifted out; the cap keeps Python's numbers small.
    return a << min(b, 256) if b >= 0 else a >> min(-b, 256)


def _rounding_shift_right(a: int, b: int) -> int:
    return (a + (1 << (b - 1))) >> b if b > 0 else a << -b


def _truncated(a: int, b: int) -> int:
    q = abs(a) // abs(b) if b else 0
    return q if (a < 0) == (b < 0) else -q


def _mod_truncated(a: int, b: int) -> int:
    return a - b * _truncated(a, b) if b else 0


def _wrapping(f: Callable[..., int]) -> Callable[..., Value]:
    return lambda to, of, *args: to.wrap(f(*args))


def _saturating(f: Callable[..., int]) -> Callable[..., Value]:
    return lambda to, of, *args: saturate(f(*args), to)


def fused(a: float, b: float, c: float, of: Type) -> float:
    """``a * b + c``, rounded once to the float type `of`."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c  # however large the product is
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        # A product that is not zero is -c, and no rounding has lost its sign.
        return a * b + c
    try:
        near = exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if of.width < 64 and Fraction(near) != exact:
        near = _odd(near, exact)
    return round_float(near, of)


def _odd(near: float, exact: Fraction) -> float:
    """`exact`, which is nearest to `near`, rounded to odd: to that of its neighbours
    with an odd last digit, so that a second rounding sees what was dropped."""
    if abs(Fraction(near)) > abs(exact):
        near = math.nextafter(near, 0.0)
    bits = float_bits(near, Float(64)) | 1
    return E.FloatImm(Float(64), bits).value


def _fused(f: Callable[[float, float, float, Type], float]) -> Callable[..., Value]:
    return lambda to, of, a, b, c: f(float(a), float(b), float(c), to)


def _real(f: Callable[[float], float]) -> Callable[..., Value]:
    return lambda to, of, a: round_float(f(a), to)


def _absolute(to: Type, of: Type, a: Value) -> Value:
    return math.fabs(a) if of.is_float() else to.wrap(abs(int(a)))


def _distance(to: Type, of: Type, a: Value, b: Value) -> Value:
    if of.is_float():
        return math.fabs(round_float(a - b, of))
    return to.wrap(abs(int(a) - int(b)))


def _popcount(to: Type, of: Type, a: int) -> Value:
    return (int(a) & ((1 << of.width) - 1)).bit_count()


def _leading(to: Type, of: Type, a: int) -> Value:
    return of.width - (int(a) & ((1 << of.width) - 1)).bit_length()


def _trailing(to: Type, of: Type, a: int) -> Value:
    bits = int(a) & ((1 << of.width) - 1)
    return (bits & -bits).bit_length() - 1 if bits else of.width


def _saturating_cast(to: Type, of: Type, a: Value) -> Value:
    return cast_value(a, to) if to.is_float() or to.is_bool() else saturate(a, to)


#: By name: what the intrinsic gives for (result type, first argument's type, values).
INTRINSICS: dict[str, Callable[..., Value]] = {
    "bit_and": _wrapping(lambda a, b: a & b),
    "bit_or": _wrapping(lambda a, b: a | b),
    "bit_xor": _wrapping(lambda a, b: a ^ b),
    "bit_not": _wrapping(lambda a: ~int(a)),
    "shift_left": _wrapping(_shift_left),
    "shift_right": _wrapping(lambda a, b: _shift_left(a, -b)),
    "popcount": _popcount,
    "clz": _leading,
    "ctz": _trailing,
    "abs": _absolute,
    "absd": _distance,
    "div_round_to_zero": _wrapping(_truncated),
    "mod_round_to_zero": _wrapping(_mod_truncated),
    "widening_add": _wrapping(lambda a, b: a + b),
    "widening_sub": _wrapping(lambda a, b: a - b),
    "widening_mul": _wrapping(lambda a, b: a * b),
    "widening_shift_left": _wrapping(_shift_left),
    "widening_shift_right": _wrapping(lambda a, b: _shift_left(a, -b)),
    "widen_right_add": _wrapping(lambda a, b: a + b),
    "widen_right_sub": _wrapping(lambda a, b: a - b),
    "widen_right_mul": _wrapping(lambda a, b: a * b),
    "halving_add": _wrapping(lambda a, b: (a + b) >> 1),
    "halving_sub": _wrapping(lambda a, b: (a - b) >> 1),
    "rounding_halving_add": _wrapping(lambda a, b: (a + b + 1) >> 1),
    "rounding_shift_left": _wrapping(lambda a, b: _rounding_shift_right(a, -b)),
    "rounding_shift_right": _wrapping(_rounding_shift_right),
    "saturating_add": _saturating(lambda a, b: a + b),
    "saturating_sub": _saturating(lambda a, b: a - b),
    "saturating_cast": _saturating_cast,
    "mul_shift_right": _saturating(lambda a, b, c: (a * b) >> c),
    "rounding_mul_shift_right": _saturating(
        lambda a, b, c: _rounding_shift_right(a * b, c)
    ),
    "mul_add": _fused(fused),
    "mul_sub": _fused(lambda a, b, c, of: fused(a, b, -c, of)),
    "sub_mul": _fused(lambda a, b, c, of: fused(-a, b, c, of)),
    "sqrt": _real(lambda x: nan_unless(math.sqrt, x)),
    "floor": _real(lambda x: _whole(math.floor, x)),
    "ceil": _real(lambda x: _whole(math.ceil, x)),
    "round": _real(lambda x: _whole(round, x)),
    "trunc": _real(lambda x: _whole(math.trunc, x)),
    "is_nan": lambda to, of, a: math.isnan(a),
    "is_inf": lambda to, of, a: math.isinf(a),
    "is_finite": lambda to, of, a: math.isfinite(a),
}
