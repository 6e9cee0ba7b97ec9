"""Boxes of integer coordinates, and reading arrays at coordinates.

A box is a pair of inclusive bounds for each dimension. An array over a box has one
axis per dimension, in dimension order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parhelion.interp.values import Array

Bounds = tuple[int, int]
Box = tuple[Bounds, ...]
Mask = NDArray[np.bool_]


def hull(a: Box, b: Box) -> Box:
    """The smallest box that holds both."""
    return tuple(
        [(min(p[0], q[0]), max(p[1], q[1])) for p, q in zip(a, b, strict=True)]
    )


def covers(outer: Box, inner: Box) -> bool:
    return all(
        [p[0] <= q[0] and q[1] <= p[1] for p, q in zip(outer, inner, strict=True)]
    )


def shape_of(box: Box) -> tuple[int, ...]:
    return tuple([high - low + 1 for low, high in box])


def volume(box: Box) -> int:
    count = 1
    for low, high in box:
        count *= max(high - low + 1, 0)
    return count


def along(values: Array, mask: Mask) -> Mask:
    """`mask` reduced by "any" over the axes along which `values` does not change."""
    flat = tuple(
        [a for a, n in enumerate(values.shape) if n == 1 and mask.shape[a] > 1]
    )
    return np.asarray(mask.any(axis=flat, keepdims=True)) if flat else mask


def bounds_of(values: Array, mask: Mask | None) -> Bounds | None:
    """Least and greatest of the values where `mask` holds; None where it never does."""
    if mask is not None:
        where = np.broadcast_to(
            along(values, mask),
            np.broadcast_shapes(values.shape, along(values, mask).shape),
        )
        values = np.broadcast_to(values, where.shape)[where]
    if values.size == 0:
        return None
    return int(values.min()), int(values.max())


def _progression(index: Array) -> tuple[int, int, int] | None:
    """(axis, first, step) of an index that runs evenly upwards along one axis."""
    long = [a for a, n in enumerate(index.shape) if n > 1]
    if len(long) != 1:
        return None
    flat = index.ravel()
    step = int(flat[1]) - int(flat[0])
    if step < 1 or not bool(np.all(np.diff(flat) == step)):
        return None
    return long[0], int(flat[0]), step


def gather(source: Array, index: Sequence[Array], axes: int) -> Array:
    """``source[index]``, for indices that broadcast against each other in `axes` axes.

    Indices are within the source. Rectangular regions are read as slices, a view.
    """
    slices: list[slice] = []
    places: list[int] = []
    for i in index:
        if i.size == 1:
            at = int(i.ravel()[0])
            slices.append(slice(at, at + 1))
            places.append(-1)
            continue
        found = _progression(i)
        if found is None or found[0] in places:
            return source[tuple(index)] if index else source.reshape((1,) * axes)
        axis, first, step = found
        slices.append(slice(first, first + (i.size - 1) * step + 1, step))
        places.append(axis)
    part = source[tuple(slices)]
    # Bring the dimensions into the order of the grid's axes, then add those of size 1.
    order = sorted(range(len(places)), key=lambda d: places[d])
    shape = [1] * axes
    for d, axis in enumerate(places):
        if axis >= 0:
            shape[axis] = part.shape[d]
    return part.transpose(order).reshape(shape)
