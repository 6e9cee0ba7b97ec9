"""Non-local means: each pixel becomes a mean of those whose surroundings look alike.

For every offset of a small search window, the squared colour difference between the
image and its shifted self, blurred over a patch, gives the weight of the shifted pixel
(the method of Darbon and others, 2008, as a plain reduction over the offsets).
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main, to_float, to_levels

#: Width of the patches that are compared, of the search window, and the noise.
PATCH, SEARCH, SIGMA = 7, 7, 0.12
#: How much wider the storage of a block of a GPU is than its pixels: the largest patch
#: has one more.
REACH = 8


def algorithm(hl: Module) -> App:
    x, y, c, dx, dy = (hl.Var(n) for n in ("x", "y", "c", "dx", "dy"))
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    patch = hl.Param(hl.Int(32), "patch_size", PATCH)
    search = hl.Param(hl.Int(32), "search_area", SEARCH)
    sigma = hl.Param(hl.Float(32), "sigma", SIGMA)
    edge = hl.BoundaryConditions.repeat_edge(inp)

    # The difference between the image and itself, shifted; the sum over colours.
    dc, d = hl.Func("dc"), hl.Func("d")
    apart = edge[x, y, c] - edge[x + dx, y + dy, c]
    dc[x, y, dx, dy, c] = apart * apart
    channels = hl.RDom([(0, 3)], "channels")
    colors = total(hl, "colors", (x, y, dx, dy), dc[x, y, dx, dy, channels.x])
    d[x, y, dx, dy] = colors[x, y, dx, dy]

    # Its sum over the patch.
    blur_d_y, blur_d, w = hl.Func("blur_d_y"), hl.Func("blur_d"), hl.Func("w")
    patch_y = hl.RDom([(-(patch // 2), patch)], "patch_y")
    patch_x = hl.RDom([(-(patch // 2), patch)], "patch_x")
    column = total(hl, "column", (x, y, dx, dy), d[x, y + patch_y.x, dx, dy])
    blur_d_y[x, y, dx, dy] = column[x, y, dx, dy]
    row = total(hl, "row", (x, y, dx, dy), blur_d_y[x + patch_x.x, y, dx, dy])
    blur_d[x, y, dx, dy] = row[x, y, dx, dy]
    w[x, y, dx, dy] = hl.fast_exp(
        blur_d[x, y, dx, dy] * (-1.0 / (sigma * sigma * patch * patch))
    )

    # The weighted sum, with a fourth channel for the weights themselves.
    with_alpha, mean = hl.Func("with_alpha"), hl.Func("mean")
    with_alpha[x, y, c] = hl.mux(c, [edge[x, y, 0], edge[x, y, 1], edge[x, y, 2], 1.0])
    s = hl.RDom([(-(search // 2), search), (-(search // 2), search)], "s")
    mean[x, y, c] = 0.0
    mean[x, y, c] += w[x, y, s.x, s.y] * with_alpha[x + s.x, y + s.y, c]

    output = hl.Func("nl_means")
    output[x, y, c] = hl.clamp(mean[x, y, c] / mean[x, y, 3], 0.0, 1.0)
    funcs = {"colors": colors, "d": d, "column": column, "blur_d_y": blur_d_y}
    funcs |= {"row": row, "blur_d": blur_d, "w": w, "mean": mean, "nl_means": output}
    rvars = {"channels": channels.x, "patch_y": patch_y.x, "patch_x": patch_x.x}
    rvars |= {"sx": s.x, "sy": s.y}
    params = {"patch_size": patch, "search_area": search, "sigma": sigma}
    return App(output, {"input": inp}, funcs, params, rvars)


def total(hl: Module, name: str, at: tuple[Module, ...], term: Module) -> Module:
    """The sum of a term over its RDom, as a Func that schedules can name."""
    f = hl.Func(name)
    f[at] = 0.0
    f[at] += term
    return f


def schedule_root(hl: Module, app: App) -> None:
    """The weighted sum as a whole; differences and weights where they are used."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    mean = app.funcs["mean"]
    app.funcs["nl_means"].bound(c, 0, 3).vectorize(x, 16)
    mean.compute_root().bound(c, 0, 4).vectorize(x, 16).parallel(y)
    mean.update(0).reorder(c, x, y).unroll(c).vectorize(x, 16).parallel(y)
    app.funcs["blur_d"].compute_at(mean, x).vectorize(x, 16)


def schedule_published(hl: Module, app: App) -> None:
    """Small tiles; in each, the differences for all offsets, summed along y, and the
    rest per vector of pixels (what Halide's own application does)."""
    x, y, c, tx, ty = (hl.Var(n) for n in ("x", "y", "c", "tx", "ty"))
    funcs, rvars = app.funcs, app.rvars
    out, mean = funcs["nl_means"], funcs["mean"]
    out.bound(c, 0, 3).reorder(c, x, y).tile(x, y, tx, ty, x, y, 16, 8)
    out.parallel(ty).vectorize(x, 8)
    funcs["blur_d_y"].compute_at(out, tx).reorder(y, x).vectorize(x, 8)
    funcs["d"].compute_at(out, tx).vectorize(x, 8)
    mean.compute_at(out, x).reorder(c, x, y).bound(c, 0, 4).unroll(c).vectorize(x, 8)
    update = mean.update(0).reorder(c, x, y, rvars["sx"], rvars["sy"])
    update.unroll(c).vectorize(x, 8)
    funcs["blur_d"].compute_at(mean, x).vectorize(x, 8)


