"""Recursive filters of lines that are cut into chunks: what one leaves to the next.

A chunk is filtered from zeros on. What earlier chunks add to that depends on a few
numbers of each line alone, the filter's *state*: of order k, y[i] is b[0] x[i] plus
the first of k numbers, which then move up by one while b[j] x[i] + a[j] y[i] is added
to number j (Oppenheim and Schafer, the transposed direct form). A state adds P state to
a chunk, and leaves R state behind, where P and R are matrices of the coefficients and
of the chunk's length alone.

States of floats are float64, those of integers int64, which wraps as smaller ones do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.recfilter.coefficients import Matrix, Number, filtered, matrix
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.kept import KEPT
from parhelion.recfilter.recfilter import RecFilter
from parhelion.runtime.threads import limit_threads
from parhelion.types import Type

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass(frozen=True, slots=True)
class LineFilter:
    """A filter along an axis: y[i] = sum of forward[m] x[i-m] + sum of
    back[j-1] y[i-j], from the first point on if `causal`, else from the last back."""

    forward: tuple[Number, ...]
    back: tuple[Number, ...]
    causal: bool

    @property
    def order(self) -> int:
        """The numbers of its state."""
        return max(len(self.forward) - 1, len(self.back))


@dataclass(frozen=True, slots=True)
class Lines:
    """Filters along one axis of arrays, in the order in which they run.

    axis: in NumPy's order. work: the type that they compute in. result: that of what
    comes out. threads: the most that one chunk uses; None for all.
    """

    filters: tuple[LineFilter, ...]
    axis: int
    work: str
    result: str
    threads: int | None

    @property
    def whole(self) -> bool:
        """Whether they filter integers."""
        return np.dtype(self.work).kind != "f"

    @property
    def states(self) -> np.dtype[Any]:
        """The type of states."""
        return np.dtype(np.int64 if self.whole else np.float64)

    def rows(self) -> list[slice]:
        """Where the state of each filter is among those of all."""
        found, first = [], 0
        for f in self.filters:
            found.append(slice(first, first + f.order))
            first += f.order
        return found


def states_left(lines: Lines, block: Array) -> Array:
    """What a chunk that is filtered from zeros on leaves behind: the states of all
    filters, one after the other, along axis 0."""
    found = []
    y = np.asarray(block, lines.work, order="C")
    for f in lines.filters:
        x, y = y, _run(lines, f, y)
        one, other = [_end(v, f, lines) for v in (x, y)]
        found.append(_left(f, one, other, block.shape[lines.axis], None))
    return np.concatenate(found)


def completed(lines: Lines, block: Array, states: Array | None) -> Array:
    """A chunk filtered, with the states that come into it; None for zeros."""
    y = np.asarray(block, lines.work, order="C")
    n = block.shape[lines.axis]
    for f, rows in zip(lines.filters, lines.rows(), strict=True):
        y = _run(lines, f, y)
        if states is None or not f.order:
            continue
        given = states[rows]
        added = _response(f, n, lines.whole) @ given.reshape(f.order, -1)
        if not f.causal:
            added = added[::-1]
        added = added.reshape(n, *given.shape[1:])
        if lines.whole:
            added = added.astype(lines.work)
        y = (y + np.moveaxis(added, 0, lines.axis)).astype(lines.work)
    return y.astype(lines.result, order="C", copy=False)


def carried(lines: Lines, left: Sequence[Array], widths: Sequence[int]) -> list[Array]:
    """The states that come into each chunk of a line, of what all of them leave behind.

    left: of `states_left`, in the order of the axis. widths: the chunks' lengths.
    """
    shape = left[0].shape
    into = [np.zeros((shape[0], math.prod(shape[1:])), lines.states) for _ in left]
    crossing = [_crossings(lines.filters, n, lines.whole) for n in widths]
    for f, rows in zip(lines.filters, lines.rows(), strict=True):
        state = np.zeros((f.order, into[0].shape[1]), lines.states)
        order = range(len(left))
        for k in order if f.causal else reversed(order):
            into[k][rows] = state
            own = left[k][rows].reshape(state.shape)
            state = own + crossing[k][rows, : rows.stop] @ into[k][: rows.stop]
    return [found.reshape(shape) for found in into]


def _run(lines: Lines, f: LineFilter, pixels: Array) -> Array:
    """A chunk filtered from zeros on."""
    made = np.empty(pixels.shape, pixels.dtype)
    if not pixels.size:
        return made
    position = pixels.ndim - 1 - lines.axis

    def build(image: Any) -> Any:
        dims = tuple(
            [RecFilterDim(f"d{k}", n) for k, n in enumerate(reversed(pixels.shape))]
        )
        one = RecFilter("scan")
        one[dims if len(dims) > 1 else dims[0]] = image[dims]
        one._add(position, f.causal, f.forward, f.back, "hd.scan")
        return one.as_func()

    t = Type.from_numpy(pixels.dtype)
    run = KEPT.get(("hd.scan", position, f), t, pixels.shape[::-1], build)
    if lines.threads is None:
        run(pixels, made)
    else:
        with limit_threads(lines.threads):
            run(pixels, made)
    return made


def _end(pixels: Array, f: LineFilter, lines: Lines) -> Array:
    """The last points that a filter meets, the last of them first, along axis 0."""
    lined = np.moveaxis(pixels, lines.axis, 0)
    last = lined[::-1][: f.order] if f.causal else lined[: f.order]
    return last.astype(lines.states)


def _left(f: LineFilter, x: Array, y: Array, n: int, state: Array | None) -> Array:
    """The state after a chunk. x, y: the last points of what is filtered and of the
    result, the last first. n: the chunk's length. state: before it; None for zeros."""
    found = np.zeros((f.order, *x.shape[1:]), x.dtype)
    for j in range(f.order):
        for d in range(min(len(x), f.order - j)):
            if j + d + 1 < len(f.forward):
                found[j] += f.forward[j + d + 1] * x[d]
            if j + d < len(f.back):
                found[j] += f.back[j + d] * y[d]
        if state is not None and j + n < f.order:
            found[j] += state[j + n]
    return found


