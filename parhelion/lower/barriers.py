"""Barriers: where the threads of a block wait for each other.

Between two nests of threads a barrier is needed where a value may cross from one thread
to another: where both touch a buffer and one of them stores to it. It is not needed if
both touch the same element in the same thread, and different threads different ones,
which is proved of flat indices: those of both sides are one linear form of the threads'
numbers whose factors keep all threads apart. The rest of the form must have one value
as well: what it is made of is not bound again between the two, as the variable of a
serial loop is for each iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace

from parhelion.analysis.linear import linear
from parhelion.dataclass import dataclass
from parhelion.ir.build import add, block
from parhelion.ir.expr import Expr, Let, Load, Var
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import (
    Allocate,
    Atomic,
    Barrier,
    Block,
    For,
    If,
    LetStmt,
    MemoryKind,
    Produce,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.kernel_blocks import rewrite_blocks
from parhelion.lower.kernel_loops import (
    THREADS,
    nest_of,
    thread_counts,
)
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32


def place_barriers(s: Stmt) -> Stmt:
    """Puts barriers into all kernels, which have their normal form."""
    return rewrite_blocks(
        s, lambda _, body: _Place(thread_counts(body)).stmt(body, {})[0]
    )


@dataclass(frozen=True, slots=True)
class Access:
    """A use of a buffer. atomic: of which update that happens as a whole, None if of no
    such. index: the place as a function of the numbers of the thread, and of nothing
    else that differs between threads or within one; None if it is not known to be one.
    """

    buffer: BufferSym
    writes: bool
    atomic: Hashable | None
    index: Expr | None


#: What has happened since the last barrier.
_Pending = Mapping[BufferSym, frozenset[Access]]


class _Place:
    """Places the barriers of one kernel. Its methods return what a statement becomes,
    and what has happened since the last barrier when it has run."""

    def __init__(self, counts: list[int | None]) -> None:
        self.counts = counts
        self.numbers = [Var(f"thread.{d}", INT32) for d in range(len(counts))]
        #: What each thread has elements of that no other one touches.
        self.own: set[BufferSym] = set()

    def stmt(self, s: Stmt, before: _Pending) -> tuple[Stmt, _Pending]:
        if isinstance(s, For) and s.kind in THREADS:
            mine = self.of_leaf(s)
            if self.conflict(before, mine):
                return block(Barrier(), s), _joined({}, mine)
            return s, _joined(before, mine)
        if isinstance(s, Block):
            items: list[Stmt] = []
            for item in s.items:
                made, before = self.stmt(item, before)
                flat = isinstance(made, Block) and not isinstance(item, Block)
                items += made.items if flat and isinstance(made, Block) else [made]
            return Block(tuple(items)), before
        if isinstance(s, Produce):
            made, after = self.stmt(s.body, before)
            return Produce(s.func, s.producing, made), after
        if isinstance(s, Allocate) and s.kind is MemoryKind.REGISTER:
            self.own.add(s.buffer)
        # What all threads evaluate, at block level.
        mine = _reads([c for c in s.children() if isinstance(c, Expr)])
        if self.conflict(before, mine):
            made, after = self.stmt(s, {})
            return block(Barrier(), made), after
        before = _joined(before, mine)
        if isinstance(s, LetStmt):
            return s, _bound_again(before, {s.var})
        if isinstance(s, If):
            then, after = self.stmt(s.then, before)
            if s.otherwise is None:
                return If(s.cond, then, None), _both(before, after)
            other, after_other = self.stmt(s.otherwise, before)
            return If(s.cond, then, other), _both(after, after_other)
        if isinstance(s, For):
            return self.loop(s, before)
        return s, before

    def loop(self, s: For, before: _Pending) -> tuple[Stmt, _Pending]:
        """A serial loop: each iteration comes after the one before it as well."""
        body, after = self.stmt(s.body, _bound_again(before, {s.var}))
        again = _bound_again(after, {s.var, *_bound_in(s.body)})
        if self.conflict(again, self.first(body)[0]):
            body, after = block(body, Barrier()), {}
        made = For(s.var, s.min, s.extent, s.kind, body)
        return made, _both(before, after)

    def first(self, s: Stmt) -> tuple[list[Access], bool]:
        """What happens in a statement before its first barrier, and whether there is
        one that is surely reached."""
        if isinstance(s, For) and s.kind in THREADS:
            return self.of_leaf(s), False
        if isinstance(s, Barrier):
            return [], True
        if isinstance(s, Block):
            found: list[Access] = []
            for item in s.items:
                more, ended = self.first(item)
                found += more
                if ended:
                    return found, True
            return found, False
        found = _reads([c for c in s.children() if isinstance(c, Expr)])
        parts = [self.first(c) for c in s.children() if isinstance(c, Stmt)]
        for more, _ in parts:
            found += more
        return found, isinstance(s, Produce) and parts[0][1]

    def conflict(self, before: _Pending, then: Iterable[Access]) -> bool:
        return any(
            [
                (a.writes or b.writes) and not self.apart(a, b)
                for b in then
                for a in before.get(b.buffer, ())
            ]
        )

    def apart(self, a: Access, b: Access) -> bool:
        """Whether two uses of a buffer never meet in different threads, or may."""
        if a.atomic is not None and a.atomic == b.atomic:
            # Iterations of one update may come in any order, but before the next one.
            return True
        return a.index is not None and a.index is b.index and self.injective(a.index)

    def injective(self, index: Expr) -> bool:
        """Whether different threads have different values of a linear form."""
        form = linear(index)
        steps: list[tuple[int, int]] = []
        for number, count in zip(self.numbers, self.counts, strict=True):
            if count == 1:
                continue
            step = form.terms.get(number, 0)
            if count is None or step == 0:
                return False
            steps.append((abs(step), count))
            form = form.without(number)
        if any([not free_vars(e).isdisjoint(self.numbers) for e in form.terms]):
            return False
        reach = 0
        for step, count in sorted(steps):
            if step <= reach:
                return False
            reach += step * (count - 1)
        return True

    def of_leaf(self, leaf: Stmt) -> list[Access]:
        """The uses of buffers in a nest of threads, without storage of its own."""
        loops, body = nest_of(leaf)
        env: dict[Var, Expr] = {}
        found: list[Access] = []
        for loop, number in zip(loops, self.numbers, strict=True):
            found += _reads([loop.min, loop.extent])
            env[loop.var] = add(substitute(loop.min, env), number)
        ids = [loop.var.loop for loop in loops if loop.var.loop is not None]
        update = (ids[-1].func, ids[-1].stage) if ids else body
        _Thread(self.numbers, env, found, update).stmt(body, atomic=False)
        return [a for a in dict.fromkeys(found) if a.buffer not in self.own]


class _Thread:
    """Collects what one thread uses. env: what its lets and loops over threads are.
    update: which definition it computes."""

    def __init__(
        self,
        numbers: list[Var],
        env: dict[Var, Expr],
        found: list[Access],
        update: Hashable,
    ) -> None:
        self.numbers, self.env, self.found = numbers, env, found
        self.update = update
        self.own: set[BufferSym] = set()
        self.inner: set[Var] = set()

    def stmt(self, s: Stmt, atomic: bool) -> None:
        if isinstance(s, Allocate):
            self.own.add(s.buffer)
        elif isinstance(s, LetStmt):
            self.exprs([s.value], atomic)
            self.env[s.var] = substitute(s.value, self.env)
        elif isinstance(s, Store):
            self.exprs(s.children(), atomic)
            self.use(s.buffer, s.index, True, atomic)
        else:
            self.exprs([c for c in s.children() if isinstance(c, Expr)], atomic)
            if isinstance(s, For):
                self.inner.add(s.var)
            for c in s.children():
                if isinstance(c, Stmt):
                    self.stmt(c, atomic or isinstance(s, Atomic))

    def exprs(self, exprs: Iterable[Expr], atomic: bool) -> None:
        for e in exprs:
            # What a Let binds may differ between threads, and is not known here.
            self.inner |= {n.var for n in nodes(e) if isinstance(n, Let)}
            for n in nodes(e):
                if isinstance(n, Load):
                    self.use(n.buffer, n.index, False, atomic)

    def use(self, buffer: BufferSym, index: Expr, writes: bool, atomic: bool) -> None:
        if buffer in self.own:
            return
        place: Expr | None = simplify(substitute(index, self.env))
        assert place is not None
        varies = any([isinstance(n, Load) for n in nodes(place)])
        if (
            varies
            or index.type.count > 1
            or not self.inner.isdisjoint(free_vars(place))
        ):
            place = None
        update = self.update if atomic else None
        self.found.append(Access(buffer, writes, update, place))


def _reads(exprs: Iterable[Expr]) -> list[Access]:
    """The loads of expressions that all threads evaluate."""
    return [
        Access(n.buffer, False, None, None)
        for e in exprs
        for n in nodes(e)
        if isinstance(n, Load)
    ]


def _joined(before: _Pending, more: Iterable[Access]) -> _Pending:
    found = dict(before)
    for a in more:
        found[a.buffer] = found.get(a.buffer, frozenset()) | {a}
    return found


def _bound_again(before: _Pending, names: Collection[Var]) -> _Pending:
    """What has happened, when some variables get other values: places in terms of them
    are not those that the same terms mean from now on."""
    return {
        b: frozenset(
            [
                a
                if a.index is None or free_vars(a.index).isdisjoint(names)
                else replace(a, index=None)
                for a in accesses
            ]
        )
        for b, accesses in before.items()
    }


def _bound_in(s: Stmt) -> set[Var]:
    """What lets and loops of block level bind in a statement."""
    found: set[Var] = set()
    stack = [s]
    while stack:
        n = stack.pop()
        if isinstance(n, For) and n.kind in THREADS:
            continue
        if isinstance(n, For | LetStmt):
            found.add(n.var)
        stack += [c for c in n.children() if isinstance(c, Stmt)]
    return found


def _both(one: _Pending, two: _Pending) -> _Pending:
    return _joined(one, [a for accesses in two.values() for a in accesses])


__all__ = ["place_barriers"]
