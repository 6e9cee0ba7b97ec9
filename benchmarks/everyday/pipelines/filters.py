"""Smoothing and sharpening in the plane: separable, not separable, and iterated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import (
    Pipeline,
    Size,
    channels_beside,
    edges,
    gaussian,
    interleaved,
    noise,
    picture,
    total,
    weighted,
)


def gaussian_bytes(hl: Module) -> App:
    """A Gaussian of 7 taps on interleaved colours, in fixed point
    (cv2.GaussianBlur)."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = channels_beside(hl.ImageParam(hl.UInt(8), 3, "input"))
    f = edges(hl, inp)
    rows, out = hl.Func("rows"), hl.Func("out")
    rows[x, y, c] = total(
        [hl.u16(f[x + k - 3, y, c]) * w for k, w in enumerate(_FIXED)]
    )
    sums = total([hl.u32(rows[x, y + k - 3, c]) * w for k, w in enumerate(_FIXED)])
    out[x, y, c] = hl.u8((sums + (1 << 15)) >> 16)
    channels_beside(out.output_buffer())
    return App(out, {"input": inp}, {})


#: They add up to 256.
_FIXED = (4, 24, 60, 80, 60, 24, 4)


def _gaussian_bytes(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    image = images["input"].astype(np.int64)
    rows = ndimage.correlate1d(image, _FIXED, 2, mode="nearest")
    sums = ndimage.correlate1d(rows, _FIXED, 1, mode="nearest")
    return np.asarray(((sums + (1 << 15)) >> 16).astype(np.uint8))


def dense_convolution(hl: Module) -> App:
    """Any kernel of 7 x 7, given when it runs (scipy.ndimage.correlate)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    kernel = hl.ImageParam(hl.Float(32), 2, "kernel")
    f, out = edges(hl, inp), hl.Func("out")
    r = hl.RDom([(0, 7), (0, 7)], "r")
    out[x, y] = 0.0
    out[x, y] += f[x + r.x - 3, y + r.y - 3] * kernel[r.x, r.y]
    return App(out, {"input": inp, "kernel": kernel}, {})


def _with_kernel(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1]), "kernel": noise(7, 7)}


def _dense_convolution(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    found = ndimage.correlate(images["input"], images["kernel"], mode="nearest")
    return np.asarray(found)


def bilateral(hl: Module) -> App:
    """The bilateral filter by its definition, 5 x 5 pixels (cv2.bilateralFilter)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f, out = edges(hl, inp), hl.Func("out")
    sums, weights = [], []
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            near = f[x + dx, y + dy]
            apart = near - f[x, y]
            level = -(dx * dx + dy * dy) / 4.5
            weight = hl.exp(apart * apart * -50.0 + level)
            sums.append(near * weight)
            weights.append(weight)
    out[x, y] = total(sums) / total(weights)
    return App(out, {"input": inp}, {})


def _bilateral(images: Mapping[str, Array]) -> Array:
    image = images["input"].astype(np.float64)
    h, w = image.shape
    wide = np.pad(image, 2, mode="edge")
    sums, weights = np.zeros((h, w)), np.zeros((h, w))
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            near = wide[2 + dy : 2 + dy + h, 2 + dx : 2 + dx + w]
            weight = np.exp(-50 * (near - image) ** 2 - (dx * dx + dy * dy) / 4.5)
            sums += near * weight
            weights += weight
    return np.asarray(sums / weights)


def box_thrice(hl: Module) -> App:
    """Three box filters of 9 x 9, nearly a Gaussian (scipy.ndimage.uniform_filter)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)
    for k in range(3):
        rows, both = hl.Func(f"rows{k}"), hl.Func(f"box{k}")
        rows[x, y] = total([f[x + j, y] for j in range(-4, 5)])
        both[x, y] = total([rows[x, y + j] for j in range(-4, 5)]) * (1 / 81)
        f = both
    return App(f, {"input": inp}, {})


def _box_thrice(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    found = np.pad(images["input"].astype(np.float64), 12, mode="edge")
    for _ in range(3):
        found = ndimage.uniform_filter(found, 9)
    return np.asarray(found[12:-12, 12:-12])


def log_filter(hl: Module) -> App:
    """The Laplacian of a Gaussian: its second derivatives, separable each
    (scipy.ndimage.gaussian_laplace)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)
    smooth, bent, out = hl.Func("smooth"), hl.Func("bent"), hl.Func("out")
    smooth[x, y] = weighted(_SMOOTH, lambda k: f[x, y + k])
    bent[x, y] = weighted(_BENT, lambda k: f[x, y + k])
    across = weighted(_BENT, lambda k: smooth[x + k, y])
    out[x, y] = across + weighted(_SMOOTH, lambda k: bent[x + k, y])
    return App(out, {"input": inp}, {})


