"""What is said of a Func that is computed, stored or allocated at a wrong place: which
levels would do, and the loop nest around its uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parhelion.errors import ScheduleError
from parhelion.ir.expr import Var
from parhelion.ir.function import Function, var_label
from parhelion.schedule.branches import schedules
from parhelion.schedule.directives import OUTERMOST, LoopLevel, Place
from parhelion.schedule.loopnest import draw
from parhelion.schedule.rules import KIND_WORD, gone_hint, stage_label

if TYPE_CHECKING:
    from parhelion.schedule.sites import LoopSite, Nests, Stack


def illegal(
    nests: Nests, f: Function, directive: str, level: LoopLevel
) -> ScheduleError:
    return ScheduleError(
        f"{call(f, directive, level)}: {_why_illegal(nests, f, level)}",
        at=level.site,
        detail=drawing(nests, f),
        legal=[call(f, directive, one) for one in levels(nests, f, None)],
        hint=_shared(nests, f, level) or _replaced(level),
    )


def _replaced(level: LoopLevel) -> str:
    """What became of a loop that another directive has replaced, or moved; empty if it
    is still there."""
    g, v = level.func, level.var
    assert g is not None and v is not None
    if any([_has_loop(g, k, v) for k in range(len(g.stages()))]):
        return ""
    for k, d in enumerate(g.stages()):
        written = None if d.original is None else d.original.rdom
        if d.moved_by and written is not None and v in written.vars:
            return (
                f"{d.moved_by} has moved what {stage_label(g, k)} computes into a Func"
                f" of its own: compute_at({g.name}, {var_label(v)}) must come before it"
            )
        told = gone_hint(d.schedule, v)
        if told:
            return told
    return ""


def _shared(nests: Nests, f: Function, level: LoopLevel) -> str:
    """What to do about an automatic schedule of another pipeline."""
    g, site = level.func, level.site
    if g is None or g in nests.order or site is None or not site.scheduler:
        return ""
    other = nests.order[-1].name
    return (
        f"the scheduler {site.scheduler} gave this for a pipeline with {g.name}, which "
        f"shares {f.name} with that of {other}: schedule their outputs in one "
        f"Pipeline, give {f.name} a legal place, take the schedule back with undo() of "
        f"the scheduler's result, or define {f.name} anew for {other}"
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
    outside = [use for use in users if depth(use.stack, level) is None]
    where = stage_label(outside[0].func, outside[0].stage)
    loop = f"{var_label(v)} of {_known(g)}"
    return f"{where} uses {f.name} outside the loop {loop}"


def _known(f: Function) -> str:
    """What the user calls a Func."""
    return (f.pure.known_as if f.pure is not None else "") or f.name


def _has_loop(g: Function, stage: int, v: Var) -> bool:
    """Whether some branch of a stage has the loop `v`."""
    return any(
        d.var is v for s in schedules(g.stages()[stage].schedule) for d in s.dims
    )


def too_far_in(
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
        f"{call(f, directive, level)}: the storage of {f.name} {rule}",
        at=level.site,
        detail=drawing(nests, f),
        legal=[call(f, directive, one) for one in levels(nests, f, within)],
    )


def race(nests: Nests, f: Function, site: LoopSite, outside: Stack) -> ScheduleError:
    compute, store = f.schedule.compute, f.schedule.store_level
    loop = f"{var_label(site.dim.var)} of {stage_label(site.func, site.stage)}"
    return ScheduleError(
        f"{f.name} is stored outside the {KIND_WORD[site.dim.kind]} loop {loop} but"
        " computed inside it: its iterations would overwrite each other's values",
        at=compute.site or store.site,
        detail=drawing(nests, f),
        legal=[call(f, "compute_at", level) for level in levels(nests, f, outside)],
        hint=f"or store {f.name} inside that loop",
    )


def levels(nests: Nests, f: Function, within: Stack | None) -> list[LoopLevel]:
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


def call(f: Function, directive: str, level: LoopLevel) -> str:
    """The directive as the user would write it."""
    if level.place is Place.INLINED:
        return f"{f.name}.compute_inline()"
    if level.place is Place.DEMAND:
        tile = f.schedule.tile
        return f"{f.name}.compute_lazy({f'tile={tile}' if tile else ''})"
    if level.place is Place.ROOT:
        return f"{f.name}.{directive.removesuffix('_at')}_root()"
    assert level.func is not None and level.var is not None
    v = "hl.Var.outermost()" if level.var is OUTERMOST else var_label(level.var)
    g = _known(level.func)
    if level.stage >= 0:
        return f"{f.name}.{directive}(LoopLevel({g}, {v}, {level.stage}))"
    return f"{f.name}.{directive}({g}, {v})"


def drawing(nests: Nests, f: Function) -> str:
    return f"the loop nest without {f.name}:\n" + draw(nests, f, indent=2)


def depth(stack: Stack, level: LoopLevel) -> int | None:
    """How many loops of the stack are outside `level`; None if it is not in there."""
    if level.place is Place.ROOT:
        return 0
    return next(
        (i for i, site in enumerate(stack, 1) if site.matches(level)),
        None,
    )
