"""Local Laplacian filter: local contrast by multi-scale pyramids (2012 paper, 6.2).

After Aubry et al. 2011: the luminance is remapped around each of several levels of
intensity, each remapped image gets its Laplacian pyramid, and each coefficient of the
output's pyramid is interpolated between those of the two levels that the input's
Gaussian pyramid lies between. Collapsing the output's pyramid gives the new luminance.
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main

#: Levels of the pyramids.
PYRAMID = 8
#: levels of intensity, strength of detail (alpha) and of the large scale (beta).
SETTINGS = {"levels": 8, "alpha": 1.0, "beta": 1.0}
#: Added to both sides of the colour's ratio, so that dark noise is not scaled up.
EPSILON = 0.01


def algorithm(hl: Module, pyramid: int = PYRAMID) -> App:
    x, y, c, k = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("k")
    inp = hl.ImageParam(hl.UInt(16), 3, "input")
    levels = hl.Param(hl.Int(32), "levels", SETTINGS["levels"])
    alpha = hl.Param(hl.Float(32), "alpha", SETTINGS["alpha"])
    beta = hl.Param(hl.Float(32), "beta", SETTINGS["beta"])
    coarsest = pyramid - 1

    # What is added to a luminance, by its distance from a level of intensity.
    remap = hl.Func("remap")
    fx = hl.f32(x) / 256.0
    remap[x] = alpha * fx * hl.exp(-fx * fx / 2.0)

    clamped = hl.BoundaryConditions.repeat_edge(inp)
    floating, gray = hl.Func("floating"), hl.Func("gray")
    floating[x, y, c] = clamped[x, y, c] / 65535.0
    gray[x, y] = (
        0.299 * floating[x, y, 0]
        + 0.587 * floating[x, y, 1]
        + 0.114 * floating[x, y, 2]
    )

    # The remapped images, 256 table entries for each level of intensity.
    g_pyramid = [hl.Func(f"g_pyramid_{j}") for j in range(pyramid)]
    level = k * (1.0 / (levels - 1))
    index = hl.i32(gray[x, y] * hl.f32(levels - 1) * 256.0)
    index = hl.clamp(index, 0, (levels - 1) * 256)
    remapped = beta * (gray[x, y] - level) + level + remap[index - 256 * k]
    g_pyramid[0][x, y, k] = remapped
    for j in range(1, pyramid):
        g_pyramid[j][x, y, k] = downsample(hl, g_pyramid[j - 1])[x, y, k]

    l_pyramid = [hl.Func(f"l_pyramid_{j}") for j in range(pyramid)]
    l_pyramid[coarsest][x, y, k] = g_pyramid[coarsest][x, y, k]
    for j in reversed(range(coarsest)):
        finer = g_pyramid[j][x, y, k]
        l_pyramid[j][x, y, k] = finer - upsample(hl, g_pyramid[j + 1])[x, y, k]

    in_pyramid = [hl.Func(f"in_pyramid_{j}") for j in range(pyramid)]
    in_pyramid[0][x, y] = gray[x, y]
    for j in range(1, pyramid):
        in_pyramid[j][x, y] = downsample(hl, in_pyramid[j - 1])[x, y]

    # Between the two levels of intensity that a pixel lies between.
    out_l_pyramid = [hl.Func(f"out_l_pyramid_{j}") for j in range(pyramid)]
    for j in range(pyramid):
        position = in_pyramid[j][x, y] * hl.f32(levels - 1)
        low = hl.clamp(hl.i32(position), 0, levels - 2)
        share = position - hl.f32(low)
        below, above = l_pyramid[j][x, y, low], l_pyramid[j][x, y, low + 1]
        out_l_pyramid[j][x, y] = (1.0 - share) * below + share * above

    out_pyramid = [hl.Func(f"out_pyramid_{j}") for j in range(pyramid)]
    out_pyramid[coarsest][x, y] = out_l_pyramid[coarsest][x, y]
    for j in reversed(range(coarsest)):
        coarser = upsample(hl, out_pyramid[j + 1])[x, y]
        out_pyramid[j][x, y] = coarser + out_l_pyramid[j][x, y]

    color, output = hl.Func("color"), hl.Func("output")
    new = out_pyramid[0][x, y] + EPSILON
    color[x, y, c] = inp[x, y, c] * new / (gray[x, y] + EPSILON)
    output[x, y, c] = hl.u16(hl.clamp(color[x, y, c], 0.0, 65535.0))

    funcs = {"remap": remap, "gray": gray, "output": output}
    for name, levels_of in (
        ("g_pyramid", g_pyramid),
        ("l_pyramid", l_pyramid),
        ("in_pyramid", in_pyramid),
        ("out_l_pyramid", out_l_pyramid),
        ("out_pyramid", out_pyramid),
    ):
        funcs |= {f"{name}_{j}": f for j, f in enumerate(levels_of)}
    params = {"levels": levels, "alpha": alpha, "beta": beta}
    return App(output, {"input": inp}, funcs, params)


def downsample(hl: Module, f: Module) -> Module:
    """Half the size, by the filter 1 3 3 1 in y, then in x."""
    x, y, _ = hl.Var("x"), hl.Var("y"), hl._
    down_y, down_x = hl.Func("down_y"), hl.Func("down_x")
    inner = f[x, 2 * y, _] + f[x, 2 * y + 1, _]
    down_y[x, y, _] = (f[x, 2 * y - 1, _] + 3.0 * inner + f[x, 2 * y + 2, _]) / 8.0
    inner = down_y[2 * x, y, _] + down_y[2 * x + 1, y, _]
    outer = down_y[2 * x - 1, y, _] + down_y[2 * x + 2, y, _]
    down_x[x, y, _] = (outer + 3.0 * inner) / 8.0
    return down_x


def upsample(hl: Module, f: Module) -> Module:
    """Twice the size, by linear interpolation in x, then in y."""
    x, y, _ = hl.Var("x"), hl.Var("y"), hl._
    up_x, up_y = hl.Func("up_x"), hl.Func("up_y")
    share = (x % 2 * 2 + 1) / 4.0
    up_x[x, y, _] = hl.lerp(f[(x + 1) / 2, y, _], f[(x - 1) / 2, y, _], share)
    share = (y % 2 * 2 + 1) / 4.0
    up_y[x, y, _] = hl.lerp(up_x[x, (y + 1) / 2, _], up_x[x, (y - 1) / 2, _], share)
    return up_y


def schedule_root(hl: Module, app: App) -> None:
    """Breadth first: every pyramid of which several pixels are read, as a whole."""
    x, y = hl.Var("x"), hl.Var("y")
    app.funcs["remap"].compute_root()
    app.output.vectorize(x, 16).parallel(y)
    for name, f in app.funcs.items():
        if name.startswith(("gray", "g_pyramid", "in_pyramid", "out_pyramid")):
            if name not in ("g_pyramid_0", "in_pyramid_0"):
                f.compute_root().vectorize(x, 16).parallel(y)


def schedule_lines(hl: Module, app: App) -> None:
    """Coarse levels as a whole. Of the fine ones, the remapped pyramids as a whole,
    intensities beside each other, and the output's in strips of 64 lines, each level
    a sliding window."""
    x, y, c, k, yo = (hl.Var(n) for n in ("x", "y", "c", "k", "yo"))
    funcs, out = app.funcs, app.output
    funcs["remap"].compute_root()
    out.reorder(c, x, y).split(y, yo, y, 64).parallel(yo).vectorize(x, 16)
    funcs["gray"].compute_root().parallel(y, 32).vectorize(x, 16)
    for j in range(1, PYRAMID):
        ins, remapped, outs = (
            funcs[f"{name}_{j}"] for name in ("in_pyramid", "g_pyramid", "out_pyramid")
        )
        if j < 5:
            ins.compute_root().parallel(y, 32).vectorize(x, 16)
            remapped.compute_root().reorder_storage(x, k, y).reorder(k, y)
            remapped.parallel(y, 8).vectorize(x, 16)
            outs.store_at(out, yo).compute_at(out, y).vectorize(x, 16)
        else:
            ins.compute_root()
            remapped.compute_root().parallel(k)
            outs.compute_root()
    funcs["out_pyramid_0"].compute_at(out, y).vectorize(x, 16)


def schedule_gpu(hl: Module, app: App) -> None:
    """Breadth first: a kernel for each level of the remapped, the input's and the
    output's pyramids, for all levels of intensity; Laplacian pyramids are inlined
    wherever they are read. The table is the host's."""
    _schedule_gpu_levels(hl, app, PYRAMID)
    k, c = hl.Var("k"), hl.Var("c")
    for j in range(1, PYRAMID):
        app.funcs[f"g_pyramid_{j}"].gpu_blocks(k)
    app.output.gpu_blocks(c)


