"""Sections with several feedforward coefficients each, computed along the same lines
and in the same tiles, against sums that are written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim

Array = NDArray[Any]
#: [a0, a1, …] and feedforward coefficients.
Section = tuple[list[Any], list[Any]]

#: Of orders 1, 2 and 3; the second one reads further back than the first one does.
FLOATS: list[Section] = [
    ([0.5, 0.4], [1, 0.3]),
    ([1.0, 0.9, -0.5], [0.2, -0.4, 0.25]),
    ([0.7, 0.3, -0.1, 0.05], [1, 0.5]),
    ([1.0, -0.6], [0.5, 0, 0.5]),
]
WHOLE: list[Section] = [
    ([1, 1], [1]),
    ([1, 1, -1], [1, 2, -3]),
    ([2, 1], [1, 0, -3]),
]


def defined(image: Array, sections: Sequence[Section], causal: bool) -> RecFilter:
    dims = [
        RecFilterDim(name, n) for name, n in zip("xyz", image.shape[::-1], strict=False)
    ]
    f = RecFilter("sections")
    f[tuple(dims)] = hl.Buffer(image)[tuple(dims)]
    for a, b in sections:
        f.add_filter(+dims[0] if causal else -dims[0], a, feedforward=b)
    return f


def wanted(image: Array, sections: Sequence[Section], causal: bool) -> Array:
    """Along the last axis, point by point; integers without limit."""
    x = image.astype(object if image.dtype.kind == "i" else float)
    x = x if causal else x[..., ::-1]
    for (gain, *back), ahead in sections:
        y = np.zeros_like(x)
        for i in range(x.shape[-1]):
            for m, b in enumerate(ahead[: i + 1]):
                y[..., i] += gain * b * x[..., i - m]
            for j, a in enumerate(back[:i], 1):
                y[..., i] += a * y[..., i - j]
        x = y
    return x if causal else x[..., ::-1]


@pytest.mark.parametrize("causal", [True, False], ids=["forwards", "backwards"])
@pytest.mark.parametrize("shape", [(37, 45), (3, 200), (45,), (5, 7, 33)], ids=str)
def test_along_whole_lines(shape: tuple[int, ...], causal: bool) -> None:
    image = np.random.default_rng(len(shape)).normal(size=shape)
    f = defined(image, FLOATS, causal)
    assert f.explain().count("along x") == 1
    expected = wanted(image, FLOATS, causal)
    np.testing.assert_allclose(np.asarray(f.realize()), expected, atol=1e-13)


@pytest.mark.parametrize("causal", [True, False], ids=["forwards", "backwards"])
@pytest.mark.parametrize("width", [3, 7, 64])
@pytest.mark.parametrize("size", [192, 193, 127, 65])
def test_in_tiles(size: int, width: int, causal: bool) -> None:
    image = np.random.default_rng(size).normal(size=(9, size))
    f = defined(image, FLOATS, causal)
    f.split(f._dims[0], width)
    assert f.explain().count("along x") == 1
    expected = wanted(image, FLOATS, causal)
    np.testing.assert_allclose(np.asarray(f.realize()), expected, atol=1e-13)


@pytest.mark.parametrize("causal", [True, False], ids=["forwards", "backwards"])
@pytest.mark.parametrize("width", [0, 2, 5, 16])
def test_integers_are_exact(width: int, causal: bool) -> None:
    image = np.random.default_rng(1).integers(-9, 9, (6, 83)).astype(np.int32)
    f = defined(image, WHOLE, causal)
    if width:
        f.split(f._dims[0], width)
    half = 1 << 31
    expected = (wanted(image, WHOLE, causal) + half) % (2 * half) - half
    np.testing.assert_array_equal(np.asarray(f.realize()), expected.astype(np.int32))


def test_with_other_dimensions_in_the_same_tiles() -> None:
    """What comes into a tile along x is followed along y by a filter there."""
    image = np.random.default_rng(2).normal(size=(50, 61))
    f = defined(image, FLOATS[1:3], True)
    y = f._dims[1]
    f.add_filter(-y, [0.6, 0.4, -0.1])
    f.split(f._dims[0], 16, y, 8)
    expected = wanted(image, FLOATS[1:3], True)
    expected = wanted(expected.T, [([0.6, 0.4, -0.1], [1])], False).T
    np.testing.assert_allclose(np.asarray(f.realize()), expected, atol=1e-13)


def test_that_reach_too_far_are_computed_apart() -> None:
    """They would have the filter before them keep values that it has no use for."""
    far = ([1.0, 0.5], [0.1] * 9)
    image = np.random.default_rng(3).normal(size=(20, 40))
    f = defined(image, [FLOATS[0], far], True)
    assert f.explain().count("along x") == 2
    expected = wanted(image, [FLOATS[0], far], True)
    np.testing.assert_allclose(np.asarray(f.realize()), expected, atol=1e-13)


def test_of_opposite_directions_are_computed_apart() -> None:
    """The values before the first point of one are those after the last of another."""
    image = np.random.default_rng(4).normal(size=(20, 40))
    f = defined(image, FLOATS[:1], True)
    f.add_filter(-f._dims[0], FLOATS[1][0], feedforward=FLOATS[1][1])
    assert f.explain().count("along x") == 2
    expected = wanted(wanted(image, FLOATS[:1], True), FLOATS[1:2], False)
    np.testing.assert_allclose(np.asarray(f.realize()), expected, atol=1e-13)


@pytest.mark.parametrize("width", [5, 64])
def test_of_which_the_first_points_are_not_read(width: int) -> None:
    """A delay: tiles of the filter before it begin at point 0 all the same."""
    image = np.random.default_rng(7).integers(0, 99, 207).astype(np.uint8)
    f = defined(image, [([1, 1], [1])], True)
    f.add_filter(-f._dims[0], [1, 1], feedforward=[0, 1, -1])
    f.split(f._dims[0], width)
    first = wanted(image.astype(np.int32), [([1, 1], [1])], True)
    expected = wanted(first.astype(np.int64), [([1, 1], [0, 1, -1])], False) % 256
    np.testing.assert_array_equal(np.asarray(f.realize()), expected.astype(np.uint8))


def test_scheduled_by_tags() -> None:
    image = np.random.default_rng(5).normal(size=(37, 45))
    f = defined(image, FLOATS, True)
    lines = f.full_schedule()
    lines.compute_locally().reorder(f.scan(), f.full(0)).parallel(f.full(0))
    expected = wanted(image, FLOATS, True)
    np.testing.assert_allclose(np.asarray(f.realize()), expected, atol=1e-13)


def test_with_coefficients_that_make_another_filter_in_float32() -> None:
    """A section whose poles are near to 1 is computed as its factors; the first one
    takes over its feedforward coefficients."""
    poles = [0.9995, 0.9990]
    back = [-float(a) for a in np.poly(poles)[1:]]
    gain = 1 - sum(back)
    near: Section = ([gain, *back], [0.5, 0.5])
    image = np.random.default_rng(6).random((24, 900)).astype(np.float32)
    f = defined(image, [([0.5, 0.5], [1]), near], True)
    assert "order 2" not in f.explain()
    expected = wanted(image, [([0.5, 0.5], [1]), near], True)
    np.testing.assert_allclose(np.asarray(f.realize()), expected, rtol=2e-3)
