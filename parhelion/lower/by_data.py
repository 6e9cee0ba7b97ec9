"""Funcs that are only read where data decides: of these, not all may be needed."""

from __future__ import annotations

from parhelion.analysis.rank import reads_data
from parhelion.ir.expr import FuncCall
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.lower.stages import StagedPipeline, collect
from parhelion.schedule.legality import resolve
from parhelion.schedule.spec import PipelineSpec


def read_by_data(program: StagedPipeline) -> list[Function]:
    """The Funcs with loops of their own, computed before they are read, all of whose
    reads by others have coordinates that depend on data."""
    found: list[Function] = []
    for f in program.order:
        if f in program.outputs or f.schedule.on_demand or f.extern is not None:
            continue
        reads = [
            n
            for stage in program.consumers.get(f, ())
            for e in (*stage.values, *stage.args, stage.predicate)
            for n in nodes(e)
            if isinstance(n, FuncCall) and n.func is f
        ]
        if reads and all([any(map(reads_data, n.args)) for n in reads]):
            found.append(f)
    return found


def advice(name: str) -> str:
    """What to say of such a Func."""
    return (
        f"{name} is only read where data decides: if that is a small part of it,"
        f" {name}.compute_lazy(tile=…) computes no more than that"
    )


def advice_of(spec: PipelineSpec) -> list[str]:
    """What to say of a pipeline, as it is scheduled, where the user has not said how
    much of a Func is read."""
    program = collect(resolve(spec), spec.assumptions)
    found = [f for f in read_by_data(program) if f.schedule.coverage is None]
    return [advice(f.label) for f in found]


__all__ = ["advice", "advice_of", "read_by_data"]
