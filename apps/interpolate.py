"""Multi-scale interpolation: fills what is transparent from its surroundings.

Colours are multiplied by their opacity and scaled down level by level; on the way back,
each level keeps what it is sure of and takes the rest from the coarser one.
"""

from __future__ import annotations

import numpy as np

from apps.common import (
    App,
    Array,
    Module,
    main,
    natural_lanes,
    to_float,
    to_levels,
)

#: Levels of the pyramid.
LEVELS = 10
#: The level below which coordinates are clamped, so that coarse ones stay in the image.
CLAMPED = 3


def algorithm(hl: Module, levels: int = LEVELS) -> App:
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    inp.dim(2).set_bounds(0, 4)
    clamped = hl.BoundaryConditions.repeat_edge(inp)

    def named(name: str) -> list[Module]:
        return [hl.Func(f"{name}_{level}") for level in range(levels)]

    down_x, down = named("down_x"), named("down")
    opacity = clamped[x, y, 3]
    down[0][x, y, c] = hl.select(c < 3, clamped[x, y, c] * opacity, opacity)
    for level in range(1, levels):
        finer = down[level - 1]
        if level - 1 == CLAMPED:
            inside = hl.Func("inside")
            scale = 1 << CLAMPED
            right, bottom = inp.width() / scale, inp.height() / scale
            inside[x, y, c] = finer[hl.clamp(x, 0, right), hl.clamp(y, 0, bottom), c]
            finer = inside
        narrow = down_x[level]
        beside = finer[2 * x - 1, y, c] + 2.0 * finer[2 * x, y, c]
        narrow[x, y, c] = (beside + finer[2 * x + 1, y, c]) * 0.25
        above = narrow[x, 2 * y - 1, c] + 2.0 * narrow[x, 2 * y, c]
        down[level][x, y, c] = (above + narrow[x, 2 * y + 1, c]) * 0.25

    up_x, up, filled = named("up_x"), named("up"), named("filled")
    filled[levels - 1][x, y, c] = down[levels - 1][x, y, c]
    for level in reversed(range(levels - 1)):
        coarser, wide, here = filled[level + 1], up_x[level], down[level]
        wide[x, y, c] = (coarser[x / 2, y, c] + coarser[(x + 1) / 2, y, c]) / 2.0
        up[level][x, y, c] = (wide[x, y / 2, c] + wide[x, (y + 1) / 2, c]) / 2.0
        missing = 1.0 - here[x, y, 3]
        filled[level][x, y, c] = here[x, y, c] + missing * up[level][x, y, c]

    normalized = hl.Func("normalized")
    normalized[x, y, c] = filled[0][x, y, c] / filled[0][x, y, 3]
    funcs = {"normalized": normalized}
    for name, some in (("down", down), ("down_x", down_x), ("filled", filled)):
        funcs |= {f"{name}_{level}": f for level, f in enumerate(some)}
    return App(normalized, {"input": inp}, funcs)


def schedule_root(hl: Module, app: App) -> None:
    """Breadth first: every level down and up as a whole."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    app.output.bound(c, 0, 3).vectorize(x, 16).parallel(y)
    for name, f in app.funcs.items():
        if name.startswith(("down_", "filled_")) and not name.startswith("down_x"):
            if name != "filled_0":
                f.compute_root().vectorize(x, 16).parallel(y)


def schedule_lines(hl: Module, app: App) -> None:
    """Down, each level as a whole, the premultiplied input beside each line that reads
    it; up, all levels together in strips of 32 lines, each a sliding window."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    yo, yi, xi = hl.Var("yo"), hl.Var("yi"), hl.Var("xi")
    funcs, out, inp = app.funcs, app.output, app.inputs["input"]
    lanes = natural_lanes(hl, hl.Float(32))
    for level in range(1, LEVELS - 1):
        down = funcs[f"down_{level}"].compute_root().reorder(x, c, y)
        down.split(y, yo, yi, 8).parallel(yo).vectorize(x, lanes)
    premultiplied = funcs["down_0"].clone_in(funcs["down_x_1"])
    premultiplied.store_at(funcs["down_1"], yo).compute_at(funcs["down_1"], yi)
    premultiplied.reorder(c, x, y).unroll(c).vectorize(x, lanes)

    out.bound(x, 0, inp.width()).bound(y, 0, inp.height()).bound(c, 0, 3)
    out.split(x, x, xi, lanes).split(y, yo, yi, 32).reorder(xi, c, x, yi, yo)
    out.unroll(c).vectorize(xi).parallel(yo)
    for level in range(1, LEVELS):
        filled = funcs[f"filled_{level}"]
        filled.store_at(out, yo).compute_at(out, yi).vectorize(x, lanes)


