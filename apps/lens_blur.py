"""A photograph with a shallow depth of field, made from a stereo pair.

The depth is the displacement at which the two pictures agree best. The disagreement
(the cost) is smoothed with a push-pull pyramid weighted by how sure it is (Rhemann and
others 2011, Farbman and others 2011), so that flat regions take the depth of what
surrounds them. Then every pixel gathers random samples of a lens's aperture.
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main, to_levels

#: Displacements to try (every second pixel), the one in focus, pixels of blur for each
#: step away from it, and samples of the aperture.
SLICES, FOCUS, SCALE, SAMPLES = 32, 13, 0.5, 32
#: Levels of the pyramid.
LEVELS = 8
#: Coefficients of the random hash, and its seeds: for the offset in x, and in y.
HASH = (1040796640, 1121052041, 576942909)
SEEDS = ((1934017929, 2576821833, 802778946), (3961325897, 2556114953, 331795043))


def algorithm(hl: Module, levels: int = LEVELS) -> App:
    x, y, z, c = (hl.Var(n) for n in ("x", "y", "z", "c"))
    left_im = hl.ImageParam(hl.UInt(8), 3, "left_im")
    right_im = hl.ImageParam(hl.UInt(8), 3, "right_im")
    slices = hl.Param(hl.Int(32), "slices", SLICES)
    focus_depth = hl.Param(hl.Int(32), "focus_depth", FOCUS)
    radius_scale = hl.Param(hl.Float(32), "blur_radius_scale", SCALE)
    samples = hl.Param(hl.Int(32), "aperture_samples", SAMPLES)
    largest = hl.i32(hl.max(slices - focus_depth, focus_depth) * radius_scale)
    left = hl.BoundaryConditions.repeat_edge(left_im)
    right = hl.BoundaryConditions.repeat_edge(right_im)

    # How badly the pictures agree at displacements 2z and 2z + 1.
    diff, cost = hl.Func("diff"), hl.Func("cost")
    diff[x, y, z, c] = hl.min(
        hl.absd(left[x, y, c], right[x + 2 * z, y, c]),
        hl.absd(left[x, y, c], right[x + 2 * z + 1, y, c]),
    )
    cost[x, y, z] = (
        square(hl.f32(diff[x, y, z, 0]))
        + square(hl.f32(diff[x, y, z, 1]))
        + square(hl.f32(diff[x, y, z, 2]))
    )

    # How sure that is: the variance over all displacements.
    confidence = hl.Func("cost_confidence")
    r = hl.RDom([(0, slices)], "r")
    mean_square = hl.sum(square(cost[x, y, r.x])) / slices
    confidence[x, y] = mean_square - square(hl.sum(cost[x, y, r.x] / slices))

    # Push: costs times confidence, and confidence, on ever coarser levels.
    push = [hl.Func("push_0")]
    push[0][x, y, z, c] = hl.select(
        c == 0, cost[x, y, z] * confidence[x, y], confidence[x, y]
    )
    w, h = left_im.width(), left_im.height()
    for i in range(1, levels):
        w, h = w // 2, h // 2
        smaller = downsample(hl, push[-1], f"down_{i}", (x, y, z, c))
        push.append(hl.BoundaryConditions.repeat_edge(smaller, [(0, w), (0, h)]))

    # Pull: each level mixed with what the coarser ones say.
    pull = [hl.Func(f"pull_{i}") for i in range(levels)]
    pull[-1][x, y, z, c] = push[-1][x, y, z, c]
    for i in reversed(range(levels - 1)):
        larger = upsample(hl, pull[i + 1], f"up_{i}", (x, y, z, c))
        pull[i][x, y, z, c] = hl.lerp(larger[x, y, z, c], push[i][x, y, z, c], 0.5)
    filtered, depth = hl.Func("filtered_cost"), hl.Func("depth")
    filtered[x, y, z] = pull[0][x, y, z, 0] / pull[0][x, y, z, 1]
    depth[x, y] = hl.argmin(filtered[x, y, r.x])[0]

    # The radius of each pixel's blur, and the largest of those near it.
    radius, radius_squared = hl.Func("bokeh_radius"), hl.Func("bokeh_radius_squared")
    radius[x, y] = hl.abs(depth[x, y] - focus_depth) * radius_scale
    radius_squared[x, y] = square(radius[x, y])
    worst_y, worst = hl.Func("worst_case_y"), hl.Func("worst_case")
    near = hl.RDom([(-largest, 2 * largest + 1)], "near")
    worst_y[x, y] = hl.maximum(radius[x, y + near.x])
    worst[x, y] = hl.maximum(worst_y[x + near.x, y])

    # Random places on the aperture, and whether what lies there blurs onto this pixel:
    # it must reach it, and lie in front of it unless this pixel is as blurred.
    locations, weight = hl.Func("sample_locations"), hl.Func("sample_weight")
    locations[x, y, z] = tuple(
        hl.clamp(
            hl.i32((noise(hl, seeds, x, y, z) - 0.5) * 2 * worst[x, y]),
            -largest,
            largest,
        )
        for seeds in SEEDS
    )
    u, v = locations[x, y, z][0], locations[x, y, z][1]
    distance = u * u + v * v
    reaches = distance < radius_squared[x + u, y + v]
    is_blurred = distance < radius_squared[x, y]
    in_front = depth[x + u, y + v] < depth[x, y]
    weight[x, y, z] = hl.select((is_blurred | in_front) & reaches, 1.0, 0.0)

    # The mean of the samples that count, the pixel itself among them.
    with_alpha, output, final = (hl.Func(n) for n in ("with_alpha", "output", "final"))
    colors = [hl.f32(left[x, y, i]) for i in range(3)]
    with_alpha[x, y, c] = hl.mux(c, [*colors, 255.0])
    s = hl.RDom([(0, samples)], "s")
    output[x, y, c] = with_alpha[x, y, c]
    u, v = locations[x, y, s.x][0], locations[x, y, s.x][1]
    output[x, y, c] += weight[x, y, s.x] * with_alpha[x + u, y + v, c]
    final[x, y, c] = output[x, y, c] / output[x, y, 3]

    funcs = {"cost": cost, "confidence": confidence, "depth": depth}
    funcs |= {f"push_{i}": f for i, f in enumerate(push)}
    funcs |= {f"pull_{i}": f for i, f in enumerate(pull)}
    funcs |= {"worst_y": worst_y, "worst": worst, "with_alpha": with_alpha}
    funcs |= {"locations": locations, "weight": weight, "output": output}
    params = {"slices": slices, "focus_depth": focus_depth}
    params |= {"blur_radius_scale": radius_scale, "aperture_samples": samples}
    inputs = {"left_im": left_im, "right_im": right_im}
    return App(final, inputs, {**funcs, "final": final}, params, {"s": s.x})


def square(e: Module) -> Module:
    return e * e


def downsample(hl: Module, f: Module, name: str, at: tuple[Module, ...]) -> Module:
    """Half the size, with the filter 1 3 3 1 in x and y."""
    x, y, z, c = at
    down_x, down = hl.Func(f"{name}_x"), hl.Func(name)
    down_x[at] = (
        f[2 * x - 1, y, z, c]
        + 3.0 * (f[2 * x, y, z, c] + f[2 * x + 1, y, z, c])
        + f[2 * x + 2, y, z, c]
    ) / 8.0
    down[at] = (
        down_x[x, 2 * y - 1, z, c]
        + 3.0 * (down_x[x, 2 * y, z, c] + down_x[x, 2 * y + 1, z, c])
        + down_x[x, 2 * y + 2, z, c]
    ) / 8.0
    return down


def upsample(hl: Module, f: Module, name: str, at: tuple[Module, ...]) -> Module:
    """Twice the size, by linear interpolation."""
    x, y, z, c = at
    up_x, up = hl.Func(f"{name}_x"), hl.Func(name)
    near_x, near_y = x // 2 - 1 + 2 * (x % 2), y // 2 - 1 + 2 * (y % 2)
    up_x[at] = 0.25 * f[near_x, y, z, c] + 0.75 * f[x // 2, y, z, c]
    up[at] = 0.25 * up_x[x, near_y, z, c] + 0.75 * up_x[x, y // 2, z, c]
    return up


def noise(
    hl: Module, seeds: tuple[int, ...], x: Module, y: Module, z: Module
) -> Module:
    """A number in [0, 1) that looks random, from a pixel and a number: a quadratic hash
    of 32 bits, whose upper 23 become the fraction of a float. It is the one of Halide's
    ``random_float``; written out, it gives the same numbers wherever it stands."""
    k2, k1, k0 = (hl.u32(k) for k in HASH)
    a, b, d = (hl.u32(k) for k in seeds)
    z = hl.u32(z)
    h = k2 * z * z + a * z + hl.u32(y)
    h = k2 * h * h + b * h + d + hl.u32(x)
    h = k2 * h * h + k1 * h + k0
    h = h ^ (h >> 16)
    return hl.reinterpret(hl.Float(32), hl.u32(0x3F800000) | (h >> 9)) - 1.0


def schedule_root(hl: Module, app: App) -> None:
    """Every stage with a name computed as a whole, in vectors, lines in parallel."""
    x, y = hl.Var("x"), hl.Var("y")
    funcs, s = app.funcs, app.rvars["s"]
    for name, f in funcs.items():
        if name not in ("cost", "confidence", "locations", "weight"):
            f.compute_root().vectorize(x, 8).parallel(y)
    funcs["output"].update(0).reorder(x, s, y).vectorize(x, 8).parallel(y)


def schedule_published(hl: Module, app: App) -> None:
    """The coarse levels in one task for each displacement; the samples of a vector of
    pixels together (what Halide's own application does)."""
    x, z, c = hl.Var("x"), hl.Var("z"), hl.Var("c")
    y = hl.Var("y")
    push_0 = app.funcs["push_0"]
    push_0.compute_root().reorder(c, z, x, y).bound(c, 0, 2).unroll(c)
    push_0.vectorize(x, 16).parallel(y, 4)
    app.funcs["cost"].compute_at(push_0, x).vectorize(x)
    app.funcs["confidence"].compute_at(push_0, x).vectorize(x)
    _schedule_rest(hl, app, 8)


def schedule_lines(hl: Module, app: App) -> None:
    """Costs a line at a time, so that the two planes of one displacement are written
    after each other and not 64 planes at once; all vectors of 16."""
    x, y, z, c = (hl.Var(n) for n in ("x", "y", "z", "c"))
    push_0 = app.funcs["push_0"]
    push_0.compute_root().reorder(c, x, z, y).bound(c, 0, 2).unroll(c)
    push_0.vectorize(x, 16).parallel(y, 4)
    app.funcs["cost"].compute_at(push_0, y).vectorize(x, 16)
    app.funcs["confidence"].compute_at(push_0, y).vectorize(x, 16)
    _schedule_rest(hl, app, 16)


def _schedule_rest(hl: Module, app: App, lanes: int) -> None:
    """The pyramid, the depth and the samples."""
    x, y, z, c = (hl.Var(n) for n in ("x", "y", "z", "c"))
    xi, yi, t = (hl.Var(n) for n in ("xi", "yi", "t"))
    funcs, s = app.funcs, app.rvars["s"]
    pull_1, final = funcs["pull_1"], funcs["final"]
    pull_1.compute_root().fuse(z, c, t).parallel(t)
    pull_1.tile(x, y, xi, yi, lanes, 2).vectorize(xi).unroll(yi)
    for i in range(1, sum(name.startswith("pull_") for name in funcs)):
        funcs[f"push_{i}"].compute_at(pull_1, t).vectorize(x, 8)
        if i > 1:
            pull = funcs[f"pull_{i}"].compute_at(pull_1, t)
            pull.tile(x, y, xi, yi, 8, 2).vectorize(xi).unroll(yi)
    funcs["depth"].compute_root().tile(x, y, xi, yi, lanes, 2)
    funcs["depth"].vectorize(xi).unroll(yi).parallel(y, 8)
    funcs["with_alpha"].compute_root().reorder(c, x, y).bound(c, 0, 4).unroll(c)
    funcs["with_alpha"].vectorize(x, lanes).parallel(y, 8)
    final.reorder(c, x, y).bound(c, 0, 3).unroll(c).vectorize(x, lanes).parallel(y)
    funcs["worst_y"].compute_at(final, y).vectorize(x, lanes)
    funcs["worst"].compute_at(final, y).vectorize(x, lanes)
    output = funcs["output"].compute_at(final, x).vectorize(x)
    output.update(0).reorder(c, x, s).vectorize(x).unroll(c)
    funcs["weight"].compute_at(output, x).unroll(x)
    funcs["locations"].compute_at(output, x).vectorize(x)


def schedule_gpu(hl: Module, app: App) -> None:
    """Every level of the pyramid is a kernel down and one up, all displacements side by
    side; a thread for each pixel finds its depth, and one for each adds up its
    samples in registers."""
    x, y, z, c = (hl.Var(n) for n in ("x", "y", "z", "c"))
    tx, ty, zc = hl.Var("tx"), hl.Var("ty"), hl.Var("zc")
    funcs, s = app.funcs, app.rvars["s"]
    funcs["cost"].compute_root().reorder(z, x, y).gpu_tile(x, y, tx, ty, 32, 8)
    funcs["confidence"].compute_root().gpu_tile(x, y, tx, ty, 32, 8)
    levels = sum(name.startswith("pull_") for name in funcs)
    for i in range(1, levels):
        for name in (f"push_{i}", f"pull_{i}"):
            f = funcs[name].compute_root().fuse(z, c, zc)
            f.gpu_tile(x, y, tx, ty, 16, 8).gpu_blocks(zc)
    for name in ("depth", "worst_y", "worst"):
        funcs[name].compute_root().gpu_tile(x, y, tx, ty, 32, 8)
    final = funcs["final"].bound(c, 0, 3).gpu_tile(x, y, tx, ty, 32, 8)
    final.reorder(c, tx, ty, x, y).unroll(c)
    output = funcs["output"].compute_at(final, tx).bound(c, 0, 4).unroll(c)
    output.update(0).reorder(c, x, y, s).unroll(c)
    funcs["locations"].compute_at(output, s)
    funcs["weight"].compute_at(output, s)


SCHEDULES = {
    "root": schedule_root,
    "published": schedule_published,
    "lines": schedule_lines,
}
GPU_SCHEDULES = {"gpu": schedule_gpu}


def process(image: Array) -> Array:
    """Blurs a (3, H, W) uint8 image as if it had been taken with a wide aperture. The
    second picture is made from it: what is further from the centre is further away."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_lines(hl, app)
    stereo = {"left_im": image, "right_im": second_view(image)}
    out = app.run(stereo, image.shape[::-1])
    return to_levels(out)


def second_view(image: Array) -> Array:
    """A picture of a (C, H, W) scene from further right, where depth is the distance
    from the centre: displacements of 8 to 50 pixels."""
    height, width = image.shape[1:]
    y, x = np.mgrid[0:height, 0:width]
    radius = np.hypot(y - height / 2, x - width / 2) / np.hypot(height, width) * 2
    source = np.clip(x - (50 - 42 * radius).astype(int), 0, width - 1)
    return np.ascontiguousarray(image[:, y, source])


if __name__ == "__main__":
    main("lens_blur", process)
