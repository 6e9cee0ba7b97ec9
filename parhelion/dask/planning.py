"""`plan`: what `apply` would read of which images, for which chunks; without a run."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from parhelion.dask.applying import Numbers
from parhelion.dask.asked import Params
from parhelion.dask.chunks import (
    BYTES_PER_SECOND,
    TASK_SECONDS,
    Chunks,
    starts,
)
from parhelion.dask.jobs import Part
from parhelion.dask.preparing import (
    Prepared,
    Wishes,
    largest_chunk,
    needs_all,
    prepare,
)
from parhelion.dataclass import dataclass
from parhelion.lang.boxes import Box


@dataclass(frozen=True, slots=True)
class AxisPlan:
    """What chunks need of one axis of an image.

    axis: its place in the array's shape. first, last: the least and the greatest
    coordinate, as text over the least coordinate and the extent of each dimension of
    the output and the sizes of the images.
    output_axis: the axis of the output that it moves with; None if each chunk needs the
    same part of it, or if it depends on several. whole: whether that part is all of it.
    scale: the pixels of it for one of the output. halo: the pixels before and after
    those, of a chunk away from the edges; None where there is no `output_axis`.
    """

    axis: int
    first: str
    last: str
    output_axis: int | None
    whole: bool
    scale: float | None
    halo: tuple[int, int] | None

    def __str__(self) -> str:
        if self.halo is None or self.scale is None:
            part = "all of it" if self.whole else "one part of it"
            return f"axis {self.axis}: {part}, for each chunk"
        before, after = self.halo
        told = f"axis {self.axis} with axis {self.output_axis} of the output"
        if self.scale != 1:
            told += f", {self.scale:g} pixels for 1"
        if before == after == 0:
            return f"{told}: no halo"
        return f"{told}: a halo of {before} before and {after} after"


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """What chunks need of one image.

    shape, chunks: of its array. axes: in the order of the array. bytes_read: by all
    chunks, what two of them read counts twice. example: the first element and the
    length of what the output's `example` reads, along each axis.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    chunks: Chunks
    axes: tuple[AxisPlan, ...]
    bytes_read: int
    example: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """Outputs of one shape, whose chunks are computed together.

    names: of the output values. chunk: the largest. tasks: the number of chunks.
    chunk_bytes: what the largest one away from the edges reads and writes.
    example: the first element and the length of that one along each axis.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    dtypes: tuple[str, ...]
    chunks: Chunks
    chunk: tuple[int, ...]
    tasks: int
    images: tuple[ImagePlan, ...]
    bytes_written: int
    chunk_bytes: int
    example: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What `apply` would do with the same arguments; ``print(plan)`` shows it.

    outputs: an OutputPlan for each shape. bytes_read, bytes_written: of all chunks.
    workers: how many chunks are thought to be computed at a time. seconds: how long all
    take by the model that proposes chunks, which knows bytes and tasks alone: with fast
    pipelines, and stores that give 1 GB/s to each worker. `picture` shows the chunks.

    >>> import dask.array as da
    >>> import parhelion.dask as hd
    >>> image, pairs = hl.ImageParam(hl.UInt(8), 1), hl.Func()
    >>> pairs[x] = image[2 * x] + image[2 * x + 1]
    >>> numbers = da.from_array(np.arange(64, dtype=np.uint8), chunks=16)
    >>> plan = hd.plan(pairs, numbers, shape=(32,))
    >>> plan.read_per_written, plan.outputs[0].chunks
    (2.0, ((8, 8, 8, 8),))
    """

    outputs: tuple[OutputPlan, ...]
    workers: int = 1

    @property
    def seconds(self) -> float:
        """The time that the model expects."""
        return sum([_seconds(o, self.workers) for o in self.outputs])

    def picture(self) -> str:
        """Returns a drawing in SVG: of each output the grid of its chunks, and of each
        image its own, with what one chunk of the output reads, as notebooks show it."""
        from parhelion.dask.drawing import drawn

        return drawn(self)

    def _repr_svg_(self) -> str:
        return self.picture()

    @property
    def bytes_read(self) -> int:
        """Bytes of images that all chunks read, halos each time."""
        return sum([i.bytes_read for o in self.outputs for i in o.images])

    @property
    def bytes_written(self) -> int:
        """Bytes of all outputs."""
        return sum([o.bytes_written for o in self.outputs])

    @property
    def read_per_written(self) -> float:
        """Bytes read for each byte written."""
        return self.bytes_read / max(self.bytes_written, 1)

    def data(self) -> dict[str, Any]:
        """Returns all of it as dictionaries, lists and numbers, as JSON has them."""
        return {
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "read_per_written": self.read_per_written,
            "workers": self.workers,
            "seconds": self.seconds,
            "outputs": [_data(o) for o in self.outputs],
        }

    def __str__(self) -> str:
        lines = []
        for o in self.outputs:
            lines.append(
                f"{', '.join(o.names)}: {o.shape} {', '.join(o.dtypes)}, {o.tasks}"
                f" chunks of {o.chunk} or less, {_size(o.chunk_bytes)} read and written"
                " by one"
            )
            for i in o.images:
                own = tuple([max(sizes, default=0) for sizes in i.chunks])
                lines.append(f"  {i.name}: {i.shape} {i.dtype}, chunks of {own}")
                lines += [f"    {a}" for a in i.axes]
                whole = math.prod(i.shape) * _itemsize(i.dtype)
                times = i.bytes_read / max(whole, 1)
                lines.append(
                    f"    {_size(i.bytes_read)} read, {times:.3g} times its size"
                )
        lines.append(
            f"{_size(self.bytes_read)} read, {_size(self.bytes_written)} written:"
            f" {self.read_per_written:.3g} bytes read for each byte written"
        )
        lines.append(
            f"estimated {self.seconds:.3g} s by {self.workers} workers, of bytes and"
            " tasks alone"
        )
        return "\n".join(lines)


