"""Stages that share loops (compute_with): who leads, and which loops are shared.

A stage that runs with another one *follows* it down to some loop. The shared loops are
the leader's in the program under construction: their insides are sites of the leader,
where producers of all that share them are computed. Right inside the innermost shared
loop a follower has a site of its own again.

The variable of a shared loop runs over the union of the stages' ranges. Each stage has
its own loop variable, bound by a let, kept within its own range so that what it needs
there is within what it needs at all; outside of its range the stage is skipped:

    for fused.y in union:
      let f.y = clamp(fused.y, f.y.min, f.y.max)
      let g.y = clamp(fused.y + shift, g.y.min, g.y.max)
      …                                       what is computed at the loop y of f
      if (fused.y is in the range of f)  for x: f(x, f.y) = …
      if (… of g)                        for x: g(x, g.y) = …
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    TRUE,
    add,
    int32,
    land,
    le,
    likely,
    maximum,
    minimum,
    sub,
)
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import LetStmt
from parhelion.lower.loops import Loop, Range, hull
from parhelion.lower.stages import LoopStage, StagedPipeline
from parhelion.schedule.directives import LoopAlignStrategy
from parhelion.schedule.fusing import fused_stages, groups, shared_prefix
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32


@dataclass(frozen=True, slots=True)
class Follow:
    """A stage follows `leader` inside the outermost `depth` loops."""

    leader: LoopStage
    depth: int


class Fusing:
    """What is shared in one program."""

    def __init__(self, program: StagedPipeline) -> None:
        self.follows: dict[LoopStage, Follow] = {}
        self.followers: dict[LoopStage, list[LoopStage]] = {}
        self.groups: dict[Function, tuple[Function, ...]] = {}
        found = list(fused_stages(program.order))
        if not found:
            return
        stages = {
            (s.func, s.index): s for f in program.order for s in program.stages[f]
        }
        for f, k, to in found:
            depth = shared_prefix(f, k, to.var)
            assert depth is not None
            self.follows[stages[f, k]] = Follow(stages[to.func, to.stage], depth)
        for stage in list(self.follows):
            # Who follows a follower no further in than that itself follows another.
            follow = self.follows[stage]
            while (above := self.follows.get(follow.leader)) is not None:
                if above.depth < follow.depth:
                    break
                follow = Follow(above.leader, follow.depth)
            self.follows[stage] = follow
        for stage, follow in self.follows.items():
            self.followers.setdefault(follow.leader, []).append(stage)
        for one in self.followers.values():
            one.sort(key=lambda s: -self.follows[s].depth)
        for group in groups(found):
            ordered = self._ordered(program, group)
            self.groups.update(dict.fromkeys(ordered, ordered))

    def _ordered(
        self, program: StagedPipeline, group: list[Function]
    ) -> tuple[Function, ...]:
        """The Funcs of a group in the order in which their stages first run."""
        found: dict[Function, None] = {}
        for f in group:
            for s in program.stages[f]:
                if s not in self.follows:
                    found.update(dict.fromkeys(m.func for m in self.members(s, 1)))
        return tuple(found)

    def owner(self, stage: LoopStage, depth: int) -> LoopStage:
        """Whose site the inside of `depth` loops of a stage is."""
        while (follow := self.follows.get(stage)) is not None and depth < follow.depth:
            stage = follow.leader
        return stage

    def members(self, stage: LoopStage, depth: int) -> list[LoopStage]:
        """The stages that run in loop number `depth` of a stage that owns it, itself
        included, in the order in which they do."""
        out = [stage]
        for follower in self.followers.get(stage, ()):
            if self.follows[follower].depth >= depth:
                out += self.members(follower, depth)
        return out

    def is_shared(self, stage: LoopStage, depth: int) -> bool:
        """Whether others run in loop number `depth` of a stage."""
        follow = self.follows.get(stage)
        if follow is not None and depth <= follow.depth:
            return True
        return len(self.members(stage, depth)) > 1

    def shared(self, stage: LoopStage) -> int:
        """How many of a stage's loops are shared with another one."""
        own = self.follows.get(stage)
        depths = [0 if own is None else own.depth]
        depths += [self.follows[f].depth for f in self.followers.get(stage, ())]
        return max(depths)

    def clusters(
        self, program: StagedPipeline, unit: tuple[Function, ...]
    ) -> Iterator[list[LoopStage]]:
        """The definitions of Funcs computed together that follow none, each after
        those that the definitions of its Funcs before have run with."""
        waiting = {f: program.definitions(f) for f in unit}
        while any(waiting.values()):
            for f in reversed(unit):
                if not waiting[f] or waiting[f][0][0] in self.follows:
                    continue
                run = self.members(waiting[f][0][0], 1)
                if all(waiting[s.func][0][0] is s for s in run):
                    yield waiting[f][0]
                    for s in run:
                        waiting[s.func].pop(0)
                    break
            else:
                raise AssertionError("fused stages in a circle")


