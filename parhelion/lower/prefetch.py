"""`prefetch`: hints for what a later iteration of a loop will need.

    f.prefetch(g, y, y, 2)          for y:
                                      prefetch what this body reads of g at y + 2
                                      ...

What one iteration of the loop `at` reads of the source, by the stage itself and by what
is computed inside the loop, is a box in terms of the loops around. In it the loop that
is looked ahead along is replaced by a later value of itself. How far the box may go out
of the source is the strategy's choice; no hint ever fails.
"""

from __future__ import annotations

from parhelion.analysis.box import Box, union
from parhelion.ir.build import TRUE, add, int32, land, le, maximum, minimum, sub
from parhelion.ir.expr import Expr
from parhelion.ir.function import Function, var_label
from parhelion.ir.rewrite import substitute
from parhelion.ir.stmt import If, PrefetchRegion, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.loops import Range, StageLoops
from parhelion.lower.regions import Region, Regions
from parhelion.lower.remove_marks import remove_marks
from parhelion.lower.sites import Site
from parhelion.lower.sliding import Unfold
from parhelion.lower.stages import LoopStage
from parhelion.schedule.directives import PrefetchAhead, PrefetchBoundStrategy
from parhelion.schedule.rules import stage_label, warn
from parhelion.simplify.simplifier import simplify

_ONE = int32(1)


def prefetches(
    regions: Regions, stage: LoopStage, nest: StageLoops, depth: int
) -> list[Stmt]:
    """The hints that stand at the start of the loop number `depth` of a stage."""
    loop = nest.loops[depth - 1].dim.var
    found = [p for p in stage.schedule.prefetches if p.at is loop]
    hints = [_hint(regions, stage, nest, depth, p) for p in found]
    return [h for h in hints if h is not None]


def _hint(
    regions: Regions, stage: LoopStage, nest: StageLoops, depth: int, p: PrefetchAhead
) -> Stmt | None:
    site = regions.sites.inside(stage, depth)
    box = _used_inside(regions, p.source, site)
    start = next(loop for loop in nest.loops if loop.dim.var is p.start)
    whole = None if box is None else _extent_of(regions, p.source, site)
    lazy = isinstance(p.source, Function) and regions.sites.on_demand(p.source)
    if box is None or whole is None or lazy:
        why = f"nothing inside the loop {var_label(p.at)} reads it"
        if lazy:
            why = "it is computed on demand, when it is read"
        elif box is not None:
            why = "its storage lives inside the loop"
        label = stage_label(stage.func, stage.index)
        warn(f"{label}.prefetch of {p.source.name} has no effect: {why}", p.site)
        return None
    unfold = Unfold(start.var, regions.unslid)
    later = {start.var: add(start.var, p.offset)}

    def ahead(e: Expr) -> Expr:
        return simplify(substitute(unfold.of(e), later))

    cond: Expr = TRUE
    bounds: list[tuple[Expr, Expr]] = []
    for i, w in zip(box, whole, strict=True):
        lo = w.lo if i.lo is None else ahead(i.lo)
        hi = w.hi if i.hi is None else ahead(i.hi)
        if p.strategy is PrefetchBoundStrategy.Clamp:
            lo, hi = maximum(lo, w.lo), minimum(hi, w.hi)
        elif p.strategy is PrefetchBoundStrategy.GuardWithIf:
            cond = land(cond, land(le(w.lo, lo), le(hi, w.hi)))
        bounds.append((simplify(lo), simplify(add(sub(hi, lo), _ONE))))
    made: Stmt = PrefetchRegion(p.source, tuple(bounds))
    if cond is not TRUE:
        made = If(simplify(cond), made, None)
    # Marks would have the loops around split for the sake of a hint.
    return remove_marks(made)


def _used_inside(
    regions: Regions, source: Function | BufferSym, site: Site
) -> Box | None:
    """What everything inside a site reads of a Func or image."""
    found: Box | None = None
    for f in regions.program.order:
        if f is source:
            continue
        for stage in regions.program.stages[f]:
            if not regions.inside(stage, site):
                continue
            box = regions.boxes(stage, site).get(source)
            if box is not None:
                found = box if found is None else union(found, box)
    return found


def _extent_of(
    regions: Regions, source: Function | BufferSym, site: Site
) -> Region | None:
    """The whole of the source; None if it is stored inside the site."""
    if isinstance(source, BufferSym):
        return tuple(
            [Range(d.min, sub(add(d.min, d.extent), _ONE)) for d in source.dims]
        )
    if source not in regions.program.outputs:
        store = regions.sites.store(source)
        if store is site or not store.contains(site):
            return None
    return regions.stored(source)
