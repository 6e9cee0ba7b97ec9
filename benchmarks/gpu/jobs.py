"""All jobs, by their groups."""

from __future__ import annotations

from types import ModuleType

from benchmarks.gpu import applications, filters, grids, programs
from benchmarks.gpu.contender import Job

GROUPS: dict[str, ModuleType] = {
    m.GROUP: m for m in (applications, grids, filters, programs)
}


def every() -> list[tuple[str, str]]:
    """The group and the name of each, in the order of the page."""
    return [(group, name) for group, m in GROUPS.items() for name in m.names()]


def job(group: str, name: str) -> Job:
    made: Job = GROUPS[group].job(name)
    return made


__all__ = ["GROUPS", "every", "job"]
