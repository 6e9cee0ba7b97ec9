"""Products and sums that are rounded once, against the C library, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.interp import libm
from parhelion.interp.fused import fused

Array = NDArray[Any]
RNG = np.random.default_rng(23)
DTYPES: dict[int, Any] = {32: np.float32, 64: np.float64}
#: The least and the largest exponents that are drawn.
EXPONENTS = {32: (-149, 128), 64: (-1074, 1024)}


def agrees(a: Array, b: Array, c: Array, width: int) -> None:
    with np.errstate(all="ignore"):
        got = fused(a, b, c, hl.Float(width))
        wanted = libm.function("fmaf" if width == 32 else "fma", 3, width)(a, b, c)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    same = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
    same |= np.isnan(got) & np.isnan(wanted)
    wrong = np.argwhere(~same)
    if len(wrong):
        at = tuple(wrong[0])
        given = [np.broadcast_to(v, got.shape)[at] for v in (a, b, c)]
        raise AssertionError(f"{given}: {got[at]!r}, not {wanted[at]!r}")


@pytest.mark.parametrize("width", [32, 64])
def test_ordinary_numbers(width: int) -> None:
    a, b, c = RNG.standard_normal((3, 20_000)).astype(DTYPES[width])
    agrees(a, b, c, width)
    # What is left of a product is small, or a tie.
    agrees(a, b, -(a * b), width)
    agrees(a, b, -(a * b) * DTYPES[width](1 + 2.0**-20), width)


@pytest.mark.parametrize("width", [32, 64])
def test_few_digits(width: int) -> None:
    """Many sums lie between two numbers just in the middle."""
    whole = RNG.integers(-(1 << 14), 1 << 14, (3, 20_000))
    step = 1 << (9 if width == 32 else 38)
    a, b, c = whole.astype(DTYPES[width])
    agrees(a * step + 1, b * step + 1, c, width)
    agrees(a, b * DTYPES[width](2.0**-14), c * step * 64, width)
    # The last digit of one that is far larger is moved, or is not.
    half = DTYPES[width](np.finfo(DTYPES[width]).eps / 2)
    agrees(a, np.full_like(b, half), a, width)
    agrees(a * half, b * half, np.sign(c) * (1 + half * 2), width)


@pytest.mark.parametrize("width", [32, 64])
def test_numbers_of_all_sizes(width: int) -> None:
    low, high = EXPONENTS[width]
    digits = RNG.uniform(1, 2, (3, 20_000)) * RNG.choice([-1, 1], (3, 20_000))
    with np.errstate(all="ignore"):
        one = np.ldexp(digits, RNG.integers(low, high, digits.shape))
        # The summand is of about the size of the product.
        near = np.frexp(one[0])[1] + np.frexp(one[1])[1] + RNG.integers(-60, 60, 20_000)
        two = np.ldexp(digits[2], np.clip(near, low, high - 1))
        a, b, c, d = [v.astype(DTYPES[width]) for v in (*one, two)]
    agrees(a, b, c, width)
    agrees(a, b, d, width)


@pytest.mark.parametrize("width", [32, 64])
def test_special_numbers_in_all_combinations(width: int) -> None:
    info = np.finfo(DTYPES[width])
    some = [0, 1, 3, 1 + info.eps, info.eps / 2, info.max, info.tiny, np.inf, np.nan]
    some += [info.smallest_subnormal, np.sqrt(info.tiny), np.sqrt(info.max), 1e-30]
    every = np.array([*some, *[-v for v in some]], DTYPES[width])
    a, b, c = every[:, None, None], every[:, None], every
    agrees(a, b, c, width)
