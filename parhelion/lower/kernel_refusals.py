"""What is said of schedules that no kernel can be made of."""

from __future__ import annotations

from parhelion.errors import ScheduleError
from parhelion.ir.function import Function
from parhelion.ir.stmt import Allocate, Assert, For, Stmt
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


def refused_statement(s: Stmt) -> ScheduleError:
    what = f"a statement of the host's ({type(s).__name__})"
    if isinstance(s, Assert):
        what = f"a check ({s.code})"
    return ScheduleError(
        f"{what} would have to run in a kernel, which cannot fail, print or call code",
        hint="compute the Func that needs it outside of the kernel, at the root",
    )


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


__all__ = [
    "RefusedStorage",
    "block_inside",
    "divergent",
    "refused_statement",
    "refused_storage",
]
