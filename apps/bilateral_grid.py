"""Bilateral grid: edge-preserving smoothing through a coarse volume (2012 paper, 6.3).

After Chen et al. 2007: a reduction adds up each cell's pixels by their value, a small
filter smooths the volume along its three axes, and each output pixel is looked up in it
at its place and value, by trilinear interpolation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.common import App, Array, Module, main, to_float, to_levels

#: Edge of a cell, in pixels.
CELL = 8
#: Depth of a cell, in units of the image's values.
SETTINGS = {"r_sigma": 0.1}
#: How many planes of the volume the blocks of a GPU have room for: an `r_sigma` of 0.1
#: needs 16.
GPU_PLANES = 20


def algorithm(hl: Module) -> App:
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    r_sigma = hl.Param(hl.Float(32), "r_sigma", SETTINGS["r_sigma"])
    clamped = hl.BoundaryConditions.repeat_edge(inp)

    # The sum of the values, and their number, for each cell and depth.
    histogram = hl.Func("histogram")
    r = hl.RDom([(0, CELL), (0, CELL)], "r")
    value = clamped[x * CELL + r.x - CELL // 2, y * CELL + r.y - CELL // 2]
    value = hl.clamp(value, 0.0, 1.0)
    depth = hl.i32(value * (1.0 / r_sigma) + 0.5)
    histogram[x, y, z, c] = 0.0
    histogram[x, y, depth, c] += hl.mux(c, [value, 1.0])

    blur_z, blur_x, blur_y = hl.Func("blur_z"), hl.Func("blur_x"), hl.Func("blur_y")
    blur_z[x, y, z, c] = taps(lambda i: histogram[x, y, z + i, c])
    blur_x[x, y, z, c] = taps(lambda i: blur_z[x + i, y, z, c])
    blur_y[x, y, z, c] = taps(lambda i: blur_x[x, y + i, z, c])

    # Each pixel lies between eight points of the grid.
    value = hl.clamp(inp[x, y], 0.0, 1.0) * (1.0 / r_sigma)
    zi = hl.i32(value)
    zf = value - hl.f32(zi)
    xi, yi = x / CELL, y / CELL
    xf, yf = hl.f32(x % CELL) / CELL, hl.f32(y % CELL) / CELL

    def plane(dz: int) -> Module:
        rows = [
            hl.lerp(
                blur_y[xi, yi + dy, zi + dz, c], blur_y[xi + 1, yi + dy, zi + dz, c], xf
            )
            for dy in (0, 1)
        ]
        return hl.lerp(rows[0], rows[1], yf)

    interpolated, out = hl.Func("interpolated"), hl.Func("bilateral_grid")
    interpolated[x, y, c] = hl.lerp(plane(0), plane(1), zf)
    out[x, y] = interpolated[x, y, 0] / interpolated[x, y, 1]
    funcs = {
        "histogram": histogram,
        "blur_z": blur_z,
        "blur_x": blur_x,
        "blur_y": blur_y,
        "bilateral_grid": out,
        "r": r,
    }
    return App(out, {"input": inp}, funcs, {"r_sigma": r_sigma})


def taps(at: Module) -> Module:
    """The filter 1 4 6 4 1 over five neighbours, not divided by its sum."""
    return at(-2) + at(-1) * 4.0 + at(0) * 6.0 + at(1) * 4.0 + at(2)


def schedule_root(hl: Module, app: App) -> None:
    """Breadth first, each stage over lines in parallel."""
    x, y = hl.Var("x"), hl.Var("y")
    for name in ("histogram", "blur_z", "blur_x", "blur_y", "bilateral_grid"):
        app.funcs[name].compute_root().parallel(y).vectorize(x, 8)
    app.funcs["histogram"].update(0).parallel(y)


def schedule_lines(hl: Module, app: App) -> None:
    """A line of cells at a time: histogram and smoothing along z for each line of the
    smoothing along x; smoothing along y for each line of the output."""
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    funcs, out, r = app.funcs, app.output, app.funcs["r"]
    out.compute_root().parallel(y, 8).vectorize(x, 8)
    funcs["blur_y"].compute_at(out, y).reorder_storage(c, z, x, y)
    funcs["blur_y"].reorder(c, x, y, z).vectorize(x, 8).unroll(c)
    funcs["blur_x"].compute_root().reorder(c, x, z, y).parallel(y)
    funcs["blur_x"].vectorize(x, 8).unroll(c)
    funcs["blur_z"].compute_at(funcs["blur_x"], y).reorder(c, z, x, y)
    funcs["blur_z"].vectorize(x, 8).unroll(c)
    funcs["histogram"].compute_at(funcs["blur_z"], y)
    funcs["histogram"].update(0).reorder(c, r.x, r.y, x, y).unroll(c)


def schedule_gpu(hl: Module, app: App) -> None:
    """A thread for each cell goes through its pixels, so that no two add up at one
    place; the histograms of a block's cells lie in its shared memory, for the smoothing
    along z."""
    x, y, z, c, tx, ty = (hl.Var(n) for n in ("x", "y", "z", "c", "tx", "ty"))
    _schedule_gpu_grid(hl, app)
    histogram, blur_z, r = (app.funcs[n] for n in ("histogram", "blur_z", "r"))
    blur_z.gpu_tile(x, y, tx, ty, 8, 8).reorder(c, z, tx, ty, x, y)
    histogram.compute_at(blur_z, x).reorder(c, z, x, y).gpu_threads(x, y)
    histogram.bound_storage(z, GPU_PLANES)
    histogram.update(0).reorder(c, r.x, r.y, x, y).gpu_threads(x, y)


def schedule_gpu_texture(hl: Module, app: App) -> None:
    """The same, with the grid in a texture, from which the pixels are looked up."""
    schedule_gpu(hl, app)
    app.funcs["blur_y"].store_in(hl.MemoryType.GPUTexture)


def schedule_gpu_cells(hl: Module, app: App) -> None:
    """The same, with the histograms in the GPU's memory, in a kernel of their own: what
    the 2012 paper found to be 3.6 times as fast as atomic additions."""
    x, y, z, c, tx, ty = (hl.Var(n) for n in ("x", "y", "z", "c", "tx", "ty"))
    _schedule_gpu_grid(hl, app)
    histogram, r = _schedule_gpu_histogram(hl, app), app.funcs["r"]
    histogram.update(0).gpu_tile(x, y, tx, ty, 8, 8).reorder(c, r.x, r.y, tx, ty, x, y)


def schedule_gpu_atomics(hl: Module, app: App) -> None:
    """A block for each cell and a thread for each of its pixels, which add up
    atomically: more threads, which wait for each other."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    _schedule_gpu_grid(hl, app)
    histogram, r = _schedule_gpu_histogram(hl, app), app.funcs["r"]
    update = histogram.update(0).atomic().reorder(c, r.x, r.y, x, y)
    update.gpu_blocks(x, y).gpu_threads(r.x, r.y)


