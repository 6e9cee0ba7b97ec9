"""What an everyday pipeline is: one definition for both modules, sizes and a check.

Groups are drawn by a hash of the name, so that nobody chooses which pipelines the cost
model is fit on, and which it is only judged by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Case, Image, Output, Tolerance, rng

#: Extents in words of the pipeline's own, mostly (width, height).
Size = tuple[int, ...]

#: The groups: constants are chosen on the first, the second is looked at pipeline by
#: pipeline, and the third is only ever run as a whole, for the final figure.
GROUPS = ("fit", "look", "final")
#: Pipelines that were looked at before there were groups. They are why the groups were
#: made, so they can judge nothing any more.
SEEN = frozenset({"gaussian_volume", "canny_integer", "ssim"})


def group_of(name: str) -> str:
    """The group of the pipeline of that name."""
    if name in SEEN:
        return GROUPS[0]
    digest = hashlib.sha256(name.encode()).digest()
    return GROUPS[int.from_bytes(digest[:8], "big") % len(GROUPS)]


@dataclass(frozen=True)
class Pipeline:
    """One pipeline of users' kind.

    area: what kind it is, in a word or two. algorithm: builds it under a module.
    inputs: the arrays of its ImageParams for a size, whose last axis is dimension 0;
    an array of three axes whose last one is its second in memory is interleaved.
    output: its type and extents for a size, dimension 0 first. size, small: what is
    measured, and what tests run. tolerance: how far results may be apart. reference:
    the same by NumPy, SciPy or OpenCV; border: how many pixels at the edges it does
    otherwise. interleaved: whether the channels of the output lie side by side.
    """

    name: str
    area: str
    algorithm: Callable[[Module], App]
    inputs: Callable[[Size], Mapping[str, Array]]
    output: Callable[[Size], tuple[Any, Size]]
    size: Size
    small: Size
    tolerance: Tolerance = Tolerance()
    values: Mapping[str, float] = field(default_factory=dict)
    reference: Callable[[Mapping[str, Array]], Array] | None = None
    border: int = 0
    interleaved: bool = False

    @property
    def group(self) -> str:
        return group_of(self.name)

    def case(self, size: Size | None = None) -> Case:
        """The pipeline at one size, for the machinery of the benchmarks."""
        size = size or self.size
        dtype, extents = self.output(size)
        return Case(
            name=self.name,
            size=" x ".join(str(n) for n in extents),
            algorithm=self.algorithm,
            schedules={},
            inputs=partial(self._images, size),
            outputs=(Output(dtype, extents, interleaved=self.interleaved),),
            tolerance=self.tolerance,
            values=self.values,
        )

    def _images(self, size: Size) -> Mapping[str, Image]:
        return {name: Image(array) for name, array in self.inputs(size).items()}


# Pictures.


def picture(*shape: int, dtype: Any = np.float32, seed: int = 7) -> Array:
    """Something like a photograph: smooth areas, edges and a little noise, in [0, 1],
    or in all levels of an unsigned type."""
    source = np.random.default_rng(seed)
    grid = np.meshgrid(*[np.linspace(0, 1, n) for n in shape], indexing="ij")
    waves = np.zeros(shape)
    for k in range(3):
        turn = source.uniform(4, 25, len(shape))
        waves += np.sin(sum(t * g for t, g in zip(turn, grid, strict=True)) + k)
    levels = np.where(waves > 0.4, 0.75, 0.3) + 0.07 * waves
    levels = np.clip(levels + source.normal(0, 0.02, shape), 0, 1)
    if np.dtype(dtype).kind == "f":
        return np.asarray(levels.astype(dtype))
    return np.asarray(np.rint(levels * np.iinfo(dtype).max).astype(dtype))


def interleaved(planes: Array) -> Array:
    """The same (C, H, W) values with the channels side by side in memory, as imageio
    and OpenCV have them."""
    return np.ascontiguousarray(planes.transpose(1, 2, 0)).transpose(2, 0, 1)


def noise(*shape: int, low: float = -1.0, high: float = 1.0) -> Array:
    """Independent floats."""
    return np.asarray(rng().uniform(low, high, shape).astype(np.float32))


# Words of definitions.


def channels_beside(image: Any, channels: int = 3) -> Any:
    """Promises of an ImageParam, or of an output's buffer, that its channels lie side
    by side."""
    image.dim(0).set_stride(channels)
    image.dim(2).set_stride(1)
    image.dim(2).set_bounds(0, channels)
    return image


def total(terms: Sequence[Any]) -> Any:
    """Their sum, from left to right."""
    found = terms[0]
    for term in terms[1:]:
        found = found + term
    return found


def weighted(weights: Sequence[float], at: Callable[[int], Any]) -> Any:
    """The sum of `at(k)` for k from -n to n, with these 2 n + 1 weights."""
    radius = len(weights) // 2
    return total([at(k - radius) * float(w) for k, w in enumerate(weights)])


def gaussian(radius: int, sigma: float) -> list[float]:
    """Weights that add up to 1."""
    points = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (points / sigma) ** 2)
    return [float(np.float32(w)) for w in weights / weights.sum()]


def edges(hl: Module, image: Any, dims: int = 2) -> Any:
    """An ImageParam that repeats its edges in its first dimensions."""
    ends = [(0, image.dim(d).extent()) for d in range(dims)]
    return hl.BoundaryConditions.repeat_edge(image, ends)
