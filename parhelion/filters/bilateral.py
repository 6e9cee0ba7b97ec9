"""The bilateral filter: a mean of the pixels around each one that are like it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.filters import whole_images
from parhelion.filters.channels import at_once, colours, joined
from parhelion.filters.given import above_zero, border_name, number, whole_number
from parhelion.filters.planes import Plane, array, plane, plane_axes, saturated
from parhelion.filters.points import by_points
from parhelion.filters.running import Image, run
from parhelion.filters.sampling import work_type
from parhelion.filters.windowed import window_sums
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.functions import cast
from parhelion.lang.mathfuncs import exp
from parhelion.types import Float
from parhelion.whole.array import Array

#: Of floats that are multiplied: a product with 0 is 0, and others may overflow.
_MOST = 1e38


def bilateral(
    image: Image,
    d: int,
    sigma_color: float,
    sigma_space: float,
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns an image that is smoothed but at its edges: each pixel is a mean of those
    around it, with weights that are less the farther they are and the more they differ.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type. All
        channels of a pixel have one weight. They are 3, or at most 4 as its last axis.
    d: how many pixels across the round window is, 3 at least; of an even number it is
        one more. 0 and less is ``3 * sigma_space``.
    sigma_color: in levels: how much pixels may differ. What channels differ by is added
        up. sigma_space: in pixels.
    border: a name of `Array.pad`'s; ``value`` is that of "constant".

    OpenCV calls it ``cv2.bilateralFilter``, scikit-image ``denoise_bilateral``. It is
    computed as a float, and integers are rounded to the nearest. Raises BoundsError for
    a sigma that is not above 0, and TypeMismatchError for what is no image, number or
    border.

    Formula: weights ``exp(-e**2 / (2 * sigma_color**2) - r**2 / (2 * sigma_space**2))``
    for pixels that differ by e at the distance r, divided by their sum; C. Tomasi and
    R. Manduchi, Bilateral filtering for gray and color images, 1998.

    >>> step = np.array([[10, 14, 10, 90, 94, 90]], np.uint8)
    >>> hl.filters.bilateral(step, 5, 20, 2).tolist()
    [[12, 12, 11, 91, 92, 92]]
    """
    across = whole_number(d, -(1 << 31), "d")
    color, space = [
        above_zero(s, name)
        for s, name in ((sigma_color, "sigma_color"), (sigma_space, "sigma_space"))
    ]
    radius = max(across // 2 if across > 0 else round(space * 1.5), 1)
    given = radius, color, space, border_name(border), number(value, "value")
    found: Image
    if type(image) is np.ndarray and (image.ndim != 3 or image.shape[2] == 1):
        found = run(_bilateral, image, *given)
    else:
        found = whole_images.run(
            _bilateral_of_colours, image, *given, schedule=by_points
        )
    return found


def _bilateral(
    image: Array,
    apart: int,
    radius: int,
    color: float,
    space: float,
    border: str,
    value: float,
) -> Array:
    p = plane(image, apart, border, value, "bilateral", radius)
    (found,) = _means([p], radius, color, space)
    return saturated(found, image.type)


def _bilateral_of_colours(
    image: Array, radius: int, color: float, space: float, border: str, value: float
) -> Array:
    plane_axes(image, "bilateral")
    parts = colours(image, "bilateral")
    planes = [plane(c, 0, border, value, "bilateral", radius) for c in parts]
    means = _means(planes, radius, color, space)
    found = at_once([saturated(m, image.type) for m in means], "blended")
    return found[0] if parts == [image] else joined(found, image, "bilateral")


def _means(
    planes: Sequence[Plane], radius: int, color: float, space: float
) -> list[Array]:
    """The mean of each channel."""
    like = planes[0].whole
    to = Float(64 if work_type(like.type) == "float64" else 32)
    by = wrap(imm(-min(0.5 / color / color, _MOST), to))

    def values(dy: Node, dx: Node) -> list[Expr]:
        return [cast(to, wrap(p.moved(dy, dx)._whole.value)) for p in planes]

    own = values(int32(0), int32(0))

    def terms(dy: Node, dx: Node, far: Node) -> list[Expr]:
        found = values(dy, dx)
        apart = abs(found[0] - own[0])
        for v, o in zip(found[1:], own[1:], strict=True):
            apart = apart + abs(v - o)
        weight = exp(apart * apart * by + wrap(far))
        return [*[weight * v for v in found], weight]

    places = [
        (i, j, -min((i * i + j * j) * 0.5 / space / space, _MOST))
        for i in range(-radius, radius + 1)
        for j in range(-radius, radius + 1)
        if 0 < i * i + j * j <= radius * radius
    ]
    first = [*own, wrap(imm(1, to))]
    *sums, weights = window_sums(places, terms, first, like)
    return [
        array((total / weights)._node, p.whole)
        for total, p in zip(sums, planes, strict=True)
    ]


__all__ = ["bilateral"]
