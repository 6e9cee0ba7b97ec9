"""Our recursive filters, each as a user would write it; `counts` counts their lines.

Images are Buffers, or Funcs that are computed before; `width` is that of tiles, 0 for
the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim, gaussian_weights

#: The pole of the cubic B-spline's prefilter.
POLE = 3**0.5 - 2


def gaussian(
    image: Any, size: tuple[int, int], sigma: float, order: int, width: int
) -> hl.Func:
    """A Gaussian blur: van Vliet's filter forwards and backwards, in x and in y."""
    x, y = RecFilterDim("x", size[0]), RecFilterDim("y", size[1])
    blur = RecFilter("blur")
    blur[x, y] = image[x, y]
    for direction in (+x, -x, +y, -y):
        blur.add_filter(direction, gaussian_weights(sigma, order))
    if width:
        blur.split(x, width, y, width)
    return blur.as_func()


def summed_area(image: Any, size: tuple[int, int], t: hl.Type, width: int) -> hl.Func:
    """A summed-area table in a type."""
    x, y = RecFilterDim("x", size[0]), RecFilterDim("y", size[1])
    table = RecFilter("table")
    table[x, y] = hl.cast(t, image[x, y])
    table.add_filter(+x, [1, 1])
    table.add_filter(+y, [1, 1])
    if width:
        table.split(x, width, y, width)
    return table.as_func()


def spline(image: Any, size: tuple[int, int], width: int) -> hl.Func:
    """The coefficients of a cubic B-spline through the pixels."""
    x, y = RecFilterDim("x", size[0]), RecFilterDim("y", size[1])
    made = RecFilter("spline")
    made[x, y] = image[x, y]
    for d in (x, y):
        made.add_filter(+d, [1.0, POLE])
        made.add_filter(-d, [-6 * POLE, POLE])
    if width:
        made.split(x, width, y, width)
    return made.as_func()


def box(image: Any, size: tuple[int, int], radius: int, width: int) -> hl.Func:
    """The mean of a square around each pixel, from a summed-area table."""
    table = summed_area(image, size, hl.Float(32), width).compute_root()
    u, v = hl.vars("u v")
    right, bottom = hl.min(u + radius, size[0] - 1), hl.min(v + radius, size[1] - 1)
    left, top = u - radius - 1, v - radius - 1

    def at(x: Any, y: Any) -> Any:
        inside = hl.likely((x >= 0) & (y >= 0))
        return hl.select(inside, table[hl.max(x, 0), hl.max(y, 0)], 0.0)

    out = hl.Func("box")
    sums = at(right, bottom) - at(left, bottom) - at(right, top) + at(left, top)
    out[u, v] = sums * hl.f32(1 / (2 * radius + 1) ** 2)
    return out.vectorize(u, 16).parallel(v, 16)


def double_box(image: Any, size: tuple[int, int], radius: int, width: int) -> hl.Func:
    """Two boxes at once, by filters of order 2 in x and then in y (2015 paper,
    section 8)."""
    along = _double_box(image, size, radius, 0, width).compute_root()
    return _double_box(along, size, radius, 1, width)


def _double_box(
    image: Any, size: tuple[int, int], radius: int, dim: int, width: int
) -> hl.Func:
    """Two boxes along one dimension."""
    side = 2 * radius + 1
    # Sums of sums go on beyond the edge, as far as they are read.
    longer = [n + 2 * radius * (k == dim) for k, n in enumerate(size)]
    x, y = RecFilterDim("x", longer[0]), RecFilterDim("y", longer[1])
    sums, d = RecFilter("sums"), (x, y)[dim]
    near = image[hl.min(x, size[0] - 1), hl.min(y, size[1] - 1)]
    sums[x, y] = hl.select(hl.likely(d < size[dim]), near, 0.0)
    sums.add_filter(+d, [1, 2, -1])
    if width:
        sums.split(d, width)
    table = sums.as_func().compute_root()
    u, v = hl.vars("u v")
    total: Any = None
    for k, weight in enumerate((1, -2, 1)):
        at: list[Any] = [u, v]
        at[dim] = at[dim] + 2 * radius - side * k
        inside = hl.likely(at[dim] >= 0)
        at[dim] = hl.max(at[dim], 0)
        term = hl.select(inside, weight * table[tuple(at)], 0.0)
        total = term if total is None else total + term
    out = hl.Func("double_box")
    out[u, v] = total * hl.f32(1 / side**2)
    return out.vectorize(u, 16).parallel(v, 16)


