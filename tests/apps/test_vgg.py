"""VGG-16, in small, against the interpreter, NumPy and Halide."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import parhelion as hl
from apps import vgg
from apps.common import Array, photograph
from tests.apps.support import apart, functions, interpreted, run

#: All 22 layers, of fewer and smaller images and channels.
SMALL = vgg.Network(
    size=32,
    batch=2,
    blocks=((32, 2), (32, 2), (32, 3), (32, 3), (32, 3)),
    hidden=(40, 24),
    classes=16,
)
small = functools.partial(vgg.algorithm, net=SMALL)


def arrays() -> dict[str, Array]:
    pixels = np.random.default_rng(2).random(SMALL.shapes()["input"], np.float32)
    return {"input": pixels, **vgg.weights(SMALL)}


def test_agrees_with_interpreter() -> None:
    images, size = arrays(), (SMALL.classes, SMALL.batch)
    expected = interpreted(small, images, size)
    assert apart(expected, vgg.with_numpy(images, SMALL)).max() <= 1e-6
    got = run(hl, small, vgg.SCHEDULES["root"], images, size)
    assert apart(got, expected).max() <= 1e-6
    assert np.ptp(got, axis=1).min() > 0.02 and np.allclose(got.sum(axis=1), 1)


def test_agrees_with_numpy_and_halide() -> None:
    """At a size that blocks of 14 pixels fit."""
    net = vgg.Network(112, 1, SMALL.blocks[:2], SMALL.hidden, SMALL.classes)
    algorithm = functools.partial(vgg.algorithm, net=net)
    pixels = np.random.default_rng(2).random(net.shapes()["input"], np.float32)
    images, size = {"input": pixels, **vgg.weights(net)}, (net.classes, net.batch)
    schedule = vgg.SCHEDULES["registers"]
    got = run(hl, algorithm, schedule, images, size)
    assert apart(got, vgg.with_numpy(images, net)).max() <= 1e-6
    halide = pytest.importorskip("halide")
    assert apart(got, run(halide, algorithm, schedule, images, size)).max() <= 1e-6


def test_is_whole() -> None:
    """The 2016 paper counts 64 functions and 22 layers; of weights, 138 million."""
    app = vgg.algorithm(hl)
    assert len(functions(app)) == 73
    layers = [n for n in app.funcs if n.startswith(("conv", "dense", "softmax"))]
    assert len(layers) + len(vgg.VGG16.blocks) == 22
    shapes = vgg.VGG16.shapes()
    del shapes["input"]
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 138_357_544


def test_classifies_a_photograph() -> None:
    out = vgg.process(photograph()[:, 100:196, 150:250], SMALL)
    assert out.shape == (SMALL.batch, SMALL.classes)
    assert np.allclose(out.sum(axis=1), 1)
