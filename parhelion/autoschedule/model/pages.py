"""Pages that blocks of a tile come back to too late, and dense copies that avoid it.

The translation buffers know few pages. A block that touches more of them, as one that
goes down the columns of a matrix does, misses them anew at each. Where that costs more,
a tile copies what it needs into dense memory first; a copy serves as many tiles as want
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.geometry import PAGE, Geometry, Need, Nest, Numbers
from parhelion.autoschedule.pipeline.graph import Source
from parhelion.ir.function import Function

#: How many pages the translation buffers know.
_NEAR, _FAR = 64, 1024
#: How much of the second-level cache a copy may take.
_SHARE = 0.6

#: Of sources and their readers, for each candidate tile: outside of how many loops over
#: tiles a copy is made, the innermost first; -1 where none is.
Copied = Mapping[tuple[Source, Function], NDArray[np.int_]]


def lost_to_pages(
    geometry: Geometry,
    reader_of: Callable[[Source], Function | None],
    machine: Machine,
) -> tuple[Numbers, Copied]:
    """Nanoseconds that blocks lose to pages, or to copying what they need where that is
    less; and the copies. reader_of: the Func that could read a copy of a source."""
    nest = geometry.nest
    level, blocks = nest.tile_level, nest.instances[0]
    total: Numbers = np.zeros(nest.count)
    copied: dict[tuple[Source, Function], NDArray[np.int_]] = {}
    for s in geometry.outside:
        need, pages = geometry.need(s), geometry.pages(s)
        if need.pages_in_block <= _NEAR or pages[0].max() <= _NEAR:
            continue
        volumes = need.volumes
        loss = blocks * _time(pages[0], machine)
        reader = reader_of(s)
        if reader is not None:
            over, copies = _outside(need, nest, machine.threads)
            vectors = volumes[level] / machine.vector_bytes
            copying = copies * (
                vectors * (machine.load + machine.store)
                + _time(pages[level], machine)
                + machine.produce
            )
            dense = blocks * _time(volumes[0] / PAGE, machine)
            fits = volumes[level] <= machine.l2 * _SHARE
            tiled = (nest.instances[level] > 1) & (level < len(nest.trips))
            better = fits & tiled & (dense + copying < loss)
            loss = np.where(better, dense + copying, loss)
            copied[s, reader] = np.where(better, over, -1)
        total = total + loss
    return total, copied


def _outside(need: Need, nest: Nest, threads: int) -> tuple[NDArray[np.int_], Numbers]:
    """Loops over tiles, from the innermost on, inside of which what is needed stays
    where it is, as long as threads are kept busy: how many there are, and how often
    what is outside of them runs."""
    over, runs = np.zeros(nest.count, np.int_), nest.instances[nest.tile_level]
    still = np.ones(nest.count, np.bool_)
    for level in range(nest.tile_level, len(nest.trips)):
        outer = nest.instances[level + 1]
        same = (need.box[:, level] == need.box[:, level + 1]).all(axis=0)
        still &= same & (outer > 1) & (outer >= threads)
        over += still & (nest.trips[level] > 1)
        runs = np.where(still, outer, runs)
    return over, runs


def _time(pages: Numbers, machine: Machine) -> Numbers:
    """Touching so many pages in turn, again and again."""
    each = np.where(pages > _FAR, machine.far_page, machine.page)
    return np.where(pages > _NEAR, pages * each, 0.0)


__all__ = ["Copied", "lost_to_pages"]
