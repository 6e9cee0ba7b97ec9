"""VGG-16: the forward pass of an image classifier with 22 layers (Simonyan and
Zisserman, 2014): 13 convolutions in five blocks, each block ending in a maximum over
2 x 2 pixels; three fully connected layers; and the softmax.

Channels are innermost, as in `conv_layer`. The weights are inputs; `weights` makes
random ones of the right shapes.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps import conv_layer
from apps.common import App, Array, Module, photograph, read_image, to_float


@dataclass(frozen=True)
class Network:
    """Sizes: of the square images and how many at once; of each block, (channels,
    convolutions); of the two hidden layers; and the number of classes."""

    size: int = 224
    batch: int = 4
    blocks: tuple[tuple[int, int], ...] = (
        (64, 2),
        (128, 2),
        (256, 3),
        (512, 3),
        (512, 3),
    )
    hidden: tuple[int, ...] = (4096, 4096)
    classes: int = 1000

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every input, C-ordered."""
        found: dict[str, tuple[int, ...]] = {
            "input": (self.batch, self.size, self.size, 3)
        }
        fan_in = 3
        for b, (channels, count) in enumerate(self.blocks, 1):
            for k in range(1, count + 1):
                found[f"filter_{b}_{k}"] = (fan_in, 3, 3, channels)
                found[f"bias_{b}_{k}"] = (channels,)
                fan_in = channels
        fan_in *= (self.size >> len(self.blocks)) ** 2
        for k, outputs in enumerate((*self.hidden, self.classes), 1):
            found[f"matrix_{k}"] = (fan_in, outputs)
            found[f"vector_{k}"] = (outputs,)
            fan_in = outputs
        return found


VGG16 = Network()


