"""Pyramids beside OpenCV's."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import SHAPES, fused, photo, rounding, same, within

F = hl.filters
ALL = [*SHAPES, (2, 2), (24, 16)]
BORDERS = {
    "reflect": cv2.BORDER_REFLECT_101,
    "symmetric": cv2.BORDER_REFLECT,
    "edge": cv2.BORDER_REPLICATE,
    "wrap": cv2.BORDER_WRAP,
}


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_integers_are_opencvs(dtype: str) -> None:
    for shape in ALL:
        image = photo(shape, dtype)
        same(F.pyr_down(image), cv2.pyrDown(image))
        same(F.pyr_up(image), cv2.pyrUp(image))


def test_floats() -> None:
    for shape in ALL:
        image = photo(shape, "float32")
        limit = rounding(image, np.full(25, 1 / 25))
        within(F.pyr_down(image), cv2.pyrDown(image), limit)
        within(F.pyr_up(image), cv2.pyrUp(image), limit)


@pytest.mark.parametrize("border", BORDERS)
def test_borders(border: str) -> None:
    for shape in ((9, 12), (8, 7, 3), (2, 3)):
        image = photo(shape)
        wanted = cv2.pyrDown(image, borderType=BORDERS[border])
        same(F.pyr_down(image, border), wanted)


def test_wide_integers() -> None:
    image = photo((9, 8), "int32")
    wanted = np.rint(cv2.pyrDown(image.astype(np.float64))).astype(np.int32)
    same(F.pyr_down(image), wanted)


@pytest.mark.parametrize("shape", [(37, 21), (16, 24, 3)], ids=str)
def test_pyramids(shape: tuple[int, ...]) -> None:
    image = photo(shape)
    found = F.gaussian_pyramid(image, 3)
    wanted = image
    for one in found:
        same(one, wanted)
        wanted = cv2.pyrDown(wanted)
    assert len(found) == 4
    levels = F.laplacian_pyramid(image, 3)
    assert [one.dtype for one in levels] == [np.dtype(np.int16)] * 4
    assert [one.shape for one in levels] == [one.shape for one in found]
    # The image is found again.
    made = levels[-1]
    for one in reversed(levels[:-1]):
        larger = F.pyr_up(made.astype(np.uint8))[: one.shape[0], : one.shape[1]]
        made = larger + one
    same(made.astype(np.uint8), image)


def test_types_of_differences() -> None:
    for dtype, wide in (("uint16", "int32"), ("float32", "float32")):
        image = photo((5, 6), dtype)
        one, last = F.laplacian_pyramid(image, 1)
        assert one.dtype == last.dtype == wide
        same(one, image.astype(wide) - F.pyr_up(F.pyr_down(image))[:5].astype(wide))


def test_they_are_parts_of_programs() -> None:
    image = photo((9, 14, 3))
    fused(lambda a: F.pyr_down(a), image)
    fused(lambda a: F.pyr_up(a), image)
    fused(lambda a: F.pyr_down(a, "wrap"), image[..., 0])

    @hl.jit
    def levels(a: hl.Array) -> Any:
        return tuple(F.laplacian_pyramid(a, 2))

    for one, wanted in zip(levels(image), F.laplacian_pyramid(image, 2), strict=True):
        same(one, wanted)


def test_what_is_refused() -> None:
    image = photo((5, 6))
    with pytest.raises(hl.BoundsError, match='takes no border "constant"'):
        F.pyr_down(image, "constant")
    with pytest.raises(hl.BoundsError, match="levels is at least 0, not -1"):
        F.gaussian_pyramid(image, -1)
    with pytest.raises(hl.TypeMismatchError, match="pyr_up takes an image"):
        F.pyr_up(image[0])
