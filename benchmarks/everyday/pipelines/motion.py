"""Optical flow, stereo and finding patterns: what moved where."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import Pipeline, Size, edges, noise, picture, total


def lucas_kanade(hl: Module) -> App:
    """Dense flow between two frames by Lucas and Kanade, windows of 11 x 11."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    first = hl.ImageParam(hl.Float(32), 2, "first")
    second = hl.ImageParam(hl.Float(32), 2, "second")
    f, g = edges(hl, first), edges(hl, second)
    gx, gy, gt = hl.Func("gx"), hl.Func("gy"), hl.Func("gt")
    gx[x, y] = (f[x + 1, y] - f[x - 1, y]) * 0.5
    gy[x, y] = (f[x, y + 1] - f[x, y - 1]) * 0.5
    gt[x, y] = g[x, y] - f[x, y]
    sums = {}
    for name, (a, b) in {
        "xx": (gx, gx),
        "xy": (gx, gy),
        "yy": (gy, gy),
        "xt": (gx, gt),
        "yt": (gy, gt),
    }.items():
        both, rows, box = hl.Func(name), hl.Func(f"{name}_rows"), hl.Func(f"{name}_all")
        both[x, y] = a[x, y] * b[x, y]
        rows[x, y] = total([both[x + k, y] for k in range(-5, 6)])
        box[x, y] = total([rows[x, y + k] for k in range(-5, 6)])
        sums[name] = box[x, y]
    solid = sums["xx"] * sums["yy"] - sums["xy"] * sums["xy"] + 1e-3
    u = (sums["xy"] * sums["yt"] - sums["yy"] * sums["xt"]) / solid
    v = (sums["xy"] * sums["xt"] - sums["xx"] * sums["yt"]) / solid
    out = hl.Func("out")
    out[x, y, c] = hl.mux(c, [u, v])
    return App(out, {"first": first, "second": second}, {})


