"""Running sums: updates whose loop may be vectorized, for all that each iteration adds
to what the one before it stored."""

from __future__ import annotations

from parhelion.analysis.recurrence import NoRecurrence, find_recurrence
from parhelion.errors import ScheduleError
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Extern, FuncCall, ImageLoad, Intrinsic, Var
from parhelion.ir.function import Definition, Function, var_label
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind
from parhelion.schedule.directives import DimType, StageSchedule


def is_running_sum(function: Function, d: Definition) -> bool:
    """Whether each value is the one a point before it, plus what does not read the Func
    but at the point itself, and may be summed in another order."""
    found = find_recurrence(function, d)
    if isinstance(found, NoRecurrence) or found.order > 1:
        return False
    for value in found.values:
        before = value.feedback[0] if value.feedback else None
        if before is None or not _is_one(before):
            return False
    marks = [n for v in d.values for n in nodes(v) if isinstance(n, Intrinsic)]
    return not any([n.op == "strict_float" for n in marks])


def _is_one(e: Expr) -> bool:
    return not any([isinstance(n, _VARYING) for n in nodes(e)]) and evaluate(e, {}) == 1


#: What has no value before a pipeline runs.
_VARYING = (Var, FuncCall, ImageLoad, Intrinsic, Extern)


def check_order_in_lanes(label: str, schedule: StageSchedule) -> None:
    """Lanes of a running sum take the places of iterations that follow each other: no
    loop of the reduction may be inside of theirs."""
    if not schedule.keeps_order:
        return
    scanned = [d for d in schedule.dims if d.type is DimType.IMPURE_RVAR]
    for inner, d in zip(scanned, scanned[1:], strict=False):
        if d.kind is ForKind.VECTORIZED:
            raise ScheduleError(
                f"{label}.vectorize: {var_label(d.var)} is a loop of a running sum, and"
                f" {var_label(inner.var)} is inside of it, so that its iterations would"
                " not happen one after the other",
                at=schedule.sites.get(d.var),
                hint=f"vectorize {var_label(inner.var)}, the innermost one",
            )


__all__ = ["check_order_in_lanes", "is_running_sum"]
