"""Where the threads of a block use what they share: places as linear forms of the
numbers of a thread, and leaves with other places in place of these.

A nest of threads is gone through in the order of its program, as lets may give a
variable several values one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.analysis.linear import Linear, linear
from parhelion.dataclass import dataclass
from parhelion.ir.build import add, block, const_int, imm, int32, sub
from parhelion.ir.expr import LE, LT, And, Broadcast, Expr, Load, Ramp, Var
from parhelion.ir.rewrite import Rewriter, nodes, substitute
from parhelion.ir.stmt import (
    Allocate,
    Atomic,
    Block,
    For,
    If,
    LetStmt,
    MemoryKind,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.kernel_loops import THREADS, nest_of
from parhelion.lower.lanes import lane
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32, Type


@dataclass(frozen=True, slots=True)
class Use:
    """One load or store of a nest of threads.

    type: of a place. lanes: the place of each lane, a form of the numbers of the thread
        and of whatever else there is. extents: how many threads the nest has along each
        dimension, outermost first; None where that is not constant. guarded: whether
        the statement is inside of an If of the thread's. predicated: whether single
        lanes may be left out. loops: those serial ones of the thread that are around.
    """

    buffer: BufferSym
    type: Type
    lanes: tuple[Linear, ...]
    extents: tuple[int | None, ...]
    writes: bool
    atomic: bool
    guarded: bool
    predicated: bool
    loops: tuple[For, ...]


#: What a use has in place of its index; None if it stays.
Replaced = Callable[[Use], Expr | None]
#: What stands in place of a load; None if it stays one.
Loaded = Callable[[Use, Load], Expr | None]


def thread_numbers(counts: Sequence[int | None]) -> list[Var]:
    """Variables for the numbers of a thread along each dimension, outermost first.
    counts: how many threads there are; None where that is not constant."""
    return [
        Var(f"thread.{d}", INT32, lo=int32(0), hi=None if n is None else int32(n - 1))
        for d, n in enumerate(counts)
    ]


def shared_storage(body: Stmt) -> dict[BufferSym, list[Allocate]]:
    """What a block allocates in shared memory. Copies of a body allocate one buffer in
    several places."""
    found: dict[BufferSym, list[Allocate]] = {}
    stack = [body]
    while stack:
        s = stack.pop()
        if isinstance(s, For) and s.kind in THREADS:
            continue
        if isinstance(s, Allocate) and s.kind is MemoryKind.SHARED:
            found.setdefault(s.buffer, []).append(s)
        stack += reversed([c for c in s.children() if isinstance(c, Stmt)])
    return found


def read_together(body: Stmt) -> set[BufferSym]:
    """What all threads of a block load together, in what stands at block level."""
    found: set[BufferSym] = set()
    stack = [body]
    while stack:
        s = stack.pop()
        exprs = [c for c in s.children() if isinstance(c, Expr)]
        if isinstance(s, For) and s.kind in THREADS:
            exprs = [e for loop in nest_of(s)[0] for e in (loop.min, loop.extent)]
        else:
            stack += [c for c in s.children() if isinstance(c, Stmt)]
        found |= {n.buffer for e in exprs for n in nodes(e) if isinstance(n, Load)}
    return found


class Leaf:
    """One nest of threads. `replaced` is asked of each use, in the order of the
    program, and `loaded`, if given, of each load before. env: what its lets and loops
    over threads are."""

    def __init__(
        self,
        leaf: Stmt,
        numbers: Sequence[Var],
        replaced: Replaced,
        loaded: Loaded | None = None,
    ) -> None:
        self.loaded = loaded
        self.loops, self.body = nest_of(leaf)
        self.numbers, self.replaced = numbers, replaced
        self.extents = tuple([const_int(loop.extent) for loop in self.loops])
        self.env: dict[Var, Expr] = {}
        for loop, number in zip(self.loops, numbers, strict=True):
            self.env[loop.var] = add(substitute(loop.min, self.env), number)
        #: What the numbers, and counters of serial loops, are in terms of the program.
        self.back: dict[Var, Expr] = {}
        for loop, number in zip(self.loops, numbers, strict=True):
            self.back[number] = sub(loop.var, loop.min)
        self.atomic = self.guarded = False
        self.inner: tuple[For, ...] = ()

    def rewritten(self) -> Stmt:
        """The nest with the places that were given instead."""
        made = self.stmt(self.body)
        for loop in reversed(self.loops):
            made = For(loop.var, loop.min, loop.extent, loop.kind, made)
        return made

    def stmt(self, s: Stmt) -> Stmt:
        if isinstance(s, Block):
            return block(*[self.stmt(item) for item in s.items])
        if isinstance(s, LetStmt):
            made = LetStmt(s.var, self.expr(s.value))
            self.env[s.var] = substitute(s.value, self.env)
            return made
        if isinstance(s, Store):
            value = self.expr(s.value)
            predicate = None if s.predicate is None else self.expr(s.predicate)
            index = self.index(s, s.buffer, s.index, s.predicate is not None)
            return Store(s.buffer, value, index, predicate)
        if isinstance(s, Allocate):
            return s
        if isinstance(s, For):
            low, extent = self.expr(s.min), self.expr(s.extent)
            outer, self.inner = self.inner, (*self.inner, s)
            self.count(s)
            body = self.stmt(s.body)
            self.inner = outer
            return For(s.var, low, extent, s.kind, body)
        if isinstance(s, If):
            return self.branch(s)
        before = self.atomic
        self.atomic = before or isinstance(s, Atomic)
        other = s.map(lambda c: self.expr(c) if isinstance(c, Expr) else self.stmt(c))
        self.atomic = before
        return other

    def branch(self, s: If) -> Stmt:
        cond, before = self.expr(s.cond), (self.guarded, self.extents)
        self.guarded = True
        self.narrow(s.cond)
        then = self.stmt(s.then)
        self.extents = before[1]
        otherwise = None if s.otherwise is None else self.stmt(s.otherwise)
        self.guarded = before[0]
        return If(cond, then, otherwise)

    def narrow(self, cond: Expr) -> None:
        """Leaves out the threads along a dimension for whose numbers a condition does
        not hold. (Where only the first is left, places do not tell its number.)"""
        if isinstance(cond, And):
            self.narrow(cond.a)
            self.narrow(cond.b)
        if not isinstance(cond, LE | LT) or not cond.a.type.is_int():
            return
        if cond.a.type.count > 1:
            return
        form = self.form(sub(cond.a, cond.b))
        for d, number in enumerate(self.numbers):
            known = self.extents[d]
            if form.terms == {number: 1} and known is not None:
                most = isinstance(cond, LE) - form.const
                extents = [*self.extents]
                extents[d] = max(min(known, most), 1)
                self.extents = tuple(extents)

    def count(self, loop: For) -> None:
        """Has the variable of a serial loop be where it begins and a counter, of which
        bounds are known wherever that is."""
        extent = const_int(loop.extent)
        if extent is None or extent < 1:
            return
        zero, last = imm(0, loop.var.type), imm(extent - 1, loop.var.type)
        counter = Var("counter", loop.var.type, lo=zero, hi=last)
        self.env[loop.var] = add(substitute(loop.min, self.env), counter)
        self.back[counter] = sub(loop.var, loop.min)

    def expr(self, e: Expr) -> Expr:
        return _Loads(self).go(e)

    def index(self, n: Load | Store, b: BufferSym, at: Expr, predicated: bool) -> Expr:
        """The place of a use from now on."""
        use = self.use(n, b, at, predicated)
        made = self.replaced(use)
        return self.expr(at) if made is None else substitute(made, self.back)

    def use(self, n: Load | Store, b: BufferSym, at: Expr, predicated: bool) -> Use:
        return Use(
            b,
            at.type.element_of(),
            self.places(at),
            self.extents,
            isinstance(n, Store),
            self.atomic,
            self.guarded,
            predicated,
            self.inner,
        )

    def places(self, index: Expr) -> tuple[Linear, ...]:
        """The place of each lane."""
        count = index.type.count
        if isinstance(index, Broadcast) and index.value.type.count == 1:
            return (self.form(index.value),) * count
        if isinstance(index, Ramp) and index.base.type.count == 1:
            base, step = self.form(index.base), self.form(index.stride)
            return tuple([base.plus(step, k) for k in range(count)])
        return tuple([self.form(lane(index, k)) for k in range(count)])

    def form(self, e: Expr) -> Linear:
        return linear(simplify(substitute(e, self.env)))


class _Loads(Rewriter):
    def __init__(self, leaf: Leaf) -> None:
        super().__init__()
        self.leaf = leaf

    def on_load(self, n: Load) -> Expr:
        leaf, predicated = self.leaf, n.predicate is not None
        if leaf.loaded is not None:
            made = leaf.loaded(leaf.use(n, n.buffer, n.index, predicated), n)
            if made is not None:
                return substitute(made, leaf.back)
        predicate = None if n.predicate is None else self.go(n.predicate)
        index = self.leaf.index(n, n.buffer, n.index, n.predicate is not None)
        return Load(n.type, n.buffer, index, predicate)


__all__ = [
    "Leaf",
    "Loaded",
    "Replaced",
    "Use",
    "read_together",
    "shared_storage",
    "thread_numbers",
]
