"""Edge-preserving smoothing, against the same filter in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.recursive.domain_transform import smooth_within_edges

Array = NDArray[Any]

rng = np.random.default_rng(11)


def by_hand(image: Array, spatial: float, tonal: float, passes: int) -> Array:
    """As in the paper, line by line, in float64."""
    y = image.astype(np.float64)
    y = y if y.ndim == 3 else y[..., None]
    steps = []
    for axis in (1, 0):
        change = np.abs(np.diff(y, axis=axis)).sum(-1, keepdims=True)
        steps.append((axis, 1 + spatial / tonal * change))
    for n in range(passes):
        sigma = spatial * np.sqrt(3) * 2 ** (passes - 1 - n) / np.sqrt(4**passes - 1)
        for axis, step in steps:
            kept = np.moveaxis(np.exp(-np.sqrt(2) / sigma) ** step, axis, 0)
            z = np.moveaxis(y, axis, 0).copy()
            for i in range(1, len(z)):
                z[i] += kept[i - 1] * (z[i - 1] - z[i])
            for i in range(len(z) - 2, -1, -1):
                z[i] += kept[i] * (z[i + 1] - z[i])
            y = np.moveaxis(z, 0, axis)
    return y.reshape(image.shape)


@pytest.mark.parametrize("shape", [(30, 41), (17, 23, 3), (1, 9), (12, 1, 2)])
@pytest.mark.parametrize("passes", [1, 3])
def test_smoothing(shape: tuple[int, ...], passes: int) -> None:
    image = rng.random(shape)
    got = smooth_within_edges(image, 5, 0.4, passes)
    # Each value is a mean of pixels up to 1; exp is off by some last digits.
    np.testing.assert_allclose(got, by_hand(image, 5, 0.4, passes), atol=1e-13)


def test_floats_of_32_bits() -> None:
    image = rng.random((40, 50, 3), np.float32)
    got = smooth_within_edges(image, 8, 0.3)
    assert got.dtype == np.float32
    # Twelve scans of means, each a last digit or two off.
    wanted = by_hand(image, 8, 0.3, 3)
    np.testing.assert_allclose(got, wanted, atol=96 * float(np.finfo(np.float32).eps))


def test_edges_stay_and_noise_goes() -> None:
    edge = np.repeat([[0.0, 1.0]], 32, 1).repeat(40, 0)
    noisy = edge + rng.normal(0, 0.02, edge.shape)
    got = smooth_within_edges(noisy, 20, 0.5)
    flat = np.delete(got - edge, slice(30, 34), 1)
    assert np.sqrt((flat**2).mean()) < 0.02 / 2
    assert (got[:, 32] - got[:, 31] > 0.9).all()
