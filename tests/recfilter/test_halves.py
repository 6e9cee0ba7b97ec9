"""Recursive filters over floats of 16 bits, and the growth that those can bear."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim, RecFilterWarning

Array = NDArray[Any]

rng = np.random.default_rng(41)
image = rng.random((40, 70))
#: The halves, and half of the distance of their numbers at 1.
HALVES = [(hl.Float(16), 2.0**-11), (hl.BFloat(16), 2.0**-8)]


def filtered(t: hl.Type, border: str, split: int, ahead: list[float]) -> Array:
    """In float64 in the end, from values rounded to bfloat16, which float16 has."""
    x, y = RecFilterDim("x", 70), RecFilterDim("y", 40)
    f = RecFilter("f", border)
    value = hl.cast(hl.BFloat(16), hl.Buffer(image)[x, y])
    f[x, y] = hl.cast(t, hl.f32(value))
    for direction in (+x, -x, +y):
        f.add_filter(direction, [0.375, 0.5, 0.125], ahead)
    if split:
        f.split(x, split)
        f.split(y, split)
    u, v, out = hl.Var("u"), hl.Var("v"), hl.Func("out")
    out[u, v] = hl.f64(hl.f32(f[u, v])) if t.bits() < 64 else f[u, v]
    return np.asarray(out.realize([70, 40]))


@pytest.mark.parametrize(("t", "eps"), HALVES)
@pytest.mark.parametrize(
    ("border", "split", "taps"),
    [
        ("zero", 0, 1),
        ("zero", 16, 18),
        ("clamp", 0, 2),
        ("clamp", 16, 1),
        ("repeat", 16, 18),
        ("mirror", 0, 18),
    ],
)
def test_halves(t: hl.Type, eps: float, border: str, split: int, taps: int) -> None:
    """Three filters, each of which makes a constant of a constant."""
    ahead = [1 / taps] * taps if taps < 18 else [0.125] * 10 + [-0.03125] * 8
    wanted = filtered(hl.Float(64), border, split, ahead)
    got = filtered(t, border, split, ahead)
    assert np.abs(got - wanted).max() < 12 * eps * np.abs(wanted).max()


@pytest.mark.parametrize(("t", "most"), [(hl.Float(16), 45), (hl.BFloat(16), 16)])
def test_halves_bear_half_of_their_digits(t: hl.Type, most: int) -> None:
    x = RecFilterDim("x", 300)
    f = RecFilter("f")
    f[x] = hl.cast(t, hl.f32(x))
    f.add_filter(+x, [1, 1.75, -0.765625])  # 7/8, twice
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.split(x, 2)
    g = RecFilter("g")
    g[x] = hl.cast(t, hl.f32(x))
    g.add_filter(+x, [1, 2, -1])
    with pytest.warns(RecFilterWarning, match=f"rounding errors in {t}"):
        g.split(x, most // 2 + 1)


def test_what_halves_cannot_hold() -> None:
    x = RecFilterDim("x", 9)
    for t, a in ((hl.Float(16), 1e5), (hl.BFloat(16), 1e39)):
        f = RecFilter("f")
        f[x] = hl.cast(t, hl.f32(x))
        with pytest.raises(hl.DefinitionError, match=f"must be finite as {t}"):
            f.add_filter(+x, [a, 0.5])
