"""The mathematical functions, as expressions of basic nodes.

One definition for all: the interpreter evaluates the expansion, the code generator
emits it for scalars and vectors alike, so in strict code all agree bit for bit. The
polynomials are minimax fits (Remez, coefficients rounded to the type one by one).

Errors below are in units in the last place (ulp) of the result, measured against
extended precision over all exponents (every 2**9-th float32, see tests/math) with
every operation rounded; with contraction to FMA they are the same or smaller. Where
nothing is said of special values they are those of C's Annex F.

| function | float32 | float64 |
|---|---|---|
| exp | 1.0 | 1.2 |
| log | 1.0 | 1.0 |
| pow | 0.6 | 1.3 |
| sin, cos | 1.5 for abs(x) < 2**28, then decaying | 0.8 for abs(x) < 2**52 |
| tan | 3.5, same range | 2.5, same range |
| asin, acos | 2.5 | 2.3 |
| atan | 2.0 | 2.0 |
| atan2 | 2.5 | 2.0 |
| sinh, cosh, tanh | 1.0 | 2.5 |
| asinh, acosh, atanh | 1.0 | 2.5 |
| erf | 1.5 | 1.2 |

float16 and bfloat16 compute in float32 and round; those of float64 are in `mathlib64`.
No function is the C library's, so that kernels of GPUs have the same. The `fast_`
functions state their errors below; those of float64 are no faster than the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from parhelion.ir import build, mathlib64
from parhelion.ir.expr import Expr
from parhelion.ir.fastmath import (
    fast_cos,
    fast_exp,
    fast_log,
    fast_pow,
    fast_sin,
    inverse,
    inverse_sqrt,
)
from parhelion.ir.fixedpoint import lower_intrinsic
from parhelion.ir.formula import V, choose, horner, power_of_two
from parhelion.types import Float, Int, UInt

_F32, _F64 = Float(32), Float(64)
_I32, _I64 = Int(32), Int(64)
_INF, _NAN = math.inf, math.nan


def expand(op: str, args: tuple[Expr, ...]) -> Expr | None:
    """The intrinsic `op` of `args` in basic nodes (and sqrt, floor, round, bits).

    None if it has no expansion: it is basic itself, or the C library computes it.
    """
    if op == "random_int":
        return random_int(args)
    if not args:
        return None
    t = args[0].type
    if not t.is_float():
        return None
    if t.width == 16:
        single = tuple([build.cast(Float(32, t.count), a) for a in args])
        made = expand(op, single)
        return None if made is None else build.cast(t, made)
    table = _FLOAT32 if t.width == 32 else _FLOAT64
    make = table.get(op)
    return make(*[V(a) for a in args]).e if make is not None else None


# exp and log.
_EXP = (
    0.4999999403953552,
    0.16666516661643982,
    0.041668158024549484,
    0.008368808776140213,
    0.0013845647918060422,
)
_LOG = (
    0.3333333134651184,
    -0.250008225440979,
    0.20001254975795746,
    -0.16623207926750183,
    0.14201156795024872,
    -0.13162274658679962,
    0.1277841031551361,
    -0.07663075625896454,
)
#: ln 2 in two parts; multiples of the first by small integers are exact.
_LN2 = (0.693359375, -2.1219444e-4)


def _scaled(p: V, k: V) -> V:
    """``p * 2**k``, in two steps so that the result may be subnormal or overflow."""
    half = k >> 1
    return p * power_of_two(half) * power_of_two(k - half)


def exp(x: V) -> V:
    clamped = x.most(-104.0).least(89.0)
    k = (clamped * (1 / math.log(2))).call("round")
    r = clamped - k * _LN2[0] - k * _LN2[1]
    p = r * r * horner(r, _EXP) + r + 1.0
    return _scaled(p, k.to(_I32))


def _split(x: V) -> tuple[V, V]:
    """A positive float as ``m * 2**k`` with m in [sqrt(1/2), sqrt(2)): (m - 1, k)."""
    tiny = x < 2.0**-126
    bits = choose(tiny, x * 2.0**23, x).as_int()
    k = (bits - 0x3F3504F3) >> 23
    m = (bits - (k << 23)).as_float()
    back = choose(tiny, V(k.of(-23)), V(k.of(0)))
    return m - 1.0, (k + back).to(x.type.element_of())


def _log_limits(x: V, value: V) -> V:
    """Puts in logarithms of zero, infinity, negative numbers and NaN."""
    value = choose(x > 0.0, value, choose(x.equals(0.0), V(x.of(-_INF)), _NAN))
    return choose(x.equals(_INF), x, value)


def log(x: V) -> V:
    f, k = _split(x)
    ff = f * f
    tail = ff * f * horner(f, _LOG) - ff * 0.5 + k * _LN2[1]
    return _log_limits(x, f + tail + k * _LN2[0])


# float32 functions that compute in float64: errors of these parts are about 2**-37.
_EXP2 = (
    0.6931471805409207,
    0.2402265069472343,
    0.05550410960385392,
    0.009618129564382532,
    0.0013333433129171378,
    0.00015403089201536407,
    1.531796509516199e-05,
    1.3277028468473819e-06,
)
_LOG_MEDIUM = (
    0.666666666739164,
    0.3999999611099912,
    0.285720665026183,
    0.22177716335582592,
    0.19564822831361076,
)


def _exp2_medium(t: V) -> V:
    """2**t in float64 for abs(t) < 1000, within 2**-33 of itself."""
    k = t.call("round")
    f = t - k
    return (f * horner(f, _EXP2) + 1.0) * power_of_two(k.to(_I32).to(_I64))


def _log_medium(x: V) -> V:
    """The natural logarithm in float64 of a positive normal number, within 2**-44."""
    bits = x.as_int()
    k = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = (bits - (k << 52)).as_float()
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    return s * 2.0 + s * z * horner(z, _LOG_MEDIUM) + k.to(_I32).to(_F64) * math.log(2)


def pow(x: V, y: V) -> V:
    ax = x.size()
    base = ax.to(_F64)
    # Limits of the logarithm by hand: 0 and infinity.
    log_x = _log_medium(base) * (1 / math.log(2))
    log_x = choose(ax.equals(0.0), V(log_x.of(-_INF)), log_x)
    log_x = choose(ax < _INF, log_x, V(log_x.of(_INF)))
    t = (y.to(_F64) * log_x).most(-400.0).least(400.0)
    value = _exp2_medium(t).to(_F32)
    whole = y.call("floor").equals(y)
    half = y * 0.5
    odd = whole.both(half > half.call("floor"))
    value = choose(odd, value | x.sign(), value)
    imaginary = (x < 0.0).both(ax < _INF)
    value = choose(imaginary, choose(whole, value, _NAN), value)
    value = choose(x.is_nan().either(y.is_nan()), x + y, value)
    one = y.equals(0.0).either(x.equals(1.0))
    one = one.either(x.equals(-1.0).both(y.size().equals(_INF)))
    return choose(one, 1.0, value)


# Trigonometry. Multiples of pi/2 are taken away in float64.
_SIN = (-0.16666655242443085, 0.008332186378538609, -0.0001951768936123699)
_COS = (0.04166664555668831, -0.0013887308305129409, 2.4432101781712845e-05)
#: pi/2 in three parts; the first two have 25 bits each.
_HALF_PI = (1.5707962512969971, 7.549789415861596e-08, 5.390302529957765e-15)


def _reduce(x: V) -> tuple[V, V]:
    """x less a multiple k of pi/2, in [-pi/4, pi/4], and k modulo 4 as an int32."""
    wide = x.to(_F64)
    k = (wide * (2 / math.pi)).call("round")
    r = wide - k * _HALF_PI[0] - k * _HALF_PI[1] - k * _HALF_PI[2]
    quadrant = (k - (k * 0.25).call("floor") * 4.0).to(_I32)
    # Beyond 2**50 the difference is noise: keep it where the polynomials hold.
    return r.most(-0.79).least(0.79).to(_F32), quadrant


def _sin_poly(r: V) -> V:
    z = r * r
    return r * z * horner(z, _SIN) + r


def _cos_poly(r: V) -> V:
    z = r * r
    return z * z * horner(z, _COS) - z * 0.5 + 1.0


def _sine(x: V, ahead: int) -> V:
    r, quadrant = _reduce(x)
    if ahead:
        quadrant = quadrant + ahead
    value = choose((quadrant & 1).equals(0), _sin_poly(r), _cos_poly(r))
    return (value.as_int() ^ ((quadrant & 2) << 30)).as_float()


def sin(x: V) -> V:
    return choose(x.equals(0.0), x, _sine(x, 0))


def cos(x: V) -> V:
    return _sine(x, 1)


def tan(x: V) -> V:
    r, quadrant = _reduce(x)
    s, c = _sin_poly(r), _cos_poly(r)
    even = (quadrant & 1).equals(0)
    value = choose(even, s, -c) / choose(even, c, s)
    return choose(x.equals(0.0), x, value)


_ASIN = (
    0.16666731238365173,
    0.07495956867933273,
    0.045401494950056076,
    0.024475635960698128,
    0.04171587526798248,
)


def _asin_parts(x: V) -> tuple[V, V, V]:
    """For a = abs(x): whether a > 1/2; arc sine of a, or of sqrt((1 - a) / 2)."""
    a = x.size()
    large = a > 0.5
    z = choose(large, (1.0 - a) * 0.5, a * a)
    s = choose(large, z.call("sqrt"), a)
    return large, s * z * horner(z, _ASIN) + s, a


def asin(x: V) -> V:
    large, p, _ = _asin_parts(x)
    value = choose(large, math.pi / 2 - p * 2.0, p)
    return value | x.sign()


def acos(x: V) -> V:
    large, p, _ = _asin_parts(x)
    signed = p | x.sign()
    twice = p * 2.0
    # pi and pi/2 in two parts, the second by hand.
    outer = choose(x < 0.0, 3.1415927410125732 - (twice + 8.742277657347586e-08), twice)
    inner = 1.5707963705062866 - (signed + 4.371138828673793e-08)
    return choose(large, outer, inner)


_ATAN = (
    -0.33333319425582886,
    0.19998660683631897,
    -0.14246369898319244,
    0.10611283779144287,
    -0.06116241216659546,
)
_TAN_PI_8 = math.sqrt(2) - 1


def _atan_of_ratio(n: V, d: V) -> V:
    """Arc tangent of n / d for 0 <= n, d, both finite or one infinite, not both 0."""
    # Beyond tan(pi/8) turn by pi/4, beyond tan(3 pi/8) by pi/2.
    turn = n > d * _TAN_PI_8
    over = n > d * (1 / _TAN_PI_8)
    top = choose(over, -d, choose(turn, n - d, n))
    bottom = choose(over, n, choose(turn, n + d, d))
    t = top / bottom
    z = t * t
    p = t * z * horner(z, _ATAN)
    # pi/4 and pi/2 with what their rounding lost.
    lost = -2.1855694143368964e-08
    angle = choose(over, math.pi / 2, choose(turn, V(n.of(math.pi / 4)), 0.0))
    rest = choose(over, 2 * lost, choose(turn, V(n.of(lost)), 0.0))
    return angle + (t + (p + rest))


def atan(x: V) -> V:
    a = x.size()
    value = _atan_of_ratio(a, V(a.of(1.0)))
    return choose(a.equals(_INF), V(x.of(math.pi / 2)), value) | x.sign()


def atan2(y: V, x: V) -> V:
    ax, ay = x.size(), y.size()
    # Sums of the two must not overflow.
    scale = choose(ax.most(ay) > 1e37, V(x.of(0.0625)), 1.0)
    ax, ay = ax * scale, ay * scale
    both = ax.equals(_INF).both(ay.equals(_INF))
    n, d = choose(both, 1.0, ay), choose(both, 1.0, ax)
    none = ay.equals(0.0)
    n, d = choose(d.equals(_INF), 0.0, n), choose(d.equals(_INF), 1.0, d)
    n, d = choose(n.equals(_INF), 1.0, n), choose(n.equals(_INF), 0.0, d)
    d = choose(none, 1.0, d)
    angle = _atan_of_ratio(n, d)
    left = x.as_int() < 0
    away = 3.1415927410125732 - (angle + 8.742277657347586e-08)
    value = choose(left, away, angle) | y.sign()
    return choose(x.is_nan().either(y.is_nan()), x + y, value)


# Hyperbolic functions: a polynomial near 0, elsewhere exp and log in float64.
_SINH = (
    0.1666666716337204,
    0.008333306759595871,
    0.00019843873451463878,
    2.7760586363001494e-06,
)
_TANH = (
    -0.33333319425582886,
    0.13332633674144745,
    -0.053856395184993744,
    0.021086139604449272,
    -0.006292363628745079,
)
_ASINH = (
    -0.16666647791862488,
    0.07498783618211746,
    -0.044398315250873566,
    0.028228629380464554,
    -0.01332823559641838,
)
_ATANH = (
    0.33333301544189453,
    0.2000245451927185,
    0.14223742485046387,
    0.11816821992397308,
    0.051585935056209564,
    0.1764063686132431,
)
_LOG2E = 1 / math.log(2)


def _odd(x: V, coefficients: tuple[float, ...]) -> V:
    z = x * x
    return x * z * horner(z, coefficients) + x


def sinh(x: V) -> V:
    a = x.size()
    e = _exp2_medium((a.to(_F64) * _LOG2E).least(400.0))
    large = ((e - 1.0 / e) * 0.5).to(_F32)
    value = choose(a < 1.0, _odd(a, _SINH), large)
    return choose(x.is_nan(), x, value | x.sign())


def cosh(x: V) -> V:
    e = _exp2_medium((x.size().to(_F64) * _LOG2E).least(400.0))
    return choose(x.is_nan(), x, ((e + 1.0 / e) * 0.5).to(_F32))


def tanh(x: V) -> V:
    a = x.size()
    e = _exp2_medium((a.to(_F64) * (2 * _LOG2E)).least(64.0))
    large = (1.0 - 2.0 / (e + 1.0)).to(_F32)
    value = choose(a < 0.55, _odd(a, _TANH), large)
    return choose(x.is_nan(), x, value | x.sign())


def asinh(x: V) -> V:
    a = x.size()
    wide = a.to(_F64).least(1e100)
    large = _log_medium(wide + (wide * wide + 1.0).call("sqrt")).to(_F32)
    value = choose(a < 0.5, _odd(a, _ASINH), large)
    value = choose(a < _INF, value, a)
    return value | x.sign()


def acosh(x: V) -> V:
    wide = x.to(_F64).least(1e100)
    inside = (wide * wide - 1.0).most(0.0)
    value = _log_medium(wide + inside.call("sqrt")).to(_F32)
    value = choose(x < 1.0, _NAN, value)
    return choose(x < _INF, value, x)


def atanh(x: V) -> V:
    a = x.size()
    wide = a.to(_F64)
    ratio = (wide + 1.0) / (1.0 - wide)
    large = (_log_medium(ratio) * 0.5).to(_F32)
    value = choose(a < 0.5, _odd(a, _ATANH), large)
    value = choose(a < 1.0, value, choose(a.equals(1.0), V(a.of(_INF)), _NAN))
    return value | x.sign()


_ERF = (
    0.12837916612625122,
    -0.3761262595653534,
    0.11283578723669052,
    -0.026853347197175026,
    0.005187162198126316,
    -0.0007997853099368513,
    7.806903886375949e-05,
)
#: -log(1 - erf(a)) on [1, 4].
_ERFC_LOG = (
    -0.00018803452257998288,
    1.1295783519744873,
    0.6332201361656189,
    0.10841819643974304,
    -0.02520793303847313,
    0.004204407799988985,
    -0.00044129774323664606,
    2.1682910301024094e-05,
)


def erf(x: V) -> V:
    a = x.size()
    small = a * horner(a * a, _ERF) + a
    large = 1.0 - exp(-horner(a.least(4.0), _ERFC_LOG))
    value = choose(a > 1.0, large, small)
    return value | x.sign()


_Make = Callable[..., V]
_FLOAT32: dict[str, _Make] = {
    "exp": exp,
    "log": log,
    "pow": pow,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "atan2": atan2,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
    "erf": erf,
    "fast_exp": fast_exp,
    "fast_log": fast_log,
    "fast_pow": fast_pow,
    "fast_sin": fast_sin,
    "fast_cos": fast_cos,
    "fast_inverse": inverse,
    "fast_inverse_sqrt": inverse_sqrt,
}
_FLOAT64: dict[str, _Make] = {
    **{name: getattr(mathlib64, name) for name in mathlib64.__all__},
    "fast_exp": mathlib64.exp,
    "fast_log": mathlib64.log,
    "fast_pow": mathlib64.pow,
    "fast_sin": mathlib64.sin,
    "fast_cos": mathlib64.cos,
    "fast_inverse": inverse,
    "fast_inverse_sqrt": inverse_sqrt,
}


def random_int(args: tuple[Expr, ...]) -> Expr:
    """32 bits that look random, from integers: two rounds of multiply and xor-shift
    per argument (the constants are those of C. Wellons' "lowbias32")."""
    lanes = max([a.type.count for a in args], default=1)
    state = V(build.imm(0x9E3779B9, UInt(32, lanes)))
    for arg in args:
        bits = build.cast(UInt(32, arg.type.count), arg)
        if arg.type.count < lanes:
            bits = build.broadcast(bits, lanes)
        state = (state ^ V(bits)) * 0x7FEB352D
        state = state ^ (state >> 15)
        state = state * 0x846CA68B
        state = state ^ (state >> 16)
    return state.e


__all__ = ["expand", "lower_intrinsic", "random_int"]
