"""Places in the program under construction: the root, or inside loops of a stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.errors import internal_assert
from parhelion.ir.function import Function
from parhelion.ir.stmt import LetStmt, Stmt
from parhelion.lower.fused import Fusing
from parhelion.lower.stages import LoopStage, StagedPipeline
from parhelion.schedule.directives import OUTERMOST, LoopLevel, Place


@dataclass(eq=False, slots=True)
class Site:
    """The body inside `depth` loops of `stage`; the root has no stage, and neither has
    the production of one part of `part_of`, a Func that is computed on demand.

    Depth 0 of a stage is inside the production of its Func, around all its loops.
    parent: the next site further out; within one stage that is one loop less.
    lets: names defined here, in order. checks: asserts that follow them.
    """

    stage: LoopStage | None
    depth: int
    parent: Site | None
    lets: list[LetStmt] = field(default_factory=list)
    checks: list[Stmt] = field(default_factory=list)
    part_of: Function | None = None

    def outwards(self) -> Iterator[Site]:
        """This site, then the ones around it, ending with the root."""
        site: Site | None = self
        while site is not None:
            yield site
            site = site.parent

    def within(self, f: Function) -> bool:
        """Whether it is part of the production of `f`."""
        return any(s.stage is not None and s.stage.func is f for s in self.outwards())

    def contains(self, other: Site) -> bool:
        """Whether `other` is this site or further in."""
        return any(s is self for s in other.outwards())

    def __repr__(self) -> str:
        return f"<Site {self}>"

    def __str__(self) -> str:
        if self.part_of is not None:
            return f"a part of {self.part_of.name}"
        if self.stage is None:
            return "root"
        loops = "loop" if self.depth == 1 else "loops"
        return f"{self.stage.name} inside {self.depth} {loops}"


class Sites:
    """The sites of a program, made when they are asked for."""

    def __init__(self, program: StagedPipeline) -> None:
        self.program = program
        self.root = Site(None, 0, None)
        self._inside: dict[tuple[LoopStage, int], Site] = {}
        self._parts: dict[Function, Site] = {}
        self.fusing = Fusing(program)

    def __iter__(self) -> Iterator[Site]:
        """All sites that have been asked for, the root first."""
        yield self.root
        yield from self._inside.values()
        yield from self._parts.values()

    def inside(self, stage: LoopStage, depth: int) -> Site:
        """The site inside `depth` loops of a stage. Around the one inside none is
        the place where the stage's Func is computed, so that sites form a tree."""
        stage = self.fusing.owner(stage, depth)
        key = (stage, depth)
        found = self._inside.get(key)
        if found is None:
            follow = self.fusing.follows.get(stage)
            if follow is not None and depth == follow.depth:
                outer = self.inside(follow.leader, depth)
            elif depth:
                outer = self.inside(stage, depth - 1)
            else:
                outer = self.compute(stage.func)
            found = self._inside[key] = Site(stage, depth, outer)
        return found

    def on_demand(self, f: Function) -> bool:
        """Whether parts of `f` are computed where they are needed."""
        return f.schedule.on_demand and f not in self.program.outputs

    def compute(self, f: Function) -> Site:
        """Where `f` is computed."""
        if not self.on_demand(f):
            return self._at_level(f)
        found = self._parts.get(f)
        if found is None:
            found = self._parts[f] = Site(None, 0, self._at_level(f), part_of=f)
        return found

    def _at_level(self, f: Function) -> Site:
        host = self.program.host.get(f)
        if host is None:
            return self.root
        placement = self.program.placement(f)
        level = placement.level()
        if level is None:
            around = placement.loops_around(len(host.schedule.dims))
            return self.inside(host, around)
        return self._in(host, level)

    def shares(self, stage: LoopStage, site: Site) -> bool:
        """Whether a stage runs inside a site of another one, with which it shares
        loops."""
        if site.stage is None or site.stage is stage:
            return False
        return stage in self.fusing.members(site.stage, max(site.depth, 1))

    def store(self, f: Function) -> Site:
        """Where the storage of `f` lives: the compute site or further out."""
        return self._around(f, f.schedule.store_level)

    def hoist(self, f: Function) -> Site:
        """Where the storage of `f` is allocated: the store site or further out."""
        return self._around(f, f.schedule.hoist_level)

    def _around(self, f: Function, level: LoopLevel) -> Site:
        """The site of a level around the computation of `f`."""
        host = self.program.host.get(f)
        if host is None or self.program.placement(f).level() is None:
            return self._at_level(f)
        if level.place is Place.ROOT:
            return self.root
        stage = self.program.enclosing(host, level)
        internal_assert(stage is not None, f"{f.name} is stored outside its loops")
        assert stage is not None
        return self._in(stage, level)

    def memoized_around(self, f: Function) -> Function | None:
        """The innermost memoized Func in whose production `f` is computed. Where its
        result is known, nothing of that production runs."""
        for site in self.compute(f).outwards():
            host = None if site.stage is None else site.stage.func
            if host is not None and host.schedule.memo is not None:
                # The storage of an output is the caller's: it is always computed.
                return None if host in self.program.outputs else host
        return None

    def _in(self, stage: LoopStage, level: LoopLevel) -> Site:
        """The site inside a loop of `stage`; `resolve` has seen that it is
        there."""
        if level.var is OUTERMOST:
            return self.inside(stage, 0)
        loops = [d.var for d in reversed(stage.schedule.dims)]
        assert level.var is not None
        return self.inside(stage, loops.index(level.var) + 1)
