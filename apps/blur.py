"""3x3 box blur of 16-bit images, separable (2012 paper, Figure 1).

``output[x, y]`` is the mean over the window whose upper left corner is ``x, y``, so the
input is two pixels larger in both dimensions and no boundary condition is needed.
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main


def algorithm(hl: Module) -> App:
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(16), 2, "input")
    blur_x, blur_y = hl.Func("blur_x"), hl.Func("blur_y")
    blur_x[x, y] = (inp[x, y] + inp[x + 1, y] + inp[x + 2, y]) / 3
    blur_y[x, y] = (blur_x[x, y] + blur_x[x, y + 1] + blur_x[x, y + 2]) / 3
    return App(blur_y, {"input": inp}, {"blur_x": blur_x, "blur_y": blur_y})


def schedule_inline(hl: Module, app: App) -> None:
    """Everything recomputed: blur_x is evaluated three times for each pixel."""


def schedule_root(hl: Module, app: App) -> None:
    """Breadth first: all of blur_x, then all of blur_y."""
    x, y = hl.Var("x"), hl.Var("y")
    app.funcs["blur_x"].compute_root().vectorize(x, 16).parallel(y)
    app.funcs["blur_y"].vectorize(x, 16).parallel(y)


def schedule_tiled(hl: Module, app: App) -> None:
    """Tiles of 256 x 32, each computing the blur_x that it needs (Figure 1c)."""
    x, y, xi, yi = hl.Var("x"), hl.Var("y"), hl.Var("xi"), hl.Var("yi")
    app.funcs["blur_y"].tile(x, y, xi, yi, 256, 32).vectorize(xi, 16).parallel(y)
    app.funcs["blur_x"].compute_at(app.funcs["blur_y"], x).vectorize(x, 16)


def schedule_sliding(hl: Module, app: App) -> None:
    """Strips of 32 lines; within one, each line of blur_x is computed once."""
    x, y, yo, yi = hl.Var("x"), hl.Var("y"), hl.Var("yo"), hl.Var("yi")
    blur_x, blur_y = app.funcs["blur_x"], app.funcs["blur_y"]
    blur_y.split(y, yo, yi, 32).parallel(yo).vectorize(x, 16)
    blur_x.store_at(blur_y, yo).compute_at(blur_y, yi).vectorize(x, 16)


def schedule_rows(hl: Module, app: App) -> None:
    """Eight lines at a time, blur_x inlined: ten rows of sums for eight of the output,
    and every line of the image is read and written from its start to its end."""
    x, y, yi = hl.Var("x"), hl.Var("y"), hl.Var("yi")
    blur_y = app.funcs["blur_y"]
    blur_y.split(y, y, yi, 8).reorder(yi, x, y).vectorize(x, 32).unroll(yi).parallel(y)


def schedule_gpu(hl: Module, app: App) -> None:
    """Blocks of 32 x 8 threads; the lines of sums that a block needs, in its shared
    memory."""
    x, y, tx, ty = hl.Var("x"), hl.Var("y"), hl.Var("tx"), hl.Var("ty")
    blur_x, blur_y = app.funcs["blur_x"], app.funcs["blur_y"]
    blur_y.gpu_tile(x, y, tx, ty, 32, 8)
    blur_x.compute_at(blur_y, x).gpu_threads(x, y)


def schedule_gpu_registers(hl: Module, app: App) -> None:
    """Each thread goes down eight pixels, with ten sums in its registers: nothing
    waits for another thread."""
    x, y, yi, tx, ty = (hl.Var(n) for n in ("x", "y", "yi", "tx", "ty"))
    blur_x, blur_y = app.funcs["blur_x"], app.funcs["blur_y"]
    blur_y.split(y, y, yi, 8).gpu_tile(x, y, tx, ty, 32, 4).reorder(yi, tx, ty, x, y)
    blur_y.unroll(yi)
    blur_x.compute_at(blur_y, tx).unroll(y)


SCHEDULES = {
    "inline": schedule_inline,
    "root": schedule_root,
    "tiled": schedule_tiled,
    "sliding": schedule_sliding,
    "rows": schedule_rows,
}
GPU_SCHEDULES = {"gpu": schedule_gpu, "gpu, registers": schedule_gpu_registers}


def with_numpy(image: Array) -> Array:
    """The same blur as NumPy array operations."""
    rows = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) // 3
    return np.asarray((rows[:-2] + rows[1:-1] + rows[2:]) // 3)


def process(image: Array) -> Array:
    """Blurs a (channels, H, W) uint8 image, channel by channel."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_tiled(hl, app)
    out = []
    for channel in image:
        wide = np.pad(channel, 1, mode="edge").astype(np.uint16)
        out.append(app.run({"input": wide}, channel.shape[::-1]))
    return np.stack(out).astype(np.uint8)


if __name__ == "__main__":
    main("blur", process)
