"""The chunks of the outputs: as given, as the images have them, or as a model says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, product
from typing import Any, TypeAlias

import numpy as np
from dask.array.core import normalize_chunks

from parhelion.dask.needs import Needs
from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, here
from parhelion.lang.boxes import Box

#: The sizes of the chunks along each axis.
Chunks: TypeAlias = tuple[tuple[int, ...], ...]

#: What a chunk has no more bytes than, where the caller sets no limit: images and
#: outputs together.
DEFAULT_BYTES = 128 << 20
#: What the model takes a task to cost beside its bytes, in seconds, and bytes to cost:
#: in bytes per second. Only their ratio counts, and it counts little: a chunk of 1 MB
#: costs as much as a task.
TASK_SECONDS, BYTES_PER_SECOND = 1e-3, 1e9
#: Axes are cut into shorter chunks than this only where memory leaves no other choice.
_LEAST = 32
#: By how many pixels of an image an output may be moved against it, for their chunks to
#: be cut in proportion.
_MOST_MOVED = 8
#: How many chunks there are for each worker at least, so that none waits for long.
CHUNKS_PER_WORKER = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """Outputs of one shape. Everything is in the order of dimensions.

    shape, origin: extents and least coordinates. itemsize: bytes of all output values
    at one point.
    """

    shape: tuple[int, ...]
    origin: tuple[int, ...]
    itemsize: int

    def box(self, first: Sequence[int], sizes: Sequence[int]) -> Box:
        """The region of a chunk, of which the first point is counted from 0."""
        pairs = zip(self.origin, first, sizes, strict=True)
        return [(o + f, n) for o, f, n in pairs]


def given_chunks(
    chunks: object, shape: Sequence[int], dtype: np.dtype[Any], name: str
) -> Chunks:
    """Chunks as the caller says, in NumPy's order, as ``dask.array`` takes them. Raises
    BoundsError for those that do not fit the shape."""
    try:
        made: Chunks = normalize_chunks(chunks, tuple(shape), dtype=dtype)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise BoundsError(
            f"the chunks {chunks!r} do not fit the shape {tuple(shape)} of the output"
            f" {name!r}: {error}",
            at=here(),
            hint="give one size, or a tuple of sizes with the axis' length as their"
            " sum, for each axis of the output",
        ) from None
    cut = all(
        [n > 0 or not e for sizes, e in zip(made, shape, strict=True) for n in sizes]
    )
    if not cut or [sum(sizes) for sizes in made] != list(shape):
        raise BoundsError(
            f"the chunks {chunks!r} do not fit the shape {tuple(shape)} of the output"
            f" {name!r}: sizes are 1 or more, and their sum is the length of the axis",
            at=here(),
            hint="give one size, or a tuple of sizes, for each axis of the output",
        )
    return made


def whole_axes(needs: Needs, grid: Grid) -> list[bool]:
    """Which dimensions are to be whole in each chunk, because the schedule counts on
    their extent."""
    kept = needs.copy.whole[len(needs.copy.images) :]
    return [any([t[d] is not None for t in kept]) for d in range(len(grid.shape))]


def following(needs: Needs, grid: Grid, images: Sequence[Chunks]) -> Chunks:
    """The chunks that follow from those of the images: each has the pixels that lie
    where the chunk of the first image does that its axis reads.

    images: their chunks, in the order of dimensions.
    """
    fixed = whole_axes(needs, grid)
    out = []
    for a, n in enumerate(grid.shape):
        found: tuple[int, ...] | None = None
        if n and not fixed[a]:
            for k, chunks in enumerate(images):
                axes = [d for d in range(len(chunks)) if needs.mentioned(k, d) == (a,)]
                if axes:
                    found = _along(needs, grid, a, k, axes[0], chunks[axes[0]])
                    break
        out.append(found or (n,))
    return tuple(out)


def _along(
    needs: Needs, grid: Grid, a: int, image: int, d: int, sizes: Sequence[int]
) -> tuple[int, ...]:
    """The chunks of one dimension where the image's dimension `d` moves with it."""
    n = grid.shape[a]

    def centre(t: int) -> float:
        at = [0] * len(grid.shape)
        at[a] = t
        box = grid.box(at, [1] * len(at))
        lo, extent = needs.needed(box)[image][d]
        return lo + (extent - 1) / 2

    first, last = n // 4, max(3 * n // 4, n // 4)
    slope = (centre(last) - centre(first)) / (last - first) if last > first else 0.0
    if slope == 1.0 and sum(sizes) == n:
        return tuple([s for s in sizes if s])
    if not slope:
        return (n,)
    cuts = {0, n}
    ratio = sum(sizes) / n
    begin = centre(first) - slope * first
    # Whether both cover the same picture, but for what rounding and halos move.
    alike = abs(slope - ratio) * n <= _MOST_MOVED and abs(begin) <= _MOST_MOVED
    for b in accumulate(sizes[:-1]):
        t = round(b / ratio if alike else (b - 0.5 - begin) / slope + 0.5)
        if 0 < t < n:
            cuts.add(t)
    places = sorted(cuts)
    return tuple([b - a for a, b in zip(places, places[1:], strict=False)])


