"""The stages that will be loops: definitions with inlined Funcs substituted.

A Func scheduled inline vanishes into its callers here. A Func with updates that the
user left inline cannot: it is computed at the innermost loop of each stage that calls
it, on a copy of its own per calling stage, as Halide does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from parhelion.errors import DefinitionError
from parhelion.ir.build import TRUE
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.names import Namer
from parhelion.ir.rewrite import Rewriter, nodes, substitute
from parhelion.schedule.directives import Place, StageSchedule


@dataclass(eq=False, slots=True)
class Stage:
    """One definition as the compiler sees it: all inlining done.

    args: the left-hand side. A pure dimension's arg is the Func's own Var.
    pure_vars: those of the Func's Vars that are loops of this stage.
    """

    func: Function
    index: int
    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    rdom: ReductionDomain | None
    predicate: Expr
    schedule: StageSchedule
    definition: Definition

    @property
    def name(self) -> str:
        return f"{self.func.name}.s{self.index}"

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
class Program:
    """All Funcs that become loops, producers before consumers.

    stages: the stages of each. at_innermost: Funcs without a place of their own,
    with the stage whose innermost loop computes them.
    """

    outputs: tuple[Function, ...]
    order: list[Function] = field(default_factory=list)
    stages: dict[Function, list[Stage]] = field(default_factory=dict)
    at_innermost: dict[Function, Stage] = field(default_factory=dict)
    consumers: dict[Function, list[Stage]] = field(default_factory=dict)


def inlines(f: Function) -> bool:
    """Whether calls of `f` are replaced by its definition."""
    return f.schedule.compute.place is Place.INLINED and not f.updates


class _Inline(Rewriter):
    """Replaces calls of inlined Funcs; their own bodies are inlined first, once."""

    def __init__(self, keep: frozenset[Function]) -> None:
        super().__init__()
        self.keep = keep
        self.bodies: dict[Function, tuple[Expr, ...]] = {}

    def body(self, f: Function) -> tuple[Expr, ...]:
        found = self.bodies.get(f)
        if found is None:
            assert f.pure is not None
            found = tuple([self.go(v) for v in f.pure.values])
            self.bodies[f] = found
        return found

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        f = n.func
        if not f.defined:
            raise DefinitionError(
                f"Func {f.name!r} is called but was never defined", at=f.site
            )
        if f in self.keep or not inlines(f):
            return FuncCall(n.type, f, args, n.index)
        env = {v: a for v, a in zip(f.args, args, strict=True) if a is not v}
        return substitute(self.body(f)[n.index], env)


class _Redirect(Rewriter):
    """Points calls of some Funcs at their copies."""

    def __init__(self, to: dict[Function, Function]) -> None:
        super().__init__()
        self.to = to

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        return FuncCall(n.type, self.to.get(n.func, n.func), args, n.index)


def _stage(f: Function, k: int, d: Definition, rewrite: Rewriter) -> Stage:
    predicate = d.rdom.predicate if d.rdom is not None else TRUE
    return Stage(
        f,
        k,
        tuple([rewrite.go(a) for a in d.args]),
        tuple([rewrite.go(v) for v in d.values]),
        d.rdom,
        rewrite.go(predicate),
        d.schedule,
        d,
    )


def _copy_for(stage: Stage, f: Function, name: str) -> Function:
    """A Function of its own for one caller of an unplaced reduction."""
    copy = Function(name, f.schedule, f.site)
    copy.args, copy.types = f.args, f.types
    redirect = _Redirect({f: copy})
    copied: list[Definition] = []
    for d in f.stages():
        args = tuple([redirect.go(a) for a in d.args])
        values = tuple([redirect.go(v) for v in d.values])
        copied.append(Definition(args, values, d.rdom, d.schedule, d.site))
    copy.pure, copy.updates = copied[0], copied[1:]
    return copy


def collect(outputs: Sequence[Function]) -> Program:
    """The program of `outputs`: inlined, in order, with consumers known."""
    program = Program(tuple(outputs))
    inline = _Inline(frozenset(outputs))
    namer = Namer()
    unplaced: set[Function] = set()
    done: set[Function] = set()
    for f in outputs:
        namer(f.name)

    def visit(f: Function) -> None:
        if f in done:
            return
        done.add(f)
        made = [_stage(f, k, d, inline) for k, d in enumerate(f.stages())]
        for s in made:
            copies: dict[Function, Function] = {}
            for g in s.calls():
                if g is f or g.schedule.compute.place is not Place.INLINED:
                    continue
                if g in outputs:
                    continue
                if g in unplaced:
                    copies[g] = _copy_for(s, g, namer(g.name))
                    program.at_innermost[copies[g]] = s
                else:
                    unplaced.add(g)
                    namer(g.name)
                    program.at_innermost[g] = s
            if copies:
                redirect = _Redirect(copies)
                s.args = tuple([redirect.go(a) for a in s.args])
                s.values = tuple([redirect.go(v) for v in s.values])
                s.predicate = redirect.go(s.predicate)
        program.stages[f] = made
        for s in made:
            for g in s.calls():
                if g is not f:
                    visit(g)
        program.order.append(f)

    for f in outputs:
        visit(f)
    for f in program.order:
        for s in program.stages[f]:
            for g in s.calls():
                if g is not f:
                    program.consumers.setdefault(g, []).append(s)
    return program
