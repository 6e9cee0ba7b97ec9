"""Measures of corners beside OpenCV's."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import Pixels, fused, photo, same

F = hl.filters
BORDERS = {
    "reflect": cv2.BORDER_REFLECT_101,
    "edge": cv2.BORDER_REPLICATE,
    "symmetric": cv2.BORDER_REFLECT,
    "constant": cv2.BORDER_CONSTANT,
}
SIZES = [(2, 3), (3, 5), (5, 7), (1, 3)]


@pytest.fixture(autouse=True)
def without_ipp() -> Iterator[None]:
    """Intel's library, which OpenCV may use for "edge" and "constant", has the other
    middle of even windows."""
    used = cv2.ipp.useIPP()
    cv2.ipp.setUseIPP(False)
    yield
    cv2.ipp.setUseIPP(used)


def greatest_trace(image: Pixels, block: int, size: int, border: int) -> float:
    """The greatest sum of both eigenvalues, by OpenCV."""
    found = cv2.cornerEigenValsAndVecs(image, block, size, borderType=border)
    return float((found[..., 0] + found[..., 1]).max(initial=0))


def near(found: Pixels, wanted: Pixels, limit: float) -> None:
    assert found.dtype == wanted.dtype
    apart = np.abs(found.astype(np.float64) - wanted)
    assert apart.max(initial=0) <= limit


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize(("block", "size"), SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_is_opencvs(dtype: str, block: int, size: int, border: str) -> None:
    for shape in ((23, 37), (70, 8)):
        image, name = photo(shape, dtype), BORDERS[border]
        trace = greatest_trace(image, block, size, name)
        assert trace > 0.01
        wanted = cv2.cornerHarris(image, block, size, 0.06, borderType=name)
        found = F.harris(image, block, size, 0.06, border)
        near(found, wanted, 1e-5 * trace**2)
        wanted = cv2.cornerMinEigenVal(image, block, ksize=size, borderType=name)
        near(F.min_eigenvalue(image, block, size, border), wanted, 1e-5 * trace)


def test_small_images_are_opencvs() -> None:
    for shape in ((1, 9), (7, 1), (1, 1), (2, 2)):
        image = photo(shape, "float32")
        wanted = cv2.cornerHarris(image, 3, 3, 0.04)
        near(F.harris(image, 3), wanted, 1e-5)


def of_formula(image: Pixels, k: float) -> Pixels:
    """The measure of windows of 3 by 3 pixels in float64, away from borders."""
    i = image.astype(np.float64)
    rows = i[:-2] + 2 * i[1:-1] + i[2:]
    columns = i[:, :-2] + 2 * i[:, 1:-1] + i[:, 2:]
    dx, dy = rows[:, 2:] - rows[:, :-2], columns[2:] - columns[:-2]

    def total(a: Pixels) -> Pixels:
        windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3))
        found: Pixels = windows.sum((-2, -1)) / 144
        return found

    xx, xy, yy = total(dx * dx), total(dx * dy), total(dy * dy)
    found: Pixels = xx * yy - xy * xy - k * (xx + yy) ** 2
    return found


@pytest.mark.parametrize(
    ("dtype", "to", "limit"),
    [
        ("uint16", "float32", 1e-5),
        ("int16", "float32", 1e-5),
        ("int32", "float64", 1e-13),
        ("float64", "float64", 1e-13),
    ],
)
def test_other_types(dtype: str, to: str, limit: float) -> None:
    image = photo((12, 17), dtype)
    wanted = of_formula(image, 0.05)
    found = F.harris(image, 3, k=0.05)
    assert found.dtype == to
    apart = np.abs(found[2:-2, 2:-2] - wanted).max()
    assert apart <= limit * 25 * np.abs(wanted).max()


def test_wrap_repeats_the_image() -> None:
    image = photo((9, 11))
    repeated = np.tile(image, (3, 3))
    found = F.harris(image, 3, border="wrap")
    same(found, F.harris(repeated, 3)[9:18, 11:22])


def test_channels_are_apart() -> None:
    image = photo((12, 17, 3))
    for filter_ in (F.harris, F.min_eigenvalue):
        found = filter_(image)
        for c in range(3):
            same(found[..., c], filter_(np.ascontiguousarray(image[..., c])))


def test_a_part_of_a_program() -> None:
    for image in (photo((9, 11, 3)), photo((9, 11))):
        fused(lambda a: F.harris(a, 3, border="edge"), image)
        fused(lambda a: F.min_eigenvalue(a, 2), image)


def test_what_is_refused() -> None:
    image = photo((5, 6))
    with pytest.raises(hl.BoundsError, match="ksize of harris is 3, 5 or 7, not 4"):
        F.harris(image, 3, 4)
    with pytest.raises(hl.BoundsError, match="block_size is at least 1, not 0"):
        F.min_eigenvalue(image, 0)
    with pytest.raises(hl.TypeMismatchError, match="harris takes an image of numbers"):
        F.harris(image > 3)
    with pytest.raises(hl.TypeMismatchError, match="there is no border 'round'"):
        F.harris(image, border="round")