def schedule_gpu_published(hl: Module, app: App) -> None:
    """The same, with the finest remapped images as a whole, too, and a launch for each
    level of intensity and colour: the 25 kernels and 83 launches of the 2012 paper."""
    x, y, tx, ty = hl.Var("x"), hl.Var("y"), hl.Var("tx"), hl.Var("ty")
    _schedule_gpu_levels(hl, app, PYRAMID, 32)
    app.funcs["g_pyramid_0"].compute_root().gpu_tile(x, y, tx, ty, 32, 32)


def schedule_gpu_coarse_on_host(hl: Module, app: App) -> None:
    """The fine levels on the GPU. The coarse ones, of a few hundred pixels, which would
    leave most of it idle, are the host's, and what lies between them is copied."""
    x, k, c = hl.Var("x"), hl.Var("k"), hl.Var("c")
    _schedule_gpu_levels(hl, app, 5)
    for j in range(1, 5):
        app.funcs[f"g_pyramid_{j}"].gpu_blocks(k)
    app.output.gpu_blocks(c)
    for name in ("g_pyramid", "in_pyramid", "out_pyramid"):
        for j in range(5, PYRAMID):
            f = app.funcs[f"{name}_{j}"].compute_root()
            f.vectorize(x, 8, hl.TailStrategy.GuardWithIf)


