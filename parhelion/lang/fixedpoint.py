"""Integer arithmetic beyond the operators: widening, halving, rounding, saturating,
bits. Machines have instructions for most of these.

Operands are promoted to one type first, unless the function says otherwise. "Wide" is
the same kind of integer at twice the width; 64-bit integers have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Intrinsic, Reinterpret
from parhelion.lang import ops
from parhelion.lang.convert import (
    literal_as,
    matched,
    node_of,
    node_or_none,
    pair,
)
from parhelion.lang.expr import Expr, ExprLike, wrap
from parhelion.types import Int, Type, TypeCode, UInt


def wide_type(t: Type, what: str) -> Type:
    """The type of twice the width (8 bits for a Bool)."""
    if t.width == 64 or t.is_bfloat() or t.is_handle():
        raise TypeMismatchError(f"{what}: there is no wider type than {t}", at=here())
    return t.with_bits(8 if t.is_bool() else 2 * t.width)


def _same(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """An operation on integers of one type that gives that type."""
    x, y = matched(a, b)
    ops.integers(op, x, y)
    t = x.type
    if t.is_bool():
        byte = UInt(8)
        done = Intrinsic(byte, op, (build.cast(byte, x), build.cast(byte, y)))
        bit = Intrinsic(byte, "bit_and", (done, imm(1, byte)))
        top = done if op.startswith("saturating") else bit
        return wrap(build.ne(top, imm(0, byte)))
    return wrap(Intrinsic(t, op, (x, y)))


def _widening(op: str, a: ExprLike, b: ExprLike) -> Expr:
    x, y = matched(a, b)
    t = x.type
    wide = wide_type(t, op)
    if op == "widening_sub" and wide.is_uint():
        wide = wide.with_code(TypeCode.Int)
    if t.is_float() or t.is_bool():
        x, y = build.cast(wide, x), build.cast(wide, y)
        plain = {
            "widening_add": build.add,
            "widening_sub": build.sub,
            "widening_mul": build.mul,
        }
        return wrap(plain[op](x, y))
    return wrap(Intrinsic(wide, op, (x, y)))


def widening_add(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a + b`` in twice the width of the operands, which cannot overflow.

    Raises TypeMismatchError for 64-bit operands, which have no wider type.

    >>> hl.evaluate(hl.widening_add(hl.u8(200), hl.u8(100)))
    300
    """
    return _widening("widening_add", a, b)


