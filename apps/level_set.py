"""Segmentation by a level set: a contour that contracts onto the edges of an object.

Distance regularised level set evolution (Li et al. 2010; 2012 paper, section 6.4): the
contour is where ``phi`` is zero. Each iteration is a step of gradient descent on three
terms: one keeps the slope of phi near one (or at zero, far from the contour), one draws
the contour to edges, and one makes it grow or shrink where there are none.

Three pipelines: `edge_indicator` and `gradient` depend on the image alone, `iteration`
is run until the contour settles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apps.common import App, Array, Module, main

#: Standard deviation of the Gaussian before edges are looked for, and its reach.
SIGMA, REACH = 1.5, 6
#: step: in time. Weights of the three terms; a negative one of the area lets the
#: contour grow. width: of the band around the contour in which the image acts.
SETTINGS = {
    "step": 5.0,
    "regular_weight": 0.04,
    "edge_weight": 5.0,
    "area_weight": 1.5,
    "width": 1.5,
}
#: phi at the start: minus this inside of the contour, plus this outside.
START = 2.0


def edge_indicator(hl: Module) -> App:
    """1 / (1 + |gradient|²) of the blurred image: small on edges."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    edge = hl.BoundaryConditions.repeat_edge(inp)
    weights = [math.exp(-i * i / (2 * SIGMA * SIGMA)) for i in range(-REACH, REACH + 1)]
    weights = [w / sum(weights) for w in weights]

    def blur(name: str, at: Module) -> Module:
        f, total = hl.Func(name), None
        for i, w in zip(range(-REACH, REACH + 1), weights, strict=True):
            total = w * at(i) if total is None else total + w * at(i)
        f[x, y] = total
        return f

    blur_x = blur("blur_x", lambda i: edge[x + i, y])
    blur_y = blur("blur_y", lambda i: blur_x[x, y + i])
    dx, dy = difference(hl, blur_y, "blur")
    out = hl.Func("edge_indicator")
    out[x, y] = 1.0 / (1.0 + dx[x, y] * dx[x, y] + dy[x, y] * dy[x, y])
    return App(out, {"input": inp}, {"blur_x": blur_x, "blur_y": blur_y})


def gradient(hl: Module) -> App:
    """Both differences of the edge indicator, as two channels."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = hl.ImageParam(hl.Float(32), 2, "edges")
    edge = hl.BoundaryConditions.repeat_edge(inp)
    dx, dy = difference(hl, edge, "edges")
    out = hl.Func("gradient")
    out[x, y, c] = hl.mux(c, [dx[x, y], dy[x, y]])
    return App(out, {"edges": inp}, {})


def difference(hl: Module, f: Module, name: str) -> tuple[Module, Module]:
    """Central differences in x (a 3 x 1 stencil) and in y (1 x 3)."""
    x, y = hl.Var("x"), hl.Var("y")
    dx, dy = hl.Func(f"{name}_dx"), hl.Func(f"{name}_dy")
    dx[x, y] = (f[x + 1, y] - f[x - 1, y]) * 0.5
    dy[x, y] = (f[x, y + 1] - f[x, y - 1]) * 0.5
    return dx, dy


def iteration(hl: Module) -> App:
    """One step of phi."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "phi")
    edges = hl.ImageParam(hl.Float(32), 2, "edges")
    slope_of_edges = hl.ImageParam(hl.Float(32), 3, "gradient")
    params = {name: hl.Param(hl.Float(32), name, v) for name, v in SETTINGS.items()}
    funcs: dict[str, Module] = {}

    def func(name: str, value: Module) -> Module:
        f = hl.Func(name)
        f[x, y] = value
        funcs[name] = f
        return f

    def divergence(name: str, u: Module, v: Module) -> Module:
        across = func(f"{name}_across", (u[x + 1, y] - u[x - 1, y]) * 0.5)
        down = func(f"{name}_down", (v[x, y + 1] - v[x, y - 1]) * 0.5)
        return func(name, across[x, y] + down[x, y])

    phi = hl.BoundaryConditions.repeat_edge(inp)
    dx, dy = difference(hl, phi, "phi")
    funcs |= {"phi_dx": dx, "phi_dy": dy}
    slope = func("slope", hl.sqrt(dx[x, y] * dx[x, y] + dy[x, y] * dy[x, y]))
    normal_x = func("normal_x", dx[x, y] / (slope[x, y] + 1e-10))
    normal_y = func("normal_y", dy[x, y] / (slope[x, y] + 1e-10))
    curvature = divergence("curvature", normal_x, normal_y)

    # The potential with wells at slopes 0 and 1: its derivative over the slope.
    s, turn = slope[x, y], 2 * math.pi
    low = hl.select(s > 0, hl.sin(turn * s) / (turn * s), 1.0)
    rate = func("rate", hl.select(s <= 1.0, low, 1.0 - 1.0 / s))
    flow_x = func("flow_x", rate[x, y] * dx[x, y] - dx[x, y])
    flow_y = func("flow_y", rate[x, y] * dy[x, y] - dy[x, y])
    around = phi[x - 1, y] + phi[x + 1, y] + phi[x, y - 1] + phi[x, y + 1]
    laplacian = func("laplacian", around - 4.0 * phi[x, y])
    flow = divergence("flow", flow_x, flow_y)
    regular = func("regular", flow[x, y] + laplacian[x, y])

    width, here = params["width"], phi[x, y]
    band = (1.0 + hl.cos(math.pi * here / width)) / (2.0 * width)
    delta = func("delta", hl.select(hl.abs(here) <= width, band, 0.0))
    along = slope_of_edges[x, y, 0] * normal_x[x, y]
    along = along + slope_of_edges[x, y, 1] * normal_y[x, y]
    bent = edges[x, y] * curvature[x, y]
    edge = func("edge", delta[x, y] * (along + bent))
    area = func("area", delta[x, y] * edges[x, y])

    out = hl.Func("next_phi")
    out[x, y] = here + params["step"] * (
        params["regular_weight"] * regular[x, y]
        + params["edge_weight"] * edge[x, y]
        + params["area_weight"] * area[x, y]
    )
    inputs = {"phi": inp, "edges": edges, "gradient": slope_of_edges}
    return App(out, inputs, funcs, params)