def _schedule_gpu_levels(hl: Module, app: App, levels: int, height: int = 8) -> None:
    """The finest levels of all pyramids as a whole, each a kernel of blocks of 32
    threads by `height`."""
    x, y, tx, ty = hl.Var("x"), hl.Var("y"), hl.Var("tx"), hl.Var("ty")
    app.funcs["remap"].compute_root()
    app.output.gpu_tile(x, y, tx, ty, 32, height)
    names = ["gray", "out_pyramid_0"]
    for name in ("g_pyramid", "in_pyramid", "out_pyramid"):
        names += [f"{name}_{j}" for j in range(1, levels)]
    for name in names:
        app.funcs[name].compute_root().gpu_tile(x, y, tx, ty, 32, height)


SCHEDULES = {"root": schedule_root, "lines": schedule_lines}
GPU_SCHEDULES = {
    "gpu": schedule_gpu,
    "gpu, published": schedule_gpu_published,
    "gpu, coarse levels on the host": schedule_gpu_coarse_on_host,
}


def with_numpy(image: Array) -> Array:
    """The same as NumPy array operations, on a (3, H, W) uint16 image."""
    f, unit = np.float32, 1 << (PYRAMID - 1)
    levels, alpha, beta = (SETTINGS[name] for name in ("levels", "alpha", "beta"))
    height, width = image.shape[1:]
    # Pyramids reach past the frame: three pixels of the coarsest level on every side.
    after = [(3 * unit, 3 * unit + -n % unit) for n in (height, width)]
    floating = image.astype(f) / f(65535)
    gray = f(0.299) * floating[0] + f(0.587) * floating[1] + f(0.114) * floating[2]
    gray = np.pad(gray, after, mode="edge")

    in_pyramid = _pyramid(gray)
    position = [g * f(levels - 1) for g in in_pyramid]
    low = [np.clip(p.astype(np.int32), 0, levels - 2) for p in position]
    share = [p - n.astype(f) for p, n in zip(position, low, strict=True)]
    index = (gray * f(levels - 1) * f(256)).astype(np.int32)
    index = np.clip(index, 0, (levels - 1) * 256)
    out = [np.zeros_like(g) for g in in_pyramid]
    for k in range(int(levels)):
        fx = (index - 256 * k).astype(f) / f(256)
        level = f(k) * f(1 / (levels - 1))
        remapped = f(beta) * (gray - level) + level
        remapped += f(alpha) * fx * np.exp(-fx * fx / f(2))
        g_pyramid = _pyramid(remapped)
        for j, g in enumerate(g_pyramid):
            laplacian = g if j == PYRAMID - 1 else g - _up(g_pyramid[j + 1])
            weight = np.where(low[j] == k, 1 - share[j], 0)
            weight += np.where(low[j] + 1 == k, share[j], 0)
            out[j] += weight * laplacian
    total = out[-1]
    for j in reversed(range(PYRAMID - 1)):
        total = _up(total) + out[j]
    inside = np.s_[3 * unit : 3 * unit + height, 3 * unit : 3 * unit + width]
    ratio = (total[inside] + f(EPSILON)) / (gray[inside] + f(EPSILON))
    return np.asarray(np.clip(image * ratio, 0, 65535).astype(np.uint16))


def _pyramid(image: Array) -> list[Array]:
    levels = [image]
    for _ in range(PYRAMID - 1):
        for axis in (0, 1):
            a = [np.roll(image, s, axis) for s in (1, 0, -1, -2)]
            taken = (np.s_[::2], np.s_[:, ::2])[axis]
            image = ((a[0] + a[3] + 3 * (a[1] + a[2])) / np.float32(8))[taken]
        levels.append(image)
    return levels


def _up(image: Array) -> Array:
    for axis in (1, 0):
        near = np.float32(0.75) * image
        before = near + np.float32(0.25) * np.roll(image, 1, axis)
        behind = near + np.float32(0.25) * np.roll(image, -1, axis)
        both = np.stack([before, behind], axis + 1)
        shape = list(image.shape)
        shape[axis] *= 2
        image = both.reshape(shape)
    return image


def process(image: Array) -> Array:
    """Twice the local contrast in a (3, H, W) uint8 image."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_lines(hl, app)
    # At a level of intensity, the remapping's slope is 1 + alpha (levels - 1).
    app.params["alpha"].set(1 / (SETTINGS["levels"] - 1))
    wide = image.astype(np.uint16) * 257
    return np.asarray(app.run({"input": wide}, image.shape[::-1]) >> 8).astype(np.uint8)


if __name__ == "__main__":
    main("local_laplacian", process)
