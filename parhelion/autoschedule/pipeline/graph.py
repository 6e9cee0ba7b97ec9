"""The pipeline as the schedulers see it: Funcs, their definitions, who reads whom.

A `Graph` is made for a set of Funcs that are to be inlined: their definitions are
substituted into their readers, as lowering would do it, so that the cost and the reads
of what is left are those of the code that will run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError
from parhelion.ir.build import TRUE
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Var
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.rewrite import nodes, substitute
from parhelion.ir.symbols import BufferSym
from parhelion.lower.guards import guard_branches
from parhelion.lower.inline import MOST_NODES, Recoordinate
from parhelion.schedule.modes import by_loops, modes
from parhelion.schedule.order import callees, realization_order
from parhelion.schedule.wrappers import body

Source = Function | BufferSym

#: Nodes that inlining may add to what is written. No scheduler chooses what comes near
#: to what lowering refuses: it would be code that LLVM takes many seconds for.
MOST_ADDED = MOST_NODES // 10


class TooLong(ScheduleError):
    """Inlining would add more than `MOST_ADDED` nodes to a definition."""


@dataclass(eq=False)
class GraphStage:
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
    _sources: list[Source] = field(default_factory=list)

    @cached_property
    def pure(self) -> tuple[Var, ...]:
        """The loops that are Vars of the Func."""
        return self.loops[len(self.rvars) :]

    @cached_property
    def dimensions(self) -> tuple[int, ...]:
        """Which dimensions of the Func those are."""
        return tuple([self.func.args.index(v) for v in self.pure])

    @cached_property
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
        if not self._sources:
            found: dict[Source, None] = {}
            for e in dict.fromkeys(self.exprs):
                for n in nodes(e):
                    if isinstance(n, FuncCall):
                        found[n.func] = None
                    elif isinstance(n, ImageLoad):
                        found[n.image] = None
            self._sources.extend(found)
        return self._sources


def size_of(exprs: Iterable[Expr]) -> int:
    """How many different nodes expressions have."""
    return len({n for e in exprs for n in nodes(e)})


def written_in(funcs: Iterable[Function]) -> int:
    """How many nodes the definitions of some Funcs have, as they are written."""
    total = 0
    for f in funcs:
        for d in f.stages():
            it = body(f, d)
            total += size_of((*it.args, *it.values, it.predicate))
    return total


def can_inline(f: Function, outputs: Sequence[Function]) -> bool:
    """Whether calls of `f` may be replaced by its definition."""
    return f not in outputs and not f.updates and not modes(f)


class Inliner(Recoordinate):
    """Puts definitions in place of calls, coordinates in one form for one place.

    written: nodes of the definitions that are put together, as they are written.
    Raises TooLong where they become many more.
    """

    def __init__(self, inlined: frozenset[Function], written: int) -> None:
        super().__init__()
        self.inlined = inlined
        self.most = written + MOST_ADDED
        self._after = Recoordinate()
        self.bodies: dict[Function, tuple[Expr, ...]] = {}

    def of(self, f: Function) -> tuple[Expr, ...]:
        found = self.bodies.get(f)
        if found is None:
            assert f.pure is not None
            found = tuple([self.go(v) for v in body(f, f.pure).values])
            self.check(f, found)
            self.bodies[f] = found
        return found

    def check(self, f: Function, exprs: Iterable[Expr]) -> None:
        """Raises TooLong if these, of a definition of `f`, have too many nodes."""
        size = size_of(exprs)
        if size > self.most:
            raise TooLong(
                f"the definition of {f.name!r} comes to {size:,} operations and loads "
                f"when all that it reads is inlined, more than {self.most:,}",
                at=f.site,
            )

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        return self.go(n.args[0]) if n.op == "memoize_tag" else n.map(self.go)

    def on_funccall(self, n: FuncCall) -> Expr:
        args = self.coordinates(n.args)
        if n.func not in self.inlined:
            return FuncCall(n.type, n.func, args, n.index)
        env = {v: a for v, a in zip(n.func.args, args, strict=True) if a is not v}
        return self._after.go(substitute(self.of(n.func)[n.index], env))


@dataclass(eq=False)
class Graph:
    """The Funcs that are left when `inlined` are substituted, producers first.

    stages: the definitions of each. consumers: by Func, those that read it, without
    itself; producers likewise. images: the inputs that are read. written: by Func,
    those whose definitions mention it, inlined or not. whole: all Funcs, in order.
    below: by Func, all that its definitions need. written_size: how many nodes all
    definitions have, as they are written.
    """

    outputs: tuple[Function, ...]
    inlined: frozenset[Function] = frozenset()
    order: list[Function] = field(default_factory=list)
    stages: dict[Function, tuple[GraphStage, ...]] = field(default_factory=dict)
    consumers: dict[Function, list[Function]] = field(default_factory=dict)
    producers: dict[Function, list[Function]] = field(default_factory=dict)
    images: list[BufferSym] = field(default_factory=list)
    known: dict[object, GraphStage] = field(default_factory=dict)
    written: dict[Function, list[Function]] = field(default_factory=dict)
    whole: list[Function] = field(default_factory=list)
    below: dict[Function, frozenset[Function]] = field(default_factory=dict)
    written_size: int = 0

    @staticmethod
    def of(
        outputs: Iterable[Function],
        inlined: Iterable[Function] = (),
        known: dict[object, GraphStage] | None = None,
    ) -> Graph:
        """The graph of what the outputs need. Raises DefinitionError where Funcs call
        each other in a circle.

        known: the definitions of other graphs of this pipeline; those that are the same
        here are the same objects, so that what was found out about them stays known.
        """
        made = Graph(tuple(outputs), frozenset(inlined))
        made.known = {} if known is None else known
        made.whole = realization_order(made.outputs)
        for f in made.whole:
            read_directly = callees(f)
            made.below[f] = frozenset(read_directly).union(
                *[made.below[g] for g in read_directly]
            )
            for g in read_directly:
                made.written.setdefault(g, []).append(f)
        made.written_size = written_in(made.whole)
        inliner = Inliner(made.inlined, made.written_size)
        images: dict[BufferSym, None] = {}
        reached = dict.fromkeys(made.outputs)
        waiting = list(reached)
        while waiting:
            f = waiting.pop()
            stages = tuple(
                [made._stage(f, k, d, inliner) for k, d in enumerate(f.stages())]
            )
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
        made.order = [f for f in made.whole if f in made.stages]
        for f in made.order:
            made.consumers.setdefault(f, [])
        place = {f: k for k, f in enumerate(made.order)}
        for readers in made.consumers.values():
            readers.sort(key=place.__getitem__)
        made.images = list(images)
        return made

    @property
    def everything(self) -> list[Function]:
        """The Funcs of `order`, then those that are inlined, in an order that does not
        change from one process to the next, as that of a set does."""
        return [*self.order, *[f for f in self.whole if f in self.inlined]]

    def with_inlined(self, f: Function) -> Graph:
        """The graph with `f` inlined as well. Raises TooLong if that makes too much of
        a definition."""
        return self._changed(self.inlined | {f}, self.consumers[f], gone=f)

    def without_inlined(self, f: Function) -> Graph:
        """The graph with `f` not inlined."""
        affected: dict[Function, None] = {f: None}
        waiting = [f]
        seen = {f}
        while waiting:
            for c in self.written.get(waiting.pop(), []):
                if c not in seen:
                    seen.add(c)
                    if c in self.inlined:
                        waiting.append(c)
                    elif c in self.stages:
                        affected[c] = None
        return self._changed(self.inlined - {f}, list(affected))

    def _changed(
        self,
        inlined: frozenset[Function],
        affected: Sequence[Function],
        gone: Function | None = None,
    ) -> Graph:
        """The graph of another set of inlined Funcs, given whose definitions change."""
        made = Graph(
            self.outputs,
            inlined,
            images=self.images,
            known=self.known,
            written=self.written,
            whole=self.whole,
            below=self.below,
            written_size=self.written_size,
        )
        inliner = Inliner(inlined, self.written_size)
        made.stages = {g: s for g, s in self.stages.items() if g is not gone}
        made.producers = {g: p for g, p in self.producers.items() if g is not gone}
        for c in affected:
            # Without narrowing what branches read: it is dear, and no more is read than
            # is thought.
            stages = [
                made._stage(c, k, d, inliner, guard=False)
                for k, d in enumerate(c.stages())
            ]
            read = dict.fromkeys(s for stage in stages for s in stage.sources())
            funcs = [s for s in read if isinstance(s, Function) and s is not c]
            if any(g not in made.stages and g not in affected for g in funcs):
                return Graph.of(self.outputs, inlined, self.known)
            made.stages[c] = tuple(stages)
            made.producers[c] = funcs
        made.order = [g for g in self.whole if g in made.stages]
        made.consumers = {g: [] for g in made.order}
        for c in made.order:
            for g in made.producers[c]:
                made.consumers[g].append(c)
        # An unused half of a Tuple may have been all that read a Func.
        if any(not made.consumers[g] and g not in self.outputs for g in made.order):
            return Graph.of(self.outputs, inlined, self.known)
        return made

    def _stage(
        self,
        f: Function,
        k: int,
        d: Definition,
        inliner: Inliner,
        guard: bool = True,
    ) -> GraphStage:
        # What is inlined elsewhere makes no difference here.
        short = (f, k, self.inlined & self.below[f])
        known = self.known.get(short)
        if known is not None:
            return known
        it = body(f, d)
        args = inliner.coordinates(it.args)
        values = tuple([inliner.go(v) for v in it.values])
        predicate = inliner.go(it.predicate)
        inliner.check(f, (*args, *values, predicate))
        key = (f, k, args, values, predicate)
        found = self.known.get(key)
        if found is None:
            if guard and by_loops(f):
                exprs = guard_branches((*args, *values))
                args, values = exprs[: len(args)], exprs[len(args) :]
            own = [v for v, a in zip(f.args, it.args, strict=True) if k == 0 or a is v]
            rvars = () if d.rdom is None else d.rdom.vars
            found = GraphStage(f, k, args, values, predicate, d.rdom, d, (*rvars, *own))
            self.known[key] = found
        self.known[short] = found
        return found


__all__ = [
    "Graph",
    "Inliner",
    "Recoordinate",
    "Source",
    "GraphStage",
    "TooLong",
    "can_inline",
]
