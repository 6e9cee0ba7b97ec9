"""What a benchmark is: one application at one size, with its inputs and schedules."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from apps.common import App, Array, Module
from benchmarks import halide_host
from parhelion.lang.placed import aligned

Schedule = Callable[[Module, App], None]
#: Functions without arguments that compute the same thing by other means, by the
#: name to print. Made from the inputs once, so that conversions are not timed.
Rivals = Mapping[str, Callable[[], object]]

#: Bytes of a cache line.
LINE = 64
#: Largest acceptable ratio of our minimum to Halide's, for one application.
RUN_LIMIT = 1.1
#: Largest acceptable ratio of our cold compile to Halide's compile_jit.
COMPILE_LIMIT = 1.5


@dataclass(frozen=True)
class Image:
    """An input: an array whose last axis is dimension 0, and the coordinates of its
    first pixel, dimension 0 first (all 0 if left out)."""

    array: Array
    origin: tuple[int, ...] = ()

    def buffer(self, hl: Module) -> Any:
        made = hl.Buffer(self.array)
        if self.origin:
            made.set_min(list(self.origin))
        return made


def zeros(
    shape: tuple[int, ...], dtype: Any, read: Sequence[Array] | None = None
) -> Array:
    """Zeros that begin a cache line, as the memory of both modules' Buffers does.
    Large arrays of NumPy's own begin 16 bytes past one.

    read: what they are computed from. Large ones begin elsewhere in a page, by the rule
    for new arrays (`parhelion.lang.placed`): else it is chance how many lines of both
    have one place in the cache.
    """
    if read is not None:
        placed = aligned(
            np.dtype(dtype), math.prod(shape), [a.ctypes.data for a in read]
        )
        placed.fill(0)
        return placed.reshape(shape)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    space = np.zeros(size + LINE, np.uint8)
    start = -space.ctypes.data % LINE
    return np.asarray(space[start : start + size].view(dtype).reshape(shape))


@dataclass(frozen=True)
class Output:
    """One output: its type, extents and first coordinates, dimension 0 first.

    interleaved: whether its third dimension, channels, is innermost in memory.
    """

    dtype: Any
    size: tuple[int, ...]
    origin: tuple[int, ...] = ()
    interleaved: bool = False

    def new(self, read: Sequence[Array] | None = None) -> Image:
        """Zeros in its place, away from what is `read` (see `zeros`)."""
        if self.interleaved:
            width, height, channels = self.size
            pixels = zeros((height, width, channels), self.dtype, read)
            return Image(pixels.transpose(2, 0, 1), self.origin)
        return Image(zeros(self.size[::-1], self.dtype, read), self.origin)


@dataclass(frozen=True)
class Tolerance:
    """How far two results may be apart: the largest difference, and the share of
    values that may differ at all."""

    largest: float = 0.0
    share: float = 1.0


@dataclass(frozen=True)
class Case:
    """One application at one size.

    name: in one word, for the command line. size: in words, for the table.
    algorithm: builds the application under a module. schedules: by name, the first of
    them is ours; Halide runs all, and its fastest is what we are measured against too.
    inputs: makes the ImageParams' arrays, from a seed. values: the scalar Params.
    rivals: NumPy, SciPy, OpenCV or C doing the same job. moved, operations: the bytes
    that must be read and written, and the floating-point operations, where one of them
    is what limits the time. shares: of a measured limit by its name (see
    `benchmarks.limits`), what our fastest schedule must reach. ahead_of: the rivals
    that it must be faster than.
    """

    name: str
    size: str
    algorithm: Callable[[Module], App]
    schedules: Mapping[str, Schedule]
    inputs: Callable[[], Mapping[str, Image]]
    outputs: tuple[Output, ...]
    tolerance: Tolerance
    values: Mapping[str, float] = field(default_factory=dict)
    rivals: Callable[[Mapping[str, Image]], Rivals] | None = None
    moved: int | None = None
    operations: int | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    ahead_of: tuple[str, ...] = ()
    aims: Mapping[str, float] = field(default_factory=dict)
    at: Callable[[float], Case] | None = None

    def build(self, hl: Module, schedule: str) -> App:
        """The application under a module, scheduled."""
        app = self.algorithm(hl)
        self.schedules[schedule](hl, app)
        return app

    def bind(self, hl: Module, app: App, images: Mapping[str, Image]) -> None:
        """Sets the inputs and the scalars."""
        for name, image in images.items():
            app.inputs[name].set(image.buffer(hl))
        for name, value in self.values.items():
            app.params[name].set(value)

    def difference(self, ours: list[Array], theirs: list[Array]) -> tuple[float, float]:
        """The largest difference of two results, and the share of different values."""
        largest, different, count = 0.0, 0, 0
        for a, b in zip(ours, theirs, strict=True):
            apart = np.abs(np.subtract(a, b, dtype=np.float64))
            largest = max(largest, float(apart.max()))
            different += int(np.count_nonzero(apart))
            count += apart.size
        return largest, different / count

    def same(self, difference: tuple[float, float]) -> bool:
        largest, share = difference
        return largest <= self.tolerance.largest and share <= self.tolerance.share


def resized(extent: int, scale: float) -> int:
    """An extent at another scale, even so that mosaics and planes of half the size
    remain whole."""
    return extent if scale == 1 else 2 * round(extent * scale / 2)


def load(module: str) -> Module:
    """`parhelion` or `halide`."""
    found: Module = importlib.import_module(module)
    if module == "halide":
        halide_host.tell(found)
    return found


def rng() -> np.random.Generator:
    """The seeded source of the inputs."""
    return np.random.default_rng(7)
