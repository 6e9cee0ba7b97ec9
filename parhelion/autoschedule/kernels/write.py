"""Kernels as directives: which loops of a definition are blocks, threads, unrolled."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.autoschedule.calls import RVarArg, VarArg, var_arg
from parhelion.autoschedule.kernels.roles import SMALL, Roles
from parhelion.autoschedule.kernels.shape import Shape, fused
from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.script import Script
from parhelion.dataclass import dataclass
from parhelion.ir.expr import Var
from parhelion.schedule.args import is_rvar
from parhelion.schedule.directives import TailStrategy

Name = VarArg | RVarArg


@dataclass(frozen=True)
class Levels:
    """Where members of a kernel's group are computed: in the innermost loop over its
    blocks, or that over its threads. threads: along the loops over threads, the
    innermost first."""

    block: Name
    thread: Name
    threads: tuple[int, ...]


def write_kernel(
    script: Script,
    stage: GraphStage,
    roles: Roles,
    shape: Shape,
    extents: Sequence[int],
) -> Levels:
    """Writes the directives of a definition that is a kernel.

    extents: of `roles.parallel`. Threads beyond the end of a loop have nothing to do,
    so that the schedule is right at every size, also one smaller than a block.
    """
    return _Kernel(script, stage, roles, shape, extents).write()


def write_in_block(
    script: Script,
    stage: GraphStage,
    roles: Roles,
    threads: Sequence[int],
    extents: Sequence[int],
) -> None:
    """Writes the directives of a definition that the threads of a block compute
    together, for others of the kernel.

    threads: along the loops over threads of the kernel; extents: of `roles.parallel`,
    about as far as a block needs them. Each thread takes points that are as far apart
    as there are threads, until all are done.
    """
    writer = _Loops(script, stage)
    along = threads_along(extents, len(threads))
    inner: list[Name] = []
    deep: list[Name] = []
    for d, v in enumerate(roles.parallel):
        name = var_arg(v)
        if d in along:
            within = writer.new(v, "t")
            count = threads[along.index(d)]
            writer.split(name, name, within, count)
            deep.append(within)
        inner.append(name)
    order = [*[var_arg(r) for r in roles.inside], *inner, *deep]
    writer.reorder(order)
    writer.give("gpu_threads", *deep)


def threads_along(extents: Sequence[int], loops: int) -> list[int]:
    """The loops of a member that run over threads, as many as its kernel has loops over
    threads: the first that has more than a few points, then the longest others.

    extents: of its loops, in the box that a block needs.
    """
    first = next((d for d, e in enumerate(extents) if e > SMALL), 0)
    rest = sorted(
        [d for d in range(len(extents)) if d != first], key=extents.__getitem__
    )
    return sorted([first, *rest[::-1]][: min(loops, len(extents))])


def write_in_thread(
    script: Script, stage: GraphStage, roles: Roles, extents: Sequence[int]
) -> None:
    """Writes the directives of a definition that each thread computes for itself, in
    registers: all loops over its points are unrolled, inside of those of a reduction.

    extents: how many points there are along each of `roles.parallel`.
    """
    writer = _Loops(script, stage)
    unrolled: list[Name] = []
    around: list[Name] = []
    for v, extent in zip(roles.parallel, extents, strict=True):
        name = var_arg(v)
        if extent > 1:
            within = writer.new(v, "u")
            writer.split(name, name, within, extent)
            unrolled.append(within)
        around.append(name)
    writer.reorder([*unrolled, *[var_arg(r) for r in roles.inside], *around])
    for name in unrolled:
        writer.give("unroll", name)


class _Loops:
    """Directives on the loops of one definition, and names for new ones."""

    def __init__(self, script: Script, stage: GraphStage) -> None:
        self.script, self.stage = script, stage
        self.taken = {v.name for v in (*stage.func.args, *stage.loops)}
        #: The loops as they are now, innermost first.
        self.now: list[Name] = [var_arg(v) for v in stage.loops]

    def give(self, method: str, *args: object) -> None:
        self.script.add(self.stage.func, self.stage.index, method, *args)

    def new(self, v: Var, suffix: str) -> Name:
        base = "".join([c if c.isalnum() else "_" for c in v.name])
        return self.named(base + suffix, is_rvar(v))

    def named(self, name: str, reduces: bool) -> Name:
        """A name like this that no loop has."""
        made, k = name, 1
        while made in self.taken:
            k += 1
            made = f"{name}{k}"
        self.taken.add(made)
        return RVarArg(made) if reduces else VarArg(made)

    def split(self, old: Name, outer: Name, inner: Name, size: int) -> None:
        self.give("split", old, outer, inner, size, TailStrategy.GuardWithIf)
        at = self.now.index(old)
        self.now[at : at + 1] = [inner, outer]

    def reorder(self, wanted: Sequence[Name]) -> None:
        if list(wanted) != self.now and len(wanted) > 1:
            self.give("reorder", *wanted)
        self.now = list(wanted)

    def fuse(self, inner: Name, outer: Name) -> Name:
        reduces = isinstance(inner, RVarArg) and isinstance(outer, RVarArg)
        made = self.named(f"{inner.name}_{outer.name}", reduces)
        self.give("fuse", inner, outer, made)
        self.now.remove(outer)
        self.now[self.now.index(inner)] = made
        return made


class _Kernel(_Loops):
    def __init__(
        self,
        script: Script,
        stage: GraphStage,
        roles: Roles,
        shape: Shape,
        extents: Sequence[int],
    ) -> None:
        super().__init__(script, stage)
        self.roles, self.shape, self.extents = roles, shape, extents
        self.blocks: list[Name] = []
        self.threads: list[Name] = []
        self.points: list[Name] = []

    def write(self) -> Levels:
        shape = self.shape
        if self.roles.atomic:
            self.give("atomic")
        deep = shape.deep()
        for d, v in enumerate(self.roles.parallel):
            self._cut(d, v, d in deep)
        inside = [var_arg(r) for r in self.roles.inside]
        self.reorder([*self.points, *inside, *self.threads, *self.blocks])
        for name in self.points:
            self.give("unroll", name)
        blocks = self._fused()
        self.give("gpu_blocks", *blocks)
        self.give("gpu_threads", *self.threads)
        counts = tuple([shape.threads[d] for d in deep])
        return Levels(blocks[0], self.threads[0], counts)

    def _cut(self, d: int, v: Var, runs: bool) -> None:
        """Cuts one loop into that over blocks, over threads and over points."""
        shape, name = self.shape, var_arg(v)
        threads, points = shape.threads[d], shape.points[d]
        self.blocks.append(name)
        if not runs and points == 1:
            return
        inner = self.new(v, "i")
        self.split(name, name, inner, threads * points)
        if not runs:
            self.points.append(inner)
            return
        if points == 1:
            self.threads.append(inner)
            return
        own = self.new(v, "u")
        if d == 0 and shape.apart:
            self.split(inner, own, inner, threads)
        else:
            self.split(inner, inner, own, points)
        self.threads.append(inner)
        self.points.append(own)

    def _fused(self) -> list[Name]:
        made: list[Name] = []
        for loops in fused(self.shape.grid(self.extents)):
            names = [self.blocks[d] for d in loops]
            one = names[-1]
            for name in reversed(names[:-1]):
                one = self.fuse(name, one)
            made.append(one)
        return made


__all__ = [
    "Levels",
    "threads_along",
    "write_in_block",
    "write_in_thread",
    "write_kernel",
]
