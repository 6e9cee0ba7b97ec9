"""Difference of Gaussians by box filters: each Gaussian is three boxes, one after the
other, and both are computed in the same stages.

Images are of integers, which are added up in 64 bits: sums may wrap around, and their
differences are exact. On a GPU, stages are kernels.

- `by_tables_of_two` is what the 2015 paper does (section 8, Figure 11): one box by a
  summed-area table, and two at once by tables of order 2 along x and then along y. Both
  Gaussians are a dimension of the image.
- `by_a_table_of_three` adds up three times at once. Floats would have no correct digit
  left; of integers it is the same image, and both Gaussians read one table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from parhelion.recfilter import RecFilter, RecFilterDim

#: A table of order k has (1 - z^-1)^k y = x.
_SIGNS = {k: [(-1) ** m * math.comb(k, m) for m in range(k + 1)] for k in (1, 2, 3)}


def difference_of_boxes(
    image: Array,
    narrow: int,
    wide: int,
    target: hl.Target | None = None,
    way: Callable[..., hl.Func] | None = None,
) -> Array:
    """Returns an (H, W) image of integers blurred by three boxes, less the same by
    wider boxes, in float32.

    narrow, wide: how many pixels boxes reach in each direction. Pixels beyond the edges
    are those at the edges. way: `by_tables_of_two`, or by default
    `by_a_table_of_three`.
    """
    f = (way or by_a_table_of_three)(image, (narrow, wide), target)
    return np.asarray(f.realize(list(image.shape[::-1]), target))


def by_tables_of_two(
    image: Array, radii: tuple[int, int], target: hl.Target | None = None
) -> hl.Func:
    """The Func of the difference, over x and y, scheduled for a target."""
    most, (height, width) = max(radii), image.shape
    shift = 2 * (most + 1)
    sizes = [n + shift + 2 * most for n in (width, height)]
    x, y = [RecFilterDim(v, n + 2 * most + 1) for v, n in zip("xy", sizes, strict=True)]
    table = RecFilter("table")
    table[x, y] = extended(image, shift + most + 1, x, y)
    table.add_filter(+x, [1, 1])
    table.add_filter(+y, [1, 1])
    sums = table.as_func(target)

    which = RecFilterDim("v", 2)
    radius = hl.select(which == 0, *radii)
    n = 2 * radius + 1
    x, y = [RecFilterDim(v, n) for v, n in zip("xy", sizes, strict=True)]
    first = most + 1 + radius
    right, below = x + first, y + first
    box = (sums[right, below] - sums[right - n, below]) - (
        sums[right, below - n] - sums[right - n, below - n]
    )
    rows = RecFilter("rows")
    rows[x, y, which] = box
    rows.add_filter(+x, [1, *[-s for s in _SIGNS[2][1:]]])
    along = rows.as_func(target)

    x = RecFilterDim("x", width)
    columns = RecFilter("columns")
    columns[x, y, which] = weighted(
        _SIGNS[2], lambda m: along[x + (shift + 2 * radius - m * n), y, which]
    )
    columns.add_filter(+y, [1, *[-s for s in _SIGNS[2][1:]]])
    down = columns.as_func(target)

    i, j = hl.vars("x y")

    def blurred(v: int) -> hl.Expr:
        n, first = 2 * radii[v] + 1, j + (shift + 2 * radii[v])
        total = weighted(_SIGNS[2], lambda m: down[i, first - m * n, v])
        return hl.f64(total) / float(n**6)

    return _difference(blurred, target)


def by_a_table_of_three(
    image: Array, radii: tuple[int, int], target: hl.Target | None = None
) -> hl.Func:
    """The Func of the difference, over x and y, scheduled for a target."""
    most, (height, width) = max(radii), image.shape
    shift = 3 * (most + 1)
    sizes = [n + shift + 3 * most for n in (width, height)]
    x, y = [RecFilterDim(v, n) for v, n in zip("xy", sizes, strict=True)]
    table = RecFilter("table")
    table[x, y] = extended(image, shift, x, y)
    for d in (x, y):
        table.add_filter(+d, [1, *[-s for s in _SIGNS[3][1:]]])
    sums = table.as_func(target)
    i, j = hl.vars("x y")

    def blurred(v: int) -> hl.Expr:
        r, n = radii[v], 2 * radii[v] + 1
        right, below = i + (shift + 3 * r), j + (shift + 3 * r)
        total = weighted(
            _SIGNS[3],
            lambda m: weighted(_SIGNS[3], lambda k: sums[right - k * n, below - m * n]),
        )
        return hl.f64(total) / float(n**6)

    return _difference(blurred, target)


def extended(image: Array, shift: int, x: hl.Var, y: hl.Var) -> hl.Expr:
    """The pixel in 64 bits, of an image with its edges repeated beyond them, whose
    first one is at `shift` along both axes."""
    height, width = image.shape
    at = [hl.clamp(v - shift, 0, n - 1) for v, n in ((x, width), (y, height))]
    return hl.i64(hl.Buffer(image)[tuple(at)])


def weighted(signs: Sequence[int], value: Callable[[int], Any]) -> Any:
    total: Any = None
    for m, sign in enumerate(signs):
        term = sign * value(m)
        total = term if total is None else total + term
    return total


def _difference(blurred: Callable[[int], hl.Expr], target: hl.Target | None) -> hl.Func:
    x, y, tx, ty = hl.vars("x y tx ty")
    out = hl.Func("difference")
    out[x, y] = hl.f32(blurred(0) - blurred(1))
    if target is not None and target.has_feature(hl.TargetFeature.CUDA):
        return out.gpu_tile(x, y, tx, ty, 32, 8)
    return out.parallel(y)