def schedule_offsets(hl: Module, app: App) -> None:
    """Larger tiles, in each of them one offset after the other, so that what belongs
    to an offset stays in the first-level cache; sums in registers, two vectors at a
    time."""
    x, y, c, tx, ty = (hl.Var(n) for n in ("x", "y", "c", "tx", "ty"))
    funcs, rvars = app.funcs, app.rvars
    out, mean = funcs["nl_means"], funcs["mean"]
    out.bound(c, 0, 3).reorder(c, x, y).tile(x, y, tx, ty, x, y, 64, 32)
    out.parallel(ty).unroll(c).vectorize(x, 16)
    app.inputs["input"].dim(2).set_bounds(0, 3)
    mean.compute_at(out, tx).bound(c, 0, 4).vectorize(x, 16)
    update = mean.update(0)
    update.reorder(c, x, y, rvars["sx"], rvars["sy"]).unroll(c).vectorize(x, 16)
    funcs["d"].compute_at(mean, rvars["sx"]).vectorize(x, 16)
    funcs["colors"].compute_at(funcs["d"], x).vectorize(x, 16)
    funcs["colors"].update(0).vectorize(x, 16).unroll(rvars["channels"])
    for name, source, r in (("blur_d_y", "column", "patch_y"), ("w", "row", "patch_x")):
        f, source = funcs[name], funcs[source]
        f.compute_at(mean, rvars["sx"]).split(x, x, tx, 32).vectorize(tx, 16).unroll(tx)
        source.compute_at(f, x).vectorize(x, 16).unroll(x)
        source.update(0).reorder(x, rvars[r]).vectorize(x, 16).unroll(x)


def schedule_gpu(hl: Module, app: App) -> None:
    """Blocks of 16 x 16 pixels. For one offset after the other, the differences of a
    block and their sums along y and then x lie in shared memory; so do the weighted
    sums, of which a thread has one pixel's."""
    x, y, c, tx, ty = (hl.Var(n) for n in ("x", "y", "c", "tx", "ty"))
    funcs, rvars = app.funcs, app.rvars
    out, mean = funcs["nl_means"], funcs["mean"]
    out.bound(c, 0, 3).gpu_tile(x, y, tx, ty, 16, 16)
    out.reorder(c, tx, ty, x, y).unroll(c)
    mean.compute_at(out, x).bound(c, 0, 4).reorder(c, x, y).unroll(c).gpu_threads(x, y)
    update = mean.update(0).reorder(c, x, y, rvars["sx"], rvars["sy"])
    update.unroll(c).gpu_threads(x, y)
    for name in ("d", "blur_d_y", "blur_d"):
        f = funcs[name].compute_at(mean, rvars["sx"]).gpu_threads(x, y)
        f.bound_storage(x, 16 + REACH).bound_storage(y, 16 + REACH)
    funcs["colors"].update(0).unroll(rvars["channels"])


SCHEDULES = {
    "root": schedule_root,
    "published": schedule_published,
    "offsets": schedule_offsets,
}
GPU_SCHEDULES = {"gpu": schedule_gpu}


def with_numpy(
    image: Array, patch: int = PATCH, search: int = SEARCH, sigma: float = SIGMA
) -> Array:
    """The same as NumPy array operations, on a (3, H, W) float32 image."""
    before = patch // 2
    reach = before + search // 2
    pad = np.pad(image, ((0, 0), (reach, reach), (reach, reach)), mode="edge")
    h, w = image.shape[1:]

    def at(dx: int, dy: int) -> Array:
        """The image shifted, with what a patch needs around it."""
        y, x = reach - before + dy, reach - before + dx
        return np.asarray(pad[:, y : y + h + patch - 1, x : x + w + patch - 1])

    total = np.zeros((4, h, w), np.float32)
    factor = np.float32(-1 / (sigma * sigma * patch * patch))
    offsets = range(-(search // 2), search - search // 2)
    for dy in offsets:
        for dx in offsets:
            apart = ((at(0, 0) - at(dx, dy)) ** 2).sum(axis=0)
            rows = sum(apart[i : i + h] for i in range(patch))
            patches = sum(rows[:, i : i + w] for i in range(patch))
            weight = np.exp(patches * factor)
            total[:3] += (
                weight * at(dx, dy)[:, before : before + h, before : before + w]
            )
            total[3] += weight
    return np.asarray(np.clip(total[:3] / total[3], 0, 1))


def process(image: Array) -> Array:
    """Takes noise out of a (3, H, W) uint8 image."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_offsets(hl, app)
    return to_levels(app.run({"input": to_float(image)}, image.shape[::-1]))


if __name__ == "__main__":
    main("nl_means", process)
