"""Whose windows slide along the rows of a group: as the compiler will find it.

`lower.sliding` computes only what the row before has not left behind where it can show
that what is needed moves one way, along one dimension. Where it cannot, as of an image
that is looked up at places computed with products of coordinates, each row computes all
that it needs, and storage around the row loop is of no use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.analysis.monotonic import Monotonic
from parhelion.autoschedule.graph import GraphStage, Source
from parhelion.autoschedule.regions import Regions, joint
from parhelion.ir.expr import Var
from parhelion.ir.function import Function

#: How each dimension of what is needed moves from row to row.
Ways = tuple[Monotonic, ...]

_STILL = Monotonic.CONSTANT


def sliding(
    regions: Regions, root: Function, row: int, members: Sequence[Function]
) -> frozenset[Function]:
    """Those of the members whose windows slide as the loop over the root's dimension
    `row` advances. members: consumers before producers."""
    if row < 0:
        return frozenset()
    own = [Monotonic.INCREASING if d == row else _STILL for d in range(len(root.args))]
    found: dict[Source, Ways] = {root: tuple(own)}
    for f in (root, *members):
        if f not in found:
            continue
        for stage in regions.graph.stages[f]:
            moving = _loops(stage, found[f])
            for source, ways in regions.reads(stage).ways(moving).items():
                old = found.get(source)
                found[source] = ways if old is None else _both(old, ways)
    return frozenset([m for m in members if m in found and _slides(found[m])])


def _loops(stage: GraphStage, ways: Ways) -> Mapping[Var, Monotonic]:
    """The loops of a stage that move when what is needed of its Func does."""
    own = {stage.func.args[d]: ways[d] for d in stage.dimensions}
    return {v: way for v, way in own.items() if way is not _STILL}


def _both(a: Ways, b: Ways) -> Ways:
    return tuple([joint((x, y)) for x, y in zip(a, b, strict=True)])


def _slides(ways: Ways) -> bool:
    moving = [way for way in ways if way is not _STILL]
    return len(moving) == 1 and moving[0] is not Monotonic.UNKNOWN


__all__ = ["sliding"]
