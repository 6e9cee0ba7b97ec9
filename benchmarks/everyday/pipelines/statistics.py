"""Means, variances and what is normalised by them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import (
    Pipeline,
    Size,
    edges,
    gaussian,
    noise,
    picture,
    total,
    weighted,
)

_WINDOW = gaussian(5, 1.5)
_C1, _C2 = 0.01**2, 0.03**2


def _at(f: Module, x: Module, y: Module, dim: int, k: int) -> Module:
    """A Func at a point moved along one dimension, and by the half of a window."""
    k = k + len(_WINDOW) // 2
    return f[x, y + k] if dim else f[x + k, y]


def ssim(hl: Module) -> App:
    """The structural similarity of two images, five Gaussian windows of 11 x 11
    wholly inside of them (kornia, skimage.metrics)."""
    x, y = hl.Var("x"), hl.Var("y")
    first = hl.ImageParam(hl.Float(32), 2, "first")
    second = hl.ImageParam(hl.Float(32), 2, "second")
    a, b = first[x, y], second[x, y]
    products = {"a": a, "b": b, "aa": a * a, "bb": b * b, "ab": a * b}
    means = {}
    for name, value in products.items():
        product = hl.Func(name)
        rows, mean = hl.Func(f"rows_{name}"), hl.Func(f"mean_{name}")
        product[x, y] = value
        rows[x, y] = weighted(_WINDOW, partial(_at, product, x, y, 0))
        mean[x, y] = weighted(_WINDOW, partial(_at, rows, x, y, 1))
        means[name] = mean[x, y]
    out = hl.Func("out")
    mu = means["a"], means["b"]
    both = mu[0] * mu[1]
    squares = mu[0] * mu[0] + mu[1] * mu[1]
    spread = means["aa"] + means["bb"] - squares
    shared = means["ab"] - both
    out[x, y] = ((2.0 * both + _C1) * (2.0 * shared + _C2)) / (
        (squares + _C1) * (spread + _C2)
    )
    return App(out, {"first": first, "second": second}, {})


def _ssim(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    def mean(image: Array) -> Array:
        rows = ndimage.correlate1d(image, _WINDOW, 0, mode="nearest")
        both = ndimage.correlate1d(rows, _WINDOW, 1, mode="nearest")
        return np.asarray(both[5:-5, 5:-5])

    a, b = (images[n].astype(np.float64) for n in ("first", "second"))
    mu = mean(a), mean(b)
    both, squares = mu[0] * mu[1], mu[0] ** 2 + mu[1] ** 2
    spread = mean(a * a) + mean(b * b) - squares
    shared = mean(a * b) - both
    return np.asarray(
        (2 * both + _C1) * (2 * shared + _C2) / ((squares + _C1) * (spread + _C2))
    )


def _pair(size: Size) -> Mapping[str, Array]:
    shape = [n + 10 for n in size[::-1]]
    first = picture(*shape)
    return {"first": first, "second": first + np.float32(0.05) * noise(*shape)}


def local_contrast(hl: Module) -> App:
    """Each pixel's distance from the mean of 15 x 15 around it, in standard deviations
    of these, by sums along rows and columns."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)
    square, out = hl.Func("square"), hl.Func("out")
    square[x, y] = f[x, y] * f[x, y]
    means = []
    for name, source in (("mean", f), ("power", square)):
        r, q = hl.RDom([(-7, 15)], f"{name}_r"), hl.RDom([(-7, 15)], f"{name}_q")
        rows, both = hl.Func(f"{name}_rows"), hl.Func(name)
        rows[x, y] = 0.0
        rows[x, y] += source[x + r.x, y]
        both[x, y] = 0.0
        both[x, y] += rows[x, y + q.x]
        means.append(both[x, y] * (1 / 225))
    spread = hl.max(means[1] - means[0] * means[0], 0.0)
    out[x, y] = (inp[x, y] - means[0]) / (hl.sqrt(spread) + 0.01)
    return App(out, {"input": inp}, {})


