"""In which loops of a group's root its members are computed and stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from parhelion.autoschedule.model.plan import Group, Level
from parhelion.autoschedule.pipeline.graph import Graph
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function


@dataclass
class Levels:
    """The loops of a group's root that members can be computed in.

    loops: all of them, from the innermost outwards. at: for each level, the loop that
    it means. stages: the loops that each definition of the root has. tasks: those whose
    iterations may run at the same time, so that they share no storage.
    """

    group: Group
    graph: Graph
    loops: Sequence[str]
    at: Mapping[Level, str]
    stages: Mapping[int, frozenset[str]]
    tasks: frozenset[str]
    _readers: dict[Function, frozenset[int]] = field(default_factory=dict)
    _depth: dict[Function, int] = field(default_factory=dict)

    def place(self, f: Function) -> tuple[str, str | None]:
        """The loop to compute a member in, "" for the root, and the loop to store it
        in, where that is another.

        An update may lack a loop that other definitions have; what it reads is computed
        in the next one outwards that all its readers have, and no further in than they.
        Members are asked for consumers first.
        """
        readers: frozenset[int] = frozenset()
        # Every consumer of a member is the root or another member.
        least = 0
        for c in self.graph.consumers[f]:
            if c is self.group.root:
                own = [s.index for s in self.graph.stages[c] if f in s.sources()]
                readers |= frozenset(own)
            else:
                readers |= self._readers[c]
                least = max(least, self._depth[c])
        self._readers[f] = readers
        name = self.at[self.group.members[f]]
        first = max(self.loops.index(name) if name else len(self.loops), least)
        depth = first
        while depth < len(self.loops) and not self._shared(depth, readers):
            depth += 1
        self._depth[f] = depth
        if depth == len(self.loops):
            return "", None
        return self.loops[depth], self._storage(f, depth, first, readers)

    def _shared(self, depth: int, readers: frozenset[int]) -> bool:
        return all(self.loops[depth] in self.stages[k] for k in readers)

    def _storage(
        self, f: Function, depth: int, first: int, readers: frozenset[int]
    ) -> str | None:
        """What slides along the rows lives as long as they go on."""
        sliding = self.group.members[f] is Level.ROW and depth == first
        if not sliding or self.loops[depth] != self.at[Level.ROW]:
            return None
        if self.loops[depth] == self.at[Level.TILE] or self.loops[depth] in self.tasks:
            return None
        for outer in range(depth + 1, len(self.loops)):
            if self._shared(outer, readers):
                return self.loops[outer]
            if self.loops[outer] in self.tasks:
                return None
        return ""


__all__ = ["Levels"]
