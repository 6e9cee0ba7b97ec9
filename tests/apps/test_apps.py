"""The applications against the interpreter, NumPy, and Halide's published outputs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from apps import blur, harris, hist, unsharp
from apps.common import App, Array
from parhelion.interp import interpret

#: The inline schedules recompute on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::parhelion.RecomputeWarning")

REFERENCE = Path(__file__).parent.parent / "data" / "reference"

APPS = {"blur": blur, "unsharp": unsharp, "harris": harris, "hist": hist}
#: Coordinate of the input's first pixel.
ORIGIN = {"harris": [-2, -2, 0]}
#: Largest absolute difference from Halide's output, and how many may differ at all.
TOLERANCE = {"blur": (0, 0.0), "unsharp": (2e-6, 1.0), "harris": (2e-8, 1.0)}
TOLERANCE["hist"] = (2, 0.001)

EVERY = [(name, way) for name, app in APPS.items() for way in app.SCHEDULES]


@cache
def scheduled(name: str, way: str) -> App:
    """An application under a schedule, compiled once for images of several sizes."""
    built: App = APPS[name].algorithm(hl)
    APPS[name].SCHEDULES[way](hl, built)
    return built


def run(name: str, way: str, image: Array, size: list[int]) -> Array:
    built = scheduled(name, way)
    buffer = hl.Buffer(image)
    buffer.set_min(ORIGIN.get(name, [0] * image.ndim))
    built.inputs["input"].set(buffer)
    return np.asarray(built.output.realize(size))


def differ(a: Array, b: Array, limit: tuple[float, float]) -> None:
    apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
    assert apart.max() <= limit[0]
    assert np.mean(apart > 0) <= limit[1]


@pytest.mark.parametrize(("name", "way"), EVERY)
def test_reproduces_halides_output(name: str, way: str) -> None:
    data = np.load(REFERENCE / f"{name}.npz")
    expected = data["output"]
    size = list(expected.shape[::-1])
    differ(run(name, way, data["input"], size), expected, TOLERANCE[name])


def small_input(name: str) -> tuple[Array, list[int]]:
    rng = np.random.default_rng(3)
    if name == "blur":
        return rng.integers(0, 16320, (19, 37)).astype(np.uint16), [35, 17]
    if name == "hist":
        return rng.integers(0, 256, (3, 19, 37)).astype(np.uint8), [37, 19, 3]
    image = rng.uniform(1 / 255, 1, (3, 19, 37)).astype(np.float32)
    return image, [33, 15] if name == "harris" else [37, 19, 3]


@cache
def expected_of(name: str) -> tuple[Array, Array]:
    """What the interpreter and NumPy make of the small image."""
    image, size = small_input(name)
    built = APPS[name].algorithm(hl)
    symbol = built.inputs["input"]._sym
    mins = ORIGIN.get(name, [0] * image.ndim)
    (exact,) = interpret(
        built.output._function,
        [(0, extent) for extent in size],
        {},
        {symbol: (image.transpose(), mins)},
    )
    return exact.transpose(), APPS[name].with_numpy(image)


@pytest.mark.parametrize(("name", "way"), EVERY)
def test_agrees_with_the_interpreter_and_numpy(name: str, way: str) -> None:
    got = run(name, way, *small_input(name))
    exact, numpy = expected_of(name)
    np.testing.assert_array_equal(got, exact)
    # NumPy fuses no products and sums: floats may differ in last places.
    limit = {"blur": 0.0, "hist": 1.0}.get(name, 1e-5)
    assert np.abs(got.astype(float) - numpy.astype(float)).max() <= limit


@pytest.mark.parametrize("name", list(APPS))
def test_processes_a_photograph(name: str, tmp_path: Path) -> None:
    image = np.tile(np.arange(90, dtype=np.uint8), (3, 70, 1))
    out = APPS[name].process(image)
    assert out.shape == image.shape
    assert out.dtype == np.uint8
