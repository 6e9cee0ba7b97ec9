"""Unsharp mask: sharpening by what a Gaussian blur takes away.

The luminance is blurred with a seven-tap Gaussian, first along y, then along x; the
colour is scaled by the ratio of the sharpened luminance to the luminance.
"""

from __future__ import annotations

import math

import numpy as np

from apps.common import App, Array, Module, main, to_float, to_levels

#: Standard deviation of the Gaussian, in pixels.
SIGMA = 1.5


def algorithm(hl: Module) -> App:
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    edge = hl.BoundaryConditions.repeat_edge(inp)
    gray, blur_y, blur_x = hl.Func("gray"), hl.Func("blur_y"), hl.Func("blur_x")
    sharpen, ratio, unsharp = hl.Func("sharpen"), hl.Func("ratio"), hl.Func("unsharp")

    k = [gauss(i) for i in range(4)]
    gray[x, y] = 0.299 * edge[x, y, 0] + 0.587 * edge[x, y, 1] + 0.114 * edge[x, y, 2]
    blur_y[x, y] = (
        k[0] * gray[x, y]
        + k[1] * (gray[x, y - 1] + gray[x, y + 1])
        + k[2] * (gray[x, y - 2] + gray[x, y + 2])
        + k[3] * (gray[x, y - 3] + gray[x, y + 3])
    )
    blur_x[x, y] = (
        k[0] * blur_y[x, y]
        + k[1] * (blur_y[x - 1, y] + blur_y[x + 1, y])
        + k[2] * (blur_y[x - 2, y] + blur_y[x + 2, y])
        + k[3] * (blur_y[x - 3, y] + blur_y[x + 3, y])
    )
    sharpen[x, y] = 2 * gray[x, y] - blur_x[x, y]
    ratio[x, y] = sharpen[x, y] / gray[x, y]
    unsharp[x, y, c] = ratio[x, y] * inp[x, y, c]
    funcs = {"gray": gray, "blur_y": blur_y, "blur_x": blur_x, "ratio": ratio}
    return App(unsharp, {"input": inp}, {**funcs, "unsharp": unsharp})


def gauss(i: int) -> float:
    """The i-th tap of the Gaussian, not renormalised."""
    return math.exp(-i * i / (2 * SIGMA * SIGMA)) / (math.sqrt(2 * math.pi) * SIGMA)


def schedule_inline(hl: Module, app: App) -> None:
    """Everything recomputed: what a program without a schedule does."""


def schedule_root(hl: Module, app: App) -> None:
    """Every stage computed as a whole."""
    x, y = hl.Var("x"), hl.Var("y")
    for f in app.funcs.values():
        f.compute_root().vectorize(x, 16).parallel(y)


def schedule_tiled(hl: Module, app: App) -> None:
    """Strips of 32 lines over the threads, stages kept per strip."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    xi, yi = hl.Var("xi"), hl.Var("yi")
    out = app.funcs["unsharp"]
    out.tile(x, y, xi, yi, 256, 32).reorder(xi, yi, c, x, y)
    out.bound(c, 0, 3).unroll(c).vectorize(xi, 16).parallel(y)
    for name in ("gray", "blur_y", "ratio"):
        app.funcs[name].compute_at(out, x).vectorize(x, 16)


def schedule_lines(hl: Module, app: App) -> None:
    """Strips of 32 lines over the threads; within one, each line of luminance is
    computed once (what Halide's own application does)."""
    x, y, c, yi = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("yi")
    out = app.funcs["unsharp"]
    out.bound(c, 0, 3).split(y, y, yi, 32).reorder(c, x, yi, y).unroll(c)
    out.vectorize(x, 16).parallel(y)
    app.funcs["gray"].store_at(out, y).compute_at(out, yi).vectorize(x, 16)
    for name in ("blur_y", "ratio"):
        app.funcs[name].compute_at(out, yi).vectorize(x, 16)


def schedule_gpu(hl: Module, app: App) -> None:
    """Blocks of 32 x 8 threads, a thread for each pixel, which computes its ratio once
    for all colours; luminance and its blur along y in shared memory."""
    x, y, c, tx, ty = (hl.Var(n) for n in ("x", "y", "c", "tx", "ty"))
    out = app.funcs["unsharp"]
    out.bound(c, 0, 3).gpu_tile(x, y, tx, ty, 32, 8).reorder(c, tx, ty, x, y).unroll(c)
    for name in ("gray", "blur_y"):
        app.funcs[name].compute_at(out, x).gpu_threads(x, y)
    app.funcs["ratio"].compute_at(out, tx)


SCHEDULES = {
    "inline": schedule_inline,
    "root": schedule_root,
    "tiled": schedule_tiled,
    "lines": schedule_lines,
}
GPU_SCHEDULES = {"gpu": schedule_gpu}


def with_numpy(image: Array) -> Array:
    """The same as NumPy array operations; (3, H, W) float32."""
    k = [np.float32(gauss(i)) for i in range(4)]
    pad = np.pad(image, ((0, 0), (3, 3), (3, 3)), mode="edge")
    gray = (
        np.float32(0.299) * pad[0]
        + np.float32(0.587) * pad[1]
        + np.float32(0.114) * pad[2]
    )
    h, w = image.shape[1:]
    blur_y = k[0] * gray[3 : 3 + h]
    for i in (1, 2, 3):
        blur_y += k[i] * (gray[3 - i : 3 - i + h] + gray[3 + i : 3 + i + h])
    blur_x = k[0] * blur_y[:, 3 : 3 + w]
    for i in (1, 2, 3):
        blur_x += k[i] * (blur_y[:, 3 - i : 3 - i + w] + blur_y[:, 3 + i : 3 + i + w])
    center = gray[3 : 3 + h, 3 : 3 + w]
    ratio = (2 * center - blur_x) / center
    return np.asarray(ratio * image)


def process(image: Array) -> Array:
    """Sharpens a (3, H, W) uint8 image. Black pixels are lifted to level 1, since a
    luminance of zero has no ratio."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_tiled(hl, app)
    lifted = to_float(np.maximum(image, 1))
    return to_levels(app.run({"input": lifted}, image.shape[::-1]))


if __name__ == "__main__":
    main("unsharp", process)
