"""Pyramids and wavelets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import Pipeline, Size, edges, picture, total

_DOWN = ((-2, 1), (-1, 4), (0, 6), (1, 4), (2, 1))


def _smaller(hl: Module, f: Module, name: str) -> Module:
    """Half of each side, by five binomial taps along each (cv2.pyrDown)."""
    x, y = hl.Var("x"), hl.Var("y")
    rows, both = hl.Func(f"{name}_rows"), hl.Func(name)
    rows[x, y] = total([f[2 * x + k, y] * (w / 16) for k, w in _DOWN])
    both[x, y] = total([rows[x, 2 * y + k] * (w / 16) for k, w in _DOWN])
    return both


def _larger(hl: Module, f: Module, name: str) -> Module:
    """Twice each side, between neighbours."""
    x, y = hl.Var("x"), hl.Var("y")
    rows, both = hl.Func(f"{name}_rows"), hl.Func(name)
    rows[x, y] = 0.75 * f[x // 2, y] + 0.25 * f[x // 2 - 1 + 2 * (x % 2), y]
    both[x, y] = 0.75 * rows[x, y // 2] + 0.25 * rows[x, y // 2 - 1 + 2 * (y % 2)]
    return both


def pyramid_bytes(hl: Module) -> App:
    """Three times half the size, in fixed point (cv2.pyrDown)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    f = edges(hl, inp)
    for k in range(3):
        rows, both = hl.Func(f"rows{k}"), hl.Func(f"level{k}")
        rows[x, y] = total([hl.u16(f[2 * x + j, y]) * w for j, w in _DOWN])
        sums = total([rows[x, 2 * y + j] * w for j, w in _DOWN])
        both[x, y] = hl.u8((sums + 128) >> 8)
        f = both
    return App(f, {"input": inp}, {})


