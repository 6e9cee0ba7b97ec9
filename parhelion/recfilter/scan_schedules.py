"""How a scan that a user wrote as an update is computed in tiles.

As filters in tiles are (`tile_schedules`), with the loops of the update for the last
pass.
"""

from __future__ import annotations

import dataclasses

from parhelion.ir.expr import Var as IRVar
from parhelion.ir.function import ReductionDomain
from parhelion.lang.func import Stage
from parhelion.lang.handles import func_of
from parhelion.lang.loop_level import LoopLevel
from parhelion.lang.rdom import RVar, of_rvar
from parhelion.lang.var import Var, of_var
from parhelion.recfilter.dims import ScanDim
from parhelion.recfilter.scan_stages import Scan, TiledScan
from parhelion.recfilter.schedules import (
    across,
    in_parallel,
    is_dense,
    lanes,
    strip_of,
)
from parhelion.recfilter.stages import LAST_TILE
from parhelion.recfilter.tile_schedules import schedule_first_passes, schedule_within
from parhelion.schedule.directives import Split, StageSchedule
from parhelion.types import Type

_Loop = Var | RVar


def schedule_scan(scan: Scan, made: TiledScan, stage: Stage) -> None:
    """Schedules the stages in tiles, and the update, which reads the last of them."""
    scanned = [t for t, a in zip(scan.function.types, scan.feedback, strict=True) if a]
    t = max(scanned, key=lambda one: one.bits())
    v = across(made.dims, made.position, t)
    dense = v is not None and is_dense(made.dims, v, made.position)
    for tiles in made.values:
        schedule_first_passes(tiles, v, dense, t)
        # That some are to have simple loops is a schedule, too.
        for d in tiles.completed[0]._function.stages():
            d.schedule.touched = True
    strips = _last_pass(made, stage, v, dense, t)
    _name_directive(scan.function.stages()[scan.number].schedule)
    level = LoopLevel(func_of(scan.function), strips, scan.number)
    for tiles in made.values:
        (run,) = tiles.final
        lead = run.axis.outer if v is None else v
        for f, walks in zip(run.stages, run.walks, strict=True):
            f.compute_at(level)
            schedule_within(f, walks, tiles, lead, dense, lanes(t))


def _name_directive(schedule: StageSchedule) -> None:
    """Has the loops that were split say that the user called `tile_scan`."""
    schedule.transforms = tuple(
        [
            dataclasses.replace(t, directive="tile_scan") if isinstance(t, Split) else t
            for t in schedule.transforms
        ]
    )


def _last_pass(
    made: TiledScan, stage: Stage, v: ScanDim | None, dense: bool, t: Type
) -> _Loop:
    """Schedules the update, and returns the loop in which the last stage is computed
    in tiles.

    v: the dimension of vectors; None for that of tiles. dense: whether points lie side
    by side along it.
    """
    n, width = lanes(t), made.width
    loops = [_loop(one) for one in made.loops]
    scanned = loops[made.position]
    outer, inner = _part(scanned, "o"), _part(scanned, "i")
    stage.split(scanned, outer, inner, width, LAST_TILE)
    if v is None:
        rest = [one for k, one in enumerate(loops) if k != made.position]
        strips, inside = _part(outer, "s"), _part(outer, "i")
        stage.split(outer, strips, inside, n, LAST_TILE)
        stage.reorder(inner, inside, *rest, strips).parallel(strips)
        stage.vectorize(inner, min(n, width))
        return strips
    k = next(k for k, d in enumerate(made.dims) if d is v)
    rest = [one for j, one in enumerate(loops) if j not in (k, made.position)]
    strips, inside = _part(loops[k], "s"), _part(loops[k], "i")
    stage.split(loops[k], strips, inside, strip_of(dense, width, t), LAST_TILE)
    if dense:
        stage.reorder(inside, inner, strips, outer, *rest).vectorize(inside, n)
        in_parallel(stage, outer, rest)
        return strips
    stage.reorder(inner, inside, outer, strips, *rest)
    stage.vectorize(inner, min(n, width))
    in_parallel(stage, strips, rest)
    return outer


def _loop(v: IRVar) -> _Loop:
    return of_rvar(v) if isinstance(v.origin, ReductionDomain) else of_var(v)


def _part(of: _Loop, suffix: str) -> _Loop:
    """A loop of what a loop is split into."""
    return type(of)(of.name().replace(".", "") + suffix)


__all__ = ["schedule_scan"]