def widening_sub(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a - b`` in twice the width of the operands; it is always signed.

    Raises TypeMismatchError for 64-bit operands, which have no wider type.

    >>> hl.evaluate(hl.widening_sub(hl.u8(100), hl.u8(200)))
    -100
    """
    return _widening("widening_sub", a, b)


def widening_mul(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a * b`` in twice the width of the operands, which cannot overflow.

    If one operand is signed and the other is not, the product is signed, and each is
    widened with its own sign. Raises TypeMismatchError for 64-bit operands, which have
    no wider type.

    >>> hl.evaluate(hl.widening_mul(hl.u8(200), hl.i8(-2)))
    -400
    """
    x, y = pair(a, b)
    if (
        x.type.is_int_or_uint()
        and y.type.is_int_or_uint()
        and x.type.is_int() != y.type.is_int()
    ):
        width = x.type.width if x.type.width > y.type.width else y.type.width
        wide = wide_type(Int(width), "widening_mul")
        return wrap(build.mul(build.cast(wide, x), build.cast(wide, y)))
    return _widening("widening_mul", a, b)


def _widening_shift(op: str, a: ExprLike, b: ExprLike) -> Expr:
    x, y = ops.shift_operands(a, b, op)
    wide = wide_type(x.type, op)
    if x.type.is_bool():
        y = build.cast(y.type.with_bits(8), y)
        plain = op.removeprefix("widening_")
        return wrap(Intrinsic(wide, plain, (build.cast(wide, x), y)))
    return wrap(Intrinsic(wide, op, (x, y)))


def widening_shift_left(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a << b`` in twice the width of `a`.

    Raises TypeMismatchError for 64-bit operands, which have no wider type.

    >>> hl.evaluate(hl.widening_shift_left(hl.u8(200), 4))
    3200
    """
    return _widening_shift("widening_shift_left", a, b)


def widening_shift_right(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a >> b`` in twice the width of `a`.

    Raises TypeMismatchError for 64-bit operands, which have no wider type.

    >>> hl.evaluate(hl.widening_shift_right(hl.u8(200), 4))
    12
    """
    return _widening_shift("widening_shift_right", a, b)


def _widen_right(op: str, a: ExprLike, b: ExprLike) -> Expr:
    x, y = node_or_none(a), node_or_none(b)
    if x is None:
        y = node_of(b)
        x = literal_as(a, wide_type(y.type, op)) if isinstance(a, int) else node_of(a)
    if y is None:
        ops.integers(op, x)
        narrow = x.type.with_bits(x.type.width // 2) if x.type.width > 8 else x.type
        y = literal_as(b, narrow) if isinstance(b, int) else node_of(b)
    ops.integers(op, x, y)
    if wide_type(y.type, op) is not x.type:
        raise TypeMismatchError(
            f"{op}: the first operand must have twice the width of the second, but "
            f"they are {x.type} and {y.type}",
            at=here(),
        )
    if y.type.is_bool():
        plain = {"add": build.add, "sub": build.sub, "mul": build.mul}
        return wrap(plain[op[-3:]](x, build.cast(x.type, y)))
    return wrap(Intrinsic(x.type, op, (x, y)))


def widen_right_add(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a + b`` in the type of `a`, which has twice the width of `b`.

    Raises TypeMismatchError unless `a` has twice the width of `b`.

    >>> hl.evaluate(hl.widen_right_add(hl.u16(300), hl.u8(200)))
    500
    """
    return _widen_right("widen_right_add", a, b)


def widen_right_sub(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a - b`` in the type of `a`, which has twice the width of `b`.

    Raises TypeMismatchError unless `a` has twice the width of `b`.

    >>> hl.evaluate(hl.widen_right_sub(hl.i16(300), hl.i8(-100)))
    400
    """
    return _widen_right("widen_right_sub", a, b)


def widen_right_mul(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a * b`` in the type of `a`, which has twice the width of `b`.

    Raises TypeMismatchError unless `a` has twice the width of `b`.

    >>> hl.evaluate(hl.widen_right_mul(hl.u16(300), hl.u8(200)))
    60000
    """
    return _widen_right("widen_right_mul", a, b)


def halving_add(a: ExprLike, b: ExprLike) -> Expr:
    """Returns the average of two integers, rounded down: ``(a + b) >> 1``.

    The sum in between does not overflow.

    >>> hl.evaluate(hl.halving_add(hl.u8(200), hl.u8(101)))
    150
    """
    return _same("halving_add", a, b)


def halving_sub(a: ExprLike, b: ExprLike) -> Expr:
    """Returns half the difference of two integers, rounded down: ``(a - b) >> 1``.

    The difference in between does not overflow; the result is narrowed to the type.

    >>> hl.evaluate(hl.halving_sub(hl.i8(100), hl.i8(-101)))
    100
    """
    return _same("halving_sub", a, b)


def rounding_halving_add(a: ExprLike, b: ExprLike) -> Expr:
    """Returns the average of two integers, rounded up: ``(a + b + 1) >> 1``.

    The sum in between does not overflow.

    >>> hl.evaluate(hl.rounding_halving_add(hl.u8(200), hl.u8(101)))
    151
    """
    return _same("rounding_halving_add", a, b)


def saturating_add(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a + b`` clamped to the range of the type.

    >>> hl.evaluate(hl.saturating_add(hl.u8(200), hl.u8(100)))
    255
    """
    return _same("saturating_add", a, b)


def saturating_sub(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a - b`` clamped to the range of the type.

    >>> hl.evaluate(hl.saturating_sub(hl.u8(100), hl.u8(200)))
    0
    """
    return _same("saturating_sub", a, b)


def rounding_shift_left(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a << b``; a negative `b` shifts right and rounds to nearest.

    Ties are rounded up.

    >>> hl.evaluate(hl.rounding_shift_left(hl.i32(7), -1))
    4
    """
    return wrap(ops.shift(a, b, "rounding_shift_left", "rounding_shift_left"))


def rounding_shift_right(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a >> b`` rounded to nearest: ``(a + (1 << (b - 1))) >> b``.

    Ties are rounded up, the sum in between does not overflow, and a negative `b` shifts
    left.

    >>> hl.evaluate(hl.rounding_shift_right(hl.i32(7), 1))
    4
    """
    return wrap(ops.shift(a, b, "rounding_shift_right", "rounding_shift_right"))


def _mul_shift(op: str, a: ExprLike, b: ExprLike, q: ExprLike) -> Expr:
    x, y = matched(a, b)
    ops.integers(op, x, y)
    amount = node_or_none(q)
    if amount is None:
        amount = (
            literal_as(q, UInt(x.type.width if x.type.width > 8 else 8))
            if isinstance(q, int)
            else node_of(q)
        )
    if not amount.type.is_uint():
        raise TypeMismatchError(
            f"{op}: the shift must be unsigned, not {amount.type}",
            at=here(),
            hint="cast it with hl.u8, hl.u16 or hl.u32",
        )
    width = amount.type.width if amount.type.width > x.type.width else x.type.width
    t = x.type.with_bits(width)
    return wrap(
        Intrinsic(
            t,
            op,
            (build.cast(t, x), build.cast(t, y), build.cast(UInt(width), amount)),
        )
    )


def mul_shift_right(a: ExprLike, b: ExprLike, q: ExprLike) -> Expr:
    """Returns ``(a * b) >> q`` clamped to the type of `a` and `b`.

    The product has twice the width and does not overflow. Raises TypeMismatchError if
    the operands are not integers or `q` is not unsigned.

    >>> hl.evaluate(hl.mul_shift_right(hl.i16(20000), hl.i16(16384), 15))
    10000
    """
    return _mul_shift("mul_shift_right", a, b, q)


def rounding_mul_shift_right(a: ExprLike, b: ExprLike, q: ExprLike) -> Expr:
    """Returns ``(a * b) >> q`` rounded to nearest and clamped to the type.

    The product has twice the width and does not overflow; ties are rounded up. Raises
    TypeMismatchError if the operands are not integers or `q` is not unsigned.

    >>> hl.evaluate(hl.rounding_mul_shift_right(hl.i16(3), hl.i16(16384), 15))
    2
    """
    return _mul_shift("rounding_mul_shift_right", a, b, q)


def _round_to_zero(op: str, a: ExprLike, b: ExprLike) -> Expr:
    x, y = matched(a, b)
    ops.integers(op, x, y)
    if x.type.is_uint():
        return wrap((ops.div if op.startswith("div") else ops.mod)(wrap(x), wrap(y)))
    return wrap(Intrinsic(x.type, op, (x, y)))


def div_round_to_zero(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``a / b`` of integers, truncated as in C; a division by 0 gives 0.

    >>> hl.evaluate(hl.div_round_to_zero(hl.i32(-7), 2))
    -3
    """
    return _round_to_zero("div_round_to_zero", a, b)


def mod_round_to_zero(a: ExprLike, b: ExprLike) -> Expr:
    """Returns the remainder of `div_round_to_zero`, which has the sign of `a`.

    Where `b` is 0, the remainder is 0.

    >>> hl.evaluate(hl.mod_round_to_zero(hl.i32(-7), 2))
    -1
    """
    return _round_to_zero("mod_round_to_zero", a, b)


def _count(op: str, value: ExprLike) -> Expr:
    n = node_of(value)
    ops.integers(op, n)
    if n.type.is_bool():
        return wrap(n if op == "popcount" else build.lnot(n))
    return wrap(Intrinsic(n.type, op, (n,)))


def popcount(value: ExprLike) -> Expr:
    """Returns the number of one bits, in the type of the integer.

    Raises TypeMismatchError if the value is not an integer.

    >>> hl.evaluate(hl.popcount(hl.u8(0b1011)))
    3
    """
    return _count("popcount", value)


def count_leading_zeros(value: ExprLike) -> Expr:
    """Returns the number of zero bits above the highest one bit.

    For 0 it is the width of the type. Raises TypeMismatchError if the value is not an
    integer.

    >>> hl.evaluate(hl.count_leading_zeros(hl.u8(1)))
    7
    """
    return _count("clz", value)


def count_trailing_zeros(value: ExprLike) -> Expr:
    """Returns the number of zero bits below the lowest one bit.

    For 0 it is the width of the type. Raises TypeMismatchError if the value is not an
    integer.

    >>> hl.evaluate(hl.count_trailing_zeros(hl.u8(8)))
    3
    """
    return _count("ctz", value)


def _as_unsigned(n: Node) -> Node:
    u = UInt(n.type.width)
    return Reinterpret(u, n) if n.type.is_float() else build.cast(u, n)


def _from_unsigned(n: Node, to: Type) -> Expr:
    return wrap(Reinterpret(to, n) if to.is_float() else build.cast(to, n))


def extract_bits(type: Type, value: ExprLike, lsb: ExprLike) -> Expr:
    """Returns some bits of `value`, from bit number `lsb` upwards, read as `type`.

    Bit 0 is the lowest. Bits beyond those of `value` are 0. Raises TypeMismatchError if
    `lsb` is not an integer.

    >>> hl.evaluate(hl.extract_bits(hl.UInt(8), hl.u32(0x12345678), 8))
    86
    """
    n, amount = node_of(value), node_of(lsb)
    ops.integers("extract_bits: the bit number", amount)
    bits = _as_unsigned(n)
    if bits.type.is_bool():
        bits = build.cast(UInt(8), bits)
    count = build.cast(bits.type, amount)
    if not build.is_const(count, 0):
        bits = Intrinsic(bits.type, "shift_right", (bits, count))
    if type.is_bool():
        bits = Intrinsic(bits.type, "bit_and", (bits, imm(1, bits.type)))
    return _from_unsigned(build.cast(UInt(type.width), bits), type)


def concat_bits(values: Sequence[ExprLike]) -> Expr:
    """Returns 1, 2, 4 or 8 values of one type as one wider value, the first lowest.

    The result is of the same kind and of that many times the width. Raises
    TypeMismatchError for another number of values, for values of different types, and
    where there is no type so wide.

    >>> hl.evaluate(hl.concat_bits([hl.u8(0x34), hl.u8(0x12)]))
    4660
    """
    nodes = [node_of(v) for v in values]
    count = len(nodes)
    if count == 0 or count & (count - 1):
        raise TypeMismatchError(
            f"concat_bits takes a number of values that is a power of two, not {count}",
            at=here(),
        )
    t = nodes[0].type
    if any(n.type is not t for n in nodes):
        raise TypeMismatchError("concat_bits takes values of one type", at=here())
    if count == 1:
        return wrap(nodes[0])
    if t.is_bool() or t.is_bfloat() or t.width * count > 64:
        raise TypeMismatchError(
            f"concat_bits of {count} values of {t} has no type", at=here()
        )
    to = t.with_bits(t.width * count)
    wide = UInt(to.width)
    out = build.cast(wide, _as_unsigned(nodes[0]))
    for i, n in enumerate(nodes[1:], 1):
        high = build.cast(wide, _as_unsigned(n))
        moved = Intrinsic(wide, "shift_left", (high, imm(i * t.width, wide)))
        out = Intrinsic(wide, "bit_or", (out, moved))
    return _from_unsigned(out, to)


__all__ = [
    "concat_bits",
    "count_leading_zeros",
    "count_trailing_zeros",
    "div_round_to_zero",
    "extract_bits",
    "halving_add",
    "halving_sub",
    "mod_round_to_zero",
    "mul_shift_right",
    "popcount",
    "rounding_halving_add",
    "rounding_mul_shift_right",
    "rounding_shift_left",
    "rounding_shift_right",
    "saturating_add",
    "saturating_sub",
    "widen_right_add",
    "widen_right_mul",
    "widen_right_sub",
    "widening_add",
    "widening_mul",
    "widening_shift_left",
    "widening_shift_right",
    "widening_sub",
]
