"""One definition under each schedule: at root, inlined, on demand in values or tiles.

The producer is the denoised image of `apps.lazy.denoise`, 220 operations for each
pixel. A consumer is vectorized and parallel under each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.lazy.denoise import denoised_of, padded
from apps.lazy.dewarp import sampled

TONAL, SHARPEN = 0.1, 0.5
#: What is computed at a time, where it is tiles.
TILE = (64, 16)
ROOT, INLINE, VALUES, TILES = "root", "inline", "values", "tiles"
#: How many lines a thread takes at a time: of four rows of tiles. Of a row that two
#: threads come to at once, one mostly waits for what the other computes.
LINES = 64

x, y, p, k = [hl.Var(name) for name in ("x", "y", "p", "k")]
_GUARD = hl.TailStrategy.GuardWithIf

#: From the producer, its consumer.
Consumer = Callable[[hl.Func], hl.Func]


class WrongResult(Exception):
    """A contender computed something else."""


@dataclass(frozen=True)
class Contender:
    """A compiled pipeline, and the array that it writes."""

    compiled: Callable[[Array], object]
    result: Array

    def run(self) -> None:
        self.compiled(self.result)

    def of_first(self, count: int) -> Contender:
        """The same, of a part of the outermost dimension."""
        return Contender(self.compiled, self.result[:count])


def _lanes() -> int:
    return int(hl.get_host_target().natural_vector_size(hl.Float(32)))


def producer(image: Array, schedule: str) -> hl.Func:
    """The denoised image under a schedule."""
    f = denoised_of(padded(image), TONAL, SHARPEN)
    if schedule == ROOT:
        f.compute_root().vectorize(x, _lanes(), _GUARD).parallel(y, LINES, _GUARD)
    elif schedule == VALUES:
        f.compute_lazy()
    elif schedule == TILES:
        f.compute_lazy(TILE).vectorize(x, _lanes(), _GUARD)
    return f


def contender(
    image: Array, consumer: Consumer, schedule: str, shape: tuple[int, ...]
) -> Contender:
    """A consumer of the denoised image, compiled. shape: of its result."""
    out = consumer(producer(image, schedule))
    out.vectorize(x, _lanes(), _GUARD)
    if out.args()[-1].name() == k.name():
        out.parallel(k)
    else:
        out.parallel(y, LINES, _GUARD)
    compiled = out.compile_to_callable([])
    result = np.zeros(shape, np.float32)
    return Contender(compiled, result)


def agree(contenders: Mapping[str, Contender], what: str) -> None:
    """Runs each and compares the results. Raises WrongResult."""
    first: Array | None = None
    for name, one in contenders.items():
        one.result[...] = -7
        one.run()
        if first is None:
            first = one.result.copy()
        elif not np.allclose(first, one.result, rtol=0, atol=1e-5):
            apart = np.abs(first - one.result).max()
            raise WrongResult(f"{what}: {name} is apart by {apart}")


def window(f: Any) -> Any:
    """The sum of 3 x 3 values around a pixel."""
    square = [(i, j) for j in (0, 1, 2) for i in (0, 1, 2)]
    return sum([f[x + i, y + j] for i, j in square], hl.f32(0))


def whole(f: hl.Func) -> hl.Func:
    """Sums of windows, of all of the image."""
    out = hl.Func("sums")
    out[x, y] = window(f)
    return out


def windows(corners: Array, shape: tuple[int, int], size: tuple[int, int]) -> Consumer:
    """Sums of 3 x 3 values in windows of some width and height, whose corners are in an
    array. shape: of all sums."""

    def consumer(f: hl.Func) -> hl.Func:
        out, sums, at = hl.funcs("windows sums at")
        sums[x, y] = window(f)
        corner = hl.Buffer(corners)
        at[k] = (
            hl.clamp(corner[0, k], 0, shape[1] - size[0]),
            hl.clamp(corner[1, k], 0, shape[0] - size[1]),
        )
        left, top = at[k]
        out[x, y, k] = sums[left + x, top + y]
        return out

    return consumer


def masked(mask: Array) -> Consumer:
    """Sums of windows where a mask is not zero, and zero elsewhere."""

    def consumer(f: hl.Func) -> hl.Func:
        out = hl.Func("masked")
        out[x, y] = hl.select(hl.Buffer(mask)[x, y] != 0, window(f), 0.0)
        return out

    return consumer


def repeated(f: hl.Func) -> hl.Func:
    """All values, several times over."""
    out = hl.Func("repeated")
    out[x, y, p] = f[x, y] + hl.f32(p)
    return out


def looked_up(columns: Array, rows: Array) -> Consumer:
    """All values, several times over, at places that data says."""

    def consumer(f: hl.Func) -> hl.Func:
        out = hl.Func("looked_up")
        height, width = columns.shape
        u = hl.clamp(hl.i32(hl.Buffer(columns)[x, y]), 0, width - 1)
        v = hl.clamp(hl.i32(hl.Buffer(rows)[x, y]), 0, height - 1)
        out[x, y, p] = f[u, v] + hl.f32(p)
        return out

    return consumer


def remapped(map_x: Array, map_y: Array, shape: tuple[int, int]) -> Consumer:
    """Values between those of an image of some shape, as `apps.lazy.dewarp` has."""
    return lambda f: sampled(f, hl.Buffer(map_x), hl.Buffer(map_y), *shape)


def corners_of(shape: tuple[int, int], size: tuple[int, int]) -> Array:
    """The corners of windows beside each other, in random order, which do not begin
    where tiles do; those at the far edges reach over others."""
    width, height = size
    lefts = np.minimum(np.arange(37, shape[1], width), shape[1] - width)
    tops = np.minimum(np.arange(11, shape[0], height), shape[0] - height)
    found = np.stack(np.meshgrid(lefts, tops), axis=-1).reshape(-1, 2)
    random = np.random.default_rng(12)
    return np.ascontiguousarray(random.permutation(found).astype(np.int32))


def patches(shape: tuple[int, int], coverage: float, size: tuple[int, int]) -> Array:
    """A mask that covers a part of an image in blocks of some width and height, which
    do not begin where tiles do."""
    width, height = size
    rows, columns = shape[0] // height + 2, shape[1] // width + 2
    random = np.random.default_rng(11)
    order = random.permutation(rows * columns).reshape(rows, columns)
    blocks = (order < coverage * order.size).astype(np.uint8)
    mask = blocks.repeat(height, axis=0).repeat(width, axis=1)
    down, across = height * 7 // 16, width * 9 // 16
    return np.ascontiguousarray(
        mask[down : down + shape[0], across : across + shape[1]]
    )
