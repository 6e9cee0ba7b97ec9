"""Conversions of colours."""

from __future__ import annotations

import cv2

import parhelion as hl
from benchmarks.filters.case import Case

F = hl.filters
_CODES = {
    "bgr2rgb": cv2.COLOR_BGR2RGB,
    "bgr2gray": cv2.COLOR_BGR2GRAY,
    "bgr2ycrcb": cv2.COLOR_BGR2YCrCb,
    "bgr2hsv": cv2.COLOR_BGR2HSV,
    "hsv2bgr": cv2.COLOR_HSV2BGR,
    "bgr2lab": cv2.COLOR_BGR2Lab,
}


def _conversion(code: str, number: int) -> Case:
    # Of floats, HSV are angles and Lab is interpolated in a table: the tests bound
    # them, as docs/filters.md says.
    near = float("inf") if "hsv" in code or "lab" in code else 0
    return Case(
        code,
        lambda a: F.convert_color(a, code),
        lambda a: cv2.cvtColor(a, number),
        near,
        colour=True,
    )


COLOURS = [_conversion(*item) for item in _CODES.items()]

__all__ = ["COLOURS"]
