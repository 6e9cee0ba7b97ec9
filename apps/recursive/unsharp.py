"""Unsharp mask: sharpening by what a recursive Gaussian blur takes away.

Each channel is blurred by itself: colour is a dimension without filters.
"""

from __future__ import annotations

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.recursive.gaussian import blur_of
from apps.recursive.image import dimensions, pixel, realized


def unsharp_mask(image: Array, sigma: float, amount: float = 1.0) -> Array:
    """Returns image + amount * (image - blurred image) of an (H, W) or (H, W, C) image:
    in uint8, rounded and clipped, of an image of uint8, and in floats of others.

    sigma: the standard deviation of the blur, in pixels.
    """
    dims = dimensions(image)
    blur = blur_of(image, sigma)
    value = pixel(image, dims)
    sharp = value + amount * (value - blur[dims])
    out = hl.Func("unsharp")
    out[dims] = hl.u8_sat(hl.round(sharp)) if image.dtype == np.uint8 else sharp
    return realized(out, image)
