"""Images in other sizes."""

from __future__ import annotations

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.filters.given import number, one_of, pair, sizes
from parhelion.filters.halving import halved
from parhelion.filters.line_tables import Line
from parhelion.filters.planes import plane_axes, saturated
from parhelion.filters.running import Image, as_a_whole, rows_of, run
from parhelion.filters.sampling import (
    TAPS,
    between,
    blended,
    first,
    inside,
    shares,
    table,
    work_type,
)
from parhelion.filters.stretched import stretched
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Intrinsic
from parhelion.lang import inline
from parhelion.lang.expr import wrap
from parhelion.lang.rdom import RDom
from parhelion.types import INT32, Float
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, computed, coordinate, moved
from parhelion.whole.trace import Filled

_KINDS = (*TAPS, "area")
_WIDE = Float(64)


def resize(
    image: Image,
    size: int | tuple[int, int] | None = None,
    scale: float | tuple[float, float] | None = None,
    kind: str = "linear",
) -> Image:
    """Returns an image with another number of rows and columns.

    image: (H, W) or (H, W, C), of any numbers, with a pixel at least; the result has
        its type and channels.
    size: rows and columns of the result, or one number for both.
    scale: instead of a size, factors of rows and of columns, or one for both: there are
        ``round(factor * H)`` rows, one at least.
    kind: "nearest" takes the pixel at ``floor(y * (1 / (rows / H)))``, in float64;
        "linear", "cubic" and "lanczos" interpolate between 2, 4 and 8 pixels along each
        axis; "area" is the mean of what a pixel of the result covers, for smaller
        images without aliasing.

    Pixels are areas, so that the middle of pixel 0 is at 0.5 in both images, as in
    OpenCV, which calls it ``cv2.resize``. Beyond the edge are the pixels at the edge.
    Integers are computed as floats, rounded to the nearest and limited to their type.

    Raises TypeMismatchError for what is no image or kind, and where not just one of
    `size` and `scale` is given; BoundsError for a size below 1, a factor that is not
    above 0, and an image without pixels.

    Formula: R. Szeliski, Computer Vision, 2nd edition, section 3.5.

    >>> hl.filters.resize(np.array([[0, 40], [80, 120]], np.uint8), (1, 4)).tolist()
    [[40, 50, 70, 80]]
    """
    name = one_of(kind, _KINDS, "kind")
    if (size is None) == (scale is None):
        raise TypeMismatchError(
            "resize is told either the size of the result or the scale, and not"
            f" {'both' if size is not None else 'neither'}",
            at=here(),
            hint="size=(rows, columns) or scale=0.5",
        )
    to = None if size is None else sizes(size, "size")
    if to is not None and max(to) >= 1 << 31:
        raise BoundsError(
            f"size has {max(to)} pixels along an axis, and coordinates have 32 bits",
            at=here(),
        )
    by = None if scale is None else _factors(scale)
    if isinstance(image, Array):
        return _resize(image, 0, to, by, name)
    rows = rows_of(_resize, image)
    if rows is None or 0 in rows.shape:
        found: Image = as_a_whole(_resize, image, to, by, name)
        return found
    down, across = [_line(n, k, to, by) for k, n in enumerate(rows.shape[:2])]
    if name in ("linear", "area") and down.is_halved and across.is_halved:
        found = run(halved, image)
    else:
        made = stretched(rows.elements, rows.apart, (down, across), name)
        found = rows.pixels(made)
    return found


def _line(
    n: int, k: int, size: tuple[int, int] | None, scale: tuple[float, float] | None
) -> Line:
    """As `_sized`, of an axis whose extent is known."""
    if size is not None:
        return Line(n, size[k], 1 / (size[k] / n))
    assert scale is not None
    return Line(n, max(round(n * scale[k]), 1), 1 / scale[k])


def _factors(scale: object) -> tuple[float, float]:
    rows, columns = [number(s, "scale") for s in pair(scale, "scale")]
    for factor in (rows, columns):
        if factor <= 0:
            raise BoundsError(f"scale is above 0, not {factor}", at=here())
    return rows, columns


def _resize(
    image: Array,
    apart: int,
    size: tuple[int, int] | None,
    scale: tuple[float, float] | None,
    kind: str,
) -> Array:
    """An image in a program of others; `apart` is 0."""
    y, x = plane_axes(image, "resize")
    check_filled(image, (y, x), "resize")
    to = work_type(image.type)
    counts, steps = [], []
    for k, p in ((0, y), (1, x)):
        count, step = _sized(image._whole.extent(p), k, size, scale)
        counts.append(count)
        steps.append(step)
    work = image
    # Rows first: their pixels lie side by side, and there are fewer afterwards when an
    # image gets smaller.
    for p, count, step in zip((y, x), counts, steps, strict=True):
        work = _along(work, p, count, step, kind, to)
    return saturated(work, image.type)