@lru_cache(maxsize=256)
def _exact_response(f: LineFilter, n: int, whole: bool) -> Matrix:
    columns = matrix(n, f.order, whole)
    for j in range(min(n, f.order)):
        columns[j, j] = 1
    return filtered(columns, 1, f.back, True)


@lru_cache(maxsize=256)
def _response(f: LineFilter, n: int, whole: bool) -> Matrix:
    """P: what a state adds to a chunk of length n, in the direction of the filter."""
    return _fitting(_exact_response(f, n, whole), whole)


@lru_cache(maxsize=256)
def _crossings(filters: tuple[LineFilter, ...], n: int, whole: bool) -> Matrix:
    """R: what all states that come into a chunk leave behind, but for its pixels."""
    total = sum([f.order for f in filters])
    found, first = matrix(total, total, whole), 0
    columns = matrix(n, 0, whole)
    for f in filters:
        x = columns if f.causal else columns[::-1]
        fed = matrix(n, x.shape[1], whole)
        for m, b in enumerate(f.forward[:n]):
            fed[m:] = fed[m:] + b * x[: n - m]
        own = _exact_response(f, n, whole)
        y = np.hstack([filtered(fed, 1, f.back, True), own])
        x = np.hstack([x, matrix(n, f.order, whole)])
        before = matrix(f.order, x.shape[1], whole)
        for j in range(f.order):
            before[j, first + j] = 1
        count = min(n, f.order)
        rows = _left(f, x[::-1][:count], y[::-1][:count], n, before)
        found[first : first + f.order, : x.shape[1]] = rows
        columns = y if f.causal else y[::-1]
        first += f.order
    return _fitting(found, whole)


def _fitting(found: Matrix, whole: bool) -> Matrix:
    """Integers without limit as those of 64 bits that they wrap to."""
    if not whole:
        return found
    half = 1 << 63
    return ((found + half) % (2 * half) - half).astype(np.int64)


__all__ = ["LineFilter", "Lines", "carried", "completed", "states_left"]
