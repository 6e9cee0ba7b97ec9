"""Difference of Gaussians: what a narrow blur keeps of an image, and a wide one does
not.

Both blurs and the difference are one pipeline.
"""

from __future__ import annotations

import parhelion as hl
from apps.common import Array
from apps.recursive.gaussian import blur_of
from apps.recursive.image import dimensions, realized


def difference_of_gaussians(image: Array, narrow: float, wide: float) -> Array:
    """Returns an (H, W) or (H, W, C) image blurred by a Gaussian, less the image
    blurred by a wider one, in floats.

    narrow, wide: the standard deviations of both, in pixels.
    """
    dims = dimensions(image)
    one, other = [blur_of(image, s) for s in (narrow, wide)]
    difference = hl.Func("difference")
    difference[dims] = one[dims] - other[dims]
    return realized(difference, image)