@dataclass(frozen=True, slots=True)
class SharedLoop:
    """A loop that several stages share. lets bind their own loop variables; conds are
    whether an iteration is one of theirs."""

    var: Var
    range: Range
    lets: tuple[LetStmt, ...]
    conds: Mapping[LoopStage, Expr]


def shared_loop(
    fusing: Fusing, owner: LoopStage, depth: int, loops: Mapping[LoopStage, Loop]
) -> SharedLoop:
    """Loop number `depth` of `owner`, for all that share it."""
    shift: dict[LoopStage, Expr] = {}
    ranges: dict[LoopStage, Range] = {}
    union: Range | None = None
    for stage in fusing.members(owner, depth):
        own = _range(loops[stage])
        if stage is owner:
            shift[stage] = int32(0)
        else:
            leader = fusing.follows[stage].leader
            gap = _gap(stage, loops[stage], own, _range(loops[leader]))
            shift[stage] = simplify(add(shift[leader], gap))
        ranges[stage] = Range(
            simplify(sub(own.lo, shift[stage])), simplify(sub(own.hi, shift[stage]))
        )
        union = ranges[stage] if union is None else hull(union, ranges[stage])
    assert union is not None
    first = loops[owner].dim.var
    # What the first of them says of partitioning it that says something.
    said = [stage.schedule.partitions.get(loops[stage].dim.var) for stage in ranges]
    partition = next((choice for choice in said if choice is not None), None)
    which = replace(owner.loop_id(first, shared=True), partition=partition)
    name = f"{owner.name}.fused.{first.name}"
    var = Var(name, INT32, lo=union.lo, hi=union.hi, loop=which)
    lets: list[LetStmt] = []
    conds: dict[LoopStage, Expr] = {}
    for stage, r in ranges.items():
        at: Expr = var
        cond: Expr = TRUE
        if not can_prove(le(r.lo, union.lo)):
            cond = land(cond, likely(le(r.lo, var)))
            at = maximum(likely(at), r.lo)
        if not can_prove(le(union.hi, r.hi)):
            cond = land(cond, likely(le(var, r.hi)))
            at = minimum(likely(at), r.hi)
        if cond is not TRUE:
            # Both ends, in this order: a range without points keeps to its start.
            at = maximum(minimum(likely(var), r.hi), r.lo)
        conds[stage] = cond
        lets.append(LetStmt(loops[stage].var, simplify(add(at, shift[stage]))))
    return SharedLoop(var, union, tuple(lets), conds)


def _range(loop: Loop) -> Range:
    return Range(loop.min, simplify(sub(add(loop.min, loop.extent), int32(1))))


def _gap(stage: LoopStage, loop: Loop, own: Range, leader: Range) -> Expr:
    """What a follower's loop variable has more than its leader's."""
    to = stage.schedule.fused_with
    assert to is not None
    how = dict(to.each).get(loop.dim.var, to.align)
    if how is LoopAlignStrategy.AlignStart:
        return sub(own.lo, leader.lo)
    if how is LoopAlignStrategy.AlignEnd:
        return sub(own.hi, leader.hi)
    return int32(0)


def units(
    program: StagedPipeline, fusing: Fusing, here: Set[Function]
) -> list[tuple[Function, ...]]:
    """The Funcs of one place, producers first, those computed together as one."""
    order = [f for f in program.order if f in here]
    if not any(f in fusing.groups for f in order):
        return [(f,) for f in order]
    needs: dict[Function, set[Function]] = {}
    for f in program.order:
        direct = {g for s in program.stages[f] for g in s.calls() if g is not f}
        needs[f] = direct.union(*[needs[g] for g in direct])
    left = dict.fromkeys(fusing.groups.get(f, (f,)) for f in order)
    out: list[tuple[Function, ...]] = []
    while left:
        unit = next(
            u
            for u in left
            if not any(g in needs[f] for f in u for w in left if w is not u for g in w)
        )
        del left[unit]
        out.append(unit)
    return out


__all__ = ["Follow", "Fusing", "SharedLoop", "shared_loop", "units"]
