"""What the tests of the applications share: running them by each means there is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

import parhelion as hl
from apps.common import App, Array, Module
from parhelion.interp import Rounding, interpret
from parhelion.ir.expr import FuncCall
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes

REFERENCE = Path(__file__).parent.parent / "data" / "reference"

Algorithm = Callable[[Module], App]
Schedule = Callable[[Module, App], None]
Arrays = Mapping[str, Array]


def reference(name: str) -> dict[str, Array]:
    """Inputs and output of Halide's published application."""
    with np.load(REFERENCE / f"{name}.npz") as data:
        return dict(data)


def run(
    module: Module,
    algorithm: Algorithm,
    schedule: Schedule,
    images: Arrays,
    size: Sequence[int],
    values: Mapping[str, float] = MappingProxyType({}),
) -> Array:
    """The output under a module, `parhelion` or `halide`, over (x, y, …) extents;
    `values` are those of its Params."""
    with warnings.catch_warnings():
        # Halide warns of every literal that float32 rounds.
        warnings.filterwarnings("ignore", message="The floating-point value")
        app = algorithm(module)
        schedule(module, app)
    buffers = {name: module.Buffer(a) for name, a in images.items()}
    for name, buffer in buffers.items():
        app.inputs[name].set(buffer)
    for name, value in values.items():
        app.params[name].set(value)
    return np.array(app.output.realize(list(size)))


def interpreted(
    algorithm: Algorithm,
    images: Arrays,
    size: Sequence[int],
    values: Mapping[str, float] = MappingProxyType({}),
    rounding: Rounding = Rounding.FUSED,
) -> Array:
    """The output by the reference interpreter."""
    app = algorithm(hl)
    for name, value in values.items():
        app.params[name].set(value)
    given = {
        app.inputs[name]._sym: (a.transpose(), [0] * a.ndim)
        for name, a in images.items()
    }
    region = [(0, extent) for extent in size]
    (made,) = interpret(app.output._function, region, {}, given, rounding)
    return np.asarray(made.transpose())


def apart(a: Array, b: Array) -> Array:
    """How far two arrays of one shape are apart, element by element."""
    assert a.shape == b.shape
    return np.abs(a.astype(np.float64) - b.astype(np.float64))


def functions(app: App) -> set[Function]:
    """Every Func of an application, those that are inlined too."""
    found: set[Function] = set()
    todo = [app.output._function]
    while todo:
        f = todo.pop()
        if f in found:
            continue
        found.add(f)
        for d in f.stages():
            for e in (*d.values, *d.args):
                todo += [n.func for n in nodes(e) if isinstance(n, FuncCall)]
    return found


def stages(app: App) -> int:
    """How many definitions the Funcs of an application have together."""
    return sum(len(f.stages()) for f in functions(app))


def noise(shape: Sequence[int], seed: int = 5) -> Array:
    """float32 in [0, 1): smooth shapes under some noise, and never constant."""
    rng = np.random.default_rng(seed)
    axes = np.meshgrid(*[np.linspace(0, 3, n) for n in shape], indexing="ij")
    waves = np.zeros(shape)
    for i, a in enumerate(axes):
        waves += (i + 1) * np.sin((2.1 + i) * a + i)
    smooth = (waves - waves.min()) / np.ptp(waves)
    return np.asarray(0.8 * smooth + 0.199 * rng.random(shape), np.float32)
