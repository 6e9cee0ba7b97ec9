"""Non-local means, beside OpenCV's."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import Pixels, fused, interpreted, photo, same

F = hl.filters
SHAPES = [(40, 130), (23, 37), (1, 9), (7, 1), (1, 1), (17, 29, 3), (9, 70, 3)]


def noisy(shape: tuple[int, ...]) -> Pixels:
    """A smooth image with noise, so that patches are alike in part."""
    calm = cv2.GaussianBlur(photo(shape), (0, 0), 3).reshape(shape).astype(int)
    noise = np.random.default_rng(1).integers(-12, 13, shape)
    found: Pixels = np.clip(calm + noise, 0, 255).astype(np.uint8)
    return found


@pytest.mark.parametrize(
    ("h", "patch", "search"),
    [(10, 7, 21), (3.7, 5, 9), (300.0, 1, 7), (1e-30, 3, 5), (0.4, 21, 3), (9, 3, 1)],
)
def test_it_is_opencvs(h: float, patch: int, search: int) -> None:
    for shape in SHAPES:
        for image in (noisy(shape), photo(shape) // 4):
            wanted = cv2.fastNlMeansDenoising(image, None, h, patch, search)
            same(F.nlmeans(image, h, patch, search), wanted)


def test_two_and_four_channels_have_one_weight() -> None:
    for channels in (2, 4):
        image = noisy((19, 26, channels))
        found = F.nlmeans(image, 6, 3, 7)
        # A channel more that is the same everywhere halves distances in the mean.
        if channels == 2:
            wanted = cv2.fastNlMeansDenoising(image, None, 6, 3, 7)
            same(found, wanted)
        doubled = np.repeat(image[..., :1], channels, axis=2)
        grey = F.nlmeans(image[..., 0].copy(), 6, 3, 7)
        apart = np.abs(F.nlmeans(doubled, 6, 3, 7).astype(int) - grey[..., None])
        assert apart.max() <= 1


def test_random_sizes_and_numbers() -> None:
    made = np.random.default_rng(5)
    for h, patch, search in ((4.5, 3, 5), (12.25, 5, 7)):
        for _ in range(8):
            shape = (*made.integers(2, 120, 2).tolist(), 3)[: made.integers(2, 4)]
            image = noisy(shape)
            wanted = cv2.fastNlMeansDenoising(image, None, h, patch, search)
            same(F.nlmeans(image, h, patch, search), wanted)


def test_an_h_without_end() -> None:
    # All pixels of the window weigh as much.
    image = noisy((30, 70))
    around = np.pad(image, 3, "reflect").astype(int)
    windows = np.lib.stride_tricks.sliding_window_view(around, (7, 7))
    wanted = (windows.sum((-2, -1)) + 24) // 49
    for h in (1e25, 1e300):
        same(F.nlmeans(image, h, 3, 7), wanted.astype(np.uint8))


def test_the_interpreter_agrees() -> None:
    for shape in ((4, 6), (3, 5, 3)):
        image = noisy(shape)
        made = F.nlmeans(hl.Array(image), 8, 3, 5)
        interpreted(made, F.nlmeans(image, 8, 3, 5))


def test_a_part_of_a_program() -> None:
    fused(lambda a: F.nlmeans(a, 8, 3, 5), noisy((9, 13)))
    fused(lambda a: F.nlmeans(a, 8, 3, 5), noisy((9, 11, 3)))

    @hl.jit
    def edges(a: hl.Array) -> hl.Array:
        return F.sobel(F.nlmeans(a, 8, 3, 5), 1, 0)

    image = noisy((150, 170))
    same(edges(image), F.sobel(F.nlmeans(image, 8, 3, 5), 1, 0))


def test_no_pixels_and_a_part_of_an_image() -> None:
    assert F.nlmeans(np.zeros((0, 5), np.uint8), 3, 3, 5).shape == (0, 5)
    image = noisy((40, 61))
    found = F.nlmeans(image[1:, 1::2], 8, 3, 5)
    same(found, F.nlmeans(image[1:, 1::2].copy(), 8, 3, 5))


def test_what_is_refused() -> None:
    image = photo((6, 7))
    with pytest.raises(hl.BoundsError, match="h is above 0, not 0"):
        F.nlmeans(image, 0)
    for size in (4, 23):
        with pytest.raises(hl.BoundsError, match=f"patch is an odd .* not {size}"):
            F.nlmeans(image, 3, size)
    for size in (20, 103):
        with pytest.raises(hl.BoundsError, match=f"search is an odd .* not {size}"):
            F.nlmeans(image, 3, 7, size)
    with pytest.raises(hl.BoundsError, match="patch is at least 1, not -1"):
        F.nlmeans(image, 3, -1)
    with pytest.raises(hl.TypeMismatchError, match="search is an integer, not 5.5"):
        F.nlmeans(image, 3, 7, 5.5)  # type: ignore[arg-type]
    with pytest.raises(hl.TypeMismatchError, match="an image of uint8, not of float32"):
        F.nlmeans(photo((6, 7), "float32"), 3)
    with pytest.raises(hl.TypeMismatchError, match="not of Bools"):
        F.nlmeans(image > 3, 3)
    with pytest.raises(hl.BoundsError, match="number of channels is 3, not 5"):
        F.nlmeans(photo((6, 7, 5)), 3)
