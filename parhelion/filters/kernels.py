"""Correlation and convolution with a kernel that is given, and derivatives."""

from __future__ import annotations

from functools import cache
from typing import Any

from parhelion.errors import BoundsError, here
from parhelion.filters.given import (
    border_name,
    kernel,
    number,
    type_name,
    type_of,
    whole_number,
)
from parhelion.filters.planes import Plane, plane, saturated
from parhelion.filters.running import Image, run
from parhelion.filters.sums import both, square
from parhelion.lang.convert import TypeLike
from parhelion.types import Int, Type
from parhelion.whole.array import Array


def correlate(
    image: Image,
    weights: Any,
    border: str = "reflect",
    value: float = 0,
    dtype: TypeLike | None = None,
) -> Image:
    """Returns the sum of the pixels around each one with the weights of a kernel.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape.
    weights: a kernel (rows, columns): a NumPy array or lists. The weight in its middle,
        ``weights[rows // 2, columns // 2]``, is the pixel's own.
    border: a name of `Array.pad`'s; ``value`` is that of "constant".
    dtype: of the result; the image's, if it is None. Integers are rounded to the
        nearest, the even one of two, and limited to what the type holds.

    Integer weights over integers are summed exactly where 32 bits hold the sum, other
    sums as floats. OpenCV calls it ``cv2.filter2D``, SciPy ``correlate``. Raises
    BoundsError for a kernel without elements, and TypeMismatchError for what is no
    image, kernel, border or type.

    Formula: out[y, x] = sum of weights[i, j] * image[y + i - rows // 2, x + j - columns
    // 2].

    >>> image = np.array([[1, 2, 4, 8]], np.int16)
    >>> hl.filters.correlate(image, [[-1, 0, 1]]).tolist()
    [[0, 3, 6, 0]]
    """
    table = kernel(weights, 2, "weights")
    return _with(image, table, False, border, value, dtype)


def convolve(
    image: Image,
    weights: Any,
    border: str = "reflect",
    value: float = 0,
    dtype: TypeLike | None = None,
) -> Image:
    """Returns the convolution of an image with a kernel: `correlate` with the kernel
    turned by 180 degrees, and all else as there.

    The middle of a kernel of an even size is that of SciPy's ``convolve``: the pixel's
    own weight is ``weights[rows // 2, columns // 2]``. Raises what `correlate` raises.

    Formula: out[y, x] = sum of weights[i, j] * image[y - i + rows // 2, x - j + columns
    // 2].

    >>> image = np.array([[0, 0, 1, 0, 0]], np.int16)
    >>> hl.filters.convolve(image, [[1, 2, 3]]).tolist()
    [[0, 1, 2, 3, 0]]
    """
    table = kernel(weights, 2, "weights")
    return _with(image, table, True, border, value, dtype)


def _with(
    image: Image,
    table: tuple[tuple[float, ...], ...],
    turned: bool,
    border: str,
    value: float,
    dtype: TypeLike | None,
) -> Image:
    rows, columns = len(table), len(table[0])
    middle = rows // 2, columns // 2
    if turned:
        table = tuple([row[::-1] for row in table[::-1]])
        middle = rows - 1 - middle[0], columns - 1 - middle[1]
    fill = number(value, "value")
    found: Image = run(
        _correlate, image, table, middle, border_name(border), fill, type_name(dtype)
    )
    return found


def _correlate(
    image: Array,
    apart: int,
    table: tuple[tuple[float, ...], ...],
    middle: tuple[int, int],
    border: str,
    value: float,
    dtype: str | None,
) -> Array:
    reach = max(middle[1], len(table[0]) - 1 - middle[1])
    p = plane(image, apart, border, value, "correlate", reach)
    return saturated(square(p, table, middle), type_of(dtype, image.type))


