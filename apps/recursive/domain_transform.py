"""Edge-preserving smoothing: recursive filters that stop at edges.

From: Gastal and Oliveira, "Domain Transform for Edge-Aware Image and Video Processing"
(2011), the recursive filter of section 5.3. A step from pixel to pixel is as long as
the colour changes much, and the longer the step, the less is kept of the last value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.recursive.image import dimensions, pixel
from parhelion.recfilter import RecFilter, RecFilterDim


def smooth_within_edges(
    image: Array, spatial: float, tonal: float, passes: int = 3
) -> Array:
    """Returns an (H, W) or (H, W, C) image smoothed within its edges, in floats.

    spatial: the standard deviation of the smoothing in pixels where there is no edge.
    tonal: the difference in value, summed over channels, over which it is as far as
    over `spatial` pixels. passes: along x and y, each narrower than the one before.
    """
    *_, x, y = dims = dimensions(image)
    smooth = RecFilter("smooth")
    smooth[dims] = pixel(image, dims)
    steps = {d: step_to(image, dims, d, spatial / tonal) for d in (x, y)}
    for n in range(passes):
        sigma = spatial * math.sqrt(3 / (4**passes - 1)) * 2 ** (passes - 1 - n)
        for d, step in steps.items():
            forwards = (+d, 0, step[x, y])
            backwards = (-d, d.extent - 1, step[shifted((x, y), d, +1)])
            for direction, first, length in (forwards, backwards):
                kept = hl.Func("kept")
                value = hl.exp(-math.sqrt(2) / sigma * length)
                kept[x, y] = hl.select(d == first, 0, value)
                kept.compute_root().vectorize(x, 8).parallel(y)
                smooth.add_filter(direction, [1 - kept[x, y], kept[x, y]])
    return np.asarray(smooth.realize())


def step_to(
    image: Array, dims: Sequence[RecFilterDim], along: RecFilterDim, weight: float
) -> hl.Func:
    """How long the step along a dimension is to each pixel from the one before: one
    pixel, and `weight` times the difference in value."""
    *c, x, y = dims
    value, step = hl.Func("value"), hl.Func(f"step_{along.name()}")
    value[tuple(dims)] = pixel(image, dims)
    last = shifted((x, y), along, -1)
    step[x, y] = 1 + weight * sum(
        [
            hl.abs(value[(*own, x, y)] - value[(*own, *last)])
            for own in ([(k,) for k in range(c[0].extent)] if c else [()])
        ]
    )
    return step.compute_root().vectorize(x, 8).parallel(y)


def shifted(
    dims: Sequence[RecFilterDim], along: RecFilterDim, by: int
) -> tuple[Any, ...]:
    """The coordinates `by` pixels on, or at the edge."""
    return tuple([hl.clamp(d + by, 0, d.extent - 1) if d is along else d for d in dims])
