"""Fixed-point arithmetic written out by hand, found again.

``u8(min(u16(a) + u16(b), 255))`` is what many instruction sets do in one step, on
vectors half as wide. LLVM finds averages, high halves, absolute differences, dot
products and narrow saturated values by itself; what it does not find is looked for
here, in conversions to a narrower type. Each idiom equals its intrinsic for all values.
"""

from __future__ import annotations

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import Int, Type, UInt

#: What rounds a product of two Q15 numbers, and the bits that it then drops.
_HALF, _DROPPED = 1 << 14, 15


def narrowed(e: E.Cast) -> Expr | None:
    """An intrinsic that is equal to a conversion of a wider integer, or None."""
    t, wide = e.type, e.a.type
    if not (t.is_int_or_uint() and wide.is_int_or_uint()) or t.width >= wide.width:
        return None
    if t.count == 1 or t.width not in (8, 16):
        return None
    if t.is_uint():
        return _saturated(e.a, t)
    return _q15(e.a, t) if t.width == 16 else None


def _saturated(e: Expr, t: Type) -> Expr | None:
    """A sum or difference of numbers of the unsigned type `t`, clamped to it."""
    value, low, high = _clamped(e)
    op = None
    if isinstance(value, E.Add) and high == (1 << t.width) - 1 and low in (None, 0):
        op = "saturating_add"
    elif isinstance(value, E.Sub) and low == 0 and value.type.is_int():
        if high is None or high >= (1 << t.width) - 1:
            op = "saturating_sub"
    if op is None:
        return None
    assert isinstance(value, E.Add | E.Sub)
    a, b = _narrow(value.a, t), _narrow(value.b, t)
    return None if a is None or b is None else E.Intrinsic(t, op, (a, b))


def _clamped(e: Expr) -> tuple[Expr, int | None, int | None]:
    """What is clamped, and the constants below and above it."""
    low = high = None
    while isinstance(e, E.Min | E.Max):
        limit = _constant(e.b)
        if limit is None:
            break
        if isinstance(e, E.Min):
            high = limit if high is None else min(high, limit)
        else:
            low = limit if low is None else max(low, limit)
        e = e.a
    return e, low, high


def _constant(e: Expr) -> int | None:
    return build.const_int(e.value if isinstance(e, E.Broadcast) else e)


def _narrow(e: Expr, t: Type) -> Expr | None:
    """`e` in the narrower type that it was widened from."""
    if isinstance(e, E.Cast) and e.a.type is t:
        return e.a
    known = _constant(e)
    if known is not None and known == t.element_of().wrap(known):
        return build.broadcast(build.imm(known, t.element_of()), t.count)
    return None


def _q15(e: Expr, t: Type) -> Expr | None:
    """``i16(clamp((i32(a) * i32(b) + (1 << 14)) >> 15))``: a rounded product.

    Only -1 times -1 leaves the type, which the upper limit must catch unless one of
    them is another constant.
    """
    value, low, high = _clamped(e)
    if high not in (None, (1 << 15) - 1) or low not in (None, -1 << 15):
        return None
    if value.type.element_of() is not Int(32):
        return None
    if isinstance(value, E.Intrinsic) and value.op == "shift_right":
        total, amount = value.args
        if _constant(amount) != _DROPPED:
            return None
    elif isinstance(value, E.Div) and _constant(value.b) == 1 << _DROPPED:
        total = value.a
    else:
        return None
    if not isinstance(total, E.Add) or _constant(total.b) != _HALF:
        return None
    product = total.a
    if not isinstance(product, E.Mul):
        return None
    a, b = _narrow(product.a, t), _narrow(product.b, t)
    if a is None or b is None:
        return None
    if high is None and all(_constant(x) in (None, -1 << 15) for x in (a, b)):
        return None
    by = build.broadcast(build.imm(_DROPPED, UInt(16)), t.count)
    return E.Intrinsic(t, "rounding_mul_shift_right", (a, b, by))
