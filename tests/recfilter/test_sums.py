"""Filters with many feedforward coefficients, which are summed up over a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim

Array = NDArray[Any]

rng = np.random.default_rng(23)
MODES: Any = {
    "zero": "constant",
    "clamp": "edge",
    "repeat": "wrap",
    "mirror": "symmetric",
}


def summed(image: Array, axis: int, causal: bool, taps: Any, border: str) -> Array:
    """Point by point, on an image that goes on."""
    n = len(taps) - 1
    around = [(n * (k == axis),) * 2 for k in range(image.ndim)]
    wide = np.moveaxis(np.pad(image, around, MODES[border]), axis, 0)
    if image.dtype == object:
        wide = np.frompyfunc(int, 1, 1)(wide)  # NumPy pads with integers of its own
    extent = image.shape[axis]
    made: Any = 0
    for m, b in enumerate(taps):
        first = n - m if causal else n + m
        made = made + b * wide[first : first + extent]
    return np.moveaxis(np.asarray(made), 0, axis)


def built(
    image: Array, axis: int, causal: bool, taps: Any, border: str, *back: float
) -> RecFilter:
    dims = [RecFilterDim("xyz"[k], n) for k, n in enumerate(image.shape[::-1])]
    f = RecFilter("f", border)
    f[tuple(dims)] = hl.Buffer(image)[tuple(dims)]
    d = dims[image.ndim - 1 - axis]
    f.add_filter(+d if causal else -d, [1, *back], feedforward=taps)
    return f


SHAPES: list[tuple[int, ...]]
SHAPES = [(1,), (7,), (40,), (20_000,), (5, 3), (3, 90), (37, 70), (9, 40, 20)]
SHAPES += [(40, 70, 3)]
CASES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]


@pytest.mark.parametrize("count", [17, 34])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_integers_are_exact(
    shape: tuple[int, ...], axis: int, causal: bool, count: int
) -> None:
    image = rng.integers(-(2**31), 2**31, shape).astype(np.int32)
    taps = rng.integers(-9, 9, count).tolist()
    taps[1] = 2**40 + 3  # which wraps as all else does
    wanted = summed(image.astype(object), axis, causal, taps, "zero") % 2**32
    got = np.asarray(built(image, axis, causal, taps, "zero").realize())
    np.testing.assert_array_equal(got.astype(object) % 2**32, wanted)


@pytest.mark.parametrize("back", [(), (0.5,)])
@pytest.mark.parametrize("border", list(MODES))
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("causal", [True, False])
def test_floats(axis: int, causal: bool, border: str, back: tuple[float, ...]) -> None:
    image = rng.random((45, 70))
    taps = rng.random(26).tolist()
    taps[3:9] = [0] * 6
    around = [(90, 90), (90, 90)]  # after so many points, it has forgotten
    wide = np.pad(image, around, MODES[border])
    wide = summed(wide, axis, causal, taps, "zero")
    if border == "zero":
        wide = np.pad(wide[90:-90, 90:-90], around)
    wanted = np.moveaxis(wide, axis, 0)
    wanted = wanted if causal else wanted[::-1]
    for i in range(1, len(wanted) if back else 0):
        wanted[i] += back[0] * wanted[i - 1]
    wanted = np.moveaxis(wanted if causal else wanted[::-1], 0, axis)[90:-90, 90:-90]
    got = np.asarray(built(image, axis, causal, taps, border, *back).realize())
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_what_is_far_apart_costs_what_is_there() -> None:
    """Zeros between are no terms, and what is infinite there makes no NaN."""
    image = rng.random(500).astype(np.float32)
    image[100] = np.inf
    taps = np.zeros(400)
    taps[::20] = 1
    got = np.asarray(built(image, 0, True, taps, "zero").realize())
    assert not np.isnan(got).any()
    assert np.isinf(got).sum() == 20


@pytest.mark.parametrize("back", [(), (0.5,)])
@pytest.mark.parametrize("border", ["zero", "mirror"])
def test_code_does_not_grow_with_the_coefficients(
    border: str, back: tuple[float, ...], tmp_path: Path
) -> None:
    def lines(count: int) -> int:
        image = np.zeros((64, 3000), np.float32)
        f = built(image, 1, True, np.arange(1.0, 1 + count), border, *back)
        where = tmp_path / f"{count}.stmt"
        f.as_func().compile_to_lowered_stmt(str(where), [])
        return where.read_text().count("\n")

    assert lines(40) == lines(400)


@pytest.mark.parametrize("reverse", [False, True])
def test_scipy(reverse: bool) -> None:
    signal = pytest.importorskip("scipy.signal")
    b, a = signal.firwin(101, 0.2), [1, -0.5]
    line = rng.random(3000)
    wanted = (
        signal.lfilter(b, a, line[::-1])[::-1]
        if reverse
        else signal.lfilter(b, a, line)
    )
    np.testing.assert_allclose(hl.iir(line, b, a, reverse=reverse), wanted, atol=1e-12)
    np.testing.assert_allclose(
        hl.filtfilt(b, a, line), signal.filtfilt(b, a, line), atol=1e-12
    )
    np.testing.assert_allclose(
        hl.filtfilt(b, 1, line), signal.filtfilt(b, 1, line), atol=1e-12
    )
