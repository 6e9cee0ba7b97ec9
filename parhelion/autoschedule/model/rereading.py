"""What loops read from beyond each cache, by what one iteration of each loop touches.

A loop whose single iteration touches no more than a cache holds finds there what
iterations before it have read, and takes from beyond the cache each byte once; one that
touches more takes it anew in every iteration. A mean of seven rows reads each row seven
times from the second-level cache where seven rows are more than the first holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.geometry import ByData, Need, Numbers
from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.pipeline.graph import GraphStage, Source
from parhelion.autoschedule.pipeline.regions import Regions, Spans
from parhelion.autoschedule.pipeline.work import element_bytes

#: How much of a cache is there for what loops come back to.
_HELD = 0.8


def rooms(machine: Machine) -> Numbers:
    """Bytes of the first- and the second-level cache that loops can count on."""
    return np.array([machine.l1 * _HELD, machine.l2 * _HELD])


class Reader:
    """Reads of one Func's loops, which all of them run to compute a box of it.

    box: its extents, dimensions by candidates. low: where it begins.
    """

    def __init__(
        self, need: Need, level: int, loops: Loops, regions: Regions, machine: Machine
    ) -> None:
        self._need, self._loops = need, loops
        self._regions, self._machine = regions, machine
        self.box = need.box[:, level]
        levels, self._count = need.box.shape[1:]
        self.low = [
            np.broadcast_to(lo, (levels * self._count,)).reshape(levels, -1)[level]
            for lo, _ in need.spans
        ]

    def read(self, stage: GraphStage, by_data: ByData) -> Mapping[Source, Numbers]:
        """Bytes that one run of a definition's loops takes of each of its sources from
        beyond the first- and the second-level cache: caches by candidates."""
        trips, extents = self._levels(stage)
        touched = self._regions.touched(stage, self._spans(extents))
        points = np.stack([_product(of, self._count) for of in extents])
        sets = points * element_bytes(stage.func)
        volumes: dict[Source, Numbers] = {}
        for source, spans in touched.items():
            if source is not stage.func:
                whole = self._regions.bounds[source]
                need = Need(source, spans, whole, len(extents), self._count)
                volumes[source] = need.volumes
        for source, scattered in by_data(stage).items():
            if source in volumes:
                most = points * scattered.bytes
                volumes[source] = np.minimum(volumes[source], most)
        for volume in volumes.values():
            sets = sets + volume
        fits = sets <= rooms(self._machine)[:, None, None]
        return {s: _from_beyond(v, trips, fits) for s, v in volumes.items()}

    def _levels(self, stage: GraphStage) -> tuple[list[Numbers], list[list[Numbers]]]:
        """The iterations of a definition's loops around the innermost one, and what of
        the box is computed inside of each, and by all."""
        inside = [
            np.minimum(b, e) if d in stage.dimensions else e
            for d, (b, e) in enumerate(zip(self._loops.block, self.box, strict=True))
        ]
        trips: list[Numbers] = []
        extents: list[list[Numbers]] = []
        for d in self._loops.order:
            n = np.ceil(self.box[d] / np.maximum(inside[d], 1))
            inside[d] = self.box[d]
            # A block is in the nearest cache: what two of them read is read once.
            if extents and n.max() <= 1:
                continue
            if extents:
                trips.append(n)
            extents.append(list(inside))
        return trips, extents or [inside]

    def _spans(self, extents: Sequence[Sequence[Numbers]]) -> Spans:
        """Boxes of these extents, in the middle of what is computed."""
        spans = []
        for d, (low, whole) in enumerate(zip(self.low, self.box, strict=True)):
            sizes = np.concatenate([of[d] for of in extents])
            start = np.tile(low, len(extents))
            start = start + (np.tile(whole, len(extents)) - sizes) // 2
            spans.append((start, start + sizes - 1))
        return tuple(spans)


def _from_beyond(
    volume: Numbers, trips: Sequence[Numbers], fits: NDArray[np.bool_]
) -> Numbers:
    """Bytes that loops take of a source from beyond each cache. volume: what each
    touches of it; fits: whether the caches hold all that each touches."""
    loaded = np.stack([volume[0], volume[0]])
    for k, n in enumerate(trips):
        anew = n * loaded
        loaded = np.where(fits[:, k], np.minimum(volume[k + 1], anew), anew)
    return loaded


def _product(extents: Sequence[Numbers], count: int) -> Numbers:
    made: Numbers = np.ones(count)
    for e in extents:
        made = made * e
    return made


__all__ = ["Reader", "rooms"]
