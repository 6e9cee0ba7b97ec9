"""The applications of recursive filters against NumPy, SciPy and OpenCV in float64.

What float64 rounds is far below any error of an algorithm. In float32 the same bounds
hold with its own rounding: they are computed from the filters' coefficients.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from apps import pictures
from apps.common import Array, photograph
from apps.recursive import box, bspline, dog, gaussian, sat, signals, unsharp
from benchmarks import lines
from parhelion.recfilter import RecFilterWarning, gaussian_weights
from tests.apps.support import apart, noise

PAGE = Path(__file__).parent.parent.parent / "docs" / "apps.md"
#: What a single operation rounds by at most, relative to its result.
UNIT = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}
FLOATS = [np.float32, np.float64]
#: The shapes of an image with and without colours, whose sizes no vector divides.
SHAPES = [(37, 51), (37, 51, 3)]
#: A recursive filter: [a0, a1, …].
Weights = Sequence[float]


def rounded(count: float, type: Any) -> float:
    """What `count` operations round by at most, one after the other, relative to the
    magnitudes that they add up (Higham's gamma)."""
    most = count * UNIT[np.dtype(type)]
    return most / (1 - most)


def colours(f: Any, image: Array, *more: Any) -> Array:
    """A function of (H, W) images, done to each colour of an image in float64."""
    image = image.astype(np.float64)
    if image.ndim == 2:
        return np.asarray(f(image, *more))
    each = [f(image[..., c], *more) for c in range(image.shape[2])]
    return np.stack(each, axis=-1)


# Rounding of recursive filters.

#: A filter as [b0, b1, …] and [a1, a2, …] of y[i] = b0 x[i] + … + a1 y[i-1] + ….
Filter = tuple[Weights, Weights]


def recursive(weights: Weights) -> Filter:
    """The filter [a0, a1, …] of y[i] = a0 x[i] + a1 y[i-1] + …."""
    return weights[:1], weights[1:]


def run(one: Filter, image: Array, axis: int = -1) -> Array:
    """A filter of values from zeros on, by SciPy."""
    signal = pytest.importorskip("scipy.signal")
    forward, back = one
    return np.asarray(signal.lfilter(forward, [1, *[-a for a in back]], image, axis))


def gain(filters: Sequence[Filter], one_way: bool) -> float:
    """By how much filters multiply the largest magnitude at most: the sum of what they
    make of an impulse. one_way: whether they run in one direction along one axis;
    others do no worse than one after the other."""
    if not one_way:
        return math.prod([gain([one], True) for one in filters])
    made = np.zeros(4096)
    made[0] = 1
    for one in filters:
        made = run(one, made)
    return float(np.abs(made).sum())


def carried(back: Weights) -> float:
    """By how much an error of 1 in all values before a point is multiplied at most."""
    total = np.zeros(4096)
    for k in range(len(back)):
        entering = np.zeros(4096)
        entering[: len(back) - k] = back[k:]
        total += np.abs(run(([1], back), entering))
    return float(total.max())


def rounding(filters: Sequence[Filter], peak: float, type: Any, edge: int = 0) -> float:
    """By how much filters that run one after the other are off at most, but for errors
    of errors.

    peak: the largest magnitude of what is filtered. edge: of an image, the number of
    pixels that are added up to find what a filter has before its first point. 0 is for
    a line in tiles, where that is found by the filters in the tile before, with the
    errors that they have made there.
    """
    one_way = edge == 0
    # Of each filter up to here, what it rounds by, and the filter of that alone.
    own: list[tuple[float, Filter]] = []
    error = 0.0
    for k, (forward, back) in enumerate(filters):
        size = peak * gain(filters[:k], one_way)
        larger = peak * gain(filters[: k + 1], one_way)
        # A point is a sum of so many products, of coefficients that are rounded too.
        products = np.abs(forward).sum() * size + np.abs(back).sum() * larger
        count = len(forward) + len(back) + 1
        own.append((rounded(count, type) * float(products), ([1], back)))
        before = rounded(edge + 2, type) * larger
        if one_way:
            for j, (by, alone) in enumerate(own):
                before += by * gain([alone, *filters[j + 1 : k + 1]], True)
        later = filters[k + 1 :]
        error += own[k][0] * gain([own[k][1], *later], one_way)
        error += carried(back) * before * gain(later, one_way)
    return error


def mirrored(image: Array, weights: Weights, by: int = 300) -> Array:
    """An image that is filtered forwards and backwards along both axes, and mirrored
    beyond its edges until all is forgotten."""
    made = np.pad(image, by, mode="symmetric")
    for axis in (0, 1, 0, 1):
        made = np.flip(run(recursive(weights), made, axis), axis)
    return made[by:-by, by:-by]


def mirrored_rounding(weights: Weights, type: Any) -> float:
    """By how much that is off at most, of an image of up to 51 pixels along each axis
    and magnitudes up to 1."""
    return rounding([recursive(weights)] * 4, 1, type, edge=51)


# Summed-area tables and boxes.


@pytest.mark.parametrize("type", [np.uint8, np.int16, np.int32])
@pytest.mark.parametrize("shape", SHAPES)
def test_tables_of_integers(type: Any, shape: tuple[int, ...]) -> None:
    low, high = np.iinfo(type).min, int(np.iinfo(type).max) + 1
    image = np.random.default_rng(1).integers(low, high, shape).astype(type)
    table = sat.summed_area_table(image)
    exact = image.astype(np.int64).cumsum(0).cumsum(1)
    assert table.dtype == np.int32
    # Those of int32 wrap around.
    np.testing.assert_array_equal(table, exact.astype(np.int32))


def test_a_table_as_opencv_has_it() -> None:
    cv2 = pytest.importorskip("cv2")
    image = photograph()[0]
    theirs = cv2.integral(image, sdepth=cv2.CV_32S)[1:, 1:]
    np.testing.assert_array_equal(sat.summed_area_table(image), theirs)


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_tables_of_floats(type: Any, shape: tuple[int, ...]) -> None:
    image = (noise(shape) - 0.5).astype(type)
    table = sat.summed_area_table(image)
    exact, size = [v.astype(float).cumsum(0).cumsum(1) for v in (image, abs(image))]
    assert table.dtype == type
    # NumPy rounds as well.
    bound = rounded(sum(shape[:2]), type) + rounded(sum(shape[:2]), np.float64)
    assert (apart(table, exact) <= bound * size).all()


def in_boxes(image: Array, radius: int) -> Array:
    """The sums of boxes, one by one."""
    sums = np.zeros(image.shape, np.int64)
    for at in np.ndindex(image.shape[:2]):
        rows, columns = [slice(max(i - radius, 0), i + radius + 1) for i in at]
        sums[at] = image[rows, columns].sum((0, 1), np.int64)
    return sums


@pytest.mark.parametrize("radius", [0, 3, 40, 100])
def test_sums_of_boxes(radius: int) -> None:
    """Also of boxes that are larger than the image."""
    image = np.random.default_rng(2).integers(-99, 99, (37, 51, 3)).astype(np.int16)
    np.testing.assert_array_equal(sat.box_sums(image, radius), in_boxes(image, radius))


def test_sums_of_boxes_of_a_table_that_wraps() -> None:
    rng = np.random.default_rng(3)
    image = rng.integers(50_000_000, 80_000_000, (37, 51)).astype(np.int32)
    assert image.sum(dtype=np.int64) > 2**36
    np.testing.assert_array_equal(sat.box_sums(image, 2), in_boxes(image, 2))


def boxes(image: Array, radius: int, times: int) -> Array:
    """Box filters of an image that goes on as it is at its edges, in float64."""
    ndimage = pytest.importorskip("scipy.ndimage")
    margin = times * radius
    made = np.pad(image, margin, mode="edge")
    for _ in range(times):
        made = ndimage.uniform_filter(made, 2 * radius + 1)
    height, width = image.shape
    return np.asarray(made[margin:, margin:][:height, :width])


#: Three box filters, in all ways.
THRICE = {"three": box.THREE, "one_and_two": box.ONE_AND_TWO, "ones": [*box.ONE] * 3}


@pytest.mark.parametrize("shape", SHAPES)
def test_box_filters_of_integers_are_exact(shape: tuple[int, ...]) -> None:
    """But for the mean, which is rounded. Sums of three pass 32 bits."""
    image = np.random.default_rng(4).integers(0, 256, shape).astype(np.uint8)
    for times, found in [
        (1, box.box_by_tables(image, 8)),
        (2, box.box_by_running_sums(image, 8, 2)),
        (3, box.box_by_running_sums(image, 8, 3)),
        *[(3, box.box_by_tables(image, 8, tables)) for tables in THRICE.values()],
    ]:
        assert found.dtype == np.float32
        count = 17.0 ** (2 * times)
        exact = np.rint(colours(boxes, image, 8, times) * count)
        np.testing.assert_array_equal(found, (exact / count).astype(np.float32))


def test_tables_that_wrap_have_exact_differences() -> None:
    """Of order 3, values pass 64 bits in an image of this size."""
    image = np.full((1400, 1400), 255, np.uint8)
    image[::7, ::5] = 3
    assert 255 * (1400**3 / 6) ** 2 > 2**64
    np.testing.assert_array_equal(
        box.box_by_tables(image, 4, box.THREE), box.box_by_running_sums(image, 4, 3)
    )


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_box_filter_by_a_table(type: Any, shape: tuple[int, ...]) -> None:
    """A box is of four values of the table, each up to the sum of the image."""
    image = noise(shape).astype(type)
    found = box.box_by_tables(image, 4)
    height, width = [n + 9 for n in shape[:2]]
    bound = 4 * height * width * rounded(height + width + 4, type) / 81
    assert found.dtype == type
    assert apart(found, colours(boxes, image, 4, 1)).max() <= bound


def drift(times: int, n: int, shape: tuple[int, ...], type: Any) -> float:
    """By how much running sums of values up to 1 are off at most, divided by their
    number: of each step, the difference and the sum are rounded, and errors add up."""
    error, size = 0.0, 1.0
    for _ in range(times):
        for extent in shape[1::-1]:
            steps = extent + times * (n - 1)
            own = steps * rounded(2, type) * (2 + n) * (size + error)
            error, size = n * error + own, n * size
    return error / size + rounded(1, type)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_running_sums(times: int, type: Any, shape: tuple[int, ...]) -> None:
    image = noise(shape).astype(type)
    found = box.box_by_running_sums(image, 4, times)
    # What SciPy computes, by running sums too, is rounded as well.
    bound = drift(times, 9, shape, type) + drift(times, 9, shape, np.float64)
    assert found.dtype == type
    assert apart(found, colours(boxes, image, 4, times)).max() <= bound


def test_a_box_filter_as_opencv_has_it() -> None:
    cv2 = pytest.importorskip("cv2")
    image = np.ascontiguousarray(np.moveaxis(photograph(), 0, -1))
    theirs = cv2.blur(image, (9, 9), borderType=cv2.BORDER_REPLICATE)
    # OpenCV rounds the mean to a level.
    assert apart(box.box_by_tables(image, 4), theirs).max() <= 0.5 + 2e-5


def test_a_table_of_order_3_is_unstable() -> None:
    """The errors of the page's table, up to what processors round in other ways, and
    what the page says of them."""
    rows = re.findall(r"^\| (\d+) × \1 \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    errors = []
    for size, cells in rows:
        image = np.random.default_rng(int(size)).random((int(size),) * 2, np.float32)
        exact = boxes(image.astype(float), 4, 3)
        found = [box.box_by_tables(image, 4, tables) for tables in THRICE.values()]
        found.append(box.box_by_running_sums(image, 4, 3))
        errors.append([float(apart(one, exact).max()) for one in found])
        said = [float(cell) for cell in cells.split("|")]
        ratios = np.array(errors[-1]) / said
        assert ((ratios > 1 / 4) & (ratios < 4)).all(), (size, errors[-1])
    table, paper, _, running = np.array(errors).T
    assert len(rows) == 4
    assert (table[1:] > 5 * table[:-1]).all()
    assert (table > 1000 * paper).all() and (paper > 10 * running).all()
    assert table[-1] > 1 and running[-1] <= drift(3, 9, (256, 256), np.float32)


# Interpolation.

POLE: list[float] = [1 - bspline.POLE, bspline.POLE]
#: The largest coefficient of an image of magnitudes up to 1: its filters' gains.
MOST = (POLE[0] / (1 + bspline.POLE)) ** 4


def spline_rounding(type: Any) -> float:
    return mirrored_rounding(POLE, type)


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_prefilter(type: Any, shape: tuple[int, ...]) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    image = noise(shape).astype(type)
    found = bspline.prefilter(image)

    def theirs(one: Array) -> Any:
        return ndimage.spline_filter(one, 3, mode="reflect")

    assert found.dtype == type
    bound = spline_rounding(type) + spline_rounding(np.float64)
    assert apart(found, colours(theirs, image)).max() <= bound


def interpolation_rounding(type: Any) -> float:
    """Of coefficients with an error, and of two sums of four of them with weights that
    some operations compute, of a coordinate whose rounding in float64 moves it."""
    moved = 2 * 200 * rounded(4, np.float64) * MOST
    return spline_rounding(type) + 2 * MOST * rounded(15, type) + moved


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [(111, 200), (37, 51), (20, 30)])
def test_resizing(type: Any, shape: tuple[int, ...], size: tuple[int, int]) -> None:
    """At the edges too: SciPy mirrors as we do in the mode of that name."""
    ndimage = pytest.importorskip("scipy.ndimage")
    image = noise(shape).astype(type)
    factors = np.divide(size, shape[:2])
    found = bspline.resize(image, *size)

    def theirs(one: Array) -> Any:
        return ndimage.zoom(one, factors, order=3, mode="reflect", grid_mode=True)

    assert found.dtype == type and found.shape == (*size, *shape[2:])
    bound = interpolation_rounding(type) + interpolation_rounding(np.float64)
    assert apart(found, colours(theirs, image)).max() <= bound
    if size == shape[:2]:
        assert apart(found, image).max() <= bound


@pytest.mark.parametrize("type", FLOATS)
def test_sampling(type: Any) -> None:
    """Between pixels, and far beyond the edges."""
    ndimage = pytest.importorskip("scipy.ndimage")
    image = noise((37, 51)).astype(type)
    points = np.random.default_rng(5).uniform(-120, 150, (2, 500))
    points[:, :4] = [[0, 36, -0.5, 36.5], [0, 50, -0.5, 50.5]]
    found = bspline.sample(image, *points)
    double = image.astype(np.float64)
    theirs = ndimage.map_coordinates(double, points, order=3, mode="reflect")
    assert found.dtype == type
    bound = interpolation_rounding(type) + interpolation_rounding(np.float64)
    assert apart(found, theirs).max() <= bound


# Gaussians.


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_gaussian_blur(order: int, type: Any, shape: tuple[int, ...]) -> None:
    image = noise(shape).astype(type)
    weights = gaussian_weights(4.0, order)
    found = gaussian.gaussian_blur(image, 4.0, order)
    bound = sum([mirrored_rounding(weights, t) for t in (type, np.float64)])
    assert found.dtype == type
    assert apart(found, colours(mirrored, image, weights)).max() <= bound


def test_factors_of_a_gaussian() -> None:
    """One after the other they are the filter of order 3, mirrored images as well."""
    image = noise((37, 51)).astype(np.float64)
    factored = gaussian.gaussian_blur(gaussian.gaussian_blur(image, 4.0, 1), 4.0, 2)
    weights = [gaussian_weights(4.0, order) for order in (1, 2, 3)]
    one, two, three = [[recursive(w)] * 4 for w in weights]
    bound = sum([rounding(f, 1, np.float64, 51) for f in ([*one, *two], three)])
    assert apart(factored, gaussian.gaussian_blur(image, 4.0)).max() <= bound


def test_how_near_a_gaussian_it_is() -> None:
    """The errors of the page's table, of an impulse."""
    page = PAGE.read_text()
    for sigma in (2, 4, 8, 16, 32):
        at = np.arange(-12 * sigma, 12 * sigma + 1)
        impulse = (at == 0).astype(np.float64)[None]
        exact = np.exp(-(at**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))
        cells = []
        for order in (1, 2, 3):
            found = gaussian.gaussian_blur(impulse, sigma, order)[0]
            cells.append(f"{apart(found, exact).max() / exact.max():.2%}")
        row = " | ".join([str(sigma), *[cell.replace("%", " %") for cell in cells]])
        assert f"| {row} |" in page, row


def test_levels_are_blurred_in_floats() -> None:
    image = (255 * noise((37, 51))).astype(np.uint8)
    found = gaussian.gaussian_blur(image, 3.0)
    assert found.dtype == np.float32
    as_floats = gaussian.gaussian_blur(image.astype(np.float32), 3.0)
    np.testing.assert_array_equal(found, as_floats)


def gaussian_rounding(sigma: float, type: Any) -> float:
    return mirrored_rounding(gaussian_weights(sigma), type)


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_difference_of_gaussians(type: Any, shape: tuple[int, ...]) -> None:
    image = noise(shape).astype(type)
    found = dog.difference_of_gaussians(image, 2.0, 4.0)
    one, other = [
        colours(mirrored, image, gaussian_weights(sigma)) for sigma in (2.0, 4.0)
    ]
    bound = rounded(1, type)
    for sigma in (2.0, 4.0):
        bound += gaussian_rounding(sigma, type) + gaussian_rounding(sigma, np.float64)
    assert found.dtype == type
    assert apart(found, one - other).max() <= bound


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_unsharp_mask(type: Any, shape: tuple[int, ...]) -> None:
    image = noise(shape).astype(type)
    found = unsharp.unsharp_mask(image, 3.0, 1.5)
    blur = colours(mirrored, image, gaussian_weights(3.0))
    # The difference, the product and the sum are of magnitudes up to 2.5.
    bound = 1.5 * (gaussian_rounding(3.0, type) + gaussian_rounding(3.0, np.float64))
    bound += 2.5 * rounded(4, type)
    assert found.dtype == type
    assert apart(found, image + 1.5 * (image - blur)).max() <= bound


def test_unsharp_mask_of_levels() -> None:
    """They are rounded to the next level and clipped."""
    image = np.ascontiguousarray(np.moveaxis(photograph()[:, :90, 150:250], 0, -1))
    found = unsharp.unsharp_mask(image, 3.0, 1.5)
    blur = colours(mirrored, image, gaussian_weights(3.0))
    exact = np.clip(image + 1.5 * (image - blur), 0, 255)
    bound = 255 * (1.5 * gaussian_rounding(3.0, np.float32) + 1e-6)
    assert found.dtype == np.uint8 and set(found.flat) >= {0, 255}
    assert apart(found, exact).max() <= 0.5 + bound


def test_small_sigmas_are_warned_of() -> None:
    image = noise((20, 30))
    with pytest.warns(RecFilterWarning, match="9 to 38 % off"):
        unsharp.unsharp_mask(image, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unsharp.unsharp_mask(image, 2.0)


# Signals.


def poles_of(order: int, radius: float) -> list[list[complex]]:
    """Pairs of poles at equal angles, and a real one if the order is odd."""
    count = order // 2
    at = radius * np.exp(1j * np.pi * np.arange(1, count + 1) / (count + 1))
    return [*[[p, p.conjugate()] for p in at], *[[radius + 0j]] * (order % 2)]


def weights_of(poles: Sequence[complex]) -> list[float]:
    """The filter of some poles that keeps constants what they are."""
    below = np.real(np.poly(poles))
    return [float(below.sum()), *[-float(a) for a in below[1:]]]


def in_turn(signal: Array, filters: Sequence[Weights]) -> Array:
    made = signal.astype(np.float64)
    for weights in filters:
        made = run(recursive(weights), made)
    return made


def line_rounding(filters: Sequence[Weights], type: Any) -> float:
    """By how much they are off at most, in tiles, with SciPy's own rounding."""
    given = list(map(recursive, filters))
    return rounding(given, 1, type) + rounding(given, 1, np.float64)


#: Long enough for tiles.
LONG = 30_000


def white(type: Any) -> Array:
    return np.random.default_rng(6).uniform(-1, 1, LONG).astype(type)


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("order", [1, 2, 3, 8, 17, 29])
def test_a_filter_of_high_order(order: int, type: Any) -> None:
    poles = poles_of(order, 0.6)
    weights = weights_of([p for pair in poles for p in pair])
    found = signals.recursive(white(type), weights)
    assert found.dtype == type
    exact = in_turn(white(type), [weights])
    assert apart(found, exact).max() <= line_rounding([weights], type)


@pytest.mark.parametrize("orders", [(2, 1), (1, 2), (2, 2, 2, 2, 1), (5, 4)])
def test_a_filter_of_high_order_in_factors(orders: tuple[int, ...]) -> None:
    """The filter of the poles that are found is not quite the one that was given."""
    pairs = poles_of(sum(orders), 0.6)
    weights = weights_of([p for pair in pairs for p in pair])
    found = signals.recursive(white(np.float64), weights, orders)
    again = weights_of(np.roots([1, *[-a for a in weights[1:]]]).tolist())
    size = gain([recursive(weights)], True)
    # By so much the coefficients of both differ, which multiply values up to `size`.
    off = np.abs(np.subtract(weights, again)) + rounded(len(weights), np.float64)
    bound = float(off.sum()) * size * gain([([1], weights[1:])], True)
    bound += line_rounding([weights], np.float64)
    bound += line_rounding([weights_of(pair) for pair in pairs], np.float64)
    assert apart(found, in_turn(white(np.float64), [weights])).max() <= bound


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("count, together", [(1, 6), (7, 3), (30, 6)])
def test_sections(count: int, together: int, type: Any) -> None:
    pairs = [weights_of(pair) for pair in poles_of(2 * count, 0.3)]
    # One after the other in this order, they make no values large in between.
    pairs = [pairs[11 * k % count] for k in range(count)]
    found = signals.sections(white(type), pairs, together)
    assert found.dtype == type
    exact = in_turn(white(type), pairs)
    assert apart(found, exact).max() <= line_rounding(pairs, type)


def test_scipys_sections() -> None:
    """`hl.sosfilt` computes in float64, and its result is rounded once."""
    scipy = pytest.importorskip("scipy.signal")
    sos = scipy.cheby1(12, 0.5, 0.2, output="sos")
    exact = scipy.sosfilt(sos, white(np.float32).astype(np.float64))
    found = hl.sosfilt(sos, white(np.float32))
    assert found.dtype == np.float32
    filters = [(row[:3].tolist(), (-row[4:]).tolist()) for row in sos]
    bound = 2 * rounding(filters, 1, np.float64)
    assert bound < 1e-8
    assert (apart(found, exact) <= np.abs(exact) * rounded(1, np.float32) + bound).all()


# The page.


def test_the_lines_that_the_page_counts() -> None:
    page = PAGE.read_text()
    assert lines.recursive_table() in page
    assert lines.table() in page


def test_pictures_are_small() -> None:
    page = PAGE.read_text()
    for name in pictures.PICTURES:
        assert f"(images/{name}.jpg)" in page
        assert (pictures.IMAGES / f"{name}.jpg").stat().st_size < 150_000
