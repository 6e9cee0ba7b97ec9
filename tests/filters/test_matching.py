"""Where images look like a template, beside OpenCV."""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import Pixels, photo, same

F = hl.filters
METHODS = {
    "sqdiff": cv2.TM_SQDIFF,
    "sqdiff_normed": cv2.TM_SQDIFF_NORMED,
    "ccorr": cv2.TM_CCORR,
    "ccorr_normed": cv2.TM_CCORR_NORMED,
    "ccoeff": cv2.TM_CCOEFF,
    "ccoeff_normed": cv2.TM_CCOEFF_NORMED,
}
SHAPES = [
    ((40, 83), (7, 5)),
    ((30, 33, 3), (4, 6, 3)),
    ((9, 8), (9, 8)),
    ((9, 8), (1, 1)),
    ((25, 70), (20, 3)),
]


def check(image: Pixels, template: Pixels, method: str) -> None:
    wanted = cv2.matchTemplate(image, template, METHODS[method])
    found = F.match_template(image, template, method)
    assert found.dtype == np.float32
    assert found.shape == wanted.shape
    apart = np.abs(found.astype(np.float64) - wanted).max()
    # Sums and differences of products are as exact as these in float32.
    image, template = image.astype(np.float64), template.astype(np.float64)
    scale = 1.0 if method.endswith("normed") else (image**2).max() * template.size
    assert apart <= 1e-5 * scale


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_is_opencvs(dtype: str, method: str) -> None:
    for shape, size in SHAPES:
        image = photo(shape, dtype)
        y, x = shape[0] - size[0], (shape[1] - size[1]) // 2
        part = image[y : y + size[0], x : x + size[1]].copy()
        if part.size > 1 or method != "ccoeff_normed":
            check(image, part, method)
        if part.size > 1:
            check(image, photo(size, dtype, 7), method)


@pytest.mark.parametrize("method", METHODS)
def test_flat_windows_and_templates(method: str) -> None:
    image = photo((30, 40))
    image[5:20, 5:20], image[5:20, 25:35] = 0, 93
    check(image, photo((4, 5), seed=3), method)
    check(image, np.full((4, 5), 60, np.uint8), method)
    check(image, np.zeros((4, 5), np.uint8), method)


@pytest.mark.parametrize("dtype", ["uint16", "int16", "float64"])
def test_other_types_by_the_formula(dtype: str) -> None:
    image, small = photo((12, 17), dtype), photo((3, 4), dtype, 5)
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(float), (3, 4))
    wanted = ((windows - small.astype(float)) ** 2).sum((-2, -1))
    found = F.match_template(image, small, "sqdiff")
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("size", [(1, 9), (4, 4), (5, 3), (18, 70)], ids=str)
@pytest.mark.parametrize("channels", [(), (3,)], ids=["grey", "colours"])
def test_products_of_bytes_are_exact(
    size: tuple[int, int], channels: tuple[int, ...]
) -> None:
    """With pixels of 0 and 255 alone, in rows that are no multiple of four."""
    random = np.random.default_rng(1)
    image = (random.integers(0, 2, (23, 150, *channels)) * 255).astype(np.uint8)
    small = (random.integers(0, 2, (*size, *channels)) * 255).astype(np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(image, small.shape)
    windows = windows.reshape(*windows.shape[:2], -1).astype(np.int64)
    wanted = windows @ small.ravel().astype(np.int64)
    same(F.match_template(image, small, "ccorr"), wanted.astype(np.float32))
    image[:], small[:] = 255, 255
    wanted[:] = small.size * 255**2
    same(F.match_template(image, small, "ccorr"), wanted.astype(np.float32))


@pytest.mark.parametrize("shape", [(20, 31), (20, 31, 3)], ids=str)
def test_a_part_of_a_program(shape: tuple[int, ...]) -> None:
    image = photo(shape)
    small = image[4:9, 6:13].copy()
    for method in METHODS:
        call: Any = partial(F.match_template, template=small, method=method)

        @hl.jit
        def part(a: hl.Array, call: Any = call) -> Any:
            return call(a + 0)

        same(part(image), call(image))


def test_what_is_refused() -> None:
    image = photo((5, 6))
    with pytest.raises(hl.TypeMismatchError, match="method is one of some words"):
        F.match_template(image, image, "best")
    with pytest.raises(
        hl.TypeMismatchError, match="the image's type, uint8, not float"
    ):
        F.match_template(image, np.ones((2, 2)))
    with pytest.raises(
        hl.TypeMismatchError, match="is a NumPy array of numbers, not 3"
    ):
        F.match_template(image, 3)
    with pytest.raises(hl.TypeMismatchError, match="as many axes as the image, 2, not"):
        F.match_template(image, photo((2, 2, 3)))
    with pytest.raises(hl.BoundsError, match="has pixels, not the shape"):
        F.match_template(image, image[:0])
    for size in ((6, 6), (2, 7)):
        with pytest.raises(hl.BoundsError, match="does not fit an image"):
            F.match_template(image, photo(size))
