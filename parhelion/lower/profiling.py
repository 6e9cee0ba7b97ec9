"""Marks for the profiler: which Func a thread computes, and how often each is produced.

A thread that works for a profiled pipeline has a slot in the call's record, in which it
keeps the number of the Func at hand; another thread looks at all slots now and then
(`runtime.profile_ir`). So a mark is one store, which is little enough for the loops
where Funcs are computed line by line or vector by vector. The end of a production
stores the number of the production around it, unless the next one follows at once.

Productions are counted exactly, and mostly outside of the loops: what happens the same
number of times in each iteration is counted once, before the loop, as a product.

Kernels for a GPU have no marks: what runs them is the work of the Func around them, and
productions inside are counted as far as their number is known before.

Storage is counted where code generation makes it (`codegen.profiling`), which is where
it is decided what lives on the stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from parhelion.ir.build import add, block, const_int, int32, int64, maximum, mul
from parhelion.ir.build import cast as converted
from parhelion.ir.expr import Expr, Intrinsic, Load, StringImm, Var
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.pipeline import LAZY_WORDS, OVERHEAD, WAITING
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import (
    Acquire,
    Allocate,
    Atomic,
    Block,
    Evaluate,
    For,
    Fork,
    ForKind,
    If,
    LetStmt,
    OnDemand,
    Produce,
    RunExtern,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, INT64

#: How often each Func is produced, by its number.
Counts = dict[int, Expr]

_NONE: Counts = {}


def mark_profile(s: Stmt, numbers: Mapping[Function, int]) -> Stmt:
    """`s` with marks, where `numbers` has any Funcs; they are their numbers."""
    if not numbers:
        return s
    items, counts = _Marker(numbers).go(s, OVERHEAD)
    return block(*_counted(counts), _mark("profile_enter", OVERHEAD), *_entered(items))


class _Marker:
    def __init__(self, numbers: Mapping[Function, int]) -> None:
        self.numbers = numbers
        self._stores: dict[Stmt, frozenset[int]] = {}

    def go(self, s: Stmt, at: int) -> tuple[list[Stmt], Counts]:
        """What `s` becomes inside the production of Func `at`, and the productions
        that have not been counted yet: as many each time that this runs."""
        if isinstance(s, Block):
            return self._block(s, at)
        if isinstance(s, Produce):
            return self._produce(s, at)
        if isinstance(s, For):
            return self._for(s, at)
        if isinstance(s, If):
            return self._branches(s, at)
        if isinstance(s, Fork):
            return self._fork(s, at)
        if isinstance(s, Evaluate) and _is_lazy_count(s.value):
            return [self._lazy_count(s.value)], _NONE
        if isinstance(s, OnDemand):
            return self._on_demand(s, at)
        if isinstance(s, Acquire):
            return [_at(WAITING), s, _at(at)], _NONE
        if isinstance(s, Atomic):
            items, counts = self.go(s.body, at)
            return [Atomic(s.func, s.shared, s.locked, block(*items))], counts
        return [s], _NONE

    def _branches(self, s: If, at: int) -> tuple[list[Stmt], Counts]:
        """What both branches count alike is counted around them: in a kernel, which has
        two copies of what its blocks do, nothing can be counted."""
        items, counts = self.go(s.then, at)
        others: list[Stmt] = []
        other_counts = _NONE
        if s.otherwise is not None:
            others, other_counts = self.go(s.otherwise, at)
        alike = {f: n for f, n in counts.items() if other_counts.get(f) is n}
        rest = {f: n for f, n in counts.items() if f not in alike}
        other_rest = {f: n for f, n in other_counts.items() if f not in alike}
        then = block(*_counted(rest), *items)
        other = (
            block(*_counted(other_rest), *others) if s.otherwise is not None else None
        )
        return [If(s.cond, then, other)], alike

    def _block(self, s: Block, at: int) -> tuple[list[Stmt], Counts]:
        """Counts that depend on what the block binds stay in it."""
        bound: set[Var] = set()
        out: list[Stmt] = []
        total: Counts = {}
        for item in s.items:
            items, counts = self.go(item, at)
            own = {
                f: n for f, n in counts.items() if not bound.isdisjoint(free_vars(n))
            }
            _put(out, _counted(own))
            _put(out, items)
            for f, n in counts.items():
                if f not in own:
                    total[f] = add(total[f], n) if f in total else n
            if isinstance(item, LetStmt):
                bound.add(item.var)
        if any(isinstance(i, Allocate) for i in out):
            # Storage ends with the block that it is in.
            return [Block(tuple(out))], total
        return out, total

    def _produce(self, s: Produce, at: int) -> tuple[list[Stmt], Counts]:
        if not s.producing or s.func not in self.numbers:
            return self.go(s.body, at)
        number = self.numbers[s.func]
        items, counts = self.go(s.body, number)
        out: list[Stmt] = []
        # Without the node, so that the marks at its ends meet those beside it.
        _put(out, [_at(number), *items, _at(at)])
        if number not in self._stored(s.body):
            # The thread of an async Func has the loops of those that use it.
            return out, counts
        made = counts.get(number, int64(0))
        return out, {**counts, number: add(made, int64(1))}

    def _stored(self, s: Stmt) -> frozenset[int]:
        """The Funcs of which a statement stores values."""
        found = self._stores.get(s)
        if found is not None:
            return found
        buffers: tuple[BufferSym, ...] = ()
        if isinstance(s, Store):
            buffers = (s.buffer,)
        elif isinstance(s, RunExtern):
            buffers = s.outputs
        funcs = [b.func for b in buffers if b.func is not None]
        numbers = {self.numbers[f] for f in funcs if f in self.numbers}
        for child in s.children():
            if isinstance(child, Stmt):
                numbers |= self._stored(child)
        found = self._stores[s] = frozenset(numbers)
        return found

    def _for(self, s: For, at: int) -> tuple[list[Stmt], Counts]:
        items, counts = self.go(s.body, at)
        trips = _trips(s.extent)
        varying = {
            f: n for f, n in counts.items() if s.var in free_vars(n) or trips is None
        }
        body: list[Stmt] = []
        _put(body, _counted(varying))
        _put(body, items)
        rest: Counts = {}
        if trips is not None:
            rest = {f: mul(trips, n) for f, n in counts.items() if f not in varying}
        if s.kind is ForKind.GPU_BLOCK:
            return [s], rest
        if s.kind is ForKind.PARALLEL:
            return [_at(WAITING), _loop(s, _threaded(body, at)), _at(at)], rest
        return [_loop(s, block(*body))], rest

    def _on_demand(self, s: OnDemand, at: int) -> tuple[list[Stmt], Counts]:
        """What computes a part runs as if on a thread of its own, and counts itself."""
        makes: list[Stmt] = []
        for outer in s.makes:
            assert isinstance(outer, For) and isinstance(outer.body, For)
            items, counts = self.go(outer.body.body, at)
            inner = _loop(outer.body, _threaded([*_counted(counts), *items], at))
            makes.append(_loop(outer, inner))
        items, counts = self.go(s.body, at)
        made = tuple(makes)
        body = block(*items)
        one = OnDemand(s.func, s.thunk, made, s.lanes, s.claims, s.rank, body)
        return [one], counts

    def _lazy_count(self, e: Expr) -> Stmt:
        """A count of a Func on demand, by its number."""
        assert isinstance(e, Intrinsic)
        name, what, n = e.args
        assert isinstance(name, StringImm) and isinstance(what, StringImm)
        (number,) = {k for f, k in self.numbers.items() if f.name == name.value}
        word = int32(LAZY_WORDS[what.value])
        return Evaluate(Intrinsic(INT32, "profile_add", (int32(number), word, n)))

    def _fork(self, s: Fork, at: int) -> tuple[list[Stmt], Counts]:
        parts: list[Stmt] = []
        total: Counts = {}
        for part in (s.first, s.second):
            items, counts = self.go(part, at)
            parts.append(_threaded(items, at))
            for f, n in counts.items():
                total[f] = add(total[f], n) if f in total else n
        made = Fork(s.func, parts[0], parts[1])
        return [_at(WAITING), made, _at(at)], total


def _is_lazy_count(e: Expr) -> bool:
    return isinstance(e, Intrinsic) and e.op == "lazy_count"


def _loop(s: For, body: Stmt) -> Stmt:
    return For(s.var, s.min, s.extent, s.kind, body)


def _threaded(items: list[Stmt], at: int) -> Stmt:
    """What a thread of its own runs."""
    return block(_mark("profile_enter", at), *_entered(items))


def _entered(items: list[Stmt]) -> list[Stmt]:
    """What follows the beginning of a thread's work, with its end."""
    while items and _is_at(items[-1]):
        items = items[:-1]
    leave = Evaluate(Intrinsic(INT32, "profile_leave", ()))
    return [*items, leave]


