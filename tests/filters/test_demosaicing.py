"""Colours from images of one colour each, beside OpenCV's."""

from __future__ import annotations

from typing import Annotated

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import Pixels, fused, interpreted, photo, same

F = hl.filters
#: OpenCV's names of the patterns.
NAMES = {"rggb": "BG", "bggr": "RG", "grbg": "GB", "gbrg": "GR"}
METHODS = {"bilinear": "", "edge_aware": "_EA"}
SHAPES = [(3, 3), (3, 4), (4, 3), (3, 150), (150, 3), (23, 37), (64, 128), (70, 131)]

patterns = pytest.mark.parametrize("pattern", NAMES)
methods = pytest.mark.parametrize("method", METHODS)


def mosaic(shape: tuple[int, int], dtype: str, seed: int = 0) -> Pixels:
    """Pixels of all values of a type."""
    made = np.random.default_rng(seed)
    return made.integers(0, int(np.iinfo(dtype).max) + 1, shape).astype(dtype)


def theirs(image: Pixels, pattern: str, method: str, to: str = "RGB") -> Pixels:
    code = f"COLOR_Bayer{NAMES[pattern]}2{to}{METHODS[method]}"
    found: Pixels = cv2.cvtColor(image, getattr(cv2, code))
    return found


@patterns
@methods
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_it_is_opencvs(pattern: str, method: str, dtype: str) -> None:
    for seed, shape in enumerate(SHAPES):
        image = mosaic(shape, dtype, seed)
        wanted = theirs(image, pattern, method)
        same(F.demosaic(image, pattern, method), wanted)
        # Few levels differ by one often: what is rounded matters.
        few = (image % 3).astype(dtype)
        same(F.demosaic(few, pattern, method), theirs(few, pattern, method))


@patterns
@methods
def test_blue_comes_first_where_it_is_called_red(pattern: str, method: str) -> None:
    image = mosaic((12, 17), "uint8")
    turned = pattern.translate(str.maketrans("rb", "br"))
    same(F.demosaic(image, turned, method), theirs(image, pattern, method, "BGR"))


def test_means_of_four_are_rounded_once() -> None:
    # All sums of four numbers of five levels, at the lower and the upper end.
    four = np.indices((5,) * 4).reshape(4, -1).astype(np.uint8)
    for values in (four, 255 - four):
        image = np.zeros((3, 4 * values.shape[1]), np.uint8)
        image[0, 1::4], image[1, 0::4], image[1, 2::4], image[2, 1::4] = values
        wanted = (values.astype(int).sum(0) + 2) >> 2
        same(F.demosaic(image, "bggr")[1, 1::4, 1], wanted.astype(np.uint8))


@patterns
@methods
def test_the_interpreter_agrees(pattern: str, method: str) -> None:
    for shape in ((3, 3), (5, 8), (8, 5)):
        image = mosaic(shape, "uint8")
        made = F.demosaic(hl.Array(image), pattern, method)
        interpreted(made, F.demosaic(image, pattern, method))


@methods
def test_a_part_of_a_program(method: str) -> None:
    image = mosaic((70, 90), "uint16")
    fused(lambda a: F.demosaic(a, "grbg", method), image)

    @hl.jit
    def grey(a: hl.Array) -> hl.Array:
        return F.convert_color(F.demosaic(a, "rggb", method), "rgb2gray")

    same(grey(image), F.convert_color(F.demosaic(image, "rggb", method), "rgb2gray"))


def test_rows_that_are_the_last_axis() -> None:
    image = mosaic((9, 14), "uint8")

    @hl.jit
    def turned(a: Annotated[hl.Array, "xy"]) -> hl.Array:
        return F.demosaic(a, "gbrg")

    same(turned(image.T.copy()).transpose(1, 0, 2), F.demosaic(image, "gbrg"))


def test_a_part_of_an_image() -> None:
    image = mosaic((20, 31), "uint8")
    same(F.demosaic(image[1:, 1::2]), F.demosaic(image[1:, 1::2].copy()))


def test_what_is_refused() -> None:
    image = mosaic((6, 7), "uint8")
    with pytest.raises(hl.TypeMismatchError, match="pattern is one of some words"):
        F.demosaic(image, "rgbg")
    with pytest.raises(hl.TypeMismatchError, match="method is one of some words"):
        F.demosaic(image, "rggb", "vng")
    for wrong in (image.astype(np.float32), photo((6, 7, 3)), image.astype(np.int16)):
        with pytest.raises(hl.TypeMismatchError, match="of uint8 or uint16, not an ar"):
            F.demosaic(wrong)
    with pytest.raises(hl.TypeMismatchError, match="not of Bools"):
        F.demosaic(image > 3)
    traced = hl.jit(lambda a: F.demosaic(a))
    for call in (F.demosaic, traced):
        for shape in ((2, 5), (1, 1), (0, 5)):
            with pytest.raises(hl.BoundsError, match=f"3 rows, not of {shape[0]}"):
                call(np.zeros(shape, np.uint8))
        for shape in ((5, 2), (3, 0), (7, 1)):
            with pytest.raises(hl.BoundsError, match=f"3 columns, not of {shape[1]}"):
                call(np.zeros(shape, np.uint8))
