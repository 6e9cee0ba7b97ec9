"""Fixed-point intrinsics as expressions of basic nodes: additions, shifts, selects.

These are the definitions: an evaluator that knows only basic nodes computes an
intrinsic by them, and tests hold the code generator's shorter sequences against them.
All work on vectors lane by lane, and none needs more than twice the type's width.
"""

from __future__ import annotations

from collections.abc import Callable

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Intrinsic
from parhelion.types import Type, TypeCode

_Args = tuple[Expr, ...]


def lower_intrinsic(op: str, args: _Args, type: Type) -> Expr | None:
    """The intrinsic `op` with result `type` in basic nodes; None if it is not a
    fixed-point one (or is itself basic: bit operations and shifts)."""
    lower = _TABLE.get(op)
    return lower(args, type) if lower is not None else None


def unsigned(t: Type) -> Type:
    """The unsigned integer type of the same shape."""
    return Type(TypeCode.UInt, t.width, t.count)


def _bits(op: str, a: Expr, b: Expr) -> Expr:
    return Intrinsic(a.type, op, (a, b))


def _imm(value: int | float, like: Expr) -> Expr:
    return build.imm(value, like.type)


def shift_right(a: Expr, bits: int) -> Expr:
    """`a` shifted right by a constant."""
    return Intrinsic(a.type, "shift_right", (a, _imm(bits, a)))


def _widening(kind: Callable[[Expr, Expr], Expr]) -> Callable[[_Args, Type], Expr]:
    def lower(args: _Args, t: Type) -> Expr:
        a, b = args
        return kind(build.cast(t, a), build.cast(t, b))

    return lower


def _widen_right(kind: Callable[[Expr, Expr], Expr]) -> Callable[[_Args, Type], Expr]:
    def lower(args: _Args, t: Type) -> Expr:
        a, b = args
        return kind(a, build.cast(t, b))

    return lower


def _widening_shift(op: str) -> Callable[[_Args, Type], Expr]:
    def lower(args: _Args, t: Type) -> Expr:
        a, b = args
        return Intrinsic(t, op, (build.cast(t, a), _amount(b, t)))

    return lower


def _amount(b: Expr, t: Type) -> Expr:
    """A shift amount in the width of `t`, keeping its own signedness."""
    return build.cast(Type(b.type.kind, t.width, t.count), b)


def _halving_add(args: _Args, t: Type) -> Expr:
    a, b = args
    return E.Add(_bits("bit_and", a, b), shift_right(_bits("bit_xor", a, b), 1))


def _rounding_halving_add(args: _Args, t: Type) -> Expr:
    a, b = args
    return E.Sub(_bits("bit_or", a, b), shift_right(_bits("bit_xor", a, b), 1))


def _halving_sub(args: _Args, t: Type) -> Expr:
    a, b = args
    one = _imm(1, a)
    borrow = _bits(
        "bit_and", _bits("bit_and", _bits("bit_xor", a, _imm(-1, a)), b), one
    )
    return E.Sub(E.Sub(shift_right(a, 1), shift_right(b, 1)), borrow)


def _rounding_shift_right(args: _Args, t: Type) -> Expr:
    # (a + half) >> b is (a >> b) plus the last bit that was shifted out.
    a, b = args
    known = build.const_int(b)
    if known == 0:
        return a
    shifted = Intrinsic(t, "shift_right", (a, b))
    if known is not None and known < 0:
        return shifted
    before = Intrinsic(t, "shift_right", (a, build.sub(b, _imm(1, b))))
    last = _bits("bit_and", before, _imm(1, a))
    if known is None:
        last = E.Select(E.LT(_imm(0, b), b), last, _imm(0, a))
    return E.Add(shifted, last)


def _rounding_shift_left(args: _Args, t: Type) -> Expr:
    a, b = args
    shifted = Intrinsic(t, "shift_left", (a, b))
    known = build.const_int(b)
    if b.type.is_uint() or (known is not None and known >= 0):
        return shifted
    before = Intrinsic(t, "shift_left", (a, build.add(b, _imm(1, b))))
    last = _bits("bit_and", before, _imm(1, a))
    return E.Add(shifted, E.Select(E.LT(b, _imm(0, b)), last, _imm(0, a)))


def _saturating_add(args: _Args, t: Type) -> Expr:
    a, b = args
    total = E.Add(a, b)
    high = _imm(int(t.highest()), a)
    if t.is_uint():
        return E.Select(E.LT(total, a), high, total)
    wrong = _bits("bit_and", _bits("bit_xor", a, total), _bits("bit_xor", b, total))
    return _limit_if(wrong, a, total)


def _saturating_sub(args: _Args, t: Type) -> Expr:
    a, b = args
    total = E.Sub(a, b)
    if t.is_uint():
        return E.Select(E.LT(a, b), _imm(0, a), total)
    wrong = _bits("bit_and", _bits("bit_xor", a, b), _bits("bit_xor", a, total))
    return _limit_if(wrong, a, total)


