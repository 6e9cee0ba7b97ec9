"""Gradients beside finite differences, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.interp import interpret_all
from parhelion.whole.schedules import compute_all

Array = np.ndarray[Any, np.dtype[Any]]
_STEP = 1e-6


def slopes(value: Callable[[Array], float], at: Array) -> Array:
    """Central differences of a number by each element of an array."""
    found = np.zeros(at.shape)
    for i in np.ndindex(*at.shape):
        more, less = at.copy(), at.copy()
        more[i] += _STEP
        less[i] -= _STEP
        found[i] = (value(more) - value(less)) / (2 * _STEP)
    return found


def check(
    build: Callable[[Any], hl.Func],
    shape: tuple[int, ...],
    out: tuple[int, ...],
    *,
    seed: int = 0,
    tolerance: float = 2e-6,
) -> None:
    """Compares the gradient by an image with finite differences, compiled, under an
    automatic schedule, and interpreted. shape, out: of the image and of the output."""
    rng = np.random.default_rng(seed)
    pixels, weights = rng.normal(size=shape), rng.normal(size=out)
    image = hl.ImageParam(hl.Float(64), len(shape), "image")
    image.set(hl.Buffer(pixels))
    f = by_itself(build(image))

    def value(at: Array) -> float:
        image.set(hl.Buffer(at))
        result = np.asarray(f.realize(list(out[::-1])))
        return float((result * weights).sum())

    expected = slopes(value, pixels)
    image.set(hl.Buffer(pixels))
    scale = max(1.0, float(np.abs(expected).max()))
    sizes = list(shape[::-1])
    found = by_itself(hl.propagate_adjoints(f, hl.Buffer(weights))[image])
    compiled = np.asarray(found.realize(sizes))
    assert np.abs(compiled - expected).max() < tolerance * scale
    assert np.abs(interpreted(found, sizes) - compiled).max() < 1e-9 * scale
    again = hl.propagate_adjoints(build(image), hl.Buffer(weights))[image]
    hl.autoschedule(again, sizes)
    scheduled = np.asarray(again.realize(sizes))
    assert np.abs(scheduled - compiled).max() < 1e-9 * scale


def by_itself(f: hl.Func) -> hl.Func:
    """A Func before which each other one is computed as a whole."""
    compute_all(hl.Pipeline([f]))
    return f


def interpreted(f: hl.Func, sizes: list[int]) -> Array:
    """What the interpreter makes of a Func; an array in NumPy's order."""
    region = [(0, n) for n in sizes]
    (result,) = interpret_all([(f._function, region)])
    return np.asarray(result[0]).T
