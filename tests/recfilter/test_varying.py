"""Recursive filters whose coefficients are expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim

Array = NDArray[Any]

rng = np.random.default_rng(5)
W, H = 41, 29
image = rng.random((H, W))
weight = rng.uniform(0, 0.9, (H, W))


def by_hand(y: Array, axis: int, causal: bool, c: list[Any]) -> Array:
    """One filter, point by point; its coefficients are numbers or images."""
    z = np.moveaxis(y, axis, 0)
    z = (z if causal else z[::-1]).copy()
    moved = [np.moveaxis(np.broadcast_to(a, y.shape), axis, 0) for a in c]
    moved = [a if causal else a[::-1] for a in moved]
    for i in range(len(z)):
        z[i] = moved[0][i] * z[i]
        for j in range(1, min(i, len(c) - 1) + 1):
            z[i] += moved[j][i] * z[i - j]
    return np.moveaxis(z if causal else z[::-1], 0, axis)


def begun(name: str = "f") -> tuple[RecFilter, RecFilterDim, RecFilterDim, hl.Buffer]:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f, inp = RecFilter(name), hl.Buffer(image)
    f[x, y] = inp[x, y]
    return f, x, y, hl.Buffer(weight)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_coefficients_of_each_pixel(axis: int, causal: bool) -> None:
    f, x, y, w = begun()
    d = x if axis == 1 else y
    f.add_filter(
        +d if causal else -d, [1 - w[x, y], w[x, y], 0.05, w[y % W, x % H] / 20]
    )
    swapped = weight[np.arange(W)[None, :] % H, np.arange(H)[:, None] % W]
    c = [1 - weight, weight, 0.05, swapped / 20]
    wanted = by_hand(image, axis, causal, c)
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-12)


def test_numbers_and_images_in_turn() -> None:
    """Four passes of an edge-preserving filter, between others."""
    f, x, y, w = begun()
    f.add_filter(+y, [0.5, 0.5])
    for d in (+x, -x, +y, -y):
        f.add_filter(d, [1 - w[x, y], w[x, y]])
    f.add_filter(-x, [0.5, 0.5])
    c = [1 - weight, weight]
    wanted = by_hand(image, 0, True, [0.5, 0.5])
    for axis, causal in ((1, True), (1, False), (0, True), (0, False)):
        wanted = by_hand(wanted, axis, causal, c)
    wanted = by_hand(wanted, 1, False, [0.5, 0.5])
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-12)


def test_feedforward_of_each_pixel() -> None:
    f, x, y, w = begun()
    f.add_filter(+x, [w[x, y], 0.25], feedforward=[1, w[x, y] * 2, 3])
    ahead = image + 2 * weight * np.pad(image, ((0, 0), (1, 0)))[:, :-1]
    ahead += 3 * np.pad(image, ((0, 0), (2, 0)))[:, :-2]
    wanted = by_hand(ahead, 1, True, [weight, 0.25])
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-12)


def test_params() -> None:
    """The filter is compiled once for all their values."""
    f, x, _, _ = begun()
    a = hl.Param(hl.Float(64), "a")
    f.add_filter(+x, [1 - a, a])
    for value in (0.5, 0.25):
        a.set(value)
        wanted = by_hand(image, 1, True, [1 - value, value])
        np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-12)


def test_integers_stay_exact() -> None:
    x = RecFilterDim("x", 200)
    f = RecFilter("whole")
    f[x] = hl.i32(x)
    f.add_filter(+x, [hl.i32(2), x % 3])
    values = np.arange(200, dtype=np.int32)
    with np.errstate(over="ignore"):
        wanted = by_hand(values, 0, True, [np.int32(2), values % np.int32(3)])
    np.testing.assert_array_equal(np.asarray(f.realize()), wanted)


def test_a_long_line_is_not_cut() -> None:
    x = RecFilterDim("x", 20_000)
    f = RecFilter("line")
    f[x] = hl.f64(1)
    f.add_filter(+x, [hl.f64(1), hl.f64(0.5)])
    np.testing.assert_allclose(np.asarray(f.realize())[60:], 2.0)


@pytest.mark.parametrize("t", [np.float32, np.float64, np.int64, np.uint8])
def test_coefficients_of_numpy(t: Any) -> None:
    x = RecFilterDim("x", 9)
    results = []
    for given in (np.array([1, 0, 1], t), [t(1), t(0), t(1)], [1, 0, 1]):
        f = RecFilter("f")
        f[x] = hl.f32(x)
        f.add_filter(+x, given, feedforward=np.array([2, 1], t))
        results.append(np.asarray(f.realize()).tolist())
    assert results[0] == results[1] == results[2] != list(range(9))


def refused(call: Any, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        call()


def test_what_is_refused() -> None:
    f, x, y, w = begun()
    refused(
        lambda: f.add_filter(+x, [1, hl.f32(0.5)]),
        hl.TypeMismatchError,
        "over float64 must be of that type, not of float32",
    )
    refused(lambda: f.add_filter(+x, w[x, y]), hl.TypeMismatchError, "a list of num")
    z = hl.Var("z")
    refused(lambda: f.add_filter(+x, [1, hl.f64(z)]), hl.DefinitionError, "z")
    f.add_filter(+x, [1, w[x, y]])
    f.add_filter(+y, [1, 0.5])
    f.add_filter(-y, [1, hl.f64(y) / 100])
    error = hl.ScheduleError
    refused(lambda: f.split(x, 8), error, "a filter along x are expressions")
    refused(lambda: f.cascade([1], [0, 2]), error, "0 and 1 do not commute: the coeff")
    refused(lambda: f.factor_filter_order(1), error, "coefficients of a filter are exp")
    f.cascade([0], [1, 2])
    endless = RecFilter("endless", "clamp")
    endless[x, y] = hl.f64(x)
    why = "where an image goes on for ever, the coefficients must be numbers"
    refused(lambda: endless.add_filter(+x, [1, w[x, y]]), hl.DefinitionError, why)


def test_filters_that_commute_all_the_same() -> None:
    """Coefficients that vary along the filter's own dimension alone."""
    f, x, y, _ = begun()
    f.add_filter(+x, [1, hl.f64(x) / 100])
    f.add_filter(+y, [1, hl.f64(y) / 100])
    first, second = f.cascade([1], [0])
    wanted = by_hand(image, 0, True, [1, np.arange(H)[:, None] / 100])
    wanted = by_hand(wanted, 1, True, [1, np.arange(W) / 100])
    got = np.asarray(second.realize())
    np.testing.assert_allclose(got, wanted, atol=1e-12)
    assert first.filters()[0].dim == 1
