"""Warps, maps and rotations, beside OpenCV's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from tests.filters.support import Pixels, photo, same, within

F = hl.filters
AFFINE = np.array([[0.9, 0.2, 3.3], [-0.15, 1.1, 2.2]])
TILTED = np.vstack([AFFINE, [1e-3, -2e-3, 1]])
KINDS = {"linear": cv2.INTER_LINEAR, "cubic": cv2.INTER_CUBIC}
BORDERS = {
    "edge": cv2.BORDER_REPLICATE,
    "reflect": cv2.BORDER_REFLECT_101,
    "symmetric": cv2.BORDER_REFLECT,
    "wrap": cv2.BORDER_WRAP,
}


@pytest.mark.parametrize("kind", KINDS)
def test_affine_is_opencvs(kind: str) -> None:
    image = photo((23, 37, 3))
    wanted = cv2.warpAffine(image, AFFINE, (41, 19), flags=KINDS[kind])
    within(F.warp_affine(image, AFFINE, (19, 41), kind), wanted, 1)
    single = photo((23, 37), "float32")
    back = KINDS[kind] | cv2.WARP_INVERSE_MAP
    wanted = cv2.warpAffine(single, AFFINE, (37, 23), flags=back)
    # The place of a pixel, 40 from the first, is rounded to some 1e-5 of a pixel.
    within(F.warp_affine(single, AFFINE, kind=kind, inverse=True), wanted, 1e-4)


def test_perspective_is_opencvs() -> None:
    image = photo((23, 37))
    wanted = cv2.warpPerspective(image, TILTED, (37, 23), borderValue=77)
    within(F.warp_perspective(image, TILTED, value=77), wanted, 1)


def places(shape: tuple[int, int]) -> tuple[Pixels, Pixels]:
    """Places in an image of 23 by 37 pixels and around it."""
    made = np.random.default_rng(4).random((2, *shape)) * 1.6 - 0.3
    return (made[0] * 37).astype(np.float32), (made[1] * 23).astype(np.float32)


@pytest.mark.parametrize("border", BORDERS)
def test_remap_is_opencvs(border: str) -> None:
    image = photo((23, 37), "float32")
    xs, ys = places((13, 18))
    wanted = cv2.remap(image, xs, ys, cv2.INTER_LINEAR, borderMode=BORDERS[border])
    within(F.remap(image, xs, ys, border=border), wanted, 1e-5)


def test_remap_of_nearest_pixels() -> None:
    xs, ys = places((13, 18))
    image = photo((23, 37, 3))
    wanted = cv2.remap(image, xs, ys, cv2.INTER_NEAREST, borderValue=(9, 9, 9))
    same(F.remap(image, xs, ys, "nearest", value=9), wanted)


@pytest.mark.parametrize("dtype", ["uint16", "float64"])
def test_other_types(dtype: str) -> None:
    image = photo((23, 37), dtype)[::-1]
    xs, ys = [a.astype(np.float64) for a in places((6, 7))]
    wanted = ndi.map_coordinates(
        image.astype(np.float64), [ys, xs], order=1, mode="nearest"
    )
    found = F.remap(image, xs, ys, border="edge")
    if dtype == "uint16":
        within(found, np.rint(wanted).astype(dtype), 1)
    else:
        within(found, wanted, 1e-12)


def test_rotate_is_opencvs() -> None:
    image = photo((23, 37))
    for given in ((30, 1, None), (-100, 1.5, (5, 8.5))):
        degrees, scale, center = given
        middle = (18, 11) if center is None else center[::-1]
        matrix = cv2.getRotationMatrix2D(middle, degrees, scale)
        wanted = cv2.warpAffine(image, matrix, (37, 23))
        within(F.rotate(image, degrees, scale, center), wanted, 1)


def test_turn_is_numpys() -> None:
    image = photo((5, 7, 3))
    for quarters in (0, 1, 2, 3, -1):
        same(F.turn(image, quarters), np.rot90(image, -quarters))
    # Squares of 16 pixels, some of which lie on others, and images without one.
    shapes = [(16, 16), (40, 33), (15, 50), (50, 15), (21, 34, 3), (17, 18, 5)]
    for shape in [*shapes, (1, 1), (1, 9), (9, 1, 3)]:
        for dtype in ("uint8", "uint16", "float32", "float64"):
            image = photo(shape, dtype)
            for quarters in (1, 2, 3):
                same(F.turn(image, quarters), np.rot90(image, -quarters))


def test_one_pixel() -> None:
    one = np.array([[200]], np.uint8)
    for border in BORDERS:
        same(F.rotate(one, 45, border=border), one)


def test_a_matrix_of_the_call() -> None:
    @hl.jit
    def moved(image: hl.Array, matrix: hl.Array) -> hl.Array:
        return F.warp_affine(hl.filters.box(image, 3), matrix) + 1

    image = photo((9, 11))
    for x in (1.0, 2.5):
        matrix = np.array([[1, 0.1, x], [0, 1, 0]])
        wanted = F.warp_affine(F.box(image, 3), matrix) + 1
        same(moved(image, matrix), wanted)
    with pytest.raises(hl.BoundsError, match="rows, and their number is 2, not 3"):
        moved(image, np.eye(3))


def test_what_is_refused() -> None:
    image: Any = photo((5, 6))
    xs = np.zeros((2, 2), np.float32)
    with pytest.raises(hl.TypeMismatchError, match=r"matrix has the shape \(2, 3\)"):
        F.warp_affine(image, np.eye(3))
    with pytest.raises(hl.TypeMismatchError, match="xs are places in an image"):
        F.remap(image, xs.astype(int), xs)
    with pytest.raises(hl.BoundsError, match="do not fit together"):
        F.remap(image, xs, np.zeros((3, 2), np.float32))
    with pytest.raises(hl.BoundsError, match="has no elements"):
        F.rotate(image[:0], 3)
    with pytest.raises(hl.BoundsError, match="scale is above 0, not 0"):
        F.rotate(image, 3, 0)
    with pytest.raises(hl.TypeMismatchError, match="quarters is an integer, not 0.5"):
        F.turn(image, 0.5)  # type: ignore[arg-type]
    with pytest.raises(hl.TypeMismatchError, match="kind is one of some words"):
        F.remap(image, xs, xs, "lanczos")
    with pytest.raises(hl.TypeMismatchError, match="is given an Array beside an image"):
        hl.jit(lambda m: F.warp_affine(image, m))(AFFINE)


@pytest.mark.parametrize("channels", [1, 2, 4, 5])
def test_each_channel_comes_from_the_same_place(channels: int) -> None:
    image = photo((19, 23, channels))
    matrix = [[0.9, 0.2, 1.5], [-0.1, 1.1, -2]]
    wide = [[0.9, 0.2, 1.5], [-0.1, 1.1, -2], [0.001, 0.002, 1]]
    xs, ys = np.random.default_rng(0).random((2, 15, 70)).astype(np.float32) * 25 - 2
    calls: list[Callable[[Any], Any]] = [
        lambda a: F.warp_affine(a, matrix, (21, 70)),
        lambda a: F.warp_perspective(a, wide, kind="cubic"),
        lambda a: F.rotate(a, 30, border="reflect"),
        lambda a: F.remap(a, xs, ys),
    ]
    for call in calls:
        planes = [call(np.ascontiguousarray(image[..., c])) for c in range(channels)]
        same(call(image), np.stack(planes, axis=-1))
