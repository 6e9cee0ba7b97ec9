"""Cost models of one pipeline with more or less of it inlined, each made once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from parhelion.autoschedule.pipeline.graph import Graph, TooLong
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.ir.function import Function


class Inlinings(ABC):
    """A model of one graph, which knows those of the graphs next to it."""

    def __init__(self, graph: Graph, regions: Regions) -> None:
        self.graph, self.regions = graph, regions
        #: All of them, by what is inlined, of the class that this one has.
        self._models: dict[frozenset[Function], Any] = {graph.inlined: self}
        self._too_long: set[frozenset[Function]] = set()

    @abstractmethod
    def again(self, graph: Graph, regions: Regions) -> Self:
        """The model of another graph, knowing what this one knows."""

    def with_inlined(self, f: Function) -> Self | None:
        """The model of the graph with `f` inlined, knowing what this one knows; None
        where that makes too much of a definition."""
        key = self.graph.inlined | {f}
        found: Self | None = self._models.get(key)
        if found is not None or key in self._too_long:
            return found
        try:
            graph = self.graph.with_inlined(f)
        except TooLong:
            self._too_long.add(key)
            return None
        return self._with(graph)

    def without_inlined(self, f: Function) -> Self:
        """The model of the graph with `f` not inlined."""
        found: Self | None = self._models.get(self.graph.inlined - {f})
        return found or self._with(self.graph.without_inlined(f))

    def _with(self, graph: Graph) -> Self:
        known = self.regions
        regions = Regions(graph, known.sizes, known, known.guess)
        made = self.again(graph, regions)
        self._models[graph.inlined] = made
        made._models, made._too_long = self._models, self._too_long
        return made


__all__ = ["Inlinings"]