def plan(
    pipeline: object,
    *arrays: Any,
    params: Params = None,
    shape: Numbers = None,
    dtype: Any = None,
    chunks: Any = None,
    rechunk: str | None = None,
    origin: Numbers = None,
    axes: str | None = None,
    memory: int | str | None = None,
    workers: int | None = None,
) -> Plan:
    """Returns what `apply` would do with the same arguments: the chunks, what each axis
    of each image is needed for, halos and bytes. Raises what `apply` raises.

    >>> import dask.array as da
    >>> import parhelion.dask as hd
    >>> image = hl.ImageParam(hl.UInt(8), 1, "image")
    >>> edge, sums = hl.BoundaryConditions.repeat_edge(image), hl.Func("sums")
    >>> sums[x] = edge[x - 1] + edge[x + 1]
    >>> numbers = da.from_array(np.zeros(64, np.uint8), chunks=16)
    >>> print(hd.plan(sums, numbers, workers=2))
    sums: (64,) uint8, 4 chunks of (16,) or less, 34 B read and written by one
      image: (64,) uint8, chunks of (16,)
        axis 0 with axis 0 of the output: a halo of 1 before and 1 after
        70 B read, 1.09 times its size
    70 B read, 64 B written: 1.09 bytes read for each byte written
    estimated 0.002 s by 2 workers, of bytes and tasks alone
    """
    wishes = Wishes(shape, dtype, chunks, rechunk, origin, memory, workers, axes)
    _, parts = prepare(pipeline, arrays, params, wishes)
    most = workers or os.cpu_count() or 1
    return Plan(tuple([_of_part(p) for p in parts]), most)


