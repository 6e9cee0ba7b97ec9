"""The Params, images and outputs that definitions and their schedules mention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parhelion.ir.expr import Expr, Imm
from parhelion.ir.function import Function
from parhelion.ir.promises import Symbol, mentioned
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.directives import Split, StageSchedule


def of_definitions(f: Function, found: dict[Symbol, None]) -> None:
    """Adds what the definitions of a Func mention."""
    for d in f.stages():
        found |= dict.fromkeys(d.symbols())


def of_schedules(f: Function, found: dict[Symbol, None]) -> None:
    """Adds what the directives on a Func and its stages mention."""
    s = f.schedule
    for b in s.bounds:
        of_exprs((b.min, b.extent), found)
    for wish in s.storage.values():
        of_exprs((wish.fold, wish.bound), found)
    of_exprs((s.ring, None if s.memo is None else s.memo.eviction), found)
    for d in f.stages():
        _of_stage(d.schedule, found)


def _of_stage(s: StageSchedule, found: dict[Symbol, None]) -> None:
    for t in s.transforms:
        if type(t) is Split:
            of_exprs((t.factor,), found)
    of_exprs([n.value for n in s.spent], found)
    for p in s.prefetches:
        of_exprs((p.offset,), found)
        if isinstance(p.source, BufferSym):
            found[p.source] = None
    for one in s.specializations:
        of_exprs((one.condition,), found)
        if one.schedule is not None:
            _of_stage(one.schedule, found)


def of_exprs(exprs: Iterable[Expr | None], found: dict[Symbol, None]) -> None:
    """Adds what expressions mention."""
    for e in exprs:
        if e is not None and type(e) is not Imm:
            found |= mentioned(e)


def of_pipeline(
    outputs: Sequence[Function],
    order: Sequence[Function],
    required: Iterable[Sequence[Expr]],
) -> dict[Symbol, None]:
    """All that the Funcs of a pipeline mention, its requirements, and its outputs."""
    found: dict[Symbol, None] = {}
    for f in order:
        of_definitions(f, found)
        of_schedules(f, found)
    for exprs in required:
        of_exprs(exprs, found)
    return found | {b: None for f in outputs for b in f.buffers}


__all__ = ["of_exprs", "of_pipeline", "of_schedules"]
