"""Edges, corners and other features."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import (
    Pipeline,
    Size,
    edges,
    gaussian,
    picture,
    total,
)


def _sobel(at: Module) -> tuple[Module, Module]:
    """Horizontal and vertical derivatives of what `at(dx, dy)` gives."""
    gx = (at(1, -1) - at(-1, -1)) + 2 * (at(1, 0) - at(-1, 0)) + (at(1, 1) - at(-1, 1))
    gy = (at(-1, 1) - at(-1, -1)) + 2 * (at(0, 1) - at(0, -1)) + (at(1, 1) - at(1, -1))
    return gx, gy


def canny_integer(hl: Module) -> App:
    """An edge detector on integers: a binomial blur, Sobel's gradient, and, by nested
    selects over four directions, those pixels whose gradient is the greatest across
    the edge and beyond a threshold, strong and weak ones."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    f = edges(hl, inp)
    rows, blur = hl.Func("rows"), hl.Func("blur")
    rows[x, y] = total([hl.i16(f[x + k, y]) * w for k, w in _BINOMIAL])
    blur[x, y] = (total([hl.i32(rows[x, y + k]) * w for k, w in _BINOMIAL]) + 128) >> 8
    gx, gy, size = hl.Func("gx"), hl.Func("gy"), hl.Func("size")
    gx[x, y], gy[x, y] = _sobel(lambda dx, dy: blur[x + dx, y + dy])
    size[x, y] = hl.i32(hl.abs(gx[x, y])) + hl.i32(hl.abs(gy[x, y]))
    a, b = hl.i32(hl.abs(gx[x, y])), hl.i32(hl.abs(gy[x, y]))
    along = gx[x, y] * gy[x, y] > 0

    def peak(dx: int, dy: int) -> Module:
        mine = size[x, y]
        return (mine > size[x + dx, y + dy]) & (mine >= size[x - dx, y - dy])

    thin = hl.Func("thin")
    thin[x, y] = hl.select(
        5 * b < 2 * a,
        peak(1, 0),
        hl.select(
            5 * a < 2 * b,
            peak(0, 1),
            hl.select(along, peak(1, 1), peak(-1, 1)),
        ),
    )
    out = hl.Func("out")
    strong = hl.select(size[x, y] > 120, hl.u8(255), hl.u8(128))
    out[x, y] = hl.select(
        thin[x, y], hl.select(size[x, y] > 60, strong, hl.u8(0)), hl.u8(0)
    )
    return App(out, {"input": inp}, {})


_BINOMIAL = ((-2, 1), (-1, 4), (0, 6), (1, 4), (2, 1))


