"""Numbers become floats by one rounding, to nearest: compiled, interpreted, folded."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret_all
from parhelion.types import round_float

COUNT = 2000
#: Digits, and the exponents of the least and the greatest normal number.
FORMATS = {
    "bf16": (hl.BFloat(16), 8, -126, 127),
    "f16": (hl.Float(16), 11, -14, 15),
    "f32": (hl.Float(32), 24, -126, 127),
}
x = hl.Var("x")


def nearest(value: int | float, digits: int, least: int, most: int) -> float:
    """The nearest number of a format, by rational arithmetic; ties to even."""
    if isinstance(value, float) and not math.isfinite(value) or value == 0:
        return float(value)
    exact = abs(Fraction(value))
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > exact
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    rounded = round(exact / unit) * unit  # of Fractions, ties to even
    size = math.inf if rounded >= Fraction(2) ** (most + 1) else float(rounded)
    return math.copysign(size, value)


def near_ties(digits: int) -> np.ndarray[Any, Any]:
    """Doubles at and next to what lies halfway between two numbers of a format."""
    random = np.random.default_rng(digits)
    significand = random.integers(1 << (digits - 1), 1 << digits, COUNT) + 0.5
    exponent = random.integers(-160, 130, COUNT) * random.integers(0, 2, COUNT)
    off = random.choice([-1, 0, 0, 1], COUNT) * 2.0 ** random.integers(-52, -18, COUNT)
    sign = random.choice([-1.0, 1.0], COUNT)
    return np.asarray(np.ldexp(sign * significand * (1 + off), exponent))


def doubles(digits: int) -> np.ndarray[Any, Any]:
    bits = np.random.default_rng(5).integers(0, 1 << 63, COUNT, dtype=np.uint64)
    special = [
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        5e-324,
        1e-45,
        2.0**-134,
        3.4e38,
        65520,
        1.7e308,
    ]
    return np.array([*near_ties(digits), *bits.view(np.float64), *special])


def singles(digits: int) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return doubles(digits).astype(np.float32)


def integers(digits: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Integers of all sizes, next to halfway between two numbers of a format."""
    random = np.random.default_rng(digits)
    width = np.dtype(dtype).itemsize * 8
    made = []
    for _ in range(COUNT):
        extra = int(random.integers(1, max(width - digits, 2)))
        half = (int(random.integers(1 << (digits - 1), 1 << digits)) * 2 + 1) << extra
        made.append((half // 2 + int(random.integers(-2, 3))) & ((1 << width) - 1))
    return np.array(made, np.dtype(f"u{width // 8}")).view(dtype)


Source = Callable[[int], np.ndarray[Any, Any]]
SOURCES: dict[str, Source] = {
    "f64": doubles,
    "f32": singles,
    **{
        np.dtype(t).name: lambda digits, t=t: integers(digits, t)  # type: ignore[misc]
        for t in (np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
    },
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", FORMATS)
def test_rounded_once(name: str, source: str) -> None:
    t, digits, least, most = FORMATS[name]
    given = SOURCES[source](digits)
    wanted = [nearest(v.item(), digits, least, most) for v in given]
    image, f = hl.Buffer(given), hl.Func("f")
    f[x] = hl.cast(hl.Float(64), hl.cast(t, image[x]))
    found = interpret_all([(f._function, ((0, len(given)),))])[0][0]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.array(f.realize([len(given)])), wanted)
    f.vectorize(x, 8)
    np.testing.assert_array_equal(np.array(f.realize([len(given)])), wanted)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", FORMATS)
def test_constants_are_rounded_once(name: str, source: str) -> None:
    t, digits, least, most = FORMATS[name]
    for one in SOURCES[source](digits):
        value = one.item()
        assert repr(round_float(value, t)) == repr(nearest(value, digits, least, most))


def test_constants_of_programs() -> None:
    """What the definition says is folded as it would be computed."""
    values = [
        hl.f64(float.fromhex("0x1.76ffff7p+7")),
        hl.i64((1 << 60) + (1 << 52) + 1),
    ]
    values += [hl.i32((1 << 30) + (1 << 22) + 1), hl.u64((1 << 63) + (1 << 55) + 1)]
    wanted = [0x433B, 0x5D81, 0x4E81, 0x5F01]
    for value, want in zip(values, wanted, strict=True):
        f = hl.Func("f")
        f[x] = hl.reinterpret(hl.UInt(16), hl.cast(hl.BFloat(16), value))
        assert np.array(f.realize([1]))[0] == want
    f = hl.Func("f")
    f[x] = hl.cast(hl.Float(32), hl.i64((1 << 60) + (1 << 36) + 1))
    assert np.array(f.realize([1]))[0] == np.float32(2.0**60 + 2.0**37)
