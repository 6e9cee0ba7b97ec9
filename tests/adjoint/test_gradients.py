"""Gradients of many kinds of definitions, beside finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.adjoint.differences import by_itself, check

x, y = hl.Var("x"), hl.Var("y")
#: A place for each of seven points, some of them twice.
PLACES = np.array([3, 0, 1, 3, 5, 2, 2], np.int32)
Image = Any
Build = Callable[[Image], hl.Func]


def of(e: Any, *args: hl.Var) -> hl.Func:
    """A Func of one variable, or of those given."""
    f = hl.Func("f")
    f[args or (x,)] = e
    return f


def over(count: int, first: int = 0) -> hl.RDom:
    return hl.RDom([(first, count)])


# Pure definitions.


def chain(i: Image) -> hl.Func:
    f = of(i[x] + 2.0 * i[x + 1])
    return of(hl.sin(f[x] + f[x + 2]))


def repeated_edge(i: Image) -> hl.Func:
    e = hl.BoundaryConditions.repeat_edge(i)
    return of(hl.sin(e[x - 1] * 2.0 + e[x + 2]))


def repeated_edges(i: Image) -> hl.Func:
    e = hl.BoundaryConditions.repeat_edge(i)
    f = of(e[x - 1, y] + e[x + 1, y] * e[x, y + 2], x, y)
    return of(f[x, y - 1] * f[x, y + 1], x, y)


def beyond(kind: str) -> Build:
    def build(i: Image) -> hl.Func:
        e = getattr(hl.BoundaryConditions, kind)(i)
        return of(e[x - 2] * 3.0 + e[x] * e[x + 3])

    return build


def constant_beyond(i: Image) -> hl.Func:
    e = hl.BoundaryConditions.constant_exterior(i, 1.5)
    return of(e[x - 2] * 3.0 + e[x] * e[x + 3])


def clamped_sum(i: Image) -> hl.Func:
    """A clamp that a variable of a sum is part of."""
    r = over(5, -2)
    return of(hl.sum(i[hl.clamp(x + r, 0, 6)] * (r + 3)))


def looked_up(i: Image) -> hl.Func:
    places = hl.Buffer(PLACES)
    return of(i[hl.clamp(places[x], 0, 5)] * i[x % 3])


def looked_up_across(i: Image) -> hl.Func:
    places = hl.Buffer(PLACES)
    return of(i[x, hl.clamp(places[y], 0, 5)] * i[x, y % 3], x, y)


PURE: dict[str, tuple[Build, tuple[int, ...], tuple[int, ...]]] = {
    "one point": (lambda i: of(hl.exp(i[x]) * i[x]), (7,), (7,)),
    "stencil": (lambda i: of(i[x] * 2.0 + i[x + 1] * 3.0), (8,), (7,)),
    "product of neighbours": (lambda i: of(i[x] * i[x + 1]), (8,), (7,)),
    "chain": (chain, (10,), (7,)),
    "repeat_edge": (repeated_edge, (8,), (8,)),
    "repeat_edge of planes": (repeated_edges, (5, 6), (5, 6)),
    "repeat_image": (beyond("repeat_image"), (8,), (8,)),
    "mirror_image": (beyond("mirror_image"), (8,), (8,)),
    "mirror_interior": (beyond("mirror_interior"), (8,), (8,)),
    "constant_exterior": (constant_beyond, (8,), (8,)),
    "clamped sum": (clamped_sum, (7,), (7,)),
    "down": (lambda i: of(i[2 * x] * i[2 * x + 1] + i[2 * x + 2]), (9,), (4,)),
    "down, backwards": (lambda i: of(i[8 - 2 * x] * i[x]), (9,), (4,)),
    "up": (lambda i: of(i[x / 2] * 1.5 + i[(x + 1) / 2] * i[x / 2]), (5,), (8,)),
    "up, linear": (
        lambda i: of(0.25 * i[x / 2 + 2 * (x % 2)] + 0.75 * i[x / 2 + 1]),
        (7,),
        (8,),
    ),
    "up by eight": (lambda i: of(i[x / 8] * i[x / 8 + 1]), (4,), (19,)),
    "remainder": (lambda i: of(i[x % 3] * i[x]), (8,), (8,)),
    "transposed": (lambda i: of(i[y, x] * i[x, y], x, y), (5, 5), (5, 5)),
    "outer product": (lambda i: of(i[x] * i[y], x, y), (5,), (5, 5)),
    "sum of coordinates": (lambda i: of(i[x + y] * i[y], x, y), (9,), (5, 4)),
    "constant place": (lambda i: of(i[0] * i[x] + i[3]), (5,), (5,)),
    "diagonal": (lambda i: of(i[x, x] * 2.0), (5, 5), (5,)),
    "chosen place": (
        lambda i: of(i[hl.select((x > 2) & (x < 5), x - 1, 6 - x)] * i[x]),
        (7,),
        (7,),
    ),
    "looked up": (looked_up, (6,), (7,)),
    "looked up across": (looked_up_across, (6, 5), (7, 5)),
}


@pytest.mark.parametrize("name", PURE)
def test_pure_definitions(name: str) -> None:
    check(*PURE[name])


# Updates.


def total(i: Image) -> hl.Func:
    r, f = over(7), hl.Func("f")
    f[x] = hl.f64(0)
    f[x] += i[r] * i[r] * x
    return f


def by_blocks(i: Image) -> hl.Func:
    r, f = over(8), hl.Func("f")
    f[x] = hl.f64(0)
    f[x] += hl.sin(i[8 * x + r])
    return f


def scan(i: Image) -> hl.Func:
    f, r = of(i[x]), over(7, 1)
    f[r] = f[r - 1] * 0.5 + f[r]
    return f


def scan_of_two(i: Image) -> hl.Func:
    f, r = of(i[x]), over(6, 2)
    f[r] = f[r - 1] * 0.5 * i[r - 2] + f[r] * f[r - 2]
    return f


def scan_backwards(i: Image) -> hl.Func:
    f, r = of(i[x]), over(7, 1)
    f[7 - r] = hl.sin(f[8 - r]) * 0.5 + f[7 - r]
    return f


def scan_of_ahead(i: Image) -> hl.Func:
    """Reads places that it is yet to write."""
    f, r = of(i[x]), over(6, 1)
    f[r] = f[r - 1] * f[r + 1] + f[r]
    return f


def scan_of_some(i: Image) -> hl.Func:
    f, r = of(i[x]), over(6, 1)
    r.where(r % 3 != 0)
    f[r] = f[r - 1] * i[r]
    return f


def summed_area(i: Image) -> hl.Func:
    f = of(i[x, y], x, y)
    r = hl.RDom([(1, 4), (0, 5)])
    f[r.x, r.y] += f[r.x - 1, r.y]
    q = hl.RDom([(0, 5), (1, 4)])
    f[q.x, q.y] += f[q.x, q.y - 1]
    return f


def scan_of_plane(i: Image) -> hl.Func:
    f, r = of(i[x, y], x, y), hl.RDom([(1, 4), (1, 4)])
    f[r.x, r.y] += f[r.x - 1, r.y] * f[r.x, r.y - 1] * 0.3 + f[r.x - 1, r.y - 1]
    return f


def scan_along_lines(i: Image) -> hl.Func:
    f, r = of(i[x, y], x, y), over(4, 1)
    f[x, r] = f[x, r - 1] * i[x, r] + f[x, r]
    return f


def scan_of_tuple(i: Image) -> hl.Func:
    f, r = hl.Func("f"), over(6, 1)
    f[x] = hl.Tuple(i[x], i[x] * 2.0)
    f[r] = (f[r - 1][0] * 0.3 + f[r - 1][1] * i[r], f[r][1] + f[r - 1][0])
    return of(f[x][0] * hl.sin(f[x][1]))


def greatest(i: Image) -> hl.Func:
    f, r = of(i[x]), over(4)
    f[x] = hl.max(f[x], i[x + r])
    return f


def greatest_of_some(i: Image) -> hl.Func:
    f, r = of(i[x]), hl.RDom([(0, 3), (0, 2)])
    r.where(r.x + r.y < 3)
    f[x] = hl.max(f[x] * 0.9, i[x + 2 * r.y + r.x])
    return f


def greatest_by_places(i: Image) -> hl.Func:
    f, r = of(i[x]), hl.RDom([(0, 5), (0, 3)])
    f[r.x] = hl.max(f[r.x], i[r.x + r.y] * 1.1)
    return f


def argmax(i: Image) -> hl.Func:
    m = hl.argmax(i[x + over(4)])
    return of(m[1] * m[1] + i[hl.clamp(m[0], 0, 3)])


def recurrence_of_tuple(i: Image) -> hl.Func:
    f, r = hl.Func("f"), over(5)
    f[x] = hl.Tuple(i[x], i[x + 1] * 2.0)
    a, b = f[x][0], f[x][1]
    f[x] = (a * b * 0.3 + i[r], b - a * 0.1)
    return of(f[x][0] * hl.sin(f[x][1]))


def single_places(i: Image) -> hl.Func:
    f = of(i[x] * i[x])
    f[2] = f[2] * f[3]
    f[3] = i[0]
    return f


def rows(i: Image) -> hl.Func:
    f = of(i[x, y], x, y)
    f[x, 2] = f[x, 3] * hl.sin(f[x, 2])
    f[x, y] = f[x, y] * f[x, y]
    return f


def histogram(i: Image) -> hl.Func:
    f, r = hl.Func("f"), over(7)
    f[x] = hl.f64(0)
    f[hl.clamp(hl.Buffer(PLACES)[r], 0, 5)] += hl.exp(i[r])
    return f


def overwritten(i: Image) -> hl.Func:
    f, r = of(i[x]), over(7)
    f[hl.clamp(hl.Buffer(PLACES)[r], 0, 5)] = hl.exp(i[r])
    return f


def every_second(i: Image) -> hl.Func:
    f, r = of(i[x]), over(6)
    r.where(r % 2 == 0)
    f[r] = f[r] * i[r]
    f[x] += i[x + 1]
    return f


def even_places(i: Image) -> hl.Func:
    f, r = of(i[x]), over(3)
    f[2 * r + 1] = f[2 * r] * i[r]
    return f


def chosen_by_pixels(i: Image) -> hl.Func:
    f, r = of(i[x]), over(7)
    r.where(i[r] > 0)
    f[x] += i[r] * i[x]
    return f


UPDATES: dict[str, tuple[Build, tuple[int, ...], tuple[int, ...]]] = {
    "total": (total, (7,), (3,)),
    "sum": (lambda i: of(hl.sum(i[x + over(3)] * 2.0)), (9,), (7,)),
    "sum of products": (
        lambda i: of((lambda r: hl.sum(hl.sin(i[x + r]) * i[r]))(over(3))),
        (9,),
        (7,),
    ),
    "sum by blocks": (by_blocks, (24,), (3,)),
    "scan": (scan, (8,), (8,)),
    "scan of two": (scan_of_two, (8,), (8,)),
    "scan backwards": (scan_backwards, (8,), (8,)),
    "scan of places ahead": (scan_of_ahead, (8,), (8,)),
    "scan of some": (scan_of_some, (8,), (8,)),
    "summed area": (summed_area, (5, 5), (5, 5)),
    "scan of a plane": (scan_of_plane, (5, 5), (5, 5)),
    "scan along lines": (scan_along_lines, (5, 3), (5, 3)),
    "scan of a tuple": (scan_of_tuple, (7,), (7,)),
    "greatest": (greatest, (9,), (6,)),
    "greatest of some": (greatest_of_some, (10,), (6,)),
    "greatest by places": (greatest_by_places, (7,), (5,)),
    "maximum": (lambda i: of(hl.maximum(i[x + over(3)])), (9,), (7,)),
    "product": (lambda i: of(hl.product(i[x + over(3)])), (9,), (7,)),
    "argmax": (argmax, (9,), (5,)),
    "recurrence of a tuple": (recurrence_of_tuple, (8,), (6,)),
    "single places": (single_places, (6,), (6,)),
    "rows": (rows, (6, 4), (6, 4)),
    "histogram": (histogram, (7,), (6,)),
    "overwritten": (overwritten, (7,), (6,)),
    "every second": (every_second, (8,), (7,)),
    "even places": (even_places, (8,), (7,)),
    "chosen by pixels": (chosen_by_pixels, (7,), (5,)),
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates(name: str) -> None:
    check(*UPDATES[name], tolerance=1e-5)


def test_a_product_with_a_zero() -> None:
    """The slope by the zero is the product of the others."""
    r, f = over(3), hl.Func("f")
    image = hl.Buffer(np.array([2.0, 0.0, 3.0]))
    f[()] = hl.f64(1)
    f[()] *= image[r]
    found = by_itself(hl.propagate_adjoints(f)[image])
    assert np.asarray(found.realize([3])).tolist() == [0.0, 6.0, 0.0]


def test_a_maximum_of_equals() -> None:
    """The first of several that are equal gets all, as `max` keeps it."""
    r, f = over(4), hl.Func("f")
    image = hl.Buffer(np.array([1.0, 5.0, 5.0, 2.0]))
    f[()] = hl.f64(0)
    f[()] = hl.max(f[()], image[r])
    found = by_itself(hl.propagate_adjoints(f)[image])
    assert np.asarray(found.realize([4])).tolist() == [0.0, 1.0, 0.0, 0.0]


def test_what_is_scattered_by_data_is_read_inside_alone() -> None:
    """The look-up of a cell's pixels goes with the cell, whose last one is smaller."""
    image, grid = hl.ImageParam(hl.Float(32), 1), hl.ImageParam(hl.Float(32), 2)
    pixels = np.random.default_rng(2).random(20).astype(np.float32)
    cells = np.random.default_rng(3).random((4, 3)).astype(np.float32)
    image.set(pixels)
    grid.set(cells)
    inside, smooth, out = hl.Func("inside"), hl.Func("smooth"), hl.Func("out")
    z = hl.Var("z")
    inside[x, z] = grid[hl.clamp(x, 0, 2), hl.clamp(z, 0, 3)]
    smooth[x, z] = inside[x, z] * 2.0
    out[x] = smooth[x // 8, hl.i32(hl.clamp(image[x], 0.0, 1.0) * 3.0)] * image[x]
    given = hl.Func("given")
    given[x] = 1.0
    found = hl.propagate_adjoints(out, given, [(0, 20)])[grid]
    wanted = np.zeros((4, 3), np.float32)
    places = (pixels * np.float32(3)).astype(int), np.arange(20) // 8
    np.add.at(wanted, places, 2 * pixels)
    got = np.asarray(found.realize([3, 4]))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
