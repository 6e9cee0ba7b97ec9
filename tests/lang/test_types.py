"""The type of every operator and function for every pair of operand types."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import parhelion as hl
from parhelion.types import promote

x = hl.Var("x")
BOOL = hl.Bool()
SIGNED = [hl.Int(b) for b in (8, 16, 32, 64)]
UNSIGNED = [hl.UInt(b) for b in (8, 16, 32, 64)]
INTS = [BOOL, *SIGNED, *UNSIGNED]
FLOATS = [hl.Float(16), hl.Float(32), hl.Float(64)]
ALL = [*INTS, *FLOATS]
PAIRS = [(a, b) for a in ALL for b in ALL]
Binary = Callable[[hl.Expr, hl.Expr], hl.Expr]


def of(t: hl.Type, v: str = "x") -> hl.Expr:
    return hl.cast(t, hl.Var(v))


def result(f: Binary, a: hl.Type, b: hl.Type) -> hl.Type | None:
    """The type of ``f(a, b)``, None for a TypeMismatchError."""
    try:
        return f(of(a), of(b, "y")).type()
    except hl.TypeMismatchError:
        return None


PROMOTING: dict[str, Binary] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": hl.min,
    "max": hl.max,
}


@pytest.mark.parametrize("name", PROMOTING)
def test_arithmetic_promotes(name: str) -> None:
    for a, b in PAIRS:
        assert result(PROMOTING[name], a, b) is promote(a, b), (a, b)


def test_comparisons_are_bool() -> None:
    for f in (
        lambda a, b: a < b,
        lambda a, b: a <= b,
        lambda a, b: a > b,
        lambda a, b: a >= b,
        lambda a, b: a == b,
        lambda a, b: a != b,
    ):
        assert {result(f, a, b) for a, b in PAIRS} == {BOOL}


@pytest.mark.parametrize(
    "f", [lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b]
)
def test_bit_operators_take_integers_of_one_signedness(f: Binary) -> None:
    for a, b in PAIRS:
        fits = a.is_int_or_uint() and b.is_int_or_uint() and a.is_int() == b.is_int()
        assert result(f, a, b) is (promote(a, b) if fits else None), (a, b)


SHIFTS: dict[str, Binary] = {
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "left": hl.rounding_shift_left,
    "right": hl.rounding_shift_right,
}


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_keep_the_kind_and_widen(name: str) -> None:
    for a, b in PAIRS:
        want = None
        if a.is_int_or_uint() and b.is_int_or_uint():
            want = a.with_bits(max(a.width, b.width))
        assert result(SHIFTS[name], a, b) is want, (a, b)


@pytest.mark.parametrize("name", ["<<", ">>", "left", "right"])
def test_a_literal_shift_keeps_the_type(name: str) -> None:
    for t in INTS:
        assert SHIFTS[name](of(t), 1).type() is (  # type: ignore[arg-type]
            t if t is not BOOL else hl.UInt(8)
        )


SAME: list[Binary] = [
    hl.halving_add,
    hl.halving_sub,
    hl.rounding_halving_add,
    hl.saturating_add,
    hl.saturating_sub,
    hl.div_round_to_zero,
    hl.mod_round_to_zero,
]


@pytest.mark.parametrize("f", SAME)
def test_integer_functions_of_one_type(f: Binary) -> None:
    for a, b in PAIRS:
        fits = a.is_int_or_uint() and b.is_int_or_uint()
        assert result(f, a, b) is (promote(a, b) if fits else None), (a, b)


def test_widening() -> None:
    assert result(hl.widening_add, hl.UInt(8), hl.UInt(8)) is hl.UInt(16)
    assert result(hl.widening_add, hl.UInt(8), hl.Int(8)) is hl.Int(16)
    assert result(hl.widening_sub, hl.UInt(8), hl.UInt(8)) is hl.Int(16)
    assert result(hl.widening_mul, hl.UInt(16), hl.Int(8)) is hl.Int(32)
    assert result(hl.widening_add, hl.Float(16), hl.Float(16)) is hl.Float(32)
    assert result(hl.widening_add, hl.Int(64), hl.Int(8)) is None
    assert result(hl.widening_shift_left, hl.Int(8), hl.UInt(8)) is hl.Int(16)
    assert result(hl.widening_shift_right, hl.UInt(16), hl.Int(32)) is hl.UInt(64)
    assert result(hl.widen_right_add, hl.UInt(16), hl.UInt(8)) is hl.UInt(16)
    assert result(hl.widen_right_mul, hl.UInt(16), hl.Int(8)) is None
    assert result(hl.widen_right_sub, hl.UInt(16), hl.UInt(16)) is None


def test_mul_shift_right() -> None:
    a = of(hl.Int(16))
    for f in (hl.mul_shift_right, hl.rounding_mul_shift_right):
        assert f(a, a, 15).type() is hl.Int(16)
        assert f(a, 3, hl.u8(x)).type() is hl.Int(16)
        assert f(a, a, hl.u32(x)).type() is hl.Int(32)
        with pytest.raises(hl.TypeMismatchError, match="must be unsigned"):
            f(a, a, x)


def test_absolute_values_are_unsigned() -> None:
    for t in SIGNED:
        assert hl.abs(of(t)).type() is hl.UInt(t.width)
        assert hl.absd(of(t), of(t, "y")).type() is hl.UInt(t.width)
        assert abs(of(t)).type() is hl.UInt(t.width)
    for t in [*UNSIGNED, *FLOATS]:
        assert hl.abs(of(t)).type() is t
        assert hl.absd(of(t), of(t, "y")).type() is t


UNARY_FLOAT = [
    *(hl.sqrt, hl.exp, hl.log, hl.sin, hl.cos, hl.tan, hl.asin, hl.acos, hl.atan),
    *(hl.sinh, hl.cosh, hl.tanh, hl.asinh, hl.acosh, hl.atanh, hl.erf),
    *(hl.floor, hl.ceil, hl.round, hl.trunc, hl.fract),
]


@pytest.mark.parametrize("f", UNARY_FLOAT)
def test_float_functions(f: Callable[[hl.Expr], hl.Expr]) -> None:
    for t in INTS:
        assert f(of(t)).type() is hl.Float(32)
    for t in FLOATS:
        assert f(of(t)).type() is t
    assert f(2).type() is hl.Float(32)  # type: ignore[arg-type]


@pytest.mark.parametrize("f", [hl.pow, hl.atan2])
def test_float_functions_of_two_take_the_firsts_type(f: Binary) -> None:
    for a, b in PAIRS:
        want = a if a.is_float() else hl.Float(32)
        assert result(f, a, b) is want, (a, b)


def test_constant_powers_keep_the_type() -> None:
    for t in ALL:
        if t is not BOOL:
            assert (of(t) ** 3).type() is t
            assert hl.pow(of(t), -2).type() is t
    assert (x**2.0).type() is hl.Float(32)
    assert (2 ** hl.f64(x)).type() is hl.Float(64)
    assert (2**x).type() is hl.Float(32)


def test_classification() -> None:
    for f in (hl.is_nan, hl.is_inf, hl.is_finite):
        for t in [*FLOATS, hl.BFloat(16)]:
            assert f(of(t)).type() is BOOL
        with pytest.raises(hl.TypeMismatchError, match="takes a float"):
            f(x)


def test_bit_counts() -> None:
    for f in (hl.popcount, hl.count_leading_zeros, hl.count_trailing_zeros):
        for t in INTS:
            assert f(of(t)).type() is t
        with pytest.raises(hl.TypeMismatchError):
            f(hl.f32(x))


def test_reinterpret_and_bits() -> None:
    assert hl.reinterpret(hl.Float(32), x).type() is hl.Float(32)
    assert hl.reinterpret(hl.UInt(16), hl.f16(x)).type() is hl.UInt(16)
    with pytest.raises(hl.TypeMismatchError, match="32 bits, to uint8"):
        hl.reinterpret(hl.UInt(8), x)
    assert hl.extract_bits(hl.Int(8), x, 4).type() is hl.Int(8)
    assert hl.concat_bits([hl.u8(x)] * 4).type() is hl.UInt(32)
    assert hl.concat_bits([hl.f16(x)] * 2).type() is hl.Float(32)
    with pytest.raises(hl.TypeMismatchError, match="power of two"):
        hl.concat_bits([hl.u8(x)] * 3)
    with pytest.raises(hl.TypeMismatchError, match="one type"):
        hl.concat_bits([hl.u8(x), hl.i8(x)])


def test_random() -> None:
    assert hl.random_float().type() is hl.Float(32)
    assert hl.random_int().type() is hl.Int(32)
    assert hl.random_uint(x).type() is hl.UInt(32)
    with pytest.raises(hl.TypeMismatchError, match="the seed of random_float"):
        hl.random_float(hl.u8(x))


def test_approximations() -> None:
    for f in (hl.fast_exp, hl.fast_log, hl.fast_inverse, hl.fast_inverse_sqrt):
        assert f(hl.f32(x)).type() is hl.Float(32)
        with pytest.raises(hl.TypeMismatchError, match="Float"):
            f(hl.f64(x))
    assert hl.fast_sin(hl.f64(x)).type() is hl.Float(64)
    assert hl.fast_cos(hl.f16(x)).type() is hl.Float(32)
    assert hl.fast_pow(hl.f32(x), 0.3).type() is hl.Float(32)
    assert hl.fast_pow(hl.f32(x), 3).type() is hl.Float(32)


@pytest.mark.parametrize(
    "make", [lambda: hl.Int(33), lambda: hl.Float(8), lambda: hl.UInt(8, 0)]
)
def test_types_that_are_not_there_quote_the_line(make: Callable[[], hl.Type]) -> None:
    with pytest.raises(hl.HalideError, match=r"make.*lambda: hl\.Int\(33\)"):
        make()


def test_bfloat_constants_round_and_overflow_to_infinity() -> None:
    def at(v: float) -> object:
        return hl.evaluate(hl.f32(hl.cast(hl.BFloat(16), hl.f64(v))))

    assert at(1.00390625) == 1.0  # halfway between 1 and 1 + 2**-7: to even
    assert at(1.01171875) == 1.015625
    assert at(1e300) == math.inf and at(-1e39) == -math.inf
