"""The schedule of a filter that mixes channels: row by row, all channels of a pixel at
once."""

from __future__ import annotations

from parhelion.filters.lines import STRIP, lanes_of
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import realization_order


def by_points(pipeline: Pipeline) -> None:
    """Schedules a pipeline of one output, (x, y) or (x, y, channel), whose stages are
    read around each point.

    Each stage keeps those of its rows that a row of the result needs. Threads share
    strips of rows.
    """
    (out,) = pipeline.outputs()
    x, y, *channel = out.args()
    strip, row = Var("strip"), Var("row")
    out.split(y, strip, row, STRIP, TailStrategy.GuardWithIf)
    out.parallel(strip).never_partition(strip, row)
    out.reorder(*channel, x, row, strip)
    out.vectorize(x, lanes_of(out._function.stages()[0]))
    for f in realization_order([out._function]):
        stage = Func._of(f)
        if f is out._function:
            continue
        if f.dimensions < 2:
            stage.compute_root()
            continue
        stage.store_at(out, strip).compute_at(out, row)
        for i, definition in enumerate(f.stages()):
            one = stage if i == 0 else stage.update(i - 1)
            one.vectorize(stage.args()[0], lanes_of(definition))


__all__ = ["by_points"]
