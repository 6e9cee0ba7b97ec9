"""Scans with few and long lines, which are put into tiles before a schedule is sought.

A line that is scanned runs on one core, one point after the other. Where there are many
lines, they run side by side; where there are few and long ones, `tile_scan` cuts them
into tiles, as it is with recursive filters (`recfilter`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field

from parhelion.analysis.recurrence import Recurrence, find_recurrence
from parhelion.autoschedule.calls import VarArg, var_arg
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.pipeline.graph import Graph
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.script import Script
from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, ScheduleError, TimeLimitError
from parhelion.ir.function import Function, var_label
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.scanning import width_of_tiles
from parhelion.lang.target_api import Target, get_host_target, strict
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import realization_order
from parhelion.schedule.rules import stage_label
from parhelion.types import Type

#: Points of a line in one task.
_STRIP = 4096
#: What is taken for an extent that nobody knows: too short for tiles.
_GUESS = 256


@dataclass
class Scans:
    """The directives that put scans of a pipeline into tiles, and what the user should
    know of it."""

    outputs: tuple[Function, ...]
    notes: list[str] = field(default_factory=list)
    script: Script = field(init=False)

    def __post_init__(self) -> None:
        self.script = Script(self.outputs)

    @staticmethod
    def of(
        outputs: tuple[Function, ...],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> Scans:
        """Those of a pipeline: of integers, and of floats if the scheduler is told that
        these may be regrouped."""
        made = Scans(outputs)
        told = params.extra.get("reassociate", "").strip().lower()
        floats = told in ("true", "1") and not strict(target)
        for one in _found(outputs, sizes):
            made._add(one, floats)
        return made

    def _add(self, one: _Scan, floats: bool) -> None:
        label = stage_label(one.function, one.stage)
        what = f"the scan of {label} along {var_label(one.found.var)}"
        size = f"{one.lines} line{'s' * (one.lines != 1)} of {one.points} points"
        if one.floats and not floats:
            self.notes.append(
                f"{what} is of floats, in {size}: with reassociate=True it would be"
                " computed in tiles"
            )
            return
        script, r = self.script.copy(), var_arg(one.found.var)
        more = (True,) if one.floats else ()
        script.add(one.function, one.stage, "tile_scan", r, one.width, *more)
        begun = any([(c.function, c.stage) == (one.function, 0) for c in script.calls])
        if not begun and not one.function.stages()[0].schedule.touched:
            _strips(script, one)
        try:
            script.tried()
        except ScheduleError as error:
            self.notes.append(f"{what} stays in whole lines ({error.what})")
            return
        self.script = script
        self.notes.append(
            f"{what} is computed in tiles of {one.width} points, as it has {size}"
        )

    def acknowledge(self, script: Script) -> None:
        """As `Script.acknowledge`, but for Funcs that tiles have made."""
        known = frozenset(self.script.order)
        count = len(script.calls)
        script.acknowledge()
        added = script.calls[count:]
        script.calls[count:] = [c for c in added if c.function in known]


def _strips(script: Script, one: _Scan) -> None:
    """Has the pure definition computed in strips of lines, in parallel, and vectors
    along them where points lie side by side."""
    f, k = one.function, one.found.position
    v = f.args[k].name
    taken = {a.name for a in f.args}
    outer, inner = [VarArg(_new(v + suffix, taken)) for suffix in "oi"]
    guard = TailStrategy.GuardWithIf
    script.add(f, 0, "split", VarArg(v), outer, inner, _STRIP, guard)
    if k == 0:
        lanes = get_host_target().natural_vector_size(max(f.types, key=Type.bits))
        script.add(f, 0, "vectorize", inner, lanes)
    script.add(f, 0, "parallel", outer)


def _new(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "s"
    return name


@dataclass(frozen=True)
class _Scan:
    """A scan with few and long lines: how many, of how many points; the width of its
    tiles, and whether values are floats."""

    function: Function
    stage: int
    found: Recurrence
    lines: int
    points: int
    width: int
    floats: bool


def _found(outputs: Sequence[Function], sizes: Sizes) -> Iterator[_Scan]:
    """The scans of a pipeline that are worth tiles, in the order in which they run."""
    scans = [
        (f, k, found)
        for f in realization_order(outputs)
        for k, d in enumerate(f.updates, 1)
        if not d.schedule.touched
        and isinstance(found := find_recurrence(f, d), Recurrence)
    ]
    if not scans:
        return
    graph = Graph.of(outputs, Freedom(outputs).inlined)
    try:
        regions = Regions(graph, sizes, guess=_GUESS)
    except TimeLimitError:
        raise
    except HalideError:
        return  # nobody knows how large it is: the scheduler tells of it
    for f, k, found in scans:
        stage = graph.stages[f][k]
        spans = regions.loops(stage, regions.bounds[f])
        extents = [int(hi) - int(lo) + 1 for lo, hi in spans]
        assert stage.rdom is not None
        at = stage.rdom.vars.index(found.var)
        points = extents.pop(at)
        lines = math.prod(extents)
        width = width_of_tiles(f, found, lines, points)
        if width is not None:
            floats = any([t.is_float() for t in f.types])
            yield _Scan(f, k, found, lines, points, width, floats)


__all__ = ["Scans"]
