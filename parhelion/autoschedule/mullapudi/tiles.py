"""The tile sizes that are tried (the 2016 paper, section 4.2.3).

Hypercubes, and volumes elongated along the loops of greatest reuse; the innermost loop
has at least a small multiple of the vector width.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from parhelion.autoschedule.mullapudi.model import Floats, Sizes
from parhelion.autoschedule.pipeline.graph import GraphStage

#: Extents of a tile.
SIDES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
#: How many vectors the innermost loop of a tile has at least.
VECTORS = 2


def tile_sizes(
    stage: GraphStage,
    extents: Sequence[int],
    reuse: Floats,
    narrowest: int,
    sides: Sequence[int] = SIDES,
) -> Sizes:
    """The candidates for a stage: a row for each, a column for each loop.

    extents: of the loops; no tile is larger. reuse: for each loop. narrowest: the least
    extent of a tile in the dimension that is innermost in memory.

    Loops over a reduction domain are split so that their iterations stay in order: one
    of them is tiled, those further in are whole, those further out are steps of 1.
    """
    rank = len(stage.rvars)
    pure = list(range(rank, len(extents)))
    inner = innermost(stage)
    shapes = {tuple(extents[d] for d in pure)}
    by_reuse = sorted(pure, key=lambda d: -reuse[d])
    for side in sides:
        shapes.add(tuple(side for _ in pure))
        for longest in range(1, len(pure)):
            long = set(by_reuse[:longest])
            for length in (*sides, max(extents)):
                if length > side:
                    shapes.add(tuple(length if d in long else side for d in pure))
    clipped = set()
    for shape in shapes:
        sized = [
            min(extents[d], max(size, narrowest) if d == inner else size)
            for d, size in zip(pure, shape, strict=True)
        ]
        clipped.add(tuple(sized))
    rows = [
        (*reduced, *shape)
        for reduced, shape in itertools.product(
            _reductions(extents[:rank], sides), sorted(clipped)
        )
    ]
    return np.asarray(rows, dtype=np.int64).reshape(len(rows), len(extents))


def innermost(stage: GraphStage) -> int:
    """Which loop runs along the innermost dimension in memory: the one that becomes
    vectors; -1 if none does."""
    if not stage.pure:
        return -1
    at = {v: k for k, v in enumerate(stage.loops)}
    first = min(stage.pure, key=stage.func.args.index)
    return at[first]


def _reductions(extents: Sequence[int], sides: Sequence[int]) -> list[tuple[int, ...]]:
    found = {tuple(extents)}
    for k, extent in enumerate(extents):
        for side in sides:
            if 1 < side < extent:
                outer = (1,) * (len(extents) - k - 1)
                found.add((*extents[:k], side, *outer))
    return sorted(found, reverse=True)


__all__ = ["SIDES", "VECTORS", "innermost", "tile_sizes"]
