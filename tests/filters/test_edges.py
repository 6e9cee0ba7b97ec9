"""Canny's edges, beside OpenCV's."""

from __future__ import annotations

from typing import Annotated

import cv2
import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from parhelion.filters.growing import NOTHING, OPEN, TAKEN, by_walk, grown
from parhelion.filters.whole_images import run
from tests.filters.support import Pixels, fused, interpreted, photo, same

F = hl.filters
SHAPES = [(70, 131), (9, 150), (19, 129, 3)]
#: Narrower than a register, and of one row, one column and one pixel.
SMALL = [(23, 37), (1, 9), (7, 1), (1, 1), (2, 2), (1, 6, 3)]
LIMITS = [(20, 60), (100, 350), (0, 0), (50.7, 333.3), (90, 30), (-5, 20)]
#: What gradients of larger apertures are multiples of.
SCALES = {3: 1, 5: 12, 7: 150}


def images(shape: tuple[int, ...]) -> list[Pixels]:
    """Noise, where most pixels are near edges, and noise that is smoothed."""
    noise = photo(shape)
    return [noise, cv2.GaussianBlur(noise, (0, 0), 2).reshape(shape)]


def theirs(
    image: Pixels, low: float, high: float, aperture: int = 3, l2: bool = False
) -> Pixels:
    found: Pixels = cv2.Canny(image, low, high, apertureSize=aperture, L2gradient=l2)
    return found


@pytest.mark.parametrize("aperture", SCALES)
@pytest.mark.parametrize("l2", [False, True])
def test_it_is_opencvs(aperture: int, l2: bool) -> None:
    for shape in [*SHAPES, *(SMALL if aperture == 3 else [])]:
        for image in images(shape):
            for limits in LIMITS:
                low, high = [n * SCALES[aperture] for n in limits]
                found = F.canny(image, low, high, aperture, l2)
                same(found, theirs(image, low, high, aperture, l2))


@pytest.mark.parametrize("l2", [False, True])
@pytest.mark.parametrize("most", [2e3, 4e4, 1e9, 1e300])
def test_high_thresholds(l2: bool, most: float) -> None:
    for image in images((70, 131)):
        wanted = theirs(image, 10, min(most, 1e9), 3, l2)
        same(F.canny(image, 10, most, 3, l2), wanted)


def test_random_sizes_and_thresholds() -> None:
    made = np.random.default_rng(7)
    for _ in range(60):
        low, high = made.integers(0, 700, 2).tolist()
        shape = (*made.integers(2, 190, 2).tolist(), 3)[: made.integers(2, 4)]
        image = photo(shape, seed=int(made.integers(1 << 30)))
        if made.random() < 0.6:
            image = cv2.GaussianBlur(image, (0, 0), made.uniform(0.6, 3))
            image = image.reshape(shape)
        same(F.canny(image, low, high), theirs(image, low, high))


def grown_of(kinds: Pixels) -> Pixels:
    found: Pixels = run(grown, kinds, schedule=by_walk)
    return found


def labelled(kinds: Pixels) -> Pixels:
    """The regions, by SciPy's labels."""
    labels, count = ndi.label(kinds != NOTHING, np.ones((3, 3)))
    is_taken = np.zeros(count + 1, bool)
    is_taken[labels[kinds == TAKEN]] = True
    found: Pixels = (is_taken[labels] & (kinds != NOTHING)).astype(np.uint8) * 255
    return found


def spiral(size: int) -> Pixels:
    """A path to the middle of a square that touches itself nowhere."""
    found = np.full((size, size), NOTHING, np.uint8)
    low, high = 0, size - 1
    while low <= high:
        found[low, max(low - 2, 0) : high + 1] = OPEN
        found[low : high + 1, high] = OPEN
        found[high, low : high + 1] = OPEN
        found[low + 2 : high + 1, low] = OPEN
        low, high = low + 2, high - 2
    return found


