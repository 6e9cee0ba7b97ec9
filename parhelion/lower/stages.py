"""The stages that will be loops: definitions with inlined Funcs substituted.

A Func scheduled inline vanishes into its callers here. A Func with updates that the
user left inline cannot: it is computed at the innermost loop of each stage that calls
it, on a copy of its own per calling stage, as Halide does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import groupby

from parhelion.dataclass import dataclass
from parhelion.errors import internal_assert
from parhelion.ir.build import TRUE
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.loop_id import LoopId
from parhelion.ir.names import Namer
from parhelion.ir.promises import Assumptions
from parhelion.ir.rewrite import nodes
from parhelion.lower.assume import Assuming
from parhelion.lower.guards import guard_branches
from parhelion.lower.inline import Inline
from parhelion.schedule.directives import LoopLevel, Place, StageSchedule
from parhelion.schedule.modes import by_loops
from parhelion.schedule.placement import Placement
from parhelion.schedule.sites import Nests
from parhelion.schedule.wrappers import Redirect


@dataclass(eq=False, slots=True)
class LoopStage:
    """One definition as the compiler sees it: all inlining done.

    args: the left-hand side. A pure dimension's arg is the Func's own Var.
    pure_vars: those of the Func's Vars that are loops of this stage.
    branch, condition: a specialised definition is several stages of one index, of
    which a run executes the first whose condition holds.
    """

    func: Function
    index: int
    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    rdom: ReductionDomain | None
    predicate: Expr
    schedule: StageSchedule
    definition: Definition
    branch: int = 0
    condition: Expr = TRUE

    @property
    def name(self) -> str:
        branch = f"b{self.branch}" if self.branch else ""
        return f"{self.func.name}.s{self.index}{branch}"

    def loop_id(self, v: Var, shared: bool = False) -> LoopId:
        """Which loop the one over `v` is, a variable of the stage's schedule."""
        site = self.schedule.sites.get(v)
        partition = self.schedule.partitions.get(v)
        return LoopId(self.func, self.index, self.branch, v, shared, site, partition)

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """Everything the stage evaluates at a point, the predicate aside."""
        return self.values + self.args

    @property
    def pure_vars(self) -> tuple[Var, ...]:
        own = self.func.args
        if self.index == 0:
            return own
        return tuple(v for v, a in zip(own, self.args, strict=True) if a is v)

    def calls(self) -> list[Function]:
        """The Funcs that the stage reads, in order of first appearance."""
        return list(dict.fromkeys(_calls((*self.values, *self.args, self.predicate))))


def _calls(exprs: Sequence[Expr]) -> list[Function]:
    found: dict[Function, None] = {}
    seen: set[Expr] = set()
    for e in exprs:
        if e in seen:
            continue
        for n in nodes(e):
            if type(n) is FuncCall:
                found[n.func] = None
            if isinstance(n, Expr):
                seen.add(n)
    return list(found)


@dataclass(eq=False, slots=True)
class StagedPipeline:
    """All Funcs that become loops, producers before consumers.

    resolved: their schedules. stages: the stages of each. host: the stage inside whose
    loops a Func is computed; Funcs without one are computed at the root. origin: of
    each copy, the Func that the user knows. assumptions: see `PipelineSpec`.
    """

    resolved: Nests
    assumptions: Assumptions
    order: list[Function] = field(default_factory=list)
    stages: dict[Function, list[LoopStage]] = field(default_factory=dict)
    host: dict[Function, LoopStage] = field(default_factory=dict)
    origin: dict[Function, Function] = field(default_factory=dict)
    consumers: dict[Function, list[LoopStage]] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[Function, ...]:
        return self.resolved.outputs

    def placement(self, f: Function) -> Placement:
        """Where the schedule has `f` computed, which may be a copy."""
        return self.resolved.placements[self.origin.get(f, f)]

    def definitions(self, f: Function) -> list[list[LoopStage]]:
        """The stages of a Func, those of one definition together."""
        return [list(g) for _, g in groupby(self.stages[f], lambda s: s.index)]

    def enclosing(self, inner: LoopStage | None, level: LoopLevel) -> LoopStage | None:
        """`inner` or the first stage around it that has the loop of `level`; a stage
        that shares its outer loops with another one is inside those."""
        while inner is not None:
            at: LoopStage | None = inner
            while at is not None:
                f = self.origin.get(at.func, at.func)
                if f is level.func and level.stage in (-1, at.index):
                    return at
                to = at.schedule.fused_with
                at = None if to is None else self.definitions(to.func)[to.stage][0]
            inner = self.host.get(inner.func)
        return None