def schedule_set_up(hl: Module, app: App) -> None:
    """For the pipelines that run once: the blurs as a whole, the rest in one pass."""
    for f in (*app.funcs.values(), app.output):
        f.compute_root().parallel(hl.Var("y"), 8).vectorize(hl.Var("x"), 16)


def schedule_fused(hl: Module, app: App) -> None:
    """Everything in one pass over the output: lines on the threads, in vectors."""
    app.output.parallel(hl.Var("y"), 8).vectorize(hl.Var("x"), 16)


def schedule_fused_serial(hl: Module, app: App) -> None:
    """The fused pass, one pixel after the other on one thread."""


def schedule_root(hl: Module, app: App) -> None:
    """What array languages do: every operation over the whole image."""
    for f in (*app.funcs.values(), app.output):
        f.compute_root().parallel(hl.Var("y"), 8).vectorize(hl.Var("x"), 16)


def schedule_root_serial(hl: Module, app: App) -> None:
    """The same, one pixel after the other on one thread."""
    for f in app.funcs.values():
        f.compute_root()


def schedule_gpu(hl: Module, app: App) -> None:
    """Everything in one kernel, a thread for each pixel."""
    x, y, tx, ty = hl.Var("x"), hl.Var("y"), hl.Var("tx"), hl.Var("ty")
    app.output.gpu_tile(x, y, tx, ty, 32, 8)


def schedule_gpu_shared(hl: Module, app: App) -> None:
    """The same, with the flow and the normals in shared memory, which neighbours
    read."""
    x, y = hl.Var("x"), hl.Var("y")
    schedule_gpu(hl, app)
    for name in ("normal_x", "normal_y", "flow_x", "flow_y"):
        app.funcs[name].compute_at(app.output, x).gpu_threads(x, y)


def schedule_gpu_root(hl: Module, app: App) -> None:
    """What array languages do: every operation a kernel of its own."""
    x, y, tx, ty = hl.Var("x"), hl.Var("y"), hl.Var("tx"), hl.Var("ty")
    for f in (*app.funcs.values(), app.output):
        f.compute_root().gpu_tile(x, y, tx, ty, 32, 8)


SCHEDULES = {
    "fused": schedule_fused,
    "fused, serial": schedule_fused_serial,
    "root": schedule_root,
    "root, serial": schedule_root_serial,
}
GPU_SCHEDULES = {
    "gpu": schedule_gpu,
    "gpu, shared": schedule_gpu_shared,
    "gpu, root": schedule_gpu_root,
}


