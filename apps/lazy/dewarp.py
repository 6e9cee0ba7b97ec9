"""Dewarping: a denoised image, seen through a map of where each pixel comes from.

The map of a wide lens reads little of some parts of the sensor's image and much of
others, and a view of a part of the scene reads a part of it. The image is denoised in
tiles, where the map reads it, and nowhere else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.lazy.denoise import denoised_of, padded

#: What is denoised at a time.
TILE = (64, 16)

x, y = hl.Var("x"), hl.Var("y")


def sampled(image: hl.Func, map_x: Any, map_y: Any, height: int, width: int) -> hl.Func:
    """A Func of height times width pixels at the places that two images say, linearly
    interpolated. Beyond its edges are the pixels at the edges."""
    px = hl.clamp(map_x[x, y], 0.0, float(width - 1))
    py = hl.clamp(map_y[x, y], 0.0, float(height - 1))
    i = hl.clamp(hl.i32(px), 0, max(width - 2, 0))
    j = hl.clamp(hl.i32(py), 0, max(height - 2, 0))
    s, t = px - hl.f32(i), py - hl.f32(j)
    next_i, next_j = i + min(width - 1, 1), j + min(height - 1, 1)
    above = image[i, j] + s * (image[next_i, j] - image[i, j])
    below = image[i, next_j] + s * (image[next_i, next_j] - image[i, next_j])
    out = hl.Func("sampled")
    out[x, y] = above + t * (below - above)
    return out


def dewarped(
    image: Array, map_x: Array, map_y: Array, tonal: float, sharpen: float
) -> tuple[hl.Func, hl.Func]:
    """The dewarped image, and the denoised one that it reads in tiles."""
    denoised = denoised_of(padded(image), tonal, sharpen)
    maps = hl.Buffer(map_x), hl.Buffer(map_y)
    out = sampled(denoised, *maps, *image.shape)
    tile = [min(size, n) for size, n in zip(TILE, image.shape[::-1], strict=True)]
    denoised.compute_lazy(tile).vectorize(x, 8, hl.TailStrategy.GuardWithIf)
    out.vectorize(x, 8, hl.TailStrategy.GuardWithIf).parallel(y)
    return out, denoised


def dewarp(
    image: Array, map_x: Array, map_y: Array, tonal: float, sharpen: float = 0.5
) -> Array:
    """Returns an (H, W) image, denoised, at places between its pixels, in float32.

    map_x, map_y: columns and rows in the image, float32 arrays in the shape of the
    result, as `cv2.remap` takes them. Beyond the edges are the pixels at the edges.
    tonal, sharpen: see `apps.lazy.denoise`.
    """
    out, _ = dewarped(image, map_x, map_y, tonal, sharpen)
    return np.asarray(out.realize(list(map_x.shape[::-1])))


def fisheye_view(
    shape: tuple[int, int],
    view: tuple[int, int],
    field: float = 180,
    zoom: float = 90,
    pan: float = 0,
    tilt: float = 0,
) -> tuple[Array, Array]:
    """Returns the maps of an ordinary view of what a fisheye lens has seen.

    shape: of the fisheye's image, whose smaller side spans an angle `field`; distances
    from its centre are proportional to angles. view: the shape of the view, which spans
    `zoom` across, turned right by `pan` and up by `tilt`. All angles are in degrees.
    """
    height, width = view
    reach = math.tan(math.radians(zoom) / 2)
    step = 2 * reach / width
    across = (np.arange(width) + 0.5) * step - reach
    down = ((np.arange(height) + 0.5) - height / 2) * step
    a, b = np.meshgrid(across, down)
    up, turn = math.radians(tilt), math.radians(pan)
    b, c = b * math.cos(up) - math.sin(up), b * math.sin(up) + math.cos(up)
    a, c = (
        a * math.cos(turn) + c * math.sin(turn),
        c * math.cos(turn) - a * math.sin(turn),
    )
    off = np.hypot(a, b)
    radius = np.arctan2(off, c) * (min(shape) / math.radians(field))
    scale = radius / np.maximum(off, 1e-9)
    map_x = (shape[1] - 1) / 2 + a * scale
    map_y = (shape[0] - 1) / 2 + b * scale
    return map_x.astype(np.float32), map_y.astype(np.float32)
