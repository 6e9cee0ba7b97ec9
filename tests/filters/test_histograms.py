"""Histograms and what is made of them, beside NumPy's and OpenCV's."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import SHAPES, Pixels, fused, photo, same

F = hl.filters
#: More rows than a strip has, and not a multiple of them.
ALL = [*SHAPES, (130, 29, 3), (64, 9)]


def channels(image: Pixels) -> list[Pixels]:
    planes = image.reshape(*image.shape[:2], -1)
    return [np.ascontiguousarray(planes[..., k]) for k in range(planes.shape[2])]


def together(found: list[Any], like: Pixels) -> Pixels:
    """Tables of channels side by side, as they are of an image."""
    return np.stack(found, -1) if like.ndim == 3 else np.asarray(found[0])


def test_counts_of_bytes() -> None:
    for shape in ALL:
        image = photo(shape)
        wanted = [np.bincount(c.ravel(), minlength=256) for c in channels(image)]
        same(F.histogram(image), together(wanted, image))


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8"])
def test_bins_are_numpys(dtype: str) -> None:
    image = photo((70, 41), dtype)
    limits = (0.125, 0.75) if dtype == "float32" else (16, 128)
    for bins in (1, 7, 64):
        wanted, _ = np.histogram(image, bins, limits)
        same(F.histogram(image, bins, limits), wanted)


def test_the_upper_end_and_what_is_outside() -> None:
    image = np.array([[-1, 0, 0.5, 1, 1.5, np.nan]])
    same(F.histogram(image, 2), np.array([1, 2]))


def test_equalize_hist_is_opencvs() -> None:
    for shape in ALL:
        for image in (photo(shape), photo(shape) // 3 + 40, photo(shape) // 200):
            wanted = [cv2.equalizeHist(c) for c in channels(image)]
            same(F.equalize_hist(image), together(wanted, image))
    same(F.equalize_hist(np.full((5, 6), 77, np.uint8)), np.full((5, 6), 77, np.uint8))


def test_they_are_parts_of_programs() -> None:
    image = photo((70, 11, 3))
    fused(lambda a: F.equalize_hist(a), image)
    table: Any = hl.jit(lambda a: F.histogram(a + 0))
    same(table(image), F.histogram(image))


def test_sums_up_to_each_element() -> None:
    image = photo((6, 7), "int32")
    both: Any = hl.jit(lambda a: (np.cumsum(a, axis=0), np.cumsum(a, axis=1)))
    for axis, found in enumerate(both(image)):
        same(found, np.cumsum(image, axis=axis))
    floats = photo((5,), "float64")
    line: Any = hl.jit(lambda a: np.cumsum(a))
    same(line(floats), np.cumsum(floats))
    with pytest.raises(hl.TypeMismatchError, match="cumsum is told the axis"):
        line(image)


def test_what_is_refused() -> None:
    image = photo((5, 6))
    with pytest.raises(hl.BoundsError, match="bins is at most 65536, not 65537"):
        F.histogram(image, 65537)
    with pytest.raises(hl.BoundsError, match="from a number to a greater one"):
        F.histogram(image, 4, (3, 3))
    with pytest.raises(hl.TypeMismatchError, match="is told the range of its bins"):
        F.histogram(image.astype("int32"))
    with pytest.raises(hl.TypeMismatchError, match="takes an image of uint8, not of"):
        F.equalize_hist(image.astype("int16"))
