"""Thresholds: equal bits to OpenCV's."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import SHAPES, photo, same

KINDS = {
    "binary": cv2.THRESH_BINARY,
    "binary_inv": cv2.THRESH_BINARY_INV,
    "trunc": cv2.THRESH_TRUNC,
    "tozero": cv2.THRESH_TOZERO,
    "tozero_inv": cv2.THRESH_TOZERO_INV,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_of_bytes(kind: str, shape: tuple[int, ...]) -> None:
    image = photo(shape)
    for level, most in ((100, 255), (99.7, 77.5), (-1, 300)):
        _, wanted = cv2.threshold(image, level, most, KINDS[kind])
        same(hl.filters.threshold(image, level, most, kind), wanted)
    for level in (0, 254, 255, 256):
        _, wanted = cv2.threshold(image, level, 9, KINDS[kind])
        same(hl.filters.threshold(image, level, 9, kind), wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_of_other_types(kind: str, dtype: str) -> None:
    image = photo((13, 17, 3), dtype)
    level = 0.37 if dtype == "float32" else 1234
    _, wanted = cv2.threshold(image, level, 2, KINDS[kind])
    same(hl.filters.threshold(image, level, 2, kind), wanted)
    whole = photo((5, 6), "int32")
    found = hl.filters.threshold(whole, -3.5, 8, "binary")
    same(found, np.where(whole > -3.5, 8, 0).astype(np.int32))


def test_what_is_refused() -> None:
    image = photo((3, 4))
    with pytest.raises(hl.TypeMismatchError, match="kind is one of some words, not 'o"):
        hl.filters.threshold(image, 3, kind="otsu")
    with pytest.raises(hl.BoundsError, match="level is a finite number, not inf"):
        hl.filters.threshold(image, float("inf"))
