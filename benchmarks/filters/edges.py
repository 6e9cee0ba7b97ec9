"""Filters that smooth images but at their edges, and such that find these."""

from __future__ import annotations

from typing import Any

import cv2

import parhelion as hl
from benchmarks.filters.case import Case

F = hl.filters


def _levels(image: Any) -> float:
    """30 of 256 levels."""
    return 30 if image.dtype == "uint8" else 30 / 256


def _bilateral(d: int) -> Case:
    return Case(
        f"bilateral {d}",
        lambda a: F.bilateral(a, d, _levels(a), d / 3),
        lambda a: cv2.bilateralFilter(a, d, _levels(a), d / 3),
        1,
    )


EDGES = [_bilateral(d) for d in (5, 9, 15)]
#: Of uint8 alone.
EDGES_OF_BYTES = [
    Case(
        "nlmeans 5, 11",
        lambda a: F.nlmeans(a, 20, 5, 11),
        lambda a: cv2.fastNlMeansDenoising(a, None, 20, 5, 11),
    ),
    Case(
        "canny, 3",
        lambda a: F.canny(a, 100, 200),
        lambda a: cv2.Canny(a, 100, 200),
    ),
    Case(
        "canny, 5, l2",
        lambda a: F.canny(a, 800, 1600, 5, True),
        lambda a: cv2.Canny(a, 800, 1600, apertureSize=5, L2gradient=True),
    ),
]

__all__ = ["EDGES", "EDGES_OF_BYTES"]
