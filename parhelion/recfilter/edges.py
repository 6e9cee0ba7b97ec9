"""Images that go on for ever as they are at their edges: what filters find there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parhelion.lang.buffer import Buffer
from parhelion.recfilter.coefficients import entering
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.values import as_type
from parhelion.types import Type


class Edges:
    """The values that the filters of a dimension have before their first points: see
    `coefficients.entering`."""

    def __init__(self, name: str, filters: Sequence[Filter], t: Type) -> None:
        self._filters = filters
        parts = [(f.feedforward[0], f.feedback, f.causal) for f in filters]
        self._tables: list[Buffer] = []
        for n in range(len(filters)):
            base, weights = entering(parts[: n + 1])
            table = as_type(np.vstack([base, weights.T]), t)
            self._tables.append(Buffer(table, f"{name}_edge{n}"))

    def against(self, n: int) -> list[int]:
        """The filters before filter `n` that run in the opposite direction."""
        causal = self._filters[n].causal
        return [m for m in range(n) if self._filters[m].causal != causal]

    def entering(self, n: int, q: Any, pixel: Any, values: Sequence[Any]) -> Any:
        """Value `q` of filter `n` before its first point, the nearest first.

        pixel: of the image at that edge. values: those of the filters `against` it
        there, as many as each has tails, the nearest to the edge first.
        """
        table = self._tables[n]
        total: Any = table[q, 0] * pixel
        for s, value in enumerate(values, 1):
            total = total + table[q, s] * value
        return total


__all__ = ["Edges"]
