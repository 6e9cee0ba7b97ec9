"""Images that go on without an end: what filters find at the edges, as Funcs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from parhelion.lang.func import Func
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.recfilter.beyond import weights_of_entering
from parhelion.recfilter.coefficients import Number, Parts, entering, rounding
from parhelion.recfilter.dims import another
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.values import Source, Table, constant
from parhelion.types import Type

#: Value i of filter m at the edge where another one begins.
Tail = Callable[[int, int], Any]


class Edges(Protocol):
    """The values that the filters of a dimension have before their first points."""

    def entering(self, n: int, q: Any, tail: Tail) -> Any:
        """Value `q` of filter `n` before its first point, the nearest first.

        tail: asked for filters before it that run in the opposite direction.
        """
        ...


class ClampEdges:
    """Of an image that goes on as it is at its edges: see `coefficients.entering`."""

    def __init__(
        self,
        name: str,
        source: Source,
        dims: Sequence[Var],
        extent: int,
        filters: Sequence[Filter],
        t: Type,
    ) -> None:
        self._source, self._dims, self._extent = source, dims, extent
        self._filters = filters
        parts = parts_of(filters)
        self._tables: list[Table] = []
        for n in range(len(filters)):
            base, weights = entering(parts[: n + 1])
            numbers = np.vstack([base, weights.T])
            self._tables.append(Table(numbers, t, f"{name}_edge{n}"))

    def entering(self, n: int, q: Any, tail: Tail) -> Any:
        one = self._filters[n]
        at: list[Any] = list(self._dims)
        at[one.dim] = 0 if one.causal else self._extent - 1
        values = [
            tail(m, i)
            for m, earlier in enumerate(self._filters[:n])
            if earlier.causal != one.causal
            for i in range(earlier.order)
        ]
        table = self._tables[n]
        total: Any = table[q, 0] * self._source(*at)
        for s, value in enumerate(values, 1):
            total = total + table[q, s] * value
        return total


class SummedEdges:
    """Of an image that goes on in any way: see `beyond.weights_of_entering`.

    func: the values, over the image's dimensions, but that of the filters, along which
        are the values of one filter after the other, by their numbers: `slots`.
    read: what others read, of a GPU a kernel, each thread of which has its own `func`.
    domains: those of its updates, which sum up pixels.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        dims: Sequence[Var],
        extent: int,
        filters: Sequence[Filter],
        taps: Mapping[int, Number],
        end: int,
        t: Type,
        border: str,
        on_gpu: bool = False,
    ) -> None:
        self._dims, self._position = dims, filters[0].dim
        self._starts = np.cumsum([0, *[f.order for f in filters]]).tolist()
        self.slots = another(dims, dims[self._position], "e")
        self.count = int(self._starts[-1])
        self.func = Func(f"{name}_entering")
        self.func[self._at(self.slots)] = constant(0, t)
        self.domains: list[RDom] = []
        share = rounding(t) / 4
        both = weights_of_entering(
            parts_of(filters), taps, border, extent, end, share, name
        )
        for side, weights in enumerate(both):
            if len(weights):
                table, count = Table(weights, t, f"{name}_weights{side}"), len(weights)
                self._sum(source, table, count, extent - count if side else 0)
        self.read = self.func
        if on_gpu:
            self.read = Func(f"{name}_edges")
            self.read[self._at(self.slots)] = self.func[self._at(self.slots)]

    def _sum(self, source: Source, table: Table, count: int, first: int) -> None:
        r = RDom([(0, count)], f"r{self.func.name()}")
        at = self._at(self.slots)
        self.func[at] += table[self.slots, r] * source(*self._at(first + r))
        self.domains.append(r)

    def _at(self, x: Any) -> tuple[Any, ...]:
        made: list[Any] = list(self._dims)
        made[self._position] = x
        return tuple(made)

    def entering(self, n: int, q: Any, tail: Tail) -> Any:
        return self.read[self._at(self._starts[n] + q)]


def parts_of(filters: Sequence[Filter]) -> Parts:
    """Filters as `coefficients` and `beyond` know them."""
    return [(*f.constants(), f.causal) for f in filters]


__all__ = ["ClampEdges", "Edges", "SummedEdges", "parts_of"]
