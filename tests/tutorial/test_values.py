"""Tuples, values of one's own making, and the types of expressions."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl

x, y, c = hl.vars("x y c")


def test_a_dimension_for_colour() -> None:
    flag = hl.Func("flag")
    flag[x, y, c] = hl.select(c == 0, 200, c == 1, 90, 10)
    paler = hl.Func("paler")
    paler[x, y, c] = flag[x, y, c] + 30
    paler.bound(c, 0, 3).unroll(c)
    out = np.asarray(paler.realize([4, 2, 3]))
    assert [int(v) for v in out[:, 0, 0]] == [230, 120, 40]


def test_two_values_at_each_point() -> None:
    both = hl.Func("both")
    both[x, y] = (x - y, hl.cos(x * y))
    made = both.realize([8, 6])
    assert isinstance(made, tuple)
    first, second = made
    assert (first.type(), second.type()) == (hl.Int(32), hl.Float(32))
    given = hl.Buffer(hl.Int(32), [8, 6]), hl.Buffer(hl.Float(32), [8, 6])
    both.realize(given)
    for whole, real in ((first, second), given):
        assert whole[7, 2] == 5
        assert np.isclose(real[7, 2], np.cos(14.0), atol=1e-6)

    whole_part, real_part = both[x, y][0], both[x, y][1]
    assert type(whole_part) is hl.FuncTupleElementRef
    after = hl.Func("after")
    after[x, y] = (whole_part + 1, real_part * 2.0)
    moved = after.realize([3, 3])
    assert isinstance(moved, tuple)
    assert moved[0][2, 0] == 3
    with pytest.raises(hl.HalideError, match="2 values"):
        after[x, y] + 1


def test_the_place_of_the_least_value() -> None:
    data = np.random.default_rng(4).normal(size=40).astype(np.float32)
    values = hl.Buffer(data)
    least = hl.Func("least")
    least[()] = (0, values[0])
    r = hl.RDom([(1, 39)])
    at, best = least[()][0], least[()][1]
    closer = values[r] < best
    least[()] = (hl.select(closer, r, at), hl.min(values[r], best))
    made = least.realize()
    assert isinstance(made, tuple)
    assert made[0][()] == data.argmin()
    assert made[1][()] == data.min()
    whole = hl.RDom([(0, 40)])
    found = hl.argmin(values[whole])
    built_in = hl.Func("built_in")
    built_in[()] = found[0]
    out = built_in.realize()
    assert isinstance(out, hl.Buffer)
    assert out[()] == data.argmin()


class Dual:
    """A value with its derivative."""

    def __init__(self, value: object, slope: object = None) -> None:
        if slope is None:
            value, slope = value[0], value[1]  # type: ignore[index]
        self.value, self.slope = value, slope

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.slope + other.slope)  # type: ignore[operator]

    def __mul__(self, other: Dual) -> Dual:
        slope = self.value * other.slope + self.slope * other.value  # type: ignore[operator]
        return Dual(self.value * other.value, slope)  # type: ignore[operator]

    def __getitem__(self, i: int) -> object:
        return (self.value, self.slope)[i]

    def __len__(self) -> int:
        return 2


def test_a_class_of_one_s_own_as_a_tuple() -> None:
    n = hl.Var("n")
    at = Dual(hl.f32(x) / 4, hl.f32(1.0))
    powers = hl.Func("powers")
    powers[x, n] = Dual(hl.Expr(1.0), hl.Expr(0.0))
    r = hl.RDom([(1, 5)])
    powers[x, r] = Dual(powers[x, r - 1]) * at + Dual(hl.f32(0), hl.f32(0))
    made = powers.realize([9, 6])
    assert isinstance(made, tuple)
    points = np.arange(9) / 4
    assert np.allclose(np.asarray(made[0])[5], points**5, rtol=1e-5)
    assert np.allclose(np.asarray(made[1])[5], 5 * points**4, rtol=1e-5)


TYPES = [hl.UInt(b) for b in (8, 16, 32, 64)] + [hl.Int(b) for b in (8, 16, 32, 64)]
TYPES += [hl.Float(32), hl.Float(64)]


def test_types_and_what_they_tell() -> None:
    t = hl.UInt(16)
    assert (t.bits(), t.is_uint(), t.is_int(), t.is_float()) == (16, True, False, False)
    assert t.with_bits(32) == hl.UInt(32)
    assert hl.Handle().is_handle() and hl.Handle().bits() == 64
    assert hl.Expr(x).type() == hl.Int(32)
    assert hl.exp(x).type() == hl.Float(32)
    f = hl.Func("typed")
    f[x] = (hl.cast(hl.Int(8), x), hl.sin(x))
    assert f.types() == [hl.Int(8), hl.Float(32)]


@pytest.mark.parametrize("a", TYPES, ids=str)
@pytest.mark.parametrize("b", TYPES, ids=str)
def test_what_two_types_make(a: hl.Type, b: hl.Type) -> None:
    found = (hl.cast(a, x) + hl.cast(b, x)).type()
    if a.is_float() or b.is_float():
        floats = [t for t in (a, b) if t.is_float()]
        assert found == max(floats, key=lambda t: t.bits())
    elif a.is_int() == b.is_int():
        assert found == max((a, b), key=lambda t: t.bits())
    else:
        assert found == hl.Int(max(a.bits(), b.bits()))


@pytest.mark.parametrize("t", TYPES, ids=str)
def test_numbers_take_the_type_that_they_meet(t: hl.Type) -> None:
    assert (hl.cast(t, x) * 3).type() == t
    assert (3 - hl.cast(t, x)).type() == t


def test_widening_keeps_the_value_and_narrowing_wraps() -> None:
    assert hl.evaluate(hl.cast(hl.Int(32), hl.cast(hl.UInt(8), 250))) == 250
    assert hl.evaluate(hl.cast(hl.UInt(16), hl.cast(hl.Int(8), -2))) == 65534
    assert hl.evaluate(hl.cast(hl.Int(8), hl.cast(hl.Int(32), 200))) == -56


def midpoint(a: hl.Expr, b: hl.Expr) -> hl.Expr:
    """The mean of two values of one type, whichever it is."""
    assert a.type() == b.type()
    t = a.type()
    if t.is_float():
        return (a + b) / 2
    wide = t.with_bits(2 * t.bits())
    return hl.cast(t, (hl.cast(wide, a) + hl.cast(wide, b)) / 2)


@pytest.mark.parametrize("t", [hl.UInt(8), hl.Int(16), hl.Float(32)], ids=str)
def test_functions_for_any_type(t: hl.Type) -> None:
    mean = midpoint(hl.cast(t, 100), hl.cast(t, 120))
    assert mean.type() == t
    assert hl.evaluate(mean) == 110
