"""Filters that smooth images but at their edges."""

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

__all__ = ["EDGES"]
