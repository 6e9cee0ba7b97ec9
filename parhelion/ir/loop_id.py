"""Which loop of a schedule a loop of a program is, and what was said of cutting it."""

from __future__ import annotations

import enum
from dataclasses import field
from typing import TYPE_CHECKING

from parhelion.dataclass import dataclass
from parhelion.errors import Site
from parhelion.ir.expr import Var

if TYPE_CHECKING:
    from parhelion.ir.function import Function


class Partition(enum.Enum):
    """Whether a loop is cut into pieces by the conditions in it (`Func.partition`):
    where that looks worth the code (Auto), never, or always."""

    Auto = "auto"
    Never = "never"
    Always = "always"


@dataclass(frozen=True, slots=True)
class PartitionChoice:
    """What the user said of partitioning a loop.

    label, directive, site: of which stage, how, and where in the user's file.
    explicit: whether the loop was named, rather than one of all.
    """

    policy: Partition
    label: str
    directive: str
    explicit: bool
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class LoopId:
    """A loop of one definition of a Func, which copies of the loop have as well.

    stage: the number of the definition. branch: of its specialisations. var: the loop's
    variable in the schedule. shared: whether several stages share it (`compute_with`),
    of which this one comes first. site: the user's line that says how it runs.
    partition: what the user said of partitioning it.
    """

    func: Function
    stage: int
    branch: int
    var: Var
    shared: bool = False
    site: Site | None = field(default=None, compare=False)
    partition: PartitionChoice | None = field(default=None, compare=False)


__all__ = ["LoopId", "Partition", "PartitionChoice"]
