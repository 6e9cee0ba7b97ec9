"""Specialised definitions: one definition with several loop nests, chosen at run time.

``f.specialize(condition)`` adds a branch to the schedule of a definition. Branches are
tried in the order in which they were made; a branch has branches of its own if it was
specialised in turn. What the definition's own schedule says holds where no condition
does.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import Site
from parhelion.ir.build import TRUE, is_false, is_true, land
from parhelion.ir.expr import Expr
from parhelion.ir.function import Definition
from parhelion.ir.text import brief
from parhelion.schedule.directives import StageSchedule


class StageIndex(int):
    """The number of a definition, and which of its branches is meant.

    path: positions in `StageSchedule.specializations`, from the outermost; empty for
    the definition's own schedule, as with a plain int.
    """

    path: tuple[int, ...]

    def __new__(cls, stage: int, path: tuple[int, ...]) -> StageIndex:
        made = super().__new__(cls, stage)
        made.path = path
        return made


def path_of(stage: int) -> tuple[int, ...]:
    """Which branch of a definition is meant."""
    return stage.path if isinstance(stage, StageIndex) else ()


def branch_of(d: Definition, stage: int) -> Definition:
    """The definition with the schedule of the branch that `stage` means."""
    path = path_of(stage)
    if not path:
        return d
    schedule = d.schedule
    for k in path:
        inner = schedule.specializations[k].schedule
        assert inner is not None
        schedule = inner
    return Definition(d.args, d.values, d.rdom, schedule, d.site)


def branch_label(d: Definition, stage: int) -> str:
    """How the user names a branch: ``.specialize(p == 2)``; empty for none."""
    label, schedule = "", d.schedule
    for k in path_of(stage):
        one = schedule.specializations[k]
        label += f".specialize({brief(one.condition, 60)})"
        assert one.schedule is not None
        schedule = one.schedule
    return label


@dataclass(frozen=True, slots=True)
class Branch:
    """One way a definition may run: under `condition`, if no branch before it does.

    schedule: None if the pipeline fails here, with `message`.
    """

    condition: Expr
    schedule: StageSchedule | None
    message: str = ""
    site: Site | None = None


def branches(schedule: StageSchedule) -> list[Branch]:
    """The branches of a definition in the order in which they are tried. The
    condition of the last is True; conditions of nested ones include those around."""
    found: list[Branch] = []
    _collect(schedule, TRUE, None, found)
    for k, branch in enumerate(found):
        if is_true(branch.condition):
            return found[: k + 1]
    return found


def _collect(
    schedule: StageSchedule, condition: Expr, site: Site | None, found: list[Branch]
) -> None:
    for one in schedule.specializations:
        inner = land(condition, one.condition)
        if is_false(inner):
            continue
        if one.schedule is None:
            found.append(Branch(inner, None, one.message, one.site))
        else:
            _collect(one.schedule, inner, one.site, found)
    found.append(Branch(condition, schedule, site=site))


def copied(schedule: StageSchedule) -> StageSchedule:
    """A schedule that says the same and can be changed apart, branches included."""
    made = copy.copy(schedule)
    made.specializations = tuple(
        [
            s
            if s.schedule is None
            else dataclasses.replace(s, schedule=copied(s.schedule))
            for s in schedule.specializations
        ]
    )
    return made


def running(found: Sequence[Branch]) -> list[tuple[Expr, StageSchedule]]:
    """The conditions and schedules of those branches that compute something."""
    return [(b.condition, b.schedule) for b in found if b.schedule is not None]


def schedules(schedule: StageSchedule) -> list[StageSchedule]:
    """The schedules of the branches that compute something, the default last.

    Never empty: where every run fails, the default stands for what would have run.
    """
    return [s for _, s in running(branches(schedule))] or [schedule]


__all__ = [
    "Branch",
    "StageIndex",
    "branch_label",
    "branch_of",
    "branches",
    "copied",
    "path_of",
    "running",
    "schedules",
]