def _trips(extent: Expr) -> Expr | None:
    """How often a loop runs, if that can be told before it: not from memory, which the
    code between may change."""
    if any(_is_bound_to_place(n) for n in nodes(extent)):
        return None
    known = const_int(extent)
    if known is not None:
        return int64(max(known, 0))
    return maximum(converted(INT64, extent), int64(0))


def _is_bound_to_place(n: object) -> bool:
    return isinstance(n, Load) or (
        isinstance(n, Intrinsic) and not INTRINSICS[n.op].pure
    )


def _counted(counts: Counts) -> list[Stmt]:
    return [
        Evaluate(Intrinsic(INT32, "profile_count", (int32(f), n)))
        for f, n in counts.items()
    ]


def _mark(op: str, number: int) -> Stmt:
    return Evaluate(Intrinsic(INT32, op, (int32(number),)))


def _at(number: int) -> Stmt:
    return _mark("profile_at", number)


def _is_at(s: Stmt) -> bool:
    return (
        isinstance(s, Evaluate)
        and isinstance(s.value, Intrinsic)
        and s.value.op == "profile_at"
    )


def _put(out: list[Stmt], items: Iterable[Stmt]) -> None:
    """Adds statements; of marks between which nothing is done, the last one counts."""
    for item in items:
        if _is_at(item) and out and _is_at(out[-1]):
            out.pop()
        out.append(item)


__all__ = ["mark_profile"]
