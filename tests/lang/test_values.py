"""What expressions are worth: the nodes that the language builds, evaluated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

import parhelion as hl
from parhelion.ir.evaluate import evaluate

x, y, z = hl.vars("x y z")
INT8 = range(-128, 128, 5)


def at(e: hl.Expr, **values: int) -> int | float | bool:
    """The value of an expression where the Vars named are as given."""
    return evaluate(e._node, {hl.Var(n)._var: v for n, v in values.items()})


def table(
    f: Callable[..., hl.Expr], types: Sequence[hl.Type], rows: Sequence[Sequence[int]]
) -> list[int | float | bool]:
    """`f` of operands of the types, for each row of their values."""
    names = ["x", "y", "z"][: len(types)]
    e = f(*[hl.cast(t, hl.Var(n)) for t, n in zip(types, names, strict=True)])
    return [at(e, **dict(zip(names, row, strict=True))) for row in rows]


def wrap8(v: int) -> int:
    return (v + 128) % 256 - 128


def test_division_never_leaves_a_negative_remainder() -> None:
    rows = list(itertools.product(INT8, [-128, -7, -1, 0, 1, 2, 7, 127]))
    i8 = [hl.Int(8)] * 2
    quotients = table(lambda a, b: a / b, i8, rows)
    remainders = table(lambda a, b: a % b, i8, rows)
    assert table(lambda a, b: a // b, i8, rows) == quotients
    for (a, b), q, r in zip(rows, quotients, remainders, strict=True):
        if b == 0:
            assert q == r == 0
        else:
            assert 0 <= r < abs(b)
            assert q == wrap8((a - int(r)) // b)


def test_division_rounding_to_zero() -> None:
    rows = list(itertools.product(INT8, [-128, -7, -1, 0, 1, 2, 7, 127]))
    i8 = [hl.Int(8)] * 2
    quotients = table(hl.div_round_to_zero, i8, rows)
    remainders = table(hl.mod_round_to_zero, i8, rows)
    for (a, b), q, r in zip(rows, quotients, remainders, strict=True):
        want = math.trunc(Fraction(a, b)) if b else 0
        assert q == wrap8(want)
        assert r == (a - b * want if b else 0)


def test_float_floor_division_and_modulo() -> None:
    for a, b in [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0)]:
        assert at(hl.f64(a) // hl.f64(b)) == a // b
        assert at(hl.f64(a) % hl.f64(b)) == a % b


def test_negation_keeps_signed_zeros() -> None:
    for t in (hl.Float(32), hl.Float(64)):
        e = -hl.cast(t, x)
        assert math.copysign(1, at(e, x=0)) == -1
        assert math.copysign(1, at(-hl.cast(t, -0.0))) == 1
        assert at(e, x=3) == -3


def test_abs_of_the_least_value() -> None:
    assert table(hl.abs, [hl.Int(8)], [[-128], [-1], [0], [127]]) == [128, 1, 0, 127]
    rows = list(itertools.product(INT8, INT8))
    assert table(hl.absd, [hl.Int(8)] * 2, rows) == [abs(a - b) for a, b in rows]


def test_min_and_max_favour_the_left_with_nan() -> None:
    nan = hl.f64(float("nan"))
    assert math.isnan(at(hl.min(nan, hl.f64(1))))
    assert at(hl.min(hl.f64(1), nan)) == 1
    assert math.isnan(at(hl.max(nan, hl.f64(1))))
    assert at(hl.max(3, x, 7, y), x=9, y=2) == 9
    assert at(hl.min(3, x, 7, y), x=9, y=2) == 2


def test_clamp_with_crossed_bounds_gives_the_lower_one() -> None:
    assert at(hl.clamp(x, 5, 3), x=4) == 5
    assert [at(hl.clamp(x, 0, 9), x=v) for v in (-1, 4, 10)] == [0, 4, 9]


def test_select_takes_the_first_that_holds() -> None:
    e = hl.select(x < 0, -1, x < 10, 0, x < 100, 1, 2)
    assert [at(e, x=v) for v in (-5, 5, 50, 500)] == [-1, 0, 1, 2]


def test_mux_out_of_range_gives_the_last() -> None:
    e = hl.mux(x, [10, 20, 30])
    assert [at(e, x=v) for v in (-1, 0, 1, 2, 3)] == [30, 10, 20, 30, 30]
    assert at(hl.mux(hl.u8(x), [y, y + 1]), x=1, y=4) == 5
    assert at(hl.mux(x, [y]), x=9, y=4) == 4


def test_select_and_mux_of_tuples() -> None:
    a, b = hl.Tuple(x, hl.u8(y)), hl.Tuple(y, hl.u8(x))
    chosen = hl.select(x < y, a, b)
    assert isinstance(chosen, hl.Tuple)
    assert [e.type() for e in chosen] == [hl.Int(32), hl.UInt(8)]
    assert [at(e, x=5, y=3) for e in chosen] == [3, 5]
    mixed = hl.select(hl.Tuple(x < y, x > y), (1, 2), (3, 4))
    assert [at(e, x=5, y=3) for e in mixed] == [3, 2]
    picked = hl.mux(z, [a, b])
    assert [at(e, x=5, y=3, z=1) for e in picked] == [3, 5]


def test_bool_arithmetic_is_of_one_bit() -> None:
    rows = list(itertools.product([0, 1], [0, 1]))
    bools = [hl.Bool()] * 2
    assert table(lambda a, b: a + b, bools, rows) == [a ^ b for a, b in rows]
    assert table(lambda a, b: a - b, bools, rows) == [a ^ b for a, b in rows]
    assert table(lambda a, b: a * b, bools, rows) == [a & b for a, b in rows]
    assert table(lambda a, b: a ^ b, bools, rows) == [a ^ b for a, b in rows]
    assert table(lambda a, b: a | ~b, bools, rows) == [a | (1 - b) for a, b in rows]
    assert table(hl.min, bools, rows) == [min(a, b) for a, b in rows]
    assert table(hl.saturating_add, bools, rows) == [a | b for a, b in rows]
    assert table(hl.saturating_sub, bools, rows) == [a & (1 - b) for a, b in rows]
    assert table(hl.halving_add, bools, rows) == [a & b for a, b in rows]
    assert table(hl.absd, bools, rows) == [a ^ b for a, b in rows]
    assert table(lambda a, b: a << b, bools, rows) == [a & (1 - b) for a, b in rows]


def test_shifts_by_a_negative_amount_go_the_other_way() -> None:
    i16 = [hl.Int(16)] * 2
    rows = [(-1000, 3), (-1000, -3), (1000, 2), (1000, -2)]
    left = [-8000, -125, 4000, 250]
    assert table(lambda a, b: a << b, i16, rows) == left
    assert table(lambda a, b: a >> b, i16, [(a, -b) for a, b in rows]) == left
    assert at(hl.i16(x) << -3, x=-1000) == -125
    assert at(hl.u16(x) >> -1, x=1000) == 2000


def test_fixed_point() -> None:
    rows = list(itertools.product(INT8, INT8))
    i8 = [hl.Int(8)] * 2
    top = [(max(-128, min(127, v))) for v in (a + b for a, b in rows)]
    assert table(hl.saturating_add, i8, rows) == top
    assert table(hl.halving_add, i8, rows) == [(a + b) >> 1 for a, b in rows]
    assert table(hl.rounding_halving_add, i8, rows) == [
        (a + b + 1) >> 1 for a, b in rows
    ]
    assert table(hl.halving_sub, i8, rows) == [wrap8((a - b) >> 1) for a, b in rows]
    assert table(hl.widening_mul, i8, rows) == [a * b for a, b in rows]
    u8 = [hl.UInt(8)] * 2
    positive = [(a + 128, b + 128) for a, b in rows]
    assert table(hl.widening_sub, u8, positive) == [a - b for a, b in positive]
    mixed = [(a, b + 128) for a, b in rows]
    assert table(hl.widening_mul, [hl.Int(8), hl.UInt(8)], mixed) == [
        a * b for a, b in mixed
    ]
    assert table(lambda a, b: hl.mul_shift_right(a, b, 7), i8, rows) == [
        min(127, (a * b) >> 7) for a, b in rows
    ]
    assert table(lambda a, b: hl.rounding_mul_shift_right(a, b, 7), i8, rows) == [
        min(127, (a * b + 64) >> 7) for a, b in rows
    ]
    assert table(lambda a: hl.rounding_shift_right(a, 2), [hl.Int(8)], [[127]]) == [32]


def test_bits() -> None:
    assert at(hl.extract_bits(hl.UInt(8), x, 8), x=0x12345678) == 0x56
    assert at(hl.extract_bits(hl.Int(8), x, 0), x=0xF8) == -8
    assert at(hl.extract_bits(hl.UInt(16), hl.u8(x), 4), x=0xAB) == 0xA
    parts = [hl.extract_bits(hl.UInt(8), x, n) for n in (0, 8, 16, 24)]
    assert at(hl.concat_bits(parts), x=0x12345678) == 0x12345678
    assert at(hl.popcount(hl.u8(x)), x=0xF1) == 5
    assert at(hl.count_leading_zeros(hl.u8(x)), x=0x10) == 3
    assert at(hl.count_trailing_zeros(hl.u8(x)), x=0x10) == 4
    assert at(hl.reinterpret(hl.Float(32), x), x=0x40490FDB) == pytest.approx(math.pi)
    assert at(~hl.u8(x), x=0x10) == 0xEF


def test_saturating_cast() -> None:
    assert [at(hl.u8_sat(x), x=v) for v in (-3, 7, 300)] == [0, 7, 255]
    assert [at(hl.i8_sat(hl.f32(x)), x=v) for v in (-300, 7, 300)] == [-128, 7, 127]
    assert at(hl.i32_sat(hl.f64(float("nan")))) == 0
    assert at(hl.saturating_cast(hl.Bool(), x), x=5) is True
    assert at(hl.cast(hl.Bool(), x), x=2) is True


def test_powers() -> None:
    assert [at(x**5, x=v) for v in (-3, 2)] == [-243, 32]
    assert at(hl.f64(x) ** -2, x=4) == 1 / 16
    assert at(hl.pow(hl.f64(x), 0.5), x=16) == pytest.approx(4)
    assert at(hl.fract(hl.f64(-2.75))) == -0.75
    assert at(hl.hypot(hl.f64(x), hl.f64(y)), x=3, y=4) == 5


def test_rounding_is_to_even() -> None:
    halves = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]
    assert [at(hl.round(hl.f64(v))) for v in halves] == [-2, -2, 0, 0, 2, 2]
    assert [at(hl.floor(hl.f64(v))) for v in halves] == [math.floor(v) for v in halves]
    assert [at(hl.trunc(hl.f64(v))) for v in halves] == [math.trunc(v) for v in halves]


def test_promised_clamps_and_marks_are_transparent() -> None:
    assert at(hl.likely(x) + hl.likely_if_innermost(y), x=1, y=2) == 3
    assert at(hl.unsafe_promise_clamped(x, 0, 9), x=5) == 5
    assert at(hl.unsafe_promise_clamped(hl.u8(x), hl.Expr(), 9), x=5) == 5
    assert at(hl.strict_float(hl.f64(x) + 0.5), x=1) == 1.5


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("weight_bits", [1, 8, 16, 32])
@pytest.mark.parametrize("signed", [False, True])
def test_lerp_rounds_the_exact_mean(bits: int, weight_bits: int, signed: bool) -> None:
    t = hl.Int(bits) if signed else hl.UInt(bits)
    lo, hi = int(t.lowest()), int(t.highest())
    most = (1 << weight_bits) - 1
    values = {lo, lo + 1, -1, 0, 1, 77, hi // 3, hi - 1, hi} - (
        set() if signed else {-1}
    )
    for a, b in itertools.product(sorted(values), repeat=2):
        for w in sorted({0, 1, most // 3, most // 2, most - 1, most}):
            if weight_bits <= bits:
                exact = Fraction(w, most)
            else:  # a wider weight is first cut to the values' width
                exact = Fraction(w // (most // (hi - lo)), hi - lo)
            mean = lo + (a - lo) * (1 - exact) + (b - lo) * exact
            want = math.floor(mean + Fraction(1, 2))
            got = _lerp(t, a, b, weight_bits, w)
            assert got == want, (a, b, w)


def _lerp(t: hl.Type, a: int, b: int, weight_bits: int, w: int) -> int | float:
    e = hl.lerp(hl.cast(t, a), hl.cast(t, b), hl.cast(hl.UInt(weight_bits), w))
    return evaluate(e._node, {})


def test_lerp_of_floats_and_bools() -> None:
    assert at(hl.lerp(hl.f64(x), hl.f64(y), 0.25), x=0, y=8) == 2
    assert at(hl.lerp(hl.f64(x), hl.f64(y), hl.u8(z)), x=0, y=255, z=51) == 51
    assert at(hl.lerp(hl.u8(x), hl.u8(y), 0.5), x=10, y=21) in (15, 16)
    assert at(hl.lerp(x < 3, y < 3, hl.u8(z)), x=9, y=1, z=200) is True
    assert at(hl.lerp(0, 10, 0.5)) == 5