@dataclass(frozen=True)
class Settled:
    """phi at the end, and how many iterations it took."""

    phi: Array
    iterations: int


def segment(
    hl: Module, image: Array, start: Array, *, area: float = 1.5, most: int = 1000
) -> Settled:
    """Contracts a contour around what lies in `start` until it settles.

    image: (H, W) float32, 0 to 255. start: where the object lies, as Bools. area: the
    third term's weight. The contour has settled when ten iterations move no more than
    two pixels in a thousand of those inside across it; then the area term is switched
    off and ten more refine it.
    """
    size = list(image.shape[::-1])
    first = edge_indicator(hl)
    schedule_set_up(hl, first)
    edges = first.run({"input": image}, size)
    second = gradient(hl)
    schedule_set_up(hl, second)
    slope = second.run({"edges": edges}, [*size, 2])

    app = iteration(hl)
    schedule_fused(hl, app)
    app.params["area_weight"].set(area)
    app.inputs["edges"].set(hl.Buffer(edges))
    app.inputs["gradient"].set(hl.Buffer(slope))
    phi = np.where(start, -START, START).astype(np.float32)
    inside, done = phi < 0, 0
    while done < most:
        for _ in range(10):
            app.inputs["phi"].set(hl.Buffer(phi))
            phi = np.array(app.output.realize(size))
        done += 10
        moved, inside = np.count_nonzero(inside != (phi < 0)), phi < 0
        if moved <= 0.002 * np.count_nonzero(inside):
            break
    app.params["area_weight"].set(0.0)
    for _ in range(10):
        app.inputs["phi"].set(hl.Buffer(phi))
        phi = np.array(app.output.realize(size))
    return Settled(phi, done + 10)


def with_numpy(phi: Array, edges: Array, slope: Array) -> Array:
    """One iteration as NumPy array operations."""
    pad = np.pad(phi, 2, mode="edge")

    def differ(a: Array, axis: int) -> Array:
        after, before = np.roll(a, -1, axis), np.roll(a, 1, axis)
        return np.asarray((after - before) * np.float32(0.5))

    dx, dy = differ(pad, 1), differ(pad, 0)
    s = np.sqrt(dx * dx + dy * dy)
    nx, ny = dx / (s + np.float32(1e-10)), dy / (s + np.float32(1e-10))
    curvature = differ(nx, 1) + differ(ny, 0)
    turn = np.float32(2 * np.pi) * s
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.where(s > 0, np.sin(turn) / turn, 1)
        rate = np.where(s <= 1, low, 1 - 1 / s)
    laplacian = sum(np.roll(pad, n, axis) for n in (1, -1) for axis in (0, 1)) - 4 * pad
    regular = differ(rate * dx - dx, 1) + differ(rate * dy - dy, 0) + laplacian
    inner = np.s_[2:-2, 2:-2]
    width = np.float32(SETTINGS["width"])
    delta = (1 + np.cos(np.float32(np.pi) * phi / width)) / (2 * width)
    delta = np.where(np.abs(phi) <= width, delta, 0)
    edge = slope[0] * nx[inner] + slope[1] * ny[inner] + edges * curvature[inner]
    change = (
        SETTINGS["regular_weight"] * regular[inner]
        + SETTINGS["edge_weight"] * delta * edge
    )
    change += SETTINGS["area_weight"] * delta * edges
    return np.asarray((phi + SETTINGS["step"] * change).astype(np.float32))


def process(image: Array) -> Array:
    """Draws, in red, the contour that contracts from a frame near the border of a
    (channels, H, W) uint8 image."""
    import parhelion as hl

    gray = image.mean(axis=0, dtype=np.float32)
    start = np.zeros(gray.shape, bool)
    start[8:-8, 8:-8] = True
    inside = segment(hl, gray, start).phi < 0
    rim = inside & ~(
        np.roll(inside, 1, 0)
        & np.roll(inside, -1, 0)
        & np.roll(inside, 1, 1)
        & np.roll(inside, -1, 1)
    )
    out = np.repeat(image[:1], 3, 0) if image.shape[0] == 1 else image.copy()
    out[:, rim] = np.array([[255], [0], [0]], np.uint8)
    return out


if __name__ == "__main__":
    main("level_set", process)
