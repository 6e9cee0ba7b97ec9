"""What the paper's scheduler asks of a pipeline: costs of tiles, and reuse of inputs.

Automatically Scheduling Halide Image Processing Pipelines (2016), sections 4.1 and 4.2.
All is asked for many tiles at once: sizes are NumPy arrays with one entry for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from parhelion.autoschedule.pipeline.evaluators import Number
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, Source
from parhelion.autoschedule.pipeline.regions import Regions, Spans, hull
from parhelion.autoschedule.pipeline.work import Work, element_bytes
from parhelion.dataclass import dataclass
from parhelion.ir.expr import FuncCall
from parhelion.ir.function import Function

Sizes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TileCost:
    """What one tile costs: operations, elements loaded from outside of the group, and
    bytes of what is loaded and of the group's own intermediate results."""

    arithmetic: Number
    loads: Number
    footprint: Number


class Model:
    """Numbers about the stages of one graph."""

    def __init__(self, graph: Graph, regions: Regions) -> None:
        self.graph, self.regions = graph, regions
        self._works: dict[GraphStage, Work] = {}
        self._loads: dict[GraphStage, dict[Source, int]] = {}
        self._reuse: dict[GraphStage, Floats] = {}

    def work(self, stage: GraphStage) -> Work:
        found = self._works.get(stage)
        if found is None:
            found = self._works[stage] = Work(stage)
        return found

    def loads(self, stage: GraphStage) -> dict[Source, int]:
        """How many loads of each source one point of a stage makes."""
        found = self._loads.get(stage)
        if found is None:
            found = {}
            for e in self.work(stage).reads:
                source: Source = e.func if isinstance(e, FuncCall) else e.image
                found[source] = found.get(source, 0) + 1
            self._loads[stage] = found
        return found

    def whole(self, stage: GraphStage) -> Spans:
        """The spans of a stage's loops over the whole run."""
        return self.regions.loops(stage, self.regions.bounds[stage.func])

    def extents(self, stage: GraphStage) -> tuple[int, ...]:
        """How often each loop of a stage runs, innermost first."""
        return tuple([max(1, int(hi - lo + 1)) for lo, hi in self.whole(stage)])

    def points(self, stage: GraphStage) -> float:
        return float(np.prod(self.extents(stage), dtype=np.float64))

    # Tiles.

    def tiles(self, stage: GraphStage, sizes: Sizes) -> Spans:
        """The spans of a stage's loops in a tile in the middle, for each row of sizes
        (one column for each loop)."""
        made = []
        for d, (lo, hi) in enumerate(self.whole(stage)):
            size = sizes[:, d]
            count = -(-(hi - lo + 1) // size)
            start = np.minimum(lo + (count // 2) * size, hi - size + 1)
            made.append((start, start + size - 1))
        return tuple(made)

    def tile_cost(
        self, host: GraphStage, members: Sequence[Function], spans: Spans
    ) -> TileCost:
        """What the spans of the host's loops cost, with what `members` (consumers
        before producers) compute for them.

        Of a source that is read at places which only a run knows, no more is loaded
        than there are loads.
        """
        inside = set(members)
        count: dict[Source, Number] = {}
        host_points = _points(spans)
        arithmetic = self.work(host).arithmetic * host_points
        box: dict[Source, Spans] = {}
        self._read(host, spans, host_points, box, count)
        for _, stage, loops in self._through(members, box):
            points = _points(loops)
            arithmetic = arithmetic + self.work(stage).arithmetic * points
            self._read(stage, loops, points, box, count)
        loads: Number = 0.0
        footprint: Number = 0.0
        for source, spans_of in box.items():
            size = _points(spans_of)
            if source not in inside:
                size = np.minimum(size, count[source])
                loads = loads + size
            footprint = footprint + size * element_bytes(source)
        return TileCost(arithmetic, loads, footprint)

    def boxes(
        self, host: GraphStage, members: Sequence[Function], spans: Spans
    ) -> dict[Source, Spans]:
        """What the spans of the host's loops need of everything."""
        box: dict[Source, Spans] = {}
        self._read(host, spans, 0.0, box, {})
        for _, stage, loops in self._through(members, box):
            self._read(stage, loops, 0.0, box, {})
        return box

    def _through(
        self, members: Sequence[Function], box: dict[Source, Spans]
    ) -> Iterator[tuple[Function, GraphStage, Spans]]:
        """The definitions of what is needed of the members, and the spans of their
        loops; updates first: what they read of their own Func must be there."""
        for f in members:
            if f in box:
                for stage in reversed(self.graph.stages[f]):
                    yield f, stage, self.regions.loops(stage, box[f])

    def _read(
        self,
        stage: GraphStage,
        spans: Spans,
        points: Number,
        box: dict[Source, Spans],
        count: dict[Source, Number],
    ) -> None:
        each = self.loads(stage)
        for source, found in self.regions.touched_by(stage, spans).items():
            old = box.get(source)
            box[source] = found if old is None else hull(old, found)
            more = each.get(source, 0) * points
            count[source] = count.get(source, 0.0) + more

    # Reuse.

    def reuse(self, stage: GraphStage) -> Floats:
        """For each loop of a stage, how much of what one step along it needs was needed
        by the step before, of all Funcs and images that it depends on: the overlap of
        two adjacent strips, in elements for each point of a strip (section 4.1)."""
        found = self._reuse.get(stage)
        if found is None:
            order = [f for f in reversed(self.graph.order) if f is not stage.func]
            found = self._reuse[stage] = self.overlap(stage, order, False)
        return found

    def overlap(
        self, stage: GraphStage, through: Sequence[Function], outside: bool
    ) -> Floats:
        """The overlap for each loop of what is needed through Funcs that are computed
        just as far as needed: of all, or of what is `outside` of these Funcs."""
        whole = self.whole(stage)
        n = len(whole)
        if not n:
            return np.zeros(0)
        spans = []
        strip = np.full(n, self.points(stage))
        for d, (lo, hi) in enumerate(whole):
            low, high = np.full(2 * n, lo), np.full(2 * n, hi)
            middle = (lo + hi) // 2
            low[d] = high[d] = middle
            low[n + d] = high[n + d] = middle + 1
            strip[d] /= max(1, hi - lo + 1)
            spans.append((low, high))
        inside = set(through)
        box: dict[Source, Spans] = {}
        self._read(stage, tuple(spans), 0.0, box, {})
        for _, s, loops in self._through(through, box):
            self._read(s, loops, 0.0, box, {})
        total = np.zeros(n)
        for source, of in box.items():
            if outside and source in inside:
                continue
            # Its own values are stored as well as loaded.
            weight = 2.0 if source is stage.func else 1.0
            total += weight * _overlap(of, n)
        reused: Floats = total / strip
        return reused

    def bits(self, stage: GraphStage) -> int:
        """The width of the widest numbers that a stage computes with."""
        work = self.work(stage)
        widths = [t.width for t in stage.func.types]
        widths += [o.bits for o in work.operations] + [e.type.width for e in work.reads]
        return max(widths, default=32)


def _points(spans: Spans) -> Number:
    count: Number = 1.0
    for lo, hi in spans:
        count = count * np.maximum(hi - lo + 1, 0)
    return count


def _overlap(box: Spans, n: int) -> Floats:
    """The elements that the boxes number d and n + d have in common, for d < n."""
    count = np.ones(n)
    for lo, hi in box:
        low, high = np.broadcast_to(lo, 2 * n), np.broadcast_to(hi, 2 * n)
        first = np.maximum(low[:n], low[n:])
        last = np.minimum(high[:n], high[n:])
        count = count * np.maximum(last - first + 1, 0)
    return count


def counts(extents: Sequence[int], sizes: Sizes) -> Sizes:
    """How many tiles there are along each loop, for each row of sizes."""
    return -(-np.asarray(extents, dtype=np.int64) // sizes)


__all__ = ["Floats", "Model", "Sizes", "TileCost", "counts"]
