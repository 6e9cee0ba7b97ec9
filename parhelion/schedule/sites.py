"""The schedules of a pipeline as one value: where every Func is computed and stored.

`Nests` works from the outputs towards the inputs. Each use of a Func stands inside
some loops; its compute level must be one of them, for every use. What `lower` needs
to know (the order of Funcs, the placement of each, the branches of each definition) and
what messages show (legal sites, the loop nest) come from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.ir.build import TRUE
from parhelion.ir.expr import Expr, FuncCall, ImageLoad
from parhelion.ir.function import Definition, Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind
from parhelion.schedule.args import nameable
from parhelion.schedule.branches import Branch, branches, running
from parhelion.schedule.directives import (
    OUTERMOST,
    Dim,
    DimType,
    LoopLevel,
    StageSchedule,
)
from parhelion.schedule.placement import placement_of
from parhelion.schedule.wrappers import called, read_instead


@dataclass(frozen=True, slots=True)
class LoopSite:
    """The inside of one loop of a stage. `dim.var` is `OUTERMOST` for the place
    outside all loops of the stage but inside the production of its Func.

    branch: which of the stage's branches, if it is specialised."""

    func: Function
    stage: int
    dim: Dim
    branch: int = 0

    def matches(self, level: LoopLevel) -> bool:
        return (
            level.func is self.func
            and level.var is self.dim.var
            and level.stage in (-1, self.stage)
        )

    @property
    def nameable(self) -> bool:
        """Whether the user has a Var for this loop."""
        return nameable(self.dim.var) or self.dim.var in self.func.args


#: Sites from the outermost to the innermost; the root is the empty stack.
Stack = tuple[LoopSite, ...]

_OUTERMOST_DIM = Dim(OUTERMOST, ForKind.SERIAL, DimType.PURE_VAR)


@dataclass(frozen=True, slots=True)
class Use:
    """One stage that calls a Func (perhaps through inlined ones), and its loops."""

    func: Function
    stage: int
    stack: Stack


