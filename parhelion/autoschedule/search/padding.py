"""Rows of storage that are rounded up to whole vectors, so that all begin alike.

What a member of a group stores for a tile has rows of odd lengths, a tile's and what
neighbours need beyond it. Where one row begins in the middle of a line of the cache, so
do all of its stores, and each of them touches two lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property

from parhelion.autoschedule.model.plan import Group, Level
from parhelion.autoschedule.pipeline.graph import Source
from parhelion.autoschedule.pipeline.regions import Regions, Spans
from parhelion.autoschedule.pipeline.work import element_bytes
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function

#: Rows must not become longer than by this share.
_MOST = 0.25
#: Bytes between rows that fall into the same few sets of the cache.
_CONFLICT = 1024


@dataclass
class Padding:
    """Which members of a group had better have longer rows.

    vector_bytes: of one register, which is what rows are rounded up to.
    """

    group: Group
    regions: Regions
    vector_bytes: int

    def of(self, f: Function) -> int:
        """How many elements the rows of a member are a multiple of; 1 if they had
        better stay as they are.

        That is where the user has laid the storage out, where nothing goes along the
        rows in vectors, where there is one row only, or where a multiple would make
        rows lie apart by what is the same in the cache.
        """
        at, loops = self.group.members[f], self.group.loops[f]
        order = f.schedule.storage_order or range(f.dimensions)
        first = next(iter(order), -1)
        if at is Level.BLOCK or first != loops.vector or f.dimensions < 2:
            return 1
        if f.schedule.storage:
            return 1
        needed = (self._row if at is Level.ROW else self._tile).get(f)
        if needed is None:
            return 1
        extents = [int(hi - lo + 1) for lo, hi in (needed[d] for d in order)]
        lanes = self.vector_bytes // min(max(1, t.width // 8) for t in f.types)
        return lanes if _gains(extents, lanes, element_bytes(f)) else 1

    @cached_property
    def _tile(self) -> dict[Source, Spans]:
        """What one tile needs of all members."""
        return self._needed(self.group.tiling.tile)

    @cached_property
    def _row(self) -> dict[Source, Spans]:
        """What one row of a tile needs of all members."""
        row, sizes = self.group.tiling.row, list(self.group.tiling.tile)
        if row >= 0:
            sizes[row] = self.group.loops[self.group.root].block[row]
        return self._needed(sizes)

    def _needed(self, sizes: Sequence[int]) -> dict[Source, Spans]:
        """sizes: points of the root in each dimension, 0 for all."""
        spans: list[tuple[int, int]] = []
        root = self.group.root
        for (lo, hi), size in zip(self.regions.bounds[root], sizes, strict=True):
            points = min(size or hi - lo + 1, hi - lo + 1)
            # In the middle of the image, where nothing is clamped.
            start = lo + (hi - lo + 1 - points) // 2 // points * points
            spans.append((start, start + points - 1))
        order = (root, *self.group.members)
        return self.regions.needed(order, {root: tuple(spans)}, keep=True)


def _gains(extents: Sequence[int], lanes: int, size: int) -> bool:
    """extents: of what is stored, the row first. size: bytes of an element."""
    row = -(-extents[0] // lanes) * lanes
    if row == extents[0] or row > extents[0] * (1 + _MOST) or max(extents[1:]) < 2:
        return False
    strides = itertools.accumulate(extents[1:], lambda a, b: a * b, initial=row)
    apart = [s for s, e in zip(strides, extents[1:], strict=False) if e > 1]
    return all(s * size % _CONFLICT for s in apart)


__all__ = ["Padding"]
