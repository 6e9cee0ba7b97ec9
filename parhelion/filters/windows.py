"""Statistics of the pixels in a window: mean, variance and standard deviation."""

from __future__ import annotations

import numpy as np

from parhelion.filters.applied import applied
from parhelion.filters.given import border_name, number, window
from parhelion.filters.planes import plane, plane_axes
from parhelion.filters.running import Image, run
from parhelion.filters.sums import both, sum_type
from parhelion.types import Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.promotion import float_for


def mean(
    image: Image,
    size: int | tuple[int, int],
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns the mean of the pixels in a window around each pixel, as a float.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape, and is a
        float32 for integers of at most 16 bits, a float64 for others, and the own type
        of floats.
    size: of the window in both axes, or (rows, columns). The window of an even size has
        one pixel more above and on the left.
    border: a name of `Array.pad`'s; ``value`` is that of "constant".

    `box` is the same in the image's own type. Raises BoundsError for a size below 1,
    and TypeMismatchError for what is no image, integer or border.

    Formula: mean = sum of image[y + i, x + j] / (rows * columns).

    >>> hl.filters.mean(np.array([[1, 2, 6, 4]], np.uint8), (1, 3)).tolist()[0][1:3]
    [3.0, 4.0]
    """
    return _statistic("mean", image, size, border, value)


def variance(
    image: Image,
    size: int | tuple[int, int],
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns the variance of the pixels in a window around each pixel, as a float.

    image, size, border, value, and the type of the result: as of `mean`.

    Sums of bytes are exact; other types are summed in float64, so that what is lost of
    a small variance beside a large mean is some 1e-16 of the mean's square. Raises what
    `mean` raises.

    Formula: variance = mean of image**2 - (mean of image)**2, and not below 0.

    >>> hl.filters.variance(np.array([[1, 4, 1, 4]], np.uint8), (1, 3)).tolist()[0][1:3]
    [2.0, 2.0]
    """
    return _statistic("variance", image, size, border, value)


def std(
    image: Image,
    size: int | tuple[int, int],
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns the standard deviation of the pixels in a window around each pixel: the
    root of `variance`.

    image, size, border, value, and the type of the result: as of `mean`, which raises
    the same errors. Raises what `mean` raises.

    Formula: std = sqrt(variance).

    >>> hl.filters.std(np.array([[0, 0, 6, 6]], np.float64), (1, 2)).tolist()
    [[0.0, 0.0, 3.0, 0.0]]
    """
    return _statistic("std", image, size, border, value)


def _statistic(
    kind: str, image: Image, size: int | tuple[int, int], border: str, value: float
) -> Image:
    rows, columns = window(size, "size")
    name, fill = border_name(border), number(value, "value")
    function = {"mean": _mean, "variance": _variance, "std": _std}[kind]
    found: Image = run(function, image, rows, columns, name, fill)
    return found


def _mean(
    image: Array, apart: int, rows: int, columns: int, border: str, value: float
) -> Array:
    plane_axes(image, "mean")
    count = rows * columns
    total = _total(image, apart, rows, columns, border, value, "mean")
    # A float32 holds sums of integers up to 2**24.
    is_small = image.type.is_int_or_uint() and _most(image.type) * count < 1 << 24
    wide = np.dtype(np.float32 if is_small else np.float64)
    found = total.astype(wide) / wide.type(count)
    return found.astype(float_for(image.type))


def _variance(
    image: Array, apart: int, rows: int, columns: int, border: str, value: float
) -> Array:
    found = _spread(image, apart, rows, columns, border, value)
    return found.astype(float_for(image.type))


def _spread(
    image: Array, apart: int, rows: int, columns: int, border: str, value: float
) -> Array:
    """As `_variance`, in float32 or float64."""
    plane_axes(image, "variance")
    own, count = image.type, rows * columns
    squares = image.astype("uint16" if own is UInt(8) else "float64")
    given = apart, rows, columns, border
    first = _total(image, *given, value, "variance")
    second = _total(squares * squares, *given, value * value, "variance")
    if own is UInt(8) and _most(own) ** 2 * count**2 < 1 << 32:
        # n * sum of squares - (sum)**2 is exact, and never below 0.
        one, two = first.astype("uint32"), second.astype("uint32")
        spread = (two * np.uint32(count) - one * one).astype("float32")
        return spread * np.float32(1 / count**2)
    one = first.astype("float64") * np.float64(1 / count)
    spread = second.astype("float64") * np.float64(1 / count) - one * one
    found: Array = applied("maximum", spread, np.float64(0))
    return found


def _std(
    image: Array, apart: int, rows: int, columns: int, border: str, value: float
) -> Array:
    spread = _spread(image, apart, rows, columns, border, value)
    if image.type.width > 16 or image.type.is_int_or_uint():
        # The root of a variance that is rounded, as `variance` returns it.
        spread = spread.astype(float_for(image.type))
    return applied("sqrt", spread).astype(float_for(image.type))


#: What filters are made of that have means and variances of their own.
mean_of, variance_of = _mean, _variance


def _total(
    image: Array,
    apart: int,
    rows: int,
    columns: int,
    border: str,
    value: float,
    what: str,
) -> Array:
    """The sums of windows: of integers that 32 bits hold exactly, and of others in
    float64."""
    ones = (1,) * rows, (1,) * columns
    if not sum_type(image.type, (1,) * (rows * columns)).is_int_or_uint():
        image = image.astype("float64")
    p = plane(image, apart, border, value, what, columns // 2)
    return both(p, *ones, (rows // 2, columns // 2))


def _most(t: Type) -> int:
    return max(abs(int(t.lowest())), int(t.highest()))


__all__ = ["mean", "mean_of", "std", "variance", "variance_of"]
