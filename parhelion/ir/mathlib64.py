"""The mathematical functions of float64, as expressions of basic nodes.

What `ir.mathlib` says of its functions holds for these. Where a result needs more
digits than one float64 has, it is the sum of two (`Pair`): of products by halves of
their factors, as Dekker (1971) has them, and of sums with what they lost, as Knuth
(The Art of Computer Programming 2, section 4.2.2) has it; neither needs fused
operations. Polynomials interpolate at Chebyshev's nodes, in 90 digits.

Errors, in units in the last place of the result: see the table of `ir.mathlib`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from parhelion.ir.expr import Intrinsic
from parhelion.ir.formula import V, choose, horner, power_of_two
from parhelion.types import Int

_INF, _NAN = math.inf, math.nan
_I64 = Int(64)

#: A value as the sum of two, of which the second is about 2**-53 of the first.
Pair: TypeAlias = "tuple[V, V]"

#: The upper 26 bits of a float64's 53.
_UPPER = ~((1 << 27) - 1)


def _sum(a: V, b: V) -> Pair:
    """a + b, and what its rounding lost."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _product(a: V, b: V) -> Pair:
    """a * b, and what its rounding lost: the product has to be rounded, wherever it is
    used."""
    p = V(Intrinsic(a.type, "strict_float", ((a * b).e,)))
    a1, b1 = a & _UPPER, b & _UPPER
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _times(x: Pair, y: Pair) -> Pair:
    p, lost = _product(x[0], y[0])
    return _tidy(p, lost + (x[0] * y[1] + x[1] * y[0]))


def _plus(x: Pair, y: Pair) -> Pair:
    s, lost = _sum(x[0], y[0])
    return _tidy(s, lost + (x[1] + y[1]))


def _tidy(a: V, b: V) -> Pair:
    """a + b, where b is small."""
    s = a + b
    return s, b - (s - a)


def _constant(like: V, pair: Sequence[float]) -> Pair:
    return V(like.of(pair[0])), V(like.of(pair[1]))


# exp and log.
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_EXP = (
    0.5,
    0.1666666666666669,
    0.04166666666666685,
    0.008333333333311765,
    0.0013888888888755543,
    0.00019841269908725564,
    2.4801587619089724e-05,
    2.755722325285392e-06,
    2.75569976934459e-07,
    2.5117710196387898e-08,
    2.095314868368287e-09,
)
_LOG = (
    0.666666666666671,
    0.3999999999954016,
    0.285714287194082,
    0.22222200599104047,
    0.18183471439209545,
    0.15316184942314226,
    0.1477652301007003,
)


def _scaled(p: V, k: V) -> V:
    """``p * 2**k``, in two steps so that the result may be subnormal or overflow."""
    half = k >> 1
    return p * power_of_two(half) * power_of_two(k - half)


def _exp_parts(x: V) -> tuple[V, V]:
    """p and k with exp(x) = p * 2**k."""
    k = (x * (1 / math.log(2))).call("round")
    r = x - k * _LN2[0] - k * _LN2[1]
    return r * r * horner(r, _EXP) + r + 1.0, k.to(_I64)


def exp(x: V) -> V:
    return _scaled(*_exp_parts(x.most(-746.0).least(710.0)))


def _split(x: V) -> tuple[V, V]:
    """A positive float as ``m * 2**k`` with m in [sqrt(1/2), sqrt(2)): (m - 1, k)."""
    tiny = x < 2.0**-1022
    bits = choose(tiny, x * 2.0**52, x).as_int()
    k = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = (bits - (k << 52)).as_float()
    back = choose(tiny, V(k.of(-52)), V(k.of(0)))
    return m - 1.0, (k + back).to(x.type.element_of())


def _log_limits(x: V, value: V) -> V:
    """Puts in logarithms of zero, infinity, negative numbers and NaN."""
    value = choose(x > 0.0, value, choose(x.equals(0.0), V(x.of(-_INF)), _NAN))
    return choose(x.equals(_INF), x, value)


def log(x: V) -> V:
    f, k = _split(x)
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    rest = s * (half + z * horner(z, _LOG)) + k * _LN2[1]
    return _log_limits(x, k * _LN2[0] - ((half - rest) - f))


def _log1p(u: V) -> V:
    """log(1 + u) of a finite u > -1."""
    w = u + 1.0
    lost = choose(u < 1.0, u - (w - 1.0), 1.0 - (w - u))
    return log(w) + lost / w


