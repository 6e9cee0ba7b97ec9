"""The loops of a group's root for all candidate tiles, and what each of them needs.

Nothing here depends on where in these loops the group's members are computed, so it is
found once for all choices of that. A level is the inside of one of the root's loops:
level 0 is inside all of them, the last one is outside of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.model.scattered import Scattered
from parhelion.autoschedule.pipeline.graph import GraphStage, Source
from parhelion.autoschedule.pipeline.regions import Regions, Spans, hull
from parhelion.autoschedule.pipeline.storage import storage_of
from parhelion.autoschedule.pipeline.work import element_bytes
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function

Numbers = NDArray[np.float64]

#: Bytes of a page, and of a line of a cache.
PAGE = 4096
LINE = 64


@dataclass(frozen=True, eq=False)
class Tiles:
    """Candidates: for each, the points of every dimension in one tile (an array for
    each dimension), the dimensions whose tile loops are around, innermost first, and
    the dimension of the row loop."""

    sizes: tuple[Any, ...]
    outer: tuple[int, ...]
    row: int


class Need:
    """What one run of the inside of each level of a nest needs of a source.

    spans: at all levels, one after the other, and then those of two rows together. box:
    their extents, dimensions by levels (the last one is that of two rows) by
    candidates. volumes: bytes, levels by candidates. costs: what the model knows of
    computing just this, by how.
    """

    def __init__(
        self, source: Source, spans: Spans, whole: Spans, levels: int, count: int
    ) -> None:
        self.source, self.spans, self._whole = source, spans, whole
        self.costs: dict[object, Any] = {}
        flat = np.empty((len(spans), levels * count), np.int64)
        for made, (lo, hi) in zip(flat, spans, strict=True):
            np.subtract(hi, lo, out=made, casting="unsafe")
        # Of what a box does not need, there is no point.
        flat += 1
        np.maximum(flat, 0, out=flat)
        self.box: Numbers = flat.astype(np.float64).reshape(-1, levels, count)
        self.volumes: Numbers = self.box.prod(axis=0)
        self.volumes *= element_bytes(source) * self._lines()

    def _lines(self) -> Any:
        """How many times as much is moved between caches as is needed: one channel of a
        photograph of shape (H, W, C) comes with the others, in the same lines."""
        storage = storage_of(self.source)
        first = storage.order[0]
        if first == 0 or len(storage.strides) == 1:
            return 1.0
        lo, hi = self._whole[first]
        together = min(hi - lo + 1, LINE // element_bytes(self.source))
        return np.maximum(together / np.maximum(self.box[first], 1), 1.0)

    @cached_property
    def pages_in_block(self) -> float:
        """The most pages that one block touches."""
        return float(self.pages[0].max())

    @cached_property
    def pages(self) -> Numbers:
        """How many pages are touched at each level."""
        stride = run = float(element_bytes(self.source))
        pages: Any = np.ones(self.box.shape[1:])
        first = True
        for d in storage_of(self.source).order[: len(self.box)]:
            size, (lo, hi) = self.box[d], self._whole[d]
            if stride < PAGE:
                run = size * stride if first else np.maximum(run, size * stride)
            else:
                pages = pages * size
            first = False
            stride *= hi - lo + 1
        return np.asarray(pages * np.ceil(run / PAGE), dtype=np.float64)


class Nest:
    """The loops of one root, for all candidate tiles at once, whatever its members are.

    low, full: where the root begins and its extents. count: of candidates. tile, block:
    the extents of one tile, and of one block. trips: of each loop, the innermost first.
    extents: of the root at each level. row_level, tile_level: those of the loop over a
    tile's rows, and of the one over tiles. rows: trips of the former. instances: how
    often the inside of each level runs. own_bytes: of the root at each level.
    computing: what the model knows of its own time, by its definitions.

    What some definition needs, given what is needed of it, is found once for all groups
    in which it is the same.
    """

    def __init__(
        self, regions: Regions, root: Function, own: Loops, tiles: Tiles
    ) -> None:
        self.root, self.own, self.tiles = root, own, tiles
        self._bounds = regions.bounds
        whole = self._bounds[root]
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
        self.computing: dict[object, Numbers] = {}
        self.spans = self._spans()
        #: By what they are of; what the keys stand for is kept with them.
        self._known: dict[object, Need] = {}
        self._needs: dict[tuple[Source, int], tuple[Spans, Need]] = {}
        self._touched: dict[tuple[GraphStage, int], dict[Source, Spans]] = {}
        self._hulls: dict[tuple[int, int], tuple[Spans, Spans, Spans]] = {}

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
        own: Any = float(element_bytes(self.root))
        for d in range(len(self.full)):
            own = own * np.array([level[d] for level in self.extents], dtype=np.float64)
        self.own_bytes: Numbers | float = own

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
            # Of three blocks the second, though the middle is in the first half.
            inner = np.minimum(1, np.maximum(0, self.full[d] - sizes) // block)
            start = low + np.maximum(start // block, inner) * block
            spans.append((start, start + sizes - 1))
        return tuple(spans)

    def need(self, source: Source, spans: Spans) -> Need:
        """The same object for equal spans of a source."""
        found = self._needs.get((source, id(spans)))
        if found is None:
            ends = [end for span in spans for end in span]
            key = (
                source,
                *[
                    e.tobytes() if isinstance(e, np.ndarray | np.generic) else e
                    for e in ends
                ],
            )
            need = self._known.get(key)
            if need is None:
                whole, levels = self._bounds[source], len(self.extents) + 1
                need = Need(source, spans, whole, levels, self.count)
                self._known[key] = need
            found = self._needs[source, id(spans)] = spans, need
        return found[1]

    def needs(
        self, regions: Regions, members: Sequence[Function]
    ) -> dict[Source, Need]:
        """What computing the root needs of everything, through `members` (consumers
        before producers): see `Regions.needed`."""
        found: dict[Source, Spans] = {self.root: self.spans}
        for f in (self.root, *members):
            if f not in found:
                continue
            for stage in regions.graph.stages[f]:
                for source, spans in self._reads(regions, stage, found[f]).items():
                    old = found.get(source)
                    found[source] = spans if old is None else self._hull(old, spans)
        return {source: self.need(source, spans) for source, spans in found.items()}

    def _reads(
        self, regions: Regions, stage: GraphStage, box: Spans
    ) -> dict[Source, Spans]:
        need = self.need(stage.func, box)
        found = self._touched.get((stage, id(need)))
        if found is None:
            found = self._touched[stage, id(need)] = regions.touched(stage, need.spans)
        return found

    def _hull(self, a: Spans, b: Spans) -> Spans:
        found = self._hulls.get((id(a), id(b)))
        if found is None:
            found = self._hulls[id(a), id(b)] = a, b, hull(a, b)
        return found[2]


#: What a definition only reads where data decides, by source.
ByData = Callable[[GraphStage], Mapping[Source, Scattered]]


class Geometry:
    """What one group needs at all levels of its root's loops.

    needs: of every source. outside: what comes from outside of the group. by_data: what
    is only read where data decides, of which no more is touched than that.
    """

    def __init__(
        self,
        nest: Nest,
        regions: Regions,
        members: Sequence[Function],
        by_data: ByData,
    ) -> None:
        self.nest, self._regions, self._by_data = nest, regions, by_data
        self._inside: dict[object, Numbers] = {}
        self.needs = nest.needs(regions, members)
        self.outside = [
            s for s in self.needs if s is not nest.root and s not in members
        ]

    def need(self, source: Source) -> Need:
        found = self.needs.get(source)
        if found is None:
            # What is never read is not needed at all.
            found = self.nest.need(source, self._regions.bounds[source])
            self.needs[source] = found
        return found

    @cached_property
    def incoming(self) -> Numbers:
        """Bytes of all that comes from outside: sources by levels by candidates."""
        return self._volumes(self.outside, self.needs)

    def read_inside(
        self, sources: Sequence[Source], inside: tuple[Function, ...]
    ) -> Numbers:
        """Bytes that the root's loops need of these sources, where only these members
        are computed in them, further in than once a tile: sources by levels by
        candidates."""
        key = tuple(sources), inside
        found = self._inside.get(key)
        if found is None:
            needs = self.nest.needs(self._regions, inside)
            found = self._inside[key] = self._volumes(sources, needs)
        return found

    def _volumes(
        self, sources: Sequence[Source], needs: Mapping[Source, Need]
    ) -> Numbers:
        nest = self.nest
        made = np.zeros((len(sources), len(nest.extents) + 1, nest.count))
        for k, s in enumerate(sources):
            if s in needs:
                made[k] = needs[s].volumes
                most = self._looked_up.get(s)
                if most is not None:
                    made[k] = np.minimum(made[k], most[0])
        return made

    def pages(self, source: Source) -> Numbers:
        """How many pages of a source are touched at each level."""
        pages, most = self.need(source).pages, self._looked_up.get(source)
        return pages if most is None else np.minimum(pages, most[1])

    @cached_property
    def _looked_up(self) -> dict[Source, tuple[Numbers, Numbers]]:
        """Of what is only read where data decides, the most bytes and places that are
        read at each level."""
        found: dict[Source, tuple[Numbers, Numbers]] = {}
        sure: set[Source] = set()
        for f, need in self.needs.items():
            if f in self.outside or not isinstance(f, Function):
                continue
            points = need.volumes / element_bytes(f)
            for stage in self._regions.graph.stages[f]:
                scattered = self._by_data(stage)
                sure.update([s for s in stage.sources() if s not in scattered])
                for s, one in scattered.items():
                    bytes_, places = found.get(s, (0.0, 0.0))
                    found[s] = (
                        np.asarray(bytes_ + points * one.bytes),
                        np.asarray(places + points * one.places),
                    )
        return {s: most for s, most in found.items() if s not in sure}

    @cached_property
    def touched(self) -> Numbers:
        """Bytes that one run of the inside of each level touches, but for what members
        store: levels by candidates."""
        made: Numbers = self.nest.own_bytes + self.incoming[:, :-1].sum(axis=0)
        return made


__all__ = ["PAGE", "ByData", "Geometry", "Need", "Nest", "Numbers", "Tiles"]