def separable(
    image: Image,
    down: Any,
    across: Any,
    border: str = "reflect",
    value: float = 0,
    dtype: TypeLike | None = None,
) -> Image:
    """Returns the correlation with the product of two kernels, one along each axis.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape.
    down: the weights of rows. across: those of columns. The middle of each is the
        pixel's own weight, as of `correlate`.
    border, value, dtype: as of `correlate`.

    OpenCV calls it ``cv2.sepFilter2D``, whose first kernel is `across`; SciPy
    ``correlate1d``, for one axis. Sums are as those of `correlate`. Raises BoundsError
    for a kernel without elements, and TypeMismatchError for what is no image, kernel,
    border or type.

    Formula: out[y, x] = sum of down[i] * across[j] * image[y + i - rows // 2, x + j -
    columns // 2].

    >>> image = np.array([[0, 0, 0], [0, 4, 0], [0, 0, 0]], np.uint8)
    >>> hl.filters.separable(image, [1, 2, 1], [0, 1, 0], border="edge").tolist()
    [[0, 4, 0], [0, 8, 0], [0, 4, 0]]
    """
    one, other = kernel(down, 1, "down"), kernel(across, 1, "across")
    fill = number(value, "value")
    found: Image = run(
        _separable, image, one, other, border_name(border), fill, type_name(dtype)
    )
    return found


