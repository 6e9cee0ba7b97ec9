"""Which loop of a schedule a loop of a program is."""

from __future__ import annotations

from dataclasses import dataclass, field

from parhelion.errors import Site
from parhelion.ir.expr import Var
from parhelion.ir.function import Function


@dataclass(frozen=True, slots=True)
class LoopId:
    """A loop of one definition of a Func, which copies of the loop have as well.

    stage: the number of the definition. branch: of its specialisations. var: the loop's
    variable in the schedule. shared: whether several stages share it (`compute_with`),
    of which this one comes first. site: the user's line that says how it runs.
    """

    func: Function
    stage: int
    branch: int
    var: Var
    shared: bool = False
    site: Site | None = field(default=None, compare=False)


__all__ = ["LoopId"]
