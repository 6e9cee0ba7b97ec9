"""What is said of schedules that no kernel can be made of."""

from __future__ import annotations

from parhelion.errors import ScheduleError, Site
from parhelion.ir.function import Function
from parhelion.ir.stmt import (
    Allocate,
    Demand,
    Evaluate,
    For,
    Fork,
    MemoryKind,
    OnDemand,
    RunExtern,
    Stmt,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.unroll import refused


def block_inside(loop: For) -> ScheduleError:
    return refused(
        loop,
        "is over blocks of a GPU, but is in a kernel: loops over blocks stand directly"
        " inside one another",
        "give it to gpu_threads or make it serial; or compute its Func outside of the"
        " kernel",
    )


def divergent(loop: For) -> ScheduleError:
    return refused(
        loop,
        "is over threads, and inside of it others are begun that depend on what this"
        " thread computes: threads would wait at a barrier to which some do not come",
        "reorder the loops over threads next to each other, innermost",
    )


def refused_statement(s: Stmt, kernel: For) -> ScheduleError:
    what, f = "code of the host's", None
    if isinstance(s, Evaluate):
        what = "print or another call"
    elif isinstance(s, RunExtern):
        what, f = f"the foreign stage {s.func.label}", s.func
    elif isinstance(s, Fork):
        what, f = f"{s.func.label}, which is async,", s.func
    elif isinstance(s, OnDemand):
        what, f = f"{s.func.label}, which is computed on demand,", s.func
    elif isinstance(s, Demand):
        owner = s.table.func if isinstance(s.table, BufferSym) else s.table
        name = s.thunk.name if owner is None else owner.label
        what, f = f"the demand for {name}, which is computed on demand,", owner
    which = kernel.var.loop
    return ScheduleError(
        f"{what} would have to run in a kernel, which cannot print or call code",
        at=_site(f) if f is not None else None if which is None else which.site,
        hint="compute the Func that needs it outside of the kernel, at the root",
    )


def _site(f: Function) -> Site | None:
    schedule = f.schedule
    return schedule.async_site or schedule.compute.site or f.site


class RefusedStorage(ScheduleError):
    """Of storage that cannot be in a kernel. func: whose it is, if it is a Func's;
    of copies of the user's, as what is lowered is."""

    func: Function | None = None


def refused_storage(a: Allocate, why: str, hint: str = "") -> RefusedStorage:
    f = a.buffer.func
    name = a.buffer.name if f is None else f.label
    site = None if f is None else f.schedule.memory_site or f.schedule.compute.site
    made = RefusedStorage(f"the storage of {name} {why}", at=site, hint=hint)
    made.func = f
    return made


def refuse_memoized(a: Allocate) -> None:
    """Raises ScheduleError for storage in a kernel that the cache of memoized Funcs
    would have to give."""
    if a.kind is MemoryKind.CACHE:
        raise refused_storage(
            a,
            "is in a kernel, whose threads cannot ask the cache of memoized Funcs",
            "compute it at the root, or leave out memoize",
        )


def refuse_texture(a: Allocate) -> None:
    """Raises ScheduleError for storage in a kernel that is to be a texture."""
    f = a.buffer.func
    if f is not None and f.schedule.memory is MemoryKind.TEXTURE:
        raise refused_storage(
            a,
            "is in a kernel, and is to be a texture (store_in): a kernel reads textures"
            " that were stored before it began",
            "compute it outside of the kernel, at the root, or leave out store_in",
        )


__all__ = [
    "RefusedStorage",
    "block_inside",
    "divergent",
    "refuse_memoized",
    "refuse_texture",
    "refused_statement",
    "refused_storage",
]
