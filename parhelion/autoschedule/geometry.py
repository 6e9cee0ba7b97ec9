"""The loops of a group's root for all candidate tiles, and what each of them needs.

Nothing here depends on where in these loops the group's members are computed, so it is
found once for all choices of that. A level is the inside of one of the root's loops:
level 0 is inside all of them, the last one is outside of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.cost import element_bytes
from parhelion.autoschedule.graph import Source
from parhelion.autoschedule.plan import Loops
from parhelion.autoschedule.regions import Regions, Spans
from parhelion.ir.function import Function

Numbers = NDArray[np.float64]

#: Bytes of a page.
PAGE = 4096


@dataclass(frozen=True, eq=False)
class Tiles:
    """Candidates: for each, the points of every dimension in one tile (an array for
    each dimension), the dimensions whose tile loops are around, innermost first, and
    the dimension of the row loop."""

    sizes: tuple[Any, ...]
    outer: tuple[int, ...]
    row: int


class Geometry:
    """Boxes at all loop levels of one root, for all candidate tiles at once.

    low, full: where the root begins and its extents. count: of candidates. tile, block:
    the extents of one tile, and of one block. trips: of each loop, the innermost first.
    extents: of the root at each level. row_level, tile_level: those of the loop over a
    tile's rows, and of the one over tiles. rows: trips of the former. instances: how
    often the inside of each level runs. needed: the spans of every source at all
    levels, one after the other, and then those of two rows together.
    """

    def __init__(
        self,
        regions: Regions,
        root: Function,
        members: Sequence[Function],
        own: Loops,
        tiles: Tiles,
    ) -> None:
        self.regions, self.root, self.own, self.tiles = regions, root, own, tiles
        whole = regions.bounds[root]
        self.low = [lo for lo, _ in whole]
        self.full = [hi - lo + 1 for lo, hi in whole]
        self.count = len(tiles.sizes[0]) if tiles.sizes else 1
        self.tile = [
            np.minimum(t, e) for t, e in zip(tiles.sizes, self.full, strict=False)
        ]
        self.block = [
            np.minimum(b, t) for b, t in zip(own.block, self.tile, strict=True)
        ]
        self._find_levels()
        self.needed = regions.needed((root, *members), {root: self._spans()})
        #: What comes from outside of the group.
        self.outside = [s for s in self.needed if s is not root and s not in members]
        self._boxes: dict[Source, Numbers] = {}
        self._volumes: dict[Source, Numbers] = {}

    def _find_levels(self) -> None:
        extents = list(self.block)
        self.trips: list[Numbers] = []
        self.extents: list[list[Any]] = [list(extents)]
        self.row_level = 0
        self.rows: Numbers = np.ones(self.count)
        for d in self.own.order:
            n = np.ceil(self.tile[d] / extents[d])
            extents[d] = self.tile[d]
            if d == self.tiles.row:
                # Members at ROW are computed inside this loop.
                self.row_level, self.rows = len(self.trips), n
            self._add(n, extents)
        self.tile_level = len(self.trips)
        for d in self.tiles.outer:
            n = np.ceil(self.full[d] / extents[d])
            extents[d] = np.full(self.count, self.full[d])
            self._add(n, extents)
        if self.tiles.row < 0:
            self.row_level = self.tile_level
        after: Numbers = np.ones(self.count)
        self.instances: list[Numbers] = [after]
        for n in reversed(self.trips):
            after = after * n
            self.instances.append(after)
        self.instances.reverse()

    def _add(self, n: Numbers, extents: Sequence[Any]) -> None:
        """A loop of so many iterations, if any candidate has more than one."""
        if n.max() > 1:
            self.trips.append(n)
            self.extents.append(list(extents))

    def _spans(self) -> Spans:
        """Of the root: at each level, and then of two rows."""
        two = list(self.extents[self.row_level])
        row = self.tiles.row
        if row >= 0:
            two[row] = np.minimum(two[row] + self.block[row], self.full[row])
        levels = [*self.extents, two]
        spans = []
        for d, low in enumerate(self.low):
            sizes = np.concatenate([level[d] for level in levels])
            # In the middle of the image, where nothing is clamped.
            start = np.maximum(0, (self.full[d] - sizes) // 2)
            block = self.own.block[d]
            start = low + start // block * block
            spans.append((start, start + sizes - 1))
        return tuple(spans)

    def box(self, source: Source) -> Numbers:
        """The extents that one run of the inside of each level needs of a source:
        dimensions by levels (the last one is that of two rows) by candidates."""
        found = self._boxes.get(source)
        if found is None:
            # What is never read is not needed at all.
            spans = self.needed.get(source, self.regions.bounds[source])
            levels = len(self.extents) + 1
            flat = np.empty((len(spans), levels * self.count), np.int64)
            for made, (lo, hi) in zip(flat, spans, strict=True):
                np.subtract(hi, lo, out=made, casting="unsafe")
            # Of what a box does not need, there is no point.
            sizes = np.maximum(flat + 1, 0).astype(np.float64)
            found = self._boxes[source] = sizes.reshape(-1, levels, self.count)
        return found

    def volumes(self, source: Source) -> Numbers:
        """Bytes of a source that one run of the inside of each level needs."""
        found = self._volumes.get(source)
        if found is None:
            found = self.box(source).prod(axis=0)
            found *= element_bytes(source)
            self._volumes[source] = found
        return found

    @cached_property
    def incoming(self) -> Numbers:
        """Of all that comes from outside: sources by levels by candidates."""
        levels = len(self.extents) + 1
        made = np.empty((len(self.outside), levels, self.count))
        for k, s in enumerate(self.outside):
            made[k] = self.volumes(s)
        return made

    @cached_property
    def touched(self) -> Numbers:
        """Bytes that one run of the inside of each level touches, but for what members
        store: levels by candidates."""
        own: Any = float(element_bytes(self.root))
        for d in range(len(self.full)):
            own = own * np.array([level[d] for level in self.extents], dtype=np.float64)
        made: Numbers = own + self.incoming[:, :-1].sum(axis=0)
        return made

    def pages(self, source: Source) -> Numbers:
        """How many pages of a source are touched at each level."""
        whole = self.regions.bounds[source]
        stride = run = float(element_bytes(source))
        pages: Any = np.ones((len(self.extents) + 1, self.count))
        first = True
        for size, (lo, hi) in zip(self.box(source), whole, strict=True):
            if stride < PAGE:
                run = size * stride if first else np.maximum(run, size * stride)
            else:
                pages = pages * size
            first = False
            stride *= hi - lo + 1
        return np.asarray(pages * np.ceil(run / PAGE), dtype=np.float64)


__all__ = ["PAGE", "Geometry", "Numbers", "Tiles"]
