"""What each node that computes does to the values of its operands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parhelion.interp import libm
from parhelion.interp import values as V
from parhelion.interp.fused import fused
from parhelion.interp.values import Array
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import Type

#: A binary operation on two arrays of the operands' type.
Binary = Callable[[Array, Array, Type], Array]


def _div(a: Array, b: Array, t: Type) -> Array:
    return V.settle(a / b, t) if t.is_float() else V.int_div(a, b)


def _mod(a: Array, b: Array, t: Type) -> Array:
    return V.float_mod(a, b, t) if t.is_float() else V.int_mod(a, b)


BINARY: dict[type[Expr], Binary] = {
    E.Add: lambda a, b, t: V.settle(a + b, t),
    E.Sub: lambda a, b, t: V.settle(a - b, t),
    E.Mul: lambda a, b, t: V.settle(a * b, t),
    E.Div: _div,
    E.Mod: _mod,
    # NaN on either side gives a, as the semantics say; np.minimum would give NaN.
    E.Min: lambda a, b, t: np.where(b < a, b, a),
    E.Max: lambda a, b, t: np.where(b > a, b, a),
    E.EQ: lambda a, b, t: a == b,
    E.NE: lambda a, b, t: a != b,
    E.LT: lambda a, b, t: a < b,
    E.LE: lambda a, b, t: a <= b,
    E.And: lambda a, b, t: a & b,
    E.Or: lambda a, b, t: a | b,
}

_TRANSCENDENTAL = (
    *("exp", "log", "pow", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf"),
)

#: An intrinsic: the values and types of the arguments, and the result's type.
Operation = Callable[[list[Array], list[Type], Type], Array]


def _widened(f: Callable[[Array, Array], Array], both: bool = True) -> Operation:
    """`f` on the second (and the first) operand in the result's type."""

    def run(a: list[Array], t: list[Type], to: Type) -> Array:
        first = V.cast(a[0], t[0], to) if both else a[0]
        return V.settle(f(first, V.cast(a[1], t[1], to)), to)

    return run


def _abs(a: list[Array], t: list[Type], to: Type) -> Array:
    return np.abs(a[0]) if t[0].is_float() else V.unsigned(np.abs(a[0]))


def _absd(a: list[Array], t: list[Type], to: Type) -> Array:
    if t[0].is_float():
        return V.settle(np.abs(a[0] - a[1]), to)
    return V.unsigned(np.where(a[0] > a[1], a[0] - a[1], a[1] - a[0]))


def _halving_sub(a: list[Array], t: list[Type], to: Type) -> Array:
    one = a[0].dtype.type(1)
    made: Array = (a[0] >> one) - (a[1] >> one) - (~a[0] & a[1] & one)
    return made


def _shifted(f: Callable[[Array, Array, bool], Array]) -> Operation:
    return lambda a, t, to: f(a[0], a[1], t[1].is_int())


def _wide_shifted(f: Callable[[Array, Array, bool], Array]) -> Operation:
    return lambda a, t, to: f(V.cast(a[0], t[0], to), a[1], t[1].is_int())


def _rounding_shift_left(a: list[Array], t: list[Type], to: Type) -> Array:
    b = a[1].astype(np.int64) if t[1].is_int() else np.minimum(a[1], 127)
    return V.rounding_shift_right(a[0], -b.astype(np.int64), True)


def _asks(f: Callable[[Array], Array]) -> Operation:
    return lambda a, t, to: f(a[0])


def _libm(op: str) -> Operation:
    return lambda a, t, to: libm.call(op, a, to)


def _float(f: Callable[[Array], Array]) -> Operation:
    return lambda a, t, to: V.settle(f(a[0]), to)


def _fast(f: Callable[[list[Array]], Array]) -> Operation:
    return lambda a, t, to: V.settle(f(a).astype(V.dtype_of(to)), to)


def _first(a: list[Array], t: list[Type], to: Type) -> Array:
    return a[0]


