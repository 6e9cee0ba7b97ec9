"""Gaussian and Laplacian pyramids in NumPy, with and without mirrors at the edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.common import Array
from apps.forma import scenes
from apps.forma.program import Program

#: How often an image is halved.
DEPTH = 4


def sample(image: Array, is_mirrored: bool) -> Array:
    """An image of half the width and height. Where nothing is mirrored, what would read
    outside is zero."""
    return _halved(_halved(image, is_mirrored).T, is_mirrored).T


def _halved(image: Array, is_mirrored: bool) -> Array:
    """Along the last axis."""
    count = image.shape[1] // 2
    p = np.pad(image, ((0, 0), (1, 0)), mode="symmetric")
    before, here, behind = (p[:, k : k + 2 * count : 2] for k in range(3))
    out = (before + 2 * here + behind) / 4
    if not is_mirrored:
        out[:, 0] = 0
    return np.asarray(out)


def upsample(image: Array, is_mirrored: bool) -> Array:
    """An image of twice the width and height."""
    return _doubled(_doubled(image, is_mirrored).T, is_mirrored).T


def _doubled(image: Array, is_mirrored: bool) -> Array:
    """Along the last axis."""
    p = np.pad(image, ((0, 0), (1, 1)), mode="symmetric")
    out = np.empty((image.shape[0], 2 * image.shape[1]), image.dtype)
    out[:, ::2] = (3 * image + p[:, :-2]) / 4
    out[:, 1::2] = (3 * image + p[:, 2:]) / 4
    if not is_mirrored:
        out[:, 0] = out[:, -1] = 0
    return out


def subtract(image: Array, less: Array) -> Array:
    """The difference, where both have points."""
    height, width = np.minimum(image.shape, less.shape)
    return np.asarray(image[:height, :width] - less[:height, :width])


def pyramids(image: Array, is_mirrored: bool) -> tuple[list[Array], list[Array]]:
    """The levels of the gaussian and those of the laplacian one, of which there is one
    less."""
    gaussian, laplacian = [image], []
    for _ in range(DEPTH):
        gaussian.append(sample(gaussian[-1], is_mirrored))
        rest = upsample(gaussian[-1], is_mirrored)
        laplacian.append(subtract(gaussian[-2], rest))
    return gaussian, laplacian


def pyramid(image: Array) -> tuple[Array, ...]:
    gaussian, laplacian = pyramids(image, False)
    return (*laplacian, gaussian[-1])


def mirrored(image: Array) -> tuple[Array, ...]:
    gaussian, laplacian = pyramids(image, True)
    return (*laplacian, gaussian[-1])


def inputs(size: Sequence[int]) -> dict[str, Array]:
    return {"image": scenes.grey(size)}


PYRAMID = Program("pyramid", inputs, pyramid, bound=1e-6)
PYRAMID_MIRROR = Program("pyramid_mirror", inputs, mirrored, bound=1e-6)

__all__ = [
    "DEPTH",
    "PYRAMID",
    "PYRAMID_MIRROR",
    "mirrored",
    "pyramid",
    "pyramids",
    "sample",
    "subtract",
    "upsample",
]