# pow: the logarithm as a pair, times y, and 2 to the power of that.
_ATANH = (
    0.2,
    0.14285714285714698,
    0.11111111110818422,
    0.09090909169848817,
    0.07692297251904945,
    0.06667414786953267,
    0.05852785947838605,
    0.05865053930946515,
)
_THIRD = (0.3333333333333333, 1.850371707708594e-17)
_LOG2E = (1.4426950408889634, 2.0355273740931033e-17)
_EXP2 = (
    0.6931471805599453,
    0.24022650695910072,
    0.05550410866482158,
    0.009618129107628484,
    0.0013333558146428445,
    0.0001540353039336245,
    1.525273380405099e-05,
    1.3215486816311955e-06,
    1.0178086021329605e-07,
    7.054894247966286e-09,
    4.445530245174007e-10,
    2.573378928044613e-11,
    1.3717064479250784e-12,
)


def _log2_pair(x: V) -> Pair:
    """The binary logarithm of a positive, finite number, within 2**-66 of itself: k and
    twice the inverse hyperbolic tangent of (m - 1) / (m + 1), times log2(e)."""
    f, k = _split(x)
    d = _sum(f, V(f.of(2.0)))
    s1 = f / d[0]
    p, lost = _product(s1, d[0])
    s = s1, ((f - p) - lost - s1 * d[1]) / d[0]
    z = _times(s, s)
    far = z[0] * z[0] * horner(z[0], _ATANH)
    cubic = _times(z, _constant(f, _THIRD))
    factor = _plus(_plus((cubic[0], cubic[1]), (far, V(f.of(0.0)))), _one(f))
    half = _times(_times(s, factor), _constant(f, _LOG2E))
    return _plus((k, V(f.of(0.0))), (half[0] * 2.0, half[1] * 2.0))


def _one(like: V) -> Pair:
    return V(like.of(1.0)), V(like.of(0.0))


def pow(x: V, y: V) -> V:
    ax = x.size()
    log_x = _log2_pair(choose(ax.equals(0.0).either(ax.equals(_INF)), 1.0, ax))
    t, lost = _product(log_x[0], y)
    rest = lost + log_x[1] * y
    # Beyond these the result is 0 or infinity, as it is of 0 and of infinities.
    ends = ax.equals(0.0).either(ax.equals(_INF))
    end = choose(ax.equals(0.0), V(x.of(-_INF)), _INF) * y
    t = choose(ends, end, t).most(-2000.0).least(2000.0)
    rest = choose(t.size() < 2000.0, rest, 0.0)
    k = t.call("round")
    f = (t - k) + rest
    value = _scaled(f * horner(f, _EXP2) + 1.0, k.to(_I64))
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


# Trigonometry.
_SIN = (
    -0.16666666666666666,
    0.008333333333333331,
    -0.0001984126984126402,
    2.7557319218542833e-06,
    -2.5052105961377e-08,
    1.605848950955874e-10,
    -7.584263996034166e-13,
)
_COS = (
    0.041666666666666664,
    -0.0013888888888888887,
    2.4801587301584066e-05,
    -2.755731922096008e-07,
    2.087675564036913e-09,
    -1.1470437475266499e-11,
    4.7445191096480046e-14,
)
#: pi/2 in five parts; the first four have 25 bits each.
_HALF_PI = (
    1.5707963109016418,
    1.5893254712295857e-08,
    6.123233932053594e-17,
    6.368317055225283e-25,
    1.082856673921914e-32,
)


def _reduce(x: V) -> tuple[Pair, V]:
    """x less a multiple k of pi/2, in [-pi/4, pi/4], and k modulo 4 as an int64.

    k has two parts whose products with the parts of pi/2 are exact.
    """
    k = (x * (2 / math.pi)).call("round")
    high = k & _UPPER
    low = k - high
    r, lost = x, V(x.of(0.0))
    for part in _HALF_PI[:4]:
        for count in (high, low):
            r, more = _sum(r, -(count * part))
            lost = lost + more
    r, lost = _tidy(r, lost - k * _HALF_PI[4])
    # Of a large x the first k may be off by one.
    again = (r * (2 / math.pi)).call("round")
    r, more = _sum(r, -(again * _HALF_PI[0]))
    r, second = _sum(r, -(again * _HALF_PI[1]))
    third = again * _HALF_PI[2]
    r, lost = _tidy(r, (more + second) + (lost - third))
    whole = k + again
    quadrant = (whole - (whole * 0.25).call("floor") * 4.0).to(_I64)
    # Beyond 2**52 the difference is noise: keep it where the polynomials hold.
    return (r.most(-0.79).least(0.79), lost.most(-1e-15).least(1e-15)), quadrant


def _sin_poly(r: Pair) -> V:
    a, rest = r
    z = a * a
    return a + (a * z * horner(z, _SIN) + rest * (1.0 - z * 0.5))