def test_regions_grow_along_every_path() -> None:
    size = 61
    path = spiral(size)
    middle, open_ = (size // 2, size // 2), int((path == OPEN).sum())
    assert ndi.label(path, np.ones((3, 3)))[1] == 1
    for start in (middle, (0, 0)):
        kinds = path.copy()
        kinds[start] = TAKEN
        for turned in (
            kinds,
            kinds[::-1].copy(),
            kinds.T.copy(),
            kinds[:, ::-1].copy(),
        ):
            found = grown_of(turned)
            same(found, labelled(turned))
            assert (found == 255).sum() == open_


def test_regions_of_every_kind() -> None:
    made = np.random.default_rng(0)
    for shape in ((1, 1), (1, 70), (60, 1), (2, 3), (33, 70), (150, 90)):
        for part in (0.0, 0.2, 0.4, 0.7, 1.0):
            for taken in (0.0, 0.004, 0.2, 1.0):
                kinds = (made.random(shape) < part).astype(np.uint8)
                kinds[made.random(shape) < taken] = TAKEN
                same(grown_of(kinds), labelled(kinds))


def test_a_comb_of_columns() -> None:
    # All columns join in the first row; one is taken at its lower end.
    kinds = np.zeros((40, 81), np.uint8)
    kinds[:, ::2] = OPEN
    kinds[0] = OPEN
    kinds[-1, 40] = TAKEN
    same(grown_of(kinds), (kinds != NOTHING).astype(np.uint8) * 255)


@pytest.mark.parametrize("l2", [False, True])
def test_the_interpreter_agrees(l2: bool) -> None:
    for shape in ((1, 1), (4, 6), (7, 5), (4, 5, 3)):
        image = photo(shape)
        made = F.canny(hl.Array(image), 60, 200, 3, l2)
        interpreted(made, F.canny(image, 60, 200, 3, l2))


def test_a_part_of_a_program() -> None:
    fused(lambda a: F.canny(a, 60, 200), photo((19, 31)))
    image = photo((9, 11, 3))

    @hl.jit
    def planar(a: Annotated[hl.Array, "cyx"]) -> hl.Array:
        return F.canny(a + 0, 900, 2500, 5, True)

    found = planar(np.ascontiguousarray(image.transpose(2, 0, 1)))
    same(found, theirs(image, 900, 2500, 5, True))

    @hl.jit
    def outlined(a: hl.Array) -> hl.Array:
        edges = F.canny(F.gaussian(a, 1.5), 30, 90)
        return hl.where(F.dilate(edges, 3) > 0, np.uint8(0), a)

    image = photo((150, 170))
    edges = theirs(cv2.GaussianBlur(image, (0, 0), 1.5), 30, 90)
    wanted = np.where(cv2.dilate(edges, np.ones((3, 3), np.uint8)) > 0, 0, image)
    same(outlined(image), wanted.astype(np.uint8))


def test_rows_that_are_the_last_axis() -> None:
    image = photo((9, 14))

    @hl.jit
    def turned(a: Annotated[hl.Array, "xy"]) -> hl.Array:
        return F.canny(a, 100, 300)

    same(turned(image.T.copy()).T, F.canny(image, 100, 300))


def test_what_has_no_pixels_and_what_is_a_part() -> None:
    for shape in ((0, 5), (5, 0)):
        found = F.canny(np.zeros(shape, np.uint8), 1, 2)
        assert found.shape == shape and found.dtype == np.uint8
    image = photo((40, 61))
    same(F.canny(image[1:, 1::2], 99, 300), F.canny(image[1:, 1::2].copy(), 99, 300))


def test_what_is_refused() -> None:
    image = photo((6, 7))
    for aperture in (4, 9, 1, True, -1, 3.5):
        with pytest.raises(hl.BoundsError, match="aperture of canny is 3, 5 or 7, not"):
            F.canny(image, 1, 2, aperture)  # type: ignore[arg-type]
    with pytest.raises(hl.TypeMismatchError, match="low is a number, not a str"):
        F.canny(image, "low", 2)  # type: ignore[arg-type]
    with pytest.raises(hl.BoundsError, match="high is a finite number, not nan"):
        F.canny(image, 1, float("nan"))
    with pytest.raises(hl.TypeMismatchError, match="not of Bools"):
        F.canny(image > 3, 1, 2)
    for dtype in ("float32", "uint16", "int16"):
        with pytest.raises(hl.TypeMismatchError, match="an image of uint8, not of"):
            F.canny(photo((6, 7), dtype), 1, 2)
    with pytest.raises(hl.BoundsError, match="number of channels is 3, not 5"):
        F.canny(photo((6, 7, 5)), 1, 2)