OPERATIONS: dict[str, Operation] = {
    "bit_and": lambda a, t, to: a[0] & a[1],
    "bit_or": lambda a, t, to: a[0] | a[1],
    "bit_xor": lambda a, t, to: a[0] ^ a[1],
    "bit_not": lambda a, t, to: ~a[0],
    "shift_left": _shifted(V.shift_left),
    "shift_right": _shifted(V.shift_right),
    "popcount": lambda a, t, to: V.popcount(a[0]),
    "clz": lambda a, t, to: V.clz(a[0]),
    "ctz": lambda a, t, to: V.ctz(a[0]),
    "abs": _abs,
    "absd": _absd,
    "div_round_to_zero": lambda a, t, to: V.div_round_to_zero(a[0], a[1]),
    "mod_round_to_zero": lambda a, t, to: V.mod_round_to_zero(a[0], a[1]),
    "widening_add": _widened(np.add),
    "widening_sub": _widened(np.subtract),
    "widening_mul": _widened(np.multiply),
    "widening_shift_left": _wide_shifted(V.shift_left),
    "widening_shift_right": _wide_shifted(V.shift_right),
    "widen_right_add": _widened(np.add, both=False),
    "widen_right_sub": _widened(np.subtract, both=False),
    "widen_right_mul": _widened(np.multiply, both=False),
    "halving_add": lambda a, t, to: (
        (a[0] & a[1]) + ((a[0] ^ a[1]) >> a[0].dtype.type(1))
    ),
    "halving_sub": _halving_sub,
    "rounding_halving_add": lambda a, t, to: (
        (a[0] | a[1]) - ((a[0] ^ a[1]) >> a[0].dtype.type(1))
    ),
    "rounding_shift_left": _rounding_shift_left,
    "rounding_shift_right": _shifted(V.rounding_shift_right),
    "saturating_add": lambda a, t, to: V.saturating_sum(a[0], a[1], to, False),
    "saturating_sub": lambda a, t, to: V.saturating_sum(a[0], a[1], to, True),
    "saturating_cast": lambda a, t, to: V.saturating_cast(a[0], t[0], to),
    "mul_shift_right": lambda a, t, to: V.mul_shift_right(a[0], a[1], a[2], to, False),
    "rounding_mul_shift_right": lambda a, t, to: V.mul_shift_right(
        a[0], a[1], a[2], to, True
    ),
    "mul_add": lambda a, t, to: fused(a[0], a[1], a[2], to),
    "mul_sub": lambda a, t, to: fused(a[0], a[1], -a[2], to),
    "sub_mul": lambda a, t, to: fused(-a[0], a[1], a[2], to),
    "sqrt": _float(np.sqrt),
    "floor": _float(np.floor),
    "ceil": _float(np.ceil),
    "round": _float(np.rint),
    "trunc": _float(np.trunc),
    "is_nan": _asks(np.isnan),
    "is_inf": _asks(np.isinf),
    "is_finite": _asks(np.isfinite),
    "strict_float": _first,
    "likely": _first,
    "likely_if_innermost": _first,
    "promise_clamped": _first,
    "known_clamped": _first,
    "print": _first,
    "print_when": lambda a, t, to: a[1],
    "undef": lambda a, t, to: np.zeros((1,), V.dtype_of(to)),
}

#: Operations that are what they are; all others are first looked for in
#: `ir.mathlib`, and only what that leaves to the C library is looked for here.
EXACT = frozenset(OPERATIONS) | {"require"}

OPERATIONS |= {op: _libm(op) for op in _TRANSCENDENTAL} | {
    f"fast_{op}": _libm(op) for op in ("exp", "log", "pow", "sin", "cos")
}
OPERATIONS["fast_inverse"] = _fast(lambda a: 1 / a[0])
OPERATIONS["fast_inverse_sqrt"] = _fast(lambda a: 1 / np.sqrt(a[0]))