def _cos_poly(r: Pair) -> V:
    a, rest = r
    z = a * a
    half = z * 0.5
    w = 1.0 - half
    return w + (((1.0 - w) - half) + (z * z * horner(z, _COS) - a * rest))


def _sine(x: V, ahead: int) -> V:
    r, quadrant = _reduce(x)
    if ahead:
        quadrant = quadrant + ahead
    value = choose((quadrant & 1).equals(0), _sin_poly(r), _cos_poly(r))
    return (value.as_int() ^ ((quadrant & 2) << 62)).as_float()


def sin(x: V) -> V:
    return choose(x.equals(0.0), x, _no_infinity(x, _sine(x, 0)))


def cos(x: V) -> V:
    return _no_infinity(x, _sine(x, 1))


def tan(x: V) -> V:
    r, quadrant = _reduce(x)
    s, c = _sin_poly(r), _cos_poly(r)
    even = (quadrant & 1).equals(0)
    value = choose(even, s, -c) / choose(even, c, s)
    return choose(x.equals(0.0), x, _no_infinity(x, value))


def _no_infinity(x: V, value: V) -> V:
    return choose(x.size() < _INF, value, _NAN)


_ASIN = (
    0.16666666666666669,
    0.07499999999998425,
    0.04464285714637338,
    0.030381944137085216,
    0.022372173002005596,
    0.017352391265909227,
    0.013971235301124539,
    0.011478952690257387,
    0.010324318288744113,
    0.005450878187720551,
    0.017419357964884856,
    -0.014881409392818063,
    0.02877844261259304,
)
#: pi/2 and pi with what their rounding lost.
_QUARTER_TURN = (1.5707963267948966, 6.123233995736766e-17)
_HALF_TURN = (3.141592653589793, 1.2246467991473532e-16)


def _asin_parts(x: V) -> tuple[V, V]:
    """For a = abs(x): whether a > 1/2; arc sine of a, or of sqrt((1 - a) / 2)."""
    a = x.size()
    large = a > 0.5
    z = choose(large, (1.0 - a) * 0.5, a * a)
    s = choose(large, z.call("sqrt"), a)
    return large, s * z * horner(z, _ASIN) + s


def asin(x: V) -> V:
    large, p = _asin_parts(x)
    turned = _QUARTER_TURN[0] - (p * 2.0 - _QUARTER_TURN[1])
    return choose(large, turned, p) | x.sign()


def acos(x: V) -> V:
    large, p = _asin_parts(x)
    signed = p | x.sign()
    twice = p * 2.0
    outer = choose(x < 0.0, _HALF_TURN[0] - (twice - _HALF_TURN[1]), twice)
    inner = _QUARTER_TURN[0] - (signed - _QUARTER_TURN[1])
    return choose(large, outer, inner)


