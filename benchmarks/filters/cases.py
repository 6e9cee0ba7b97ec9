"""What is timed: a filter of ours, OpenCV's of the same photograph, and chains."""

from __future__ import annotations

import cv2
import numpy as np

import parhelion as hl
from benchmarks.filters.case import Case, Pixels
from benchmarks.filters.colours import COLOURS
from benchmarks.filters.edges import EDGES, EDGES_OF_BYTES
from benchmarks.filters.geometry import GEOMETRY
from benchmarks.filters.statistics import STATISTICS, STATISTICS_OF_BYTES


def _element(size: int, shape: int = cv2.MORPH_RECT) -> Pixels:
    found: Pixels = cv2.getStructuringElement(shape, (size, size))
    return found


KERNEL = np.array([[1, 2, 1], [0, 3, 0], [-1, -2, -1]], np.float32) / 5


@hl.jit
def _edges(image: hl.Array) -> hl.Array:
    calm = hl.filters.gaussian(image, 1.5)
    across, down = hl.filters.sobel(calm, 1, 0), hl.filters.sobel(calm, 0, 1)
    return hl.clip(abs(across) + abs(down), 0, 255).astype("uint8")


def _cv_edges(image: Pixels) -> Pixels:
    calm = cv2.GaussianBlur(image, (0, 0), 1.5)
    across = cv2.Sobel(calm, cv2.CV_16S, 1, 0)
    down = cv2.Sobel(calm, cv2.CV_16S, 0, 1)
    total = cv2.add(np.abs(across), np.abs(down))
    found: Pixels = np.clip(total, 0, 255).astype(np.uint8)
    return found


@hl.jit
def _toned(image: hl.Array) -> hl.Array:
    calm = hl.filters.median(image, 3) / 255
    curve = calm * calm * (3 - 2 * calm)
    return (curve * 255).round().astype("uint8")


_CURVE = np.rint([255 * (v / 255) ** 2 * (3 - 2 * v / 255) for v in range(256)]).astype(
    np.uint8
)


def _cv_toned(image: Pixels) -> Pixels:
    found: Pixels = cv2.LUT(cv2.medianBlur(image, 3), _CURVE)
    return found


F = hl.filters
CASES = [
    Case(
        "gaussian 1",
        lambda a: F.gaussian(a, 1),
        lambda a: cv2.GaussianBlur(a, (0, 0), 1),
    ),
    Case(
        "gaussian 3",
        lambda a: F.gaussian(a, 3),
        lambda a: cv2.GaussianBlur(a, (0, 0), 3),
    ),
    Case("box 3", lambda a: F.box(a, 3), lambda a: cv2.blur(a, (3, 3))),
    Case("box 15", lambda a: F.box(a, 15), lambda a: cv2.blur(a, (15, 15))),
    Case(
        "correlate 3x3",
        lambda a: F.correlate(a, KERNEL),
        lambda a: cv2.filter2D(a, -1, KERNEL),
        1,
    ),
    Case(
        "sobel",
        lambda a: F.sobel(a, 1, 0),
        lambda a: cv2.Sobel(a, cv2.CV_16S if a.dtype == np.uint8 else -1, 1, 0),
    ),
    Case(
        "scharr",
        lambda a: F.scharr(a, 1, 0),
        lambda a: cv2.Scharr(a, cv2.CV_16S if a.dtype == np.uint8 else -1, 1, 0),
    ),
    Case(
        "laplacian",
        lambda a: F.laplacian(a),
        lambda a: cv2.Laplacian(a, cv2.CV_16S if a.dtype == np.uint8 else -1),
    ),
    Case("erode 3", lambda a: F.erode(a, 3), lambda a: cv2.erode(a, _element(3))),
    Case("dilate 15", lambda a: F.dilate(a, 15), lambda a: cv2.dilate(a, _element(15))),
    Case(
        "opening 7, ellipse",
        lambda a: F.opening(a, 7, "ellipse"),
        lambda a: cv2.morphologyEx(a, cv2.MORPH_OPEN, _element(7, cv2.MORPH_ELLIPSE)),
    ),
    Case("median 3", lambda a: F.median(a, 3), lambda a: cv2.medianBlur(a, 3)),
    Case("median 5", lambda a: F.median(a, 5), lambda a: cv2.medianBlur(a, 5)),
    *STATISTICS,
    *EDGES,
    *GEOMETRY,
    *COLOURS,
]
#: Of uint8 alone.
BYTES = [
    *STATISTICS_OF_BYTES,
    *EDGES_OF_BYTES,
    Case("median 7", lambda a: F.median(a, 7), lambda a: cv2.medianBlur(a, 7)),
    Case("median 9", lambda a: F.median(a, 9), lambda a: cv2.medianBlur(a, 9)),
    Case("median 31", lambda a: F.median(a, 31), lambda a: cv2.medianBlur(a, 31)),
    Case("median 127", lambda a: F.median(a, 127), lambda a: cv2.medianBlur(a, 127)),
    Case(
        "demosaic, bilinear",
        lambda a: F.demosaic(a, "rggb"),
        lambda a: cv2.cvtColor(a, cv2.COLOR_BayerRGGB2RGB),
        grey=True,
    ),
    Case(
        "demosaic, edge_aware",
        lambda a: F.demosaic(a, "rggb", "edge_aware"),
        lambda a: cv2.cvtColor(a, cv2.COLOR_BayerRGGB2RGB_EA),
        grey=True,
    ),
    Case("edge map", _edges, _cv_edges, chain=True),
    Case("tone curve of a median", _toned, _cv_toned, 1, chain=True),
]

__all__ = ["BYTES", "CASES"]
