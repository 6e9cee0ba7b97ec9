"""Programs of Table 1 as Python loops over lists: what they are without NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Lines of pixels, or of anything else.
Lines = list[list[float]]
Pixel = Sequence[float]


def emboss(image: Lines) -> Lines:
    height, width = len(image), len(image[0])
    out = [[0.0] * width for _ in range(height)]
    for y in range(1, height - 1):
        above, line, below = image[y - 1 : y + 2]
        row = out[y]
        for x in range(1, width - 1):
            row[x] = line[x + 1] + below[x] - line[x - 1] - above[x] + line[x]
    return out


def _weights(image: list[list[Pixel]]) -> Lines:
    """Contrast, saturation and exposure of each pixel, as one."""
    height, width = len(image), len(image[0])
    grey = [[0.299 * r + 0.587 * g + 0.114 * b for r, g, b in line] for line in image]
    out = []
    for y, line in enumerate(grey):
        above, below = grey[max(y - 1, 0)], grey[min(y + 1, height - 1)]
        row = []
        for x, here in enumerate(line):
            left, right = line[max(x - 1, 0)], line[min(x + 1, width - 1)]
            contrast = abs(left + above[x] + right + below[x] - 4 * here)
            pixel = image[y][x]
            mean = sum(pixel) / 3
            spread = math.sqrt(sum([(v - mean) ** 2 for v in pixel]) / 3)
            exposed = math.exp(-12.5 * sum([(v - 0.5) ** 2 for v in pixel]))
            row.append(contrast * spread * exposed + 1e-6)
        out.append(row)
    return out


def exposure_fusion(images: Sequence[list[list[Pixel]]]) -> list[list[Pixel]]:
    weights = [_weights(image) for image in images]
    out: list[list[Pixel]] = []
    for y in range(len(images[0])):
        row: list[Pixel] = []
        for x in range(len(images[0][0])):
            whole = sum([w[y][x] for w in weights])
            mixed = [0.0, 0.0, 0.0]
            for w, image in zip(weights, images, strict=True):
                for c, value in enumerate(image[y][x]):
                    mixed[c] += w[y][x] * value
            row.append([value / whole for value in mixed])
        out.append(row)
    return out


def _bessel_ratio(s: float) -> float:
    return (
        s
        * (2.38944 + s * (0.950037 + s))
        / (4.65314 + s * (2.57541 + s * (1.48937 + s)))
    )


def rician(volume: list[Lines], sigma: float, weight: float, steps: int) -> list[Lines]:
    """Of an image, which is a volume one point deep, or of a volume. weight: what the
    programs call lambda."""
    depth, height, width = len(volume), len(volume[0]), len(volume[0][0])
    variance = sigma * sigma
    gamma = weight / variance
    points = [
        (z, y, x) for z in range(depth) for y in range(height) for x in range(width)
    ]
    # Neighbours behind an edge of a volume that is one point deep would count twice.
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0)][: 3 if depth > 1 else 2]
    around = {}
    for z, y, x in points:
        found = []
        for dz, dy, dx in axes:
            for sign in (1, -1):
                found.append(
                    (
                        min(max(z + sign * dz, 0), depth - 1),
                        min(max(y + sign * dy, 0), height - 1),
                        min(max(x + sign * dx, 0), width - 1),
                    )
                )
        around[z, y, x] = found
    f = {(z, y, x): volume[z][y][x] for z, y, x in points}
    u = f
    for _ in range(steps):
        g = {
            p: 1 / math.sqrt(1e-20 + sum([(u[p] - u[q]) ** 2 for q in around[p]]))
            for p in points
        }
        new = {}
        for p in points:
            ratio = _bessel_ratio(u[p] * f[p] / variance)
            pull = sum([u[q] * g[q] for q in around[p]])
            strength = sum([g[q] for q in around[p]])
            new[p] = (u[p] + 5 * (pull + gamma * f[p] * ratio)) / (
                1 + 5 * (strength + gamma)
            )
        u = new
    return [
        [[u[z, y, x] for x in range(width)] for y in range(height)]
        for z in range(depth)
    ]


__all__ = ["Lines", "Pixel", "emboss", "exposure_fusion", "rician"]
