"""Schedules of filters that mix channels: row by row, all channels of a pixel at
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


def by_pixels(pipeline: Pipeline) -> None:
    """Schedules a pipeline of one output, (x, y) or (x, y, channel), each of whose
    pixels is made of the one that is there in the image: all its channels at once."""
    (out,) = pipeline.outputs()
    x, y, *channels = out.args()
    strip, row = Var("strip"), Var("row")
    out.split(y, strip, row, STRIP, TailStrategy.GuardWithIf)
    out.reorder(*channels, x, row, strip).parallel(strip)
    for channel in channels:
        out.unroll(channel)
    out.vectorize(x, lanes_of(out._function.stages()[0]))
    for f in realization_order([out._function]):
        if f is not out._function:
            Func._of(f).compute_root()


__all__ = ["by_pixels", "by_points"]
