"""Emboss, blur, sampling and extrapolation in NumPy."""

from __future__ import annotations

import numpy as np

from apps.common import Array
from apps.forma import scenes
from apps.forma.program import Program


def emboss(image: Array) -> tuple[Array, ...]:
    out = np.zeros_like(image)
    out[1:-1, 1:-1] = (
        image[1:-1, 2:]
        + image[2:, 1:-1]
        - image[1:-1, :-2]
        - image[:-2, 1:-1]
        + image[1:-1, 1:-1]
    )
    return (out,)


def blur(image: Array) -> tuple[Array, ...]:
    lines = np.zeros_like(image)
    lines[:, 1:-1] = image[:, :-2] + image[:, 1:-1] + image[:, 2:]
    out = np.zeros_like(image)
    out[1:-1] = lines[:-2] + lines[1:-1] + lines[2:]
    return (out,)


def _halved(image: Array) -> Array:
    """Along the last axis; positive integers."""
    out = np.zeros((*image.shape[:-1], image.shape[-1] // 2), image.dtype)
    before, here, behind = image[..., 1:-2:2], image[..., 2:-1:2], image[..., 3::2]
    out[..., 1:] = (before + 2 * here + behind) // 4
    return out


def sampling(image: Array) -> tuple[Array, ...]:
    width, height = image.shape[1] // 2 * 2, image.shape[0] // 2 * 2
    lines = _halved(image[:, :width])
    return (np.ascontiguousarray(_halved(lines[:height].T).T),)


def _doubled(image: Array) -> Array:
    """Along the last axis; positive integers."""
    out = np.zeros((*image.shape[:-1], 2 * image.shape[-1]), image.dtype)
    out[..., 2::2] = (3 * image[..., 1:] + image[..., :-1]) // 4
    out[..., 1:-1:2] = (3 * image[..., :-1] + image[..., 1:]) // 4
    return out


def extrapolation(image: Array) -> tuple[Array, ...]:
    wide = _doubled(image)
    large = np.ascontiguousarray(_doubled(wide.T).T)
    spread = wide.copy()
    spread[:, 1::2] = 0
    return large, spread


EMBOSS = Program("emboss", lambda s: {"image": scenes.grey(s)}, emboss, bound=1e-6)
BLUR = Program("blur", lambda s: {"image": scenes.grey(s)}, blur, bound=2e-6)
SAMPLING = Program("sampling", lambda s: {"image": scenes.levels(s)}, sampling)
EXTRAPOLATION = Program(
    "extrapolation", lambda s: {"image": scenes.levels(s)}, extrapolation
)

__all__ = [
    "BLUR",
    "EMBOSS",
    "EXTRAPOLATION",
    "SAMPLING",
    "blur",
    "emboss",
    "extrapolation",
    "sampling",
]
