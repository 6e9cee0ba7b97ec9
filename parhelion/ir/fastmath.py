"""The ``fast_`` functions of float32: fewer digits, fewer special values, less work.

Each states its error. Those of float64 are the accurate ones of `ir.mathlib`.
"""

from __future__ import annotations

import math

from parhelion.ir.formula import V, choose, horner, power_of_two
from parhelion.types import Float, Int

_F32, _I32 = Float(32), Int(32)
_LOG2E = 1 / math.log(2)
#: ln 2 in two parts; multiples of the first by small integers are exact.
_LN2 = (0.693359375, -2.1219444e-4)
_FAST_EXP = (0.4999895393848419, 0.16666166484355927, 0.041923366487026215, 0.0084181)
_FAST_LOG = (0.332854688167572, -0.25244995951652527, 0.2177654206752777, -0.1459257)
_FAST_SIN = (-0.16663363575935364, 0.008162591606378555)
_FAST_COS = (0.04166102409362793, -0.0013647709274664521)
#: pi/2 in two parts: 12 bits, and the rest.
_FAST_HALF_PI = (1.5703125, 0.00048382679)


def fast_exp(x: V) -> V:
    """Within 2**-20 of exp(x) for x in [-87, 88]; clamped to that outside."""
    clamped = x.most(-87.0).least(88.0)
    k = (clamped * _LOG2E).call("round")
    r = clamped - k * _LN2[0] - k * _LN2[1]
    return (r * r * horner(r, _FAST_EXP) + r + 1.0) * power_of_two(k.to(_I32))


def fast_log(x: V) -> V:
    """Within 2**-15 of log(x), relatively or absolutely, for positive normal x;
    for others it is some number."""
    bits = x.as_int()
    k = (bits - 0x3F3504F3) >> 23
    f = (bits - (k << 23)).as_float() - 1.0
    ff = f * f
    return ff * f * horner(f, _FAST_LOG) - ff * 0.5 + f + k.to(_F32) * math.log(2)


def fast_pow(x: V, y: V) -> V:
    """``fast_exp(fast_log(x) * y)`` for positive x; 0 for x = 0, 1 for y = 0. The
    relative error grows with abs(y * log(x)): about 2**-15 times that."""
    value = choose(x.equals(0.0), 0.0, fast_exp(fast_log(x) * y))
    return choose(y.equals(0.0), 1.0, value)


def _fast_sine(x: V, ahead: int) -> V:
    k = (x * (2 / math.pi)).call("round")
    r = x - k * _FAST_HALF_PI[0] - k * _FAST_HALF_PI[1]
    quadrant = k.to(_I32) + ahead
    z = r * r
    s = r * z * horner(z, _FAST_SIN) + r
    c = z * z * horner(z, _FAST_COS) - z * 0.5 + 1.0
    value = choose((quadrant & 1).equals(0), s, c)
    return (value.as_int() ^ ((quadrant & 2) << 30)).as_float()


def fast_sin(x: V) -> V:
    """Within 1e-5 of sin(x) for abs(x) < 1000."""
    return _fast_sine(x, 0)


def fast_cos(x: V) -> V:
    """Within 1e-5 of cos(x) for abs(x) < 1000."""
    return _fast_sine(x, 1)


def inverse(x: V) -> V:
    """1 / x, correctly rounded."""
    return 1.0 / x


def inverse_sqrt(x: V) -> V:
    """1 / sqrt(x), within 1.5 ulp."""
    return 1.0 / x.call("sqrt")
