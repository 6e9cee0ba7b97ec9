"""Images of float16 are filtered in float32, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl

F = hl.filters
Image = np.ndarray[Any, np.dtype[Any]]
MEANS = np.ones((9, 9)) / 81
FILTERS: dict[str, Callable[[Image], Any]] = {
    "gaussian": lambda a: F.gaussian(a, 1.5),
    "box": lambda a: F.box(a, 31),
    "sums": lambda a: F.box(a, 3, normalize=False),
    "mean": lambda a: F.mean(a, 31),
    "std": lambda a: F.std(a, 5),
    "unsharp": lambda a: F.unsharp(a, 1),
    "bilateral": lambda a: F.bilateral(a, 5, 20, 2),
    "guided": lambda a: F.guided(a, 2, 0.1),
    "correlate": lambda a: F.correlate(a, MEANS),
    "convolve": lambda a: F.convolve(a, MEANS),
    "separable": lambda a: F.separable(a, np.ones(9) / 9, np.ones(9) / 9),
    "sobel": lambda a: F.sobel(a, 1, 0, 7),
    "laplacian": lambda a: F.laplacian(a, 5),
    "pyr_down": F.pyr_down,
    "pyr_up": F.pyr_up,
    "resize": lambda a: F.resize(a, (5, 4), kind="area"),
    "warp": lambda a: F.warp_affine(a, np.array([[0.9, 0.1, 1], [0, 1.1, 0]])),
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("kind", ["constant", "ramp", "random"])
def test_sums_do_not_overflow(name: str, kind: str) -> None:
    """Nor are they rounded on the way: the result is that of float32, of which the
    last bit may differ."""
    image = {
        "constant": np.full((9, 12), 900),
        "ramp": np.arange(108).reshape(9, 12) * 4,
        "random": np.random.default_rng(7).uniform(0, 900, (9, 12)),
    }[kind].astype(np.float16)
    found = np.asarray(FILTERS[name](image))
    wide = np.asarray(FILTERS[name](image.astype(np.float32)))
    assert found.dtype == np.float16
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = wide.astype(np.float16)
        near = np.spacing(np.abs(wanted)) + np.float16(2**-14)
    same = (found == wanted) | (np.abs(found.astype(np.float32) - wide) <= near)
    assert same.all(), (found, wide)


@pytest.mark.parametrize("corners", [F.harris, F.min_eigenvalue])
def test_corners(corners: Callable[..., Any]) -> None:
    image = np.zeros((12, 12), np.float16)
    image[4:8, 4:8] = 1
    found = np.asarray(corners(image, 3))
    wide = np.asarray(corners(image.astype(np.float32), 3))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, wide, rtol=2**-10, atol=2**-14)
