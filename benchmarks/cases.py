"""What is benchmarked: applications, their sizes, inputs and schedules."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from apps import blur, harris, unsharp
from apps.common import App, Array, Module


@dataclass(frozen=True)
class Case:
    """One application at one size.

    input_shape and size are (C, H, W) and innermost-first extents; origin is the
    coordinate of the input's first pixel. limit is the largest acceptable ratio of
    our minimum to Halide's, numpy_gain the least acceptable gain over NumPy.
    """

    name: str
    app: ModuleType
    schedule: str
    dtype: Any
    input_shape: tuple[int, ...]
    origin: tuple[int, ...]
    size: tuple[int, ...]
    limit: float
    numpy_gain: float | None
    tolerance: float

    def make_input(self) -> Array:
        rng = np.random.default_rng(7)
        if np.issubdtype(self.dtype, np.integer):
            return rng.integers(0, 16320, self.input_shape).astype(self.dtype)
        return rng.uniform(1 / 255, 1, self.input_shape).astype(self.dtype)

    def build(self, hl: Module) -> App:
        """The scheduled application under a module."""
        app: App = self.app.algorithm(hl)
        schedules: dict[str, Callable[[Module, App], None]] = self.app.SCHEDULES
        schedules[self.schedule](hl, app)
        return app

    def bind(self, hl: Module, app: App, image: Array) -> None:
        buffer = hl.Buffer(image)
        buffer.set_min(list(self.origin))
        app.inputs["input"].set(buffer)


CASES = (
    Case(
        name="blur 6400x4800",
        app=blur,
        schedule="tiled",
        dtype=np.uint16,
        input_shape=(4802, 6402),
        origin=(0, 0),
        size=(6400, 4800),
        limit=1.05,
        numpy_gain=5.0,
        tolerance=0.0,
    ),
    Case(
        name="unsharp 1536x2560x3",
        app=unsharp,
        schedule="tiled",
        dtype=np.float32,
        input_shape=(3, 2560, 1536),
        origin=(0, 0, 0),
        size=(1536, 2560, 3),
        limit=1.1,
        numpy_gain=None,
        tolerance=2e-5,
    ),
    Case(
        name="harris 1530x2554x3",
        app=harris,
        schedule="tiled",
        dtype=np.float32,
        input_shape=(3, 2558, 1534),
        origin=(-2, -2, 0),
        size=(1530, 2554),
        limit=1.1,
        numpy_gain=None,
        tolerance=2e-6,
    ),
)


def case(name: str) -> Case:
    """The case whose name begins with `name`."""
    return next(c for c in CASES if c.name.startswith(name))


def load(module: str) -> Module:
    """`parhelion` or `halide`."""
    return importlib.import_module(module)
