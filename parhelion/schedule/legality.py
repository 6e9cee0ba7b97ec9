"""The schedule of a pipeline, resolved and checked: the first step of lowering.

`resolve` places every Func in the loop nests of what uses it. It raises `ScheduleError`
where a Func is computed or stored at a place that does not serve all of its uses, or
where parallel iterations would share storage that they both write. The message lists
the legal places and draws the loop nest.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.errors import DefinitionError, ScheduleError, Site
from parhelion.ir.function import Function, var_label
from parhelion.ir.rewrite import free_vars
from parhelion.ir.text import brief
from parhelion.schedule.directives import StageSchedule
from parhelion.schedule.fusing import check_circles, check_fused
from parhelion.schedule.idle import warn_idle_stage
from parhelion.schedule.modes import modes
from parhelion.schedule.rules import loops_line, stage_label, warn
from parhelion.schedule.running_sums import check_order_in_lanes
from parhelion.schedule.sites import Nests
from parhelion.schedule.spec import PipelineSpec


def resolve(spec: PipelineSpec) -> Nests:
    """The loop nests that the schedules of a pipeline add up to.

    Raises ScheduleError unless every Func is computed and stored where it may be, and
    DefinitionError for one that is not defined.
    """
    for f in spec.outputs:
        if not f.defined:
            raise DefinitionError(f"{f.name} is not defined", at=f.site)
    nests = Nests(spec.outputs, spec.order)
    check_circles(nests.order)
    for f in reversed(nests.order):
        if not f.defined:
            raise DefinitionError(
                f"{f.name} is used but not defined", at=_use_site(nests, f) or f.site
            )
        _check_stages(nests, f)
        _check_conditions(nests, f)
        nests.placements[f].settle(nests)
    check_fused(nests)
    for f in nests.order:
        for mode in modes(f):
            mode.check(nests)
    return nests


def check_strict(functions: Sequence[Function]) -> None:
    """Raises ScheduleError where a schedule folds floats in another order than the
    algorithm, which strict_float forbids."""
    for f in functions:
        for k, d in enumerate(f.stages()):
            if d.directive and any(t.is_float() for t in f.types):
                raise ScheduleError(
                    f"{stage_label(f, k)}.{d.directive}: floats would be folded in"
                    " another order, which the target's strict_float forbids",
                    at=d.site,
                    hint=f"compile without strict_float, or without {d.directive}",
                )


def _use_site(nests: Nests, f: Function) -> Site | None:
    for use in nests.uses[f]:
        return use.func.stages()[use.stage].site
    return None


# One Func at a time.


def _check_stages(nests: Nests, f: Function) -> None:
    """Warns of directives without effect, and where some stages have directives and
    an update was forgotten."""
    stages = f.stages()
    for k, d in enumerate(stages):
        warn_idle_stage(f, k, d.schedule)
        for _, schedule in nests.running(d):
            _check_prefetches(f, k, schedule)
            check_order_in_lanes(stage_label(f, k), schedule)
    if not any(d.schedule.touched for d in stages):
        return
    for k, d in enumerate(stages[1:]):
        if not d.schedule.touched:
            warn(
                f"{f.name}.update({k}) has no directives, though other stages of"
                f" {f.name} have; {f.name}.update({k}).unscheduled() says that this"
                " is intended",
                d.site,
            )


def _check_conditions(nests: Nests, f: Function) -> None:
    """Conditions of branches may ask for the sizes of the pipeline's own outputs."""
    asked = {b for g in nests.outputs for b in g.buffers}
    for d in f.stages():
        for branch in nests.branches(d):
            for v in sorted(free_vars(branch.condition), key=lambda v: v.name):
                buffer = v.origin[0] if isinstance(v.origin, tuple) else None
                if buffer is None or buffer.role != "output" or buffer in asked:
                    continue
                raise ScheduleError(
                    f"{f.name}.specialize({brief(branch.condition, 60)}):"
                    f" {buffer.func.name} is no output of the pipeline and has no"
                    " buffer whose size could be asked for",
                    at=branch.site,
                    legal=[f"{g.name}.output_buffer()" for g in nests.outputs],
                )


def _check_prefetches(f: Function, k: int, schedule: StageSchedule) -> None:
    """The loops of a prefetch must still be there, one inside the other."""
    order = [d.var for d in schedule.dims]
    for p in schedule.prefetches:
        label = f"{stage_label(f, k)}.prefetch of {p.source.name}"
        for v in (p.at, p.start):
            if v not in order:
                raise ScheduleError(
                    f"{label}: {stage_label(f, k)} has no loop {var_label(v)} any more",
                    at=p.site,
                    detail=loops_line(schedule),
                )
        if order.index(p.start) < order.index(p.at):
            raise ScheduleError(
                f"{label}: the loop {var_label(p.start)}, to look ahead along, is"
                f" inside the loop {var_label(p.at)}, where the hint stands",
                at=p.site,
                detail=loops_line(schedule),
            )


__all__ = ["check_strict", "resolve"]
