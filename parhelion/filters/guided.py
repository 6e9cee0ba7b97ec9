"""The guided filter: in each window, a line of the levels of a guide."""

from __future__ import annotations

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.filters.given import (
    above_zero,
    border_name,
    check_window,
    number,
    whole_number,
)
from parhelion.filters.planes import plane_axes, saturated
from parhelion.filters.running import Image, run
from parhelion.filters.sums import float_type
from parhelion.filters.whole_images import run_with
from parhelion.filters.windows import mean_of, variance_of
from parhelion.whole.array import Array


def guided(
    image: Image,
    radius: int,
    eps: float,
    guide: Image | None = None,
    border: str = "symmetric",
    value: float = 0,
) -> Image:
    """Returns an image that is smoothed but where a guide has edges.

    image: (H, W) or (H, W, C), of any numbers, each of whose channels is filtered by
        itself; the result has its shape and type.
    radius: how far a square window reaches around its middle, in pixels, 1 at least.
    eps: in squares of levels of the guide, above 0: windows whose variance is below it
        are smoothed.
    guide: of the image's shape, of any numbers; the image itself, if it is None.
    border: a name of `Array.pad`'s; ``value`` is that of "constant".

    OpenCV has it in its contributed modules, as ``cv2.ximgproc.guidedFilter``. It is
    computed as a float, and integers are rounded to the nearest. Raises BoundsError for
    a radius below 1 and an eps that is not above 0, and TypeMismatchError for what is
    no image, number or border, and for a guide of other axes.

    Formula: ``mean(a) * guide + mean(b)`` with ``a = cov(guide, image) / (var(guide) +
    eps)`` and ``b = mean(image) - a * mean(guide)``; K. He, J. Sun and X. Tang, Guided
    image filtering, 2010, section 3.

    >>> step = np.array([[10, 14, 10, 90, 94, 90]], np.uint8)
    >>> hl.filters.guided(step, 1, 100).tolist()
    [[11, 13, 12, 89, 92, 91]]
    """
    reach = whole_number(radius, 1, "radius")
    check_window(2 * reach + 1, "radius")
    least = above_zero(eps, "eps")
    given = reach, least, border_name(border), number(value, "value")
    found: Image
    if guide is None:
        found = run(_guided, image, *given)
    else:
        found = run_with(_guided_by, image, (guide,), *given)
    return found


def _guided(
    image: Array, apart: int, radius: int, eps: float, border: str, value: float
) -> Array:
    plane_axes(image, "guided")
    own = image.type
    if own.is_float():
        image = image.astype(float_type(own))
    window = 2 * radius + 1, 2 * radius + 1, border
    mean = mean_of(image, apart, *window, value)
    spread = variance_of(image, apart, *window, value).astype(mean.dtype)
    slope = spread / (spread + mean.dtype.type(eps))
    base = mean - slope * mean
    found = _lines(image, image, slope, base, apart, radius, border, value)
    return found.astype(own)


def _guided_by(
    image: Array, guide: Array, radius: int, eps: float, border: str, value: float
) -> Array:
    plane_axes(image, "guided")
    if image.ndim != guide.ndim:
        raise TypeMismatchError(
            f"the guide of guided has the image's shape, and it has {guide.ndim} axes"
            f" where the image has {image.ndim}",
            at=here(),
        )
    window = 2 * radius + 1, 2 * radius + 1, border
    wide, lead = image.astype("float64"), guide.astype("float64")
    mean, of_guide = [mean_of(a, 0, *window, value) for a in (wide, lead)]
    both = mean_of(wide * lead, 0, *window, value * value)
    exact = lead if guide.type.is_float() else guide
    spread = variance_of(exact, 0, *window, value).astype("float64")
    slope = (both - mean * of_guide) / (spread + np.float64(eps))
    base = mean - slope * of_guide
    return _lines(image, guide, slope, base, 0, radius, border, value)


def _lines(
    image: Array,
    guide: Array,
    slope: Array,
    base: Array,
    apart: int,
    radius: int,
    border: str,
    value: float,
) -> Array:
    """The mean of the lines of all windows that a pixel is in. Beyond a constant border
    they are level."""
    window = 2 * radius + 1, 2 * radius + 1, border
    slopes = mean_of(slope, apart, *window, 0)
    bases = mean_of(base, apart, *window, value)
    return saturated(slopes * guide.astype(slopes.dtype) + bases, image.type)


__all__ = ["guided"]