def schedule_gpu_shared_atomics(hl: Module, app: App) -> None:
    """The same in the blocks' shared memory, which is close; the block then smooths its
    cell along z."""
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    _schedule_gpu_grid(hl, app)
    histogram, blur_z, r = (app.funcs[n] for n in ("histogram", "blur_z", "r"))
    blur_z.reorder(c, z, x, y).gpu_blocks(x, y).gpu_threads(z)
    histogram.compute_at(blur_z, x).reorder(c, z, x, y).gpu_threads(z)
    histogram.bound_storage(z, GPU_PLANES)
    update = histogram.update(0).atomic().reorder(c, r.x, r.y, x, y)
    update.gpu_threads(r.x, r.y)


def _schedule_gpu_histogram(hl: Module, app: App) -> Module:
    """The histogram as a whole, and what reads it; returns it."""
    x, y, z, c, tx, ty = (hl.Var(n) for n in ("x", "y", "z", "c", "tx", "ty"))
    for name in ("histogram", "blur_z"):
        f = app.funcs[name].compute_root().gpu_tile(x, y, tx, ty, 16, 8)
        f.reorder(c, tx, ty, x, y, z).gpu_blocks(z)
    return app.funcs["histogram"]


def _schedule_gpu_grid(hl: Module, app: App) -> None:
    """What all of these do alike: the smoothings are kernels, and each pixel is looked
    up by a thread; sum and number of the values go together."""
    x, y, z, c, tx, ty = (hl.Var(n) for n in ("x", "y", "z", "c", "tx", "ty"))
    for name in ("histogram", "blur_z", "blur_x", "blur_y"):
        app.funcs[name].bound(c, 0, 2).unroll(c)
    app.funcs["histogram"].update(0).unroll(c)
    app.funcs["blur_z"].compute_root()
    for name in ("blur_x", "blur_y"):
        f = app.funcs[name].compute_root().gpu_tile(x, y, tx, ty, 16, 8)
        f.reorder(c, tx, ty, x, y, z).gpu_blocks(z)
    app.output.gpu_tile(x, y, tx, ty, 32, 8)