def _seconds(o: OutputPlan, workers: int) -> float:
    """What chunks cost by the model that proposes them."""
    total = sum([i.bytes_read for i in o.images]) + o.bytes_written
    one = TASK_SECONDS + total / max(o.tasks, 1) / BYTES_PER_SECOND
    return -(-o.tasks // workers) * one


def _of_part(prepared: Prepared) -> OutputPlan:
    part = prepared.part
    found = part.asked
    targets = [found.targets[v] for v in part.values]
    itemsizes = [a.dtype.itemsize for a in found.arrays]
    sizes = part.grid.shape
    some = all(sizes)
    read, written, box = largest_chunk(part, itemsizes) if some else (0, 0, [])
    regions = part.needs.needed(box) if some else [[(0, 0)] * 9 for _ in itemsizes]
    images = []
    for k, (image, array) in enumerate(zip(found.images, found.arrays, strict=True)):
        order = part.orders[k]
        along = [_axis(part, k, order.index(a), box) for a in range(array.ndim)]
        elements = _elements(part, k) if some else 0
        images.append(
            ImagePlan(
                image.name,
                tuple([int(n) for n in array.shape]),
                str(array.dtype),
                array.chunks,
                tuple(along),
                elements * array.dtype.itemsize,
                tuple([regions[k][order.index(a)] for a in range(array.ndim)]),
            )
        )
    order = part.orders[len(found.arrays)]
    turned = [order.index(a) for a in range(len(order))]
    return OutputPlan(
        tuple([t.name for t in targets]),
        tuple([sizes[d] for d in turned]),
        tuple([str(t.type.to_numpy()) for t in targets]),
        tuple([part.chunks[d] for d in turned]),
        tuple([max(part.chunks[d], default=0) for d in turned]),
        math.prod([len(c) for c in part.chunks]),
        tuple(images),
        part.grid.itemsize * math.prod(sizes),
        read + written,
        tuple([_counted(part, box, d) for d in turned]) if some else (),
    )


def _counted(part: Part, box: Box, d: int) -> tuple[int, int]:
    """A dimension of a region of the outputs, counted from their first element."""
    lo, n = box[d]
    return lo - part.grid.origin[d], n


def _axis(part: Part, image: int, d: int, box: Box) -> AxisPlan:
    """Dimension `d` of an image. box: a largest chunk; empty if there is none."""
    axis = part.orders[image][d]
    first, last = part.needs.shown(image, d)
    moves = part.needs.mentioned(image, d)
    if len(moves) != 1 or not box or needs_all(part, image, d, box):
        extent = part.asked.arrays[image].shape[axis]
        whole = bool(box) and part.needs.needed(box)[image][d] == (0, extent)
        return AxisPlan(axis, first, last, None, whole, None, None)
    (a,) = moves
    lo, extent = box[a]

    def needed(t: int, n: int) -> tuple[int, int]:
        at = list(box)
        at[a] = t, n
        first_of, count = part.needs.needed(at)[image][d]
        return first_of, first_of + count - 1

    one, other = needed(lo, 1), needed(lo + extent - 1, 1)
    scale = (other[0] - one[0]) / (extent - 1) if extent > 1 else 1.0
    if scale:
        nearest = round(scale) if scale >= 1 else 1 / round(1 / scale)
        if abs(scale - nearest) * extent <= 2:  # fractions that are cut off
            scale = float(nearest)
    low, high = needed(lo, extent)
    begin = math.floor(scale * lo)
    end = math.floor(scale * (lo + extent)) - 1
    if scale < 1:
        end = math.floor(scale * (lo + extent - 1))
    output = part.orders[len(part.asked.arrays)][a]
    halo = (begin - low, high - end) if scale > 0 else None
    return AxisPlan(axis, first, last, output, False, scale, halo)


def _elements(part: Part, image: int) -> int:
    """How many elements of an image all chunks read. Dimensions that move with
    different dimensions of the output are counted apart."""
    dims = range(len(part.asked.images[image].dims))
    groups: list[tuple[set[int], list[int]]] = []
    for d in dims:
        moves = set(part.needs.mentioned(image, d))
        own = [d]
        for known, others in [g for g in groups if g[0] & moves]:
            moves |= known
            own += others
            groups.remove((known, others))
        groups.append((moves, own))
    begin = [starts(sizes) for sizes in part.chunks]
    total = 1
    free = set(range(len(part.chunks)))
    for moves, own in groups:
        axes = sorted(moves)
        free -= moves
        count = 0
        for place in product(*[range(len(part.chunks[a])) for a in axes]):
            at = dict(zip(axes, place, strict=True))
            first = [b[at.get(a, 0)] for a, b in enumerate(begin)]
            size = [c[at.get(a, 0)] for a, c in enumerate(part.chunks)]
            region = part.needs.needed(part.grid.box(first, size))[image]
            count += math.prod([region[d][1] for d in own])
        total *= count
    return total * math.prod([len(part.chunks[a]) for a in free])


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.3g} {unit}"


def _itemsize(dtype: str) -> int:
    return np.dtype(dtype).itemsize


def _data(o: OutputPlan) -> dict[str, Any]:
    return {
        "names": list(o.names),
        "shape": list(o.shape),
        "dtypes": list(o.dtypes),
        "chunks": _lists(o.chunks),
        "tasks": o.tasks,
        "chunk_bytes": o.chunk_bytes,
        "bytes_written": o.bytes_written,
        "images": [
            {
                "name": i.name,
                "shape": list(i.shape),
                "dtype": i.dtype,
                "chunks": _lists(i.chunks),
                "bytes_read": i.bytes_read,
                "axes": [
                    {
                        "axis": a.axis,
                        "first": a.first,
                        "last": a.last,
                        "output_axis": a.output_axis,
                        "whole": a.whole,
                        "scale": a.scale,
                        "halo": None if a.halo is None else list(a.halo),
                    }
                    for a in i.axes
                ],
            }
            for i in o.images
        ],
    }


def _lists(chunks: Sequence[Sequence[int]]) -> list[list[int]]:
    return [[int(n) for n in sizes] for sizes in chunks]


__all__ = ["AxisPlan", "ImagePlan", "OutputPlan", "Plan", "plan"]
