"""A convolution layer of a neural network, with its rectification (ReLU).

Tensors have their channels innermost, so that a vector runs over channels of the
output: ``input[channel in, x, y, n]``, ``filter[channel out, kx, ky, channel in]``.
The input is two pixels larger in x and y; the window begins at the pixel itself. The
numbers of channels are constants of the program, as they are of a trained network.
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main, to_float, to_levels


def algorithm(hl: Module, channels_in: int = 64) -> App:
    c, x, y, n = (hl.Var(name) for name in ("c", "x", "y", "n"))
    inp = hl.ImageParam(hl.Float(32), 4, "input")
    weights = hl.ImageParam(hl.Float(32), 4, "filter")
    bias = hl.ImageParam(hl.Float(32), 1, "bias")
    conv, relu = hl.Func("conv"), hl.Func("relu")
    r = hl.RDom([(0, channels_in), (0, 3), (0, 3)], "r")
    conv[c, x, y, n] = bias[c]
    conv[c, x, y, n] += weights[c, r.y, r.z, r.x] * inp[r.x, x + r.y, y + r.z, n]
    relu[c, x, y, n] = hl.max(0.0, conv[c, x, y, n])
    return App(
        relu,
        {"input": inp, "filter": weights, "bias": bias},
        {"conv": conv, "relu": relu},
        rvars={"c": r.x, "x": r.y, "y": r.z},
    )


def schedule_root(hl: Module, app: App) -> None:
    """The convolution as a whole, a vector of output channels at a time."""
    c, y = hl.Var("c"), hl.Var("y")
    app.funcs["relu"].vectorize(c, 16).parallel(y)
    conv = app.funcs["conv"].compute_root().vectorize(c, 16).parallel(y)
    conv.update(0).vectorize(c, 16).parallel(y)


def schedule_registers(hl: Module, app: App) -> None:
    """Blocks of 64 channels x 5 pixels in 20 vector registers of 16 floats, which take
    each weight once for five pixels and each pixel once for four vectors."""
    c, x, y, n = (hl.Var(name) for name in ("c", "x", "y", "n"))
    co, ci, xo, xi = (hl.Var(name) for name in ("co", "ci", "xo", "xi"))
    relu, conv, r = app.funcs["relu"], app.funcs["conv"], app.rvars
    relu.split(c, co, ci, 64).split(x, xo, xi, 5).reorder(ci, xi, xo, y, n, co)
    relu.vectorize(ci, 16).unroll(ci).unroll(xi).parallel(y).parallel(n).parallel(co)
    conv.compute_at(relu, xo).vectorize(c, 16).unroll(c).unroll(x)
    update = conv.update(0).reorder(c, x, y, r["c"], r["x"], r["y"], n)
    update.vectorize(c, 16).unroll(c).unroll(x).unroll(r["c"], 2)


def schedule_published(hl: Module, app: App) -> None:
    """The same, with the weights of two input channels and the pixels loaded into
    registers by name (what Halide's own application does)."""
    schedule_registers(hl, app)
    conv, r = app.funcs["conv"], app.rvars
    _0, _3 = hl.Var("_0"), hl.Var("_3")
    weights = app.inputs["filter"].in_().compute_at(conv, r["c"])
    weights.vectorize(_0, 16).unroll(_0).unroll(_3)
    app.inputs["input"].in_().compute_at(conv, hl.Var("x")).unroll(_0)


def schedule_gpu(hl: Module, app: App) -> None:
    """Blocks of 64 output channels x 32 x 2 pixels, of which each of 128 threads sums
    up 4 x 8 x 1 in registers. The threads load what they need into shared memory: for
    each line of the window the pixels, for each 16 channels of one of its pixels the
    weights."""
    relu, conv, r = app.funcs["relu"], app.funcs["conv"], app.rvars
    stage_on_gpu(hl, relu, conv, [r["c"], r["x"], r["y"]])
    image, weights = app.inputs["input"].in_(), app.inputs["filter"].in_()
    load_on_gpu(hl, conv, image, weights, r["y"])


def stage_on_gpu(
    hl: Module,
    relu: Module,
    conv: Module,
    r: list[Module],
    tile: tuple[int, int] = (32, 2),
) -> None:
    """Gives a convolution to blocks as `schedule_gpu` does. r: its reduction over
    channels, x and y. tile: the pixels of a block."""
    c, x, y, n = (hl.Var(name) for name in ("c", "x", "y", "n"))
    tc, tx, ty, xi, v = (hl.Var(name) for name in ("tc", "tx", "ty", "xi", "v"))
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    relu.split(c, c, tc, 64).split(x, x, tx, tile[0]).split(y, y, ty, tile[1])
    relu.fuse(y, n, y)
    relu.split(tc, tc, v, 4).split(tx, tx, xi, 8).reorder(v, xi, tc, tx, ty, c, x, y)
    relu.vectorize(v).unroll(xi).gpu_blocks(c, x, y).gpu_threads(tc, tx, ty)
    update = conv.compute_at(relu, c).update(0).split(r[0], ro, ri, 16)
    for stage, inner, outer in ((conv, [], []), (update, [ri], [ro, *r[1:]])):
        stage.split(c, tc, v, 4).split(x, tx, xi, 8)
        stage.reorder(v, xi, *inner, tc, tx, y, n, *outer)
        stage.vectorize(v).unroll(xi).gpu_threads(tc, tx, y)
    update.unroll(ri, 4)


def load_on_gpu(
    hl: Module, conv: Module, image: Module, weights: Module, line: Module
) -> None:
    """Loads what a convolution reads into shared memory. line: its loop over lines of
    the window."""
    _0, _1, _2 = (hl.Var(f"_{k}") for k in range(3))
    tx, xo, v = (hl.Var(name) for name in ("tx", "xo", "v"))
    image.compute_at(conv, line).split(_0, _0, v, 4)
    image.split(_1, xo, tx, 4, hl.TailStrategy.GuardWithIf)
    image.reorder(v, xo, _0, tx, _2).vectorize(v).gpu_threads(_0, tx, _2)
    load_weights_on_gpu(hl, conv, weights, 4)


def load_weights_on_gpu(hl: Module, conv: Module, weights: Module, across: int) -> None:
    """Loads 64 x 16 weights into shared memory. across: the threads of a block along
    its dimension y, as many as its tile has along x or fewer."""
    _0, _1, _2, _3 = (hl.Var(f"_{k}") for k in range(4))
    tx, ty, v, u = (hl.Var(name) for name in ("tx", "ty", "v", "u"))
    weights.compute_at(conv, hl.RVar("ro")).split(_0, _0, v, 4)
    weights.split(_3, _3, u, 2).split(_3, ty, tx, across)
    weights.reorder(v, u, _0, tx, ty, _1, _2).vectorize(v).unroll(u)
    weights.gpu_threads(_0, tx, ty)


def schedule_gpu_registers(hl: Module, app: App) -> None:
    """Blocks of 32 output channels x 4 groups of pixels; each thread sums up eight
    pixels beside each other of a channel in registers. Threads of a warp read 32
    weights beside each other, and a pixel together; no memory is shared."""
    c, x, y, n = (hl.Var(name) for name in ("c", "x", "y", "n"))
    xi, tc, tx = (hl.Var(name) for name in ("xi", "tc", "tx"))
    relu, conv, r = app.funcs["relu"], app.funcs["conv"], app.rvars
    relu.split(x, x, xi, 8).fuse(y, n, y).split(c, c, tc, 32).split(x, x, tx, 4)
    relu.reorder(xi, tc, tx, c, x, y).unroll(xi)
    relu.gpu_blocks(c, x, y).gpu_threads(tc, tx)
    conv.compute_at(relu, tc).unroll(x)
    conv.update(0).reorder(x, r["c"], r["x"], r["y"]).unroll(x)


SCHEDULES = {
    "root": schedule_root,
    "registers": schedule_registers,
    "published": schedule_published,
}
GPU_SCHEDULES = {"gpu": schedule_gpu, "gpu, registers": schedule_gpu_registers}


def with_numpy(image: Array, weights: Array, bias: Array) -> Array:
    """The same as nine matrix products; arrays as the application takes them."""
    count, height, width = image.shape[0], image.shape[1] - 2, image.shape[2] - 2
    out = np.broadcast_to(bias, (count, height, width, bias.size)).copy()
    for ky in range(3):
        for kx in range(3):
            shifted = image[:, ky : ky + height, kx : kx + width]
            out += shifted @ weights[:, ky, kx]
    return np.asarray(np.maximum(out, 0))


def process(image: Array) -> Array:
    """Where a (3, H, W) uint8 image changes: its response to 64 random filters without
    a mean, rectified and summed, as a (1, H, W) image."""
    import parhelion as hl

    app = algorithm(hl, channels_in=3)
    schedule_registers(hl, app)
    rng = np.random.default_rng(1)
    weights = rng.normal(0, 0.1, (3, 3, 3, 64)).astype(np.float32)
    weights -= weights.mean(axis=(0, 1, 2))
    wide = np.pad(to_float(image), ((0, 0), (1, 1), (1, 1)), mode="edge")
    tensor = np.ascontiguousarray(np.moveaxis(wide, 0, -1))[None]
    inputs = {"input": tensor, "filter": weights, "bias": np.zeros(64, np.float32)}
    response = app.run(inputs, (64, image.shape[2], image.shape[1], 1))[0].sum(axis=-1)
    return to_levels(response / response.max())[None]


if __name__ == "__main__":
    main("conv_layer", process)
