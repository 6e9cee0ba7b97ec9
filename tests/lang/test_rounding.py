"""What floats are rounded once, and that no schedule has a say in it.

Each rewrite that docs/floats.md lists has its test here, and so has what is no rewrite.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.interp import Rounding, interpret
from tests.support.checking import assert_same, check

Array = NDArray[Any]
x, y = hl.Var("x"), hl.Var("y")
N = 400
RNG = np.random.default_rng(7)
TYPES: dict[int, type[np.floating[Any]]] = {
    16: np.float16,
    32: np.float32,
    64: np.float64,
}


def _numbers(bits: int) -> list[Array]:
    """Three arrays of ordinary numbers, in which what is rounded shows."""
    return [
        RNG.standard_normal(N).astype(TYPES[bits]) + TYPES[bits](1e-3) for _ in "abc"
    ]


DATA = {bits: _numbers(bits) for bits in TYPES}


def realized(
    make: Callable[[hl.Expr, hl.Expr, hl.Expr], hl.Expr],
    bits: int,
    target: str = "host",
) -> tuple[Array, list[Array]]:
    """``make(a, b, c)`` for every element, and the arrays a, b and c."""
    given = DATA[bits]
    a, b, c = [hl.Expr(hl.Buffer(v)[x]) for v in given]
    f = hl.Func("f")
    f[x] = make(a, b, c)
    f.vectorize(x, 8)
    return np.asarray(f.realize([N], hl.Target(target))), given


def fma(a: Array, b: Array, c: Array) -> Array:
    """By the C library, which rounds once."""
    width = a.dtype.itemsize * 8
    kind = ctypes.c_float if width == 32 else ctypes.c_double
    function = ctypes.CDLL("libm.so.6")["fmaf" if width == 32 else "fma"]
    function.restype, function.argtypes = kind, [kind] * 3
    return np.array(
        [function(*[v.item() for v in at]) for at in zip(a, b, c, strict=True)], a.dtype
    )


# The list of docs/floats.md: products and sums.


@pytest.mark.parametrize("bits", [32, 64])
def test_a_product_in_a_sum_is_fused(bits: int) -> None:
    got, (a, b, c) = realized(lambda a, b, c: a * b + c, bits)
    assert_same(got, fma(a, b, c))
    got, (a, b, c) = realized(lambda a, b, c: c + a * b, bits)
    assert_same(got, fma(a, b, c))
    assert (got != a * b + c).any()


@pytest.mark.parametrize("bits", [32, 64])
def test_a_product_in_a_difference_is_fused(bits: int) -> None:
    got, (a, b, c) = realized(lambda a, b, c: a * b - c, bits)
    assert_same(got, fma(a, b, -c))
    got, (a, b, c) = realized(lambda a, b, c: c - a * b, bits)
    assert_same(got, fma(-a, b, c))


def test_of_two_products_the_first_is_fused() -> None:
    got, (a, b, c) = realized(lambda a, b, c: a * b + b * c, 32)
    assert_same(got, fma(a, b, b * c))


def test_a_sum_of_products_is_fused_from_its_first_one() -> None:
    got, (a, b, c) = realized(lambda a, b, c: a * b + b * c + c * a, 32)
    assert_same(got, fma(c, a, fma(a, b, b * c)))


# The list of docs/floats.md: quotients.


@pytest.mark.parametrize("bits", [32, 64])
def test_a_quotient_by_a_constant_is_a_product(bits: int) -> None:
    t = TYPES[bits]
    got, (a, _, _) = realized(lambda a, b, c: a / 7, bits)
    assert_same(got, a * (t(1) / t(7)))
    got, (a, b, _) = realized(lambda a, b, c: a / (hl.cast(a.type(), 3) * 2) + b, bits)
    assert_same(got, fma(a, np.full(N, t(1) / t(6)), b))


def test_a_quotient_by_a_tiny_or_infinite_constant_is_one() -> None:
    for divisor in (1e-40, 3e38, np.inf, 0.0):
        got, (a, _, _) = realized(lambda a, b, c, d=divisor: a / hl.f32(d), 32)  # type: ignore[misc]
        with np.errstate(all="ignore"):
            assert_same(got, a / np.float32(divisor))


# What is not on the list.


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_quotients_by_what_is_no_constant_divide(bits: int) -> None:
    p = hl.Param(hl.Float(bits), "p", 7.0)
    got, (a, b, _) = realized(lambda a, b, c: a / b, bits)
    assert_same(got, a / b)
    got, (a, _, _) = realized(lambda a, b, c: a / hl.Expr(p), bits)
    assert_same(got, a / TYPES[bits](7))


def test_float16_is_rounded_at_each_operation() -> None:
    got, (a, b, c) = realized(lambda a, b, c: a * b + c, 16)
    assert_same(got, a * b + c)
    got, (a, _, _) = realized(lambda a, b, c: a / 7, 16)
    assert_same(got, a / np.float16(7))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("by", ["expression", "target"])
def test_strict_code_is_rounded_at_each_operation(bits: int, by: str) -> None:
    def strict(e: hl.Expr) -> hl.Expr:
        return hl.strict_float(e) if by == "expression" else e

    target = "host-strict_float" if by == "target" else "host"
    t = TYPES[bits]
    got, (a, b, c) = realized(lambda a, b, c: strict(a * b + c), bits, target)
    assert_same(got, a * b + c)
    got, (a, b, c) = realized(lambda a, b, c: strict(c - a * b), bits, target)
    assert_same(got, c - a * b)
    got, (a, _, _) = realized(lambda a, b, c: strict(a / 7), bits, target)
    assert_same(got, a / t(7))
    # What is around is no part of it.
    if by == "expression":
        got, (a, b, c) = realized(lambda a, b, c: strict(a * b) + c, bits)
        assert_same(got, a * b + c)
        got, (a, b, c) = realized(lambda a, b, c: strict(a * b + c) * b - c, bits)
        assert_same(got, fma(a * b + c, b, -c))


def test_sums_are_not_regrouped() -> None:
    got, (a, b, c) = realized(lambda a, b, c: a + b + c + 0.1 + 0.3 - a, 32)
    assert_same(got, a + b + c + np.float32(0.1) + np.float32(0.3) - a)
    got, (a, b, c) = realized(lambda a, b, c: a * b * c * 3.1 * 0.7 / a, 32)
    assert_same(got, a * b * c * np.float32(3.1) * np.float32(0.7) / a)


def test_factors_are_not_taken_out() -> None:
    got, (a, b, c) = realized(lambda a, b, c: hl.max(a * c, b * c) + (a - a) * c, 32)
    assert_same(got, fma(a - a, c, np.where(b * c > a * c, b * c, a * c)))


def test_products_in_another_func_are_rounded() -> None:
    """Wherever that Func is computed."""

    def make() -> tuple[hl.Func, hl.Func]:
        a, b, c = map(hl.Buffer, DATA[32])
        g, f = hl.Func("g"), hl.Func("f")
        g[x] = a[x] * b[x]
        f[x] = g[x] + c[x]
        return f, g

    (wanted,) = check(
        make,
        [N],
        [
            lambda f, g: g.compute_root(),
            lambda f, g: g.compute_root().vectorize(x, 8),
            lambda f, g: f.vectorize(x, 16),
            lambda f, g: (g.compute_at(f, x), f.unroll(x, 4)),
        ],
    )
    a, b, c = DATA[32]
    assert_same(wanted, a * b + c)


# Schedules that make constants.

SCHEDULES: dict[str, Callable[..., object]] = {
    "unrolled": lambda f: f.bound(y, 0, 20).unroll(y),
    "unrolled by 4": lambda f: f.unroll(y, 4),
    "unrolled and vectorized": lambda f: f.unroll(y, 4).vectorize(x, 8),
    "vectorized by 5": lambda f: f.vectorize(x, 5),
    "vectors over y": lambda f: f.reorder(y, x).vectorize(y, 4),
    "wide": lambda f: f.vectorize(x, 32, hl.TailStrategy.GuardWithIf),
    "masked": lambda f: f.vectorize(x, 16, hl.TailStrategy.Predicate),
    "parallel": lambda f: f.parallel(y).vectorize(x, 8),
    "bound": lambda f: f.bound(x, 0, 40).bound(y, 0, 20).vectorize(x),
}


@pytest.mark.parametrize("strict", [False, True], ids=["", "strict"])
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_constants_that_schedules_make_change_nothing(bits: int, strict: bool) -> None:
    a = hl.Buffer(RNG.standard_normal(40).astype(TYPES[bits]))

    def make() -> hl.Func:
        row, v = hl.cast(hl.Float(bits), y), hl.Expr(a[x])
        value = v / (row + 1) + v * row - hl.sqrt(hl.abs(v * row)) / 3
        value = value + hl.exp(v / (row + 2)) * row + hl.sin(row * v + 0.5)
        f = hl.Func("f")
        f[x, y] = hl.strict_float(value) if strict else value
        return f

    check(make, [40, 20], list(SCHEDULES.values()))


def test_specialising_changes_nothing() -> None:
    a = hl.Buffer(DATA[32][0])
    p = hl.Param(hl.Float(32), "p", 3.0)

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = a[x] / p + a[x] * p - (p * 0.1 + 0.7)
        return f

    check(make, [N], [lambda f: f.specialize(p == 3.0).vectorize(x, 8)])


def test_updates_are_fused_wherever_they_are_kept() -> None:
    a, b = hl.Buffer(DATA[32][0]), hl.Buffer(DATA[32][1])
    r = hl.RDom([(0, 33)])

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = 0.5
        f[x] += a[x + r.x] * b[r.x]
        return f

    (wanted,) = check(
        make,
        [50],
        [
            lambda f: f.vectorize(x, 8).update().vectorize(x, 8),
            lambda f: f.update().reorder(x, r.x).vectorize(x, 8),
            lambda f: f.update().unroll(r.x, 3),
            lambda f: f.compute_root().update().parallel(x),
        ],
    )
    total = np.full(50, 0.5, np.float32)
    for k in range(33):
        total = fma(DATA[32][0][k : k + 50], np.full(50, DATA[32][1][k]), total)
    assert_same(wanted, total)


FUNCTIONS: dict[str, Callable[[hl.Expr | hl.FuncRef], hl.Expr]] = {
    **{n: getattr(hl, n) for n in ("exp", "log", "sin", "cos", "tan", "atan", "tanh")},
    **{n: getattr(hl, n) for n in ("asinh", "erf", "fast_exp", "fast_sin", "fast_log")},
    "pow": lambda v: hl.pow(hl.abs(v) + 0.5, v * 3),
    "atan2": lambda v: hl.atan2(v, v + 0.3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_the_same_everywhere(name: str) -> None:
    """Also of arguments that are products, which their first operation might take."""
    a = hl.Buffer(DATA[32][0])

    def make() -> tuple[hl.Func, hl.Func]:
        g, f = hl.Func("g"), hl.Func("f")
        g[x] = hl.abs(a[x] * a[x]) * 1.7
        value = FUNCTIONS[name](g[x]) * 3 + g[x]
        f[x] = value + hl.strict_float(FUNCTIONS[name](g[x] * a[x]) * 3 + g[x])
        return f, g

    check(
        make,
        [N],
        [
            lambda f, g: f.vectorize(x, 8),
            lambda f, g: (g.compute_root(), f.vectorize(x, 16)),
            lambda f, g: f.unroll(x, 4),
        ],
    )


@pytest.mark.parametrize("rounding", list(Rounding), ids=lambda r: r.name)
def test_the_interpreter_follows_each_kind_of_machine(rounding: Rounding) -> None:
    a, b, c = map(hl.Buffer, DATA[32])
    f = hl.Func("f")
    f[x] = a[x] * b[x] + c[x] / 7
    (made,) = interpret(f._function, [(0, N)], rounding=rounding)
    p, q, s = DATA[32]
    seventh = np.float32(1) / np.float32(7)
    wanted = {
        Rounding.FUSED: fma(p, q, s * seventh),
        Rounding.APART: p * q + s * seventh,
        Rounding.STRICT: p * q + s / np.float32(7),
    }
    assert_same(made, wanted[rounding])


def test_float_indices_stay_within_what_is_computed() -> None:
    """Coordinates by way of fused operations are bounded by fused operations."""
    data = hl.Buffer(np.arange(4000, dtype=np.float32))

    def make() -> tuple[hl.Func, hl.Func]:
        g, f = hl.Func("g"), hl.Func("f")
        g[x] = data[hl.clamp(x, 0, 3999)]
        place = hl.f32(x) * hl.f32(1.1) + hl.f32(0.3) - hl.f32(x) * 0.1
        f[x] = g[hl.i32(hl.floor(place))] + g[hl.i32(hl.f32(1000) - hl.f32(x) * 0.37)]
        return f, g

    check(
        make,
        [1000],
        [
            lambda f, g: g.compute_root(),
            lambda f, g: (g.compute_root(), f.vectorize(x, 8)),
            lambda f, g: (f.split(x, y, x, 16), g.compute_at(f, y)),
        ],
    )


def test_the_report_names_what_regroups_sums() -> None:
    a = hl.Buffer(DATA[32][0])
    r = hl.RDom([(0, N)])
    u = hl.Var("u")
    f, g = hl.Func("f"), hl.Func("g")
    f[()] = 0.0
    f[()] += a[r.x]
    inner, outer = hl.RVar("inner"), hl.RVar("outer")
    f.update().split(r.x, outer, inner, 8).rfactor(inner, u).compute_root()
    f.compute_root()
    g[x] = f[()]
    g[x] += a[r.x] * x
    g.update().atomic().vectorize(r.x, 8)
    told = hl.Pipeline(g).report([16])
    assert told["f"].regrouped == ("update 0: rfactor",)
    (line,) = told["g"].regrouped
    assert line.startswith("update 0: atomic over vectors of ")
    assert "f rounds in another order in update 0: rfactor" in str(told)


def test_the_report_names_no_regrouped_integers() -> None:
    a = hl.Buffer(np.arange(64, dtype=np.int32))
    r = hl.RDom([(0, 64)])
    f = hl.Func("f")
    f[x] = 0
    f[x] += a[r.x] * x
    f.update().atomic().vectorize(r.x, 8)
    assert hl.Pipeline(f).report([16])["f"].regrouped == ()


def test_the_c_library_computes_constants_too() -> None:
    """Unrolling makes ``pow(v, 2)`` and ``sin(2)`` of pow(v, y) and sin(y)."""
    a = hl.Buffer(RNG.uniform(0.1, 5, 60000))
    row = hl.f64(y)

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x, y] = hl.pow(a[x], row - 1) + hl.sin(row * 1.7 + 0.3) + hl.tan(row * 0.9)
        return f

    check(make, [60000, 4], [lambda f: f.bound(y, 0, 4).reorder(y, x).unroll(y)])
