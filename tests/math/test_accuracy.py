"""The errors that `ir.mathlib` states, and the special values."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
import scipy.special

from parhelion.ir.expr import Expr, Intrinsic
from parhelion.types import Float, Type
from tests.codegen.elementwise import run

Array = np.ndarray[Any, Any]
F32, F64 = Float(32), Float(64)


def compute(op: str, t: Type, a: Array, b: Array, strict: bool = True) -> Array:
    """`op` over arrays, by compiled code in 16 lanes."""
    arity = 2 if op in ("pow", "atan2", "fast_pow") else 1

    def make(x: Expr, y: Expr) -> Expr:
        return Intrinsic(x.type, op, (x, y)[:arity])

    pad = -len(a) % 16
    a, b = np.append(a, a[:pad]), np.append(b, b[:pad])
    _, (out,) = run([make], a, b, (t, t), 16, strict=strict)
    return out[: len(out) - pad]


def ulps(got: Array, want: Array) -> Array:
    """Distance in units of the last place of `got`'s type; infinities must match."""
    finite = np.isfinite(want.astype(got.dtype))
    gap = np.abs(np.spacing(np.where(finite, want, 1).astype(got.dtype)))
    off = np.abs(got.astype(want.dtype) - want) / gap
    exact = (got == want.astype(got.dtype)) | (np.isnan(got) & np.isnan(want))
    return np.where(exact, 0.0, np.where(finite, off, np.inf))


def all_floats(step: int = 1 << 9) -> Array:
    """Every `step`-th float32, over all signs and exponents."""
    bits = np.arange(0, 1 << 32, step, dtype=np.uint32)
    return bits.view(np.float32)


def within(low: float, high: float) -> Array:
    rng = np.random.default_rng(1)
    values = rng.uniform(low, high, 40000).astype(np.float32)
    tiny = (values * 10.0 ** rng.uniform(-6, 0, 40000)).astype(np.float32)
    return np.concatenate([values, tiny])


EVERYWHERE = {
    "exp": (np.exp, 1.0),
    "log": (np.log, 1.0),
    "asin": (np.arcsin, 2.5),
    "acos": (np.arccos, 2.5),
    "atan": (np.arctan, 2.0),
    "sinh": (np.sinh, 1.0),
    "cosh": (np.cosh, 1.0),
    "tanh": (np.tanh, 1.0),
    "asinh": (np.arcsinh, 1.0),
    "acosh": (np.arccosh, 1.0),
    "atanh": (np.arctanh, 1.0),
    "erf": (scipy.special.erf, 1.5),
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("op", EVERYWHERE)
def test_float32_everywhere(op: str, strict: bool) -> None:
    f, bound = EVERYWHERE[op]
    x = np.concatenate([all_floats(), within(-1, 1), within(-10, 10), within(0, 90)])
    with np.errstate(all="ignore"):
        want = f(x.astype(np.float64))
        error = ulps(compute(op, F32, x, x, strict), want)
    worst = int(np.argmax(error))
    assert error[worst] <= bound, (x[worst], error[worst])


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
def test_float32_trigonometry(op: str, strict: bool) -> None:
    x = all_floats(1 << 10)
    x = np.concatenate([x[np.abs(x) < 2.0**28], within(-7, 7), within(-1e4, 1e4)])
    f: Callable[[Array], Array] = getattr(np, op)
    want = f(x.astype(np.longdouble))
    error = ulps(compute(op, F32, x, x, strict), want)
    worst = int(np.argmax(error))
    assert error[worst] <= (3.5 if op == "tan" else 1.5), (x[worst], error[worst])


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("op", ["sin", "cos"])
def test_large_angles_stay_in_range(op: str, strict: bool) -> None:
    x = all_floats(1 << 12)
    x = x[np.isfinite(x)]
    assert np.max(np.abs(compute(op, F32, x, x, strict))) <= 1


@pytest.mark.parametrize("strict", [True, False])
def test_pow(strict: bool) -> None:
    rng = np.random.default_rng(3)
    x = np.abs(all_floats(1 << 11))
    x = np.concatenate([x, within(0, 3), within(-20, 20)])
    y = (rng.normal(size=len(x)) * 10.0 ** rng.uniform(-3, 2, len(x))).astype(
        np.float32
    )
    y = np.where(rng.integers(0, 3, len(x)) == 0, np.round(y), y)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        error = ulps(compute("pow", F32, x, y, strict), want)
    worst = int(np.argmax(error))
    assert error[worst] <= 0.6, (x[worst], y[worst], error[worst])


def _grid() -> tuple[Array, Array]:
    values = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        3e38,
        1e-45,
        1e-38,
        math.inf,
        16777217.0,
        1e30,
    ]
    values += [-v for v in values] + [math.nan]
    one = np.array(values, dtype=np.float32)
    x, y = np.meshgrid(one, one)
    return x.ravel(), y.ravel()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("op", "f", "bound"),
    [
        ("pow", np.power, 0.6),
        ("atan2", np.arctan2, 2.5),
    ],
)
def test_two_arguments_special(op: str, f: Any, bound: float, strict: bool) -> None:
    x, y = _grid()
    with np.errstate(all="ignore"):
        want = f(x.astype(np.float64), y.astype(np.float64))
        got = compute(op, F32, x, y, strict)
        error = ulps(got, want)
    worst = int(np.argmax(error))
    assert error[worst] <= bound, (x[worst], y[worst], got[worst], want[worst])
    zeros = want == 0
    assert (np.signbit(got) == np.signbit(want))[zeros].all()


