"""The pipeline as the schedulers see it: Funcs, their definitions, who reads whom.

A `Graph` is made for a set of Funcs that are to be inlined: their definitions are
substituted into their readers, as lowering would do it, so that the cost and the reads
of what is left are those of the code that will run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from parhelion.analysis.linear import built, linear
from parhelion.analysis.symbolic import is_index
from parhelion.ir.build import TRUE
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Var
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.rewrite import Rewriter, nodes, substitute
from parhelion.ir.symbols import BufferSym
from parhelion.lower.guards import guard_branches
from parhelion.schedule.sites import realization_order
from parhelion.schedule.wrappers import body

Source = Function | BufferSym


@dataclass(eq=False, frozen=True, slots=True)
class Stage:
    """One definition, all inlining done.

    loops: its loops, innermost first, as they are before any directive: the variables
    of the reduction domain, then the Func's own Vars that are free in it.
    """

    func: Function
    index: int
    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    predicate: Expr
    rdom: ReductionDomain | None
    definition: Definition
    loops: tuple[Var, ...]

    @property
    def pure(self) -> tuple[Var, ...]:
        """The loops that are Vars of the Func."""
        return self.loops[len(self.rvars) :]

    @property
    def rvars(self) -> tuple[Var, ...]:
        return () if self.rdom is None else self.rdom.vars

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """All that is evaluated at a point."""
        if self.predicate is TRUE:
            return (*self.values, *self.args)
        return (*self.values, *self.args, self.predicate)

    def sources(self) -> list[Source]:
        """The Funcs and images that it reads, in order of first appearance."""
        found: dict[Source, None] = {}
        seen: set[Expr] = set()
        for e in self.exprs:
            if e in seen:
                continue
            for n in nodes(e):
                if isinstance(n, FuncCall):
                    found[n.func] = None
                elif isinstance(n, ImageLoad):
                    found[n.image] = None
                if isinstance(n, Expr):
                    seen.add(n)
        return list(found)


def can_inline(f: Function, outputs: Sequence[Function]) -> bool:
    """Whether calls of `f` may be replaced by its definition."""
    return (
        f not in outputs
        and f.extern is None
        and not f.updates
        and f.schedule.memo is None
        and not f.schedule.async_
    )


class Inliner(Rewriter):
    """Puts definitions in place of calls, coordinates in one form for one place."""

    def __init__(self, inlined: frozenset[Function]) -> None:
        super().__init__()
        self.inlined = inlined
        self._after = _Recoordinate()
        self.bodies: dict[Function, tuple[Expr, ...]] = {}

    def of(self, f: Function) -> tuple[Expr, ...]:
        found = self.bodies.get(f)
        if found is None:
            assert f.pure is not None
            found = tuple([self.go(v) for v in body(f, f.pure).values])
            self.bodies[f] = found
        return found

    def coordinate(self, e: Expr) -> Expr:
        return _canonical(self.go(e))

    def coordinates(self, args: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple([self.coordinate(a) for a in args])

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        return self.go(n.args[0]) if n.op == "memoize_tag" else n.map(self.go)

    def on_imageload(self, n: ImageLoad) -> Expr:
        return ImageLoad(n.type, n.image, self.coordinates(n.args))

    def on_funccall(self, n: FuncCall) -> Expr:
        args = self.coordinates(n.args)
        if n.func not in self.inlined:
            return FuncCall(n.type, n.func, args, n.index)
        env = {v: a for v, a in zip(n.func.args, args, strict=True) if a is not v}
        return self._after.go(substitute(self.of(n.func)[n.index], env))


class _Recoordinate(Rewriter):
    """Coordinates in one form, after a substitution."""

    def on_imageload(self, n: ImageLoad) -> Expr:
        args = tuple([_canonical(self.go(a)) for a in n.args])
        return ImageLoad(n.type, n.image, args)

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([_canonical(self.go(a)) for a in n.args])
        return FuncCall(n.type, n.func, args, n.index)


def _canonical(e: Expr) -> Expr:
    """The same number in the form that all sums of the same parts get."""
    if not is_index(e.type) or e.type.count != 1:
        return e
    made = built(linear(e), e.type)
    return e if made is None else made


@dataclass(eq=False)
class Graph:
    """The Funcs that are left when `inlined` are substituted, producers first.

    stages: the definitions of each. consumers: by Func, those that read it, without
    itself; producers likewise. images: the inputs that are read.
    """

    outputs: tuple[Function, ...]
    inlined: frozenset[Function] = frozenset()
    order: list[Function] = field(default_factory=list)
    stages: dict[Function, tuple[Stage, ...]] = field(default_factory=dict)
    consumers: dict[Function, list[Function]] = field(default_factory=dict)
    producers: dict[Function, list[Function]] = field(default_factory=dict)
    images: list[BufferSym] = field(default_factory=list)

    @staticmethod
    def of(outputs: Iterable[Function], inlined: Iterable[Function] = ()) -> Graph:
        """The graph of what the outputs need. Raises DefinitionError where Funcs call
        each other in a circle."""
        made = Graph(tuple(outputs), frozenset(inlined))
        inliner = Inliner(made.inlined)
        images: dict[BufferSym, None] = {}
        reached = dict.fromkeys(made.outputs)
        waiting = list(reached)
        while waiting:
            f = waiting.pop()
            stages = tuple([_stage(f, k, d, inliner) for k, d in enumerate(f.stages())])
            made.stages[f] = stages
            read = dict.fromkeys(s for stage in stages for s in stage.sources())
            images.update((s, None) for s in read if isinstance(s, BufferSym))
            funcs = [s for s in read if isinstance(s, Function) and s is not f]
            made.producers[f] = funcs
            for g in funcs:
                made.consumers.setdefault(g, []).append(f)
                if g not in reached:
                    reached[g] = None
                    waiting.append(g)
        made.order = [f for f in realization_order(made.outputs) if f in made.stages]
        for f in made.order:
            made.consumers.setdefault(f, [])
        place = {f: k for k, f in enumerate(made.order)}
        for readers in made.consumers.values():
            readers.sort(key=place.__getitem__)
        made.images = list(images)
        return made

    def with_inlined(self, more: Iterable[Function]) -> Graph:
        return Graph.of(self.outputs, self.inlined | frozenset(more))


def _stage(f: Function, k: int, d: Definition, inliner: Inliner) -> Stage:
    it = body(f, d)
    args = inliner.coordinates(it.args)
    values = tuple([inliner.go(v) for v in it.values])
    if f.extern is None:
        exprs = guard_branches((*args, *values))
        args, values = exprs[: len(args)], exprs[len(args) :]
    own = [v for v, a in zip(f.args, it.args, strict=True) if k == 0 or a is v]
    rvars = () if d.rdom is None else d.rdom.vars
    return Stage(
        f, k, args, values, inliner.go(it.predicate), d.rdom, d, (*rvars, *own)
    )


def readers_within(
    graph: Graph, members: Mapping[Function, object]
) -> dict[Function, list[Stage]]:
    """For each Func that the members read, the stages of members that read it."""
    found: dict[Function, list[Stage]] = {}
    for f in members:
        for stage in graph.stages[f]:
            for s in stage.sources():
                if isinstance(s, Function) and s is not f:
                    found.setdefault(s, []).append(stage)
    return found


__all__ = ["Graph", "Inliner", "Source", "Stage", "can_inline", "readers_within"]