def _local_contrast(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    image = images["input"].astype(np.float64)
    mean = ndimage.uniform_filter(image, 15, mode="nearest")
    power = ndimage.uniform_filter(image * image, 15, mode="nearest")
    spread = np.maximum(power - mean * mean, 0)
    return np.asarray((image - mean) / (np.sqrt(spread) + 0.01))


def channel_scores(hl: Module) -> App:
    """Each channel less its mean, in standard deviations (kornia.enhance.normalize)."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    r = hl.RDom([(0, inp.width()), (0, inp.height())], "r")
    sums, squares, out = hl.Func("sums"), hl.Func("squares"), hl.Func("out")
    sums[c] = 0.0
    sums[c] += inp[r.x, r.y, c]
    points = hl.f32(inp.width() * inp.height())
    mean = sums[c] / points
    apart = inp[r.x, r.y, c] - mean
    squares[c] = 0.0
    squares[c] += apart * apart
    out[x, y, c] = (inp[x, y, c] - mean) / hl.sqrt(squares[c] / points + 1e-6)
    return App(out, {"input": inp}, {})


def _channel_scores(images: Mapping[str, Array]) -> Array:
    image = images["input"].astype(np.float64)
    mean = image.mean((1, 2), keepdims=True)
    return np.asarray((image - mean) / np.sqrt(image.var((1, 2), keepdims=True) + 1e-6))


def sauvola(hl: Module) -> App:
    """Black and white by Sauvola's local threshold, windows of 25 x 25
    (skimage.filters): integer sums along rows, then columns."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    f, out = edges(hl, inp), hl.Func("out")
    value = hl.i32(f[x, y])
    sums = {}
    for name, term in (("sum", value), ("power", value * value)):
        one, rows, both = hl.Func(name), hl.Func(f"{name}_rows"), hl.Func(f"{name}_all")
        r, q = hl.RDom([(-12, 25)], f"{name}_r"), hl.RDom([(-12, 25)], f"{name}_q")
        one[x, y] = term
        rows[x, y] = 0
        rows[x, y] += one[x + r.x, y]
        both[x, y] = 0
        both[x, y] += rows[x, y + q.x]
        sums[name] = hl.f32(both[x, y]) / 625.0
    spread = hl.sqrt(hl.max(sums["power"] - sums["sum"] * sums["sum"], 0.0))
    level = sums["sum"] * (1.0 + 0.2 * (spread / 128.0 - 1.0))
    out[x, y] = hl.select(hl.f32(inp[x, y]) > level, hl.u8(255), hl.u8(0))
    return App(out, {"input": inp}, {})


def _sauvola(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    image = images["input"].astype(np.float64)
    mean = ndimage.uniform_filter(image, 25, mode="nearest")
    power = ndimage.uniform_filter(image * image, 25, mode="nearest")
    spread = np.sqrt(np.maximum(power - mean * mean, 0))
    level = mean * (1 + 0.2 * (spread / 128 - 1))
    return np.where(image > level, 255, 0).astype(np.uint8)


def structure_tensor(hl: Module) -> App:
    """How much a neighbourhood runs one way: the coherence of the structure tensor,
    smoothed by 7 taps (skimage.feature)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f, out = edges(hl, inp), hl.Func("out")
    gx, gy = hl.Func("gx"), hl.Func("gy")
    gx[x, y] = (f[x + 1, y] - f[x - 1, y]) * 0.5
    gy[x, y] = (f[x, y + 1] - f[x, y - 1]) * 0.5
    means = []
    for a, b, name in ((gx, gx, "xx"), (gx, gy, "xy"), (gy, gy, "yy")):
        both, rows, mean = (
            hl.Func(name),
            hl.Func(f"{name}_rows"),
            hl.Func(f"{name}_all"),
        )
        both[x, y] = a[x, y] * b[x, y]
        rows[x, y] = total([both[x + k - 3, y] * w for k, w in enumerate(_SEVEN)])
        mean[x, y] = total([rows[x, y + k - 3] * w for k, w in enumerate(_SEVEN)])
        means.append(mean[x, y])
    xx, xy, yy = means
    apart = (xx - yy) * (xx - yy) + 4.0 * xy * xy
    out[x, y] = hl.sqrt(apart) / (xx + yy + 1e-4)
    return App(out, {"input": inp}, {})


_SEVEN = gaussian(3, 1.2)


def _structure_tensor(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    image = np.pad(images["input"].astype(np.float64), 8, mode="edge")
    gx = ndimage.correlate1d(image, [-0.5, 0, 0.5], 1)
    gy = ndimage.correlate1d(image, [-0.5, 0, 0.5], 0)

    def mean(product: Array) -> Array:
        rows = ndimage.correlate1d(product, _SEVEN, 1)
        return np.asarray(ndimage.correlate1d(rows, _SEVEN, 0))[8:-8, 8:-8]

    xx, xy, yy = mean(gx * gx), mean(gx * gy), mean(gy * gy)
    return np.asarray(np.sqrt((xx - yy) ** 2 + 4 * xy * xy) / (xx + yy + 1e-4))


def _gray(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint8)}


def _planes(size: Size) -> Mapping[str, Array]:
    return {"input": np.stack([picture(*size[1::-1], seed=k) for k in range(size[2])])}


def _floats(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1])}


PIPELINES = (
    Pipeline(
        "ssim",
        "statistics, separable",
        ssim,
        _pair,
        lambda size: (np.float32, size),
        size=(1280, 960),
        small=(41, 23),
        tolerance=Tolerance(2e-2),
        reference=_ssim,
    ),
    Pipeline(
        "local_contrast",
        "statistics, boxes",
        local_contrast,
        _floats,
        lambda size: (np.float32, size),
        size=(1280, 960),
        small=(41, 23),
        tolerance=Tolerance(5e-3),
        reference=_local_contrast,
    ),
    Pipeline(
        "channel_scores",
        "statistics, whole image",
        channel_scores,
        _planes,
        lambda size: (np.float32, size),
        size=(1024, 768, 3),
        small=(41, 23, 3),
        tolerance=Tolerance(2e-2),
        reference=_channel_scores,
    ),
    Pipeline(
        "sauvola",
        "threshold, boxes",
        sauvola,
        _gray,
        lambda size: (np.uint8, size),
        size=(1280, 960),
        small=(51, 43),
        tolerance=Tolerance(255, 1e-3),
        reference=_sauvola,
    ),
    Pipeline(
        "structure_tensor",
        "statistics, separable",
        structure_tensor,
        _floats,
        lambda size: (np.float32, size),
        size=(1280, 960),
        small=(51, 43),
        tolerance=Tolerance(2e-3),
        reference=_structure_tensor,
    ),
)
