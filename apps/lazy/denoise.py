"""Smoothing within edges and sharpening: 220 operations for each pixel.

What the other applications here look at: too much to compute of pixels that nobody
sees, or twice of those that are seen twice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array

#: How far the window reaches in each direction.
REACH = 2
#: The standard deviation of the weights of pixels by their distance.
SPREAD = 1.5

x, y = hl.Var("x"), hl.Var("y")


def padded(image: Array) -> hl.Func:
    """An (H, W) image whose edges are repeated beyond them, in floats."""
    around = hl.BoundaryConditions.repeat_edge(hl.Buffer(image))
    f = hl.Func("padded")
    f[x, y] = hl.f32(around[x, y])
    return f


def denoised_of(image: Any, tonal: float, sharpen: float) -> hl.Func:
    """A Func of x and y smoothed where its neighbours are alike, and sharpened.

    tonal: the difference of a neighbour that halves its weight. sharpen: how often
    what the mean of the window lacks of the pixel is added to the result.
    """
    centre = image[x, y]
    total: Any = 0.0
    weights: Any = 0.0
    mean: Any = 0.0
    reach = range(-REACH, REACH + 1)
    for j in reach:
        for i in reach:
            pixel = image[x + i, y + j]
            apart = (pixel - centre) * (1 / tonal)
            near = math.exp(-(i * i + j * j) / (2 * SPREAD * SPREAD))
            weight = near / (1.0 + apart * apart)
            total += weight * pixel
            weights += weight
            mean += pixel
    smooth = total / weights
    denoised = hl.Func("denoised")
    denoised[x, y] = smooth + sharpen * (smooth - mean * (1 / len(reach) ** 2))
    return denoised


def denoise(image: Array, tonal: float, sharpen: float = 0.5) -> Array:
    """Returns an (H, W) image smoothed within its edges and sharpened, in float32.

    tonal, sharpen: see `denoised_of`.
    """
    out = denoised_of(padded(image), tonal, sharpen)
    out.vectorize(x, 8, hl.TailStrategy.GuardWithIf).parallel(y)
    return np.asarray(out.realize(list(image.shape[::-1])))