def _branches(
    resolved: Nests, f: Function, k: int, d: Definition, inline: Inline
) -> list[LoopStage]:
    """The stages of one definition: one, or one for each branch that computes."""
    it = inline.decided(f, d)
    made = inline.inlined(f, (*it.args, *it.values, it.predicate))
    own, predicate = made[:-1], made[-1]
    count = len(it.args)
    stages = []
    for n, (condition, schedule) in enumerate(resolved.running(d)):
        where = Assuming(condition)
        exprs = tuple([where.simplified(e) for e in own])
        if by_loops(f):
            exprs = guard_branches(exprs)
        stages.append(
            LoopStage(
                f,
                k,
                exprs[:count],
                exprs[count:],
                d.rdom,
                where.simplified(predicate),
                schedule,
                d,
                n,
                condition,
            )
        )
    return stages


def collect(
    resolved: Nests, assumptions: Assumptions, *, strict: bool = False
) -> StagedPipeline:
    """The program of a pipeline: inlined, in order, with consumers and hosts known.

    strict: whether every float operation is rounded by itself.
    """
    program = StagedPipeline(resolved, assumptions)
    inline = Inline(resolved.placements, strict)
    reached = list(resolved.outputs)
    for f in reached:
        if f in program.stages:
            continue
        made = [
            s
            for k, d in enumerate(f.stages())
            for s in _branches(resolved, f, k, d, inline)
        ]
        program.stages[f] = made
        reached += [g for s in made for g in s.calls()]
    # Inlining may leave a Func without callers, an unused half of a Tuple.
    program.order = [f for f in resolved.order if f in program.stages]
    for f in program.order:
        for s in program.stages[f]:
            for g in s.calls():
                if g is not f:
                    program.consumers.setdefault(g, []).append(s)
    _find_hosts(program)
    return program


def _find_hosts(program: StagedPipeline) -> None:
    """Gives each Func its host, consumers first, and copies what has several."""
    namer = Namer()
    for f in program.order:
        namer(f.name)
    order: list[Function] = []
    for f in reversed(program.order):
        level = program.placement(f).level()
        order.append(f)
        if level is not None and level.place is Place.ROOT:
            continue
        groups: dict[LoopStage, list[LoopStage]] = {}
        for c in program.consumers[f]:
            host = c if level is None else program.enclosing(c, level)
            internal_assert(host is not None, f"no host for {f.name}")
            assert host is not None
            groups.setdefault(host, []).append(c)
        for k, (host, callers) in enumerate(groups.items()):
            g = f if k == 0 else _copy(program, f, namer(f.name), callers)
            if g is not f:
                order.append(g)
            program.host[g] = host
    order.reverse()
    program.order = order


def _copy(
    program: StagedPipeline, f: Function, name: str, callers: Sequence[LoopStage]
) -> Function:
    """A Func of its own, with the same stages as `f`, for some of its callers."""
    copy = Function(name, f.schedule, f.site)
    copy.args, copy.types = f.args, f.types
    copy.pure, copy.updates, copy.extern = f.pure, f.updates, f.extern
    program.origin[copy] = program.origin.get(f, f)
    copy.label, copy.copy_of = f.label, f
    redirect = Redirect({f: copy})
    program.stages[copy] = [
        replace(_redirected(s, redirect), func=copy) for s in program.stages[f]
    ]
    for s in program.stages[copy]:
        for g in s.calls():
            if g is not copy:
                program.consumers[g].append(s)
    for c in callers:
        moved = _redirected(c, redirect)
        c.args, c.values, c.predicate = moved.args, moved.values, moved.predicate
    mine = set(callers)
    program.consumers[copy] = list(callers)
    program.consumers[f] = [c for c in program.consumers[f] if c not in mine]
    return copy


def _redirected(s: LoopStage, redirect: Redirect) -> LoopStage:
    return replace(
        s,
        args=tuple([redirect.go(a) for a in s.args]),
        values=tuple([redirect.go(v) for v in s.values]),
        predicate=redirect.go(s.predicate),
    )
