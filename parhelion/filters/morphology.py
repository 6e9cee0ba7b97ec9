"""Erosion and dilation by flat elements, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, reduce
from math import isqrt
from typing import Any, TypeAlias

from parhelion.errors import BoundsError, here
from parhelion.filters.given import (
    border_name,
    check_window,
    kernel,
    number,
    one_of,
    sizes,
    window,
)
from parhelion.filters.planes import Plane, array, plane
from parhelion.filters.running import Image, run
from parhelion.lang.expr import wrap
from parhelion.lang.fixedpoint import saturating_sub
from parhelion.types import Type
from parhelion.whole.array import Array
from parhelion.whole.elementwise import apply

#: Rows of 0 and 1.
Rows: TypeAlias = tuple[tuple[int, ...], ...]
_SHAPES = ("rectangle", "cross", "ellipse")
#: The border of which no pixel is the least, or the greatest.
_NOTHING = "nothing"
#: Where rows are computed one by one, runs of more pixels are made of shorter ones: in
#: a row, and down a column, for which more rows must be kept then.
_MOST_WRITTEN_OUT = 9
_MOST_ROWS = 19


def erode(
    image: Image,
    size: int | tuple[int, int] = 3,
    shape: str = "rectangle",
    element: Any = None,
    border: str | None = None,
    value: float = 0,
    iterations: int = 1,
) -> Image:
    """Returns the least of the pixels that an element covers, laid around each pixel.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape and type.
    size: of the element in both axes, or (rows, columns). shape: "rectangle", "cross"
        or "ellipse", as of ``cv2.getStructuringElement``.
    element: instead of these two, an array (rows, columns) of 0 and others, that says
        itself what it covers. Its middle is at [rows // 2, columns // 2].
    border: a name of `Array.pad`'s; ``value`` is that of "constant". If it is None,
        what lies outside of the image counts for nothing.
    iterations: how often it is done.

    OpenCV calls it ``cv2.erode``, SciPy ``grey_erosion``. Raises BoundsError for a size
    below 1 and an element that covers nothing, and TypeMismatchError for what is no
    image, element or border.

    Formula: out[p] = min of image[p + e] for e in the element; J. Serra, Image Analysis
    and Mathematical Morphology, 1982.

    >>> hl.filters.erode(np.array([[7, 7, 1, 7, 7]], np.uint8)).tolist()
    [[7, 1, 1, 1, 7]]
    """
    given = _given(size, shape, element, border, value, iterations)
    found: Image = run(_erode, image, *given)
    return found


def dilate(
    image: Image,
    size: int | tuple[int, int] = 3,
    shape: str = "rectangle",
    element: Any = None,
    border: str | None = None,
    value: float = 0,
    iterations: int = 1,
) -> Image:
    """Returns the greatest of the pixels that an element covers around each pixel.

    Arguments and errors are those of `erode`. The element is not turned around, as it
    is by SciPy's ``grey_dilation``; OpenCV calls it ``cv2.dilate``. Raises what `erode`
    raises.

    Formula: out[p] = max of image[p + e] for e in the element.

    >>> hl.filters.dilate(np.array([[1, 1, 7, 1, 1]], np.uint8)).tolist()
    [[1, 7, 7, 7, 1]]
    """
    given = _given(size, shape, element, border, value, iterations)
    found: Image = run(_dilate, image, *given)
    return found


def opening(
    image: Image,
    size: int | tuple[int, int] = 3,
    shape: str = "rectangle",
    element: Any = None,
    border: str | None = None,
    value: float = 0,
    iterations: int = 1,
) -> Image:
    """Returns `dilate` of `erode`: it takes away what is brighter and smaller than the
    element.

    Arguments and errors are those of `erode`. OpenCV calls it ``cv2.MORPH_OPEN``.

    >>> hl.filters.opening(np.array([[1, 9, 1, 7, 7, 7]], np.uint8), (1, 3)).tolist()
    [[1, 1, 1, 7, 7, 7]]
    """
    given = _given(size, shape, element, border, value, iterations)
    found: Image = run(_opening, image, *given)
    return found


def closing(
    image: Image,
    size: int | tuple[int, int] = 3,
    shape: str = "rectangle",
    element: Any = None,
    border: str | None = None,
    value: float = 0,
    iterations: int = 1,
) -> Image:
    """Returns `erode` of `dilate`: it takes away what is darker and smaller than the
    element.

    Arguments and errors are those of `erode`. OpenCV calls it ``cv2.MORPH_CLOSE``.

    >>> hl.filters.closing(np.array([[7, 7, 1, 7, 7]], np.uint8), (1, 3)).tolist()
    [[7, 7, 7, 7, 7]]
    """
    given = _given(size, shape, element, border, value, iterations)
    found: Image = run(_closing, image, *given)
    return found


def morphological_gradient(
    image: Image,
    size: int | tuple[int, int] = 3,
    shape: str = "rectangle",
    element: Any = None,
    border: str | None = None,
    value: float = 0,
    iterations: int = 1,
) -> Image:
    """Returns `dilate` less `erode`: the edges of an image.

    Arguments and errors are those of `erode`. OpenCV calls it ``cv2.MORPH_GRADIENT``.
    Differences are limited to what the image's type holds.

    >>> image = np.array([[1, 1, 7, 7]], np.uint8)
    >>> hl.filters.morphological_gradient(image).tolist()
    [[0, 6, 6, 0]]
    """
    given = _given(size, shape, element, border, value, iterations)
    found: Image = run(_gradient, image, *given)
    return found


def tophat(
    image: Image,
    size: int | tuple[int, int] = 3,
    shape: str = "rectangle",
    element: Any = None,
    border: str | None = None,
    value: float = 0,
    iterations: int = 1,
) -> Image:
    """Returns the image less its `opening`: what is brighter and smaller than the
    element.

    Arguments and errors are those of `erode`. OpenCV calls it ``cv2.MORPH_TOPHAT``.

    >>> hl.filters.tophat(np.array([[1, 9, 1, 7, 7, 7]], np.uint8), (1, 3)).tolist()
    [[0, 8, 0, 0, 0, 0]]
    """
    given = _given(size, shape, element, border, value, iterations)
    found: Image = run(_tophat, image, *given)
    return found


def blackhat(
    image: Image,
    size: int | tuple[int, int] = 3,
    shape: str = "rectangle",
    element: Any = None,
    border: str | None = None,
    value: float = 0,
    iterations: int = 1,
) -> Image:
    """Returns the `closing` of an image less the image: what is darker and smaller than
    the element.

    Arguments and errors are those of `erode`. OpenCV calls it ``cv2.MORPH_BLACKHAT``.

    >>> hl.filters.blackhat(np.array([[7, 7, 1, 7, 7]], np.uint8), (1, 3)).tolist()
    [[0, 0, 6, 0, 0]]
    """
    given = _given(size, shape, element, border, value, iterations)
    found: Image = run(_blackhat, image, *given)
    return found


def _given(
    size: object,
    shape: object,
    element: object,
    border: object,
    value: object,
    iterations: object,
) -> tuple[Rows, str, float, int]:
    """The arguments that all have, checked."""
    name = _NOTHING if border is None else border_name(border)
    (times, _) = sizes(iterations, "iterations")
    rows = _rows(size, shape, element)
    check_window((max(len(rows), len(rows[0])) - 1) * times + 1, "size and iterations")
    return rows, name, number(value, "value"), times


def _rows(size: object, shape: object, element: object) -> Rows:
    """What an element covers."""
    word = one_of(shape, _SHAPES, "shape")
    rows, columns = window(size, "size")
    if element is None:
        return made(word, rows, columns)
    found = kernel(element, 2, "element")
    covered = tuple([tuple([int(e != 0) for e in row]) for row in found])
    if not any([any(row) for row in covered]):
        raise BoundsError("an element covers a pixel at least", at=here())
    return covered


@cache
def made(shape: str, rows: int, columns: int) -> Rows:
    """The element of a shape, as OpenCV's getStructuringElement makes it."""
    if shape == "rectangle":
        return ((1,) * columns,) * rows
    cy, cx = rows // 2, columns // 2
    found = []
    for i in range(rows):
        if shape == "cross":
            half = cx + 1 if i == cy else 0
        elif abs(i - cy) <= cy:
            part = (cy**2 - (i - cy) ** 2) / cy**2 if cy else 0.0
            half = round(cx * math.sqrt(part))
        else:
            half = -1
        found.append(tuple([int(abs(j - cx) <= half) for j in range(columns)]))
    return tuple(found)


#: The lesser or the greater of two images.
_Choice: TypeAlias = Callable[[Array, Array], Array]


def _lesser(one: Array, other: Array) -> Array:
    return Array._of(apply("minimum", one._whole, other._whole))


def _greater(one: Array, other: Array) -> Array:
    return Array._of(apply("maximum", one._whole, other._whole))


def _extreme(
    image: Array,
    apart: int,
    rows: Rows,
    border: str,
    value: float,
    times: int,
    low: bool,
) -> Array:
    """The least, or the greatest, of the pixels that an element covers."""
    choose = _lesser if low else _greater
    reach = max(len(rows[0]) // 2, len(rows[0]) - 1 - len(rows[0]) // 2)
    if border == _NOTHING:
        border, value = "constant", _neutral(image.type, low)
        if _is_rectangle(rows) and rows[0][len(rows[0]) // 2]:
            # What lies outside is the nearest pixel, which is covered, too.
            border = "edge"
    for _ in range(times):
        p = plane(image, apart, border, value, "morphology", reach)
        image = _once(p, rows, choose)
    return image


def _neutral(t: Type, low: bool) -> Any:
    """What is no least pixel, or no greatest one."""
    if t.is_float():
        return math.inf if low else -math.inf
    return t.highest() if low else t.lowest()


def _is_rectangle(rows: Rows) -> bool:
    """Whether all rows are one run."""
    return len({*rows}) == 1 and len(_runs(rows[0])) == 1


def _once(p: Plane, rows: Rows, choose: _Choice) -> Array:
    cy, cx = len(rows) // 2, len(rows[0]) // 2
    runs = [_runs(row) for row in rows]
    if _is_rectangle(rows):
        # Each axis is done by itself.
        start, length = runs[0][0]
        if length == 1 and start == cx and len(rows) > 1:
            return _run(p, len(rows), -cy, True, choose)
        held = _down(p, len(rows), -cy, choose)
        return _run(held, length, start - cx, False, choose)
    lines: dict[tuple[int, int], Plane] = {}
    found: Array | None = None
    for i, row in enumerate(runs):
        for start, length in row:
            key = (start, length)
            if key not in lines:
                across = _run(p, length, start - cx, False, choose)
                lines[key] = p if length == 1 else p.stage(across)
            dx = start - cx if length == 1 else 0
            pixel = lines[key].at(i - cy, dx)
            found = pixel if found is None else choose(found, pixel)
    assert found is not None
    return found


def _runs(row: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Where pixels that are covered begin in a row, and how many they are."""
    found: list[tuple[int, int]] = []
    for j, covered in enumerate(row):
        if covered and found and sum(found[-1]) == j:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        elif covered:
            found.append((j, 1))
    return tuple(found)


def _down(p: Plane, length: int, first: int, choose: _Choice) -> Plane:
    """The choice among `length` pixels in a column, as a stage."""
    if length == 1:
        return p
    if p.apart == 0 or length > _MOST_ROWS:
        return p.stage(_run(p, length, first, True, choose))
    (held,) = p.columns(
        lambda pixel: [reduce(choose, [pixel(first + i) for i in range(length)])]
    )
    return held


def _run(p: Plane, length: int, first: int, rows: bool, choose: _Choice) -> Array:
    """The choice among `length` pixels in a line, by runs of 2, 4, 8, … of them; or, as
    fewer stages are better where rows are computed one by one, of one length."""

    def at(q: Plane, d: int) -> Array:
        return q.at(d, 0) if rows else q.at(0, d)

    if p.apart:
        if length > _MOST_WRITTEN_OUT:
            part = isqrt(length - 1) + 1
            p = p.stage(reduce(choose, [at(p, i) for i in range(part)]))
            places = [min(i, length - part) for i in range(0, length, part)]
        else:
            places = list(range(length))
        return reduce(choose, [at(p, first + i) for i in places])
    width, held = 1, p
    while 2 * width <= length:
        pixel = choose(at(held, 0), at(held, width))
        width *= 2
        if width == length:
            return _moved(p, pixel, first, rows)
        held = p.stage(pixel)
    if width == length:
        return at(held, first)
    return choose(at(held, first), at(held, first + length - width))


def _moved(p: Plane, pixel: Array, first: int, rows: bool) -> Array:
    held = p.stage(pixel)
    return held.at(first, 0) if rows else held.at(0, first)


def _erode(
    image: Array, apart: int, rows: Rows, border: str, value: float, times: int
) -> Array:
    return _extreme(image, apart, rows, border, value, times, True)


def _dilate(
    image: Array, apart: int, rows: Rows, border: str, value: float, times: int
) -> Array:
    return _extreme(image, apart, rows, border, value, times, False)


def _opening(
    image: Array, apart: int, rows: Rows, border: str, value: float, times: int
) -> Array:
    given = (rows, border, value, times)
    return _dilate(_erode(image, apart, *given), apart, *given)


def _closing(
    image: Array, apart: int, rows: Rows, border: str, value: float, times: int
) -> Array:
    given = (rows, border, value, times)
    return _erode(_dilate(image, apart, *given), apart, *given)


def _less(one: Array, other: Array) -> Array:
    """A difference of images, limited to what their type holds: an opening by an
    element without a middle has pixels that are greater than the image's."""
    if one.type.is_float():
        return one - other
    low = saturating_sub(wrap(one._whole.value), wrap(other._whole.value))
    return array(low._node, one._whole)


def _gradient(
    image: Array, apart: int, rows: Rows, border: str, value: float, times: int
) -> Array:
    given = (apart, rows, border, value, times)
    return _less(_dilate(image, *given), _erode(image, *given))


def _tophat(
    image: Array, apart: int, rows: Rows, border: str, value: float, times: int
) -> Array:
    return _less(image, _opening(image, apart, rows, border, value, times))


def _blackhat(
    image: Array, apart: int, rows: Rows, border: str, value: float, times: int
) -> Array:
    return _less(_closing(image, apart, rows, border, value, times), image)


__all__ = [
    "blackhat",
    "closing",
    "dilate",
    "erode",
    "morphological_gradient",
    "opening",
    "tophat",
]
