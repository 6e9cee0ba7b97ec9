"""Gradients of functions under `hl.jit`, beside finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl

rng = np.random.default_rng(5)


def differences(function: Any, args: list[Any], k: int, weights: Any) -> Any:
    """Central differences of the weighted sum of a result by argument `k`."""
    at = np.asarray(args[k], np.float64)
    found = np.zeros(at.shape)
    for i in np.ndindex(*at.shape):
        values = []
        for step in (1e-6, -1e-6):
            moved = at.copy()
            moved[i] += step
            given = [*args[:k], moved if at.ndim else float(moved), *args[k + 1 :]]
            values.append(float((function(*given) * weights).sum()))
        found[i] = (values[0] - values[1]) / 2e-6
    return found


def compare(function: Any, *args: Any) -> None:
    result = np.asarray(function(*args))
    weights = rng.normal(size=result.shape)
    floats = [k for k, a in enumerate(args) if np.asarray(a).dtype.kind == "f"]
    found = function.grad(*args, cotangent=weights)
    assert len(found) == len(floats)
    for k, gradient in zip(floats, found, strict=True):
        expected = differences(function, list(args), k, weights)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_a_number_has_the_cotangent_one() -> None:
    energy = hl.jit(lambda a, gain: (a * a * gain).sum())
    by_a, by_gain = energy.grad(np.array([1.0, 2.0]), 3.0)
    assert by_a.tolist() == [6.0, 12.0]
    assert by_gain == 5.0


def test_stencils_with_borders() -> None:
    @hl.jit
    def blur(image: Any, weight: Any) -> Any:
        p = np.pad(image, 1, mode="edge")
        s = p[:-2] + p[1:-1] * weight + p[2:]
        return np.tanh(s[:, :-2] + s[:, 1:-1] + s[:, 2:])

    compare(blur, rng.normal(size=(5, 7)), 2.0)


def test_reductions_over_axes() -> None:
    @hl.jit
    def spread(image: Any) -> Any:
        centred = image - image.mean(axis=0)
        return np.sqrt((centred * centred).sum(axis=1) + 1) * image.max(axis=1)

    compare(spread, rng.normal(size=(4, 5)))


def test_broadcasting_and_colours() -> None:
    @hl.jit
    def mix(image: Any, weights: Any, mask: Any) -> Any:
        return np.exp(image * weights) * mask

    mask = np.array([[1], [0], [2]], np.uint8)[..., None]
    compare(mix, rng.normal(size=(3, 4, 3)), rng.normal(size=3), mask)


def test_arrays_of_other_layouts() -> None:
    @hl.jit
    def power(a: hl.Array) -> hl.Array:
        return a * a * a

    a = rng.normal(size=(6, 8))
    for given in (a.T, a[::2, ::-1], np.asfortranarray(a)):
        weights = rng.normal(size=given.shape)
        (found,) = power.grad(given, cotangent=weights)
        np.testing.assert_allclose(found, 3 * given**2 * weights)


def test_several_results_and_sizes() -> None:
    both = hl.jit(lambda a: (a[1:] * a[:-1], a * 2.0))
    for n in (3, 5, 40_000):
        a, w, v = rng.normal(size=n), rng.normal(size=n - 1), rng.normal(size=n)
        (found,) = both.grad(a, cotangent=(w, v))
        expected = 2.0 * v
        expected[:-1] += a[1:] * w
        expected[1:] += a[:-1] * w
        np.testing.assert_allclose(found, expected)


def test_float32_keeps_its_type() -> None:
    scaled = hl.jit(lambda a, b: a * b)
    found = scaled.grad(
        np.ones((2, 3), np.float32), np.ones(3, np.float32), cotangent=np.ones((2, 3))
    )
    assert [g.dtype for g in found] == [np.float32, np.float32]
    assert found[1].tolist() == [2.0, 2.0, 2.0]


def test_arrays_without_elements() -> None:
    total = hl.jit(lambda a: (a * a).sum())
    (found,) = total.grad(np.zeros((0, 3)))
    assert found.shape == (0, 3)


def test_what_has_no_gradient_is_refused() -> None:
    square = hl.jit(lambda a: a * a)
    ones = np.ones(3)
    with pytest.raises(hl.TypeMismatchError, match="no argument of .* is an array of"):
        square.grad(np.ones(3, np.int32), cotangent=ones)
    with pytest.raises(hl.TypeMismatchError, match="that of one number"):
        square.grad(ones)
    with pytest.raises(hl.BoundsError, match=r"the shape \(3,\), and cotangent="):
        square.grad(ones, cotangent=np.ones(4))
    rounded = hl.jit(lambda a: a.astype("int32"))
    with pytest.raises(hl.TypeMismatchError, match="integers have no gradient"):
        rounded.grad(ones, cotangent=ones)
    pair = hl.jit(lambda a: (a, a))
    with pytest.raises(hl.TypeMismatchError, match="returns 2 arrays, and cotangent="):
        pair.grad(ones, cotangent=[ones])
    with pytest.raises(hl.TypeMismatchError, match="is an array of numbers"):
        square.grad(ones, cotangent="abc")
