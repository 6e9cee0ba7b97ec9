"""Places in the program under construction: the root, or inside loops of a stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from parhelion.errors import ScheduleError
from parhelion.ir.function import Function
from parhelion.ir.stmt import LetStmt, Stmt
from parhelion.lower.stages import Program, Stage
from parhelion.schedule.directives import LoopLevel, Place


@dataclass(eq=False, slots=True)
class Site:
    """The body inside `depth` loops of `stage` (root: no stage, depth 0).

    parent: the next site further out; within one stage that is one loop less.
    lets: names defined here, in order. checks: asserts that follow them.
    """

    stage: Stage | None
    depth: int
    parent: Site | None
    lets: list[LetStmt] = field(default_factory=list)
    checks: list[Stmt] = field(default_factory=list)

    def outwards(self) -> Iterator[Site]:
        """This site, then the ones around it, ending with the root."""
        site: Site | None = self
        while site is not None:
            yield site
            site = site.parent

    def contains(self, other: Site) -> bool:
        """Whether `other` is this site or further in."""
        return any(s is self for s in other.outwards())

    def __repr__(self) -> str:
        if self.stage is None:
            return "<Site root>"
        return f"<Site {self.stage.name} inside {self.depth} loops>"


class Sites:
    """The sites of a program, made when they are asked for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.root = Site(None, 0, None)
        self._inside: dict[tuple[Stage, int], Site] = {}

    def inside(self, stage: Stage, depth: int) -> Site:
        """The site inside `depth` loops of a stage. Inside none, it is the place
        where the stage's Func is computed, so that sites form a tree."""
        if depth == 0:
            return self.compute(stage.func)
        key = (stage, depth)
        found = self._inside.get(key)
        if found is None:
            found = Site(stage, depth, self.inside(stage, depth - 1))
            self._inside[key] = found
        return found

    def compute(self, f: Function) -> Site:
        """Where `f` is computed."""
        caller = self.program.at_innermost.get(f)
        if caller is not None:
            return self.inside(caller, len(caller.schedule.dims))
        if f in self.program.outputs:
            return self.root
        return self._at(f, f.schedule.compute)

    def store(self, f: Function) -> Site:
        """Where the storage of `f` lives: the compute site or further out."""
        if f in self.program.at_innermost or f in self.program.outputs:
            return self.compute(f)
        return self._at(f, f.schedule.store_level)

    def _at(self, f: Function, level: LoopLevel) -> Site:
        if level.place is Place.ROOT:
            return self.root
        assert level.func is not None and level.var is not None
        stages = self.program.stages.get(level.func)
        if stages is None:
            raise ScheduleError(
                f"Func {f.name!r} is scheduled at a loop of {level.func.name!r}, "
                "which is inlined or not part of the pipeline and has no loops",
                at=level.site,
            )
        chosen = stages if level.stage < 0 else stages[level.stage : level.stage + 1]
        for stage in reversed(chosen):
            for depth, dim in enumerate(reversed(stage.schedule.dims), 1):
                if dim.var is level.var:
                    return self.inside(stage, depth)
        raise ScheduleError(
            f"Func {f.name!r} is scheduled at loop {level.var.name!r} of "
            f"{level.func.name!r}, which has no such loop",
            at=level.site,
            legal=[d.var.name for d in reversed(stages[-1].schedule.dims)],
        )