def _lucas_kanade(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    f, g = (np.pad(images[n].astype(np.float64), 8, "edge") for n in images)
    gx = ndimage.correlate1d(f, [-0.5, 0, 0.5], 1)
    gy = ndimage.correlate1d(f, [-0.5, 0, 0.5], 0)
    gt = g - f

    def box(product: Array) -> Array:
        return np.asarray(ndimage.uniform_filter(product, 11)) * 121

    xx, xy, yy, xt, yt = (box(p) for p in (gx * gx, gx * gy, gy * gy, gx * gt, gy * gt))
    solid = xx * yy - xy * xy + 1e-3
    found = np.stack([(xy * yt - yy * xt) / solid, (xy * xt - xx * yt) / solid])
    return found[:, 8:-8, 8:-8]


def horn_schunck(hl: Module) -> App:
    """Six steps of Horn and Schunck's dense flow."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    first = hl.ImageParam(hl.Float(32), 2, "first")
    second = hl.ImageParam(hl.Float(32), 2, "second")
    f, g = edges(hl, first), edges(hl, second)
    gx, gy, gt = hl.Func("gx"), hl.Func("gy"), hl.Func("gt")
    gx[x, y] = (f[x + 1, y] - f[x - 1, y] + g[x + 1, y] - g[x - 1, y]) * 0.25
    gy[x, y] = (f[x, y + 1] - f[x, y - 1] + g[x, y + 1] - g[x, y - 1]) * 0.25
    gt[x, y] = g[x, y] - f[x, y]
    solid = 0.01 + gx[x, y] * gx[x, y] + gy[x, y] * gy[x, y]
    u, v = hl.Func("u0"), hl.Func("v0")
    u[x, y], v[x, y] = -gx[x, y] * gt[x, y] / solid, -gy[x, y] * gt[x, y] / solid

    def mean(h: Module) -> Module:
        return (h[x - 1, y] + h[x + 1, y] + h[x, y - 1] + h[x, y + 1]) * 0.25

    for k in range(1, 6):
        step, nu, nv = hl.Func(f"step{k}"), hl.Func(f"u{k}"), hl.Func(f"v{k}")
        step[x, y] = (gx[x, y] * mean(u) + gy[x, y] * mean(v) + gt[x, y]) / solid
        nu[x, y] = mean(u) - gx[x, y] * step[x, y]
        nv[x, y] = mean(v) - gy[x, y] * step[x, y]
        u, v = nu, nv
    out = hl.Func("out")
    out[x, y, c] = hl.mux(c, [u[x, y], v[x, y]])
    return App(out, {"first": first, "second": second}, {})


def _horn_schunck(images: Mapping[str, Array]) -> Array:
    f, g = (np.pad(images[n].astype(np.float64), 9, "edge") for n in images)

    def at(a: Array, dx: int, dy: int) -> Array:
        return np.roll(a, (-dy, -dx), (0, 1))

    gx = (at(f, 1, 0) - at(f, -1, 0) + at(g, 1, 0) - at(g, -1, 0)) / 4
    gy = (at(f, 0, 1) - at(f, 0, -1) + at(g, 0, 1) - at(g, 0, -1)) / 4
    gt, solid = g - f, 0.01 + gx * gx + gy * gy

    def mean(a: Array) -> Array:
        return (at(a, 1, 0) + at(a, -1, 0) + at(a, 0, 1) + at(a, 0, -1)) / 4

    u, v = -gx * gt / solid, -gy * gt / solid
    for _ in range(5):
        step = (gx * mean(u) + gy * mean(v) + gt) / solid
        u, v = mean(u) - gx * step, mean(v) - gy * step
    return np.stack([u, v])[:, 9:-9, 9:-9]


def stereo_match(hl: Module) -> App:
    """The shift, of 16, by which 7 x 7 pixels of two pictures differ least
    (cv2.StereoBM)."""
    x, y, d = hl.Var("x"), hl.Var("y"), hl.Var("d")
    left = hl.ImageParam(hl.UInt(8), 2, "left")
    right = hl.ImageParam(hl.UInt(8), 2, "right")
    f, g = edges(hl, left), edges(hl, right)
    apart, rows, cost = hl.Func("apart"), hl.Func("rows"), hl.Func("cost")
    apart[x, y, d] = hl.u16(hl.absd(f[x, y], g[x - d, y]))
    rows[x, y, d] = total([apart[x + k, y, d] for k in range(-3, 4)])
    cost[x, y, d] = total([rows[x, y + k, d] for k in range(-3, 4)])
    best, out = hl.Func("best"), hl.Func("out")
    r = hl.RDom([(1, 15)], "r")
    best[x, y] = (hl.u8(0), cost[x, y, 0])
    less = cost[x, y, r.x] < best[x, y][1]
    best[x, y] = (
        hl.select(less, hl.u8(r.x), best[x, y][0]),
        hl.select(less, cost[x, y, r.x], best[x, y][1]),
    )
    out[x, y] = best[x, y][0]
    return App(out, {"left": left, "right": right}, {})


def _stereo_inputs(size: Size) -> Mapping[str, Array]:
    w, h = size
    wide = picture(h, w + 8, dtype=np.uint8)
    return {
        "left": np.ascontiguousarray(wide[:, :w]),
        "right": np.ascontiguousarray(wide[:, 5 : w + 5]),
    }


def _stereo_match(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    f = np.pad(images["left"], ((3, 3), (3, 3)), "edge").astype(np.int64)
    g = np.pad(images["right"], ((3, 3), (3 + 15, 3)), "edge").astype(np.int64)
    w = f.shape[1]
    ones = np.ones((7, 7), np.int64)
    costs = [
        ndimage.correlate(np.abs(f - g[:, 15 - d : 15 - d + w]), ones)
        for d in range(16)
    ]
    return np.asarray(np.argmin(costs, axis=0)[3:-3, 3:-3].astype(np.uint8))


def template_match(hl: Module) -> App:
    """Where a pattern of 12 x 12 fits: the correlation, over the picture's own size
    there (cv2.matchTemplate, TM_CCORR_NORMED)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    pattern = hl.ImageParam(hl.Float(32), 2, "pattern")
    r = hl.RDom([(0, 12), (0, 12)], "r")
    both, own, size, out = (hl.Func(n) for n in ("both", "own", "size", "out"))
    both[x, y] = 0.0
    both[x, y] += inp[x + r.x, y + r.y] * pattern[r.x, r.y]
    own[x, y] = 0.0
    own[x, y] += inp[x + r.x, y + r.y] * inp[x + r.x, y + r.y]
    size[()] = 0.0
    size[()] += pattern[r.x, r.y] * pattern[r.x, r.y]
    out[x, y] = both[x, y] / hl.sqrt(own[x, y] * size[()])
    return App(out, {"input": inp, "pattern": pattern}, {})


def _template_inputs(size: Size) -> Mapping[str, Array]:
    w, h = size
    return {"input": picture(h + 11, w + 11), "pattern": picture(12, 12, seed=3)}


def _template_match(images: Mapping[str, Array]) -> Array:
    import cv2

    how = cv2.TM_CCORR_NORMED
    return np.asarray(cv2.matchTemplate(images["input"], images["pattern"], how))


def descriptor_match(hl: Module) -> App:
    """For each descriptor of 64 floats the nearest of others, all compared
    (cv2.BFMatcher)."""
    i, j = hl.Var("i"), hl.Var("j")
    first = hl.ImageParam(hl.Float(32), 2, "first")
    second = hl.ImageParam(hl.Float(32), 2, "second")
    k = hl.RDom([(0, 64)], "k")
    apart, best, out = hl.Func("apart"), hl.Func("best"), hl.Func("out")
    term = first[k.x, i] - second[k.x, j]
    apart[j, i] = 0.0
    apart[j, i] += term * term
    r = hl.RDom([(1, second.dim(1).extent() - 1)], "r")
    best[i] = (0, apart[0, i])
    less = apart[r.x, i] < best[i][1]
    best[i] = (
        hl.select(less, r.x, best[i][0]),
        hl.select(less, apart[r.x, i], best[i][1]),
    )
    out[i] = best[i][0]
    return App(out, {"first": first, "second": second}, {})


def _descriptors(size: Size) -> Mapping[str, Array]:
    (count,) = size
    first = noise(count, 64)
    order = np.random.default_rng(3).permutation(count)
    second = first[order] + np.float32(0.1) * picture(count, 64)
    return {"first": first, "second": second.astype(np.float32)}


def _descriptor_match(images: Mapping[str, Array]) -> Array:
    a, b = images["first"].astype(np.float64), images["second"].astype(np.float64)
    apart = (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T
    return np.asarray(apart.argmin(1).astype(np.int32))


def _frames(size: Size) -> Mapping[str, Array]:
    w, h = size[:2]
    wide = picture(h + 2, w + 2)
    return {
        "first": np.ascontiguousarray(wide[1:-1, 1:-1]),
        "second": np.ascontiguousarray(wide[1:-1, :-2]),
    }


PIPELINES = (
    Pipeline(
        "lucas_kanade",
        "optical flow",
        lucas_kanade,
        _frames,
        lambda size: (np.float32, size),
        size=(960, 720, 2),
        small=(51, 43, 2),
        tolerance=Tolerance(2e-3),
        reference=_lucas_kanade,
    ),
    Pipeline(
        "horn_schunck",
        "optical flow, iterated",
        horn_schunck,
        _frames,
        lambda size: (np.float32, size),
        size=(960, 720, 2),
        small=(51, 43, 2),
        tolerance=Tolerance(1e-3),
        reference=_horn_schunck,
    ),
    Pipeline(
        "stereo_match",
        "matching",
        stereo_match,
        _stereo_inputs,
        lambda size: (np.uint8, size),
        size=(640, 480),
        small=(51, 43),
        reference=_stereo_match,
    ),
    Pipeline(
        "template_match",
        "matching",
        template_match,
        _template_inputs,
        lambda size: (np.float32, size),
        size=(640, 480),
        small=(51, 43),
        tolerance=Tolerance(1e-4),
        reference=_template_match,
    ),
    Pipeline(
        "descriptor_match",
        "matching",
        descriptor_match,
        _descriptors,
        lambda size: (np.int32, size),
        size=(768,),
        small=(50,),
        reference=_descriptor_match,
    ),
)
