"""Exposure fusion in NumPy: point by point, and by pyramids."""

from __future__ import annotations

import numpy as np

from apps.common import Array
from apps.forma import scenes
from apps.forma.program import Program
from apps.forma.pyramids import DEPTH, pyramids, sample, upsample


def weight(image: Array) -> Array:
    """Contrast, saturation and exposure of each point of a (3, H, W) image, as one."""
    r, g, b = image
    grey = np.float32(0.299) * r + np.float32(0.587) * g + np.float32(0.114) * b
    p = np.pad(grey, 1, mode="symmetric")
    around = p[1:-1, :-2] + p[:-2, 1:-1] + p[1:-1, 2:] + p[2:, 1:-1]
    contrast = np.abs(around - 4 * grey)
    away = image - (r + g + b) / 3
    saturation = np.sqrt((away * away).sum(axis=0) / 3)
    middle = image - np.float32(0.5)
    exposed = np.exp(np.float32(-12.5) * (middle * middle).sum(axis=0))
    return np.asarray(contrast * saturation * exposed + np.float32(1e-6))


def _planes(images: tuple[Array, ...]) -> list[Array]:
    """Each (H, W, 3) image as one of (3, H, W)."""
    return [np.ascontiguousarray(np.moveaxis(image, -1, 0)) for image in images]


def fused(*, image1: Array, image2: Array, image3: Array, image4: Array) -> Array:
    """The mean of the images by their weights."""
    images = _planes((image1, image2, image3, image4))
    weights = [weight(image) for image in images]
    total = sum([w * image for w, image in zip(weights, images, strict=True)])
    return np.moveaxis(np.asarray(total / sum(weights)), 0, -1)


def fused_by_pyramids(
    *, image1: Array, image2: Array, image3: Array, image4: Array
) -> Array:
    """The image whose laplacian pyramid is the mean of those of the images."""
    images = _planes((image1, image2, image3, image4))
    weights = [weight(image) for image in images]
    whole = np.asarray(sum(weights))
    levels: list[list[Array]] = [[w / whole for w in weights]]
    for _ in range(DEPTH):
        levels.append([sample(w, True) for w in levels[-1]])
    planes = []
    for colour in range(3):
        mixed = [np.zeros((), np.float32)] * (DEPTH + 1)
        for k, image in enumerate(images):
            gaussian, laplacian = pyramids(image[colour], True)
            for level, detail in enumerate([*laplacian, gaussian[-1]]):
                height, width = detail.shape
                mixed[level] = mixed[level] + levels[level][k][:height, :width] * detail
        plane = mixed[DEPTH]
        for detail in mixed[DEPTH - 1 :: -1]:
            large = upsample(plane, True)
            height, width = np.minimum(detail.shape, large.shape)
            plane = detail[:height, :width] + large[:height, :width]
        planes.append(np.clip(plane, 0, 1))
    return np.stack(planes, axis=-1)


EXPOSURE_FUSION = Program(
    "exposure_fusion", scenes.exposures, lambda **images: (fused(**images),), bound=1e-5
)
EXPOSURE_PYRAMID = Program(
    "exposure_pyramid",
    scenes.exposures,
    lambda **images: (fused_by_pyramids(**images),),
    bound=1e-5,
)

__all__ = [
    "EXPOSURE_FUSION",
    "EXPOSURE_PYRAMID",
    "fused",
    "fused_by_pyramids",
    "weight",
]