@pytest.mark.parametrize("strict", [True, False])
def test_atan2(strict: bool) -> None:
    rng = np.random.default_rng(4)
    y, x = within(-5, 5), within(-5, 5)
    y = (y * 10.0 ** rng.uniform(-20, 20, len(y))).astype(np.float32)
    x = (x * 10.0 ** rng.uniform(-20, 20, len(y))).astype(np.float32)
    y[:60000] = (x * rng.normal(size=len(x))).astype(np.float32)[:60000]
    want = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    error = ulps(compute("atan2", F32, y, x, strict), want)
    worst = int(np.argmax(error))
    assert error[worst] <= 2.5, (y[worst], x[worst], error[worst])


ZEROS = ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf"]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("op", ZEROS)
def test_odd_functions_keep_the_sign_of_zero(op: str, strict: bool) -> None:
    x = np.array([0.0, -0.0] * 8, np.float32)
    got = compute(op, F32, x, x, strict)
    assert (got == 0).all()
    assert (np.signbit(got) == np.signbit(x)).all()


def _everywhere() -> Array:
    """float64 over all signs and exponents, and over ranges where much happens."""
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 1 << 63, 60000, dtype=np.int64) * 2
    x = np.concatenate([bits.view(np.float64), rng.uniform(-745, 712, 40000)])
    x = np.concatenate([x, rng.uniform(-2, 2, 40000), rng.uniform(0.5, 2, 40000)])
    near = rng.uniform(-1, 1, 20000) * 10.0 ** rng.uniform(-9, 0, 20000)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 5e-324, 709.8, 0.5]
    return np.concatenate([x, near, 1 + near, special])


#: Of each function what NumPy computes in extended precision, and the bound.
FLOAT64 = {
    "exp": (np.exp, 1.2),
    "log": (np.log, 1.0),
    "asin": (np.arcsin, 2.3),
    "acos": (np.arccos, 2.3),
    "atan": (np.arctan, 2.0),
    "sinh": (np.sinh, 2.5),
    "cosh": (np.cosh, 2.5),
    "tanh": (np.tanh, 2.5),
    "asinh": (np.arcsinh, 2.5),
    "acosh": (np.arccosh, 2.5),
    "atanh": (np.arctanh, 2.5),
}


@pytest.mark.parametrize("op", FLOAT64)
@pytest.mark.parametrize("strict", [True, False])
def test_float64(op: str, strict: bool) -> None:
    f, bound = FLOAT64[op]
    x = _everywhere()
    with np.errstate(all="ignore"):
        want = f(x.astype(np.longdouble))
        got = compute(op, F64, x, x, strict)
        error = ulps(got, want)
    worst = int(np.argmax(error))
    assert error[worst] <= bound, (x[worst], error[worst])
    # Zeros have signs, too.
    zero = (want == 0) & (x == 0)
    assert (np.signbit(got[zero]) == np.signbit(want[zero])).all()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
def test_float64_trigonometry(op: str, strict: bool) -> None:
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, 60000) * 2.0 ** rng.uniform(-30, 52, 60000)
    # Next to multiples of pi/2, where digits cancel.
    whole = np.round(2.0 ** rng.uniform(0, 50, 20000)) * (np.pi / 2)
    x = np.concatenate(
        [x, rng.uniform(-10, 10, 40000), whole, [0.0, 6381956970095103.0]]
    )
    x = x[np.abs(x) < 2.0**52]
    f: Callable[[Array], Array] = getattr(np, op)
    error = ulps(compute(op, F64, x, x, strict), f(x.astype(np.longdouble)))
    worst = int(np.argmax(error))
    assert error[worst] <= (2.5 if op == "tan" else 0.8), (x[worst], error[worst])
    special = np.array([-0.0, 0.0, math.inf, -math.inf, math.nan] + [1e300] * 11)
    got = compute(op, F64, special, special, strict)
    assert np.isnan(got[2:5]).all()
    if op != "cos":
        assert np.signbit(got[:2]).tolist() == [True, False]
    if op != "tan":
        assert np.abs(got[5:]).max() <= 1