_SMOOTH = gaussian(6, 1.5)
_BENT = [
    float(np.float32(w * ((k - 6) ** 2 / 1.5**4 - 1 / 1.5**2)))
    for k, w in enumerate(_SMOOTH)
]


def _log_filter(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    image = images["input"].astype(np.float64)

    def both(down: list[float], across: list[float]) -> Array:
        rows = ndimage.correlate1d(image, down, 0, mode="nearest")
        return np.asarray(ndimage.correlate1d(rows, across, 1, mode="nearest"))

    return both(_SMOOTH, _BENT) + both(_BENT, _SMOOTH)


def heat(hl: Module) -> App:
    """Ten steps of the heat equation, five points each."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)
    for k in range(10):
        g = hl.Func(f"step{k}")
        around = f[x - 1, y] + f[x + 1, y] + f[x, y - 1] + f[x, y + 1]
        g[x, y] = f[x, y] + 0.2 * (around - 4.0 * f[x, y])
        f = g
    return App(f, {"input": inp}, {})


def _heat(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    found = np.pad(images["input"].astype(np.float64), 10, mode="edge")
    cross = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    for _ in range(10):
        found = found + 0.2 * ndimage.correlate(found, cross)
    return np.asarray(found[10:-10, 10:-10])


def diffusion(hl: Module) -> App:
    """Four steps of Perona and Malik's diffusion, which stops at edges."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)
    for k in range(4):
        g = hl.Func(f"step{k}")
        flows = []
        for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            apart = f[x + dx, y + dy] - f[x, y]
            flows.append(apart / (1.0 + apart * apart * 100.0))
        g[x, y] = f[x, y] + 0.2 * total(flows)
        f = g
    return App(f, {"input": inp}, {})


def _diffusion(images: Mapping[str, Array]) -> Array:
    found = np.pad(images["input"].astype(np.float64), 5, mode="edge")
    for _ in range(4):
        flows = np.zeros_like(found)
        for axis, by in ((0, 1), (0, -1), (1, 1), (1, -1)):
            apart = np.roll(found, by, axis) - found
            flows += apart / (1 + 100 * apart * apart)
        found = found + 0.2 * flows
    return np.asarray(found[5:-5, 5:-5])


def total_variation(hl: Module) -> App:
    """Three steps of Chambolle's denoising by total variation: two fields that are
    read by their divergence (skimage.restoration)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)
    px, py = hl.Func("px0"), hl.Func("py0")
    px[x, y], py[x, y] = f[x + 1, y] - f[x, y], f[x, y + 1] - f[x, y]
    for k in range(1, 4):
        u, norm = hl.Func(f"u{k}"), hl.Func(f"norm{k}")
        u[x, y] = (px[x, y] - px[x - 1, y]) + (py[x, y] - py[x, y - 1]) + f[x, y] * 10.0
        gx, gy = u[x + 1, y] - u[x, y], u[x, y + 1] - u[x, y]
        norm[x, y] = 1.0 + 0.125 * hl.sqrt(gx * gx + gy * gy)
        nx, ny = hl.Func(f"px{k}"), hl.Func(f"py{k}")
        nx[x, y] = (px[x, y] + 0.125 * gx) / norm[x, y]
        ny[x, y] = (py[x, y] + 0.125 * gy) / norm[x, y]
        px, py = nx, ny
    out = hl.Func("out")
    apart = (px[x, y] - px[x - 1, y]) + (py[x, y] - py[x, y - 1])
    out[x, y] = f[x, y] + 0.1 * apart
    return App(out, {"input": inp}, {})


def _total_variation(images: Mapping[str, Array]) -> Array:
    f = np.pad(images["input"].astype(np.float64), 9, mode="edge")

    def ahead(a: Array, axis: int) -> Array:
        return np.roll(a, -1, axis) - a

    def behind(a: Array, axis: int) -> Array:
        return a - np.roll(a, 1, axis)

    px, py = ahead(f, 1), ahead(f, 0)
    for _ in range(3):
        u = behind(px, 1) + behind(py, 0) + 10 * f
        gx, gy = ahead(u, 1), ahead(u, 0)
        norm = 1 + 0.125 * np.sqrt(gx * gx + gy * gy)
        px, py = (px + 0.125 * gx) / norm, (py + 0.125 * gy) / norm
    return np.asarray(f + 0.1 * (behind(px, 1) + behind(py, 0)))[9:-9, 9:-9]


def deconvolution(hl: Module) -> App:
    """Two steps of Richardson and Lucy's deconvolution by a separable blur of 9 taps
    (skimage.restoration)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)

    def blur(g: Module, name: str) -> Module:
        rows, both = hl.Func(f"{name}_rows"), hl.Func(name)
        rows[x, y] = weighted(_BLUR, lambda k: g[x + k, y])
        both[x, y] = weighted(_BLUR, lambda k: rows[x, y + k])
        return both

    guess = f
    for k in range(2):
        made, ratio, better = blur(guess, f"made{k}"), hl.Func(f"ratio{k}"), None
        ratio[x, y] = f[x, y] / hl.max(made[x, y], 1e-3)
        back, better = blur(ratio, f"back{k}"), hl.Func(f"better{k}")
        better[x, y] = guess[x, y] * back[x, y]
        guess = better
    return App(guess, {"input": inp}, {})


