"""A product and a sum, rounded once, of whole arrays."""

from __future__ import annotations

import numpy as np

from parhelion.interp import libm
from parhelion.interp.values import Array
from parhelion.types import Type

#: Multiplied with this, float64 numbers are split into halves of 26 digits (Veltkamp).
_SPLIT = 2.0**27 + 1

#: Factors between 2 to the power of minus this and of this, and summands between the
#: squares of both, have sums and products whose errors are float64 numbers.
_MOST = 400


def fused(a: Array, b: Array, c: Array, t: Type) -> Array:
    """``a * b + c`` of float32 or float64, rounded once."""
    if t.width == 64:
        return _double(a, b, c)
    # The product of float32 is exact in float64. Its sum with c is rounded to odd, so
    # that rounding to float32 sees whether digits were dropped.
    product = a.astype(np.float64) * b
    return _odd_sum(product, c.astype(np.float64)).astype(np.float32)


def _double(a: Array, b: Array, c: Array) -> Array:
    """Of float64, by Boldo and Melquiond (Emulation of a FMA and correctly rounded
    sums: proved algorithms using rounding to odd, 2008) where nothing underflows or
    overflows, and by the C library elsewhere."""
    with np.errstate(all="ignore"):
        product = a * b
        high, low = _sum(c, _lost_of_product(a, b, product))
        total, rest = _sum(product, high)
        made = np.asarray(total + _odd_sum(low, rest))
        ordinary = _is_ordinary(a, _MOST) & _is_ordinary(b, _MOST)
        # A product that is zero is exact; one to which zero is added is rounded once.
        one = (a == 0) | (b == 0) | (ordinary & (c == 0))
        made = np.where(one, product + c, made)
        odd = ~(one | (ordinary & _is_ordinary(c, 2 * _MOST)))
        if odd.any():
            given = [np.broadcast_to(v, odd.shape)[odd] for v in (a, b, c)]
            made[odd] = libm.function("fma", 3, 64)(*given)
    return made


def _is_ordinary(a: Array, most: int) -> Array:
    size = np.abs(a)
    return np.asarray((size > 2.0**-most) & (size < 2.0**most))


def _sum(p: Array, q: Array) -> tuple[Array, Array]:
    """The sum, and what rounding has taken from it (Knuth's TwoSum)."""
    total = np.asarray(p + q)
    moved = total - p
    return total, (p - (total - moved)) + (q - moved)


def _lost_of_product(a: Array, b: Array, product: Array) -> Array:
    """What rounding has taken from a product (Dekker)."""
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return np.asarray(a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2))


def _halves(a: Array) -> tuple[Array, Array]:
    large = a * _SPLIT
    upper = large - (large - a)
    return upper, a - upper


def _odd_sum(p: Array, q: Array) -> Array:
    """The sum of float64 numbers; what is no such number is rounded to the neighbour
    whose last bit is odd."""
    total, lost = _sum(p, q)
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & (lost != 0) & (bits & 1 == 0)
    # Away from zero where what was lost has the same sign.
    step = np.where((lost > 0) == (total > 0), 1, -1)
    return np.asarray((bits + np.where(inexact, step, 0)).view(np.float64))


__all__ = ["fused"]
