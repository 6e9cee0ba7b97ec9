"""Bicubic interpolation by cubic B-splines, whose sum has the values of the pixels.

At each pixel there is a B-spline, a bell that is four pixels wide, times a coefficient.
The coefficients are found by the *prefilter*, a recursive filter of one pole that runs
forwards and backwards along x and along y (Unser, Aldroubi and Eden, "B-spline signal
processing", 1993). Images are mirrored beyond their edges, edge pixels twice: SciPy's
mode "reflect".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.recursive.image import dimensions, pixel
from parhelion.recfilter import RecFilter

#: The root of z^2 + 4 z + 1 that is within the unit circle: at pixels, the values of
#: the B-spline are 1/6, 4/6 and 1/6.
POLE = math.sqrt(3) - 2


def spline_of(image: Array) -> RecFilter:
    """The coefficients of the image's B-splines."""
    *_, x, y = dims = dimensions(image)
    spline = RecFilter("spline", border="mirror")
    spline[dims] = pixel(image, dims)
    for direction in (+x, -x, +y, -y):
        spline.add_filter(direction, [1 - POLE, POLE])
    return spline


def prefilter(image: Array) -> Array:
    """Returns the coefficients of an (H, W) or (H, W, C) image, in floats, as
    `scipy.ndimage.spline_filter` does."""
    return np.asarray(spline_of(image).realize())


def resize(image: Array, height: int, width: int) -> Array:
    """Returns an (H, W) or (H, W, C) image in another size, in floats.

    Pixels are squares, whose values are those at their middle; the corners of the new
    image are those of the old one.
    """
    around = mirrored(image)
    *c, x, y = [hl.Var(d.name()) for d in dimensions(image)]
    i, across = cell((hl.f64(x) + 0.5) * (image.shape[1] / width) - 0.5, around)
    j, down = cell((hl.f64(y) + 0.5) * (image.shape[0] / height) - 0.5, around)
    rows, out = hl.Func("rows"), hl.Func("resized")
    rows[(*c, x, y)] = weighted(across, [around[(*c, i + k, y)] for k in range(4)])
    out[(*c, x, y)] = weighted(down, [rows[(*c, x, j + k)] for k in range(4)])
    rows.compute_root().parallel(y)
    out.parallel(y)
    return np.asarray(out.realize([*image.shape[2:], width, height]))


def sample(image: Array, rows: Array, columns: Array) -> Array:
    """Returns the values of an (H, W) image between its pixels, in floats, as
    `scipy.ndimage.map_coordinates` does.

    rows, columns: y and x of each point, in pixels, as arrays of floats of one
    dimension. Points may lie beyond the edges.
    """
    around = mirrored(image)
    p = hl.Var("p")
    i, across = cell(hl.f64(hl.Buffer(columns)[p]), around)
    j, down = cell(hl.f64(hl.Buffer(rows)[p]), around)
    lines = [
        weighted(across, [around[i + k, j + m] for k in range(4)]) for m in range(4)
    ]
    out = hl.Func("samples")
    out[p] = weighted(down, lines)
    return np.asarray(out.realize([len(rows)]))


def mirrored(image: Array) -> hl.Func:
    """The coefficients of an image that is mirrored beyond its edges."""
    spline = spline_of(image).as_func()
    height, width, *colour = image.shape
    bounds = [*[None for _ in colour], (0, width), (0, height)]
    return hl.BoundaryConditions.mirror_image(spline, bounds)


def cell(at: hl.Expr, of: hl.Func) -> tuple[hl.Expr, list[hl.Expr]]:
    """The first of the four pixels whose B-splines are not zero at a coordinate, and
    what those are there, in the type of a Func."""
    before = hl.floor(at)
    t = hl.cast(of.type(), at - before)
    s = 1 - t
    inner = [(4 - 3 * d * d * (2 - d)) / 6 for d in (t, s)]
    return hl.i32(before) - 1, [s * s * s / 6, *inner, t * t * t / 6]


def weighted(weights: list[hl.Expr], values: list[Any]) -> Any:
    """The sum of four values, each with its weight."""
    a, b, c, d = [w * value for w, value in zip(weights, values, strict=True)]
    return (a + b) + (c + d)
