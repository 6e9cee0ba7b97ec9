"""Gaussian and box filters and sharpening, beside OpenCV, SciPy and plain sums."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from tests.filters.support import SHAPES, TYPES, Pixels, photo, rounding, same, within

shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
types = pytest.mark.parametrize("dtype", TYPES)


@shapes
@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.3, 7.0])
def test_gaussian_of_uint8_is_opencvs(shape: tuple[int, ...], sigma: float) -> None:
    image = photo(shape)
    same(hl.filters.gaussian(image, sigma), cv2.GaussianBlur(image, (0, 0), sigma))


@shapes
@pytest.mark.parametrize("sigma", [2.3, 7.0])
def test_gaussian_of_floats(shape: tuple[int, ...], sigma: float) -> None:
    image = photo(shape, "float32")
    wanted = cv2.GaussianBlur(image, (0, 0), sigma)
    size = (round(sigma * 8 + 1) | 1) ** 2
    limit = rounding(image, np.full(size, 1 / size))
    within(hl.filters.gaussian(image, sigma), wanted, limit)


def test_gaussian_of_16_bits() -> None:
    # Of n weights across and down, rounded to multiples of 2**-16 by OpenCV, two sums
    # with 16 bits are n levels apart at most; both results are rounded.
    image = photo((23, 37), "uint16")
    wanted = cv2.GaussianBlur(image, (0, 0), 1.0)
    within(hl.filters.gaussian(image, 1.0), wanted, 9 + 1)
    exact = ndi.gaussian_filter(image.astype(np.float64), 1.0, mode="mirror")
    within(hl.filters.gaussian(image, 1.0), np.rint(exact).astype("uint16"), 1)


@pytest.mark.parametrize("sigma", [(1.0, 0.0), (0.0, 2.0), (0.7, 3.0), (0.0, 0.0)])
def test_gaussian_of_axes(sigma: tuple[float, float]) -> None:
    image = photo((21, 19), "float64")
    wanted = ndi.gaussian_filter(image, sigma, truncate=3.0, mode="mirror")
    found = hl.filters.gaussian(image, sigma, truncate=3.0)
    within(found, wanted, rounding(image, np.full(19 * 7, 1 / (19 * 7))))


BORDERS = {
    "edge": "nearest",
    "reflect": "mirror",
    "symmetric": "reflect",
    "wrap": "wrap",
    "constant": "constant",
}
#: The other words for these.
WORDS = {
    "replicate": "edge",
    "nearest": "edge",
    "repeat_edge": "edge",
    "reflect_101": "reflect",
    "reflect101": "reflect",
    "mirror": "reflect",
    "mirror_interior": "reflect",
    "mirror_image": "symmetric",
    "repeat_image": "wrap",
    "constant_exterior": "constant",
}


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("shape", [(6, 5, 3), (2, 3)], ids=str)
def test_borders(border: str, shape: tuple[int, ...]) -> None:
    image = photo(shape, "float64")
    sigma = (2.0, 2.0, 0.0)[: len(shape)]
    wanted = ndi.gaussian_filter(
        image, sigma, truncate=4.0, mode=BORDERS[border], cval=0.25
    )
    found = hl.filters.gaussian(image, 2.0, truncate=4.0, border=border, value=0.25)
    within(found, wanted, rounding(image, np.full(17**2, 1 / 17**2)))


@pytest.mark.parametrize("word", WORDS)
def test_words_of_borders(word: str) -> None:
    image = photo((5, 6))
    found = hl.filters.box(image, 3, border=word, value=9)
    same(found, hl.filters.box(image, 3, border=WORDS[word], value=9))


def means(image: Pixels, rows: int, columns: int) -> Pixels:
    """Means of windows, of sums that are exact."""
    up, left = rows // 2, columns // 2
    wide = ((up, rows - 1 - up), (left, columns - 1 - left), (0, 0))[: image.ndim]
    padded = np.pad(image.astype(np.int64), wide, "symmetric")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (rows, columns), (0, 1))
    found: Pixels = np.rint(windows.sum((-2, -1)) / (rows * columns))
    return found.astype(image.dtype)


@shapes
@pytest.mark.parametrize("size", [(4, 2), (40, 5)], ids=str)
def test_box_of_integers_is_exact(
    shape: tuple[int, ...], size: tuple[int, int]
) -> None:
    for dtype in ("uint8", "uint16", "int16"):
        image = photo(shape, dtype)
        found = hl.filters.box(image, size, border="symmetric")
        same(found, means(image, *size))


@shapes
@types
@pytest.mark.parametrize("size", [4, 7])
def test_box_is_opencvs(shape: tuple[int, ...], dtype: str, size: int) -> None:
    image = photo(shape, dtype)
    wanted = cv2.blur(image, (size, size))
    limit = rounding(image, np.full(size**2, 1 / size**2)) if dtype != "uint8" else 1
    # Of 4 by 4 bytes OpenCV 5.0 rounds 7/16 and 8/16 up.
    limit = 0 if dtype == "uint8" and size % 2 else limit
    within(hl.filters.box(image, size), wanted, limit)


def test_sums_of_a_box() -> None:
    image = photo((9, 8)) // 8
    wanted = cv2.boxFilter(image, -1, (3, 3), normalize=False)
    same(hl.filters.box(image, 3, normalize=False), wanted)


@shapes
@types
def test_unsharp(shape: tuple[int, ...], dtype: str) -> None:
    image = photo(shape, dtype)
    wide = image.astype(np.float64)
    sigma = (1.2, 1.2, 0.0)[: image.ndim]
    blurred = ndi.gaussian_filter(
        wide, sigma, radius=(5, 5, 0)[: image.ndim], mode="mirror"
    )
    wanted = wide + 1.5 * (wide - blurred)
    found = hl.filters.unsharp(image, 1.2, 1.5)
    if dtype == "uint8":
        within(found, np.clip(np.rint(wanted), 0, 255).astype("uint8"), 1)
    else:
        limit = 4 * rounding(image, np.full(121, 1 / 121))
        within(found, wanted.astype("float32"), limit)


@pytest.mark.parametrize("size", [(24, 1), (1, 31), (51, 64), (33, 40)])
def test_large_boxes_are_exact(size: tuple[int, int]) -> None:
    """Sums of many pixels are made of sums: of integers these are exact."""

    @hl.jit(static=["size"])
    def in_a_program(a: hl.Array, size: tuple[int, int]) -> hl.Array:
        return hl.filters.box(a, size, "edge", normalize=False)

    for shape in ((70, 45), (3, 5), (40, 30, 3)):
        image = photo(shape, "uint8").astype(np.int32) * 1001
        beside = [(n // 2, n - 1 - n // 2) for n in size]
        wide = np.pad(image, [*beside, (0, 0)][: image.ndim], "edge")
        sums = np.lib.stride_tricks.sliding_window_view(wide, size, (0, 1))
        wanted = sums.sum((-1, -2), dtype=np.int32)
        same(hl.filters.box(image, size, "edge", normalize=False), wanted)
        same(in_a_program(image, size=size), wanted)
