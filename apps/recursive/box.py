"""Box filter: the mean of the square around each pixel, once or several times over.

Three box filters make a good Gaussian. The sum of n pixels along a line is the sum of
all pixels up to the last of them, less the same sum n pixels before. There are two ways
to compute it:

- `box_by_tables` adds up first, into a summed-area table, and subtracts then. A table
  of order 3 serves three box filters at once. Along each axis its values grow with the
  cube of the size, and of floats that are so large the differences have no correct
  digit left. Integers lose nothing: they wrap around, and the differences are exact.
- `box_by_running_sums` subtracts first, and adds up then, so that no value is larger
  than the sum of n pixels. Of floats, all digits but the last few are correct.

Pixels beyond the edges are those at the edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.recursive.image import dimensions, realized
from parhelion.recfilter import RecFilter, RecFilterDim

#: The axes along which a table adds up, "x", "y" or "xy", and its order along each.
Table = tuple[str, int]
#: One box filter by an ordinary summed-area table.
ONE: Sequence[Table] = [("xy", 1)]
#: Three box filters at once, by a table of order 3.
THREE: Sequence[Table] = [("xy", 3)]
#: Three box filters as in the 2015 paper: one, and then two at once, first along x.
ONE_AND_TWO: Sequence[Table] = [("xy", 1), ("x", 2), ("y", 2)]


def box_by_tables(
    image: Array, radius: int, tables: Sequence[Table] = tuple(ONE)
) -> Array:
    """Returns the means of squares that reach `radius` pixels in each direction.

    image: (H, W) or (H, W, C), of floats, or of integers, which are added up in 64
    bits and give float32. tables: those that are used, one after the other; one of
    order k makes k box filters.
    """
    n = 2 * radius + 1
    times = {v: sum([k for axes, k in tables if v in axes]) for v in "xy"}
    # Each difference reads a value n points before: there are enough of them.
    shift = {v: k * (radius + 1) for v, k in times.items()}
    value = extended(image, shift)
    sizes = {d.name(): d.extent + times.get(d.name(), 0) * n for d in dimensions(image)}
    for axes, order in tables:
        # Its output y has (1 - z^-1)^order y = x, as y[i] - y[i-1] = x[i] of order 1.
        signs = [(-1) ** k * math.comb(order, k) for k in range(order + 1)]
        dims = tuple([RecFilterDim(v, size) for v, size in sizes.items()])
        table = RecFilter("table")
        table[dims] = value[dims]
        for d in dims:
            if d.name() in axes:
                table.add_filter(+d, [1, *[-s for s in signs[1:]]])
        value = table.as_func()
        for v in axes:
            value = differences(value, v, n, signs)
            sizes[v] -= order * n
    return mean(value, image, n ** sum(times.values()), 0)


def box_by_running_sums(image: Array, radius: int, times: int = 1) -> Array:
    """Returns what `box_by_tables` does, of `times` box filters one after the other:
    each is y[i] = y[i-1] + x[i] - x[i-n] along x and along y."""
    n, margin = 2 * radius + 1, times * radius
    value = extended(image, {"x": margin, "y": margin})
    *c, x, y = dimensions(image)
    x, y = [RecFilterDim(d.name(), d.extent + 2 * margin) for d in (x, y)]
    box = RecFilter("box")
    box[(*c, x, y)] = value[(*c, x, y)]
    for _ in range(times):
        for axis in (x, y):
            box.add_filter(+axis, [1, 1], feedforward=[1, *[0] * (n - 1), -1])
    # The sum at a point is that of the n points that end there.
    sums = box.as_func()
    return mean(sums, image, n ** (2 * times), 2 * margin)


def extended(image: Array, shift: Mapping[str, int]) -> hl.Func:
    """The image in the type in which it is added up, with its edges repeated beyond
    them. Its first pixel is at `shift` along each axis."""
    inp = hl.BoundaryConditions.repeat_edge(hl.Buffer(image))
    dims = dimensions(image)
    value = inp[tuple([d - shift.get(d.name(), 0) for d in dims])]
    f = hl.Func("extended")
    f[dims] = hl.i64(value) if np.issubdtype(image.dtype, np.integer) else value
    return f


def differences(f: hl.Func, axis: str, n: int, signs: Sequence[int]) -> hl.Func:
    """The sums of signs[k] f[i - k n] along an axis. The first one, at point 0, is the
    first that reads nothing before point 0."""
    farthest = (len(signs) - 1) * n
    total: Any = 0
    for k, sign in enumerate(signs):
        ahead = farthest - k * n
        at = [v + ahead if v.name() == axis else v for v in f.args()]
        total = total + sign * f[tuple(at)]
    out = hl.Func("differences")
    out[tuple(f.args())] = total
    return out


def mean(sums: hl.Func, image: Array, count: int, first: int) -> Array:
    """The sums divided by `count`. That of the image's first pixel is at `first` along
    both axes."""
    *c, x, y = dims = dimensions(image)
    value = sums[(*c, x + first, y + first)]
    whole = np.issubdtype(image.dtype, np.integer)
    out = hl.Func("mean")
    out[dims] = hl.f32(hl.f64(value) / float(count)) if whole else value / float(count)
    return realized(out, image)
