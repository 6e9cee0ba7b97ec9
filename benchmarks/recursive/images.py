"""The cases of images: Gaussians, summed-area tables, boxes and splines by size."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import parhelion as hl
from benchmarks.case import zeros
from benchmarks.recursive import applications, exact, peers, untiled
from benchmarks.recursive.case import (
    DEFAULT,
    HALIDE,
    LFILTER,
    OURS,
    PLAIN,
    SCIPY,
    UNTILED,
    Array,
    Case,
    Check,
    Contender,
    Run,
    Setup,
)
from benchmarks.recursive.exact import Scan
from parhelion.recfilter import RecFilterWarning, gaussian_weights

#: Sides of square images.
SIZES = {
    "quick": (300, 400),
    "usual": (512, 1024, 2048, 4096),
    "large": (512, 1024, 2048, 4096, 8192, 16384),
}
SIGMA = 5.0
RADIUS = 5
#: Of the two Gaussians, of three boxes each, whose difference is taken.
RADII = (3, 6)
#: Widths of tiles, by scale. A width of the whole side leaves the filter untiled.
WIDTHS = {"quick": (64,), "usual": (32, 64, 128), "large": (32, 64, 128)}
FLOAT, UINT = hl.Float(32), hl.UInt(32)
EPS = float(np.finfo(np.float32).eps)

Build = Callable[[int], hl.Func]


def image(n: int) -> Array:
    """Noise around zero: sums of it stay small, so that float32 has digits left. What
    is filtered has its mean taken off for that."""
    return np.random.default_rng(7).random((n, n), np.float32) - np.float32(0.5)


def compiled(
    f: hl.Func, shape: tuple[int, ...], dtype: Any, read: Sequence[Array] | None = None
) -> Run:
    """A run of a Func of ours into memory that is there already, placed as new arrays
    are that are computed from those that it reads."""
    f.compile_jit()
    result = zeros(shape, dtype, read)
    buffer = hl.Buffer(result)

    def run() -> Array:
        f.realize(buffer)
        return result

    return run


def ours(
    pixels: Array, scale: str, dtype: Any, build: Build, check: Check
) -> list[Contender]:
    """Our filter by default, untiled, and in tiles of each width."""
    n = len(pixels)
    widths = {DEFAULT: 0, UNTILED: n} | tiles(scale)

    def made(name: str, width: int) -> Contender:
        return Contender(
            name, OURS, lambda: compiled(build(width), (n, n), dtype, [pixels]), check
        )

    return [made(name, width) for name, width in widths.items()]


def tiles(scale: str) -> dict[str, int]:
    """The widths of tiles, by the names of contenders."""
    return {f"tiles of {w}": w for w in WIDTHS[scale]}


def halides(make: Callable[[str], Run], check: Check) -> list[Contender]:
    """Halide's schedules by hand."""

    def made(name: str) -> Contender:
        return Contender(name, HALIDE, lambda: make(name), check)

    return [made(name) for name in untiled.SCHEDULES]


def plain(
    pixels: Array, dtype: Any, scans: list[Scan], check: Check
) -> list[Contender]:
    """The untiled definition in ordinary Funcs: under Halide's schedules, and one of
    these here too, which tells what is the compiler's and what the schedule's."""

    def strips() -> Run:
        return untiled.prepared(pixels, dtype, scans, "strips", "parhelion")

    def of_halide(schedule: str) -> Run:
        return untiled.prepared(pixels, dtype, scans, schedule)

    return [*halides(of_halide, check), Contender(PLAIN, OURS, strips, check)]


def both_ways(causal: list[float], anticausal: list[float]) -> list[Scan]:
    """Filters forwards and backwards, along x and then along y."""
    return [
        Scan(dim, forward, tuple(causal if forward else anticausal))
        for dim in (0, 1)
        for forward in (True, False)
    ]


SUMS = [Scan(0, True, (1, 1)), Scan(1, True, (1, 1))]


def of_sums(n: int, largest: float) -> Check:
    """Of serial sums in float32, each of which is rounded: errors are those of a random
    walk."""
    return Check(4 * EPS * (2 * n) ** 0.5 * largest)


