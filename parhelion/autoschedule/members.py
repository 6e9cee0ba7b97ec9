"""What a member of a group costs, wherever in the loops of the root it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parhelion.autoschedule.geometry import Need, Numbers
from parhelion.autoschedule.plan import Loops


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, computed inside a loop level.

    stored: bytes of one run's results. traffic: bytes written and read in all.
    computing: nanoseconds of the core in all.
    """

    level: int
    stored: Numbers
    traffic: Numbers
    computing: Numbers


def new_in_row(need: Need, box: list[Numbers]) -> list[Numbers]:
    """What a row has to compute that the row before it has not."""
    both = need.box[:, -1]
    made = list(box)
    grown = [d for d in range(len(box)) if (both[d] > box[d]).any()]
    if len(grown) == 1:
        (d,) = grown
        made[d] = np.minimum(both[d] - box[d], box[d])
    return made


def rounded_up(box: Sequence[Numbers], loops: Loops) -> Numbers:
    """How many times larger than a box what is stored of it is: a block at least."""
    times: Numbers = np.ones(1)
    for extent, block in zip(box, loops.block, strict=True):
        times = times * np.maximum(1, block / np.maximum(extent, 1))
    return times


__all__ = ["Member", "new_in_row", "rounded_up"]
