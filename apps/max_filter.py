"""Maximum over a disc around each pixel, in time proportional to its radius.

Columns of every height are the maximum of two that overlap, of the largest power of two
that fits; those of powers of two are made from each other. A disc is then the maximum
over the columns next to each other, each as high as the disc is there.
"""

from __future__ import annotations

import math

import numpy as np

from apps.common import App, Array, Module, main, to_float, to_levels

RADIUS = 26


def algorithm(hl: Module, radius: int = RADIUS) -> App:
    x, y, c, t = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("t")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    edge = hl.BoundaryConditions.repeat_edge(inp)
    slices = math.ceil(math.log2(radius)) + 1

    # Columns of 1, 2, 4, 8, … pixels downwards.
    powers = hl.Func("powers")
    r = hl.RDom([(-radius, inp.height() + radius), (1, slices - 1)], "r")
    half = hl.clamp(hl.i32(1) << hl.u16(r.y - 1), 0, 2 * radius)
    powers[x, y, c, t] = edge[x, y, c]
    powers[x, r.x, c, r.y] = hl.max(
        powers[x, r.x, c, r.y - 1], powers[x, r.x + half, c, r.y - 1]
    )

    # Columns of t pixels to both sides.
    slice_of, columns = hl.Func("slice_of"), hl.Func("columns")
    slice_of[t] = hl.i32(hl.floor(hl.log(hl.f32(2 * t + 1)) / hl.f32(math.log(2))))
    chosen = hl.u16(hl.clamp(slice_of[t], 0, slices))
    height = hl.clamp(hl.i32(1) << chosen, 0, 2 * radius)
    columns[x, y, c, t] = hl.max(
        powers[x, y - t, c, hl.i32(chosen)],
        powers[x, y + t + 1 - height, c, hl.i32(chosen)],
    )

    # How many pixels the disc reaches up, by the distance from its middle.
    reach = hl.Func("reach")
    dy = hl.RDom([(0, radius + 1)], "dy")
    inside = hl.f32(x * x + dy.x * dy.x) < (radius + 0.25) * (radius + 0.25)
    reach[x] = hl.sum(hl.select(inside, 1, 0))

    out = hl.Func("max_filter")
    dx = hl.RDom([(-radius, 2 * radius + 1)], "dx")
    out[x, y, c] = hl.maximum(
        columns[x + dx.x, y, c, hl.clamp(reach[dx.x], 0, radius + 1)]
    )
    funcs = {
        "powers": powers,
        "slice_of": slice_of,
        "columns": columns,
        "reach": reach,
        "max_filter": out,
        "r": r,
    }
    return App(out, {"input": inp}, funcs)


def schedule_root(hl: Module, app: App) -> None:
    """The columns of powers of two as a whole; all others recomputed."""
    x, y = hl.Var("x"), hl.Var("y")
    funcs = app.funcs
    for name in ("slice_of", "reach"):
        funcs[name].compute_root()
    funcs["powers"].compute_root().vectorize(x, 16).parallel(y)
    funcs["powers"].update(0).vectorize(x, 16)
    app.output.vectorize(x, 16).parallel(y)


def schedule_strips(hl: Module, app: App) -> None:
    """Vertical strips of 256 pixels, for each channel: the columns of powers of two of
    a strip first, then line by line those that the line needs."""
    x, y, c, t, tx = (hl.Var(n) for n in ("x", "y", "c", "t", "tx"))
    funcs, out, r = app.funcs, app.output, app.funcs["r"]
    for name in ("slice_of", "reach"):
        funcs[name].compute_root()
    out.compute_root().split(x, tx, x, 256).reorder(x, y, c, tx).fuse(c, tx, t)
    out.parallel(t).vectorize(x, 16)
    funcs["powers"].compute_at(out, t).vectorize(x, 16)
    funcs["powers"].update(0).reorder(x, r.x, r.y, c).vectorize(x, 16)
    funcs["columns"].compute_at(out, y).vectorize(x, 16)


def schedule_gpu(hl: Module, app: App) -> None:
    """A thread for each column of the image makes its columns of powers of two; one for
    each pixel takes the maximum over its disc."""
    x, y, c, t, tx, ty = (hl.Var(n) for n in ("x", "y", "c", "t", "tx", "ty"))
    funcs, out, r = app.funcs, app.output, app.funcs["r"]
    for name in ("slice_of", "reach"):
        funcs[name].compute_root()
    powers = funcs["powers"].compute_root()
    powers.reorder(t, c, x, y).gpu_tile(x, y, tx, ty, 32, 8)
    powers.update(0).split(x, x, tx, 32).reorder(r.x, r.y, tx, x, c)
    powers.update(0).gpu_blocks(x, c).gpu_threads(tx)
    out.gpu_tile(x, y, tx, ty, 32, 8).gpu_blocks(c)


SCHEDULES = {"root": schedule_root, "strips": schedule_strips}
GPU_SCHEDULES = {"gpu": schedule_gpu}


def footprint(radius: int = RADIUS) -> Array:
    """The disc as an array of Bools, one line wider than high on either end."""
    across = np.arange(-radius, radius + 1)
    limit = (radius + 0.25) ** 2
    reach = [sum(d * d + j * j < limit for j in range(radius + 1)) for d in across]
    rows = np.arange(-radius - 1, radius + 2)[:, None]
    return np.asarray(np.abs(rows) <= np.array(reach)[None])


def with_scipy(image: Array) -> Array:
    """The same by SciPy, on a (3, H, W) float32 image."""
    from scipy.ndimage import maximum_filter

    disc = footprint()
    return np.stack([maximum_filter(a, footprint=disc, mode="nearest") for a in image])


def process(image: Array) -> Array:
    """Each pixel of a (3, H, W) uint8 image becomes the brightest around it."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_strips(hl, app)
    return to_levels(app.run({"input": to_float(image)}, image.shape[::-1]))


if __name__ == "__main__":
    main("max_filter", process)
