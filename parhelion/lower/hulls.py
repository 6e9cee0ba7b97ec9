"""Regions, and the least one around what several stages touch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from parhelion.analysis.box import holds_nothing
from parhelion.analysis.symbolic import SymInterval
from parhelion.ir.build import select
from parhelion.lower.loops import Range, hull
from parhelion.lower.stages import LoopStage

#: The range of each dimension.
Region = tuple[Range, ...]


def hulls(a: Region, b: Region) -> Region:
    """The least region around what is in either."""
    if _holds_nothing(a):
        return b
    if _holds_nothing(b):
        return a
    return tuple([hull(x, y) for x, y in zip(a, b, strict=True)])


def _holds_nothing(region: Region) -> bool:
    return holds_nothing(tuple([SymInterval(r.lo, r.hi) for r in region]))


def together(found: Sequence[tuple[LoopStage, Region]]) -> Region | None:
    """The hull of what several stages touch; of the branches of one definition, what
    that one touches which runs."""
    out: Region | None = None
    for _, group in groupby(found, lambda one: (one[0].func, one[0].index)):
        branches = list(group)
        region = branches[-1][1]
        for stage, other in reversed(branches[:-1]):
            region = tuple(
                [
                    Range(
                        select(stage.condition, a.lo, b.lo),
                        select(stage.condition, a.hi, b.hi),
                    )
                    for a, b in zip(other, region, strict=True)
                ]
            )
        out = region if out is None else hulls(out, region)
    return out


__all__ = ["Region", "hulls", "together"]