def gaussian(order: int) -> Case:
    """The Gaussian of one order; only that of order 3 is one that OpenCV computes
    too."""
    weights = gaussian_weights(SIGMA, order)
    scans, near = both_ways(weights, weights), Check(4e-6)

    def make(n: int, scale: str) -> Setup:
        pixels = image(n)
        inp = hl.Buffer(pixels)

        def build(width: int) -> hl.Func:
            return applications.gaussian(inp, (n, n), SIGMA, order, width)

        contenders = ours(pixels, scale, np.float32, build, near)
        contenders += plain(pixels, np.float32, scans, near)
        contenders.append(peers.lfilter(pixels, scans, near))
        if order == 3:
            contenders.append(_opencv_gaussian(pixels))
        contenders += peers.copies((n, n), np.float32)
        return Setup(n * n, contenders, lambda: exact.filtered(pixels, scans))

    words = {1: "first", 2: "second", 3: "third"}
    title = f"Gaussian, {words[order]} order, sigma {SIGMA:g}"
    return Case(f"gaussian{order}", title, "image", "size", SIZES, make)


def _opencv_gaussian(pixels: Array) -> Contender:
    """A stencil of 41 points. The filter of order 3 is an approximation, by which they
    differ, and so do what they take to be outside of the image."""

    def run() -> Array:
        import cv2

        return np.asarray(cv2.GaussianBlur(pixels, (0, 0), SIGMA))

    return peers.opencv("GaussianBlur", run, Check(0.005, margin=30))


def table_float() -> Case:
    """The table of floats: cv2.integral in float32 as well."""

    def make(n: int, scale: str) -> Setup:
        pixels = image(n)
        inp, wanted = hl.Buffer(pixels), exact.filtered(pixels, SUMS)
        near = of_sums(n, float(np.abs(wanted).max()))

        def build(width: int) -> hl.Func:
            return applications.summed_area(inp, (n, n), hl.Float(32), width)

        contenders = ours(pixels, scale, np.float32, build, near)
        contenders += plain(pixels, np.float32, SUMS, near)
        contenders.append(peers.lfilter(pixels, SUMS, near))
        contenders.append(_integral(pixels, np.float32, near))
        contenders += peers.copies((n, n), np.float32)
        return Setup(n * n, contenders, lambda: wanted)

    title = "summed-area table, float32"
    return Case("sat_f32", title, "image", "size", SIZES, make)


def table_int() -> Case:
    """The table of bytes in int32, which is exact: bytes below 8, as those of larger
    ones would not fit from 4096 x 4096 pixels on."""

    def make(n: int, scale: str) -> Setup:
        pixels = np.random.default_rng(7).integers(0, 8, (n, n), np.uint8)
        inp = hl.Buffer(pixels)

        def build(width: int) -> hl.Func:
            return applications.summed_area(inp, (n, n), hl.Int(32), width)

        def wanted() -> Array:
            return np.cumsum(np.cumsum(pixels, 1, np.int32), 0, np.int32)

        contenders = ours(pixels, scale, np.int32, build, Check())
        contenders += plain(pixels, np.int32, SUMS, Check())
        floats = pixels.astype(np.float32)
        contenders.append(peers.lfilter(floats, SUMS, of_sums(n, 4.0 * n * n)))
        contenders.append(_integral(pixels, np.int32, Check()))
        contenders += peers.copies((n, n), np.int32)
        return Setup(n * n, contenders, wanted)

    title = "summed-area table of bytes, int32"
    return Case("sat_i32", title, "image", "size", SIZES, make)


def _integral(pixels: Array, dtype: Any, check: Check) -> Contender:
    n = len(pixels)
    sums = zeros((n + 1, n + 1), dtype, [pixels])

    def run() -> Array:
        import cv2

        depth = cv2.CV_32F if dtype is np.float32 else cv2.CV_32S
        return np.asarray(cv2.integral(pixels, sums, depth))[1:, 1:]

    return peers.opencv("integral", run, check)


def _box_filter(pixels: Array, radius: int, times: int) -> Array:
    """Boxes by OpenCV, with zeros outside."""
    import cv2

    side, result = (2 * radius + 1,) * 2, pixels
    for _ in range(times):
        result = cv2.boxFilter(result, -1, side, borderType=cv2.BORDER_CONSTANT)
    return result