def _pyramid_bytes(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    weights = [w for _, w in _DOWN]
    # A level goes on at its edges as those below it do, not by its own last pixels.
    found = np.pad(images["input"].astype(np.int64), 16, mode="edge")
    for _ in range(3):
        rows = ndimage.correlate1d(found, weights, 1, mode="nearest")
        sums = ndimage.correlate1d(rows, weights, 0, mode="nearest")
        found = ((sums + 128) >> 8)[::2, ::2]
    return found[2:-2, 2:-2].astype(np.uint8)


def blend(hl: Module) -> App:
    """Two pictures joined along a soft mask, level by level of their Laplacian
    pyramids, four levels."""
    x, y = hl.Var("x"), hl.Var("y")
    names = ("first", "second", "mask")
    images = {n: hl.ImageParam(hl.Float(32), 2, n) for n in names}
    levels = {n: [edges(hl, image)] for n, image in images.items()}
    for n, every in levels.items():
        for k in range(1, 4):
            every.append(_smaller(hl, every[-1], f"{n}{k}"))
    found = None
    for k in reversed(range(4)):
        parts = {n: levels[n][k][x, y] for n in names}
        if k < 3:
            for n in names[:2]:
                wide = _larger(hl, levels[n][k + 1], f"{n}{k}_wide")
                parts[n] = parts[n] - wide[x, y]
        joined, out = hl.Func(f"joined{k}"), hl.Func(f"out{k}")
        joined[x, y] = parts["second"] + parts["mask"] * (
            parts["first"] - parts["second"]
        )
        if found is None:
            found = joined
            continue
        out[x, y] = joined[x, y] + _larger(hl, found, f"found{k}_wide")[x, y]
        found = out
    return App(found, images, {})


def _blend_inputs(size: Size) -> Mapping[str, Array]:
    shape = size[::-1]
    ramp = np.clip(np.linspace(-2, 3, shape[1], dtype=np.float32), 0, 1)
    return {
        "first": picture(*shape, seed=1),
        "second": picture(*shape, seed=2),
        "mask": np.ascontiguousarray(np.broadcast_to(ramp, shape)),
    }


def haar_denoise(hl: Module) -> App:
    """Two levels of Haar's wavelets, small details made smaller, and back
    (skimage.restoration.denoise_wavelet)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    means, details = [inp], []
    for k in range(2):
        f, mean = means[-1], hl.Func(f"mean{k}")
        a, b = f[2 * x, 2 * y], f[2 * x + 1, 2 * y]
        c, d = f[2 * x, 2 * y + 1], f[2 * x + 1, 2 * y + 1]
        mean[x, y] = (a + b + c + d) * 0.25
        kept = []
        for name, detail in (
            ("across", a - b + c - d),
            ("down", a + b - c - d),
            ("both", a - b - c + d),
        ):
            g = hl.Func(f"{name}{k}")
            size = hl.max(hl.abs(detail * 0.25) - 0.01, 0.0)
            g[x, y] = hl.select(detail < 0.0, -size, size)
            kept.append(g)
        means.append(mean)
        details.append(kept)
    f = means[-1]
    for k in reversed(range(2)):
        back = hl.Func(f"back{k}")
        across, down, both = (g[x // 2, y // 2] for g in details[k])
        right, low = x % 2 == 1, y % 2 == 1
        side = hl.select(right, -across, across) + hl.select(low, -down, down)
        slant = hl.select(right == low, both, -both)
        back[x, y] = f[x // 2, y // 2] + side + slant
        f = back
    return App(f, {"input": inp}, {})


def _haar_denoise(images: Mapping[str, Array]) -> Array:
    f = images["input"].astype(np.float64)
    levels = []
    for _ in range(2):
        a, b, c, d = f[::2, ::2], f[::2, 1::2], f[1::2, ::2], f[1::2, 1::2]
        every = (a - b + c - d, a + b - c - d, a - b - c + d)
        levels.append([np.sign(e) * np.maximum(np.abs(e) / 4 - 0.01, 0) for e in every])
        f = (a + b + c + d) / 4
    for across, down, both in reversed(levels):
        wide = np.empty((2 * f.shape[0], 2 * f.shape[1]))
        wide[::2, ::2] = f + across + down + both
        wide[::2, 1::2] = f - across + down - both
        wide[1::2, ::2] = f + across - down - both
        wide[1::2, 1::2] = f - across - down + both
        f = wide
    return f


def lifting(hl: Module) -> App:
    """One level of JPEG 2000's integer wavelets along both axes, by lifting; the low
    half first."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Int(16), 2, "input")
    width, height = inp.width(), inp.height()
    f = hl.BoundaryConditions.mirror_interior(inp, [(0, width), (0, height)])
    high_x, low_x, rows = hl.Func("high_x"), hl.Func("low_x"), hl.Func("rows")
    high_x[x, y] = f[2 * x + 1, y] - ((f[2 * x, y] + f[2 * x + 2, y]) >> 1)
    low_x[x, y] = f[2 * x, y] + ((high_x[x - 1, y] + high_x[x, y] + 2) >> 2)
    half = width // 2
    rows[x, y] = hl.select(x < half, low_x[x, y], high_x[x - half, y])
    high_y, low_y, out = hl.Func("high_y"), hl.Func("low_y"), hl.Func("out")
    high_y[x, y] = rows[x, 2 * y + 1] - ((rows[x, 2 * y] + rows[x, 2 * y + 2]) >> 1)
    low_y[x, y] = rows[x, 2 * y] + ((high_y[x, y - 1] + high_y[x, y] + 2) >> 2)
    middle = height // 2
    out[x, y] = hl.select(y < middle, low_y[x, y], high_y[x, y - middle])
    return App(out, {"input": inp}, {})


def _lifting(images: Mapping[str, Array]) -> Array:
    def along(a: Array) -> Array:
        wide = np.pad(a, ((0, 0), (2, 2)), mode="reflect").astype(np.int64)
        even, odd = wide[:, ::2], wide[:, 1::2]
        high = odd[:, :-1] - ((even[:, :-1] + even[:, 1:]) >> 1)
        low = even[:, 1:-1] + ((high[:, :-1] + high[:, 1:] + 2) >> 2)
        return np.hstack([low, high[:, 1:]])

    return along(along(images["input"]).T).T.astype(np.int16)


def _bytes(size: Size) -> Mapping[str, Array]:
    shape = [8 * n for n in size[::-1]]
    return {"input": picture(*shape, dtype=np.uint8)}


def _floats(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1])}


def _shorts(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint8).astype(np.int16)}


PIPELINES = (
    Pipeline(
        "pyramid_bytes",
        "pyramids",
        pyramid_bytes,
        _bytes,
        lambda size: (np.uint8, size),
        size=(240, 135),
        small=(9, 7),
        reference=_pyramid_bytes,
    ),
    Pipeline(
        "blend",
        "pyramids",
        blend,
        _blend_inputs,
        lambda size: (np.float32, size),
        size=(1024, 768),
        small=(48, 40),
        tolerance=Tolerance(1e-5),
    ),
    Pipeline(
        "haar_denoise",
        "wavelets",
        haar_denoise,
        _floats,
        lambda size: (np.float32, size),
        size=(1536, 1024),
        small=(48, 40),
        tolerance=Tolerance(1e-5),
        reference=_haar_denoise,
    ),
    Pipeline(
        "lifting",
        "wavelets",
        lifting,
        _shorts,
        lambda size: (np.int16, size),
        size=(1920, 1080),
        small=(48, 40),
        reference=_lifting,
    ),
)
