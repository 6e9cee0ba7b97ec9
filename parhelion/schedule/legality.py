"""Checks of a whole pipeline's schedule, made when it is lowered.

`check_pipeline` raises `ScheduleError` where a Func is computed or stored at a place
that does not serve all of its uses, or where parallel iterations would share storage
that they both write. The message lists the legal places and draws the loop nest.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.errors import DefinitionError, ScheduleError, Site
from parhelion.ir.expr import Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import ForKind
from parhelion.ir.text import brief
from parhelion.schedule.branches import branches, schedules
from parhelion.schedule.directives import (
    OUTERMOST,
    LoopLevel,
    Place,
    StageSchedule,
)
from parhelion.schedule.foreign import check_foreign, check_not_in_vector
from parhelion.schedule.fusing import check_circles, check_fused
from parhelion.schedule.idle import (
    layout_calls,
    thread_calls,
    warn_idle_func,
    warn_idle_hoist,
    warn_idle_ring,
    warn_idle_stage,
    warn_inlined,
)
from parhelion.schedule.loopnest import draw
from parhelion.schedule.memoize import check_memoized
from parhelion.schedule.rules import KIND_WORD, loops_line, stage_label, warn
from parhelion.schedule.sites import LoopSite, Nests, Stack, innermost
from parhelion.schedule.spec import PipelineSpec

#: Loops whose iterations cannot share storage: the threads of a block of a GPU can.
_APART = (ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.GPU_BLOCK)


def check_pipeline(spec: PipelineSpec) -> Nests:
    """Raises ScheduleError unless every Func is computed and stored where it may be.

    Returns where that is.
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
        _check_stages(f)
        _check_conditions(f, nests.outputs)
        warn_idle_func(f)
        if f.extern is not None:
            check_foreign(nests, f)
        if f in nests.outputs:
            _check_output(f)
            nests.place(f, [()], [()])
        elif nests.inlines(f):
            _check_inlined(f)
        elif innermost(f, nests.outputs):
            _check_store_of_inlined(f)
            stacks = [use.stack for use in nests.uses[f]]
            if f.extern is not None:
                for stack in stacks:
                    check_not_in_vector(f, stack)
            nests.place(f, stacks, stacks)
        else:
            _place(nests, f)
    check_fused(nests)
    for f in nests.order:
        check_memoized(nests, f)
    return nests


def check_strict(functions: Sequence[Function]) -> None:
    """Raises ScheduleError where a schedule folds floats in another order than the
    algorithm, which strict_float forbids."""
    for f in functions:
        for k, d in enumerate(f.stages()):
            if d.original is not None and any(t.is_float() for t in f.types):
                raise ScheduleError(
                    f"{stage_label(f, k)}.rfactor: floats would be folded in another"
                    " order, which the target's strict_float forbids",
                    at=d.site,
                    hint="compile without strict_float, or without rfactor",
                )


def _use_site(nests: Nests, f: Function) -> Site | None:
    for use in nests.uses[f]:
        return use.func.stages()[use.stage].site
    return None


# One Func at a time.


def _check_stages(f: Function) -> None:
    """Warns of directives without effect, and where some stages have directives and
    an update was forgotten."""
    stages = f.stages()
    for k, d in enumerate(stages):
        warn_idle_stage(f, k, d.schedule)
        for schedule in schedules(d.schedule):
            _check_prefetches(f, k, schedule)
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