def _limit_if(wrong: Expr, a: Expr, total: Expr) -> Expr:
    """`total`, or if `wrong` is negative the limit on the side of `a`."""
    t = a.type
    zero = _imm(0, a)
    low, high = _imm(int(t.lowest()), a), _imm(int(t.highest()), a)
    return E.Select(E.LT(wrong, zero), E.Select(E.LT(a, zero), low, high), total)


def _saturating_cast(args: _Args, t: Type) -> Expr:
    (a,) = args
    old = a.type
    if t.is_float() or t.is_bool() or old.is_handle():
        return build.cast(t, a)
    if old.is_float():
        return _saturate_float(a, t)
    low, high = int(t.lowest()), int(t.highest())
    clamped = a
    if old.lowest() < low:
        clamped = E.Max(clamped, _imm(low, a))
    if old.highest() > high:
        clamped = E.Min(clamped, _imm(high, a))
    return build.cast(t, clamped)


def _saturate_float(a: Expr, t: Type) -> Expr:
    # Compare with powers of two, which every format holds or overflows to infinity.
    below, above = float(t.lowest()), float(int(t.highest()) + 1)
    low, high = build.imm(int(t.lowest()), t), build.imm(int(t.highest()), t)
    inside = build.cast(t, a)
    if not t.is_uint():
        inside = E.Select(E.LE(a, _imm(below, a)), low, inside)
        inside = E.Select(E.NE(a, a), build.imm(0, t), inside)
    else:
        # Also where `a` is NaN.
        inside = E.Select(E.LT(_imm(0, a), a), inside, low)
    return E.Select(E.LE(_imm(above, a), a), high, inside)


def _mul_shift_right(args: _Args, t: Type) -> Expr | None:
    return _mul_shift(args, t, "shift_right")


def _rounding_mul_shift_right(args: _Args, t: Type) -> Expr | None:
    return _mul_shift(args, t, "rounding_shift_right")


def _mul_shift(args: _Args, t: Type, op: str) -> Expr | None:
    a, b, c = args
    if t.width > 32 or t.is_bool():
        return None
    wide = t.with_bits(2 * t.width)
    product = E.Mul(build.cast(wide, a), build.cast(wide, b))
    amount = _amount(c, wide)
    if op == "shift_right":
        shifted: Expr = Intrinsic(wide, op, (product, amount))
    else:
        shifted = _rounding_shift_right((product, amount), wide)
    return _saturating_cast((shifted,), t)


def _absolute(args: _Args, t: Type) -> Expr:
    (a,) = args
    if a.type.is_uint() or a.type.is_float():
        return Intrinsic(t, "abs", args)
    negative = E.LT(a, _imm(0, a))
    return build.cast(t, E.Select(negative, E.Sub(_imm(0, a), a), a))


def _distance(args: _Args, t: Type) -> Expr:
    a, b = args
    if t.is_float():
        return Intrinsic(t, "abs", (E.Sub(a, b),))
    return build.cast(t, E.Select(E.LT(a, b), E.Sub(b, a), E.Sub(a, b)))


def _truncated_quotient(args: _Args, t: Type) -> Expr:
    a, b = args
    if t.is_uint():
        return E.Div(a, b)
    size = _unsigned_quotient(a, b)
    negative = E.LT(_bits("bit_xor", a, b), _imm(0, a))
    return E.Select(negative, E.Sub(_imm(0, a), size), size)


def _unsigned_quotient(a: Expr, b: Expr) -> Expr:
    u = unsigned(a.type)
    x, y = _absolute((a,), u), _absolute((b,), u)
    return build.cast(a.type, E.Div(x, y))


def _truncated_remainder(args: _Args, t: Type) -> Expr:
    a, b = args
    if t.is_uint():
        return E.Mod(a, b)
    quotient = _truncated_quotient(args, t)
    rest = E.Sub(a, E.Mul(quotient, b))
    return E.Select(E.EQ(b, _imm(0, b)), _imm(0, a), rest)


_TABLE: dict[str, Callable[[_Args, Type], Expr | None]] = {
    "abs": _absolute,
    "absd": _distance,
    "div_round_to_zero": _truncated_quotient,
    "mod_round_to_zero": _truncated_remainder,
    "widening_add": _widening(E.Add),
    "widening_sub": _widening(E.Sub),
    "widening_mul": _widening(E.Mul),
    "widening_shift_left": _widening_shift("shift_left"),
    "widening_shift_right": _widening_shift("shift_right"),
    "widen_right_add": _widen_right(E.Add),
    "widen_right_sub": _widen_right(E.Sub),
    "widen_right_mul": _widen_right(E.Mul),
    "halving_add": _halving_add,
    "halving_sub": _halving_sub,
    "rounding_halving_add": _rounding_halving_add,
    "rounding_shift_left": _rounding_shift_left,
    "rounding_shift_right": _rounding_shift_right,
    "saturating_add": _saturating_add,
    "saturating_sub": _saturating_sub,
    "saturating_cast": _saturating_cast,
    "mul_shift_right": _mul_shift_right,
    "rounding_mul_shift_right": _rounding_mul_shift_right,
}