def boxes(image: Any, size: tuple[int, int], radius: int, width: int) -> hl.Func:
    """Three boxes, one after the other."""
    for _ in range(2):
        image = box(image, size, radius, width).compute_root()
    return box(image, size, radius, width)


def box_and_double(
    image: Any, size: tuple[int, int], radius: int, width: int
) -> hl.Func:
    """Three boxes as a single one and a double one."""
    once = box(image, size, radius, width).compute_root()
    return double_box(once, size, radius, width)


def triple_table(
    image: Any, size: tuple[int, int], radius: int, t: hl.Type, width: int
) -> hl.Func:
    """Three boxes from one table of order 3 in x and y. Floats lose all digits in it;
    integers wrap, and the differences are exact again."""
    longer = [n + 3 * radius for n in size]
    x, y = RecFilterDim("x", longer[0]), RecFilterDim("y", longer[1])
    table = RecFilter("table")
    near = image[hl.min(x, size[0] - 1), hl.min(y, size[1] - 1)]
    inside = hl.likely((x < size[0]) & (y < size[1]))
    table[x, y] = hl.cast(t, hl.select(inside, near, 0))
    table.add_filter(+x, [1, 3, -3, 1])
    table.add_filter(+y, [1, 3, -3, 1])
    if width:
        table.split(x, width, y, width)
    sums, side = table.as_func().compute_root(), 2 * radius + 1
    u, v = hl.vars("u v")
    total: Any = None
    for j, down in enumerate((1, -3, 3, -1)):
        for i, along in enumerate((1, -3, 3, -1)):
            a, b = u + 3 * radius - side * i, v + 3 * radius - side * j
            value = sums[hl.max(a, 0), hl.max(b, 0)] * hl.cast(t, down * along)
            term = hl.select(hl.likely((a >= 0) & (b >= 0)), value, hl.cast(t, 0))
            total = term if total is None else total + term
    out = hl.Func("boxes")
    out[u, v] = hl.f32(total) * hl.f32(1 / side**6)
    return out.vectorize(u, 16).parallel(v, 16)


def difference_of_gaussians(
    image: Any, size: tuple[int, int], radii: tuple[int, int], width: int
) -> hl.Func:
    """The difference of two Gaussians, each of three boxes."""
    u, v = hl.vars("u v")
    one, other = [box_and_double(image, size, r, width) for r in radii]
    out = hl.Func("dog")
    out[u, v] = one.compute_root()[u, v] - other.compute_root()[u, v]
    return out.vectorize(u, 16).parallel(v, 16)


def chain(
    signal: Any, t: RecFilterDim, filters: Sequence[Sequence[float]]
) -> RecFilter:
    """Causal filters on a line, one after the other."""
    made = RecFilter("line")
    made[t] = signal[t]
    for coefficients in filters:
        made.add_filter(+t, coefficients)
    return made


def line(
    signal: Any, count: int, filters: Sequence[Sequence[float]], width: int
) -> hl.Func:
    """Filters on a line, all in the same tiles."""
    t = RecFilterDim("t", count)
    made = chain(signal, t, filters)
    if width:
        made.split(t, width)
    return made.as_func()


def cascaded(
    signal: Any, count: int, filters: Sequence[Sequence[float]], width: int, group: int
) -> hl.Func:
    """Filters on a line, `group` of them in the same tiles, the groups cascaded."""
    t, numbers = RecFilterDim("t", count), range(len(filters))
    groups = [numbers[k : k + group] for k in numbers[::group]]
    parts = chain(signal, t, filters).cascade(*groups)
    for part in parts:
        part.split(t, width)
    return parts[-1].as_func()


def factored(
    signal: Any, count: int, coefficients: Sequence[float], width: int, joint: bool
) -> hl.Func:
    """A filter of a high order as filters of order 2, and one of order 1 if it is odd.

    joint: whether they run in the same tiles, or are cascaded.
    """
    t, order = RecFilterDim("t", count), len(coefficients) - 1
    orders = [2] * (order // 2) + [1] * (order % 2)
    parts = chain(signal, t, [coefficients]).factor_filter_order(*orders)
    if joint:
        parts = (parts[0].overlap(*parts[1:]),)
    for part in parts:
        part.split(t, width)
    return parts[-1].as_func()
