"""The convolution layer against Halide's result, the interpreter, NumPy and SciPy."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import signal

import parhelion as hl
from apps import conv_layer
from apps.common import Array, photograph
from tests.apps.support import apart, functions, interpreted, noise, reference, run

WAYS = list(conv_layer.SCHEDULES)


def with_scipy(image: Array, weights: Array, bias: Array) -> Array:
    """The definition, one pair of channels at a time."""
    shape = (image.shape[0], image.shape[1] - 2, image.shape[2] - 2, bias.size)
    out = np.broadcast_to(bias, shape).astype(np.float64)
    for n, co, ci in np.ndindex(shape[0], shape[3], image.shape[3]):
        kernel = weights[ci, :, :, co]
        out[n, :, :, co] += signal.correlate2d(image[n, :, :, ci], kernel, "valid")
    return np.maximum(out, 0)


@pytest.mark.parametrize("way", WAYS)
def test_reproduces_halides_output(way: str) -> None:
    data = reference("conv_layer")
    images = {name: data[name] for name in ("input", "filter", "bias")}
    size = data["output"].shape[::-1]
    got = run(hl, conv_layer.algorithm, conv_layer.SCHEDULES[way], images, size)
    assert apart(got, data["output"]).max() <= 1e-5


@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_interpreter_scipy_and_halide(way: str) -> None:
    algorithm = functools.partial(conv_layer.algorithm, channels_in=6)
    images = {
        "input": noise((2, 9, 14, 6)) - 0.5,
        "filter": noise((6, 3, 3, 64), seed=6) - 0.5,
        "bias": noise((64,), seed=7) - 0.5,
    }
    schedule, size = conv_layer.SCHEDULES[way], (64, 12, 7, 2)
    got = run(hl, algorithm, schedule, images, size)
    assert 0 < np.count_nonzero(got) < got.size
    assert apart(got, interpreted(algorithm, images, size)).max() <= 1e-5
    assert apart(got, with_scipy(*images.values())).max() <= 1e-5
    assert apart(got, conv_layer.with_numpy(*images.values())).max() <= 1e-5
    halide = pytest.importorskip("halide")
    assert apart(got, run(halide, algorithm, schedule, images, size)).max() <= 1e-5


def test_is_whole() -> None:
    assert len(functions(conv_layer.algorithm(hl))) == 2


def test_finds_the_edges_of_a_photograph() -> None:
    image = photograph()[:, 100:196, 150:250]
    out = conv_layer.process(image)
    assert out.shape == (1, *image.shape[1:]) and out.dtype == np.uint8
    slopes = np.hypot(*np.gradient(image.mean(axis=0)))
    assert np.corrcoef(out.ravel(), slopes.ravel())[0, 1] > 0.6
