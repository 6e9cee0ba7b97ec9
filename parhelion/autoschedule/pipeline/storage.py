"""How the elements of a Func or an image lie in memory, as far as a schedule knows it.

A Func that a schedule stores has its own order of dimensions. What the caller passes
has the strides that are promised: a photograph of shape (H, W, C) has its channels side
by side, so that its columns are C elements apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from parhelion.autoschedule.pipeline.graph import Source
from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int
from parhelion.ir.function import Function


@dataclass(frozen=True, slots=True)
class Storage:
    """order: the dimensions, innermost in memory first. strides: how many elements one
    step in a dimension is, for those of which that is known."""

    order: tuple[int, ...]
    strides: Mapping[int, int]


def storage_of(source: Source) -> Storage:
    """How a Func or an image is stored."""
    if isinstance(source, Function):
        order = tuple(source.schedule.storage_order)
        buffers = source.buffers_made
        if not buffers or order != tuple(range(source.dimensions)):
            return _ordered(order or tuple(range(max(1, source.dimensions))))
        dims = buffers[0].dims
    else:
        dims = source.dims
    strides: dict[int, int] = {}
    for d, dim in enumerate(dims):
        stride = None if dim.fixed_stride is None else const_int(dim.fixed_stride)
        if stride is not None:
            strides[d] = stride
    if strides.get(0) == 1 or not dims:
        return _ordered(tuple(range(max(1, len(dims)))))
    by_stride = sorted(range(len(dims)), key=lambda d: abs(strides.get(d, 1 << 40)))
    return Storage(tuple(by_stride), strides)


@cache
def _ordered(order: tuple[int, ...]) -> Storage:
    """Without gaps between the elements of the innermost dimension."""
    return Storage(order, {order[0]: 1})


__all__ = ["Storage", "storage_of"]