def proposed(
    needs: Needs,
    grid: Grid,
    images: Sequence[tuple[Chunks, int]],
    most: int,
    workers: int,
) -> Chunks:
    """The chunks of which the model says that they cost the least.

    A chunk costs the bytes that it reads, halos included, those that it writes, and
    what a task costs beside; chunks run on `workers` at once, so that the last round
    may leave some idle. Those with more than `most` bytes are left out, unless all
    are: then it is the smallest. Candidates are powers of two times the chunks that
    follow from the images', so that few blocks are cut.

    images: chunks, in the order of dimensions, and bytes of an element.
    """
    base = following(needs, grid, [chunks for chunks, _ in images])
    over, chunk = _best(needs, grid, base, images, most, workers, _LEAST)
    if over:
        _, chunk = _best(needs, grid, base, images, most, workers, 1)
    return tuple(
        [_equal(n, c) if n else (0,) for n, c in zip(grid.shape, chunk, strict=True)]
    )


def _best(
    needs: Needs,
    grid: Grid,
    base: Chunks,
    images: Sequence[tuple[Chunks, int]],
    most: int,
    workers: int,
    least: int,
) -> tuple[bool, tuple[int, ...]]:
    """The best of the chunks that halve axes down to `least` elements, and whether it
    has more than `most` bytes."""
    sizes = [itemsize for _, itemsize in images]
    fixed = whole_axes(needs, grid)
    axes = [
        [n] if keep else _candidates(max(own, default=1), n, least)
        for own, n, keep in zip(base, grid.shape, fixed, strict=True)
    ]
    best: tuple[tuple[bool, float, int], tuple[int, ...]] | None = None
    for chunk in product(*axes):
        read, written = _bytes(needs, grid, sizes, chunk)
        count = math.prod([-(-n // c) for n, c in zip(grid.shape, chunk, strict=True)])
        rounds = max(-(-count // workers), count / workers)
        if count < CHUNKS_PER_WORKER * workers:
            # Few chunks are seldom of one size, and the largest decides.
            rounds += 1 - count / (CHUNKS_PER_WORKER * workers)
        cost = rounds * (TASK_SECONDS + (read + written) / BYTES_PER_SECOND)
        over = read + written > most
        key = (over, float(read + written) if over else cost, count)
        if best is None or key < best[0]:
            best = key, chunk
    assert best is not None
    return best[0][0], best[1]


def _candidates(own: int, n: int, least: int) -> list[int]:
    """Sizes of chunks along one dimension: an axis that is one chunk is cut, too."""
    found = {n, min(own, n)} if n else {1}
    size = own
    while size > least:
        size //= 2
        found.add(min(size, n) or 1)
    size = own
    while size < n:
        size *= 2
        found.add(min(size, n))
    return sorted(found)


def _equal(n: int, size: int) -> tuple[int, ...]:
    count, rest = divmod(n, size)
    return (size,) * count + ((rest,) if rest else ())


def _bytes(
    needs: Needs, grid: Grid, itemsizes: Sequence[int], chunk: Sequence[int]
) -> tuple[int, int]:
    """What a chunk in the middle reads and writes."""
    middle = [
        max(0, min(n - c, (n // 2) // c * c))
        for n, c in zip(grid.shape, chunk, strict=True)
    ]
    return chunk_bytes(needs, grid, itemsizes, grid.box(middle, chunk))


def chunk_bytes(
    needs: Needs, grid: Grid, itemsizes: Sequence[int], box: Box
) -> tuple[int, int]:
    """The bytes that a chunk reads and writes."""
    read = sum(
        [
            size * math.prod([n for _, n in region])
            for size, region in zip(itemsizes, needs.needed(box), strict=True)
        ]
    )
    return read, grid.itemsize * math.prod([n for _, n in box])


def starts(chunks: Sequence[int]) -> list[int]:
    """Where each chunk of an axis begins, and where the last one ends."""
    return [0, *accumulate(chunks)]


__all__ = [
    "BYTES_PER_SECOND",
    "CHUNKS_PER_WORKER",
    "DEFAULT_BYTES",
    "TASK_SECONDS",
    "Chunks",
    "Grid",
    "chunk_bytes",
    "following",
    "given_chunks",
    "proposed",
    "starts",
    "whole_axes",
]
