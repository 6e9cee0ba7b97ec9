"""The steps before the first statement: from a pipeline to its loop nests.

Each step adds to a `Draft` what the next ones build on; `lower.passes` has their order.
What a step has found can be shown, as text.
"""

from __future__ import annotations

from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.ir.build import is_true
from parhelion.ir.stmt import Stmt
from parhelion.ir.text import text
from parhelion.lower.nest import NestBuilder
from parhelion.lower.options import LowerOptions
from parhelion.lower.pin_casts import pin_casts
from parhelion.lower.realizations import Realizations, lay_out
from parhelion.lower.regions import Region, Regions
from parhelion.lower.stages import LoopStage, StagedPipeline, collect
from parhelion.schedule.legality import check_strict, resolve
from parhelion.schedule.sites import Nests
from parhelion.schedule.spec import PipelineSpec


@dataclass(slots=True)
class Draft:
    """A pipeline on its way to its first statement.

    printed: whether the nests are to be read, and nothing is made of them: loops of
    GPUs are among them, and storage begins where it is allocated. resolved: where each
    Func is computed. program: its stages, all inlining done. regions: what of each Func
    is needed where. realizations: the storage of each. nests: the loops.
    """

    spec: PipelineSpec
    options: LowerOptions
    printed: bool = False
    resolved: Nests = field(init=False)
    program: StagedPipeline = field(init=False)
    regions: Regions = field(init=False)
    realizations: Realizations = field(init=False)
    nests: Stmt = field(init=False)


def resolve_schedule(draft: Draft) -> None:
    draft.resolved = resolve(draft.spec)


def inline(draft: Draft) -> None:
    draft.program = collect(
        draft.resolved, draft.spec.assumptions, strict=draft.options.strict_float
    )
    if draft.options.strict_float:
        check_strict(draft.program.order)
    draft.regions = Regions(draft.program, draft.options)


def pin(draft: Draft) -> None:
    pin_casts(draft.program, draft.regions.value_bounds)


def infer_bounds(draft: Draft) -> None:
    program, regions = draft.program, draft.regions
    for f in reversed(program.order):
        if f in program.outputs:
            regions.computed(f)
        else:
            regions.stored(f)


def fold_storage(draft: Draft) -> None:
    draft.realizations = lay_out(
        draft.regions, hoist=not draft.printed, threads=draft.options.vectors
    )


def build_nests(draft: Draft) -> None:
    draft.nests = NestBuilder(draft.realizations).build()


# What dumps show.


def show_placements(draft: Draft) -> str:
    """Where each Func is computed, producers first."""
    placements = draft.resolved.placements
    return "\n".join([f"{f.name}: {at}" for f, at in placements.items()])


def show_stages(draft: Draft) -> str:
    program = draft.program
    return "\n".join([_stage(s) for f in program.order for s in program.stages[f]])


def _stage(s: LoopStage) -> str:
    values = ", ".join(map(text, s.values))
    shown = f"{s.name}({', '.join(map(text, s.args))}) = {values}"
    if not is_true(s.predicate):
        shown += f" where {text(s.predicate)}"
    return shown if is_true(s.condition) else f"{shown} if {text(s.condition)}"


def show_bounds(draft: Draft) -> str:
    program, regions = draft.program, draft.regions
    lines: list[str] = []
    for f in reversed(program.order):
        site = regions.sites.compute(f)
        lines.append(f"{f.name} at {site}: {_region(regions.computed(f))}")
        if f not in program.outputs:
            store = regions.sites.store(f)
            lines.append(f"  stored at {store}: {_region(regions.stored(f))}")
        slid = regions.slid.get(f)
        if slid is not None:
            over = ", ".join(sorted([v.name for v in slid.loops]))
            lines.append(f"  its window slides over {over}")
    for site in regions.sites:
        if site.lets:
            lines.append(f"{site}:")
            lines += [f"  {let.var.name} = {text(let.value)}" for let in site.lets]
    return "\n".join(lines)


def _region(region: Region) -> str:
    return " x ".join([f"[{text(r.lo)}, {text(r.hi)}]" for r in region]) or "one value"


def show_storage(draft: Draft) -> str:
    lines: list[str] = []
    made = draft.realizations
    for f, extents in made.extents.items():
        sizes = " x ".join([text(extent) for _, extent in extents]) or "one value"
        lines.append(f"{f.name} allocated at {made.allocated(f)}: {sizes}")
        for v, origin in zip(f.args, made.origins.get(f, ()), strict=False):
            if origin is not None:
                fold = "" if origin.fold is None else f" modulo {text(origin.fold)}"
                lines.append(f"  {v.name} counts from {text(origin.min)}{fold}")
    return "\n".join(lines)


def show_nests(draft: Draft) -> str:
    return text(draft.nests)