def schedule_gpu(hl: Module, app: App) -> None:
    """Every level down and up is a kernel, of blocks of 16 x 8 threads; what the
    threads of a block read twice while they scale down lies in its shared memory."""
    x, y, c, tx, ty = (hl.Var(n) for n in ("x", "y", "c", "tx", "ty"))
    funcs, out = app.funcs, app.output
    for level in range(1, LEVELS):
        down, down_x = funcs[f"down_{level}"], funcs[f"down_x_{level}"]
        down.compute_root().gpu_tile(x, y, tx, ty, 16, 8)
        down.gpu_blocks(c)
        down_x.compute_at(down, x).gpu_threads(x, y)
        if level < LEVELS - 1:
            filled = funcs[f"filled_{level}"].compute_root()
            filled.gpu_tile(x, y, tx, ty, 16, 8).gpu_blocks(c)
    out.bound(c, 0, 3).gpu_tile(x, y, tx, ty, 16, 8).reorder(c, tx, ty, x, y).unroll(c)


SCHEDULES = {"root": schedule_root, "lines": schedule_lines}
GPU_SCHEDULES = {"gpu": schedule_gpu}


def with_numpy(image: Array) -> Array:
    """The same as NumPy array operations, on a (4, H, W) float32 image."""
    height, width = image.shape[1:]
    unit, coarse = 1 << CLAMPED, 1 << (LEVELS - 1 - CLAMPED)
    # Fine levels reach past the frame; from the clamped one on, the edge repeats.
    before, after = 2 * unit, [2 * unit + unit + -n % unit for n in (height, width)]
    edges = [(0, 0)] + [(before, a) for a in after]
    level = np.pad(image, edges, mode="edge")
    level[:3] *= level[3]
    pyramid = [level]
    for _ in range(CLAMPED):
        pyramid.append(_down(pyramid[-1]))
    inside = [2 + n // unit + 1 for n in (height, width)]
    kept = pyramid[-1][:, 2 : inside[0], 2 : inside[1]]
    edges = [(0, 0)] + [
        (2 * coarse, 2 * coarse + -(inside_of - 2) % coarse) for inside_of in inside
    ]
    pyramid.append(_down(np.pad(kept, edges, mode="edge")))
    for _ in range(CLAMPED + 1, LEVELS - 1):
        pyramid.append(_down(pyramid[-1]))
    filled = pyramid[-1]
    for j in reversed(range(LEVELS - 1)):
        up = _up(filled)
        here = pyramid[j]
        if j == CLAMPED:  # two different margins meet
            up = up[:, 2 * coarse - 2 :, 2 * coarse - 2 :]
            up = np.pad(up, [(0, 0), (0, 4), (0, 4)], mode="edge")
            up = up[:, : here.shape[1], : here.shape[2]]
        filled = here + (1 - here[3]) * up
    out = filled[:3] / filled[3]
    return np.asarray(out[:, before : before + height, before : before + width])


def _down(image: Array) -> Array:
    for axis in (2, 1):
        a = [np.roll(image, s, axis) for s in (1, 0, -1)]
        image = ((a[0] + 2 * a[1] + a[2]) * np.float32(0.25))[
            (np.s_[:, ::2], np.s_[:, :, ::2])[axis - 1]
        ]
    return image


def _up(image: Array) -> Array:
    for axis in (2, 1):
        between = (image + np.roll(image, -1, axis)) / 2
        shape = list(image.shape)
        shape[axis] *= 2
        image = np.stack([image, between], axis + 1).reshape(shape)
    return image


def process(image: Array) -> Array:
    """Fills the black pixels of a (3, H, W) uint8 image from those around them."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_lines(hl, app)
    opacity = (image.max(axis=0, keepdims=True) > 0) * np.uint8(255)
    given = to_float(np.concatenate([image, opacity]))
    return to_levels(app.run({"input": given}, image.shape[::-1]))


if __name__ == "__main__":
    main("interpolate", process)
