"""Canny's edge detector in NumPy, and its input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.common import Array
from apps.forma import scenes
from apps.forma.program import Program


def blurred(image: Array) -> Array:
    """Five points in each direction, rounded in each."""
    for axis in (1, 0):
        around = [(2, 2) if a == axis else (0, 0) for a in (0, 1)]
        p = np.pad(image.astype(np.int32), around, mode="edge")
        a, b, c, d, e = (
            p.take(range(k, k + image.shape[axis]), axis) for k in range(5)
        )
        image = ((a + 4 * b + 6 * c + 4 * d + e + 8) // 16).astype(np.int16)
    return image


def gradient(image: Array) -> tuple[Array, Array]:
    """Sobel's, along x and along y."""
    p = np.pad(image.astype(np.int32), 1, mode="edge")
    across = p[:, 2:] - p[:, :-2]
    x = across[:-2] + 2 * across[1:-1] + across[2:]
    up = p[2:] - p[:-2]
    y = up[:, :-2] + 2 * up[:, 1:-1] + up[:, 2:]
    return x, y


def suppressed(x: Array, y: Array) -> Array:
    """Squared lengths of gradients where they are longest, 0 elsewhere."""
    length = x * x + y * y
    p = np.pad(length, 1)
    side = (length > p[1:-1, :-2]) & (length >= p[1:-1, 2:])
    above = (length > p[:-2, 1:-1]) & (length >= p[2:, 1:-1])
    falling = (length > p[:-2, :-2]) & (length > p[2:, 2:])
    rising = (length > p[:-2, 2:]) & (length > p[2:, :-2])
    diagonal = np.where((x < 0) == (y < 0), falling, rising)
    across, up = np.abs(x) * 13573, np.abs(y) * 32768
    steep = up > across + np.abs(x) * 65536
    longest = np.where(up < across, side, np.where(steep, above, diagonal))
    return np.where(longest, length, 0)


def canny(image: Array, low: float, high: float) -> tuple[Array, ...]:
    edges = suppressed(*gradient(blurred(image)))
    p = np.pad(edges, 1)
    near = np.maximum(np.maximum(p[:-2], p[1:-1]), p[2:])
    near = np.maximum(np.maximum(near[:, :-2], near[:, 1:-1]), near[:, 2:])
    is_edge = (edges > high * high) | ((edges > low * low) & (near > high * high))
    return (is_edge.astype(np.int8),)


def inputs(size: Sequence[int]) -> dict[str, Array]:
    return {"image": scenes.levels(size, np.int16)}


CANNY = Program("canny", inputs, canny, {"low": 60, "high": 120})

__all__ = ["CANNY", "blurred", "canny", "gradient", "suppressed"]