class Nests:
    """The schedules of a pipeline, resolved: its loop nests, as far as the Funcs have
    been placed (`schedule.legality.resolve` places them all).

    order: all Funcs, producers first. placements: where each is computed.
    uses: of each Func, who calls it, inside what. computed, stored: the stacks inside
    which each Func is computed (several for one computed in more than one stage of its
    consumer) and, in step, stored.
    """

    def __init__(self, outputs: Sequence[Function], order: Sequence[Function]) -> None:
        self.outputs = tuple(outputs)
        self.order = list(order)
        self.placements = {f: placement_of(f, self.outputs) for f in self.order}
        self.uses: dict[Function, list[Use]] = {f: [] for f in self.order}
        self.computed: dict[Function, list[Stack]] = {}
        self.stored: dict[Function, list[Stack]] = {}
        self._branches: dict[Definition, Sequence[Branch]] = {}
        self._reached: dict[Function, list[list[Function]]] = {}
        self._has_tuples = any(
            [self.inlines(f) and len(f.stages()[0].values) > 1 for f in self.order]
        )

    def inlines(self, f: Function) -> bool:
        """Whether calls of `f` are replaced by its definition."""
        return self.placements[f].substituted

    def branches(self, d: Definition) -> Sequence[Branch]:
        """The branches of a definition, in the order in which they are tried."""
        found = self._branches.get(d)
        if found is None:
            found = self._branches[d] = branches(d.schedule)
        return found

    def running(self, d: Definition) -> Sequence[tuple[Expr, StageSchedule]]:
        """The conditions and schedules of the branches that compute something; where
        every run fails, those of the default."""
        return running(self.branches(d)) or [(TRUE, d.schedule)]

    def place(
        self, f: Function, computed: Sequence[Stack], stored: Sequence[Stack]
    ) -> None:
        """Puts `f` inside the stacks given, and enters what its stages use."""
        both = dict.fromkeys(zip(computed, stored, strict=True))
        self.computed[f] = [at for at, _ in both]
        self.stored[f] = [at for _, at in both]
        for k in range(len(f.stages())):
            for inside in self.around(f, k):
                for g in self.reached(f, k):
                    for stack in self.computed[f]:
                        self.uses[g].append(Use(f, k, stack + inside))

    def around(self, f: Function, stage: int) -> list[Stack]:
        """As `sites`; of a stage that shares loops of another one, these, and then its
        own from the innermost shared one."""
        made = self.sites(f, stage)
        to = f.stages()[stage].schedule.fused_with
        if to is None or to.func not in self.uses:
            return made
        own = made[-1]
        shared = [i for i, s in enumerate(own) if s.dim.var is to.var]
        if not shared or to.stage >= len(to.func.stages()):
            return made  # an error, which `schedule.fusing` reports
        depth = shared[0]
        (leader, *_) = self.around(to.func, to.stage)
        at = [i for i, s in enumerate(leader) if s.func is to.func]
        return [leader[: at[0] + depth + 1] + own[depth:]] if at else made

    def sites(self, f: Function, stage: int) -> list[Stack]:
        """For each branch of one stage, its sites, from outside all its loops to the
        innermost."""
        return [
            tuple(
                [
                    LoopSite(f, stage, d, branch)
                    for d in (_OUTERMOST_DIM, *reversed(schedule.dims))
                ]
            )
            for branch, (_, schedule) in enumerate(self.running(f.stages()[stage]))
        ]

    def reached(self, f: Function, stage: int) -> list[Function]:
        """The Funcs with loops of their own that a stage calls once inlined ones are
        replaced by their definitions."""
        d = f.stages()[stage]
        found: dict[Function, None] = {}
        for g, index in self._read(f, d, (*d.values, *d.args, *d.guard)):
            found.update(dict.fromkeys(self._through(g, index)))
        return list(found)

    def _through(self, f: Function, index: int) -> list[Function]:
        """What a value of `f` stands for: itself, or what it calls if it is inlined."""
        if not self.inlines(f):
            return [f]
        if f not in self._reached:
            # Producers come first in the order, so that this depth is bounded by
            # what has been entered already; inlined chains may still be long.
            for g in self.order:
                if self.inlines(g) and g not in self._reached:
                    d = g.stages()[0]
                    self._reached[g] = [
                        list(
                            dict.fromkeys(
                                [
                                    end
                                    for h, k in self._read(g, d, (value,))
                                    for end in self._through(h, k)
                                ]
                            )
                        )
                        for value in d.values
                    ]
        return self._reached[f][index]

    def _read(
        self, reader: Function, d: Definition, exprs: Sequence[Expr]
    ) -> list[tuple[Function, int]]:
        """The other Funcs that expressions of a definition call, and which values:
        where inlined Tuples are among them, for they stand for several expressions."""
        if not self._has_tuples:
            return [(g, 0) for g in called(reader, d)]
        found: dict[tuple[Function, int], None] = {}
        for e in exprs:
            for n in nodes(e):
                if isinstance(n, FuncCall):
                    g = read_instead(n.func, reader)
                    if isinstance(g, Function) and g is not reader:
                        found[g, n.index] = None
                elif isinstance(n, ImageLoad):
                    g = read_instead(n.image, reader)
                    if isinstance(g, Function) and g is not reader:
                        found[g, 0] = None
        return list(found)

    def legal_sites(self, f: Function) -> list[LoopSite]:
        """The loops that enclose every use of `f`, outermost first. A loop that
        several stages of one Func have counts as one."""
        uses = self.uses[f]
        if not uses:
            return []
        return [
            site
            for site in uses[0].stack
            if all(
                any(s.func is site.func and s.dim.var is site.dim.var for s in u.stack)
                for u in uses[1:]
            )
        ]


__all__ = ["LoopSite", "Nests", "Stack", "Use"]
