"""Choosing, converting and comparing values: select, mux, cast, clamp, min, max, …

Names and argument orders are Halide's. Every function takes what an operator takes:
expressions, Python numbers (weakly typed) and NumPy scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from parhelion.errors import LiteralError, TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FloatImm, Imm, Intrinsic, Reinterpret, Select
from parhelion.lang import ops
from parhelion.lang.convert import (
    TypeLike,
    check_type,
    default_type,
    is_literal,
    literal_as,
    matched_all,
    node_of,
    node_or_none,
    not_a_value,
    promote_types,
)
from parhelion.lang.expr import Expr, ExprLike, logical_not, wrap
from parhelion.lang.tuples import Tuple, TupleLike, values_of
from parhelion.types import BOOL, INT32, INT64, Float, Int, Type, UInt


def _condition(c: object) -> Node:
    if isinstance(c, bool):
        return build.TRUE if c else build.FALSE
    n = node_of(c)
    if not n.type.is_bool():
        raise TypeMismatchError(
            f"a condition is a Bool, not a value of type {n.type}",
            at=here(),
            hint="compare it: value != 0",
        )
    return n


def same_type(values: Sequence[object], what: str) -> list[Node]:
    """Nodes of one type: literals adapt to the typed values, which must agree."""
    nodes = [node_or_none(v) for v in values]
    t: Type | None = None
    for n in nodes:
        if n is None:
            continue
        if t is not None and n.type is not t:
            raise TypeMismatchError(
                f"{what} needs values of one type, not {t} and {n.type}",
                at=here(),
                hint="cast them to a common type, e.g. hl.i32(...)",
            )
        t = n.type
    if t is None:
        for v in values:
            if not isinstance(v, int | float):
                raise not_a_value(v)
            d = default_type(v)
            t = d if t is None else promote_types(t, d)
    assert t is not None
    out: list[Node] = []
    for v, n in zip(values, nodes, strict=True):
        if n is None:
            if not isinstance(v, int | float):
                raise not_a_value(v)
            n = literal_as(v, t)
            if n.type is not t:
                raise TypeMismatchError(
                    f"{what} needs values of one type, not {t} and the literal {v!r}",
                    at=here(),
                    hint="cast the integer values to a float: hl.f32(...)",
                )
        out.append(n)
    return out


@overload
def select(
    condition: ExprLike | TupleLike, true_value: TupleLike, false_value: TupleLike, /
) -> Tuple: ...
@overload
def select(condition: ExprLike, true_value: ExprLike, /, *rest: ExprLike) -> Expr: ...
def select(*args: object) -> Expr | Tuple:
    """Returns the value that stands after the first condition that holds.

    ``select(c, a, b)`` is `a` where `c` holds and `b` elsewhere. ``select(c0, v0, c1,
    v1, …, v)`` tests its conditions in order and is `v` where none of them holds. All
    values are computed, also those that are not chosen.

    The values must have one type; Python numbers take the type of the others. Tuples,
    and references to Funcs with several values, give a Tuple; the condition may then be
    a Tuple of conditions. Raises TypeMismatchError for values of different types and
    for conditions that are not Bool.

    >>> hl.evaluate(hl.select(hl.i32(3) > 2, 10, 20))
    10
    """
    if len(args) < 3 or len(args) % 2 == 0:
        raise TypeMismatchError(
            f"select takes an odd number of arguments, at least 3, not {len(args)}",
            at=here(),
            hint="condition, value, condition, value, …, and the value otherwise",
        )
    conditions, values = list(args[0:-1:2]), [*args[1:-1:2], args[-1]]
    if any(values_of(v) is not None for v in values):
        return _select_tuple(conditions, values)
    nodes = same_type(values, "select")
    out = nodes[-1]
    for c, n in zip(reversed(conditions), reversed(nodes[:-1]), strict=True):
        condition = _condition(c)
        # An update walks over the domain of its condition, if both values are one, too.
        is_kept = n is out and ops.mentions_rvar(condition)
        choose = Select if is_kept else build.select
        out = choose(condition, n, out)
    return wrap(out)


def _select_tuple(conditions: list[object], values: list[object]) -> Tuple:
    columns = [values_of(v) for v in values]
    sizes = {1 if c is None else len(c) for c in columns}
    if None in columns or len(sizes) != 1:
        raise TypeMismatchError(
            "select between Tuples needs Tuples of one size", at=here()
        )
    (size,) = sizes
    out: list[Expr] = []
    for i in range(size):
        flat: list[object] = []
        for c, column in zip(conditions, columns, strict=False):
            several = values_of(c)
            if several is not None and len(several) != size:
                raise TypeMismatchError(
                    f"select with a Tuple of {len(several)} conditions between "
                    f"Tuples of {size} values",
                    at=here(),
                )
            assert column is not None
            flat += [c if several is None else several[i], column[i]]
        last = columns[-1]
        assert last is not None
        chosen = select(*flat, last[i])  # type: ignore[call-overload]
        assert isinstance(chosen, Expr)
        out.append(chosen)
    return Tuple(*out)


@overload
def mux(id: ExprLike, values: Sequence[TupleLike]) -> Tuple: ...
@overload
def mux(id: ExprLike, values: Sequence[ExprLike] | Tuple) -> Expr: ...
def mux(id: ExprLike, values: object) -> Expr | Tuple:
    """Returns the value number `id` of a sequence of values, counted from 0.

    An `id` out of range gives the last value. ``hl.mux(c, [r, g, b])`` joins separate
    expressions along a new dimension. Values of one type give an `Expr`; a sequence of
    Tuples gives a Tuple. Raises TypeMismatchError if there are no values, if their
    types differ, or if `id` is not an integer.

    >>> f = hl.Func()
    >>> f[x] = hl.mux(x, [7, 8, 9])
    >>> np.asarray(f.realize([4])).tolist()
    [7, 8, 9, 9]
    """
    choices = values_of(values)
    if not choices:
        raise TypeMismatchError("mux needs a sequence of at least one value", at=here())
    n = node_of(id)
    ops.integers("the selector of mux", n)
    index = wrap(build.cast(INT32, n) if n.type.width < 32 else n)
    args: list[object] = []
    for i, v in enumerate(choices[:-1]):
        args += [index == i, v]
    last = choices[-1]
    if args:
        return select(*args, last)  # type: ignore[call-overload, no-any-return]
    several = values_of(last)
    return wrap(node_of(last)) if several is None else Tuple(*several)  # type: ignore[arg-type]


def cast(type: TypeLike, value: ExprLike) -> Expr:
    """Returns `value` converted to `type`, such as ``hl.UInt(8)`` or ``"uint8"``.

    A float becomes an integer by truncation toward zero; where the integer type cannot
    hold it, the result is unspecified, but nothing traps. An integer that is too wide
    wraps, also if it is a Python number. A cast to Bool is ``value != 0``.

    Raises TypeMismatchError for casts from or to Handle, and LiteralError for a Python
    float that is infinite or NaN and would become an integer.

    >>> hl.evaluate(hl.cast(hl.UInt(8), 300))
    44
    """
    type = check_type(type, "hl.cast(type, value) takes")
    if type.is_handle():
        raise TypeMismatchError(f"no value can be cast to {type}", at=here())
    if is_literal(value):
        assert isinstance(value, int | float)
        if type.is_int_or_uint() and not type.is_bool() and isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                raise LiteralError(f"{value!r} has no value in {type}", at=here())
            value = int(value)
        return wrap(imm(value, type))
    n = node_of(value)
    if n.type.is_handle():
        raise TypeMismatchError(f"a value of type {n.type} cannot be cast", at=here())
    if isinstance(n, FloatImm) and type.is_bool():
        return wrap(build.TRUE if n.value != 0 else build.FALSE)
    return wrap(build.cast(type, n))


def i8(value: ExprLike) -> Expr:
    """Returns `value` converted to Int(8): ``cast(Int(8), value)``.

    >>> hl.evaluate(hl.i8(300))
    44
    """
    return cast(Int(8), value)


def i16(value: ExprLike) -> Expr:
    """Returns `value` converted to Int(16): ``cast(Int(16), value)``.

    >>> hl.evaluate(hl.i16(2.9))
    2
    """
    return cast(Int(16), value)


def i32(value: ExprLike) -> Expr:
    """Returns `value` converted to Int(32): ``cast(Int(32), value)``.

    >>> hl.evaluate(hl.i32(-1.5))
    -1
    """
    return cast(INT32, value)


def i64(value: ExprLike) -> Expr:
    """Returns `value` converted to Int(64): ``cast(Int(64), value)``.

    >>> hl.evaluate(hl.i64(7))
    7
    """
    return cast(INT64, value)


def u8(value: ExprLike) -> Expr:
    """Returns `value` converted to UInt(8): ``cast(UInt(8), value)``.

    >>> hl.evaluate(hl.u8(-1))
    255
    """
    return cast(UInt(8), value)


def u16(value: ExprLike) -> Expr:
    """Returns `value` converted to UInt(16): ``cast(UInt(16), value)``.

    >>> hl.evaluate(hl.u16(65537))
    1
    """
    return cast(UInt(16), value)


def u32(value: ExprLike) -> Expr:
    """Returns `value` converted to UInt(32): ``cast(UInt(32), value)``.

    >>> hl.evaluate(hl.u32(-1))
    4294967295
    """
    return cast(UInt(32), value)


def u64(value: ExprLike) -> Expr:
    """Returns `value` converted to UInt(64): ``cast(UInt(64), value)``.

    >>> hl.evaluate(hl.u64(-1))
    18446744073709551615
    """
    return cast(UInt(64), value)


def f16(value: ExprLike) -> Expr:
    """Returns `value` converted to Float(16): ``cast(Float(16), value)``.

    >>> hl.evaluate(hl.f16(2049))
    2048.0
    """
    return cast(Float(16), value)


def f32(value: ExprLike) -> Expr:
    """Returns `value` converted to Float(32): ``cast(Float(32), value)``.

    >>> hl.evaluate(hl.f32(hl.u8(3)) / 2)
    1.5
    """
    return cast(Float(32), value)


def f64(value: ExprLike) -> Expr:
    """Returns `value` converted to Float(64): ``cast(Float(64), value)``.

    A Python float keeps all its bits.

    >>> hl.evaluate(hl.f64(0.1))
    0.1
    """
    return cast(Float(64), value)


def saturating_cast(type: TypeLike, value: ExprLike) -> Expr:
    """Returns `value` converted to `type` and clamped to its range.

    Floats are truncated toward zero first; NaN becomes 0 in an integer type. To a float
    type this is a plain `cast`, which gives infinity beyond the greatest finite value.
    Raises TypeMismatchError if `type` is Handle.

    >>> hl.evaluate(hl.saturating_cast(hl.UInt(8), 300))
    255
    """
    type = check_type(type, "hl.saturating_cast(type, value) takes")
    if type.is_handle():
        raise TypeMismatchError(f"no value can be cast to {type}", at=here())
    n = node_of(value)
    t = n.type
    if type is t or type.can_represent(t):
        return wrap(build.cast(type, n))
    if type.is_bool():
        return cast(type, saturating_cast(UInt(8), value))
    if isinstance(n, Imm) and type.is_int_or_uint():
        lo, hi = int(type.lowest()), int(type.highest())
        return wrap(imm(lo if n.value < lo else hi if n.value > hi else n.value, type))
    if type.is_float():
        return wrap(build.cast(type, n))
    if t.is_bool():
        return wrap(build.cast(type, n))
    return wrap(Intrinsic(type, "saturating_cast", (n,)))


def i8_sat(value: ExprLike) -> Expr:
    """Returns `value` as Int(8), clamped to its range: see `saturating_cast`.

    >>> hl.evaluate(hl.i8_sat(300))
    127
    """
    return saturating_cast(Int(8), value)


def i16_sat(value: ExprLike) -> Expr:
    """Returns `value` as Int(16), clamped to its range: see `saturating_cast`.

    >>> hl.evaluate(hl.i16_sat(2.9))
    2
    """
    return saturating_cast(Int(16), value)


def i32_sat(value: ExprLike) -> Expr:
    """Returns `value` as Int(32), clamped to its range: see `saturating_cast`.

    >>> hl.evaluate(hl.i32_sat(-1.5))
    -1
    """
    return saturating_cast(INT32, value)


def i64_sat(value: ExprLike) -> Expr:
    """Returns `value` as Int(64), clamped to its range: see `saturating_cast`.

    >>> hl.evaluate(hl.i64_sat(1e30))
    9223372036854775807
    """
    return saturating_cast(INT64, value)


def u8_sat(value: ExprLike) -> Expr:
    """Returns `value` as UInt(8), clamped to its range: see `saturating_cast`.

    >>> hl.evaluate(hl.u8_sat(-1))
    0
    """
    return saturating_cast(UInt(8), value)


def u16_sat(value: ExprLike) -> Expr:
    """Returns `value` as UInt(16), clamped to its range: see `saturating_cast`.

    >>> hl.evaluate(hl.u16_sat(65537))
    65535
    """
    return saturating_cast(UInt(16), value)


def u32_sat(value: ExprLike) -> Expr:
    """Returns `value` as UInt(32), clamped to its range: see `saturating_cast`.

    >>> hl.evaluate(hl.u32_sat(-1))
    0
    """
    return saturating_cast(UInt(32), value)


def u64_sat(value: ExprLike) -> Expr:
    """Returns `value` as UInt(64), clamped to its range: see `saturating_cast`.

    >>> hl.evaluate(hl.u64_sat(-1))
    0
    """
    return saturating_cast(UInt(64), value)


def reinterpret(type: TypeLike, value: ExprLike) -> Expr:
    """Returns the bits of `value` read as a value of `type`.

    Raises TypeMismatchError unless both types have the same number of bits.

    >>> hex(hl.evaluate(hl.reinterpret(hl.UInt(32), hl.f32(1.0))))
    '0x3f800000'
    """
    type = check_type(type, "hl.reinterpret(type, value) takes")
    n = node_of(value)
    t = n.type
    if t.width != type.width or t.is_handle() != type.is_handle():
        raise TypeMismatchError(
            f"reinterpret from {t}, which has {t.width} bits, to {type}, which has "
            f"{type.width}",
            at=here(),
        )
    if t is type:
        return wrap(n)
    if t.is_int_or_uint() and type.is_int_or_uint():
        return wrap(build.cast(type, n))
    return wrap(Reinterpret(type, n))


def bounds_in_type(t: Type, what: str, *bounds: object) -> list[Node]:
    """Bounds of a value of type `t`, converted to it; they must be exact in it."""
    out = []
    for b in bounds:
        n = node_or_none(b)
        if n is None:
            if not isinstance(b, int | float):
                raise not_a_value(b)
            n = literal_as(b, t)
        if n.type is not t and not t.can_represent(n.type):
            raise TypeMismatchError(
                f"{what}: a bound of type {n.type} does not fit the value's type {t}",
                at=here(),
                hint="cast the bound, or the value",
            )
        out.append(build.cast(t, n))
    return out


def clamp(value: ExprLike, min: ExprLike, max: ExprLike) -> Expr:
    """Returns `value` limited to [min, max], in the type of `value`.

    It is ``max(min(value, max), min)``: where `min` is greater than `max`, the result
    is `min`. Raises TypeMismatchError if that type cannot hold a bound.

    >>> hl.evaluate(hl.clamp(hl.i32(12), 0, 9))
    9
    """
    if is_literal(value):
        v, lo, hi = same_type((value, min, max), "clamp")
    else:
        v = node_of(value)
        lo, hi = bounds_in_type(v.type, "clamp", min, max)
    return wrap(ops.maximum(ops.minimum(v, hi), lo))


def _fold(what: str, values: tuple[ExprLike, ...]) -> Expr:
    if len(values) < 2:
        raise TypeMismatchError(f"{what} takes at least two values", at=here())
    nodes = matched_all(values)
    step = ops.minimum if what == "min" else ops.maximum
    out = nodes[-1]
    for n in reversed(nodes[:-1]):
        out = step(n, out)
    return wrap(out)


def min(*values: ExprLike) -> Expr:
    """Returns the least of two or more values, promoted to one type.

    ``min(a, b)`` is ``select(b < a, b, a)``, so that a NaN on either side gives `a`.
    Raises TypeMismatchError for fewer than two values.

    >>> hl.evaluate(hl.min(hl.i32(3), 7, 5))
    3
    """
    return _fold("min", values)


def max(*values: ExprLike) -> Expr:
    """Returns the greatest of two or more values, promoted to one type.

    ``max(a, b)`` is ``select(b > a, b, a)``, so that a NaN on either side gives `a`.
    Raises TypeMismatchError for fewer than two values.

    >>> hl.evaluate(hl.max(hl.i32(3), 7, 5))
    7
    """
    return _fold("max", values)


def abs(value: ExprLike) -> Expr:
    """Returns the magnitude of a value.

    The magnitude of a signed integer is unsigned and of the same width, so that -128
    has one in 8 bits.

    >>> hl.evaluate(hl.abs(hl.i8(-128)))
    128
    """
    return wrap(ops.magnitude(value))


def absd(a: ExprLike, b: ExprLike) -> Expr:
    """Returns ``|a - b|``, which does not overflow: it is unsigned for integers.

    >>> hl.evaluate(hl.absd(hl.i8(-100), hl.i8(100)))
    200
    """
    x, y = matched_all((a, b))
    t = x.type
    if t.is_bool():
        return wrap(build.ne(x, y))
    if t.is_float():
        return wrap(Intrinsic(t, "abs", (build.sub(x, y),)))
    return wrap(Intrinsic(UInt(t.width), "absd", (x, y)))


def _type_min(self: Type) -> Expr:
    """Returns the least value of one lane, as an expression."""
    return wrap(imm(self.lowest(), self))


def _type_max(self: Type) -> Expr:
    """Returns the greatest value of one lane, as an expression."""
    return wrap(imm(self.highest(), self))


# `Type` is below the language and cannot build what these two of its methods give.
Type.min = _type_min  # type: ignore[method-assign]
Type.max = _type_max  # type: ignore[method-assign]

__all__ = [
    "BOOL",
    "abs",
    "absd",
    "cast",
    "clamp",
    "f16",
    "f32",
    "f64",
    "i8",
    "i8_sat",
    "i16",
    "i16_sat",
    "i32",
    "i32_sat",
    "i64",
    "i64_sat",
    "logical_not",
    "max",
    "min",
    "mux",
    "reinterpret",
    "saturating_cast",
    "select",
    "u8",
    "u8_sat",
    "u16",
    "u16_sat",
    "u32",
    "u32_sat",
    "u64",
    "u64_sat",
]