_ATAN = (
    -0.33333333333333326,
    0.19999999999997098,
    -0.14285714285317075,
    0.11111111083805401,
    -0.09090907988540105,
    0.07692279271045191,
    -0.06666175824066803,
    0.058765284262606,
    -0.05215261836221721,
    0.044909015600543015,
    -0.033182917993607536,
    0.014901907660264488,
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
    lost = _QUARTER_TURN[1] / 2
    angle = choose(over, math.pi / 2, choose(turn, V(n.of(math.pi / 4)), 0.0))
    rest = choose(over, 2 * lost, choose(turn, V(n.of(lost)), 0.0))
    return angle + (t + (p + rest))


def atan(x: V) -> V:
    a = x.size()
    value = _atan_of_ratio(a, V(a.of(1.0)))
    return choose(a.equals(_INF), V(x.of(math.pi / 2)), value) | x.sign()


def atan2(y: V, x: V) -> V:
    ax, ay = x.size(), y.size()
    # Sums of the two must not overflow, and products with tangents not vanish.
    most = ax.most(ay)
    scale = choose(most > 1e300, V(x.of(2.0**-60)), 1.0)
    scale = choose(most < 1e-290, 2.0**60, scale)
    ax, ay = ax * scale, ay * scale
    both = ax.equals(_INF).both(ay.equals(_INF))
    n, d = choose(both, 1.0, ay), choose(both, 1.0, ax)
    none = ay.equals(0.0)
    n, d = choose(d.equals(_INF), 0.0, n), choose(d.equals(_INF), 1.0, d)
    n, d = choose(n.equals(_INF), 1.0, n), choose(n.equals(_INF), 0.0, d)
    d = choose(none, 1.0, d)
    angle = _atan_of_ratio(n, d)
    left = x.as_int() < 0
    away = _HALF_TURN[0] - (angle - _HALF_TURN[1])
    value = choose(left, away, angle) | y.sign()
    return choose(x.is_nan().either(y.is_nan()), x + y, value)


# Hyperbolic functions.
_SINH = (
    0.16666666666666666,
    0.008333333333333333,
    0.0001984126984126984,
    2.7557319223985816e-06,
    2.5052108385479655e-08,
    1.605904382608093e-10,
    7.647165517868816e-13,
    2.81128422270011e-15,
    8.310952060339895e-18,
)
_COSH = (
    0.5,
    0.04166666666666782,
    0.0013888888888452752,
    2.4801587901746174e-05,
    2.7556945990170397e-07,
    2.0983693678494966e-09,
)
#: Where the square of a number leaves no room for 1 beside it.
_LARGE = 2.0**28


def _half_exp(a: V) -> V:
    """exp(a) / 2 for 0 <= a, which overflows later than exp(a)."""
    p, k = _exp_parts(a.least(712.0))
    return _scaled(p, k + -1)


def _sinh_small(a: V) -> V:
    z = a * a
    return a * z * horner(z, _SINH) + a


def sinh(x: V) -> V:
    a = x.size()
    e = _half_exp(a)
    value = choose(a < 1.0, _sinh_small(a.least(1.0)), e - 0.25 / e)
    return choose(x.is_nan(), x, value | x.sign())


def cosh(x: V) -> V:
    e = _half_exp(x.size())
    return choose(x.is_nan(), x, e + 0.25 / e)


def tanh(x: V) -> V:
    a = x.size()
    e = exp((a * 2.0).least(64.0))
    near = a.least(0.55)
    z = near * near
    small = _sinh_small(near) / (z * horner(z, _COSH) + 1.0)
    value = choose(a < 0.55, small, 1.0 - 2.0 / (e + 1.0))
    return choose(x.is_nan(), x, value | x.sign())


def asinh(x: V) -> V:
    a = x.size()
    near = a.least(_LARGE)
    z = near * near
    small = _log1p(near + z / ((z + 1.0).call("sqrt") + 1.0))
    value = choose(a < _LARGE, small, log(a) + math.log(2))
    return choose(x.is_nan(), x, value | x.sign())


def acosh(x: V) -> V:
    t = x.least(_LARGE) - 1.0
    near = _log1p(t + (t * 2.0 + t * t).most(0.0).call("sqrt"))
    value = choose(x < _LARGE, near, log(x) + math.log(2))
    value = choose(x < 1.0, _NAN, value)
    return choose(x.is_nan(), x, value)


def atanh(x: V) -> V:
    a = x.size()
    twice = a * 2.0
    near = choose(a < 1.0, a, 0.0)
    small = twice + twice * near / (1.0 - near)
    ratio = choose(a < 0.5, small, twice / (1.0 - near))
    value = _log1p(choose(a < 1.0, ratio, 0.0)) * 0.5
    value = choose(a < 1.0, value, choose(a.equals(1.0), V(a.of(_INF)), _NAN))
    return choose(x.is_nan(), x, value | x.sign())


_ERF = (
    0.1283791670955126,
    -0.37612638903183754,
    0.1128379167095512,
    -0.026866170645129826,
    0.005223977625423116,
    -0.0008548327021921774,
    0.00012055332902288382,
    -1.4925647549075886e-05,
    1.6462045054724144e-06,
    -1.636463660480217e-07,
    1.4792347499413907e-08,
    -1.2164225654817864e-09,
    8.707834948949949e-11,
    -4.229011708989198e-12,
)
#: -log(1 - erf(1 + t)) for t in [0, 5].
_ERFC_LOG = (
    1.8496055099332485,
    2.6389675142347313,
    0.8431072563607669,
    0.0415610980121353,
    -0.010033825160920953,
    0.0019779016975242304,
    -0.0002373204631306626,
    -2.6279862858634217e-05,
    2.7156334221864213e-05,
    -9.595006509513527e-06,
    2.033159780146731e-06,
    -1.1028561509522453e-07,
    -1.2585035591399704e-07,
    7.014356561785236e-08,
    -2.3570812642171107e-08,
    5.9695484096523654e-09,
    -1.1993313226526883e-09,
    1.9306769041530837e-10,
    -2.470337254501987e-11,
    2.459764005017919e-12,
    -1.837898289962346e-13,
    9.691465054328285e-15,
    -3.213950386575977e-16,
    5.038175090820216e-18,
)


def erf(x: V) -> V:
    a = x.size()
    near = a.least(1.0)
    small = near * horner(near * near, _ERF) + near
    large = 1.0 - exp(-horner(a.least(6.0) - 1.0, _ERFC_LOG))
    value = choose(a > 1.0, large, small)
    return choose(x.is_nan(), x, value | x.sign())


__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "erf",
    "exp",
    "log",
    "pow",
    "sin",
    "sinh",
    "tan",
    "tanh",
]
