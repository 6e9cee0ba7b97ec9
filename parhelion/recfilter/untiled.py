"""Filters one after the other, untiled: one Func, an update for each.

From: the 2015 paper, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parhelion.errors import InternalError
from parhelion.lang.effects import undef
from parhelion.lang.func import Func
from parhelion.lang.var import Var
from parhelion.recfilter.edges import Edges
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.values import Source, constant, of_func
from parhelion.recfilter.walks import Line, Value, Walk, walk, walk_within
from parhelion.types import Type


def _along(dims: Sequence[Var], one: Filter, extent: int) -> Line:
    """The points of a line of the image."""

    def at(i: Any) -> tuple[Any, ...]:
        made: list[Any] = list(dims)
        made[one.dim] = i if one.causal else extent - 1 - i
        return tuple(made)

    return Line(at, extent, dims[one.dim].name())


#: A Func that scans, and its updates.
Scan = tuple[Func, list[Walk]]


def scans(
    name: str,
    source: Source,
    dims: Sequence[Var],
    extents: Sequence[int],
    filters: Sequence[Filter],
    t: Type,
) -> Scan:
    """A Func of all filters, of one dimension: values before the first point that a
    filter meets are zero.

    source: what the first one filters; it is asked for points of the image alone.
    """
    f, walks = _nothing_yet(name, dims, t), list[Walk]()
    extent = extents[filters[0].dim]
    for n, one in enumerate(filters):
        line = _along(dims, one, extent)
        value = _valued(source if n == 0 else of_func(f), line)
        walks += walk(f, line, one, t, value, lambda m: constant(0, t))
    return f, walks


def scan_within(
    name: str,
    source: Source,
    dims: Sequence[Var],
    extents: Sequence[int],
    filters: Sequence[Filter],
    t: Type,
    edges: Edges | None,
) -> Scan:
    """A Func of one filter that has points of the image alone."""
    (one,) = filters
    f, line = _nothing_yet(name, dims, t), _along(dims, one, extents[one.dim])

    def before(m: Any) -> Any:
        return constant(0, t) if edges is None else edges.entering(0, m, _no_tail)

    walks = walk_within(f, line, one, t, _valued(source, line), before)
    return f, [walks]


def _no_tail(m: int, i: int) -> Any:
    """The first filter along a dimension depends on no tail of another."""
    raise InternalError(f"tail {i} of filter {m}")


def scans_apart(
    name: str,
    source: Source,
    dims: Sequence[Var],
    extents: Sequence[int],
    filters: Sequence[Filter],
    t: Type,
    edges: Edges | None,
) -> list[Scan]:
    """A Func for each filter of one dimension: what one has made stays as it is while
    the next one reads it, several points of it or those at the edges.

    edges: what filters find before their first points; None for zeros.
    """
    extent = extents[filters[0].dim]
    made: list[Scan] = []
    for n, one in enumerate(filters):
        f, line = _nothing_yet(f"{name}_{n}", dims, t), _along(dims, one, extent)

        def tail(m: int, i: int, line: Line = line) -> Any:
            return made[m][0][line.at(i)]

        def before(m: Any, n: int = n, tail: Callable[[int, int], Any] = tail) -> Any:
            return constant(0, t) if edges is None else edges.entering(n, m, tail)

        value = _valued(source if n == 0 else of_func(made[n - 1][0]), line)
        made.append((f, walk(f, line, one, t, value, before)))
    return made


def _nothing_yet(name: str, dims: Sequence[Var], t: Type) -> Func:
    """A Func whose values are all given by updates."""
    f = Func(name)
    f[tuple(dims)] = undef(t)
    return f


def _valued(source: Source, line: Line) -> Value:
    return lambda i: source(*line.at(i))


__all__ = ["Scan", "scan_within", "scans", "scans_apart"]
