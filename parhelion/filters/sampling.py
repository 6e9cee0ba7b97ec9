"""Values of an image between its pixels: which pixels, and with what weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from parhelion.filters.applied import applied
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Intrinsic
from parhelion.types import INT32, Float, Type
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, computed, coordinate
from parhelion.whole.functions import where

_WIDE = Float(64)
#: Of each kind, the pixels that a value is made of, along one axis.
TAPS = {"nearest": 1, "linear": 2, "cubic": 4, "lanczos": 8}


def first(kind: str) -> int:
    """Where the first of these pixels is, counted from the one before the point."""
    return 1 - max(TAPS[kind] // 2, 1)


def weight(kind: str, d: Array) -> Array:
    """The weight of a pixel. d: how far it is from the point, in pixels.

    Source: of "cubic", R. Keys, Cubic convolution interpolation, 1981, with the slope
    -0.75 that OpenCV takes; of "lanczos", C. Duchon, Lanczos filtering, 1979, with 4
    pixels to each side.
    """
    d = abs(d)
    if kind == "linear":
        return 1 - d
    if kind == "cubic":
        near = (1.25 * d - 2.25) * d * d + 1
        far = ((-0.75 * d + 3.75) * d - 6) * d + 3
        return where(d <= 1, near, far)
    at_pixel = d < 1e-6
    angle = where(at_pixel, 1.0, d) * math.pi
    value = applied("sin", angle) * applied("sin", angle / 4) * 4 / (angle * angle)
    return where(at_pixel, 1.0, value)


def weights(kind: str, t: Array) -> list[Array]:
    """The weights of all pixels. t: how far the point is behind the pixel before it, in
    [0, 1)."""
    found = [weight(kind, t - (k + first(kind))) for k in range(TAPS[kind])]
    if kind != "lanczos":
        return found
    total = added(found)
    return [one / total for one in found]


def table(kind: str, t: Array) -> Array:
    """The weights for points on a line as a stage: (pixels, points)."""
    line, to = t._whole, t.type
    pixel = build.add(coordinate(1), int32(first(kind)))
    shape = (int32(TAPS[kind]), *line.shape)
    offset = build.sub(line.value, build.cast(to, pixel))
    raw = weight(kind, Array._of(Whole(offset, shape, (None, None), line.trace)))
    if kind == "lanczos":
        raw = Array._of(computed(raw._whole, "raw"))
        raw = raw / added([raw[k] for k in range(TAPS[kind])])
    return Array._of(computed(raw._whole, "weights"))


def between(points: Array, step: Array) -> tuple[Array, Array]:
    """The pixel before each point of a line, and how far the point is behind it.

    step: from one point to the next, in pixels; the first one is half a step, less half
    a pixel, behind pixel 0, as both are areas.
    """
    return whole_part((points + 0.5) * step - 0.5)


def shares(
    points: Array, step: Array, to: str, most: Node | None = None
) -> tuple[Array, Array, Node]:
    """What the points of a line cover, each a step long: the first pixel of each; what
    part of its length lies in each pixel from that one on, a table (pixels, points);
    and how many pixels that has, which may be given."""
    low = points * step
    before, _ = whole_part(low)
    at = Array._of(computed(before._whole, "at"))
    high = low + step
    if most is None:
        longest = build.cast(INT32, Intrinsic(_WIDE, "floor", (step._whole.value,)))
        most = build.add(longest, int32(2))
    line = points._whole
    number = build.cast(INT32, coordinate(1))
    k = Array._of(Whole(number, (most, *line.shape), (None, None), line.trace))
    begins = (at + k).astype("float64")
    begin = applied("maximum", begins, low)
    end = applied("minimum", begins + 1, high)
    share = (end - begin).clip(0, None) / step
    return at, Array._of(computed(share.astype(to)._whole, "weights")), most


def added(values: Sequence[Array]) -> Array:
    total = values[0]
    for one in values[1:]:
        total = total + one
    return total


def blended(value: Callable[[int], Array], ratios: Sequence[Array]) -> Array:
    """The sum of some values with weights."""
    return added([value(k) * w for k, w in enumerate(ratios)])


def work_type(own: Type) -> str:
    """The float that values are computed in."""
    wide = own is Float(64) or (own.is_int_or_uint() and own.width > 16)
    return "float64" if wide else "float32"


def inside(at: Node, n: Node, border: str) -> Node:
    """A coordinate on an axis of `n` pixels, for one that may be beyond its edges.

    border: a name of `whole.borders`; of a constant one it is at the edge.
    """
    last = build.sub(n, int32(1))
    if border == "wrap":
        at = build.mod(at, n)
    elif border in ("reflect", "symmetric"):
        once = int32(1 if border == "symmetric" else 0)
        # An axis of one pixel has no other to be reflected at.
        period = build.maximum(build.mul(build.add(last, once), int32(2)), int32(1))
        at = build.mod(at, period)
        back = build.sub(build.sub(period, once), at)
        at = build.minimum(at, back)
    return build.clamp(at, int32(0), last)


def held(at: Array, n: Node, border: str, more: int) -> Array:
    """Coordinates as floats, limited to what an int32 can be made of; where all that
    lies beyond the edge is alike, to so many pixels beyond it."""
    to = at.type
    if border in ("constant", "edge"):
        low: Node = imm(-more, to)
        high: Node = build.cast(to, build.add(n, int32(more)))
    else:
        low, high = imm(-(1 << 24), to), imm(1 << 24, to)
    limited = build.minimum(build.maximum(at._whole.value, low), high)
    whole = at._whole
    return Array._of(Whole(limited, whole.shape, whole.names, whole.trace))


def is_inside(at: Node, n: Node) -> Node:
    """Whether a coordinate is on an axis of `n` pixels."""
    return build.land(build.le(int32(0), at), build.lt(at, n))


def whole_part(at: Array) -> tuple[Array, Array]:
    """The pixel before each point, as int32, and how far the point is behind it."""
    before = applied("floor", at)
    return before.astype(INT32), at - before


__all__ = [
    "TAPS",
    "added",
    "between",
    "blended",
    "first",
    "held",
    "inside",
    "is_inside",
    "shares",
    "table",
    "weights",
    "whole_part",
    "work_type",
]
