"""Correlation, convolution and derivatives, beside OpenCV and SciPy."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from tests.filters.support import SHAPES, TYPES, photo, rounding, same, within

shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
types = pytest.mark.parametrize("dtype", TYPES)
KERNEL = np.random.default_rng(1).random((3, 5)) / 8 - 0.03
WHOLE = np.array([[1, -2, 0, 3], [0, 5, -1, 1], [2, 0, 0, -7]])


@shapes
@types
def test_correlate_is_opencvs(shape: tuple[int, ...], dtype: str) -> None:
    image = photo(shape, dtype)
    wanted = cv2.filter2D(image, -1, KERNEL.astype(np.float32))
    limit = 1 if dtype == "uint8" else rounding(image, KERNEL)
    within(hl.filters.correlate(image, KERNEL), wanted, limit)


@shapes
@pytest.mark.parametrize("name", ["correlate", "convolve"])
@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_sums_of_integers_are_exact(
    shape: tuple[int, ...], name: str, dtype: str
) -> None:
    image = photo(shape, dtype)
    table = WHOLE.reshape(3, 4, *[1] * (len(shape) - 2))
    wanted = getattr(ndi, name)(image.astype(np.int64), table, mode="mirror")
    found = getattr(hl.filters, name)(image, WHOLE, dtype="int32")
    same(found, wanted.astype(np.int32))
    own = np.iinfo(dtype)
    saturated = np.clip(wanted, own.min, own.max).astype(dtype)
    same(getattr(hl.filters, name)(image, WHOLE.tolist()), saturated)


def test_a_large_kernel() -> None:
    image = photo((31, 33, 3), "float64")
    table = np.random.default_rng(3).random((13, 12)) / 80
    wanted = ndi.convolve(image, table[..., None], mode="nearest")
    found = hl.filters.convolve(image, table, border="edge")
    within(found, wanted, rounding(image, table))
    low = photo((31, 33))
    exact = ndi.correlate(low.astype(int), np.ones((13, 12), int), mode="nearest")
    found = hl.filters.correlate(low, np.ones((13, 12)), "edge", dtype="int32")
    same(found, exact.astype("int32"))


def test_a_kernel_of_zeros() -> None:
    same(hl.filters.correlate(photo((4, 5)), [[0, 0]]), np.zeros((4, 5), np.uint8))


@shapes
@types
def test_separable_is_opencvs(shape: tuple[int, ...], dtype: str) -> None:
    image = photo(shape, dtype)
    down, across = np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.2, 0.4, 0.1, 0.1])
    wanted = cv2.sepFilter2D(image, -1, across, down)
    limit = 1 if dtype == "uint8" else rounding(image, np.outer(down, across))
    within(hl.filters.separable(image, down, across), wanted, limit)


def kernels(dx: int, dy: int, size: int) -> Any:
    across, down = cv2.getDerivKernels(dx, dy, size)
    return np.outer(down, across)


@pytest.mark.parametrize("shape", [(17, 29, 3), (1, 9), (1, 1)], ids=str)
@types
@pytest.mark.parametrize("size", [3, 5, 7])
@pytest.mark.parametrize(("dx", "dy"), [(1, 0), (1, 2)])
def test_sobel_is_opencvs(
    shape: tuple[int, ...], dtype: str, size: int, dx: int, dy: int
) -> None:
    image = photo(shape, dtype)
    found = hl.filters.sobel(image, dx, dy, size, dtype="float32")
    wanted = cv2.Sobel(image, cv2.CV_32F, dx, dy, ksize=size)
    limit = 0 if dtype == "uint8" else rounding(image, kernels(dx, dy, size))
    within(found, wanted, limit)


@shapes
def test_sobel_of_bytes_is_signed(shape: tuple[int, ...]) -> None:
    image = photo(shape)
    same(hl.filters.sobel(image, 1, 0), cv2.Sobel(image, cv2.CV_16S, 1, 0))
    assert hl.filters.sobel(image, 1, 0, 7).dtype == np.int32
    own = hl.filters.sobel(image, 0, 1, dtype="uint8")
    same(own, cv2.Sobel(image, -1, 0, 1))


@shapes
@types
def test_scharr_is_opencvs(shape: tuple[int, ...], dtype: str) -> None:
    image = photo(shape, dtype)
    for dx, dy in ((1, 0), (0, 1)):
        wanted = cv2.Scharr(image, cv2.CV_32F, dx, dy)
        limit = 0 if dtype == "uint8" else rounding(image, np.full(9, 32 / 9))
        found = hl.filters.scharr(image, dx, dy, dtype="float32")
        within(found, wanted, limit)


@pytest.mark.parametrize("shape", [(17, 29, 3), (7, 1), (1, 1)], ids=str)
@types
@pytest.mark.parametrize("size", [1, 3, 7])
def test_laplacian_is_opencvs(shape: tuple[int, ...], dtype: str, size: int) -> None:
    image = photo(shape, dtype)
    wanted = cv2.Laplacian(image, cv2.CV_32F, ksize=size)
    if size > 3:
        table = np.abs(kernels(2, 0, size)) + np.abs(kernels(0, 2, size))
    else:
        table = np.full(9, 16 / 9)
    limit = 0 if dtype == "uint8" else 2 * rounding(image, table)
    within(hl.filters.laplacian(image, size, dtype="float32"), wanted, limit)
