"""Adaptive thresholds beside OpenCV's."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from tests.filters.support import fused, photo, same

F = hl.filters
KINDS = {"binary": cv2.THRESH_BINARY, "binary_inv": cv2.THRESH_BINARY_INV}
sizes = pytest.mark.parametrize("size", [3, 35])
kinds = pytest.mark.parametrize("kind", KINDS)
OFFSETS = [0, 2.5, -3.5]


@sizes
@kinds
def test_mean_is_opencvs(size: int, kind: str) -> None:
    for shape in ((40, 53), (1, 9), (7, 1), (1, 1)):
        image = photo(shape)
        for offset in OFFSETS:
            wanted = cv2.adaptiveThreshold(
                image, 200, cv2.ADAPTIVE_THRESH_MEAN_C, KINDS[kind], size, offset
            )
            found = F.adaptive_threshold(image, size, offset, 200, "mean", kind)
            same(found, wanted)


@sizes
@kinds
def test_gaussian_is_opencvs_but_for_means_halfway(size: int, kind: str) -> None:
    image = photo((40, 53))
    row = cv2.getGaussianKernel(size, 0)[:, 0]
    means = image.astype(np.float64)
    for axis in (0, 1):
        means = ndi.correlate1d(means, row, axis, mode="nearest")
    halfway = np.abs(means % 1 - 0.5) < 1e-3
    assert halfway.mean() < 0.2
    for offset in OFFSETS:
        wanted = cv2.adaptiveThreshold(
            image, 200, cv2.ADAPTIVE_THRESH_GAUSSIAN_C, KINDS[kind], size, offset
        )
        found = F.adaptive_threshold(image, size, offset, 200, "gaussian", kind)
        same(found[~halfway], wanted[~halfway])


@pytest.mark.parametrize("dtype", ["float32", "uint16", "int16"])
def test_other_types(dtype: str) -> None:
    image = photo((12, 17, 3), dtype)
    wide = np.pad(image.astype(np.float64), ((2, 2), (2, 2), (0, 0)), "edge")
    windows = np.lib.stride_tricks.sliding_window_view(wide, (5, 5), (0, 1))
    mean = windows.mean((-2, -1))
    if dtype != "float32":
        mean = np.rint(mean)
    offset = 0.1 if dtype == "float32" else 100
    found = F.adaptive_threshold(image, 5, offset, 1)
    same(found, (image > mean - offset).astype(dtype))


def test_offsets_beyond_all_pixels() -> None:
    image = photo((5, 6))
    for offset, wanted in ((300, 9), (-300, 0)):
        same(F.adaptive_threshold(image, 3, offset, 9), np.full_like(image, wanted))


def test_a_window_of_one_pixel() -> None:
    image = photo((5, 6))
    same(F.adaptive_threshold(image, 1), np.zeros_like(image))


def test_a_part_of_a_program() -> None:
    fused(lambda a: F.adaptive_threshold(a, 5, 2), photo((9, 11, 3)))
    fused(lambda a: F.adaptive_threshold(a, 5, 2, method="gaussian"), photo((9, 11)))


def test_what_is_refused() -> None:
    image = photo((5, 6))
    with pytest.raises(hl.BoundsError, match="is an odd number, not 4"):
        F.adaptive_threshold(image, 4)
    with pytest.raises(hl.TypeMismatchError, match="method is one of some words"):
        F.adaptive_threshold(image, 3, method="median")
    with pytest.raises(hl.TypeMismatchError, match="kind is one of some words"):
        F.adaptive_threshold(image, 3, kind="trunc")