def box() -> Case:
    """One box, by a summed-area table."""

    def make(n: int, scale: str) -> Setup:
        pixels = image(n)
        inp, near = hl.Buffer(pixels), _of_box(pixels, RADIUS)

        def build(width: int) -> hl.Func:
            return applications.box(inp, (n, n), RADIUS, width)

        contenders = ours(pixels, scale, np.float32, build, near)
        contenders += halides(lambda s: untiled.box(pixels, SUMS, s, RADIUS), near)
        contenders.append(
            peers.lfilter(
                pixels, SUMS, near, lambda table: peers.box_of_table(table, RADIUS)
            )
        )
        contenders.append(
            peers.opencv("boxFilter", lambda: _box_filter(pixels, RADIUS, 1), near)
        )
        contenders += peers.copies((n, n), np.float32)
        return Setup(n * n, contenders, lambda: exact.box(pixels, RADIUS))

    title = f"box of {2 * RADIUS + 1} x {2 * RADIUS + 1} pixels"
    return Case("box", title, "image", "size", SIZES, make)


def _of_box(pixels: Array, radius: int) -> Check:
    """Four sums of a table, over the pixels of a box."""
    table = exact.filtered(pixels, SUMS)
    of_table = of_sums(len(pixels), float(np.abs(table).max())).largest
    return Check(4 * of_table / (2 * radius + 1) ** 2 + 4 * EPS)


def three_boxes() -> Case:
    """Three boxes: in turn, as a single and a double one, and from one table."""

    def make(n: int, scale: str) -> Setup:
        pixels, size = image(n), (n, n)
        # Bytes for the table that wraps, the same image but for their rounding.
        rounded = np.round((pixels + np.float32(0.5)) * 255).astype(np.uint8)
        inp, whole = hl.Buffer(pixels), hl.Buffer(rounded)
        in_turn, inner = Check(3 * _of_box(pixels, RADIUS).largest), 3 * RADIUS + 1
        double = _of_double_box(pixels, RADIUS, inner)
        contenders: list[Contender] = []
        for named, width in ({DEFAULT: 0} | tiles(scale)).items():
            given = (size, RADIUS)
            contenders += [
                _ours(
                    named,
                    partial(applications.box_and_double, inp, *given, width),
                    double(width),
                    pixels,
                ),
                _ours(
                    f"three boxes in turn, {named}",
                    partial(applications.boxes, inp, *given, width),
                    in_turn,
                    pixels,
                ),
                _ours(
                    f"one table of order 3, float32, {named}",
                    partial(applications.triple_table, inp, *given, FLOAT, width),
                    Check(margin=inner, unstable=True),
                    pixels,
                ),
                _ours(
                    f"one table of order 3 of bytes, uint32, {named}",
                    partial(applications.triple_table, whole, *given, UINT, width),
                    Check(255e-6, inner),
                    rounded,
                ),
            ]
        contenders.append(
            peers.opencv(
                "boxFilter, three times",
                lambda: _box_filter(pixels, RADIUS, 3),
                in_turn,
            )
        )
        contenders.append(_lfilter_boxes(pixels, in_turn))
        contenders += peers.copies((n, n), np.float32)
        in_bytes = partial(exact.boxes, rounded.astype(np.float32), RADIUS)
        of_bytes = {c.label: in_bytes for c in contenders if "of bytes" in c.name}
        return Setup(n * n, contenders, partial(exact.boxes, pixels, RADIUS), of_bytes)

    title = f"three boxes of {2 * RADIUS + 1} x {2 * RADIUS + 1} pixels"
    return Case("boxes3", title, "image", "size", SIZES, make)


