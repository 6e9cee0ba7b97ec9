"""What C text cannot show, and what is said of it."""

from __future__ import annotations

from typing import NoReturn

from parhelion.errors import HalideError, here
from parhelion.ir.pipeline import Lowered
from parhelion.ir.stmt import OnDemand, RunExtern

_FOREIGN = "foreign code computes a Func, which is no C text"

#: Operations that C text cannot show, and why.
NO_TEXT = {
    "extern_query": _FOREIGN,
    "extern_bound": _FOREIGN,
    "memo_find": "results of a memoized Func are kept by no C text",
}


def check(lowered: Lowered, name: str) -> None:
    """Raises HalideError for a program with kernels. name: of the function."""
    if lowered.device is not None:
        raise HalideError(
            f"C is not made of {name!r}, which has kernels for a GPU",
            at=here(),
            hint="write an object file or assembly, or schedule it for the CPU",
        )


def lazy(f: object, s: OnDemand) -> NoReturn:
    """Raises HalideError for a Func whose values are computed on demand."""
    raise HalideError(
        f"Func {s.func.label!r} is computed on demand (compute_lazy), of which there is"
        " no form in C text",
        at=s.func.schedule.compute.site,
        hint=f"{s.func.label}.compute_root(), or an object file",
    )


def foreign(f: object, s: RunExtern) -> NoReturn:
    """Raises HalideError for a stage that foreign code computes."""
    raise HalideError(
        f"Func {s.func.name!r} is computed by foreign code, which is no C text",
        at=s.func.site,
    )


__all__ = ["NO_TEXT", "check", "foreign", "lazy"]