_BLUR = gaussian(4, 1.8)


def _deconvolution(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    f = np.pad(images["input"].astype(np.float64), 20, mode="edge")

    def blur(a: Array) -> Array:
        rows = ndimage.correlate1d(a, _BLUR, 1)
        return np.asarray(ndimage.correlate1d(rows, _BLUR, 0))

    guess = f
    for _ in range(2):
        guess = guess * blur(f / np.maximum(blur(guess), 1e-3))
    return np.asarray(guess[20:-20, 20:-20])


def guided(hl: Module) -> App:
    """The guided filter of a gray image by itself, boxes of 9 x 9 (cv2.ximgproc)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f = edges(hl, inp)

    def box(g: Module, name: str) -> Module:
        rows, both = hl.Func(f"{name}_rows"), hl.Func(name)
        rows[x, y] = total([g[x + k, y] for k in range(-4, 5)])
        both[x, y] = total([rows[x, y + k] for k in range(-4, 5)]) * (1 / 81)
        return both

    square, a, b, out = hl.Func("square"), hl.Func("a"), hl.Func("b"), hl.Func("out")
    square[x, y] = f[x, y] * f[x, y]
    mean, power = box(f, "mean"), box(square, "power")
    spread = power[x, y] - mean[x, y] * mean[x, y]
    a[x, y] = spread / (spread + 0.01)
    b[x, y] = mean[x, y] * (1.0 - a[x, y])
    out[x, y] = box(a, "mean_a")[x, y] * f[x, y] + box(b, "mean_b")[x, y]
    return App(out, {"input": inp}, {})


def _guided(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    f = np.pad(images["input"].astype(np.float64), 9, mode="edge")
    mean = ndimage.uniform_filter(f, 9)
    spread = ndimage.uniform_filter(f * f, 9) - mean * mean
    a = spread / (spread + 0.01)
    b = mean * (1 - a)
    found = ndimage.uniform_filter(a, 9) * f + ndimage.uniform_filter(b, 9)
    return np.asarray(found[9:-9, 9:-9])


def _floats(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1])}


def _photograph(size: Size) -> Mapping[str, Array]:
    planes = [picture(*size[1::-1], dtype=np.uint8, seed=k) for k in range(3)]
    return {"input": interleaved(np.stack(planes))}


def _float_filter(
    name: str,
    area: str,
    algorithm: Module,
    reference: Module,
    size: Size,
    tolerance: float,
) -> Pipeline:
    """A plane of floats in, one out."""
    return Pipeline(
        name,
        area,
        algorithm,
        _floats,
        lambda size: (np.float32, size),
        size=size,
        small=(51, 43),
        tolerance=Tolerance(tolerance),
        reference=reference,
    )


PIPELINES = (
    Pipeline(
        "gaussian_bytes",
        "2D, separable, interleaved",
        gaussian_bytes,
        _photograph,
        lambda size: (np.uint8, size),
        size=(1280, 960, 3),
        small=(37, 21, 3),
        reference=_gaussian_bytes,
        interleaved=True,
    ),
    Pipeline(
        "dense_convolution",
        "2D stencil",
        dense_convolution,
        _with_kernel,
        lambda size: (np.float32, size),
        size=(1280, 960),
        small=(51, 43),
        tolerance=Tolerance(1e-4),
        reference=_dense_convolution,
    ),
    _float_filter("bilateral", "2D stencil", bilateral, _bilateral, (960, 720), 1e-4),
    _float_filter(
        "box_thrice", "iterated, boxes", box_thrice, _box_thrice, (1536, 1024), 1e-4
    ),
    _float_filter(
        "log_filter", "2D, separable", log_filter, _log_filter, (1280, 960), 1e-4
    ),
    _float_filter("heat", "iterated", heat, _heat, (1280, 960), 1e-4),
    _float_filter("diffusion", "iterated", diffusion, _diffusion, (1280, 960), 1e-4),
    _float_filter(
        "total_variation",
        "iterated, two fields",
        total_variation,
        _total_variation,
        (1280, 960),
        1e-3,
    ),
    _float_filter(
        "deconvolution",
        "iterated, separable",
        deconvolution,
        _deconvolution,
        (1024, 768),
        1e-3,
    ),
    _float_filter("guided", "boxes", guided, _guided, (1280, 960), 1e-3),
)