SCHEDULES = {"root": schedule_root, "lines": schedule_lines}
GPU_SCHEDULES = {
    "gpu": schedule_gpu,
    "gpu, texture": schedule_gpu_texture,
    "gpu, cells": schedule_gpu_cells,
    "gpu, atomics": schedule_gpu_atomics,
    "gpu, shared atomics": schedule_gpu_shared_atomics,
}


def with_numpy(image: Array) -> Array:
    """The same as NumPy array operations, on a (H, W) float32 image in [0, 1]."""
    height, width = image.shape
    margin = 3 * CELL + CELL // 2  # cells from -3 on, centred
    wide = np.pad(
        np.clip(image, 0, 1),
        [(margin, margin + CELL + -n % CELL) for n in image.shape],
        "edge",
    )
    cells = [n // CELL for n in wide.shape]
    scale = 1 / SETTINGS["r_sigma"]
    depth = (wide * np.float32(scale) + np.float32(0.5)).astype(np.int64)
    planes = int(scale) + 7
    rows, columns = (np.arange(n) // CELL for n in wide.shape)
    row, column = np.meshgrid(rows, columns, indexing="ij")
    inside = (row < cells[0]) & (column < cells[1])
    at = np.ravel_multi_index(
        (row[inside], column[inside], depth[inside] + 2), (*cells, planes)
    )
    count = cells[0] * cells[1] * planes
    grid = [
        np.bincount(at, weights, count).reshape(*cells, planes)
        for weights in (wide[inside].astype(np.float64), None)
    ]
    y, x = (np.asarray(a) for a in np.indices(image.shape))
    value = np.clip(image, 0, 1).astype(np.float64) * scale
    zi = value.astype(np.int64)
    sums = []
    for g in grid:
        for axis in range(3):
            a = [np.roll(g, s, axis) for s in (2, 1, 0, -1, -2)]
            g = a[0] + 4 * a[1] + 6 * a[2] + 4 * a[3] + a[4]
        total = np.zeros(image.shape)
        for dy in (0, 1):
            for dx in (0, 1):
                for dz in (0, 1):
                    weight = _share(y % CELL / CELL, dy) * _share(x % CELL / CELL, dx)
                    weight = weight * _share(value - zi, dz)
                    total += (
                        weight * g[y // CELL + 3 + dy, x // CELL + 3 + dx, zi + 2 + dz]
                    )
        sums.append(total)
    return np.asarray((sums[0] / sums[1]).astype(np.float32))


def _share(f: Any, side: int) -> Any:
    return f if side else 1 - f


def process(image: Array) -> Array:
    """Smooths each channel of a (channels, H, W) uint8 image between its edges."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_lines(hl, app)
    size = image.shape[:0:-1]
    return np.stack([to_levels(app.run({"input": to_float(a)}, size)) for a in image])


if __name__ == "__main__":
    main("bilateral_grid", process)
