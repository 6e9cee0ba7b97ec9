"""Recursive filters, in tiles and not, against filters run point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import (
    RecFilter,
    RecFilterDim,
    RecFilterWarning,
    gaussian_weights,
)
from tests.fuzz.recursive import along

Array = NDArray[Any]
W, H = 53, 38
GAUSS = gaussian_weights(3.0)
rng = np.random.default_rng(7)
image = rng.standard_normal((H, W)).astype(np.float32)


def dims() -> tuple[RecFilterDim, RecFilterDim]:
    return RecFilterDim("x", W), RecFilterDim("y", H)


def gauss(*splits: int) -> RecFilter:
    """A Gaussian of third order, with tiles of these widths along x and y."""
    x, y = dims()
    f, inp = RecFilter("gauss"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    for direction in (+x, -x, +y, -y):
        f.add_filter(direction, GAUSS)
    for d, width in zip((x, y), splits, strict=False):
        if width:
            f.split(d, width)
    return f


def by_hand(source: Array, *filters: tuple[int, bool, list[float]]) -> Array:
    made = source.astype(np.float64)
    for axis, causal, c in filters:
        made = along(made, axis, causal, tuple(c))
    return made


BLURRED = by_hand(
    image, (1, True, GAUSS), (1, False, GAUSS), (0, True, GAUSS), (0, False, GAUSS)
)


@pytest.mark.parametrize(
    "splits", [(), (8,), (0, 8), (16, 4), (53, 0), (7, 100), (3, 3)]
)
def test_a_gaussian(splits: tuple[int, ...]) -> None:
    f = gauss(*splits)
    np.testing.assert_allclose(np.asarray(f.realize()), BLURRED, atol=2e-6)
    out = np.zeros((H, W), np.float32)
    assert np.asarray(f.realize(out)) is not None
    np.testing.assert_allclose(out, BLURRED, atol=2e-6)


def test_several_dimensions_are_split_in_one_call() -> None:
    x, y = dims()
    f, inp = RecFilter(), hl.Buffer(image)
    f[x, y] = inp[x, y]
    for direction in (+x, -x, +y, -y):
        f.add_filter(direction, GAUSS)
    f.split(x, 16, y, 8)
    np.testing.assert_allclose(np.asarray(f.realize()), BLURRED, atol=2e-6)


def test_a_cascade() -> None:
    x, y = dims()
    f, inp = RecFilter("f"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    for direction in (+x, -x, +y, -y):
        f.add_filter(direction, GAUSS)
    fx, fy = f.cascade([0, 1], [2, 3])
    fx.split(x, 16)
    fy.split(y, 8)
    np.testing.assert_allclose(np.asarray(fy.realize()), BLURRED, atol=2e-6)
    ys, xs = f.cascade([2, 3], [0, 1])  # other dimensions commute
    np.testing.assert_allclose(np.asarray(xs.realize()), BLURRED, atol=2e-6)
    assert [k.dim for k in ys.filters()] == [1, 1]


@pytest.mark.parametrize("width", [0, 4, 16])
def test_summed_area_tables_of_integers_are_exact(width: int) -> None:
    """Sums wrap in the type, as all integers do."""
    pixels = rng.integers(0, 1 << 32, (H, W), np.uint32)
    x, y = dims()
    f, inp = RecFilter("sat"), hl.Buffer(pixels)
    f[x, y] = inp[x, y]
    f.add_filter(+x, [1, 1])
    f.add_filter(+y, [1, 1])
    if width:
        f.split(x, width, y, width)
    wanted = pixels.cumsum(0, np.uint32).cumsum(1, np.uint32)
    np.testing.assert_array_equal(np.asarray(f.realize()), wanted)


@pytest.mark.parametrize("width", [0, 8])
def test_colour_is_a_dimension_without_filters(width: int) -> None:
    photo = rng.random((3, H, W)).astype(np.float32)
    x, y, c = *dims(), RecFilterDim("c", 3)
    f, inp = RecFilter("colour"), hl.Buffer(photo)
    f[x, y, c] = inp[x, y, c]
    f.add_filter(+x, [0.5, 0.5])
    f.add_filter(-y, [0.4, 0.9, -0.3])
    if width:
        f.split(x, width, y, width)
    wanted = by_hand(photo, (2, True, [0.5, 0.5]), (1, False, [0.4, 0.9, -0.3]))
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-5)


@pytest.mark.parametrize("width", [0, 64])
def test_a_line(width: int) -> None:
    signal = rng.standard_normal(1000).astype(np.float64)
    x = RecFilterDim("x", 1000)
    f, inp = RecFilter("line"), hl.Buffer(signal)
    f[x] = inp[x]
    f.add_filter(+x, [0.2, 1.1, -0.4])
    f.add_filter(-x, [1.0, 0.7])
    if width:
        f.split(x, width)
    wanted = by_hand(signal, (0, True, [0.2, 1.1, -0.4]), (0, False, [1.0, 0.7]))
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-12)


def test_it_is_part_of_larger_pipelines() -> None:
    """Of an expression, and read by a Func that has a schedule of its own."""
    x, y = dims()
    inp = hl.Buffer(image)
    blurred = RecFilter("blurred")
    blurred[x, y] = inp[x, y] * 2
    blurred.add_filter(+x, [0.5, 0.5])
    blurred.add_filter(-x, [0.5, 0.5])
    u, v = hl.vars("u v")
    sharp = hl.Func("sharp")
    sharp[u, v] = 3 * inp[u, v] - blurred[u, v]
    blurred.as_func().compute_root()
    sharp.vectorize(u, 8).parallel(v)
    low = by_hand(2 * image, (1, True, [0.5, 0.5]), (1, False, [0.5, 0.5]))
    got = np.asarray(sharp.realize([W, H]))
    np.testing.assert_allclose(got, 3 * image - low, atol=1e-5)


def test_a_filter_of_a_filter() -> None:
    x, y = dims()
    first, second, inp = RecFilter("first"), RecFilter("second"), hl.Buffer(image)
    first[x, y] = inp[x, y]
    first.add_filter(+x, [0.5, 0.5])
    first.as_func().compute_root()
    second[x, y] = first[x, y]
    second.add_filter(+y, [0.5, 0.5])
    wanted = by_hand(image, (1, True, [0.5, 0.5]), (0, True, [0.5, 0.5]))
    np.testing.assert_allclose(np.asarray(second.realize()), wanted, atol=1e-6)


# Higher and lower orders.


def test_a_cascade_overlapped_again() -> None:
    f = gauss()
    parts = f.cascade([0, 1], [2, 3])
    again = parts[0].overlap(parts[1])
    assert again.filters() == f.filters()
    np.testing.assert_allclose(np.asarray(again.realize()), BLURRED, atol=2e-6)
    why = "gauss_0 does not filter what gauss_1 makes"
    refused(lambda: parts[1].overlap(parts[0]), hl.ScheduleError, why)


@pytest.mark.parametrize("orders", [(1, 2), (2, 1)])
def test_filters_of_lower_orders(orders: tuple[int, int]) -> None:
    """A Gaussian of third order as filters of orders 1 and 2, and put together again,
    on an image without end, where they commute."""
    x, y = dims()
    f, inp = RecFilter("f", "clamp"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    for direction in (+x, -x, +y, -y):
        f.add_filter(direction, GAUSS)
    wanted = np.asarray(f.cascade([0, 1, 2, 3])[0].realize())
    first, second = f.factor_filter_order(*orders)
    assert [k.order for k in first.filters()] == [orders[0]] * 4
    joined = first.overlap_filter_order(second)
    for a, b in zip(joined.filters(), f.filters(), strict=True):
        for got, given in zip(a.constants(), b.constants(), strict=True):
            np.testing.assert_allclose(got, given, rtol=1e-9)
    together = first.overlap(second)
    np.testing.assert_allclose(np.asarray(together.realize()), wanted, atol=3e-5)
    np.testing.assert_allclose(np.asarray(joined.realize()), wanted, atol=1e-5)
    np.testing.assert_allclose(np.asarray(second.realize()), wanted, atol=3e-5)


def test_orders_that_cannot_be() -> None:
    error = hl.ScheduleError
    refused(lambda: gauss().factor_filter_order(1, 1), error, "do not make one of ord")
    refused(lambda: gauss().factor_filter_order(1, 1, 1), error, "go in pairs")
    why = "in opposite directions, and do not commute"
    refused(lambda: gauss().factor_filter_order(1, 2), error, why)
    x, y = dims()
    f, inp = RecFilter("f"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    f.add_filter(+x, [1, 0.5])
    f.add_filter(+y, [1, 0.5])
    f.add_filter(+x, [1, 0.5])
    one, two = f.cascade([0, 1], [2])
    refused(lambda: one.overlap_filter_order(two), error, "do not match by dimension")
    one, two = f.cascade([0], [2, 1])
    assert len(one.overlap(two).filters()) == 3


# What is refused.


def refused(call: Any, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why) as error:
        call()
    assert "test_recfilter.py" in str(error.value)


def test_unstable_filters_are_refused() -> None:
    x, y = dims()
    f, inp = RecFilter("f"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    why = r"f.add_filter\(\+x\): the filter is unstable: it has a pole of magnitude 1.1"
    refused(lambda: f.add_filter(+x, [1, 1.1]), hl.DefinitionError, why)
    f.add_filter(+x, [1, 3, -3, 1])  # a threefold pole on the circle


@pytest.mark.parametrize(
    "given, kind, why",
    [
        ("1, 2", hl.TypeMismatchError, "list of numbers"),
        (5, hl.TypeMismatchError, "list of numbers"),
        ([], hl.DefinitionError, "no coefficients"),
        ([1, 1j], hl.TypeMismatchError, "real number"),
        ([1, float("nan")], hl.DefinitionError, "finite"),
        ([1, "a"], hl.TypeMismatchError, "real number"),
    ],
)
def test_coefficients_of_other_kinds(given: Any, kind: Any, why: str) -> None:
    x, y = dims()
    f, inp = RecFilter("f"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    refused(lambda: f.add_filter(+x, given), kind, why)


def test_integers_have_integer_coefficients() -> None:
    x = RecFilterDim("x", 5)
    f = RecFilter("f")
    f[x] = hl.i32(x)
    why = "must be integers, not 0.5"
    refused(lambda: f.add_filter(+x, [1, 0.5]), hl.TypeMismatchError, why)
    f.add_filter(+x, [1, 1.0])


def test_splits_that_cannot_be() -> None:
    x, y = dims()
    f, inp = RecFilter("f"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    f.add_filter(+x, GAUSS)
    error = hl.ScheduleError
    refused(lambda: f.split(y, 8), error, "no recursive filter along y")
    refused(lambda: f.split(x, 2), error, "narrower than 3, the order")
    refused(lambda: f.split(x, 2.5), error, "must be an integer")
    refused(lambda: f.split(x), error, "dimensions and the widths")
    refused(lambda: f.split(8, x), error, "splits RecFilterDims")
    z = RecFilterDim("z", 4)
    refused(lambda: f.split(z, 8), hl.DefinitionError, "no dimension of f; it has x, y")


def test_directions_and_dimensions_that_are_none() -> None:
    x, y = dims()
    f, inp = RecFilter("f"), hl.Buffer(image)
    error = hl.DefinitionError
    refused(lambda: f.add_filter(+x, [1, 0.5]), error, "no dimension of f; it has none")
    refused(lambda: f.as_func(), error, "not defined yet")
    f[x, y] = inp[x, y]
    refused(lambda: f.add_filter(3, [1, 0.5]), error, "a direction is")
    refused(lambda: f.__setitem__((x, y), inp[x, y]), error, "defined already")
    half: Any = 2.5
    refused(lambda: RecFilterDim("x", half), error, "must be an integer")
    refused(lambda: RecFilterDim("x", 0), error, "must be positive")
    u = hl.Var("u")
    refused(lambda: RecFilter("g").__setitem__(u, u), error, "over RecFilterDims")
    refused(lambda: RecFilter("g").__setitem__((x, x), u), error, "given twice")


def test_filters_that_do_not_commute_keep_their_order() -> None:
    x, y = dims()
    f, inp = RecFilter("f"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    for direction in (+x, -x, +y):
        f.add_filter(direction, [0.5, 0.5])
    error = hl.ScheduleError
    why = "filters 0 and 1 run along x in opposite directions"
    refused(lambda: f.cascade([1], [0, 2]), error, why)
    refused(lambda: f.cascade([0, 1]), error, "each of the filters 0 to 2")
    refused(lambda: f.cascade([0, 1, 2], []), error, "no list empty")
    f.cascade([2, 0], [1])
    f.as_func()
    late = "after as_func or realize"
    refused(lambda: f.add_filter(+x, [1, 0.5]), hl.DefinitionError, late)


def test_growth_within_a_tile_is_warned_of() -> None:
    x, y = dims()
    f, inp = RecFilter("f"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    f.add_filter(+x, [1, 3, -3, 1])
    with pytest.warns(RecFilterWarning, match="rounding errors"):
        f.split(x, 48)


# What is in tiles by default.


@pytest.mark.parametrize("lines", [(), (1,), (2,), (2, 3), (9,), (16,)])
@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_few_long_lines(lines: tuple[int, ...], along: int, kind: str) -> None:
    """They are cut into tiles, wherever the dimension stands."""
    n = 16_500
    shape = [*lines[: len(lines) * along], n, *lines[len(lines) * along :]]
    noise = rng.integers(-100, 100, shape).astype(kind)
    extents = shape[::-1]
    dims = [RecFilterDim("xyz"[k], e) for k, e in enumerate(extents)]
    x = dims[extents.index(n)]
    given = [1.0, 0.5, -0.25] if kind == "float32" else [1, 1]
    results = []
    for width in (None, n):
        f, inp = RecFilter("f"), hl.Buffer(noise)
        f[tuple(dims)] = inp[tuple(dims)]
        f.add_filter(+x, given)
        f.add_filter(-x, given)
        if width:
            f.split(x, width)  # whole lines
        results.append(np.asarray(f.realize()))
    tiled, whole = results
    if kind == "int32":
        np.testing.assert_array_equal(tiled, whole)
    else:
        np.testing.assert_allclose(tiled, whole, rtol=1e-5, atol=2e-3)


@pytest.mark.parametrize("width", [0, 4])
@pytest.mark.parametrize("border", ["zero", "clamp", "mirror"])
@pytest.mark.parametrize("other", ["xs", "xi", "xo", "xq", "xe", "xis", "xoi"])
def test_dimensions_called_like_their_pieces(
    other: str, border: str, width: int
) -> None:
    x, y = RecFilterDim("x", 19), RecFilterDim(other, 12)
    small = rng.random((12, 19))
    f, inp = RecFilter("f", border), hl.Buffer(small)
    f[x, y] = inp[x, y]
    for direction in (+x, +y):
        f.add_filter(direction, [0.5, 0.5])
    if width:
        f.split(x, width, y, width)
    edge = 0 if border == "zero" else 60
    mode: Any = "edge" if border == "clamp" else "symmetric"
    both = [(k, True, [0.5, 0.5]) for k in (1, 0)]
    wanted = by_hand(np.pad(small, edge, mode), *both)[edge:, edge:][:12, :19]
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-12)


# Several dimensions in the same tiles.


@pytest.mark.parametrize("kind", ["float64", "int32"])
@pytest.mark.parametrize("widths", [(4, 4, 4), (5, 3, 7), (11, 4, 0), (0, 3, 4)])
def test_three_dimensions_in_tiles(kind: str, widths: tuple[int, ...]) -> None:
    """Mixed orders and directions; dimensions come again, in between others."""
    shape = (13, 14, 17)  # z, y, x
    volume = rng.integers(-50, 50, shape).astype(kind)
    real = kind == "float64"
    filters: list[tuple[int, bool, list[float]]] = [
        (2, True, [0.5, 0.6, -0.3] if real else [1, 0, 1]),
        (1, False, [1.0, 0.4] if real else [2, 1]),
        (2, False, [1.0, 0.5, 0.1, 0.1] if real else [1, 3, -3, 1]),
        (0, True, [0.7, 0.2] if real else [1, -1]),
        (1, True, [1.0, 0.3, 0.2] if real else [1, 2, -1]),
        (0, False, [1.0, 0.2, 0.3] if real else [1, 0, 1]),
    ]
    dims = [RecFilterDim("xyz"[k], n) for k, n in enumerate(shape[::-1])]
    f, inp = RecFilter("f"), hl.Buffer(volume)
    f[tuple(dims)] = inp[tuple(dims)]
    for axis, causal, c in filters:
        f.add_filter(+dims[2 - axis] if causal else -dims[2 - axis], c)
    for d, width in zip(dims, widths, strict=True):
        if width:
            f.split(d, width)
    got = np.asarray(f.realize())
    if real:
        np.testing.assert_allclose(got, by_hand(volume, *filters), atol=1e-9)
        return
    wanted = volume.astype(object)
    for axis, causal, c in filters:
        wanted = along(wanted, axis, causal, tuple(c))
    assert not ((got.astype(object) - wanted) % (1 << 32)).any()


def test_a_huge_width_is_that_of_whole_lines() -> None:
    x = RecFilterDim("x", 1000)
    f = RecFilter("f")
    f[x] = hl.f32(1)
    f.add_filter(+x, [1, 2, -1])
    f.split(x, 1 << 30)
    assert np.asarray(f.realize())[-1] == 1000 * 1001 / 2


@pytest.mark.parametrize("border", ["zero", "clamp", "repeat"])
@pytest.mark.parametrize("widths", [(0, 0), (16, 8), (16, 0)])
@pytest.mark.parametrize("channels", [1, 3, 9])
def test_colour_is_innermost(
    channels: int, widths: tuple[int, int], border: str
) -> None:
    colour = rng.standard_normal((H, W, channels))
    c = RecFilterDim("c", channels)
    x, y = dims()
    f, inp = RecFilter("f", border), hl.Buffer(colour)
    f[c, x, y] = inp[c, x, y]
    for direction in (+x, -x, +y):
        f.add_filter(direction, [0.5, 0.4, 0.1])
    for d, width in zip((x, y), widths, strict=True):
        if width:
            f.split(d, width)
    both = [(1, True, [0.5, 0.4, 0.1]), (1, False, [0.5, 0.4, 0.1])]
    k = 0 if border == "zero" else 100
    mode: Any = {"clamp": "edge", "repeat": "wrap"}.get(border, "constant")
    around = np.pad(colour, ((k, k), (k, k), (0, 0)), mode)
    wanted = by_hand(around, *both, (0, True, [0.5, 0.4, 0.1]))[k : k + H, k : k + W]
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-11)


# Several values at a point.


@pytest.mark.parametrize("cascaded", [False, True])
@pytest.mark.parametrize("border", ["zero", "mirror"])
def test_tuples(border: str, cascaded: bool) -> None:
    x, y = dims()
    inp = hl.Buffer(image)
    both = hl.Func("both")
    both[x, y] = (inp[x, y], inp[x, y] * inp[x, y])
    f = RecFilter("f", border)
    f[x, y] = both[x, y]
    for direction in (+x, -x, +y):
        f.add_filter(direction, [0.5, 0.5])
    f.split(x, 16)
    assert "of 2 values of float32" in f.explain()
    last = f.cascade([0, 1], [2])[-1] if cascaded else f
    results = last.realize()
    assert isinstance(results, tuple) and len(results) == 2
    for source, got in zip((image, image * image), results, strict=True):
        one = RecFilter("one", border)
        one[x, y] = hl.Buffer(source)[x, y]
        for direction in (+x, -x, +y):
            one.add_filter(direction, [0.5, 0.5])
        np.testing.assert_allclose(
            np.asarray(got), np.asarray(one.realize()), atol=1e-5
        )
    arrays = [np.empty((H, W), np.float32) for _ in range(2)]
    last.realize(arrays)
    for array, got in zip(arrays, results, strict=True):
        np.testing.assert_array_equal(array, np.asarray(got))
    spread = hl.Func("spread")
    spread[x, y] = last[x, y][1] - last[x, y][0] * last[x, y][0]
    wanted = arrays[1] - arrays[0] * arrays[0]
    np.testing.assert_allclose(np.asarray(spread.realize([W, H])), wanted, atol=1e-5)


def test_tuples_that_cannot_be() -> None:
    x, y = dims()
    f = RecFilter("f")

    def mixed() -> None:
        f[x, y] = (hl.f32(x), hl.i32(y))

    def none() -> None:
        f[x, y] = ()

    refused(mixed, hl.DefinitionError, "values of one type, not float32, int32")
    refused(none, hl.DefinitionError, "values of one type, not none")
