"""The bilateral filter, beside OpenCV's and sums of NumPy's."""

from __future__ import annotations

from typing import Annotated

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import SHAPES, TYPES, Pixels, fused, photo, same, within

F = hl.filters
BORDERS = ["reflect", "symmetric", "edge", "wrap", "constant"]


def blended(
    image: Pixels, radius: int, color: float, space: float, border: str, value: float
) -> Pixels:
    """The means by the formula, in float64."""
    wide = image.astype(np.float64).reshape(*image.shape[:2], -1)
    more = {"constant_values": value} if border == "constant" else {}
    around = ((radius, radius), (radius, radius), (0, 0))
    padded = np.pad(wide, around, border, **more)  # type: ignore[call-overload]
    rows, columns = image.shape[:2]
    total, weights = np.zeros_like(wide), np.zeros((rows, columns, 1))
    for i in range(2 * radius + 1):
        for j in range(2 * radius + 1):
            r = (i - radius) ** 2 + (j - radius) ** 2
            if r > radius**2:
                continue
            pixels = padded[i : i + rows, j : j + columns]
            e = np.abs(pixels - wide).sum(-1, keepdims=True)
            weight = np.exp(-((e / color) ** 2) / 2 - r / space / space / 2)
            total, weights = total + weight * pixels, weights + weight
    found: Pixels = (total / weights).reshape(image.shape)
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("d", [-1, 1, 4, 13])
def test_it_is_opencvs(shape: tuple[int, ...], dtype: str, d: int) -> None:
    image = photo(shape, dtype)
    color = 40.0 if dtype == "uint8" else 0.15
    wanted = cv2.bilateralFilter(image, d, color, 2.1)
    within(F.bilateral(image, d, color, 2.1), wanted, 1 if dtype == "uint8" else 1e-5)


@pytest.mark.parametrize("shape", [(19, 23), (9, 11, 3), (8, 9, 2), (7, 9, 4)], ids=str)
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("d", [5, 9])
def test_it_is_the_formula(shape: tuple[int, ...], border: str, d: int) -> None:
    image = photo(shape)
    wanted = blended(image, d // 2, 50, 1.5, border, 90)
    found = F.bilateral(image, d, 50, 1.5, border, 90)
    # Equal but where the mean is half a level from two.
    sure = np.abs(wanted % 1 - 0.5) > 1e-3
    assert sure.mean() > 0.9
    same(found[sure], np.rint(wanted).astype(np.uint8)[sure])


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "float64"])
def test_other_types(dtype: str) -> None:
    image = photo((12, 17), dtype)
    color = 0.2 if dtype == "float64" else 9000
    wanted = blended(image, 3, color, 2, "reflect", 0)
    found = F.bilateral(image, 7, color, 2)
    if dtype == "float64":
        within(found, wanted, 1e-13)
    else:
        within(found, np.rint(wanted).astype(dtype), 1)


def test_sigmas_without_end() -> None:
    # So small that pixels are like themselves alone; so large that all weigh as much.
    image = photo((9, 12))
    same(F.bilateral(image, 5, 1e-200, 1), image)
    same(F.bilateral(image, 5, 50, 1e-200), image)
    wanted = np.rint(blended(image, 4, 1e200, 1e200, "reflect", 0))
    within(F.bilateral(image, 9, 1e200, 1e200), wanted.astype(np.uint8), 1)


def test_a_part_of_a_program() -> None:
    fused(lambda a: F.bilateral(a, 5, 40, 2), photo((9, 11)))
    fused(lambda a: F.bilateral(a, 5, 40, 2), photo((9, 11, 3)))
    fused(lambda a: F.bilateral(a, 9, 40, 2), photo((9, 11, 3)))


def test_what_has_no_pixels_and_no_channels() -> None:
    for shape in ((0, 5), (5, 0, 3), (4, 5, 0)):
        image = np.zeros(shape, np.uint8)
        same(F.bilateral(image, 5, 9, 2), image)


def test_other_numbers_of_channels() -> None:
    with pytest.raises(hl.BoundsError, match="number of channels is 3, not 5"):
        F.bilateral(photo((6, 7, 5)), 5, 9, 2)

    @hl.jit
    def planar(a: Annotated[hl.Array, "cyx"]) -> hl.Array:
        return F.bilateral(a, 5, 9, 2)

    with pytest.raises(hl.BoundsError, match="number of channels is 3, not 2"):
        planar(photo((2, 6, 7)))
