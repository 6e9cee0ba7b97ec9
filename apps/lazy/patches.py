"""Nearest patches: for each pixel of an image, where another one looks most alike.

From: Barnes and others, "PatchMatch: A Randomized Correspondence Algorithm for
Structural Image Editing" (2009). In each of a few iterations, a pixel tries what its
neighbours found, moved by one pixel, and one place at random near its own best. Which
places of the other image are looked at, only the data says. What describes the patch
there is computed when it is first looked at, for all iterations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array

#: A patch is a square of cells, so many in each direction, and a cell of pixels.
CELLS, CELL = 2, 4
#: How many numbers describe a patch: the gradients along x and y in each cell.
FEATURES = 2 * CELLS * CELLS

c, x, y = hl.Var("c"), hl.Var("x"), hl.Var("y")


def features_of(image: Array, name: str) -> hl.Func:
    """What describes the patch in the middle of which a pixel is: for each cell, the
    sums of its gradients along x and y."""
    around = hl.BoundaryConditions.repeat_edge(hl.Buffer(image))
    features = hl.Func(name)
    half = CELLS * CELL // 2
    cell = c // 2
    left = x - half + CELL * (cell % CELLS)
    top = y - half + CELL * (cell // CELLS)
    across: Any = hl.i32(0)
    down: Any = hl.i32(0)
    for k in range(CELL):
        across += hl.i32(around[left + CELL, top + k]) - hl.i32(around[left, top + k])
        down += hl.i32(around[left + k, top + CELL]) - hl.i32(around[left + k, top])
    features[c, x, y] = hl.select(c % 2 == 0, across, down)
    return features


def field_of(
    image: Array, other: Array, first: Array, noise: Array
) -> tuple[hl.Func, hl.Func]:
    """The field after all iterations, and the features of the other image."""
    mine, theirs = features_of(image, "mine"), features_of(other, "theirs")
    start, chance = hl.Buffer(first), hl.Buffer(noise)
    height, width = image.shape
    most = other.shape[1] - 1, other.shape[0] - 1

    def tried(best: Any, u: Any, v: Any) -> hl.Func:
        """The better one of what there is and another place."""
        at = hl.clamp(u, 0, most[0]), hl.clamp(v, 0, most[1])
        cost: Any = hl.i32(0)
        for k in range(FEATURES):
            cost += hl.i32(hl.absd(mine[k, x, y], theirs[(k, *at)]))
        better = hl.Func("tried")
        new = (*at, cost)
        better[x, y] = tuple(
            [hl.select(cost < best[2], n, b) for n, b in zip(new, best, strict=True)]
        )
        return better

    mine.compute_root().parallel(y)
    theirs.compute_lazy((FEATURES, 1, 1))
    worst = hl.i32(np.iinfo(np.int32).max)
    nowhere = hl.i32(0), hl.i32(0), worst
    field = tried(nowhere, start[x, y, 0], start[x, y, 1]).compute_root().parallel(y)
    for n in range(noise.shape[0]):
        best, steps = field, []
        for i, j in ((-1, 0), (0, -1), (1, 0), (0, 1)):
            to = hl.clamp(x + i, 0, width - 1), hl.clamp(y + j, 0, height - 1)
            u, v, _ = field[to]
            best = tried(best[x, y], u - i, v - j)
            steps.append(best)
        u, v, _ = best[x, y]
        field = tried(best[x, y], u + chance[x, y, 0, n], v + chance[x, y, 1, n])
        field.compute_root().parallel(y)
        for step in steps:
            step.compute_at(field, y)
    return field, theirs


def chances(
    shape: tuple[int, int], other: tuple[int, int], iterations: int, seed: int
) -> tuple[Array, Array]:
    """Where each pixel looks first, (2, H, W), and how far from its best one in each
    iteration, (iterations, 2, H, W): at most half as far as in the one before."""
    random = np.random.default_rng(seed)
    sizes = np.array(other[::-1], np.int32)[:, None, None]
    first = random.integers(0, sizes, (2, *shape), np.int32)
    reach = [max(max(other) >> (n + 1), 1) for n in range(iterations)]
    noise = [random.integers(-r, r + 1, (2, *shape), np.int32) for r in reach]
    return first, np.array(noise, np.int32).reshape(iterations, 2, *shape)


def nearest_patches(
    image: Array, other: Array, iterations: int = 5, seed: int = 0
) -> tuple[Array, Array]:
    """Returns columns and rows, (2, H, W) int32, of where `other` looks most like each
    pixel of `image`, and how far the features are apart there, (H, W) int32.

    image, other: (H, W) uint8. seed: of the places that are tried at random.
    """
    first, noise = chances(image.shape, other.shape, iterations, seed)
    field, _ = field_of(image, other, first, noise)
    found: Any = field.realize(list(image.shape[::-1]))
    u, v, cost = [np.asarray(a) for a in found]
    return np.stack([u, v]), cost
