"""The inputs of the programs: a photograph in the sizes and types that they take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps import camera_pipe
from apps.common import Array, photograph, to_float
from apps.forma.program import structs

#: How much light the four exposures get, of what the photograph got.
EXPOSURES = (0.3, 0.7, 1.5, 3.5)


def colours(size: Sequence[int]) -> Array:
    """The photograph as (3, height, width) float32 between 0 and 1."""
    image = to_float(photograph())
    for axis, extent in ((2, size[0]), (1, size[1])):
        image = _resized(image, axis, extent)
    return image


def _resized(image: Array, axis: int, extent: int) -> Array:
    """One axis of an image by linear interpolation."""
    count = image.shape[axis]
    at = np.linspace(0, count - 1, extent, dtype=np.float32)
    first = np.minimum(at.astype(int), count - 2)
    share = (at - first).astype(np.float32)
    share = share.reshape([-1 if d == axis else 1 for d in range(image.ndim)])
    below, above = image.take(first, axis), image.take(first + 1, axis)
    return np.asarray(below + share * (above - below))


def grey(size: Sequence[int]) -> Array:
    """Its luminance, (height, width) float32."""
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    return np.asarray(np.tensordot(weights, colours(size), 1))


def levels(size: Sequence[int], dtype: type[np.integer] = np.int32) -> Array:
    """Its luminance from 0 to 255."""
    return np.asarray(np.rint(grey(size) * 255).astype(dtype))


def exposures(size: Sequence[int]) -> dict[str, Array]:
    """Four exposures of it, as structs of r, g, b."""
    image = np.moveaxis(colours(size), 0, -1)
    return {
        f"image{k}": structs(np.clip(image * np.float32(light), 0, 1), "rgb")
        for k, light in enumerate(EXPOSURES, start=1)
    }


def mosaic(size: Sequence[int]) -> Array:
    """What a sensor would have seen of it, from 0 to 1023, (height, width) int16; with
    some hot pixels."""
    width, height = size
    left, top = camera_pipe.OFFSET
    image = colours((width - 2 * left, height - 2 * top))
    raw = camera_pipe.mosaic(np.rint(image * 255).astype(np.uint8))[:height, :width]
    raw[7::31, 5::23] = 1023
    return np.ascontiguousarray(raw.view(np.int16))


def noisy(image: Array, sigma: float) -> Array:
    """An image with Rician noise: the length of a vector of two components, both with
    normal noise, of which one would be zero."""
    random = np.random.default_rng(5)
    real, imaginary = sigma * random.standard_normal((2, *image.shape), np.float32)
    return np.asarray(np.hypot(image + real, imaginary), np.float32)


def volume(size: Sequence[int]) -> Array:
    """The photograph's luminance, which fades in and out along z."""
    fade = 0.6 + 0.4 * np.cos(np.linspace(0, 6, size[2], dtype=np.float32))
    return np.asarray(fade[:, None, None] * grey(size[:2]), np.float32)


__all__ = [
    "EXPOSURES",
    "colours",
    "exposures",
    "grey",
    "levels",
    "mosaic",
    "noisy",
    "volume",
]
