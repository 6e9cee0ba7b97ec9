"""Colours of an image whose pixels have one colour each, as sensors have them."""

from __future__ import annotations

from collections.abc import Callable

from parhelion.errors import TypeMismatchError, here
from parhelion.filters.channels import joined
from parhelion.filters.given import one_of
from parhelion.filters.lines import STRIP, lanes_of
from parhelion.filters.planes import array, plane_axes
from parhelion.filters.running import Image
from parhelion.filters.whole_images import run
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.fixedpoint import rounding_halving_add
from parhelion.lang.func import Func
from parhelion.lang.functions import absd, cast, clamp, select
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import realization_order
from parhelion.types import Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import computed, coordinate, moved
from parhelion.whole.trace import Enough

#: The colours of the first two pixels of the first row, and of the second row.
_PATTERNS = ("rggb", "bggr", "grbg", "gbrg")
_METHODS = ("bilinear", "edge_aware")

#: The pixel so many rows below each one, and so many columns to the right.
_Pixel = Callable[[int, int], Expr]


def demosaic(image: Image, pattern: str = "rggb", method: str = "bilinear") -> Image:
    """Returns the colours of an image whose pixels have one colour each: the two others
    come from the pixels around.

    image: (H, W), of uint8 or uint16, of three rows and columns at least: what a sensor
        under a Bayer filter has seen. The result is (H, W, 3), red first, of its type.
    pattern: the colours of the first two pixels of the first row, and of those below
        them: "rggb", "bggr", "grbg" or "gbrg". With r and b in each other's place, blue
        comes first in the result.
    method: "bilinear", where a colour is the mean of the two or four nearest pixels
        that have it; "edge_aware", where green is the mean of the two pixels, across or
        down, that differ less.

    Means are rounded to the nearest, up from half a level. The outermost rows and
    columns are copies of those beside them.

    OpenCV calls it ``cv2.cvtColor``, and its codes by the second and third pixel of the
    second row: "rggb" is COLOR_BayerBG2RGB or COLOR_BayerRGGB2RGB, "bggr" BayerRG,
    "grbg" BayerGB and "gbrg" BayerGR; "edge_aware" is COLOR_BayerBG2RGB_EA. Results are
    equal; of fewer than three rows or columns OpenCV gives zeros. Raises BoundsError
    for such an image, and TypeMismatchError for what is no image of these types, and
    for another pattern or method.

    Formula: B. Bayer, Color imaging array, US patent 3971065, 1976; of "edge_aware", R.
    Hibbard, US patent 5382976, 1995.

    >>> image = np.array([[90, 50, 90, 50], [50, 10, 50, 10]] * 2, np.uint8)
    >>> hl.filters.demosaic(image)[2].tolist()
    [[90, 50, 10], [90, 50, 10], [90, 50, 10], [90, 50, 10]]
    """
    given = one_of(pattern, _PATTERNS, "pattern"), one_of(method, _METHODS, "method")
    found: Image = run(_demosaic, image, *given, schedule=_by_rows)
    return found


def _demosaic(image: Array, pattern: str, method: str) -> Array:
    y, x = plane_axes(image, "demosaic")
    own = image.type
    if own not in (UInt(8), UInt(16)) or image.ndim != 2:
        raise TypeMismatchError(
            "demosaic takes an image (H, W) of uint8 or uint16, not an array of"
            f" {image.ndim} axes of {own}",
            at=here(),
        )
    whole = computed(image._whole)
    for p, lines in ((y, "rows"), (x, "columns")):
        said = f"demosaic takes an image of at least 3 {lines}, not of"
        check = Enough(said, 3, whole.extent(p), here())
        if whole.trace is None:
            check.look({})
        else:
            whole.trace.check(check)
    row, column = [
        clamp(wrap(coordinate(p)), 1, wrap(whole.extent(p)) - 2) for p in (y, x)
    ]

    def pixel(down: int, right: int) -> Expr:
        to = {y: (row + down)._node, x: (column + right)._node}
        return wrap(moved(whole.value, to))

    # Where rows begin with green, coloured pixels are those at odd places.
    is_odd = _odd_places()
    is_coloured = is_odd[column + (row + pattern.index("g") + 1) % 2] == 0
    is_red_row = row % 2 == (0 if "r" in pattern[:2] else 1)
    same, green, other = _colours(pixel, own, is_coloured, method)
    red, blue = select(is_red_row, same, other), select(is_red_row, other, same)
    channels = [array(c._node, whole) for c in (red, green, blue)]
    return joined(channels, None, "demosaic")


def _odd_places() -> Func:
    """1 at odd places of a line, and 0 at the others: which is loaded in less time than
    it is computed in for each pixel."""
    at = Var("at")
    is_odd = Func("is_odd")
    is_odd[at] = cast(UInt(8), at % 2)
    return is_odd


def _colours(
    pixel: _Pixel, own: Type, is_coloured: Expr, method: str
) -> tuple[Expr, Expr, Expr]:
    """The colour that the row has beside green, green, and the third one.

    is_coloured: whether the pixel has the first of these; else it is green.
    """
    left, right, up, down = pixel(0, -1), pixel(0, 1), pixel(-1, 0), pixel(1, 0)
    across, along = rounding_halving_add(left, right), rounding_halving_add(up, down)
    if method == "edge_aware":
        is_steep = absd(left, right) > absd(up, down)
        around = select(is_steep, along, across)
    else:
        around = _mean(left, right, up, down, own)
    corners = _mean(pixel(-1, -1), pixel(1, 1), pixel(-1, 1), pixel(1, -1), own)
    at = pixel(0, 0)
    return (
        select(is_coloured, at, across),
        select(is_coloured, around, at),
        select(is_coloured, corners, along),
    )


def _mean(a: Expr, b: Expr, c: Expr, d: Expr, own: Type) -> Expr:
    """``(a + b + c + d + 2) >> 2`` without wider numbers.

    The mean of two means is it, or one more: where one of the means was rounded up, and
    the last one, too.
    """
    one, other = rounding_halving_add(a, b), rounding_halving_add(c, d)
    is_more = ((a ^ b) | (c ^ d)) & (one ^ other) & cast(own, 1)
    return rounding_halving_add(one, other) - is_more


def _by_rows(pipeline: Pipeline) -> None:
    """Schedules rows in strips, and in a row all colours of some pixels at once."""
    (out,) = pipeline.outputs()
    x, y, channel = out.args()
    strip, row = Var("strip"), Var("row")
    out.split(y, strip, row, STRIP, TailStrategy.GuardWithIf)
    out.parallel(strip).never_partition(strip, row)
    out.reorder(channel, x, row, strip).bound(channel, 0, 3).unroll(channel)
    out.vectorize(x, lanes_of(out._function.stages()[0]))
    for f in realization_order([out._function]):
        if f is not out._function:
            stage = Func._of(f).compute_root()
            stage.vectorize(stage.args()[0], lanes_of(f.stages()[0]))


__all__ = ["demosaic"]
