"""Pyramids, statistics of windows and images, and what is decided by them."""

from __future__ import annotations

import cv2

import parhelion as hl
from benchmarks.filters.case import Case, Pixels

F = hl.filters


def _variance(image: Pixels, size: int) -> Pixels:
    """The variance of windows by OpenCV's means of pixels and squares."""
    means = cv2.boxFilter(image, cv2.CV_32F, (size, size))
    found: Pixels = cv2.sqrBoxFilter(image, cv2.CV_32F, (size, size)) - means * means
    return found


_METHODS = {
    "ccoeff_normed": cv2.TM_CCOEFF_NORMED,
    "sqdiff": cv2.TM_SQDIFF,
    "ccorr": cv2.TM_CCORR,
}


def _template(method: str, code: int) -> Case:
    # OpenCV's sums are of float32, and by Fourier's transform.
    near = 0.001 if method.endswith("_normed") else 256 * 255**2 * 1e-5
    return Case(
        f"match_template 16, {method}",
        lambda a: F.match_template(a, a[:16, :16].copy(), method),
        lambda a: cv2.matchTemplate(a, a[:16, :16], code),
        near,
        grey=True,
    )


STATISTICS = [
    Case("pyr_down", lambda a: F.pyr_down(a), lambda a: cv2.pyrDown(a)),
    Case("pyr_up", lambda a: F.pyr_up(a), lambda a: cv2.pyrUp(a)),
    Case(
        "harris",
        lambda a: F.harris(a, 2, 3, 0.04),
        lambda a: cv2.cornerHarris(a, 2, 3, 0.04),
        1,
        grey=True,
    ),
    Case("variance 9", lambda a: F.variance(a, 9), lambda a: _variance(a, 9), 1),
]
#: Of uint8 alone.
STATISTICS_OF_BYTES = [
    *[_template(method, code) for method, code in _METHODS.items()],
    Case(
        "distance_transform l2",
        lambda a: F.distance_transform(a),
        lambda a: cv2.distanceTransform(a, cv2.DIST_L2, cv2.DIST_MASK_PRECISE),
        0.001,
        grey=True,
        limit=2,
    ),
    Case(
        "distance_transform l1",
        lambda a: F.distance_transform(a, "l1"),
        lambda a: cv2.distanceTransform(a, cv2.DIST_L1, 3),
        grey=True,
        limit=2,
    ),
    Case("integral", lambda a: F.integral(a), lambda a: cv2.integral(a)),
    Case(
        "threshold, otsu",
        lambda a: F.threshold(a, "otsu"),
        lambda a: cv2.threshold(a, 0, 255, cv2.THRESH_OTSU)[1],
        grey=True,
    ),
    Case(
        "clahe",
        lambda a: F.clahe(a),
        lambda a: cv2.createCLAHE(40, (8, 8)).apply(a),
        1,
        grey=True,
    ),
    Case(
        "histogram",
        lambda a: F.histogram(a),
        lambda a: cv2.calcHist([a], [0], None, [256], [0, 256]).ravel(),
        grey=True,
    ),
    Case(
        "equalize_hist",
        lambda a: F.equalize_hist(a),
        lambda a: cv2.equalizeHist(a),
        grey=True,
    ),
    Case(
        "adaptive_threshold 11, mean",
        lambda a: F.adaptive_threshold(a, 11, 2),
        lambda a: cv2.adaptiveThreshold(
            a, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 11, 2
        ),
        grey=True,
    ),
    Case(
        "adaptive_threshold 51, mean",
        lambda a: F.adaptive_threshold(a, 51, 2),
        lambda a: cv2.adaptiveThreshold(
            a, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 51, 2
        ),
        grey=True,
    ),
    Case(
        "adaptive_threshold 11, gaussian",
        lambda a: F.adaptive_threshold(a, 11, 2, method="gaussian"),
        lambda a: cv2.adaptiveThreshold(
            a, 255, cv2.ADAPTIVE_THRESH_GAUSSIAN_C, cv2.THRESH_BINARY, 11, 2
        ),
        255,
        grey=True,
    ),
]

__all__ = ["STATISTICS", "STATISTICS_OF_BYTES"]