def _canny_integer(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    weights = [w for _, w in _BINOMIAL]
    wide = np.pad(images["input"].astype(np.int32), 4, mode="edge")
    blur = ndimage.correlate1d(ndimage.correlate1d(wide, weights, 1), weights, 0)
    blur = (blur + 128) >> 8
    blur = blur[2:-2, 2:-2]

    def at(plane: Array, dx: int, dy: int) -> Array:
        return np.roll(plane, (-dy, -dx), (0, 1))

    gx, gy = _sobel(lambda dx, dy: at(blur, dx, dy))
    a, b = np.abs(gx), np.abs(gy)
    size = a + b

    def peak(dx: int, dy: int) -> Array:
        return np.asarray((size > at(size, dx, dy)) & (size >= at(size, -dx, -dy)))

    slanted = np.where(gx * gy > 0, peak(1, 1), peak(-1, 1))
    steep = np.where(5 * a < 2 * b, peak(0, 1), slanted)
    thin = np.where(5 * b < 2 * a, peak(1, 0), steep)
    level = np.where(size > 120, 255, 128)
    found = np.where(thin & (size > 60), level, 0).astype(np.uint8)
    return found[2:-2, 2:-2]


def binary_pattern(hl: Module) -> App:
    """Local binary patterns of 8 neighbours (skimage.feature)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    f, out = edges(hl, inp), hl.Func("out")
    out[x, y] = total(
        [
            hl.select(f[x + dx, y + dy] >= f[x, y], hl.u8(1 << k), hl.u8(0))
            for k, (dx, dy) in enumerate(_AROUND)
        ]
    )
    return App(out, {"input": inp}, {})


_AROUND = ((-1, -1), (0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0))


def _binary_pattern(images: Mapping[str, Array]) -> Array:
    image = images["input"]
    h, w = image.shape
    wide = np.pad(image, 1, mode="edge")
    found = np.zeros_like(image)
    for k, (dx, dy) in enumerate(_AROUND):
        near = wide[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w]
        found |= ((near >= image).astype(np.uint8) << k).astype(np.uint8)
    return found


def corner_peaks(hl: Module) -> App:
    """Corners by the smaller eigenvalue of the gradient's tensor, Gaussian windows of 7
    taps, where it is the greatest of 3 x 3 (cv2.goodFeaturesToTrack)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)
    gx, gy = hl.Func("gx"), hl.Func("gy")
    across, down = _sobel(lambda dx, dy: f[x + dx, y + dy])
    gx[x, y], gy[x, y] = across * 0.125, down * 0.125
    means = []
    for name, a, b in (("xx", gx, gx), ("xy", gx, gy), ("yy", gy, gy)):
        both, rows, mean = (
            hl.Func(name),
            hl.Func(f"{name}_rows"),
            hl.Func(f"{name}_all"),
        )
        both[x, y] = a[x, y] * b[x, y]
        rows[x, y] = total([both[x + k - 3, y] * w for k, w in enumerate(_WINDOW)])
        mean[x, y] = total([rows[x, y + k - 3] * w for k, w in enumerate(_WINDOW)])
        means.append(mean[x, y])
    xx, xy, yy = means
    apart = (xx - yy) * (xx - yy) + 4.0 * xy * xy
    least, out = hl.Func("least"), hl.Func("out")
    least[x, y] = xx + yy - hl.sqrt(apart)
    near = [least[x + dx, y + dy] for dx, dy in _AROUND]
    most = near[0]
    for one in near[1:]:
        most = hl.max(most, one)
    mine = least[x, y]
    out[x, y] = hl.select((mine >= most) & (mine > 1e-4), mine, 0.0)
    return App(out, {"input": inp}, {})


_WINDOW = gaussian(3, 1.4)


