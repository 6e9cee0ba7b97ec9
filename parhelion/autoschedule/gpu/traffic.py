"""How many sectors of memory, or turns of the banks of shared memory, one load takes.

The threads of a warp load together. From memory on the device come sectors of 32 bytes,
however little of each is asked for; shared memory has 32 banks of 4 bytes, and those
who want different words of the same bank take turns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.pipeline.work import Access
from parhelion.ir.expr import Var
from parhelion.ir.function import Function

#: Bytes of a sector, and of a line of the cache; threads of a warp, and banks; bytes of
#: a word.
SECTOR, LINE, WARP, WORD = 32, 128, 32, 4


def step_of(access: Access, v: Var, strides: Sequence[Any]) -> Any | None:
    """How many elements apart the loads of two threads are that are neighbours along a
    loop; None where that depends on data."""
    total: Any = 0.0
    for d, stride in enumerate(strides):
        step = access.step(d, v)
        if step is None:
            share = access.divided.get((d, v))
            if share is None:
                return None
            total = total + share * stride
        else:
            total = total + step * stride
    return abs(total)


def loading(step: Any | None, bits: int, along: Any, rows: Any, near: float) -> Any:
    """Cycles of an SM for one load of a warp: one for each line of the cache, or what
    its sectors take at so many bytes a cycle, if that is more. Else as `sectors`."""
    lines = sectors(step, bits, along, rows, LINE)
    return np.maximum(lines, sectors(step, bits, along, rows) * SECTOR / near)


def sectors(
    step: Any | None, bits: int, along: Any, rows: Any, unit: int = SECTOR
) -> Any:
    """Sectors, or pieces of memory of so many bytes, that one load of a warp takes.

    step: elements between neighbouring threads, None if they go anywhere. along: how
    many threads of the block are neighbours; rows: whether the rows of threads in a
    warp load from different places.
    """
    lanes = np.minimum(along, WARP)
    number = np.where(rows, WARP / lanes, 1.0)
    if step is None:
        return np.full(np.shape(lanes), float(WARP))
    size = max(8, bits) / 8
    each = np.minimum(lanes, np.ceil(((lanes - 1) * step * size + size) / unit))
    return np.minimum(float(WARP), np.maximum(1.0, each) * number)


def turns(step: Any | None, bits: int, along: Any) -> Any:
    """How many turns the banks take for one load of a warp from shared memory."""
    lanes = np.minimum(along, WARP)
    if step is None:
        # Of 32 threads that go anywhere, three or four meet at the fullest bank.
        return np.full(np.shape(lanes), 3.5)
    words = np.asarray(step) * (max(8, bits) / (8 * WORD))
    whole = np.maximum(np.rint(words), 0).astype(np.int64)
    same = np.gcd(whole, WARP)
    # One word for all is sent to all.
    return np.where(whole == 0, 1.0, np.minimum(same, lanes)).astype(float)


def strides_of(extents: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """How far apart in memory neighbours along each dimension are, in elements.

    order: the dimensions as they are stored, innermost first.
    """
    strides: list[Any] = [1.0] * len(extents)
    total: Any = 1.0
    for d in order:
        strides[d] = total
        total = total * extents[d]
    return strides


def bytes_of(extents: Sequence[Any], size: int) -> Any:
    """Bytes that a box takes, rows of it in whole sectors."""
    if not extents:
        return float(size)
    row = np.ceil(extents[0] * size / SECTOR) * SECTOR
    return row * math.prod(extents[1:], start=1.0)


def known_when_compiled(a: Access, stage: GraphStage) -> bool:
    """Whether a place is known when the code is compiled, once the loops over a
    thread's points are unrolled: registers have no addresses."""
    domain = frozenset(stage.rvars)
    for step in a.steps:
        if any(k is None or k and v in domain for v, k in step.items()):
            return False
    return True


def stored_order(f: Function) -> Sequence[int]:
    """The dimensions of a Func as it is stored, innermost first."""
    order = list(f.schedule.storage_order)
    return [*order, *[d for d in range(f.dimensions) if d not in order]]


__all__ = [
    "SECTOR",
    "WARP",
    "bytes_of",
    "known_when_compiled",
    "loading",
    "sectors",
    "step_of",
    "stored_order",
    "strides_of",
    "turns",
]
