"""How long code waits for rows of far memory, of which it reads a part at a time.

A processor foresees the lines of a row, but not where the next part of a row begins. A
core looks ahead, too: where it takes little time for a line, it has asked for the next
ones long before it needs them. Measured on 512-bit vectors, for floats: 25 ns for each
part of a row where the code copies, 100 ns at 48 ns for a line, 200 ns to 500 ns at 87
ns, 450 ns to 1000 ns at 130 ns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.geometry import Geometry, Numbers
from parhelion.autoschedule.pipeline.graph import Source
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.work import Access, element_bytes
from parhelion.ir.expr import Var

#: Where a part of a row begins, so many lines are fetched before the processor foresees
#: the next ones.
_UNFORESEEN = 4
#: Bytes of a line of a cache.
_LINE = 64


def in_order(loads: Iterable[Access], vector: Var | None) -> list[Source]:
    """The sources of which all loads go along rows, if vectors run along this Var, and
    are nowhere that only data say."""
    found: dict[Source, bool] = {}
    for a in loads:
        found[a.source] = found.get(a.source, True) and _in_rows(a, vector)
    return [s for s, rows in found.items() if rows]


def _in_rows(a: Access, vector: Var | None) -> bool:
    if vector is None or not a.steps or a.step(0, vector) == 0:
        return False
    if any(a.step(d, vector) != 0 for d in range(1, len(a.steps))):
        return False
    return all(
        step is not None or (d, v) in a.divided
        for d, steps in enumerate(a.steps)
        for v, step in steps.items()
    )


class Rows:
    """The rows of far memory that a group reads, by candidate tiles.

    runs: how many tiles there are.
    """

    def __init__(
        self, geometry: Geometry, runs: Numbers, regions: Regions, machine: Machine
    ) -> None:
        self.geometry, self.runs, self.machine = geometry, runs, machine
        self._bounds = regions.bounds
        self._pieces: dict[Source, Numbers | None] = {}

    def waited(self, sources: Iterable[Source], computing: Numbers) -> Any:
        """Nanoseconds that code waits which reads these in order, and takes so long in
        the core."""
        total: Any = 0.0
        for s in sources:
            if s not in self._pieces:
                self._pieces[s] = self._find_pieces(s)
            pieces = self._pieces[s]
            if pieces is not None:
                level = self.geometry.nest.tile_level
                lines = self.runs * self.geometry.need(s).volumes[level] / _LINE
                each = computing / np.maximum(lines, 1.0) / self.machine.ahead
                each = np.minimum(1.0, each)
                total = total + pieces * each**2 * (_UNFORESEEN * self.machine.fetch)
        return total

    def _find_pieces(self, s: Source) -> Numbers | None:
        """How many parts of rows all tiles take from a source in far memory; None where
        they take whole rows, or it is near."""
        geometry = self.geometry
        extents = [max(1, hi - lo + 1) for lo, hi in self._bounds[s]]
        if s not in geometry.outside or not extents:
            return None
        if element_bytes(s) * math.prod(extents) <= self.machine.l2:
            return None
        box = geometry.need(s).box[:, geometry.nest.tile_level]
        parts = box[0] < extents[0]
        if not parts.any():
            return None
        return np.where(parts, self.runs * box[1:].prod(axis=0), 0.0)


__all__ = ["Rows", "in_order"]