def algorithm(hl: Module, net: Network = VGG16) -> App:
    c, x, y, n = (hl.Var(name) for name in ("c", "x", "y", "n"))
    inputs = {
        name: hl.ImageParam(hl.Float(32), len(shape), name)
        for name, shape in net.shapes().items()
    }
    funcs: dict[str, Module] = {}
    rvars: dict[str, Module] = {}
    f = hl.Func("data")
    f[c, x, y, n] = inputs["input"][c, x, y, n] * 2.0 - 1.0
    size, channels = net.size, 3
    for b, (outputs, count) in enumerate(net.blocks, 1):
        for k in range(1, count + 1):
            name = f"{b}_{k}"
            everywhere = hl.Range(hl.Expr(), hl.Expr())
            pad = hl.BoundaryConditions.constant_exterior(
                f, 0.0, [everywhere, (0, size), (0, size), everywhere]
            )
            conv, relu = hl.Func(f"conv_{name}"), hl.Func(f"relu_{name}")
            r = hl.RDom([(0, channels), (0, 3), (0, 3)], f"r_{name}")
            weights = inputs[f"filter_{name}"][c, r.y, r.z, r.x]
            conv[c, x, y, n] = inputs[f"bias_{name}"][c]
            conv[c, x, y, n] += weights * pad[r.x, x + r.y - 1, y + r.z - 1, n]
            relu[c, x, y, n] = hl.max(0.0, conv[c, x, y, n])
            funcs |= {f"pad_{name}": pad, f"conv_{name}": conv, f"relu_{name}": relu}
            rvars[name] = r
            f, channels = relu, outputs
        pool, square = hl.Func(f"pool_{b}"), hl.RDom([(0, 2), (0, 2)], f"square_{b}")
        pool[c, x, y, n] = hl.maximum(f[c, 2 * x + square.x, 2 * y + square.y, n])
        f, size = pool, size // 2

    flat, i = hl.Func("flat"), hl.Var("i")
    row = i // channels
    flat[i, n] = f[i % channels, row % size, row // size, n]
    funcs["flat"] = f = flat
    count = channels * size * size
    for k, outputs in enumerate((*net.hidden, net.classes), 1):
        dense, r = hl.Func(f"dense_{k}"), hl.RDom([(0, count)], f"r_{k}")
        dense[i, n] = inputs[f"vector_{k}"][i]
        dense[i, n] += inputs[f"matrix_{k}"][i, r.x] * f[r.x, n]
        funcs[f"dense_{k}"], rvars[f"dense_{k}"] = dense, r
        f, count = dense, outputs
        if k <= len(net.hidden):
            f = hl.Func(f"rectified_{k}")
            f[i, n] = hl.max(0.0, dense[i, n])
            funcs[f"rectified_{k}"] = f

    # Less the largest, so that no power overflows.
    powers, softmax = hl.Func("powers"), hl.Func("softmax")
    r = hl.RDom([(0, net.classes)], "classes")
    powers[i, n] = hl.exp(f[i, n] - hl.maximum(f[r.x, n]))
    softmax[i, n] = powers[i, n] / hl.sum(powers[r.x, n])
    funcs |= {"powers": powers, "softmax": softmax}
    return App(softmax, inputs, funcs, rvars=rvars)


def schedule_root(hl: Module, app: App) -> None:
    """Every layer as a whole, a vector of channels at a time."""
    c, y, i = hl.Var("c"), hl.Var("y"), hl.Var("i")
    for name, f in app.funcs.items():
        if name.startswith(("pad", "conv")):
            f.compute_root().vectorize(c, 16, hl.TailStrategy.GuardWithIf).parallel(y)
            if name.startswith("conv"):
                f.update(0).vectorize(c, 16).parallel(y)
        elif name.startswith("dense"):
            f.compute_root().vectorize(i, 8)
            f.update(0).vectorize(i, 8)
        elif name in ("flat", "powers"):
            f.compute_root()


def schedule_registers(hl: Module, app: App) -> None:
    """Convolutions in blocks of 32 channels x 14 pixels, which stay in 28 vector
    registers, on weights packed for each block of channels; fully connected layers
    down lines of the matrix, four at a time for all images, as each weight is read
    just once."""
    c, x, y, n, i = (hl.Var(name) for name in ("c", "x", "y", "n", "i"))
    co, xo, ci, xi = (hl.Var(name) for name in ("co", "xo", "ci", "xi"))
    funcs = app.funcs
    for name, r in app.rvars.items():
        if name.startswith("dense"):
            _schedule_dense(hl, funcs[name], r)
            continue
        pad, conv, relu = (funcs[f"{what}_{name}"] for what in ("pad", "conv", "relu"))
        pad.compute_root().vectorize(c, 16, hl.TailStrategy.GuardWithIf).parallel(y)
        relu.compute_root().split(c, co, ci, 32).split(x, xo, xi, 14)
        relu.reorder(ci, xi, xo, y, n, co).vectorize(ci, 16).unroll(ci).unroll(xi)
        relu.parallel(y).parallel(co)
        conv.compute_at(relu, xo).vectorize(c, 16).unroll(c).unroll(x)
        update = conv.update(0).reorder(c, x, r.x, r.y, r.z, y, n)
        update.vectorize(c, 16).unroll(c).unroll(x)
        _0, _1, _2, _3 = (hl.Var(f"_{k}") for k in range(4))
        packed = app.inputs[f"filter_{name}"].in_(conv).compute_at(relu, co)
        packed.reorder_storage(_0, _3, _1, _2).vectorize(_0, 16).unroll(_0)
    funcs["flat"].compute_root().vectorize(i, 16)
    funcs["powers"].compute_root().vectorize(i, 8)
    funcs["softmax"].vectorize(i, 8)


def _schedule_dense(hl: Module, dense: Module, r: Module) -> None:
    i, n, io, ii = (hl.Var(name) for name in ("i", "n", "io", "ii"))
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    dense.compute_root().vectorize(i, 8)
    update = dense.update(0)
    update.split(i, io, ii, 1024, hl.TailStrategy.GuardWithIf).split(r.x, ro, ri, 4)
    update.reorder(n, ri, ii, ro, io).vectorize(ii, 8)
    update.unroll(ri).parallel(io)


def schedule_gpu(hl: Module, app: App) -> None:
    """Convolutions as those of `conv_layer`, in blocks of 32 channels x 2 groups of
    pixels; padded images and the fully connected layers' sums with a thread for each
    value. The softmax, of a few thousand values, is the host's."""
    for name in app.rvars:
        if not name.startswith("dense"):
            _convolve_in_registers(hl, app, name)
    _schedule_rest_on_gpu(hl, app)


def schedule_gpu_staged(hl: Module, app: App) -> None:
    """Blocks of 64 channels x 16 x 4 pixels, of which each of 128 threads sums up 4 x 8
    x 1 in registers. For each 16 channels of a pixel of the window they load the pixels
    and the weights into shared memory. The first layer, whose window has three
    channels, is as `schedule_gpu` has all of them."""
    for name, r in app.rvars.items():
        if name.startswith("dense"):
            continue
        if name == "1_1":
            _convolve_in_registers(hl, app, name)
            continue
        conv, relu = app.funcs[f"conv_{name}"], app.funcs[f"relu_{name}"]
        relu.compute_root()
        conv_layer.stage_on_gpu(hl, relu, conv, [r.x, r.y, r.z], (16, 4))
        _load_pixels(hl, conv, app.funcs[f"pad_{name}"].in_(conv))
        weights = app.inputs[f"filter_{name}"].in_(conv)
        conv_layer.load_weights_on_gpu(hl, conv, weights, 2)
    _schedule_rest_on_gpu(hl, app)


def _load_pixels(hl: Module, conv: Module, pixels: Module) -> None:
    """Loads 16 channels of 16 x 4 pixels into shared memory, by 16 x 2 x 4 threads."""
    c, x, y, n = (hl.Var(name) for name in ("c", "x", "y", "n"))
    v, u, tc, tx = (hl.Var(name) for name in ("v", "u", "tc", "tx"))
    pixels.compute_at(conv, hl.RVar("ro")).split(c, c, v, 4).split(x, x, tx, 4)
    pixels.fuse(c, tx, tc).split(x, x, u, 2).reorder(v, u, tc, x, y, n)
    pixels.vectorize(v).unroll(u).gpu_threads(tc, x, y)


def _convolve_in_registers(hl: Module, app: App, name: str) -> None:
    c, x, y, n = (hl.Var(name) for name in ("c", "x", "y", "n"))
    tc, tx, xi = (hl.Var(name) for name in ("tc", "tx", "xi"))
    conv, relu = app.funcs[f"conv_{name}"], app.funcs[f"relu_{name}"]
    r = app.rvars[name]
    relu.compute_root().split(x, x, xi, 4).fuse(y, n, y)
    relu.split(c, c, tc, 32).split(x, x, tx, 2).reorder(xi, tc, tx, c, x, y)
    relu.unroll(xi).gpu_blocks(c, x, y).gpu_threads(tc, tx)
    conv.compute_at(relu, tc).unroll(x)
    conv.update(0).reorder(x, r.x, r.y, r.z).unroll(x)


def _schedule_rest_on_gpu(hl: Module, app: App) -> None:
    """All but the convolutions."""
    c, x, y, n, i = (hl.Var(name) for name in ("c", "x", "y", "n", "i"))
    tc, tx, ti = (hl.Var(name) for name in ("tc", "tx", "ti"))
    funcs = app.funcs
    for name, r in app.rvars.items():
        if name.startswith("dense"):
            dense = funcs[name].compute_root().gpu_tile(i, ti, 64).gpu_blocks(n)
            dense.update(0).gpu_tile(i, ti, 64).reorder(r.x, ti, i, n).gpu_blocks(n)
        else:
            pad = funcs[f"pad_{name}"].compute_root().fuse(y, n, y)
            pad.gpu_tile(c, x, tc, tx, 32, 4).gpu_blocks(y)
    funcs["flat"].compute_root().gpu_tile(i, ti, 64).gpu_blocks(n)
    funcs["powers"].compute_root()


SCHEDULES = {"root": schedule_root, "registers": schedule_registers}
GPU_SCHEDULES = {"gpu": schedule_gpu, "gpu, staged": schedule_gpu_staged}


def weights(net: Network = VGG16, seed: int = 3) -> dict[str, Array]:
    """Random weights and biases, scaled so that values neither grow nor fade."""
    rng = np.random.default_rng(seed)
    made = {}
    for name, shape in net.shapes().items():
        fan_in = np.prod(shape[:-1]) if len(shape) > 1 else 1000
        most = np.float32(np.sqrt(6 / fan_in))
        made[name] = (rng.random(shape, np.float32) * 2 - 1) * most
    del made["input"]
    return made


def with_numpy(arrays: Mapping[str, Array], net: Network = VGG16) -> Array:
    """The same as NumPy array operations; arrays by the names of `Network.shapes`."""
    f = arrays["input"] * np.float32(2) - np.float32(1)
    for b, (_, count) in enumerate(net.blocks, 1):
        for k in range(1, count + 1):
            wide = np.pad(f, ((0, 0), (1, 1), (1, 1), (0, 0)))
            name = f"{b}_{k}"
            f = conv_layer.with_numpy(
                wide, arrays[f"filter_{name}"], arrays[f"bias_{name}"]
            )
        m, h, w, c = f.shape
        f = f.reshape(m, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))
    f = f.reshape(len(f), -1)
    layers = len(net.hidden) + 1
    for k in range(1, layers + 1):
        f = f @ arrays[f"matrix_{k}"] + arrays[f"vector_{k}"]
        f = np.maximum(f, 0) if k < layers else f
    powers = np.exp(f - f.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def process(image: Array, net: Network = VGG16) -> Array:
    """The probabilities of the classes, with random weights, of a (3, H, W) uint8
    image and of those that one half of it makes: (batch, classes)."""
    import parhelion as hl

    app = algorithm(hl, net)
    schedule_registers(hl, app)
    height, width = image.shape[1:]
    views = []
    for k in range(net.batch):
        rows = np.linspace(0, height - 1, net.size).astype(int)
        columns = np.linspace(0, (width - 1) / (k + 1), net.size).astype(int)
        views.append(np.moveaxis(image[:, rows[:, None], columns[None, :]], 0, -1))
    inputs = {"input": to_float(np.stack(views)), **weights(net)}
    return app.run(inputs, (net.classes, net.batch))


def main() -> None:
    parser = argparse.ArgumentParser(description="VGG-16 of an image file")
    parser.add_argument("input", type=Path, nargs="?", help="default: a photograph")
    options = parser.parse_args()
    found = process(read_image(options.input) if options.input else photograph())
    for k, probabilities in enumerate(found):
        best = np.argsort(probabilities)[:-6:-1]
        told = ", ".join(f"{i} ({probabilities[i]:.4f})" for i in best)
        print(f"view {k}: classes {told}, of random weights")


if __name__ == "__main__":
    main()
