"""Small networks in floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import Pipeline, Size, noise


def conv_relu_pool(hl: Module) -> App:
    """A convolution of 3 x 3 from 8 to 16 channels, what is positive of it, and the
    greatest of 2 x 2, planes of pixels."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    weight = hl.ImageParam(hl.Float(32), 4, "weight")
    bias = hl.ImageParam(hl.Float(32), 1, "bias")
    conv, relu, out = hl.Func("conv"), hl.Func("relu"), hl.Func("out")
    r = hl.RDom([(0, 3), (0, 3), (0, 8)], "r")
    conv[x, y, c] = bias[c]
    conv[x, y, c] += inp[x + r.x, y + r.y, r.z] * weight[r.x, r.y, r.z, c]
    relu[x, y, c] = hl.max(conv[x, y, c], 0.0)
    upper = hl.max(relu[2 * x, 2 * y, c], relu[2 * x + 1, 2 * y, c])
    lower = hl.max(relu[2 * x, 2 * y + 1, c], relu[2 * x + 1, 2 * y + 1, c])
    out[x, y, c] = hl.max(upper, lower)
    return App(out, {"input": inp, "weight": weight, "bias": bias}, {})


def _conv_inputs(size: Size) -> Mapping[str, Array]:
    w, h, channels = size
    return {
        "input": noise(8, 2 * h + 2, 2 * w + 2),
        "weight": noise(channels, 8, 3, 3),
        "bias": noise(channels),
    }


def _conv_relu_pool(images: Mapping[str, Array]) -> Array:
    inp, weight = images["input"].astype(np.float64), images["weight"]
    near = np.lib.stride_tricks.sliding_window_view(inp, (3, 3), axis=(1, 2))
    conv = np.einsum("ihwjk,oijk->ohw", near, weight.astype(np.float64))
    relu = np.maximum(conv + images["bias"][:, None, None], 0)
    o, h, w = relu.shape
    return np.asarray(relu.reshape(o, h // 2, 2, w // 2, 2).max((2, 4)))


def depthwise_block(hl: Module) -> App:
    """A block of MobileNet's: 3 x 3 for each channel by itself, then all channels of
    each pixel mixed, both clipped to 6; channels innermost."""
    c, x, y = hl.Var("c"), hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    depth = hl.ImageParam(hl.Float(32), 3, "depth")
    point = hl.ImageParam(hl.Float(32), 2, "point")
    each, mixed, out = hl.Func("each"), hl.Func("mixed"), hl.Func("out")
    clipped = hl.Func("clipped")
    r = hl.RDom([(0, 3), (0, 3)], "r")
    each[c, x, y] = 0.0
    each[c, x, y] += inp[c, x + r.x, y + r.y] * depth[c, r.x, r.y]
    clipped[c, x, y] = hl.clamp(each[c, x, y], 0.0, 6.0)
    k = hl.RDom([(0, 32)], "k")
    mixed[c, x, y] = 0.0
    mixed[c, x, y] += clipped[k.x, x, y] * point[c, k.x]
    out[c, x, y] = hl.clamp(mixed[c, x, y], 0.0, 6.0)
    return App(out, {"input": inp, "depth": depth, "point": point}, {})


def _depthwise_inputs(size: Size) -> Mapping[str, Array]:
    channels, w, h = size
    return {
        "input": noise(h + 2, w + 2, 32),
        "depth": noise(3, 3, 32),
        "point": noise(32, channels),
    }


def _depthwise_block(images: Mapping[str, Array]) -> Array:
    inp = images["input"].astype(np.float64)
    near = np.lib.stride_tricks.sliding_window_view(inp, (3, 3), axis=(0, 1))
    each = np.einsum("hwcjk,jkc->hwc", near, images["depth"].astype(np.float64))
    mixed = np.clip(each, 0, 6) @ images["point"].astype(np.float64)
    return np.asarray(np.clip(mixed, 0, 6))


def attention(hl: Module) -> App:
    """One head of attention: queries times keys, softmax, times values."""
    d, i, j = hl.Var("d"), hl.Var("i"), hl.Var("j")
    names = ("query", "key", "value")
    q, k, v = (hl.ImageParam(hl.Float(32), 2, n) for n in names)
    score, most, weight = hl.Func("score"), hl.Func("most"), hl.Func("weight")
    sums, mixed, out = hl.Func("sums"), hl.Func("mixed"), hl.Func("out")
    tokens = k.dim(1).extent()
    a = hl.RDom([(0, 32)], "a")
    b, e, g = (hl.RDom([(0, tokens)], n) for n in ("b", "e", "g"))
    score[j, i] = 0.0
    score[j, i] += q[a.x, i] * k[a.x, j]
    most[i] = -1e30
    most[i] = hl.max(most[i], score[b.x, i])
    weight[j, i] = hl.exp((score[j, i] - most[i]) * 0.1767766952966369)
    sums[i] = 0.0
    sums[i] += weight[e.x, i]
    mixed[d, i] = 0.0
    mixed[d, i] += weight[g.x, i] * v[d, g.x]
    out[d, i] = mixed[d, i] / sums[i]
    return App(out, dict(zip(names, (q, k, v), strict=True)), {})


def _attention_inputs(size: Size) -> Mapping[str, Array]:
    channels, tokens = size
    source = np.random.default_rng(5)
    return {
        n: source.normal(size=(tokens, channels)).astype(np.float32)
        for n in ("query", "key", "value")
    }


def _attention(images: Mapping[str, Array]) -> Array:
    q, k, v = (images[n].astype(np.float64) for n in ("query", "key", "value"))
    score = q @ k.T / np.sqrt(32)
    weight = np.exp(score - score.max(1, keepdims=True))
    return np.asarray(weight @ v / weight.sum(1, keepdims=True))


PIPELINES = (
    Pipeline(
        "conv_relu_pool",
        "networks",
        conv_relu_pool,
        _conv_inputs,
        lambda size: (np.float32, size),
        size=(96, 96, 16),
        small=(20, 9, 16),
        tolerance=Tolerance(1e-4),
        reference=_conv_relu_pool,
    ),
    Pipeline(
        "depthwise_block",
        "networks, channels innermost",
        depthwise_block,
        _depthwise_inputs,
        lambda size: (np.float32, size),
        size=(32, 112, 112),
        small=(32, 12, 9),
        tolerance=Tolerance(1e-4),
        reference=_depthwise_block,
    ),
    Pipeline(
        "attention",
        "networks",
        attention,
        _attention_inputs,
        lambda size: (np.float32, size),
        size=(32, 512),
        small=(32, 40),
        tolerance=Tolerance(1e-4),
        reference=_attention,
    ),
)
