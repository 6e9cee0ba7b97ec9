"""What the applications of recursive filters share: how an image is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import parhelion as hl
from apps.common import Array
from parhelion.recfilter import RecFilterDim


def dimensions(image: Array) -> tuple[RecFilterDim, ...]:
    """The dimensions x and y of an (H, W) image, or c, x and y of an (H, W, C) one: the
    innermost first, as a Buffer of the image has them.

    No filter runs along c, so that channels do not mix.
    """
    names = "cxy"[-image.ndim :]
    return tuple([RecFilterDim(*d) for d in zip(names, image.shape[::-1], strict=True)])


def pixel(image: Array, dims: Sequence[hl.Var]) -> hl.Expr:
    """The pixel at coordinates as a float: of float64 if the image is of that type, of
    float32 otherwise."""
    value = hl.Buffer(image)[tuple(dims)]
    return value if image.dtype == np.float64 else hl.f32(value)


def realized(f: hl.Func, image: Array) -> Array:
    """The values of a Func over an image, its lines computed in parallel."""
    f.parallel(f.args()[-1])
    return np.asarray(f.realize(list(image.shape[::-1])))