@pytest.mark.parametrize("strict", [True, False])
def test_float64_pow(strict: bool) -> None:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 63, 60000, dtype=np.int64)
    x = np.concatenate([bits.view(np.float64), rng.uniform(0, 4, 40000)])
    x = np.concatenate([x, 1 + rng.uniform(-0.1, 0.1, 40000)])
    y = rng.normal(size=len(x)) * 10.0 ** rng.uniform(-3, 3, len(x))
    y = np.where(rng.integers(0, 3, len(x)) == 0, np.round(y), y)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        error = ulps(compute("pow", F64, x, y, strict), want)
    worst = int(np.argmax(error))
    assert error[worst] <= 1.3, (x[worst], y[worst], error[worst])


def _grid64() -> tuple[Array, Array]:
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e308, 5e-324, 1e-308, math.inf]
    values += [9007199254740993.0, 9007199254740992.0 * 4, 1e30]
    values += [-v for v in values] + [math.nan]
    x, y = np.meshgrid(np.array(values), np.array(values))
    return x.ravel(), y.ravel()


@pytest.mark.parametrize("op", ["pow", "atan2"])
def test_float64_special_values_of_two(op: str) -> None:
    x, y = _grid64()
    with np.errstate(all="ignore"):
        f = np.power if op == "pow" else np.arctan2
        want = f(x.astype(np.longdouble), y.astype(np.longdouble))
        got = compute(op, F64, x, y)
        error = ulps(got, want)
    worst = int(np.argmax(error))
    assert error[worst] <= 2.0, (x[worst], y[worst], got[worst], want[worst])
    exact = np.abs(want) < np.longdouble(2) ** -1075
    assert (np.signbit(got[exact]) == np.signbit(want[exact])).all()


@pytest.mark.parametrize("strict", [True, False])
def test_float64_atan2(strict: bool) -> None:
    rng = np.random.default_rng(8)
    bits = rng.integers(0, 1 << 63, (2, 60000), dtype=np.int64).view(np.float64)
    y = np.concatenate([bits[0], rng.uniform(-10, 10, 60000)])
    x = np.concatenate([-bits[1], rng.uniform(-10, 10, 60000)])
    with np.errstate(all="ignore"):
        want = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
        error = ulps(compute("atan2", F64, y, x, strict), want)
    worst = int(np.argmax(error))
    assert error[worst] <= 2.0, (y[worst], x[worst], error[worst])


def _erf(a: float) -> Decimal:
    """The error function, by its series in 60 digits."""
    x = Decimal(a)
    term = total = x
    n = 0
    while abs(term) > Decimal(10) ** -50:
        n += 1
        term = -term * x * x / n
        total += term / (2 * n + 1)
    return 2 * total / _PI.sqrt()


_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def test_float64_erf() -> None:
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.uniform(-1, 1, 150), rng.uniform(1, 2, 150)])
    x = np.concatenate([x, rng.uniform(2, 6, 20), 10.0 ** rng.uniform(-300, 0, 32)])
    got = compute("erf", F64, x, x)
    with localcontext() as digits:
        digits.prec = 60
        for one, value in zip(x.tolist(), got.tolist(), strict=True):
            off = abs(Decimal(value) - _erf(one)) / Decimal(math.ulp(value))
            assert off <= Decimal("1.2"), (one, value, off)
    special = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 7.0] + [-9.0] * 10)
    got = compute("erf", F64, special, special)
    assert got[:4].tolist() == [0, 0, 1, -1] and np.isnan(got[4]) and got[5] == 1
    assert np.signbit(got[:2]).tolist() == [False, True] and got[6] == -1


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("op", "f", "x", "bound"),
    [
        ("fast_exp", np.exp, within(-87, 88), 2.0**-20),
        ("fast_log", np.log, within(0.001, 1000), 2.0**-15),
        ("fast_sin", np.sin, within(-1000, 1000), 1e-5),
        ("fast_cos", np.cos, within(-1000, 1000), 1e-5),
    ],
)
def test_fast(op: str, f: Any, x: Array, bound: float, strict: bool) -> None:
    x = x[x > 0] if op == "fast_log" else x
    want = f(x.astype(np.float64))
    got = compute(op, F32, x, x, strict).astype(np.float64)
    scale = np.abs(want) if op == "fast_exp" else np.maximum(np.abs(want), 1)
    assert np.max(np.abs(got - want) / scale) <= bound


@pytest.mark.parametrize("strict", [True, False])
def test_fast_pow(strict: bool) -> None:
    x, y = within(0.01, 10), within(-3, 3)
    x = np.abs(x) + np.float32(1e-3)
    want = np.power(x.astype(np.float64), y.astype(np.float64))
    got = compute("fast_pow", F32, x, y, strict)
    scale = np.maximum(np.abs(y * np.log(x)), 1) * want
    assert np.max(np.abs(got - want) / scale) <= 2.0**-14
    zero, one = np.zeros(16, np.float32), np.ones(16, np.float32)
    assert (compute("fast_pow", F32, zero, one, strict) == 0).all()
    assert (compute("fast_pow", F32, one * 3, zero, strict) == 1).all()
