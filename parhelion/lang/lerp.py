"""Linear interpolation, exact for integers."""

from __future__ import annotations

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import cast, imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FloatImm, Intrinsic
from parhelion.lang.convert import node_of
from parhelion.lang.expr import Expr, ExprLike, wrap
from parhelion.lang.functions import same_type
from parhelion.types import Float, Type, UInt

_F32, _F64 = Float(32), Float(64)


def lerp(zero_val: ExprLike, one_val: ExprLike, weight: ExprLike) -> Expr:
    """Returns a value between `zero_val` and `one_val`, as `weight` says.

    It is `zero_val` where `weight` is 0, `one_val` where it is 1, and linear in
    between. Both values have one type, which the result has too. The weight is a float
    in [0, 1], or an unsigned integer whose greatest value stands for 1. Between
    integers, the result is rounded to nearest and exact at both ends.

    Raises TypeMismatchError for values of different types, 64-bit integers, signed
    weights, and constant weights outside [0, 1] between integers.

    >>> hl.evaluate(hl.lerp(hl.u8(100), hl.u8(200), 0.5))
    150
    """
    zero, one = same_type((zero_val, one_val), "lerp")
    w = node_of(weight)
    t = zero.type
    if t.is_handle() or (t.is_int_or_uint() and t.width == 64):
        raise TypeMismatchError(f"lerp between values of type {t}", at=here())
    if not (w.type.is_uint() or w.type.is_float()):
        raise TypeMismatchError(
            f"the weight of lerp is a float or an unsigned integer, not {w.type}",
            at=here(),
            hint="1.0 is the float for one_val; hl.u8(128) is about half",
        )
    if t.is_int_or_uint() and isinstance(w, FloatImm) and not 0 <= w.value <= 1:
        raise TypeMismatchError(
            f"the weight of lerp between integers is {w.value:g}, outside [0, 1]",
            at=here(),
        )
    if t.is_float():
        return wrap(_between_floats(zero, one, w))
    if t.is_bool():
        half = (
            imm(0.5, w.type)
            if w.type.is_float()
            else imm(int(w.type.highest()) // 2, w.type)
        )
        return wrap(build.select(build.lt(half, w), one, zero))
    if t.is_int():
        # In order, from 0 up: flip the sign bit on the way in and out.
        u = UInt(t.width)
        bias = imm(1 << (t.width - 1), u)
        zero = build.sub(cast(u, zero), bias)
        one = build.sub(cast(u, one), bias)
        return wrap(cast(t, build.add(_between_unsigned(zero, one, w), bias)))
    return wrap(_between_unsigned(zero, one, w))


def _between_floats(zero: Node, one: Node, w: Node) -> Node:
    t = zero.type
    if w.type.is_uint():
        # 2**32 - 1 is not a Float(32).
        work = _F64 if t.width == 64 or w.type.width >= 32 else _F32
        w = build.div(cast(work, w), imm(w.type.highest(), work))
        w = cast(t, w)
    # The weight's own precision decides, if it is greater than the values'.
    work = t if t.width >= w.type.width else w.type
    w = cast(work, w)
    rest = build.sub(imm(1.0, work), w)
    total = build.add(build.mul(cast(work, zero), rest), build.mul(cast(work, one), w))
    return cast(t, total)


def _between_unsigned(zero: Node, one: Node, w: Node) -> Node:
    """The rounded mean of 8, 16 or 32-bit unsigned values with weights that add up to
    the greatest value of their type."""
    t = zero.type
    bits = t.width
    w = _weight_of_width(w, t)
    rest = build.sub(imm(t.highest(), t), w)
    wide = UInt(2 * bits)
    total = build.add(
        Intrinsic(wide, "widening_mul", (zero, rest)),
        Intrinsic(wide, "widening_mul", (one, w)),
    )
    # Exact division by 2**bits - 1, rounded to nearest.
    amount = imm(bits, wide)

    def down(v: Node) -> Node:
        return Intrinsic(wide, "rounding_shift_right", (v, amount))

    return cast(t, down(build.add(down(total), total)))


def _weight_of_width(w: Node, t: Type) -> Node:
    """The weight as an integer of type `t`, its greatest value standing for 1."""
    if w.type.is_float():
        work = _F64 if t.width == 32 or w.type.width == 64 else _F32
        return cast(t, build.mul(imm(t.highest(), work), cast(work, w)))
    given = w.type.width
    if given == t.width:
        return w
    if given < t.width:
        # (2**n - 1) / (2**m - 1): every m-th bit set.
        factor = int(t.highest()) // ((1 << given) - 1)
        return build.mul(cast(t, w), imm(factor, t))
    factor = int(w.type.highest()) // int(t.highest())
    return cast(t, build.div(w, imm(factor, w.type)))
