"""Filters one after the other, untiled: one Func, an update for each.

From: the 2015 paper, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parhelion.lang.effects import likely
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp, select
from parhelion.lang.functions import max as max_
from parhelion.lang.functions import min as min_
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.recfilter.edges import Edges
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.values import Source, coefficient, constant, scan
from parhelion.types import Type

#: The coordinates of a point, by its number.
Along = Callable[[Any], tuple[Any, ...]]


def _along(dims: Sequence[Var], one: Filter, extent: int) -> Along:
    """The points of a line, counted from the first that a filter meets."""

    def at(i: Any) -> tuple[Any, ...]:
        made: list[Any] = list(dims)
        made[one.dim] = i if one.causal else extent - 1 - i
        return tuple(made)

    return at


def scans(
    name: str,
    source: Source,
    dims: Sequence[Var],
    extents: Sequence[int],
    filters: Sequence[Filter],
    t: Type,
) -> tuple[Func, list[RDom]]:
    """A Func of all filters, of one dimension, and the reduction domain of each update:
    values before the first point that a filter meets are zero.

    source: what the first one filters; it is asked for points of the image alone.
    """
    f = Func(name)
    position = filters[0].dim
    extent, x = extents[position], dims[position]
    near: list[Any] = list(dims)
    near[position] = clamp(x, 0, extent - 1)
    inside = likely((x >= 0) & (x < extent))
    f[tuple(dims)] = select(inside, source(*near), constant(0, t))
    domains: list[RDom] = []
    for one in filters:
        r = RDom([(0, extent)], f"r{dims[one.dim].name()}")
        domains.append(r)
        scan(f, _along(dims, one, extent), one, r, t)
    return f, domains


def scans_with_edges(
    name: str,
    source: Source,
    dims: Sequence[Var],
    extents: Sequence[int],
    filters: Sequence[Filter],
    t: Type,
    edges: Edges,
) -> list[tuple[Func, list[RDom]]]:
    """A Func for each filter of one dimension, and the domains of its update, where
    filters find values before their first points."""
    position = filters[0].dim
    extent, x = extents[position], dims[position]
    made: list[tuple[Func, list[RDom]]] = []

    near: list[Any] = list(dims)
    near[position] = clamp(likely(x), 0, extent - 1)
    for n, one in enumerate(filters):
        f = Func(f"{name}_{n}")
        # Before its first point, the values that enter.
        m = -1 - x if one.causal else x - extent
        q, along = clamp(m, 0, one.order - 1), _along(dims, one, extent)

        def tail(m: int, i: int, along: Along = along) -> Any:
            return made[m][0][along(i)]

        value = source(*near) if n == 0 else made[n - 1][0][tuple(near)]
        own = x >= 0 if one.causal else x < extent
        first = edges.entering(n, q, tail)
        f[tuple(dims)] = select(likely(own), value, first)
        r = RDom([(0, extent)], f"r{x.name()}{n}")
        scan(f, along, one, r, t)
        made.append((f, [r]))
    return made


def taps_of(filters: Sequence[Filter]) -> dict[int, float]:
    """What the feedforward parts of filters along one dimension multiply with x[i - j],
    one after the other, by j."""
    first, product = 0, np.ones(1)
    for one in filters:
        forward = np.array(one.constants()[0], float)
        if not one.causal:
            first -= len(forward) - 1
        product = np.convolve(product, forward if one.causal else forward[::-1])
    return {first + j: float(c) for j, c in enumerate(product)}


def weighted(
    name: str,
    source: Source,
    dims: Sequence[Var],
    position: int,
    taps: Mapping[int, float],
    t: Type,
) -> Func:
    """The sum of taps[j] x[i - j], of an image that goes on."""
    f, total = Func(name), constant(0, t)
    for j, c in taps.items():
        args: list[Any] = list(dims)
        args[position] = dims[position] - j
        total = total + constant(c, t) * source(*args)
    f[tuple(dims)] = total
    return f


def feedforward(
    name: str,
    source: Source,
    dims: Sequence[Var],
    extents: Sequence[int],
    one: Filter,
    t: Type,
) -> Func:
    """The sum of feedforward[m] x[i -+ m], zero outside of the image."""
    f = Func(name)
    v, last = dims[one.dim], extents[one.dim] - 1
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


__all__ = ["feedforward", "scans", "scans_with_edges", "taps_of", "weighted"]
