"""Gaussian blur by recursive filters, at a cost that does not depend on its width.

From: van Vliet, Young and Verbeek, "Recursive Gaussian derivative filters" (1998). A
filter of order 3, run forwards and backwards, is nearly a Gaussian. Filters of orders 1
and 2 are its two factors: one after the other they do the same, and neither is much of
a Gaussian alone.
"""

from __future__ import annotations

import numpy as np

from apps.common import Array
from apps.recursive.image import dimensions, pixel
from parhelion.recfilter import RecFilter, gaussian_weights


def blur_of(image: Array, sigma: float, order: int = 3) -> RecFilter:
    """The image blurred along x and y, and mirrored beyond its edges."""
    *_, x, y = dims = dimensions(image)
    blur = RecFilter("blur", border="mirror")
    blur[dims] = pixel(image, dims)
    for direction in (+x, -x, +y, -y):
        blur.add_filter(direction, gaussian_weights(sigma, order))
    return blur


def gaussian_blur(image: Array, sigma: float, order: int = 3) -> Array:
    """Returns an (H, W) or (H, W, C) image blurred by a Gaussian, in floats.

    sigma: its standard deviation, in pixels. order: that of the filter, 1, 2 or 3.
    """
    return np.asarray(blur_of(image, sigma, order).realize())
