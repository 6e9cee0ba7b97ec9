"""Erosion, dilation, what is made of them, and medians: equal bits to OpenCV's."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from parhelion.filters.morphology import made
from parhelion.ir.evaluate import evaluate
from parhelion.whole.networks import middle, sort
from tests.filters.support import SHAPES, photo, same

shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
ELEMENTS = {
    "rectangle": cv2.MORPH_RECT,
    "cross": cv2.MORPH_CROSS,
    "ellipse": cv2.MORPH_ELLIPSE,
}
OPERATIONS = {
    "erode": cv2.MORPH_ERODE,
    "dilate": cv2.MORPH_DILATE,
    "opening": cv2.MORPH_OPEN,
    "closing": cv2.MORPH_CLOSE,
    "morphological_gradient": cv2.MORPH_GRADIENT,
    "tophat": cv2.MORPH_TOPHAT,
    "blackhat": cv2.MORPH_BLACKHAT,
}


@pytest.mark.parametrize("shape", ELEMENTS)
def test_elements_are_opencvs(shape: str) -> None:
    for rows in range(1, 14):
        for columns in range(1, 14):
            wanted = cv2.getStructuringElement(ELEMENTS[shape], (columns, rows))
            assert np.array_equal(made(shape, rows, columns), wanted), (rows, columns)


@pytest.mark.parametrize("shape", [(17, 29), (5, 6, 3), (1, 9)], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(
    ("element", "size"),
    [("rectangle", (4, 7)), ("ellipse", (5, 6))],
    ids=str,
)
def test_operations_are_opencvs(
    shape: tuple[int, ...], name: str, dtype: str, element: str, size: tuple[int, int]
) -> None:
    image = photo(shape, dtype)
    covered = cv2.getStructuringElement(ELEMENTS[element], size[::-1])
    wanted = cv2.morphologyEx(image, OPERATIONS[name], covered)
    same(getattr(hl.filters, name)(image, size, element), wanted)


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 8), (9, 5), (16, 17), (31, 3)])
def test_rectangles(size: tuple[int, int]) -> None:
    image = photo((40, 33))
    covered = np.ones(size, np.uint8)
    same(hl.filters.erode(image, size), cv2.erode(image, covered))
    same(hl.filters.dilate(image, size), cv2.dilate(image, covered))


def test_an_element_of_the_users() -> None:
    image = photo((15, 16))
    element = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]], np.uint8)
    same(hl.filters.dilate(image, element=element), cv2.dilate(image, element))
    same(hl.filters.erode(image, element=element > 0), cv2.erode(image, element))


def test_other_types_saturate() -> None:
    image = photo((9, 11), "int16") - np.int16(20000)
    image[4, 5] = 32000
    covered = np.ones((4, 2), np.uint8)
    found = hl.filters.morphological_gradient(image, (4, 2))
    same(found, cv2.morphologyEx(image, cv2.MORPH_GRADIENT, covered))
    assert found.max() == 32767


def test_iterations_and_borders() -> None:
    image = photo((15, 16))
    wanted = cv2.erode(image, np.ones((3, 3), np.uint8), iterations=3)
    same(hl.filters.erode(image, 3, iterations=3), wanted)
    found = hl.filters.dilate(image, (3, 5), border="wrap")
    same(found, ndi.grey_dilation(image, (3, 5), mode="wrap"))
    found = hl.filters.erode(image, (3, 5), border="constant", value=7)
    same(found, ndi.grey_erosion(image, (3, 5), mode="constant", cval=7))


@shapes
@pytest.mark.parametrize("size", [3, 5])
def test_median_is_opencvs(shape: tuple[int, ...], size: int) -> None:
    image = photo(shape)
    same(hl.filters.median(image, size), cv2.medianBlur(image, size))


def test_median_of_49() -> None:
    for shape in ((13, 17), (1, 1)):
        image = photo(shape)
        same(hl.filters.median(image, 7), cv2.medianBlur(image, 7))


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize("size", [3, 5])
def test_median_of_other_types(dtype: str, size: int) -> None:
    image = photo((13, 14), dtype)
    wanted = ndi.median_filter(image, size, mode="reflect")
    same(hl.filters.median(image, size, "symmetric"), wanted)


def test_networks_sort() -> None:
    for n in range(1, 12):
        for seed in range(20):
            given: Any = np.random.default_rng(seed).integers(0, 9, n).tolist()
            nodes = [hl.i32(v)._node for v in given]
            assert [int(evaluate(v, {})) for v in sort(nodes)] == sorted(given)
            if n % 2:
                assert int(evaluate(middle(nodes), {})) == sorted(given)[n // 2]


@pytest.mark.parametrize("border", ["reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("shape", [(70, 37), (9, 7, 3)], ids=str)
def test_two_filters_with_a_border_that_is_read_from_afar(
    border: str, shape: tuple[int, ...]
) -> None:
    # The border of the second one is any row of what the first one computes.
    image = photo(shape)
    for twice, first, second in (
        (hl.filters.opening, hl.filters.erode, hl.filters.dilate),
        (hl.filters.closing, hl.filters.dilate, hl.filters.erode),
    ):
        wanted = second(first(image, 5, border=border), 5, border=border)
        same(twice(image, 5, border=border), wanted)
