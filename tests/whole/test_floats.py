"""Floats at their edges: quotients rounded down, logarithms, lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.whole.support import Pixels

EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.1, -0.1, 3.0, -2.5)
BINARY: dict[str, Callable[..., Any]] = {
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "hypot": lambda a, b: np.hypot(a, b),
}


def same(found: Pixels, wanted: Pixels) -> None:
    assert found.dtype == wanted.dtype
    few = 4 * np.finfo(wanted.dtype).eps
    np.testing.assert_allclose(found, wanted, rtol=few, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", list(BINARY))
def test_edges(name: str, dtype: str) -> None:
    if (name, dtype) == ("hypot", "float16"):
        pytest.skip("NumPy computes it in float32 and rounds twice")
    a, b = np.meshgrid(np.array(EDGES, dtype), np.array(EDGES, dtype))
    with np.errstate(all="ignore"):
        wanted = BINARY[name](a, b)
    same(hl.jit(BINARY[name])(a, b), wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_quotients_near_integers(name: str, dtype: str) -> None:
    """1.0 // 0.1 is 9, though the quotient is rounded to 10."""
    source = np.random.default_rng(0)
    a = (source.integers(-300, 300, 2000) / 10).astype(dtype)
    b = (source.integers(1, 90, 2000) / 10 * source.choice([-1, 1], 2000)).astype(dtype)
    same(hl.jit(BINARY[name])(a, b), BINARY[name](a, b))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_powers_have_integers_for_logarithms(dtype: str) -> None:
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    powers = np.exp2(exponents.astype("float64")).astype(dtype)
    twos = hl.jit(lambda a: np.log2(a))
    assert np.array_equal(twos(powers), exponents)
    odd = np.array([0.0, -1.0, np.inf, np.nan, 0.999], dtype)
    with np.errstate(all="ignore"):
        same(twos(odd), np.log2(odd))
    if dtype != "float64":
        tens = (10.0 ** np.arange(5)).astype(dtype)
        assert hl.jit(lambda a: np.log10(a))(tens).tolist() == [0, 1, 2, 3, 4]


def test_lengths_whose_squares_overflow() -> None:
    a = np.array([1e200, 1e-200, 3e300, 5e-324], np.float64)
    b = np.array([1e200, 1e-200, 4e300, 0.0], np.float64)
    same(hl.jit(BINARY["hypot"])(a, b), np.hypot(a, b))