def _separable(
    image: Array,
    apart: int,
    down: tuple[float, ...],
    across: tuple[float, ...],
    border: str,
    value: float,
    dtype: str | None,
) -> Array:
    p = plane(image, apart, border, value, "separable", len(across) // 2)
    total = both(p, down, across, (len(down) // 2, len(across) // 2))
    return saturated(total, type_of(dtype, image.type))


def sobel(
    image: Image,
    dx: int,
    dy: int,
    size: int = 3,
    border: str = "reflect",
    value: float = 0,
    dtype: TypeLike | None = None,
) -> Image:
    """Returns derivatives of an image that are smoothed along the other axis.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape.
    dx, dy: how often it is differentiated across and down: 0 to 2, and not 0 both.
    size: of the kernels: 3, 5 or 7.
    border: a name of `Array.pad`'s; ``value`` is that of "constant".
    dtype: of the result, which is limited to what it holds. If it is None, it is for
        integers the smallest of int16, int32 and float that holds all results, which
        are exact then, and for floats the image's own.

    OpenCV calls it ``cv2.Sobel``, SciPy ``sobel`` where `dx` or `dy` is 1. Raises
    BoundsError for another size and other orders, and TypeMismatchError for what is no
    image, integer, border or type.

    Formula: binomial smoothing, and differences of it; I. Sobel and G. Feldman, 1968;
    OpenCV's manual, getDerivKernels.

    >>> image = np.array([[0, 0, 1, 3, 3]], np.uint8)
    >>> hl.filters.sobel(image, 1, 0).tolist()
    [[0, 4, 12, 8, 0]]
    """
    orders = [whole_number(n, 0, what) for n, what in ((dy, "dy"), (dx, "dx"))]
    if size not in (3, 5, 7):
        raise BoundsError(f"the size of sobel is 3, 5 or 7, not {size}", at=here())
    if max(orders) > 2 or max(orders) == 0:
        raise BoundsError(
            f"sobel differentiates once or twice, across or down or both, not dx={dx}"
            f" and dy={dy}",
            at=here(),
        )
    down, across = [derivative(size, n) for n in orders]
    return _derived(image, down, across, border, value, dtype)


def scharr(
    image: Image,
    dx: int,
    dy: int,
    border: str = "reflect",
    value: float = 0,
    dtype: TypeLike | None = None,
) -> Image:
    """Returns the first derivative across, ``dx=1, dy=0``, or down, ``dx=0, dy=1``, by
    kernels of 3 by 3 pixels that hardly depend on the direction of an edge.

    image, border, value, dtype: as of `sobel`. OpenCV calls it ``cv2.Scharr``. Raises
    BoundsError for other orders, and TypeMismatchError for what is no image, integer,
    border or type.

    Formula: differences, smoothed by (3, 10, 3); H. Scharr, Optimale Operatoren in der
    digitalen Bildverarbeitung, 2000.

    >>> image = np.array([[0, 0, 1, 3, 3]], np.uint8)
    >>> hl.filters.scharr(image, 1, 0).tolist()
    [[0, 16, 48, 32, 0]]
    """
    orders = [whole_number(n, 0, what) for n, what in ((dy, "dy"), (dx, "dx"))]
    if sorted(orders) != [0, 1]:
        raise BoundsError(
            f"scharr differentiates once, across or down, not dx={dx} and dy={dy}",
            at=here(),
        )
    down, across = [(-1, 0, 1) if n else (3, 10, 3) for n in orders]
    return _derived(image, down, across, border, value, dtype)


def _derived(
    image: Image,
    down: tuple[int, ...],
    across: tuple[int, ...],
    border: str,
    value: float,
    dtype: TypeLike | None,
) -> Image:
    fill = number(value, "value")
    found: Image = run(
        _derivatives, image, down, across, border_name(border), fill, type_name(dtype)
    )
    return found


def _derivatives(
    image: Array,
    apart: int,
    down: tuple[int, ...],
    across: tuple[int, ...],
    border: str,
    value: float,
    dtype: str | None,
) -> Array:
    p = plane(image, apart, border, value, "a derivative", len(across) // 2)
    total = both(p, down, across, (len(down) // 2, len(across) // 2))
    return saturated(total, type_of(dtype, _signed(total.type, image.type)))


def _signed(total: Type, own: Type) -> Type:
    """The type of what is made of sums of pixels of a type, where none is said."""
    if own.is_float():
        return own
    return Int(total.width) if total.is_uint() else total


@cache
def derivative(size: int, order: int) -> tuple[int, ...]:
    """A binomial, differentiated: the coefficients of (1 + z)^m (z - 1)^order."""
    found = [1]
    for k in range(size - 1):
        sign = -1 if k < order else 1
        found = [sign * a + b for a, b in zip([*found, 0], [0, *found], strict=True)]
    return tuple(found)


def laplacian(
    image: Image,
    size: int = 1,
    border: str = "reflect",
    value: float = 0,
    dtype: TypeLike | None = None,
) -> Image:
    """Returns the sum of the second derivatives across and down.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape.
    size: 1 for the four neighbours less four times the pixel; 3 for OpenCV's kernel
        ``[[2, 0, 2], [0, -8, 0], [2, 0, 2]]``; 5 and 7 for the sum of two `sobel`.
    border, value, dtype: as of `sobel`.

    OpenCV calls it ``cv2.Laplacian``, SciPy ``laplace`` for size 1. Raises BoundsError
    for another size, and TypeMismatchError for what is no image, border or type.

    Formula: OpenCV's manual, Laplacian.

    >>> hl.filters.laplacian(np.array([[0, 0, 5, 0, 0]], np.uint8)).tolist()
    [[0, 5, -10, 5, 0]]
    """
    if size not in (1, 3, 5, 7):
        raise BoundsError(
            f"the size of laplacian is 1, 3, 5 or 7, not {size}", at=here()
        )
    fill = number(value, "value")
    found: Image = run(
        _laplacian, image, size, border_name(border), fill, type_name(dtype)
    )
    return found


_LAPLACIANS = {
    1: ((0, 1, 0), (1, -4, 1), (0, 1, 0)),
    3: ((2, 0, 2), (0, -8, 0), (2, 0, 2)),
}


def _laplacian(
    image: Array, apart: int, size: int, border: str, value: float, dtype: str | None
) -> Array:
    p = plane(image, apart, border, value, "laplacian", max(size // 2, 1))
    if size in _LAPLACIANS:
        total = square(p, _LAPLACIANS[size], (1, 1))
    else:
        total = _two(p, derivative(size, 2), derivative(size, 0))
    return saturated(total, type_of(dtype, _signed(total.type, image.type)))


def _two(p: Plane, second: tuple[int, ...], smooth: tuple[int, ...]) -> Array:
    middle = len(second) // 2, len(second) // 2
    one, other = both(p, second, smooth, middle), both(p, smooth, second, middle)
    if one.type.is_int_or_uint():
        one, other = one.astype("int32"), other.astype("int32")
    return one + other


__all__ = [
    "convolve",
    "correlate",
    "derivative",
    "laplacian",
    "scharr",
    "separable",
    "sobel",
]
