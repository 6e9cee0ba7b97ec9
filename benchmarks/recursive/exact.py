"""Exact results, in double precision, a block of lines at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.recursive.case import Array

#: Lines that are filtered at a time.
_BLOCK = 256


@dataclass(frozen=True)
class Scan:
    """One filter: y[i] = c[0] x[i] + c[1] y[i-1] + … along an axis of dimensions.

    dim: 0 for the innermost, x. causal: from the first point on, or from the last one
    back.
    """

    dim: int
    causal: bool
    coefficients: tuple[float, ...]

    def lfilter(self, image: Array, dtype: str) -> Array:
        """The filter by SciPy, in a type of floats."""
        from scipy.signal import lfilter

        b = np.array(self.coefficients[:1], dtype)
        a = np.array([1, *[-c for c in self.coefficients[1:]]], dtype)
        axis = image.ndim - 1 - self.dim
        if self.causal:
            return np.asarray(lfilter(b, a, image, axis))
        return np.flip(np.asarray(lfilter(b, a, np.flip(image, axis), axis)), axis)


def filtered(image: Array, scans: Sequence[Scan]) -> Array:
    """All scans one after the other in float64, rounded to float32 between
    dimensions and at the end."""
    result = image
    start = 0
    while start < len(scans):
        dim = scans[start].dim
        end = start
        while end < len(scans) and scans[end].dim == dim:
            end += 1
        result = _along(result, scans[start:end])
        start = end
    return result


def _along(image: Array, scans: Sequence[Scan]) -> Array:
    """Scans of one dimension."""

    def scanned(lines: Array) -> Array:
        for scan in scans:
            lines = scan.lfilter(lines, "float64")
        return lines

    return by_blocks(image, image.ndim - 1 - scans[0].dim, scanned)


def by_blocks(image: Array, axis: int, f: Callable[[Array], Array]) -> Array:
    """What a function makes of lines along an axis: it gets some at a time, in float64,
    so that large images need no more memory than their results in float32."""
    if image.ndim == 1:
        return f(image.astype(np.float64)).astype(np.float32)
    result = np.empty(image.shape, np.float32)
    across = 1 - axis
    for first in range(0, image.shape[across], _BLOCK):
        block = [slice(None), slice(None)]
        block[across] = slice(first, first + _BLOCK)
        result[tuple(block)] = f(image[tuple(block)].astype(np.float64))
    return result


def box(image: Array, radius: int) -> Array:
    """The mean of (2 radius + 1)² pixels around each, with zeros outside."""
    result = image
    for axis in (0, 1):
        result = by_blocks(result, axis, partial(_box_along, radius, axis))
    return result


def _box_along(radius: int, axis: int, values: Array) -> Array:
    """Means along one axis."""
    pad = [(0, 0), (0, 0)]
    pad[axis] = (radius + 1, radius)
    sums = np.cumsum(np.pad(values, pad), axis, dtype=np.float64)
    n = values.shape[axis]
    later = np.take(sums, np.arange(n) + 2 * radius + 1, axis)
    later -= np.take(sums, np.arange(n), axis)
    return np.asarray(later / (2 * radius + 1))


def boxes(image: Array, radius: int) -> Array:
    """Three boxes one after the other, each cut off at the image's edges."""
    result = image
    for _ in range(3):
        result = box(result, radius)
    return result


def sums_of_sums(image: Array) -> Array:
    """Sums along x, and sums of these."""
    return by_blocks(image, 1, lambda a: np.cumsum(np.cumsum(a, 1), 1))
