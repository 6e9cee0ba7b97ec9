"""Windows into an image that is too large to be computed.

An image is magnified many times, by cubic interpolation, and denoised there. Only
windows of the result are shown, at places that are known when the pipeline runs. There
is storage for all of it, of which memory is used for the tiles that a window shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.lazy.denoise import denoised_of

#: What is computed at a time.
TILE = (64, 64)

x, y, k = hl.Var("x"), hl.Var("y"), hl.Var("k")


def magnified(image: Array, times: int) -> hl.Func:
    """An (H, W) image `times` as large in both directions, by Catmull and Rom's cubic
    interpolation. Pixels beyond the edges are those at the edges."""
    around = hl.BoundaryConditions.repeat_edge(hl.Buffer(image))
    across, out = hl.Func("across"), hl.Func("magnified")
    i, weights = _cubic(x, times)
    across[x, y] = sum([w * hl.f32(around[i + n, y]) for n, w in weights], hl.f32(0))
    j, weights = _cubic(y, times)
    out[x, y] = sum([w * across[x, j + n] for n, w in weights], hl.f32(0))
    return out


def _cubic(at: hl.Var, times: int) -> tuple[Any, list[tuple[int, Any]]]:
    """The pixel before a point of the large image, and the weights of the four around
    it."""
    place = (hl.f32(at) + 0.5) * (1 / times) - 0.5
    before = hl.floor(place)
    t = place - before
    s = 1 - t
    outer, inner = [-0.5 * p * q * q for p, q in ((t, s), (s, t))], []
    for p in (t, s):
        inner.append(1 + p * p * (1.5 * p - 2.5))
    weights = [(-1, outer[0]), (0, inner[0]), (1, inner[1]), (2, outer[1])]
    return hl.i32(before), weights


def windows_of(
    image: Array, times: int, corners: Array, width: int, height: int, tonal: float
) -> tuple[hl.Func, hl.Func]:
    """The windows, and the large image that they show."""
    large = magnified(image, times)
    whole = denoised_of(large, tonal, 0.5)
    corner = hl.Buffer(corners)
    last = [n * times for n in image.shape]
    left = hl.clamp(corner[0, k], 0, last[1] - width)
    top = hl.clamp(corner[1, k], 0, last[0] - height)
    out = hl.Func("windows")
    out[x, y, k] = whole[left + x, top + y]
    guard = hl.TailStrategy.GuardWithIf
    whole.compute_lazy(TILE).vectorize(x, 8, guard)
    large.compute_at(whole, hl.Var.outermost()).vectorize(x, 8, guard)
    out.vectorize(x, 8, guard).parallel(y).parallel(k)
    return out, whole


def windows(
    image: Array,
    times: int,
    corners: Array,
    size: tuple[int, int],
    tonal: float = 0.1,
) -> Array:
    """Returns (N, height, width) windows of an (H, W) image that is magnified.

    corners: (N, 2) int32, column and row of each window's first pixel in the large
    image; windows that would reach beyond its edges are moved inside. size: height and
    width. tonal: see `apps.lazy.denoise`.
    """
    height, width = size
    out, _ = windows_of(image, times, corners, width, height, tonal)
    return np.asarray(out.realize([width, height, len(corners)]))