def _check_conditions(f: Function, outputs: Sequence[Function]) -> None:
    """Conditions of branches may ask for the sizes of the pipeline's own outputs."""
    asked = {b for g in outputs for b in g.buffers}
    for d in f.stages():
        for branch in branches(d.schedule):
            for v in sorted(free_vars(branch.condition), key=lambda v: v.name):
                buffer = v.origin[0] if isinstance(v.origin, tuple) else None
                if buffer is None or buffer.role != "output" or buffer in asked:
                    continue
                raise ScheduleError(
                    f"{f.name}.specialize({brief(branch.condition, 60)}):"
                    f" {buffer.func.name} is no output of the pipeline and has no"
                    " buffer whose size could be asked for",
                    at=branch.site,
                    legal=[f"{g.name}.output_buffer()" for g in outputs],
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


def _check_output(f: Function) -> None:
    for level, directive in (
        (f.schedule.compute, "compute_at"),
        (f.schedule.store, "store_at"),
        (f.schedule.hoist, "hoist_storage"),
    ):
        if level is None or level.place is Place.ROOT:
            continue
        if level.place is Place.LOOP or level.site is not None:
            warn(
                f"{f.name} is an output of the pipeline and computed at its root:"
                f" {_call(f, directive, level)} has no effect",
                level.site,
            )
    for call, site in (*layout_calls(f), *thread_calls(f)):
        warn(
            f"{f.name} is an output of the pipeline, stored in the caller's buffer:"
            f" {call} has no effect",
            site,
        )


def _check_ring(f: Function, hoisted: bool) -> None:
    ring = f.schedule.ring
    if ring is not None and not hoisted:
        raise ScheduleError(
            f"{f.name}.ring_buffer: the storage of {f.name} is allocated where it"
            " begins, so that no iterations could take turns in copies of it",
            at=f.schedule.ring_site,
            hint=f"{f.name}.hoist_storage(…) at a loop outside of the storage",
        )


def _check_store_of_inlined(f: Function) -> None:
    store = f.schedule.store
    if store is not None and store.place is not Place.INLINED:
        raise ScheduleError(
            f"{_call(f, 'store_at', store)}: {f.name} is inlined and needs no storage",
            at=store.site,
            hint="store_at goes together with compute_at",
        )
    hoist = f.schedule.hoist
    if hoist is not None and hoist.place is not Place.INLINED:
        raise ScheduleError(
            f"{_call(f, 'hoist_storage', hoist)}: {f.name} is inlined and needs no"
            " storage",
            at=hoist.site,
            hint="hoist_storage goes together with compute_at",
        )


def _check_inlined(f: Function) -> None:
    """An inlined Func has no loops that directives could shape."""
    _check_store_of_inlined(f)
    assert f.pure is not None
    schedule = f.pure.schedule
    for d in schedule.dims:
        if d.kind is not ForKind.SERIAL:
            raise ScheduleError(
                f"{f.name} is inlined and has no loop that could be"
                f" {KIND_WORD[d.kind]}",
                at=schedule.sites.get(d.var),
                hint=f"compute it at a place of its own: {f.name}.compute_root(), or"
                " compute_at",
            )
    warn_inlined(f)


# The place of a Func.


def _place(nests: Nests, f: Function) -> None:
    compute, store = f.schedule.compute, f.schedule.store_level
    computed: list[Stack] = []
    stored: list[Stack] = []
    further_out = False
    for use in nests.uses[f]:
        inner = _depth(use.stack, compute)
        if inner is None:
            raise _illegal(nests, f, "compute_at", compute)
        outer = _depth(use.stack, store)
        if outer is None:
            raise _illegal(nests, f, "store_at", store)
        if outer > inner:
            rule = f"must enclose {_call(f, 'compute_at', compute)}"
            raise _too_far_in(nests, f, "store_at", store, rule, use.stack[:inner])
        _check_hoist(nests, f, use.stack, outer)
        for site in use.stack[outer:inner]:
            if site.dim.kind in _APART:
                raise _race(nests, f, site, use.stack[:outer])
        hoist = _depth(use.stack, f.schedule.hoist_level)
        _check_ring(f, hoist is not None and hoist < outer)
        further_out = further_out or (hoist is not None and hoist < outer)
        computed.append(use.stack[:inner])
        stored.append(use.stack[:outer])
        if f.extern is not None:
            check_not_in_vector(f, use.stack[:inner])
    hoisted = f.schedule.hoist
    if hoisted is not None and hoisted.place is not Place.INLINED and not further_out:
        warn_idle_hoist(f, _call(f, "hoist_storage", hoisted))
    warn_idle_ring(f)
    nests.place(f, computed, stored)


def _check_hoist(nests: Nests, f: Function, stack: Stack, outer: int) -> None:
    """Raises ScheduleError unless the storage of `f`, which begins inside the first
    `outer` loops of a use, may be allocated where `hoist_storage` says."""
    hoist = f.schedule.hoist
    if hoist is None or hoist.place is Place.INLINED:
        return
    first = _depth(stack, hoist)
    if first is None:
        raise _illegal(nests, f, "hoist_storage", hoist)
    call = _call(f, "hoist_storage", hoist)
    if first > outer:
        begun = _call(f, "store_at", f.schedule.store_level)
        rule = f"must be allocated at or outside {begun}"
        raise _too_far_in(nests, f, "hoist_storage", hoist, rule, stack[:outer])
    for depth, site in enumerate(stack[first:outer], first + 1):
        if site.dim.kind in _APART:
            loop = f"{var_label(site.dim.var)} of {stage_label(site.func, site.stage)}"
            inside = stack[depth - 1 : outer]
            raise ScheduleError(
                f"{call}: the iterations of the {KIND_WORD[site.dim.kind]} loop {loop}"
                " would share the storage and overwrite each other's values",
                at=hoist.site,
                detail=_drawing(nests, f),
                legal=[
                    _call(f, "hoist_storage", level)
                    for level in _levels(nests, f, inside)[1:]
                ],
            )


def _too_far_in(
    nests: Nests,
    f: Function,
    directive: str,
    level: LoopLevel,
    rule: str,
    within: Stack,
) -> ScheduleError:
    """The error of storage inside of what it has to be outside of.

    rule: what it must do. within: the loops that it may be inside of.
    """
    return ScheduleError(
        f"{_call(f, directive, level)}: the storage of {f.name} {rule}",
        at=level.site,
        detail=_drawing(nests, f),
        legal=[_call(f, directive, one) for one in _levels(nests, f, within)],
    )


def _depth(stack: Stack, level: LoopLevel) -> int | None:
    """How many loops of the stack are outside `level`; None if it is not in there."""
    if level.place is Place.ROOT:
        return 0
    return next(
        (i for i, site in enumerate(stack, 1) if site.matches(level)),
        None,
    )


def _illegal(
    nests: Nests, f: Function, directive: str, level: LoopLevel
) -> ScheduleError:
    return ScheduleError(
        f"{_call(f, directive, level)}: {_why_illegal(nests, f, level)}",
        at=level.site,
        detail=_drawing(nests, f),
        legal=[_call(f, directive, one) for one in _levels(nests, f, None)],
    )


def _why_illegal(nests: Nests, f: Function, level: LoopLevel) -> str:
    """A sentence on what is wrong with a level, in the order of likelihood."""
    g, v = level.func, level.var
    assert g is not None and v is not None
    users = nests.uses[f]
    if g not in nests.order:
        return f"{g.name} is not part of the pipeline"
    if nests.inlines(g):
        return f"{g.name} is inlined and has no loops"
    stages = range(len(g.stages()))
    if level.stage >= 0:
        if level.stage not in stages:
            return f"{g.name} has no stage {level.stage}"
        stages = range(level.stage, level.stage + 1)
    labels = " or ".join(stage_label(g, k) for k in stages)
    having = [k for k in stages if _has_loop(g, k, v)]
    if v is not OUTERMOST and not having:
        return f"{labels} has no loop {var_label(v)}"
    if not any(site.func is g for use in users for site in use.stack):
        return f"{g.name} does not use {f.name}"
    outside = [use for use in users if _depth(use.stack, level) is None]
    where = stage_label(outside[0].func, outside[0].stage)
    return f"{where} uses {f.name} outside the loop {var_label(v)} of {g.name}"


def _has_loop(g: Function, stage: int, v: Var) -> bool:
    """Whether some branch of a stage has the loop `v`."""
    return any(
        d.var is v for s in schedules(g.stages()[stage].schedule) for d in s.dims
    )


def _race(nests: Nests, f: Function, site: LoopSite, outside: Stack) -> ScheduleError:
    compute, store = f.schedule.compute, f.schedule.store_level
    loop = f"{var_label(site.dim.var)} of {stage_label(site.func, site.stage)}"
    return ScheduleError(
        f"{f.name} is stored outside the {KIND_WORD[site.dim.kind]} loop {loop} but"
        " computed inside it: its iterations would overwrite each other's values",
        at=compute.site or store.site,
        detail=_drawing(nests, f),
        legal=[_call(f, "compute_at", level) for level in _levels(nests, f, outside)],
        hint=f"or store {f.name} inside that loop",
    )


# What messages show.


def _levels(nests: Nests, f: Function, within: Stack | None) -> list[LoopLevel]:
    """The legal places of `f` that a user can name, outermost first; those among the
    loops of `within`, if given."""
    sites = nests.legal_sites(f)
    if within is not None:
        sites = [s for s in sites if s in within]
    return [LoopLevel(Place.ROOT)] + [
        LoopLevel(Place.LOOP, s.func, s.dim.var)
        for s in sites
        if s.nameable and s.dim.var is not OUTERMOST
    ]


def _call(f: Function, directive: str, level: LoopLevel) -> str:
    """The directive as the user would write it."""
    if level.place is Place.INLINED:
        return f"{f.name}.compute_inline()"
    if level.place is Place.ROOT:
        return f"{f.name}.{directive.removesuffix('_at')}_root()"
    assert level.func is not None and level.var is not None
    v = "hl.Var.outermost()" if level.var is OUTERMOST else var_label(level.var)
    if level.stage >= 0:
        return f"{f.name}.{directive}(LoopLevel({level.func.name}, {v}, {level.stage}))"
    return f"{f.name}.{directive}({level.func.name}, {v})"


def _drawing(nests: Nests, f: Function) -> str:
    return f"the loop nest without {f.name}:\n" + draw(nests, f, indent=2)


__all__ = ["check_pipeline", "check_strict"]
