"""How the interpreter holds numbers, and the arithmetic of one operation.

A value is a NumPy array of the type's own dtype, so that NumPy wraps and rounds as
the language does. bfloat16 has no dtype: it is held as float32 numbers that bfloat16
can represent, and every result is rounded to it. (float16 and bfloat16 results that
pass through float32 are correctly rounded: 24 bits are more than twice 11 plus 2.)

Everything here is to run under ``np.errstate(all="ignore")``; nothing traps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.types import Type

Array = NDArray[Any]


@cache
def dtype_of(t: Type) -> np.dtype[Any]:
    """The dtype that holds numbers of the scalar type `t` here."""
    return np.dtype(np.float32) if t.is_bfloat() else t.to_numpy()


def round_bfloat16(a: Array) -> Array:
    """float32 numbers rounded to the nearest bfloat16, ties to even."""
    bits = a.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    rounded &= np.uint32(0xFFFF0000)
    return np.where(np.isfinite(a), rounded.view(np.float32), a)


def _to_odd(a: Array) -> Array:
    """Numbers as float32; those that it cannot hold are rounded to the neighbour whose
    last bit is odd, so that rounding once more gives the nearest bfloat16."""
    if a.dtype in (np.int64, np.uint64):
        # Beyond 2**53 float64 holds multiples of 2048: an odd one says what it dropped.
        odd = (a & ~a.dtype.type(2047)) | np.where(a & 2047, 2048, 0).astype(a.dtype)
        large = (a > 1 << 53) | (a < -(1 << 53) if a.dtype == np.int64 else False)
        a = np.where(large, odd, a)
    wide = a.astype(np.float64)
    with np.errstate(over="ignore"):
        near = wide.astype(np.float32)
    inside = np.where(
        np.abs(near) > np.abs(wide), np.nextafter(near, np.float32(0)), near
    )
    bits = inside.view(np.uint32) | (np.isfinite(wide) & (near != wide))
    return np.where(np.isfinite(wide), bits.astype(np.uint32).view(np.float32), near)


def from_storage(a: Array, t: Type) -> Array:
    """An array as the user gives it (bfloat16 as uint16 bits) in our form."""
    if t.is_bfloat():
        bits: Array = a.astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32)
    if t.is_bool():
        return np.not_equal(a, 0)
    return a if a.dtype == dtype_of(t) else a.astype(dtype_of(t))


def to_storage(a: Array, t: Type) -> Array:
    """The inverse of `from_storage`."""
    if t.is_bfloat():
        return (np.ascontiguousarray(a).view(np.uint32) >> 16).astype(np.uint16)
    return a


def settle(a: Array, t: Type) -> Array:
    """A float result rounded to `t` (only bfloat16 needs it)."""
    return round_bfloat16(a) if t.is_bfloat() else a


def cast(a: Array, src: Type, dst: Type) -> Array:
    """`Cast`: int to int wraps, float to int truncates, to Bool is ``!= 0``."""
    if src is dst:
        return a
    if dst.is_bool():
        return np.not_equal(a, 0)
    if dst.is_bfloat():
        return round_bfloat16(_to_odd(a))
    if dst.is_uint() and src.is_float():
        # A negative float to an unsigned type is unspecified; go through int64 so
        # that it at least wraps as integers do.
        if dst.width < 64:
            return a.astype(np.int64).astype(dtype_of(dst))
    return a.astype(dtype_of(dst))


def reinterpret(a: Array, src: Type, dst: Type) -> Array:
    """The same bits as another type of the same width."""
    if src is dst:
        return a
    raw = to_storage(np.ascontiguousarray(a), src)
    if dst.is_bfloat():
        return from_storage(raw.view(np.uint16), dst)
    return raw.view(dtype_of(dst))


def saturating_cast(a: Array, src: Type, dst: Type) -> Array:
    """`a` clamped to the range of the integer type `dst`; NaN gives 0."""
    if src is dst or dst.is_bool() or dst.is_float():
        return cast(a, src, dst)
    if src.is_float():
        low, high = dst.lowest(), dst.highest()
        wide = a.astype(np.float64)
        inside = np.where(np.isnan(wide), 0.0, wide)
        # high + 1 is a power of two, exact in float64; high itself may not be.
        over, under = inside >= float(high + 1), inside <= float(low)
        safe = np.trunc(np.where(over | under, 0.0, inside))
        made = safe.astype(np.uint64 if dst.is_uint() else np.int64)
        made = made.astype(dtype_of(dst))
        made[over], made[under] = high, low
        return made
    low = max(src.lowest(), dst.lowest())
    high = min(src.highest(), dst.highest())
    if src.is_bool():
        return cast(a, src, dst)
    kind = dtype_of(src).type
    return cast(np.minimum(np.maximum(a, kind(low)), kind(high)), src, dst)


# Integers.


def int_div(a: Array, b: Array) -> Array:
    """The quotient whose remainder is in [0, abs(b)); by zero 0."""
    quotient = np.floor_divide(a, b)
    if np.issubdtype(a.dtype, np.signedinteger):
        # NumPy's remainder has the sign of b: where it is negative, one more.
        quotient = quotient + (np.remainder(a, b) < 0).astype(a.dtype)
    return np.where(b == 0, a.dtype.type(0), quotient)


def int_mod(a: Array, b: Array) -> Array:
    """The remainder in [0, abs(b)); by zero 0."""
    r = np.remainder(a, b)
    if np.issubdtype(a.dtype, np.signedinteger):
        r = np.where(r < 0, r - b, r)
    return np.where(b == 0, a.dtype.type(0), r)


def div_round_to_zero(a: Array, b: Array) -> Array:
    """The quotient rounded toward zero; by zero 0."""
    quotient = np.floor_divide(a, b)
    if np.issubdtype(a.dtype, np.signedinteger):
        inexact = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
        quotient = quotient + inexact.astype(a.dtype)
    return np.where(b == 0, a.dtype.type(0), quotient)


def mod_round_to_zero(a: Array, b: Array) -> Array:
    """``a - b * div_round_to_zero(a, b)``; by zero 0."""
    r: Array = a - b * div_round_to_zero(a, b)
    return np.where(b == 0, a.dtype.type(0), r)


def float_mod(a: Array, b: Array, t: Type) -> Array:
    """``a - b * floor(a / b)``, each operation rounded."""
    quotient = settle(a / b, t)
    return settle(a - settle(b * np.floor(quotient), t), t)


def shift_left(a: Array, b: Array, signed_shift: bool) -> Array:
    """``a << b``; a negative b shifts right; the width or more gives 0 (or -1)."""
    return _shift(a, b, signed_shift, left=True)


def shift_right(a: Array, b: Array, signed_shift: bool) -> Array:
    """``a >> b``, arithmetic for signed a; a negative b shifts left."""
    return _shift(a, b, signed_shift, left=False)


def _shift(a: Array, b: Array, signed_shift: bool, left: bool) -> Array:
    width = a.dtype.itemsize * 8
    amount = b.astype(np.int64) if signed_shift or b.dtype.itemsize < 8 else b
    if amount.dtype == np.uint64:
        amount = np.minimum(amount, np.uint64(width)).astype(np.int64)
    if not left:
        amount = -amount
    up = np.clip(amount, 0, width - 1).astype(a.dtype)
    down = np.clip(-amount, 0, width - 1).astype(a.dtype)
    zero = a.dtype.type(0)
    lifted = np.where(amount >= width, zero, np.left_shift(a, up))
    lowered = np.right_shift(a, down)
    if not np.issubdtype(a.dtype, np.signedinteger):
        lowered = np.where(-amount >= width, zero, lowered)
    made: Array = np.where(amount >= 0, lifted, lowered)
    return made


def rounding_shift_right(a: Array, b: Array, signed_shift: bool) -> Array:
    """``(a + half) >> b`` in infinite precision; a negative b shifts left."""
    one = b.dtype.type(1)
    half = shift_right(a, b - one, signed_shift) & a.dtype.type(1)
    rounds = b > 0
    made: Array = shift_right(a, b, signed_shift)
    made += np.where(rounds, half, a.dtype.type(0))
    return made


def unsigned(a: Array) -> Array:
    """The same bits, unsigned."""
    if a.dtype == np.bool_ or np.issubdtype(a.dtype, np.unsignedinteger):
        return a
    return a.view(np.dtype(f"u{a.dtype.itemsize}"))


def popcount(a: Array) -> Array:
    return np.bitwise_count(unsigned(a)).astype(a.dtype)


def clz(a: Array) -> Array:
    """Leading zero bits; the width for 0."""
    bits = unsigned(a)
    width = a.dtype.itemsize * 8
    step = 1
    while step < width:
        bits = bits | (bits >> bits.dtype.type(step))
        step *= 2
    return (width - np.bitwise_count(bits).astype(np.int64)).astype(a.dtype)


def ctz(a: Array) -> Array:
    """Trailing zero bits; the width for 0."""
    bits = unsigned(a)
    below: Array = ~bits & (bits - bits.dtype.type(1))
    return np.bitwise_count(below).astype(a.dtype)


def saturating_sum(a: Array, b: Array, t: Type, subtract: bool) -> Array:
    """``a + b`` or ``a - b``, clamped to the integer type `t`."""
    x, y = _exact(a, t.width <= 32), _exact(b, t.width <= 32)
    return _clamped(x - y if subtract else x + y, t)


def mul_shift_right(a: Array, b: Array, c: Array, t: Type, rounding: bool) -> Array:
    """``saturate((a * b) >> c)``, optionally rounded, in infinite precision."""
    fits = t.width <= 16
    shift = _exact(np.minimum(c, c.dtype.type(min(126, 2 * t.width))), fits)
    product = _exact(a, fits) * _exact(b, fits)
    if rounding:
        product = product + ((1 << shift) >> 1)
    return _clamped(product >> shift, t)


def _exact(a: Array, fits_int64: bool) -> Array:
    """Integers that do not overflow: int64 where that is enough, else Python's own."""
    return a.astype(np.int64) if fits_int64 else a.astype(object)


def _clamped(a: Array, t: Type) -> Array:
    low, high = int(t.lowest()), int(t.highest())
    return np.asarray(np.minimum(np.maximum(a, low), high)).astype(dtype_of(t))
