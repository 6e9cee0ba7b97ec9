"""Harris corner detection.

The response is ``det - 0.04 * trace ** 2`` of the gradient's structure tensor, summed
over 3x3 windows. ``output[x, y]`` belongs to the pixel ``x, y`` of the input, which
must reach two pixels further on every side.
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main, to_float

#: Weight of the squared trace.
KAPPA = 0.04


def algorithm(hl: Module) -> App:
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    gray, ix, iy = hl.Func("gray"), hl.Func("Ix"), hl.Func("Iy")
    gray[x, y] = 0.299 * inp[x, y, 0] + 0.587 * inp[x, y, 1] + 0.114 * inp[x, y, 2]
    iy[x, y] = (
        (gray[x - 1, y + 1] - gray[x - 1, y - 1])
        + 2 * (gray[x, y + 1] - gray[x, y - 1])
        + (gray[x + 1, y + 1] - gray[x + 1, y - 1])
    ) * (1 / 12)
    ix[x, y] = (
        (gray[x + 1, y - 1] - gray[x - 1, y - 1])
        + 2 * (gray[x + 1, y] - gray[x - 1, y])
        + (gray[x + 1, y + 1] - gray[x - 1, y + 1])
    ) * (1 / 12)

    products = {"Ixx": (ix, ix), "Iyy": (iy, iy), "Ixy": (ix, iy)}
    sums = {}
    for name, (a, b) in products.items():
        product, total = hl.Func(name), hl.Func(f"S{name[1:]}")
        product[x, y] = a[x, y] * b[x, y]
        total[x, y] = sum_3x3(product, x, y)
        sums[name] = total
    sxx, syy, sxy = sums["Ixx"], sums["Iyy"], sums["Ixy"]

    det, trace, harris = hl.Func("det"), hl.Func("trace"), hl.Func("harris")
    det[x, y] = sxx[x, y] * syy[x, y] - sxy[x, y] * sxy[x, y]
    trace[x, y] = sxx[x, y] + syy[x, y]
    harris[x, y] = det[x, y] - KAPPA * trace[x, y] * trace[x, y]
    funcs = {"gray": gray, "Ix": ix, "Iy": iy, "harris": harris}
    return App(harris, {"input": inp}, funcs)


def sum_3x3(f: Module, x: Module, y: Module) -> Module:
    """The sum of a Func over the 3x3 window around ``x, y``."""
    total = f[x - 1, y - 1]
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if (dx, dy) != (-1, -1):
                total = total + f[x + dx, y + dy]
    return total


def schedule_inline(hl: Module, app: App) -> None:
    """Everything recomputed: what a program without a schedule does."""


def schedule_root(hl: Module, app: App) -> None:
    """Luminance and gradients computed as a whole."""
    x, y = hl.Var("x"), hl.Var("y")
    for f in app.funcs.values():
        f.compute_root().vectorize(x, 16).parallel(y)


def schedule_tiled(hl: Module, app: App) -> None:
    """Tiles of 256 x 32 over the threads, gradients kept per tile."""
    x, y, xi, yi = hl.Var("x"), hl.Var("y"), hl.Var("xi"), hl.Var("yi")
    out = app.funcs["harris"]
    out.tile(x, y, xi, yi, 256, 32).vectorize(xi, 16).parallel(y)
    for name in ("gray", "Ix", "Iy"):
        app.funcs[name].compute_at(out, x).vectorize(x, 16)


def schedule_lines(hl: Module, app: App) -> None:
    """Strips of 32 lines over the threads; within one, each line of luminance and of
    gradients is computed once (what Halide's own application does)."""
    x, y, yi = hl.Var("x"), hl.Var("y"), hl.Var("yi")
    out = app.funcs["harris"]
    out.split(y, y, yi, 32).parallel(y).vectorize(x, 16)
    for name in ("gray", "Ix", "Iy"):
        app.funcs[name].store_at(out, y).compute_at(out, yi).vectorize(x, 16)


def schedule_gpu(hl: Module, app: App) -> None:
    """Blocks of 32 x 8 threads; luminance and both gradients in shared memory."""
    x, y, tx, ty = hl.Var("x"), hl.Var("y"), hl.Var("tx"), hl.Var("ty")
    out = app.funcs["harris"]
    out.gpu_tile(x, y, tx, ty, 32, 8)
    for name in ("gray", "Ix", "Iy"):
        app.funcs[name].compute_at(out, x).gpu_threads(x, y)


SCHEDULES = {
    "inline": schedule_inline,
    "root": schedule_root,
    "tiled": schedule_tiled,
    "lines": schedule_lines,
}
GPU_SCHEDULES = {"gpu": schedule_gpu}


def with_numpy(image: Array) -> Array:
    """The same as NumPy array operations, on a (3, H, W) float32 image; the result is
    two pixels smaller on every side."""
    gray = (
        np.float32(0.299) * image[0]
        + np.float32(0.587) * image[1]
        + np.float32(0.114) * image[2]
    )
    h, w = gray.shape[0] - 2, gray.shape[1] - 2

    def at(dx: int, dy: int) -> Array:
        return np.asarray(gray[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w])

    twelfth = np.float32(1 / 12)
    iy = (
        (at(-1, 1) - at(-1, -1)) + 2 * (at(0, 1) - at(0, -1)) + (at(1, 1) - at(1, -1))
    ) * twelfth
    ix = (
        (at(1, -1) - at(-1, -1)) + 2 * (at(1, 0) - at(-1, 0)) + (at(1, 1) - at(-1, 1))
    ) * twelfth

    def window(a: Array) -> Array:
        rows = a[:, :-2] + a[:, 1:-1] + a[:, 2:]
        return np.asarray(rows[:-2] + rows[1:-1] + rows[2:])

    sxx, syy, sxy = window(ix * ix), window(iy * iy), window(ix * iy)
    trace = sxx + syy
    return np.asarray(sxx * syy - sxy * sxy - np.float32(KAPPA) * trace * trace)


def process(image: Array) -> Array:
    """Marks the corners of a (3, H, W) uint8 image in red."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_tiled(hl, app)
    wide = np.pad(to_float(image), ((0, 0), (2, 2), (2, 2)), mode="edge")
    buffer = hl.Buffer(wide)
    buffer.set_min([-2, -2, 0])
    app.inputs["input"].set(buffer)
    response = np.asarray(app.output.realize(list(image.shape[:0:-1])))
    marked = image.copy()
    corners = response > 0.05 * response.max()
    marked[:, corners] = np.array([[255], [0], [0]], np.uint8)
    return marked


if __name__ == "__main__":
    main("harris", process)
