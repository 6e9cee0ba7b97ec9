"""Constructors for compiler code: constants, folded arithmetic, flat blocks.

The functions here take operands of equal types and fold only what is certain and
cheap (constants, neutral elements). They never raise for a user's mistake: `lang`
checks and promotes before it comes here; `simplify` does the real work after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from parhelion.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    Expr,
    FloatImm,
    Imm,
    Intrinsic,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    StringImm,
    Sub,
    float_bits,
)
from parhelion.ir.stmt import Allocate, Block, Stmt
from parhelion.types import BOOL, INT32, INT64, Handle, Type


def imm(value: int | float | bool, type: Type) -> Expr:
    """A constant of `type` (wrapped or rounded to it), broadcast if it is a vector."""
    if type.count > 1:
        return Broadcast(imm(value, type.element_of()), type.count)
    if type.is_float():
        return FloatImm(type, float_bits(value, type))
    if type.is_bool():
        return Imm(type, 1 if value else 0)
    return Imm(type, type.wrap(int(value)))


def int32(value: int) -> Imm:
    return Imm(INT32, INT32.wrap(value))


def int64(value: int) -> Imm:
    return Imm(INT64, INT64.wrap(value))


TRUE = Imm(BOOL, 1)
FALSE = Imm(BOOL, 0)


def const_int(e: Expr) -> int | None:
    """The value of an integer or Bool constant (broadcast or not), else None."""
    if type(e) is Imm:
        return e.value
    if type(e) is Broadcast:
        return const_int(e.value)
    return None


def is_const(e: Expr, value: int | None = None) -> bool:
    """Whether `e` is a scalar or broadcast constant; of that value, if given."""
    if type(e) is Broadcast:
        return is_const(e.value, value)
    if type(e) is Imm:
        return value is None or e.value == value
    if type(e) is FloatImm:
        return value is None or e.value == value
    return False


def is_true(e: Expr) -> bool:
    return const_int(e) == 1 and e.type.is_bool()


def is_false(e: Expr) -> bool:
    return const_int(e) == 0 and e.type.is_bool()


def floor_div(a: int, b: int) -> int:
    """Division of the language: the remainder is in [0, abs(b)); by zero gives 0."""
    if b == 0:
        return 0
    return a // b if b > 0 else -(a // -b)


def floor_mod(a: int, b: int) -> int:
    """Modulo of the language: in [0, abs(b)); by zero gives 0."""
    return a % abs(b) if b else 0


def _fold(a: Expr, b: Expr, f: Callable[[int, int], int]) -> Expr | None:
    if type(a) is Imm and type(b) is Imm:
        return Imm(a.type, a.type.wrap(f(a.value, b.value)))
    return None


def add(a: Expr, b: Expr) -> Expr:
    if a.type.is_int_or_uint():
        if is_const(a, 0):
            return b
        if is_const(b, 0):
            return a
        return _fold(a, b, int.__add__) or Add(a, b)
    return Add(a, b)


def sub(a: Expr, b: Expr) -> Expr:
    if a.type.is_int_or_uint():
        if is_const(b, 0):
            return a
        if a is b:
            return imm(0, a.type)
        return _fold(a, b, int.__sub__) or Sub(a, b)
    return Sub(a, b)


def mul(a: Expr, b: Expr) -> Expr:
    if a.type.is_int_or_uint():
        for x, y in ((a, b), (b, a)):
            if is_const(x, 0):
                return x
            if is_const(x, 1):
                return y
        return _fold(a, b, int.__mul__) or Mul(a, b)
    return Mul(a, b)


def div(a: Expr, b: Expr) -> Expr:
    if a.type.is_int_or_uint():
        if is_const(b, 1):
            return a
        return _fold(a, b, floor_div) or Div(a, b)
    return Div(a, b)


def mod(a: Expr, b: Expr) -> Expr:
    if a.type.is_int_or_uint():
        if is_const(b, 1):
            return imm(0, a.type)
        return _fold(a, b, floor_mod) or Mod(a, b)
    return Mod(a, b)


def minimum(a: Expr, b: Expr) -> Expr:
    if a is b:
        return a
    return _fold(a, b, lambda x, y: x if x <= y else y) or Min(a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    if a is b:
        return a
    return _fold(a, b, lambda x, y: x if x >= y else y) or Max(a, b)


def _compare(make: Any, a: Expr, b: Expr, f: Callable[[int, int], bool]) -> Expr:
    if type(a) is Imm and type(b) is Imm:
        return TRUE if f(a.value, b.value) else FALSE
    return make(a, b)  # type: ignore[no-any-return]


def eq(a: Expr, b: Expr) -> Expr:
    return _compare(EQ, a, b, int.__eq__)


def ne(a: Expr, b: Expr) -> Expr:
    return _compare(NE, a, b, int.__ne__)


def lt(a: Expr, b: Expr) -> Expr:
    return _compare(LT, a, b, int.__lt__)


def le(a: Expr, b: Expr) -> Expr:
    return _compare(LE, a, b, int.__le__)


def gt(a: Expr, b: Expr) -> Expr:
    return lt(b, a)


def ge(a: Expr, b: Expr) -> Expr:
    return le(b, a)


def land(a: Expr, b: Expr) -> Expr:
    """``a and b``"""
    if is_true(a) or is_false(b):
        return b
    if is_true(b) or is_false(a):
        return a
    return a if a is b else And(a, b)


def lor(a: Expr, b: Expr) -> Expr:
    """``a or b``"""
    if is_false(a) or is_true(b):
        return b
    if is_false(b) or is_true(a):
        return a
    return a if a is b else Or(a, b)


def lnot(a: Expr) -> Expr:
    if type(a) is Not:
        return a.a
    if type(a) is Imm:
        return FALSE if a.value else TRUE
    return Not(a)


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """All of them; true for none."""
    out: Expr = TRUE
    for c in conditions:
        out = land(out, c)
    return out


def select(cond: Expr, a: Expr, b: Expr) -> Expr:
    if a is b or is_true(cond):
        return a
    if is_false(cond):
        return b
    return Select(cond, a, b)


def cast(type: Type, a: Expr) -> Expr:
    """`a` converted; folds integer constants, and broadcasts stay outermost."""
    if a.type is type:
        return a
    if isinstance(a, Broadcast):
        return Broadcast(cast(type.element_of(), a.value), a.lanes)
    if isinstance(a, Imm):
        return imm(a.value, type)
    if isinstance(a, FloatImm) and type.is_float():
        return imm(a.value, type)
    return Cast(type, a)


def broadcast(a: Expr, lanes: int) -> Expr:
    """A scalar copied into `lanes` lanes (itself for one lane)."""
    return a if lanes == 1 else Broadcast(a, lanes)


def ramp(base: Expr, stride: Expr, lanes: int) -> Expr:
    return base if lanes == 1 else Ramp(base, stride, lanes)


def likely(a: Expr, masks: str = "") -> Expr:
    """`a`, marked as what mostly holds. `masks`, for the condition of an `If`: what
    vector code masks where it does not hold in all lanes (see `ir.intrinsics`)."""
    how = (StringImm(Handle(), masks),) if masks else ()
    return Intrinsic(a.type, "likely", (a, *how))


def likely_if_innermost(a: Expr) -> Expr:
    return Intrinsic(a.type, "likely_if_innermost", (a,))


def clamp(a: Expr, lo: Expr, hi: Expr) -> Expr:
    """``max(min(a, hi), lo)``"""
    return maximum(minimum(a, hi), lo)


def block(*items: Stmt | None) -> Stmt:
    """The statements in order, as one flat block (itself for one statement).

    Nested blocks are laid flat, unless they hold an `Allocate`, whose life ends with
    its own block.
    """
    flat: list[Stmt] = []
    for item in items:
        if item is None:
            continue
        if type(item) is Block and not any(type(i) is Allocate for i in item.items):
            flat.extend(item.items)
        else:
            flat.append(item)
    if len(flat) == 1 and type(flat[0]) is not Allocate:
        return flat[0]
    return Block(tuple(flat))
