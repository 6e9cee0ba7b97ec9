"""Distances to the nearest pixel of 0, beside SciPy's and OpenCV's."""

from __future__ import annotations

from functools import partial

import cv2
import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from tests.filters.support import Pixels, fused, photo, same

F = hl.filters
SHAPES = [(23, 37), (1, 9), (7, 1), (1, 1), (2, 90), (90, 3), (40, 53)]
METRICS = {"l2": cv2.DIST_L2, "l1": cv2.DIST_L1, "c": cv2.DIST_C}


def masks(shape: tuple[int, int]) -> list[Pixels]:
    """Images with many pixels of 0, with few, one in each corner, one column, and
    nothing else."""
    made = np.random.default_rng(0)
    found = [(made.random(shape) > part).astype(np.uint8) for part in (0.5, 0.03)]
    for y, x in ((0, 0), (0, -1), (-1, 0), (-1, -1), (shape[0] // 2, shape[1] // 3)):
        one = np.full(shape, 7, np.uint8)
        one[y, x] = 0
        found.append(one)
    column = np.ones(shape, np.uint8)
    column[:, shape[1] // 2] = 0
    return [a for a in [*found, column, np.zeros(shape, np.uint8)] if not a.all()]


def by_pairs(image: Pixels, metric: str) -> Pixels:
    """The distances of the definition: the least of all pairs."""
    zeros = np.argwhere(image == 0)
    places: Pixels = np.indices(image.shape)
    dy = np.abs(places[0][..., None] - zeros[:, 0])
    dx = np.abs(places[1][..., None] - zeros[:, 1])
    if metric == "l2":
        found = np.sqrt((dy * dy + dx * dx).min(-1))
    else:
        found = (dy + dx if metric == "l1" else np.maximum(dy, dx)).min(-1)
    wanted: Pixels = found.astype(np.float32)
    return wanted


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_straight_lines_are_scipys(shape: tuple[int, int]) -> None:
    for image in masks(shape):
        wanted = ndi.distance_transform_edt(image).astype(np.float32)
        same(F.distance_transform(image), wanted)


@pytest.mark.parametrize("metric", METRICS)
def test_are_the_least_of_pairs_and_opencvs(metric: str) -> None:
    for shape in SHAPES:
        for image in masks(shape):
            found = F.distance_transform(image, metric)
            same(found, by_pairs(image, metric))
            theirs = cv2.distanceTransform(
                image, METRICS[metric], cv2.DIST_MASK_PRECISE
            )
            np.testing.assert_allclose(found, theirs, rtol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_without_a_zero_distances_are_infinite(metric: str) -> None:
    for shape in SHAPES:
        found = F.distance_transform(np.ones(shape, np.uint8), metric)
        same(found, np.full(shape, np.inf, np.float32))


def test_a_large_image() -> None:
    image = np.ones((700, 1300), np.uint8)
    image[[3, 650, 699], [1299, 2, 700]] = 0
    wanted = ndi.distance_transform_edt(image).astype(np.float32)
    same(F.distance_transform(image), wanted)


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint16", "float64"])
def test_other_types_and_channels(dtype: str) -> None:
    for shape in ((12, 17, 3), (9, 8, 5)):
        image = photo(shape, dtype)
        image[np.random.default_rng(1).random(shape) < 0.1] = 0
        found = F.distance_transform(image)
        for c in range(shape[2]):
            wanted = ndi.distance_transform_edt(image[..., c]).astype(np.float32)
            same(found[..., c], wanted)


def test_a_part_of_a_program() -> None:
    grey = (photo((9, 11)) > 20).astype(np.uint8)
    colour = (photo((9, 11, 3)) > 20).astype(np.uint8)
    for metric in METRICS:
        for image in (grey, colour):
            fused(partial(F.distance_transform, metric=metric), image)


def test_what_is_refused() -> None:
    with pytest.raises(hl.TypeMismatchError, match="metric is one of some words"):
        F.distance_transform(photo((5, 6)), "l3")
    with pytest.raises(hl.TypeMismatchError, match="distance_transform takes an image"):
        F.distance_transform(photo((5, 6)) > 3)
    with pytest.raises(hl.BoundsError, match="at most 32767 rows and columns"):
        F.distance_transform(np.ones((1, 32768), np.uint8))


@pytest.mark.parametrize("shape", [(1, 32768), (32768, 1)])
def test_a_size_that_only_a_run_knows(shape: tuple[int, int]) -> None:
    distances = hl.jit(lambda image: F.distance_transform(image))
    assert np.isinf(distances(np.ones((1, 3), np.uint8))).all()
    with pytest.raises(hl.PipelineRuntimeError, match="at most 32767 rows and columns"):
        distances(np.ones(shape, np.uint8))
