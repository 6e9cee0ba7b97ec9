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
from parhelion.ir.expr import FloatImm, Imm, Intrinsic, Reinterpret
from parhelion.lang import ops
from parhelion.lang.convert import (
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
    """``select(c, a, b)`` is `a` where `c` holds, else `b`; ``select(c0, v0, c1, v1,
    …, v)`` is the value after the first condition that holds, else the last one.

    All values are computed. They have one type, which literals take. With Tuples (or
    references to Funcs with several values) the result is a Tuple; the condition may
    then be a Tuple of conditions. Raises TypeMismatchError.
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
        out = build.select(_condition(c), n, out)
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
    """The `id`-th of `values` (counted from 0); out of range gives the last one.

    ``hl.mux(c, [r, g, b])`` makes a dimension out of separate expressions. Values of
    one type give an `Expr`; a sequence of Tuples gives a Tuple.
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


def cast(type: Type, value: ExprLike) -> Expr:
    """`value` converted to `type`.

    Float to integer truncates toward zero (out of range is unspecified, but never
    traps); integer to narrower integer wraps, literals too; to Bool is ``!= 0``.
    """
    if check_type(type, "hl.cast(type, value) takes").is_handle():
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
    """``cast(Int(8), value)``"""
    return cast(Int(8), value)


def i16(value: ExprLike) -> Expr:
    """``cast(Int(16), value)``"""
    return cast(Int(16), value)


def i32(value: ExprLike) -> Expr:
    """``cast(Int(32), value)``"""
    return cast(INT32, value)


def i64(value: ExprLike) -> Expr:
    """``cast(Int(64), value)``"""
    return cast(INT64, value)


def u8(value: ExprLike) -> Expr:
    """``cast(UInt(8), value)``"""
    return cast(UInt(8), value)


def u16(value: ExprLike) -> Expr:
    """``cast(UInt(16), value)``"""
    return cast(UInt(16), value)


def u32(value: ExprLike) -> Expr:
    """``cast(UInt(32), value)``"""
    return cast(UInt(32), value)


def u64(value: ExprLike) -> Expr:
    """``cast(UInt(64), value)``"""
    return cast(UInt(64), value)


def f16(value: ExprLike) -> Expr:
    """``cast(Float(16), value)``"""
    return cast(Float(16), value)


def f32(value: ExprLike) -> Expr:
    """``cast(Float(32), value)``"""
    return cast(Float(32), value)


def f64(value: ExprLike) -> Expr:
    """``cast(Float(64), value)``: a Python float keeps all its bits."""
    return cast(Float(64), value)


def saturating_cast(type: Type, value: ExprLike) -> Expr:
    """`value` converted to `type`, clamped to its range; NaN gives 0 in an integer.

    Floats round toward zero first. To a float type it is a plain `cast`, which gives
    infinity beyond the greatest finite value.
    """
    if check_type(type, "hl.saturating_cast(type, value) takes").is_handle():
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
    """``saturating_cast(Int(8), value)``"""
    return saturating_cast(Int(8), value)


def i16_sat(value: ExprLike) -> Expr:
    """``saturating_cast(Int(16), value)``"""
    return saturating_cast(Int(16), value)


def i32_sat(value: ExprLike) -> Expr:
    """``saturating_cast(Int(32), value)``"""
    return saturating_cast(INT32, value)


def i64_sat(value: ExprLike) -> Expr:
    """``saturating_cast(Int(64), value)``"""
    return saturating_cast(INT64, value)


def u8_sat(value: ExprLike) -> Expr:
    """``saturating_cast(UInt(8), value)``"""
    return saturating_cast(UInt(8), value)


def u16_sat(value: ExprLike) -> Expr:
    """``saturating_cast(UInt(16), value)``"""
    return saturating_cast(UInt(16), value)


def u32_sat(value: ExprLike) -> Expr:
    """``saturating_cast(UInt(32), value)``"""
    return saturating_cast(UInt(32), value)


def u64_sat(value: ExprLike) -> Expr:
    """``saturating_cast(UInt(64), value)``"""
    return saturating_cast(UInt(64), value)


def reinterpret(type: Type, value: ExprLike) -> Expr:
    """The bits of `value` read as `type`, which has as many of them."""
    check_type(type, "hl.reinterpret(type, value) takes")
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
    """``max(min(value, max), min)``, of `value`'s type; so `min` wins if they cross."""
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
    """The least of two or more values, promoted to one type. NaN on either side of a
    pair gives the left one: ``min(a, b)`` is ``select(b < a, b, a)``."""
    return _fold("min", values)


def max(*values: ExprLike) -> Expr:
    """The greatest of two or more values; ``max(a, b)`` is ``select(b > a, b, a)``."""
    return _fold("max", values)


def abs(value: ExprLike) -> Expr:
    """The magnitude. Of a signed integer it is unsigned, so that -128 has one."""
    return wrap(ops.magnitude(value))


def absd(a: ExprLike, b: ExprLike) -> Expr:
    """``|a - b|`` without overflow: unsigned for integers."""
    x, y = matched_all((a, b))
    t = x.type
    if t.is_bool():
        return wrap(build.ne(x, y))
    if t.is_float():
        return wrap(Intrinsic(t, "abs", (build.sub(x, y),)))
    return wrap(Intrinsic(UInt(t.width), "absd", (x, y)))


def _type_min(self: Type) -> Expr:
    return wrap(imm(self.lowest(), self))


def _type_max(self: Type) -> Expr:
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
