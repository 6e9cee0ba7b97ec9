"""Filters that move pixels: other sizes, warps, maps and right angles."""

from __future__ import annotations

from functools import cache
from typing import Any

import cv2
import numpy as np

import parhelion as hl
from benchmarks.filters.case import Case, Pixels

F = hl.filters
_CV = {
    "nearest": cv2.INTER_NEAREST,
    "linear": cv2.INTER_LINEAR,
    "cubic": cv2.INTER_CUBIC,
    "lanczos": cv2.INTER_LANCZOS4,
    "area": cv2.INTER_AREA,
}


def _resize(kind: str, factor: float) -> Case:
    """Of OpenCV, weights of bytes have 11 bits, so a level may be another one; places
    are of float32, some 1e-4 of a pixel apart at the end of a row of 2,000."""
    word = "enlarged" if factor > 1 else "reduced"

    def size(image: Pixels) -> tuple[int, int]:
        return round(image.shape[0] * factor), round(image.shape[1] * factor)

    return Case(
        f"resize {kind}, {word} {factor:g}",
        lambda a: F.resize(a, size(a), kind=kind),
        lambda a: cv2.resize(a, size(a)[::-1], interpolation=_CV[kind]),
        0 if kind == "nearest" else 1,
        1 if kind == "nearest" else 20,
    )


@cache
def _turned(rows: int, columns: int) -> Pixels:
    """The matrix of a rotation by 30 degrees around the middle."""
    middle = (columns - 1) / 2, (rows - 1) / 2
    found: Pixels = cv2.getRotationMatrix2D(middle, 30, 1)
    return found


def _affine(kind: str) -> Case:
    # Of a pixel at the edge of two, either may be taken; places have 5 bits in OpenCV.
    return Case(
        f"warp_affine {kind}",
        lambda a: F.warp_affine(a, _turned(*a.shape[:2]), kind=kind),
        lambda a: cv2.warpAffine(
            a, _turned(*a.shape[:2]), a.shape[1::-1], flags=_CV[kind]
        ),
        SAMPLED,
    )


@cache
def _maps(rows: int, columns: int) -> tuple[Pixels, Pixels]:
    """Places around those of the pixels, as of a lens."""
    ys, xs = np.mgrid[:rows, :columns].astype(np.float32)
    return xs + 3 * np.sin(ys / 40), ys + 3 * np.cos(xs / 40)


def _remap(kind: str) -> Case:
    def ours(image: Any) -> Any:
        return F.remap(image, *_maps(*image.shape[:2]), kind=kind)

    def theirs(image: Any) -> Any:
        return cv2.remap(image, *_maps(*image.shape[:2]), _CV[kind])

    return Case(f"remap {kind}", ours, theirs, SAMPLED)


#: Results of places that are rounded otherwise cannot be compared pixel by pixel: the
#: tests bound them, as docs/filters.md says.
SAMPLED = float("inf")

GEOMETRY = [
    *[_resize(kind, 0.5) for kind in _CV],
    *[_resize(kind, 0.37) for kind in ("linear", "area")],
    *[_resize(kind, 1.6) for kind in _CV if kind != "area"],
    _resize("area", 2),
    *[_affine(kind) for kind in ("nearest", "linear", "cubic")],
    *[_remap(kind) for kind in ("nearest", "linear")],
    Case(
        "rotate 30",
        lambda a: F.rotate(a, 30),
        lambda a: cv2.warpAffine(a, _turned(*a.shape[:2]), a.shape[1::-1]),
        SAMPLED,
    ),
    Case("turn 1", lambda a: F.turn(a, 1), lambda a: cv2.rotate(a, 0)),
    Case("turn 2", lambda a: F.turn(a, 2), lambda a: cv2.rotate(a, 1)),
]

__all__ = ["GEOMETRY"]
