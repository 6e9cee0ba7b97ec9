"""Medians of large windows, beside OpenCV's and SciPy's."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from parhelion.filters import medians
from tests.filters.support import Pixels, interpreted, photo, same

F = hl.filters
SHAPES = [
    (23, 37),
    (17, 29, 3),
    (1, 9),
    (7, 1),
    (1, 1),
    (5, 4, 1),
    (70, 300),
    (6, 7, 4),
]


def smooth(shape: tuple[int, ...]) -> Pixels:
    """Few levels, many of which are in a window as often as others."""
    return (photo(shape) // 64 + 40).astype(np.uint8)


@pytest.mark.parametrize("size", [9, 15, 31, 33, 255])
def test_it_is_opencvs(size: int) -> None:
    for shape in SHAPES:
        for image in (photo(shape), smooth(shape)):
            same(F.median(image, size), cv2.medianBlur(image, size))


@pytest.mark.parametrize("size", [11, 17, 47, 65, 129])
def test_other_sizes(size: int) -> None:
    for shape in ((70, 300), (40, 61, 3)):
        image = photo(shape, seed=size)
        same(F.median(image, size), cv2.medianBlur(image, size))


def test_random_sizes() -> None:
    made = np.random.default_rng(3)
    for size in (13, 63):
        for _ in range(12):
            shape = (*made.integers(1, 160, 2).tolist(), 3)[: made.integers(2, 4)]
            image = photo(shape, seed=int(made.integers(1 << 30)))
            image = image // np.uint8(made.integers(1, 100))
            same(F.median(image, size), cv2.medianBlur(image, size).reshape(shape))


def test_one_level() -> None:
    for level in (0, 1, 128, 254, 255):
        image = np.full((20, 30), level, np.uint8)
        same(F.median(image, 9), image)
        same(F.median(image, 33), image)


@pytest.mark.parametrize(
    ("border", "mode"),
    [
        ("symmetric", "reflect"),
        ("reflect", "mirror"),
        ("wrap", "wrap"),
        ("constant", "constant"),
    ],
)
def test_borders(border: str, mode: str) -> None:
    image = photo((20, 33))
    for size in (9, 33):
        wanted = ndi.median_filter(image, size, mode=mode, cval=77)
        same(F.median(image, size, border, 77), wanted)


def test_the_interpreter_agrees() -> None:
    image = photo((5, 9))
    for size in (9, 17):
        made = medians.by_counts(hl.Array(image), 1, size, "edge", 0)
        interpreted(made, F.median(image, size))


def test_a_part_of_an_image_and_none() -> None:
    image = photo((40, 61))
    same(F.median(image[1:, 1::2], 9), F.median(image[1:, 1::2].copy(), 9))
    assert F.median(np.zeros((0, 5), np.uint8), 9).shape == (0, 5)


def test_what_is_refused() -> None:
    image = photo((6, 7))
    for size in (8, 257, 1, 0):
        with pytest.raises(
            hl.BoundsError, match=f"an odd number up to 255, not {size}"
        ):
            F.median(image, size)
    with pytest.raises(hl.BoundsError, match="3, 5 or 7 for float32, not 9"):
        F.median(photo((6, 7), "float32"), 9)
    with pytest.raises(hl.TypeMismatchError, match="size is an integer, not 9.5"):
        F.median(image, 9.5)  # type: ignore[arg-type]
    part = hl.jit(lambda a: F.median(a, 9))
    with pytest.raises(hl.BoundsError, match="9 by 9 pixels is a program by itself"):
        part(image)
