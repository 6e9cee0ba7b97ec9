"""Checks of the schedules of Funcs that foreign code computes, and of its inputs."""

from __future__ import annotations

from parhelion.errors import ScheduleError
from parhelion.ir.function import Function, var_label
from parhelion.ir.stmt import ForKind
from parhelion.schedule.order import callees
from parhelion.schedule.rules import stage_label
from parhelion.schedule.sites import Nests, Stack


def check_foreign(nests: Nests, f: Function) -> None:
    """What foreign code is given has its pixels in memory."""
    for g in callees(f):
        if nests.inlines(g):
            raise ScheduleError(
                f"{g.name} is inlined, but {f.name}, which foreign code computes, needs"
                " its pixels in memory",
                at=f.site,
                legal=[f"{g.name}.compute_root()"],
                hint=f"or compute it where {f.name} is computed",
            )


def check_not_in_vector(f: Function, stack: Stack) -> None:
    """Foreign code computes one region at a time."""
    for site in stack:
        if site.dim.kind is ForKind.VECTORIZED:
            where = stage_label(site.func, site.stage)
            raise ScheduleError(
                f"{f.name}, which foreign code computes, is computed inside the"
                f" vectorized loop {var_label(site.dim.var)} of {where}: it computes"
                " one region at a time",
                at=f.schedule.compute.site or f.site,
                hint="compute it at a loop further out",
            )


__all__ = ["check_foreign", "check_not_in_vector"]
