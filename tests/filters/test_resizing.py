"""Images in other sizes, beside OpenCV's."""

from __future__ import annotations

from typing import Annotated, Any

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import photo, same, within

resize = hl.filters.resize
KINDS = {
    "nearest": cv2.INTER_NEAREST,
    "linear": cv2.INTER_LINEAR,
    "cubic": cv2.INTER_CUBIC,
    "lanczos": cv2.INTER_LANCZOS4,
    "area": cv2.INTER_AREA,
}
#: How far floats in [0, 1) are apart at most: OpenCV computes weights as float32.
FLOATS = {"nearest": 0, "linear": 1e-6, "cubic": 2e-6, "lanczos": 1e-5, "area": 1e-6}


@pytest.mark.parametrize("kind", KINDS)
def test_of_opencv(kind: str) -> None:
    for shape, to in (((23, 37, 3), (11, 16)), ((7, 9), (16, 20)), ((1, 1), (2, 3))):
        image = photo(shape)
        wanted = cv2.resize(image, to[::-1], interpolation=KINDS[kind])
        within(resize(image, to, kind=kind), wanted, kind != "nearest")
    image = photo((23, 37), "float32")
    wanted = cv2.resize(image, (50, 14), interpolation=KINDS[kind])
    if kind == "area":  # OpenCV's is this one where both axes get smaller
        wanted = cv2.resize(image, (30, 14), interpolation=KINDS[kind])
    found = resize(image, (14, wanted.shape[1]), kind=kind)
    within(found, wanted, FLOATS[kind])


def test_nearest_by_a_whole_number() -> None:
    # 237 and 49 are numbers whose reciprocals are rounded down: of the product with
    # one, the whole part may be one too few.
    for rows, taken in ((237, 2), (49, 1), (49, 4), (49, 7)):
        image = photo((rows * taken, 3))
        same(resize(image, (rows, 3), kind="nearest"), image[::taken])
    for height in range(1, 200, 7):
        image = photo((height, 5))
        for rows in (7, 49, 98, 103):
            wanted = cv2.resize(image, (3, rows), interpolation=cv2.INTER_NEAREST)
            same(resize(image, (rows, 3), kind="nearest"), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_elements_are_as_planes(kind: str) -> None:
    """Code for pixels alone reads rows element by element, of whole programs it reads
    planes: they compute the same."""

    @hl.jit(static=["size", "scale"])
    def of_planes(
        a: Annotated[hl.Array, "yxc"], size: Any = None, scale: Any = None
    ) -> hl.Array:
        return resize(a, size, scale, kind=kind)

    for shape in ((5, 6, 1), (9, 14, 3), (6, 5, 4), (1, 1, 2)):
        image = photo(shape)
        for size in ((1, 1), (23, 40), (4, 3)):
            same(resize(image, size, kind=kind), of_planes(image, size=size))
        # One row is left at least: its middle is beyond the image.
        for scale in (0.1, 2.5):
            same(resize(image, scale=scale, kind=kind), of_planes(image, scale=scale))


def test_by_a_scale() -> None:
    image = photo((21, 34, 3), "float32")
    for scale in (0.37, 0.5, (1.5, 2)):
        fy, fx = scale if isinstance(scale, tuple) else (scale, scale)
        wanted = cv2.resize(image, None, fx=fx, fy=fy)
        within(resize(image, scale=scale), wanted, 1e-6)
    assert resize(image[:1], scale=0.1).shape == (1, 3, 3)


@pytest.mark.parametrize("dtype", ["uint16", "float16", "float64"])
def test_of_other_types(dtype: str) -> None:
    image = photo((9, 12), dtype)[::2, ::-1]
    wide = cv2.resize(image.astype(np.float64), (7, 8))
    wanted = np.rint(wide) if dtype == "uint16" else wide
    within(
        resize(image, (8, 7)), wanted.astype(dtype), 1 if dtype == "uint16" else 5e-4
    )


def test_in_functions() -> None:
    @hl.jit
    def thumb(a: Annotated[hl.Array, "cyx"]) -> hl.Array:
        return resize(hl.filters.box(a, 3), (5, 6)) + 1

    image = photo((13, 14, 3))
    wanted = resize(hl.filters.box(image, 3), (5, 6)) + 1
    turned = np.ascontiguousarray(image.transpose(2, 0, 1))
    same(thumb(turned).transpose(1, 2, 0), wanted)


def test_what_is_refused() -> None:
    image = photo((3, 4))
    for given, said in (
        ({}, "either the size of the result or the scale, and not neither"),
        ({"size": 3, "scale": 2}, "and not both"),
        ({"size": 0}, "size is at least 1, not 0"),
        ({"scale": -0.5}, "scale is above 0, not -0.5"),
        ({"size": 3, "kind": "sharp"}, "kind is one of some words, not 'sharp'"),
    ):
        with pytest.raises(hl.HalideError, match=said):
            resize(image, **given)
    with pytest.raises(hl.BoundsError, match="has no elements"):
        resize(image[:0], 3)


HALVED = ("uint8", "int8", "uint16", "int16", "int32", "float16", "float32", "float64")


@pytest.mark.parametrize("dtype", HALVED)
def test_halves(dtype: str) -> None:
    """Code for exactly half the rows and columns computes what other code does."""

    @hl.jit(static=["size", "kind"])
    def of_planes(
        a: Annotated[hl.Array, "yxc"], size: tuple[int, int], kind: str
    ) -> hl.Array:
        return resize(a, size, kind=kind)

    for shape in ((2, 2, 1), (2, 2, 3), (4, 6, 4), (36, 70, 3), (64, 162, 1)):
        image = photo(shape, dtype)
        size = shape[0] // 2, shape[1] // 2
        for kind in ("linear", "area"):
            same(resize(image, size, kind=kind), of_planes(image, size, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_one_program_for_all_sizes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is compiled for a kind, a type and a number of channels, and no other."""
    resize(photo((30, 40, 3)), (50, 61), kind=kind)

    def compiled(*given: Any) -> Any:
        raise AssertionError("another size is compiled for")

    monkeypatch.setattr(hl.Pipeline, "compile_to_callable", compiled)
    for size in ((41, 47), (64, 128), (33, 90)):
        image = photo((size[0] - 9, size[1] - 5, 3))
        wanted = cv2.resize(image, size[::-1], interpolation=KINDS[kind])
        within(resize(image, size, kind=kind), wanted, kind != "nearest")
    with pytest.raises(AssertionError, match="another size is compiled for"):
        resize(photo((30, 40, 5)), (50, 61), kind=kind)
