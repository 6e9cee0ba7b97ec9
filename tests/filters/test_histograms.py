"""Histograms and what is made of them, beside NumPy's and OpenCV's."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import SHAPES, Pixels, fused, photo, same, within

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


KINDS = {
    "binary": cv2.THRESH_BINARY,
    "binary_inv": cv2.THRESH_BINARY_INV,
    "trunc": cv2.THRESH_TRUNC,
    "tozero": cv2.THRESH_TOZERO,
    "tozero_inv": cv2.THRESH_TOZERO_INV,
}


def test_threshold_otsu_is_opencvs() -> None:
    for shape in ALL:
        image = photo(shape) // 3
        image[:, ::3] *= 2
        pairs = [cv2.threshold(c, 0, 255, cv2.THRESH_OTSU) for c in channels(image)]
        levels = [np.uint8(level) for level, _ in pairs]
        same(F.threshold_otsu(image), together(levels, image))
        made = together([c for _, c in pairs], image)
        same(F.threshold(image, "otsu"), made)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_at_otsus_level(kind: str) -> None:
    image = photo((20, 21))
    _, wanted = cv2.threshold(image, 0, 99, KINDS[kind] | cv2.THRESH_OTSU)
    same(F.threshold(image, "otsu", 99, kind), wanted)


@pytest.mark.parametrize(
    ("limit", "tiles"), [(40, 8), (2.0, 8), (0, (4, 3)), (3.3, (2, 5))], ids=str
)
def test_clahe_is_opencvs(limit: float, tiles: Any) -> None:
    rows, columns = (tiles, tiles) if isinstance(tiles, int) else tiles
    theirs = cv2.createCLAHE(limit, (columns, rows))
    for shape in [*ALL, (64, 80)]:
        image = photo(shape) // 3
        wanted = [theirs.apply(c) for c in channels(image)]
        within(F.clahe(image, limit, tiles), together(wanted, image), 1)


def test_integral() -> None:
    for shape in ALL:
        image = photo(shape)
        same(F.integral(image), cv2.integral(image))
        wide = photo(shape, "uint16")
        wanted = cv2.integral(wide, sdepth=cv2.CV_64F).astype(np.int64)
        same(F.integral(wide), wanted)
    floats = photo((9, 8), "float64")
    within(F.integral(floats), cv2.integral(floats), 1e-12)
    for shape in ((4, 0), (0, 5), (1, 1), (9, 1)):
        ones = np.ones(shape, np.uint8)
        wanted = np.outer(np.arange(shape[0] + 1), np.arange(shape[1] + 1))
        same(F.integral(ones), wanted.astype(np.int32))


def test_they_are_parts_of_programs() -> None:
    image = photo((70, 11, 3))
    fused(lambda a: F.equalize_hist(a), image)
    fused(lambda a: F.clahe(a, 2, 2), image)
    fused(lambda a: F.threshold(a, "otsu"), image)
    fused(lambda a: F.integral(a), image)
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
