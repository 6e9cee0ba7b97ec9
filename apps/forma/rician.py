"""Denoising of images and volumes with Rician noise in NumPy, and their inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.common import Array
from apps.forma import scenes
from apps.forma.program import Program

#: The noise, and how far denoising trusts what it is given.
VALUES = {"sigma": 0.05, "lambda": 0.065}
#: How many steps of gradient descent the programs do.
STEPS_2D, STEPS_3D = 10, 5


def _neighbours(a: Array) -> list[Array]:
    """An array moved by one point in each direction, its edges repeated."""
    p = np.pad(a, 1, mode="edge")
    inside = (slice(1, -1),) * a.ndim
    found = []
    for axis in reversed(range(a.ndim)):
        for side in (slice(2, None), slice(None, -2)):
            found.append(p[inside[:axis] + (side,) + inside[axis + 1 :]])
    return found


def denoised(f: Array, sigma: float, weight: float, steps: int) -> Array:
    """Some steps of gradient descent, each of the length 5 (see rician_2d.forma).
    weight: the program's lambda."""
    variance = np.float32(sigma) * np.float32(sigma)
    gamma = np.float32(weight) / variance
    step = np.float32(5)
    u = f
    for _ in range(steps):
        around = _neighbours(u)
        total = np.full_like(u, 1e-20)
        for other in around:
            away = u - other
            total += away * away
        g = 1 / np.sqrt(total)
        s = u * f / variance
        r = s * (np.float32(2.38944) + s * (np.float32(0.950037) + s))
        r /= np.float32(4.65314) + s * (
            np.float32(2.57541) + s * (np.float32(1.48937) + s)
        )
        pull, weights = np.zeros_like(u), np.zeros_like(u)
        for other, strength in zip(around, _neighbours(g), strict=True):
            pull += other * strength
            weights += strength
        u = (u + step * (pull + gamma * f * r)) / (1 + step * (weights + gamma))
    return u


def rician_2d(f: Array, **values: float) -> tuple[Array, ...]:
    return (denoised(f, values["sigma"], values["lambda"], STEPS_2D),)


def rician_3d(f: Array, **values: float) -> tuple[Array, ...]:
    return (denoised(f, values["sigma"], values["lambda"], STEPS_3D),)


def image(size: Sequence[int]) -> dict[str, Array]:
    return {"f": scenes.noisy(scenes.grey(size), VALUES["sigma"])}


def volume(size: Sequence[int]) -> dict[str, Array]:
    return {"f": scenes.noisy(scenes.volume(size), VALUES["sigma"])}


# Steps are divided by what is close to zero where an image is flat: rounding grows.
RICIAN_2D = Program("rician_2d", image, rician_2d, VALUES, bound=1e-4)
RICIAN_3D = Program("rician_3d", volume, rician_3d, VALUES, bound=1e-4)

__all__ = [
    "RICIAN_2D",
    "RICIAN_3D",
    "VALUES",
    "denoised",
    "rician_2d",
    "rician_3d",
]
