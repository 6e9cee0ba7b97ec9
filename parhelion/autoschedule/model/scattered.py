"""Reads at places that data decides: how much of a source they touch at the most.

Where only a run knows what is read, bounds inference says that it may be all of a
source. That is what has to be computed of it, but no point reads more than a few
values: what moves between caches is no more than all points inside of a loop read
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parhelion.analysis.rank import reads_data
from parhelion.autoschedule.pipeline.graph import Source
from parhelion.autoschedule.pipeline.work import Access
from parhelion.dataclass import dataclass
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.rewrite import nodes

#: Bytes that a look-up brings, of the 64 of a line: places that neighbours look up are
#: mostly near each other.
_LOOKED_UP = 16.0


@dataclass(frozen=True, slots=True)
class Scattered:
    """What one point of a reader touches of a source: bytes, and at how many places."""

    bytes: float
    places: float


def scattered_reads(
    loads: Iterable[Access], loops: Sequence[Var], trips: float
) -> dict[Source, Scattered]:
    """Of those sources that some loads only read where data decides. loops: of the
    definition that reads. trips: how often one point reads.

    Loads whose coordinates are moved from the same data, as the pixels around one,
    count as one, and a dense row of them as its bytes alone.
    """
    places: dict[Source, dict[frozenset[Expr], float]] = {}
    sure: set[Source] = set()
    for a in loads:
        data = frozenset(
            [n for e in a.args for n in nodes(e) if isinstance(n, FuncCall | ImageLoad)]
        )
        if not any([reads_data(arg) for arg in a.args]):
            sure.add(a.source)
            continue
        dense = any([a.step(0, v) == 1 for v in loops]) if a.args else False
        size = a.bits / 8 if dense else max(_LOOKED_UP, a.bits / 8)
        groups = places.setdefault(a.source, {})
        groups[data] = max(groups.get(data, 0.0), size)
    return {
        source: Scattered(trips * sum(groups.values()), trips * len(groups))
        for source, groups in places.items()
        if source not in sure
    }


__all__ = ["Scattered", "scattered_reads"]
