"""Images whose pixels come from computed places: warps, maps and rotations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.filters.applied import applied
from parhelion.filters.given import border_name, kernel, number, one_of, pair, sizes
from parhelion.filters.planes import plane_axes, saturated
from parhelion.filters.points import by_pixels
from parhelion.filters.resizing import check_filled
from parhelion.filters.sampling import (
    TAPS,
    blended,
    first,
    held,
    inside,
    is_inside,
    weights,
    whole_part,
    work_type,
)
from parhelion.filters.whole_images import Image, run_with
from parhelion.ir import build
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr as Node
from parhelion.types import Float
from parhelion.whole import assembling
from parhelion.whole.array import Array
from parhelion.whole.core import MOST_CHANNELS, Whole, computed, coordinate, moved
from parhelion.whole.elementwise import convert
from parhelion.whole.operands import operand
from parhelion.whole.schedules import Schedule
from parhelion.whole.trace import Counted, SameExtent

_KINDS = ("nearest", "linear", "cubic")


def remap(
    image: Image,
    xs: Any,
    ys: Any,
    kind: str = "linear",
    border: str = "constant",
    value: float = 0,
) -> Image:
    """Returns an image whose pixels come from places that two arrays say.

    image: (H, W) or (H, W, C), of any numbers, with a pixel at least; the result has
        its type and channels, and as many rows and columns as the arrays.
    xs, ys: columns and rows in the image for each pixel of the result, (rows, columns)
        of floats; the middle of the first pixel is 0. NaN has no result that can be
        relied on.
    kind: "nearest" (of two the even one), "linear" or "cubic".
    border: what lies beyond the edges, a name of `Array.pad`'s; ``value`` is that of
        "constant".

    OpenCV calls it ``cv2.remap``. Integers are computed as floats, rounded to the
    nearest and limited to their type. Raises TypeMismatchError for what is no image,
    places, kind or border, and BoundsError for arrays of other shapes than each other's
    and an image without pixels.

    Formula: out[y, x] = image[ys[y, x], xs[y, x]]; R. Szeliski, Computer Vision, 2nd
    edition, section 3.6.

    >>> row = np.array([[10, 20, 40]], np.uint8)
    >>> xs = np.array([[0.5, 1, 1.75, 9]], np.float32)
    >>> hl.filters.remap(row, xs, np.zeros((1, 4), np.float32)).tolist()
    [[15, 20, 35, 0]]
    """
    name, word = one_of(kind, _KINDS, "kind"), border_name(border)
    places = [_places(a, what) for a, what in ((xs, "xs"), (ys, "ys"))]
    given = name, word, number(value, "value")
    found: Image = run_with(
        _remap, image, tuple(places), *given, schedule=_scheduled(image)
    )
    return found


def _places(given: Any, what: str) -> Any:
    if isinstance(given, Array):
        ok = given.ndim == 2 and given.type.is_float()
    else:
        given = np.asarray(given)
        ok = given.ndim == 2 and given.dtype.kind == "f"
    if not ok:
        raise TypeMismatchError(
            f"{what} are places in an image, an array (rows, columns) of floats, not"
            f" {given!r:.60}",
            at=here(),
        )
    return given


def _remap(
    image: Array, xs: Array, ys: Array, kind: str, border: str, value: float
) -> Array:
    plane_axes(image, "remap")
    one, other = xs._whole, ys._whole
    for k in (0, 1):
        check = SameExtent(one.shape, other.shape, (k, k), here())
        trace = image._whole.trace
        if trace is None:
            check.look({})
        else:
            trace.check(check)
    return _sampled(image, ys, xs, kind, border, value, "remap")


def warp_affine(
    image: Image,
    matrix: Any,
    size: int | tuple[int, int] | None = None,
    kind: str = "linear",
    border: str = "constant",
    value: float = 0,
    inverse: bool = False,
) -> Image:
    """Returns an image moved, turned, scaled and sheared by a matrix.

    image: (H, W) or (H, W, C), of any numbers, with a pixel at least.
    matrix: (2, 3): what is at (x, y) goes to ``matrix @ (x, y, 1)``. In a function
        under `hl.jit` it may be an Array; other matrices of one call need no other
        code.
    size: rows and columns of the result; those of the image if it is None.
    inverse: whether the matrix says where pixels come from: then it is taken as it is.
    kind, border, value: as of `remap`.

    OpenCV calls it ``cv2.warpAffine``. A matrix without an inverse gives pixels that
    cannot be relied on. Raises TypeMismatchError and BoundsError as `remap`, and
    TypeMismatchError for another matrix.

    Formula: R. Szeliski, Computer Vision, 2nd edition, section 3.6.1.

    >>> row = np.array([[1, 2, 3, 4]], np.uint8)
    >>> hl.filters.warp_affine(row, [[1, 0, 1], [0, 1, 0]]).tolist()
    [[0, 1, 2, 3]]
    """
    given = _given(size, kind, border, value, inverse)
    found: Image = run_with(
        _warp, image, (_matrix(matrix, (2, 3)),), 2, *given, schedule=_scheduled(image)
    )
    return found


def warp_perspective(
    image: Image,
    matrix: Any,
    size: int | tuple[int, int] | None = None,
    kind: str = "linear",
    border: str = "constant",
    value: float = 0,
    inverse: bool = False,
) -> Image:
    """Returns an image seen in another perspective.

    matrix: (3, 3): what is at (x, y) goes to ``(u / w, v / w)``, where ``(u, v, w)`` is
        ``matrix @ (x, y, 1)``.

    All else is as of `warp_affine`. OpenCV calls it ``cv2.warpPerspective``. Raises
    what `warp_affine` raises.

    Formula: R. Hartley and A. Zisserman, Multiple View Geometry, 2nd edition, section
    2.3.

    >>> row = np.array([[1, 2, 3, 4]], np.uint8)
    >>> wide = [[2, 0, 0.5], [0, 1, 0], [0, 0, 1]]
    >>> hl.filters.warp_perspective(row, wide, border="edge").tolist()
    [[1, 1, 2, 2]]
    """
    given = _given(size, kind, border, value, inverse)
    found: Image = run_with(
        _warp, image, (_matrix(matrix, (3, 3)),), 3, *given, schedule=_scheduled(image)
    )
    return found


def rotate(
    image: Image,
    degrees: float,
    scale: float = 1,
    center: tuple[float, float] | None = None,
    kind: str = "linear",
    border: str = "constant",
    value: float = 0,
) -> Image:
    """Returns an image turned around a point, against the clock.

    image: (H, W) or (H, W, C), of any numbers, with a pixel at least; the result has
        its shape and type.
    degrees: by how much. scale: how much larger things get.
    center: the row and column of the point; the middle of the image, ``((H - 1) / 2,
        (W - 1) / 2)``, if it is None.
    kind, border, value: as of `remap`.

    OpenCV has it as ``cv2.getRotationMatrix2D`` and ``cv2.warpAffine``; `turn` turns by
    right angles without interpolation. Raises what `remap` raises, and BoundsError for
    a scale that is not above 0.

    Formula: the matrix of `warp_affine` is (cos, sin; -sin, cos) times the scale, and
    leaves the point where it is.

    >>> image = np.array([[0, 0, 0], [0, 0, 9], [0, 0, 0]], np.uint8)
    >>> hl.filters.rotate(image, 90).tolist()
    [[0, 9, 0], [0, 0, 0], [0, 0, 0]]
    """
    angle, factor = number(degrees, "degrees"), number(scale, "scale")
    if factor <= 0:
        raise BoundsError(f"scale is above 0, not {factor}", at=here())
    middle = None
    if center is not None:
        middle = tuple([float(number(c, "center")) for c in pair(center, "center")])
    name, word = one_of(kind, _KINDS, "kind"), border_name(border)
    turned = np.array(
        [math.cos(math.radians(angle)) / factor, math.sin(math.radians(angle)) / factor]
    )
    given = middle, name, word, number(value, "value")
    found: Image = run_with(
        _rotate, image, (turned,), *given, schedule=_scheduled(image)
    )
    return found


def _scheduled(image: Any) -> Schedule:
    """The schedule of pixels alone, all channels of one at once, as they come from the
    same place. It is found for others than few channels, and for axes with names."""
    if type(image) is not np.ndarray or image.ndim not in (2, 3):
        return None
    few = image.ndim == 2 or 0 < image.shape[2] <= MOST_CHANNELS
    return by_pixels if few else None


def _given(
    size: object, kind: object, border: object, value: object, inverse: object
) -> tuple[object, ...]:
    to = None if size is None else sizes(size, "size")
    name, word = one_of(kind, _KINDS, "kind"), border_name(border)
    return to, name, word, number(value, "value"), bool(inverse)


def _matrix(given: Any, shape: tuple[int, int]) -> Any:
    if isinstance(given, Array):
        if given.ndim == 2:
            return given
    else:
        table = np.asarray(kernel(given, 2, "matrix"), np.float64)
        if table.shape == shape:
            return table
    raise TypeMismatchError(
        f"matrix has the shape {shape}, and {given!r:.60} has another", at=here()
    )


def _warp(
    image: Array,
    matrix: Array,
    rows: int,
    size: tuple[int, int] | None,
    kind: str,
    border: str,
    value: float,
    inverse: bool,
) -> Array:
    y, x = plane_axes(image, "a warp")
    wide = matrix.astype("float64")
    for k, count in enumerate((rows, 3)):
        words = "matrix has rows, and their number is", "matrix has columns, and their"
        said = words[0] if k == 0 else f"{words[1]} number is"
        check = Counted(said, count, matrix._whole.shape[k], here())
        if image._whole.trace is None:
            check.look({})
        else:
            image._whole.trace.check(check)
    m = [[wide[i, j] for j in range(3)] for i in range(rows)]
    if not inverse:
        m = _inverse(m)
    whole = image._whole
    shape = [whole.extent(y), whole.extent(x)]
    if size is not None:
        shape = [int32(size[0]), int32(size[1])]
    to = work_type(image.type)
    # Numbers of a matrix are a stage: they are computed once.
    flat = Array._of(
        computed(assembling.stack([n for row in m for n in row]), "matrix")
    )
    m = [[flat[3 * i + j].astype(to) for j in range(3)] for i in range(rows)]
    row, column = _grid(shape, to, image)
    u, v = [a * column + b * row + c for a, b, c in m[:2]]
    if rows == 3:
        a, b, c = m[2]
        w = a * column + b * row + c
        u, v = u / w, v / w
    return _sampled(image, v, u, kind, border, value, "a warp")


def _inverse(m: list[list[Array]]) -> list[list[Array]]:
    """The inverse of a matrix, by its minors; of an affine one in two rows."""
    if len(m) == 2:
        (a, b, c), (d, e, f) = m
        n = a * e - b * d
        return [
            [e / n, -b / n, (b * f - e * c) / n],
            [-d / n, a / n, (d * c - a * f) / n],
        ]

    def minor(i: int, j: int) -> Array:
        r, s = [k for k in range(3) if k != i]
        p, q = [k for k in range(3) if k != j]
        found = m[r][p] * m[s][q] - m[r][q] * m[s][p]
        return found if (i + j) % 2 == 0 else -found

    n = m[0][0] * minor(0, 0) + m[0][1] * minor(0, 1) + m[0][2] * minor(0, 2)
    return [[minor(j, i) / n for j in range(3)] for i in range(3)]


def _grid(shape: list[Node], to: str, image: Array) -> tuple[Array, Array]:
    """The row and the column of each pixel of a plane."""
    t = Float(64) if to == "float64" else Float(32)
    found = []
    for p in (1, 0):
        value = build.cast(t, coordinate(p))
        whole = Whole(value, tuple(shape), (None, None), image._whole.trace)
        found.append(Array._of(whole))
    return found[0], found[1]


def _rotate(
    image: Array,
    turned: Array,
    center: tuple[float, float] | None,
    kind: str,
    border: str,
    value: float,
) -> Array:
    y, x = plane_axes(image, "rotate")
    whole, to = image._whole, work_type(image.type)
    row, column = _grid([whole.extent(y), whole.extent(x)], to, image)
    if center is None:
        half = [
            Array._of(Whole(whole.extent(p), (), (), whole.trace)).astype(to) * 0.5
            for p in (y, x)
        ]
        middle: list[Any] = [h - 0.5 for h in half]
    else:
        middle = list(center)
    cos, sin = [turned[k].astype(to) for k in range(2)]
    down, across = row - middle[0], column - middle[1]
    xs = across * cos - down * sin + middle[1]
    ys = across * sin + down * cos + middle[0]
    return _sampled(image, ys, xs, kind, border, value, "rotate")


def _sampled(
    image: Array,
    ys: Array,
    xs: Array,
    kind: str,
    border: str,
    value: float,
    what: str,
) -> Array:
    """The values of an image at places of a plane."""
    y, x = plane_axes(image, what)
    check_filled(image, (y, x), what)
    whole = computed(image._whole)
    shape = list(whole.shape)
    to = work_type(image.type)
    places, parts = {}, {}
    for p, q, at in ((y, 1, ys), (x, 0, xs)):
        shape[whole.rank - 1 - p] = at._whole.extent(q)
        # A plane's axes are those of the image, wherever these stand.
        spread = moved(at._whole.value, {1: coordinate(y), 0: coordinate(x)})
        line = Array._of(
            Whole(spread, tuple(whole.shape), whole.names, whole.trace)
        ).astype(to)
        limited = held(line, whole.extent(p), border, TAPS[kind])
        if kind == "nearest":
            places[p] = applied("rint", limited).astype("int32")._whole.value
        else:
            before, t = whole_part(limited)
            places[p] = before._whole.value
            parts[p] = weights(kind, t)
    fill = convert(operand(value if border == "constant" else 0), whole.type)

    def pixel(dy: int, dx: int) -> Array:
        at = {
            y: build.add(places[y], int32(dy)),
            x: build.add(places[x], int32(dx)),
        }
        found = moved(
            whole.value, {p: inside(n, whole.extent(p), border) for p, n in at.items()}
        )
        if border == "constant":
            seen = [is_inside(n, whole.extent(p)) for p, n in at.items()]
            found = build.select(build.land(seen[0], seen[1]), found, fill)
        return Array._of(Whole(found, tuple(shape), whole.names, whole.trace))

    if kind == "nearest":
        return pixel(0, 0)
    low = first(kind)

    def line_at(k: int) -> Array:
        return blended(lambda j: pixel(k + low, j + low).astype(to), ratios_x)

    ratios_x, ratios_y = [[_shaped(w, shape) for w in parts[p]] for p in (x, y)]
    return saturated(blended(line_at, ratios_y), image.type)


def _shaped(a: Array, shape: list[Node]) -> Array:
    whole = a._whole
    return Array._of(Whole(whole.value, tuple(shape), whole.names, whole.trace))


__all__ = ["remap", "rotate", "warp_affine", "warp_perspective"]