def _of_double_box(pixels: Array, radius: int, margin: int) -> Callable[[int], Check]:
    """Of three sums of sums, over the points of two boxes, by the width of tiles.

    The two values that a tile hands on differ by little: the rounding of their
    difference is carried on over the tile, and a box reads it beyond. Where that is
    larger than the values themselves, nothing is expected.
    """
    once, side = exact.box(pixels, radius), 2 * radius + 1
    most = float(np.abs(exact.sums_of_sums(once)).max())
    of_box, spread = _of_box(pixels, radius).largest, float(once.std())

    def check(width: int) -> Check:
        largest = of_box + EPS * most * (4 + 2 * width * side) / side**2
        return Check(largest, margin, unstable=largest > spread)

    return check


def _ours(
    name: str, build: Callable[[], hl.Func], check: Check, pixels: Array
) -> Contender:
    def prepare() -> Run:
        with warnings.catch_warnings():
            # That floats lose their digits in a table of order 3 is what is shown.
            warnings.simplefilter("ignore", RecFilterWarning)
            return compiled(build(), pixels.shape, np.float32, [pixels])

    return Contender(name, OURS, prepare, check)


def _lfilter_boxes(pixels: Array, check: Check) -> Contender:
    """Three tables by SciPy, and boxes of them by NumPy."""

    def run() -> Array:
        result = pixels
        for _ in range(3):
            for scan in SUMS:
                result = scan.lfilter(result, "float32")
            result = peers.box_of_table(result, RADIUS)
        return result

    return Contender(LFILTER, SCIPY, lambda: run, check)


def difference_of_gaussians() -> Case:
    """The difference of two Gaussians of three boxes each (2015 paper, Figure 11)."""

    def make(n: int, scale: str) -> Setup:
        pixels, size = image(n), (n, n)
        inp, inner = hl.Buffer(pixels), 3 * max(RADII) + 1

        doubles = [_of_double_box(pixels, r, inner) for r in RADII]

        def near(width: int) -> Check:
            each = [check(width) for check in doubles]
            unstable = any([check.unstable for check in each])
            return Check(sum([check.largest for check in each]), inner, unstable)

        def run() -> Array:
            one, other = [_box_filter(pixels, r, 3) for r in RADII]
            return np.asarray(one - other)

        def wanted() -> Array:
            one, other = [exact.boxes(pixels, r) for r in RADII]
            return np.asarray(one - other)

        contenders = [
            _ours(
                name,
                partial(applications.difference_of_gaussians, inp, size, RADII, width),
                near(width),
                pixels,
            )
            for name, width in ({DEFAULT: 0} | tiles(scale)).items()
        ]
        contenders.append(peers.opencv("boxFilter, six times", run, near(0)))
        contenders += peers.copies((n, n), np.float32)
        return Setup(n * n, contenders, wanted)

    title = f"difference of Gaussians of three boxes, radii {RADII[0]} and {RADII[1]}"
    return Case("dog", title, "image", "size", SIZES, make)


def spline() -> Case:
    """The prefilter of cubic B-splines: order 1, forwards and backwards."""
    pole = applications.POLE
    scans, near = both_ways([1.0, pole], [-6 * pole, pole]), Check(4e-5)

    def make(n: int, scale: str) -> Setup:
        pixels = image(n)
        inp = hl.Buffer(pixels)

        def build(width: int) -> hl.Func:
            return applications.spline(inp, (n, n), width)

        contenders = ours(pixels, scale, np.float32, build, near)
        contenders += plain(pixels, np.float32, scans, near)
        contenders.append(peers.lfilter(pixels, scans, near))
        contenders.append(_spline_filter(pixels))
        contenders += peers.copies((n, n), np.float32)
        return Setup(n * n, contenders, lambda: exact.filtered(pixels, scans))

    return Case("spline", "cubic B-spline prefilter", "image", "size", SIZES, make)


def _spline_filter(pixels: Array) -> Contender:
    """SciPy's, of an image that is mirrored at its edges."""

    def run() -> Array:
        from scipy.ndimage import spline_filter

        return np.asarray(spline_filter(pixels, 3, np.float32))

    return Contender("spline_filter", SCIPY, lambda: run, Check(4e-5, margin=20))


def cases() -> list[Case]:
    """All cases of images, in the order of the page."""
    return [
        gaussian(3),
        gaussian(2),
        gaussian(1),
        table_float(),
        table_int(),
        box(),
        three_boxes(),
        difference_of_gaussians(),
        spline(),
    ]
