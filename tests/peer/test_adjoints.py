"""Gradients beside those of Halide, of the same programs."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.whole.schedules import compute_all

Array = np.ndarray[Any, np.dtype[Any]]
N = 12


def gradient(module: ModuleType, name: str, pixels: Array, out: Array) -> Array:
    """The gradient of a program's output, weighted by `out`, by its image."""
    x = module.Var("x")
    image = module.Buffer(pixels)
    edge = module.BoundaryConditions.repeat_edge(image)
    f, g, r = module.Func("f"), module.Func("g"), module.RDom([(0, 3)])
    f[x] = PROGRAMS[name](module, Pixels(module, edge), x, r)
    g[x] = f[x] * 2.0 + module.sin(f[x])
    weights = module.Func("weights")
    weights[x] = module.BoundaryConditions.constant_exterior(
        module.Buffer(out), module.f32(0.0)
    )[x]
    d = module.propagate_adjoints(g, weights, [module.Range(0, len(out))])
    found = d[image]
    if module is hl:
        compute_all(hl.Pipeline([found]))
    return np.array(found.realize([N]))


class Pixels:
    """A Func whose values are Exprs in Halide's eyes, too."""

    def __init__(self, module: ModuleType, f: Any) -> None:
        self.module, self.f = module, f

    def __getitem__(self, at: Any) -> Any:
        return self.module.cast(self.module.Float(32), self.f[at])


PROGRAMS: dict[str, Any] = {
    "product": lambda m, e, x, r: e[x] * e[x],
    "stencil": lambda m, e, x, r: e[x - 1] * 0.5 + e[x + 1] * 0.25,
    "quotient": lambda m, e, x, r: e[x] / (e[x + 1] * e[x + 1] + 1.0),
    "exp": lambda m, e, x, r: m.exp(e[x] * 0.5) + m.log(e[x] * e[x] + 1.0),
    "circular": lambda m, e, x, r: m.sin(e[x]) * m.cos(e[x + 1]) + m.tan(e[x] * 0.125),
    "hyperbolic": lambda m, e, x, r: m.tanh(e[x]) + m.sinh(e[x]) + m.cosh(e[x + 1]),
    "inverse": lambda m, e, x, r: (
        m.asin(e[x] * 0.25)
        + m.acos(e[x] * 0.125)
        + m.atan(e[x])
        + m.atan2(e[x], m.f32(2.0))
    ),
    "sqrt": lambda m, e, x, r: m.sqrt(e[x] * e[x] + 2.0),
    "pow": lambda m, e, x, r: m.pow(e[x] * e[x] + 1.0, m.f32(1.75)),
    "kinks": lambda m, e, x, r: (
        m.max(e[x], 0.25) + m.min(e[x], e[x + 1] + 0.5) * 2.0 + m.abs(e[x])
    ),
    "select": lambda m, e, x, r: m.select(e[x] > 0.25, e[x] * 3.0, e[x + 1]),
    "sum": lambda m, e, x, r: m.sum(e[x + r] * e[x]),
    "down": lambda m, e, x, r: e[2 * x] * e[2 * x + 1],
    "up": lambda m, e, x, r: e[x / 2] * 0.25 + e[x / 2 + 1] * 0.75,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_halide(name: str) -> None:
    halide = pytest.importorskip("halide")
    rng = np.random.default_rng(3)
    pixels = rng.normal(size=N).astype(np.float32)
    out = rng.normal(size=N).astype(np.float32)
    theirs = gradient(halide, name, pixels, out)
    ours = gradient(hl, name, pixels, out)
    assert np.abs(ours).max() > 0.1
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


def test_updates_by_number_as_halide() -> None:
    halide = pytest.importorskip("halide")
    found = []
    for m in (halide, hl):
        x, f = m.Var("x"), m.Func("f")
        image = m.Buffer(np.arange(10, dtype=np.float32) + 1)
        f[x] = image[x] * image[x]
        f[2] = f[2] * 3.0
        one = m.Func("one")
        one[x] = m.BoundaryConditions.constant_exterior(
            m.Buffer(np.ones(6, np.float32)), m.f32(0.0)
        )[x]
        d = m.propagate_adjoints(f, one, [m.Range(0, 6)])
        found.append(
            [np.array(d[key].realize([8])) for key in (f, (f, -1), (f, 0), image)]
        )
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
