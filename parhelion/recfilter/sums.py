"""Feedforward parts of filters: sums of points, with a coefficient for each.

An expression with a term for each coefficient takes as long to compile as it is long,
and every term finds out anew whether it is within the image. Where there are more than
some, coefficients are in a table, over which is summed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parhelion.lang.buffer import Buffer
from parhelion.lang.effects import likely
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp, select
from parhelion.lang.functions import max as max_
from parhelion.lang.functions import min as min_
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.recfilter.by_tags import ByTags, points
from parhelion.recfilter.coefficients import Number
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.directives import FULL
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.schedules import (
    across,
    in_parallel,
    is_dense,
    lanes,
    strips_of,
    tail_of,
)
from parhelion.recfilter.stages import free_points
from parhelion.recfilter.values import Source, Table, beyond, coefficient, constant
from parhelion.schedule.directives import TailStrategy
from parhelion.types import Type

#: Terms of one expression at most, and where a filter reads it whose vectors lie across
#: lines, for which each term is gathered point by point. On 1024 x 1024 points and on a
#: million of one line, tables are 1.2 to 5 times as fast at 32 terms, and 0.7 to 2.5
#: times at 16; where terms are gathered, 1.6 to 2.8 times at 8, and as fast at 3.
_TERMS, _GATHERED_TERMS = 16, 3
#: Terms that each step of a sum over a table adds, and vectors that it adds to.
_STEP, _VECTORS = 4, 8
#: Points along the dimension of the filter that are summed up at a time, with what is
#: around them at hand; lines of these in turn, where vectors are across them.
_STRIP, _LINES = 1 << 13, 8


def taps_of(filters: Sequence[Filter]) -> dict[int, Number]:
    """What the feedforward parts of filters along one dimension multiply with x[i - j],
    one after the other, by j."""
    if len(filters) == 1:
        forward = filters[0].constants()[0]
        return {j if filters[0].causal else -j: c for j, c in enumerate(forward)}
    first, product = 0, np.ones(1)
    for one in filters:
        numbers = np.array(one.constants()[0], float)
        if not one.causal:
            first -= len(numbers) - 1
        product = np.convolve(product, numbers if one.causal else numbers[::-1])
    return {first + j: float(c) for j, c in enumerate(product)}


def summed(
    name: str,
    source: Source,
    dims: Sequence[RecFilterDim],
    filters: Sequence[Filter],
    border: str,
    t: Type,
    by_tags: ByTags,
    is_last: bool,
) -> Func:
    """What the feedforward parts of filters along one dimension make, one after the
    other; of one filter if the border is zero.

    source: the image, asked for points of it alone. border: as in `RecFilter`. is_last:
    whether no recursive filter reads the sums. They are scheduled, but for an
    expression that such a filter takes in. by_tags: what the user's directives are for:
    sums that they are for are an expression too.
    """
    position = filters[0].dim
    extent = dims[position].extent
    constant_ones = all([f.is_constant for f in filters])
    taps = taps_of(filters) if constant_ones else {}
    if border == "zero":
        taps = {j: c for j, c in taps.items() if abs(j) < extent}
        around = _with_zeros(source, dims, position, t)
    else:
        around = beyond(source, dims, position, extent, border)
    told = is_last and by_tags.takes(FULL) and by_tags.is_told(FULL)
    if not told and is_many(taps, dims, position, t, is_last):
        return summed_by_table(name, around, dims, position, taps, t, by_tags)
    if border == "zero":
        f = _feedforward(name, source, dims, filters[0], t)
    else:
        f = weighted(name, around, dims, position, taps, t)
    if is_last:
        points(f, dims, t, by_tags)
    return f


def is_many(
    taps: Mapping[int, Number],
    dims: Sequence[RecFilterDim],
    position: int,
    t: Type,
    is_last: bool,
) -> bool:
    """Whether so many coefficients are better in a table. is_last: whether no recursive
    filter reads the sums."""
    v = across(dims, position, t)
    dense = is_last or (v is not None and is_dense(dims, v, position))
    count = len([c for c in taps.values() if c])
    return count > (_TERMS if dense else _GATHERED_TERMS)


def _with_zeros(
    source: Source, dims: Sequence[RecFilterDim], position: int, t: Type
) -> Source:
    """The values of an image, zero beyond its edges along a dimension."""
    extent = dims[position].extent

    def at(*coordinates: Any) -> Any:
        x, near = coordinates[position], list(coordinates)
        near[position] = clamp(x, 0, extent - 1)
        inside = likely((x >= 0) & (x < extent))
        return select(inside, source(*near), constant(0, t))

    return at


def weighted(
    name: str,
    around: Source,
    dims: Sequence[Var],
    position: int,
    taps: Mapping[int, Number],
    t: Type,
) -> Func:
    """The sum of taps[j] x[i - j], of an image that goes on."""
    f, total = Func(name), constant(0, t)
    for j, c in taps.items():
        args: list[Any] = list(dims)
        args[position] = dims[position] - j
        total = total + constant(c, t) * around(*args)
    f[tuple(dims)] = total
    return f


def _feedforward(
    name: str, source: Source, dims: Sequence[RecFilterDim], one: Filter, t: Type
) -> Func:
    """The sum of feedforward[m] x[i -+ m], zero outside of the image."""
    f = Func(name)
    v, last = dims[one.dim], dims[one.dim].extent - 1
    total: Any = None
    for m, b in enumerate(one.feedforward):
        if b == 0 and total is not None:
            continue
        args: list[Any] = list(dims)
        if m:
            args[one.dim] = max_(v - m, 0) if one.causal else min_(v + m, last)
        term = coefficient(b, dims, t) * source(*args)
        if m:
            inside = v >= m if one.causal else v + m <= last
            term = select(likely(inside), term, constant(0, t))
        total = term if total is None else total + term
    f[tuple(dims)] = total
    return f


def summed_by_table(
    name: str,
    around: Source,
    dims: Sequence[RecFilterDim],
    position: int,
    taps: Mapping[int, Number],
    t: Type,
    by_tags: ByTags | None = None,
) -> Func:
    """The sum of taps[j] x[i - j], computed at root.

    around: x, which has values beyond the image. by_tags: collects it for a GPU, where
    each thread computes a sum.
    """
    x = Func(f"{name}_in")
    x[tuple(dims)] = around(*dims)
    kept = {j: c for j, c in taps.items() if c}
    low, high = min(kept), max(kept)
    places = Buffer(np.array(list(kept), np.int32), f"{name}_places")
    table = Table(np.array(list(kept.values()), object), t, f"{name}_taps")

    def moved(by: Any) -> Any:
        at: list[Any] = list(dims)
        at[position] = dims[position] - by
        return x[tuple(at)]

    # What is left over comes first, so that no step goes beyond the table.
    first = len(kept) % _STEP
    total: Any = constant(0, t)
    for j, c in list(kept.items())[:first]:
        total = total + constant(c, t) * moved(j)
    part = Func(f"{name}_part")
    part[tuple(dims)] = total
    r = RDom([(0, len(kept) // _STEP)], f"r{name}")
    total = part[tuple(dims)]
    for k in [first + r * _STEP + n for n in range(_STEP)]:
        total = total + table[k] * moved(clamp(places[k], low, high))
    part[tuple(dims)] = total
    out = Func(name)
    out[tuple(dims)] = part[tuple(dims)]
    if by_tags is not None and by_tags.on_gpu is not None:
        by_tags.add(free_points(out, dims, [part]))
    else:
        _schedule(x, part, r, out, dims, position, t)
    return out


def _schedule(
    x: Func,
    part: Func,
    r: RDom,
    out: Func,
    dims: Sequence[RecFilterDim],
    position: int,
    t: Type,
) -> None:
    """Some vectors of points at a time, of some lines where vectors are across these;
    strips in parallel, in each of which what is summed lies side by side.

    x: what is summed. part: the sums, by an update over `r`. out: what reads them.
    """
    n, d = lanes(t), dims[position]
    v = next((one for one in dims if one.extent >= n), dims[0])
    rest = [one for one in dims if one is not v and one is not d]
    size = min(_VECTORS * n, max(n, v.extent // n * n))
    blocks, points = strips_of(out, v)
    out.split(v, blocks, points, size, tail_of(size, v.extent))
    if v is d:
        at, length, inside, outside = blocks, size, [points], list[Var](rest)
    else:
        at, line = strips_of(out, d, blocks, points)
        out.split(d, at, line, _LINES, tail_of(_LINES, d.extent))
        length, inside, outside = _LINES, [points, line], [blocks, *rest]
    strips, near = strips_of(out, d, blocks, *inside, at)
    out.split(at, strips, near, _STRIP // length, TailStrategy.GuardWithIf)
    out.reorder(*inside, near, strips, *outside)
    out.vectorize(points, size if v is dims[0] else n).compute_root()
    in_parallel(out, strips, outside)
    others = [one for one in dims if one is not v]
    for f, place, wide in ((x, strips, n), (part, near, size)):
        f.compute_at(out, place).reorder(v, *others).vectorize(v, wide)
        if others:
            f.reorder_storage(v, *others)
    stage = part.update(0).vectorize(v, size)
    if v is d:
        stage.reorder(v, r, *rest)
    else:
        stage.reorder(v, d, r, *rest)


__all__ = ["is_many", "summed", "summed_by_table", "taps_of", "weighted"]