def check_filled(image: Array, axes: tuple[int, int], what: str) -> None:
    """Checks that an image has a pixel, now or when it is given. Raises BoundsError."""
    whole = image._whole
    at = tuple([whole.rank - 1 - p for p in axes])
    check = Filled(what, whole.shape, at, here())
    if whole.trace is None:
        check.look({})
    else:
        whole.trace.check(check)


def _sized(
    n: Node,
    k: int,
    size: tuple[int, int] | None,
    scale: tuple[float, float] | None,
) -> tuple[Node, Node]:
    """The extent of an axis in the result, and the step from one pixel of it to the
    next, in pixels of the image. n: its extent there. k: 0 for rows, 1 for columns."""
    if size is None:
        assert scale is not None
        return _scaled(n, scale[k]), imm(1 / scale[k], _WIDE)
    # Rounded twice, and as it stands: of a quotient that is a little less, the pixel
    # before would be the nearest. OpenCV has the same factor.
    ratio = build.div(imm(float(size[k]), _WIDE), build.cast(_WIDE, n))
    exact = build.div(imm(1.0, _WIDE), ratio)
    return int32(size[k]), Intrinsic(_WIDE, "strict_float", (exact,))


def _scaled(n: Node, factor: float) -> Node:
    exact = build.mul(build.cast(_WIDE, n), imm(factor, _WIDE))
    rounded = build.cast(INT32, Intrinsic(_WIDE, "round", (exact,)))
    return build.maximum(rounded, int32(1))


def _along(image: Array, p: int, count: Node, step: Node, kind: str, to: str) -> Array:
    """An image with another number of pixels along an axis, which is counted from the
    last. step: from one to the next, in pixels of the image."""
    trace = image._whole.trace
    place = build.cast(_WIDE, coordinate(0))
    line = Array._of(Whole(place, (count,), (None,), trace))
    by = Array._of(Whole(step, (), (), trace))
    if kind == "nearest":
        return _taken(image, p, (line * by).astype("int32"), 0)
    if kind == "area":
        return _covered(image, p, line, by, to)
    before, t = between(line, by)
    at = Array._of(computed(before._whole, "at"))
    ratios = table(kind, t.astype(to))
    spread = [_spread(ratios[k], p, image._whole) for k in range(TAPS[kind])]
    return blended(lambda k: _taken(image, p, at, k + first(kind)).astype(to), spread)


def _covered(image: Array, p: int, points: Array, by: Array, to: str) -> Array:
    """The means of what points of the result cover, each `by` pixels long."""
    whole = computed(image._whole)
    at, ratios, most = shares(points, by, to)
    r = RDom([(0, wrap(most))])
    here_ = coordinate(p)
    where_ = build.add(moved(at._whole.value, {0: here_}), r.x._node)
    place = inside(where_, whole.extent(p), "edge")
    weight = moved(ratios._whole.value, {0: here_, 1: r.x._node})
    pixel = build.cast(ratios.type, moved(whole.value, {p: place}))
    total = inline.sum(r, wrap(build.mul(weight, pixel)))._node
    return Array._of(_with_extent(whole, total, p, points._whole.shape[0]))


def _spread(line: Array, p: int, like: Whole) -> Array:
    """Numbers for the points of an axis, for all that is along it."""
    value = moved(line._whole.value, {0: coordinate(p)})
    return Array._of(_with_extent(like, value, p, line._whole.shape[0]))


def _taken(image: Array, p: int, at: Array, more: int) -> Array:
    """The pixels at some places along an axis, moved by a number of pixels."""
    whole = computed(image._whole)
    place = build.add(moved(at._whole.value, {0: coordinate(p)}), int32(more))
    place = inside(place, whole.extent(p), "edge")
    found = moved(whole.value, {p: place})
    return Array._of(_with_extent(whole, found, p, at._whole.shape[0]))


def _with_extent(like: Whole, value: Node, p: int, extent: Node) -> Whole:
    at = like.rank - 1 - p
    shape = (*like.shape[:at], extent, *like.shape[at + 1 :])
    return Whole(value, shape, like.names, like.trace)


__all__ = ["check_filled", "resize"]
