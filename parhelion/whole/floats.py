"""Operations on floats, exact where NumPy's are: quotients that are rounded down and
their remainders, logarithms of powers of two, and lengths without overflow.

The quotient ``1.0 / 0.1`` is rounded to 10, but ten times 0.1, as it is in float64, is
more than 1: `numpy.floor_divide` says 9, and the remainder is never negative beside a
positive divisor. What is left is computed with one rounding, so that its sign is right.
"""

from __future__ import annotations

import math

from parhelion.ir import build
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Intrinsic
from parhelion.lang.expr import wrap
from parhelion.lang.functions import reinterpret
from parhelion.types import BOOL, Int, Type
from parhelion.whole.promotion import FLOAT32, FLOAT64

#: How many bits of a float are its digits.
_DIGITS = {32: 23, 64: 52}


def floor_divide(a: Node, b: Node) -> Node:
    """The quotient, rounded down, as of `numpy.floor_divide`. It is exact where it is
    less than 2^53, or 2^24 in float32."""
    if a.type.width == 16:
        return build.cast(a.type, floor_divide(*_in(FLOAT32, a, b)))
    quotient, rest = _divided(a, b)
    less = build.sub(quotient, imm(1, a.type))
    found = build.select(_is_beyond(rest, b), less, quotient)
    # Nothing finite goes into an infinity once, and an infinity has no parts.
    beside = build.select(_is_beyond(a, b), imm(-1, a.type), quotient)
    found = build.select(_told("is_inf", b), beside, found)
    endless = build.land(_told("is_inf", a), build.ne(b, imm(0, a.type)))
    return build.select(endless, imm(math.nan, a.type), found)


def remainder(a: Node, b: Node) -> Node:
    """What the quotient leaves, of the sign of the divisor, as of `numpy.remainder`."""
    if a.type.width == 16:
        return build.cast(a.type, remainder(*_in(FLOAT32, a, b)))
    rest = _divided(a, b)[1]
    found = build.select(_is_beyond(rest, b), build.add(rest, b), rest)
    beside = build.select(_is_beyond(a, b), b, a)
    whole = build.land(_told("is_inf", b), _told("is_finite", a))
    return build.select(whole, beside, found)


def _divided(a: Node, b: Node) -> tuple[Node, Node]:
    """The quotient, rounded down once it is rounded, and what it leaves of `a`."""
    quotient = Intrinsic(a.type, "floor", (build.div(a, b),))
    return quotient, Intrinsic(a.type, "sub_mul", (b, quotient, a))


def _is_beyond(rest: Node, b: Node) -> Node:
    """Whether a number has another sign than the divisor."""
    zero = imm(0, b.type)
    above = build.land(build.lt(zero, rest), build.lt(b, zero))
    return build.lor(above, build.land(build.lt(rest, zero), build.lt(zero, b)))


def _told(op: str, a: Node) -> Node:
    return Intrinsic(BOOL, op, (a,))


def _in(t: Type, *given: Node) -> list[Node]:
    return [build.cast(t, a) for a in given]


def log2(a: Node) -> Node:
    """The logarithm to base 2: of powers of two an integer."""
    t, factor = a.type, 1 / math.log(2)
    if t.width == 16:
        return build.cast(t, log2(build.cast(FLOAT32, a)))
    digits, whole = _DIGITS[t.width], Int(t.width)
    one = (1 << (t.width - 2)) - (1 << digits)  # the bits of 1.0
    bits = reinterpret(whole, wrap(a))._node
    exponent = build.sub(
        Intrinsic(whole, "shift_right", (bits, imm(digits, whole))),
        imm(one >> digits, whole),
    )
    kept = Intrinsic(whole, "bit_and", (bits, imm((1 << digits) - 1, whole)))
    part = reinterpret(t, wrap(build.add(kept, imm(one, whole))))._node
    # Around 1, so that nothing cancels.
    large = build.lt(imm(math.sqrt(2), t), part)
    part = build.select(large, build.mul(part, imm(0.5, t)), part)
    power = build.add(
        build.cast(t, exponent), build.select(large, imm(1, t), imm(0, t))
    )
    found = build.add(power, build.mul(Intrinsic(t, "log", (part,)), imm(factor, t)))
    least = imm(2.0 ** (2 - (one >> digits) - 1), t)
    ordinary = build.land(build.le(least, a), build.lt(a, imm(math.inf, t)))
    plain = build.mul(Intrinsic(t, "log", (a,)), imm(factor, t))
    return build.select(ordinary, found, plain)


def log10(a: Node) -> Node:
    """The logarithm to base 10: of powers of ten an integer in float32, and in float64
    one but for the last digit."""
    if a.type.width < 64:
        return build.cast(a.type, log10(build.cast(FLOAT64, a)))
    return build.mul(Intrinsic(a.type, "log", (a,)), imm(1 / math.log(10), a.type))


def hypot(a: Node, b: Node) -> Node:
    """The length of a vector, without squares that are too large or too small."""
    t = a.type
    endless = build.lor(_told("is_inf", a), _told("is_inf", b))
    return build.select(endless, imm(math.inf, t), _length(a, b))


def _length(a: Node, b: Node) -> Node:
    t = a.type
    if t.width < 64:
        return build.cast(t, _root_of_squares(*_in(FLOAT64, a, b)))
    a, b = Intrinsic(t, "abs", (a,)), Intrinsic(t, "abs", (b,))
    less = build.lt(a, b)
    large, small = build.select(less, b, a), build.select(less, a, b)
    found = build.mul(large, _root_of_squares(imm(1, t), build.div(small, large)))
    nothing = build.eq(build.add(a, b), imm(0, t))
    return build.select(nothing, large, found)


def _root_of_squares(a: Node, b: Node) -> Node:
    return Intrinsic(a.type, "sqrt", (build.add(build.mul(a, a), build.mul(b, b)),))


__all__ = ["floor_divide", "hypot", "log2", "log10", "remainder"]
