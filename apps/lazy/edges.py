"""Edges with their directions, which are computed only near strong gradients.

The gradient of a pixel says little of the direction of the edge that it is on. The
structure tensor, the products of gradients averaged over a disc around the pixel, does:
its main axis is across the edge. It takes 400 operations for each pixel, and most
pixels are not on an edge.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.lazy.denoise import padded

#: The standard deviation of the weights of the tensor, and how far they reach.
SIGMA, REACH = 2.0, 4
#: What is computed at a time.
TILE = (16, 8)
#: What pixels that are not on an edge have for a direction.
NO_EDGE = -4.0

x, y = hl.Var("x"), hl.Var("y")


def gradient_of(image: hl.Func) -> hl.Func:
    """Sobel's gradient along x and y, as a Tuple."""
    f = hl.Func("gradient")
    across: Any = 0.0
    down: Any = 0.0
    for k, w in ((-1, 1.0), (0, 2.0), (1, 1.0)):
        across += w * (image[x + 1, y + k] - image[x - 1, y + k])
        down += w * (image[x + k, y + 1] - image[x + k, y - 1])
    f[x, y] = across, down
    return f


def direction_of(gradient: hl.Func) -> hl.Func:
    """The angle of the structure tensor's main axis, within half a turn."""
    xx: Any = 0.0
    xy: Any = 0.0
    yy: Any = 0.0
    reach = range(-REACH, REACH + 1)
    for j in reach:
        for i in reach:
            if i * i + j * j > REACH * REACH:
                continue
            w = math.exp(-(i * i + j * j) / (2 * SIGMA * SIGMA))
            gx, gy = gradient[x + i, y + j]
            xx += w * gx * gx
            xy += w * gx * gy
            yy += w * gy * gy
    direction = hl.Func("direction")
    direction[x, y] = 0.5 * hl.atan2(2 * xy, xx - yy)
    return direction


def directions_of(image: Array, threshold: float) -> tuple[hl.Func, hl.Func]:
    """The directions of edges, and the Func that is computed where there are some."""
    gradient = gradient_of(padded(image))
    direction = direction_of(gradient)
    gx, gy = gradient[x, y]
    out = hl.Func("edges")
    strong = gx * gx + gy * gy > threshold * threshold
    out[x, y] = hl.select(strong, direction[x, y], NO_EDGE)
    guard = hl.TailStrategy.GuardWithIf
    gradient.compute_root().vectorize(x, 8, guard).parallel(y, 16)
    direction.compute_lazy(TILE).vectorize(x, 8, guard)
    out.vectorize(x, 8, guard).parallel(y, 16)
    return out, direction


def edge_directions(image: Array, threshold: float) -> Array:
    """Returns the angles across the edges of an (H, W) image, in float32.

    Angles are in radians, from -pi/2 to pi/2, of x towards y. threshold: how large
    Sobel's gradient is where there is an edge; elsewhere the result is `NO_EDGE`.
    """
    out, _ = directions_of(image, threshold)
    return np.asarray(out.realize(list(image.shape[::-1])))