def _corner_peaks(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    f = np.pad(images["input"].astype(np.float64), 8, mode="edge")

    def at(dx: int, dy: int) -> Array:
        return np.roll(f, (-dy, -dx), (0, 1))

    gx, gy = (g / 8 for g in _sobel(at))

    def mean(product: Array) -> Array:
        rows = ndimage.correlate1d(product, _WINDOW, 1)
        return np.asarray(ndimage.correlate1d(rows, _WINDOW, 0))

    xx, xy, yy = mean(gx * gx), mean(gx * gy), mean(gy * gy)
    least = xx + yy - np.sqrt((xx - yy) ** 2 + 4 * xy * xy)
    peak = (least >= ndimage.maximum_filter(least, 3)) & (least > 1e-4)
    return np.where(peak, least, 0)[8:-8, 8:-8]


def fast_corners(hl: Module) -> App:
    """How many of the 16 pixels of a ring are all brighter, or all darker, than the
    middle, in a run of nine: FAST's test (cv2.FastFeatureDetector)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    f, out = edges(hl, inp), hl.Func("out")
    ring = [hl.i16(f[x + dx, y + dy]) for dx, dy in _RING]
    middle = hl.i16(f[x, y])
    bright, dark = hl.Func("bright"), hl.Func("dark")
    bright[x, y] = _bits(hl, [p > middle + 20 for p in ring])
    dark[x, y] = _bits(hl, [p < middle - 20 for p in ring])

    def runs(bits: Module) -> Module:
        """One bit for each place where a run of nine begins."""
        wide = hl.u32(bits) | (hl.u32(bits) << 16)
        two = wide & (wide >> 1)
        four = two & (two >> 2)
        eight = four & (four >> 4)
        return eight & (wide >> 8) & hl.u32(0xFFFF)

    some = (runs(bright[x, y]) | runs(dark[x, y])) != hl.u32(0)
    out[x, y] = hl.select(some, hl.u8(255), hl.u8(0))
    return App(out, {"input": inp}, {})


_RING = (
    *((0, -3), (1, -3), (2, -2), (3, -1), (3, 0), (3, 1), (2, 2), (1, 3)),
    *((0, 3), (-1, 3), (-2, 2), (-3, 1), (-3, 0), (-3, -1), (-2, -2), (-1, -3)),
)


def _bits(hl: Module, tests: Module) -> Module:
    return total([hl.select(t, hl.u16(1 << k), hl.u16(0)) for k, t in enumerate(tests)])


def _fast_corners(images: Mapping[str, Array]) -> Array:
    image = images["input"].astype(np.int64)
    h, w = image.shape
    wide = np.pad(image, 3, mode="edge")
    ring = np.stack(
        [wide[3 + dy : 3 + dy + h, 3 + dx : 3 + dx + w] for dx, dy in _RING]
    )
    found = np.zeros((h, w), bool)
    for side in (ring > image + 20, ring < image - 20):
        twice = np.concatenate([side, side])
        for k in range(16):
            found |= twice[k : k + 9].all(0)
    return np.where(found, 255, 0).astype(np.uint8)


def gradient_histograms(hl: Module) -> App:
    """Histograms of nine directions of the gradient in cells of 8 x 8 pixels
    (skimage.feature.hog, not yet in blocks)."""
    b, x, y = hl.Var("b"), hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)
    size, bin_of, out = hl.Func("size"), hl.Func("bin_of"), hl.Func("out")
    gx, gy = f[x + 1, y] - f[x - 1, y], f[x, y + 1] - f[x, y - 1]
    size[x, y] = hl.sqrt(gx * gx + gy * gy)
    # By the signs of cross products with the directions between two bins.
    up_x, up_y = hl.select(gy < 0.0, -gx, gx), hl.abs(gy)
    bin_of[x, y] = total(
        [
            hl.select(up_y * c > up_x * s, hl.i32(1), hl.i32(0))
            for c, s in ((np.cos(t), np.sin(t)) for t in _TURNS)
        ]
    )
    r = hl.RDom([(0, 8), (0, 8)], "r")
    out[b, x, y] = 0.0
    at_x, at_y = 8 * x + r.x, 8 * y + r.y
    out[hl.clamp(bin_of[at_x, at_y], 0, 8), x, y] += size[at_x, at_y]
    return App(out, {"input": inp}, {})


_TURNS = [float(np.float32(np.pi * k / 9)) for k in range(1, 9)]


def _gradient_histograms(images: Mapping[str, Array]) -> Array:
    f = np.pad(images["input"].astype(np.float64), 1, mode="edge")
    gx, gy = f[1:-1, 2:] - f[1:-1, :-2], f[2:, 1:-1] - f[:-2, 1:-1]
    size = np.sqrt(gx * gx + gy * gy)
    angle = np.arctan2(np.abs(gy), np.where(gy < 0, -gx, gx))
    which = np.minimum((angle * 9 / np.pi).astype(int), 8)
    h, w = size.shape
    found = np.zeros((h // 8, w // 8, 9))
    for b in range(9):
        kept = np.where(which == b, size, 0)
        found[..., b] = kept.reshape(h // 8, 8, w // 8, 8).sum((1, 3))
    return found


def _plane(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1])}


def _cells(size: Size) -> Mapping[str, Array]:
    _, w, h = size
    return {"input": picture(8 * h, 8 * w)}


def _gray(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint8)}


PIPELINES = (
    Pipeline(
        "canny_integer",
        "edges",
        canny_integer,
        _gray,
        lambda size: (np.uint8, size),
        size=(1536, 1024),
        small=(41, 23),
        reference=_canny_integer,
    ),
    Pipeline(
        "binary_pattern",
        "features",
        binary_pattern,
        _gray,
        lambda size: (np.uint8, size),
        size=(1920, 1080),
        small=(41, 23),
        reference=_binary_pattern,
    ),
    Pipeline(
        "corner_peaks",
        "features",
        corner_peaks,
        _plane,
        lambda size: (np.float32, size),
        size=(1280, 960),
        small=(51, 43),
        # A peak may be one pixel further where two are nearly as high.
        tolerance=Tolerance(1.0, 1.0),
        reference=_corner_peaks,
    ),
    Pipeline(
        "fast_corners",
        "features",
        fast_corners,
        _gray,
        lambda size: (np.uint8, size),
        size=(1280, 960),
        small=(51, 43),
        reference=_fast_corners,
    ),
    Pipeline(
        "gradient_histograms",
        "features, histograms",
        gradient_histograms,
        _cells,
        lambda size: (np.float32, size),
        size=(9, 120, 90),
        small=(9, 7, 5),
        tolerance=Tolerance(0.5),
        reference=_gradient_histograms,
    ),
)
