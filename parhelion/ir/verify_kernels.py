"""Checks that kernels keep their normal form (decision 13): what a block does, and
nests of threads as its leaves.

What is checked: loops over blocks stand directly inside one another and make a box; at
block level nothing is stored, and nothing but storage of the block or registers of its
threads is allocated; all leaves of a kernel have as many loops over threads, directly
inside one another, whose numbers are the same for all blocks; barriers stand at block
level; a thread has no storage but its own; storage has a constant size; code of the
host's is outside, and threads, barriers and shared memory are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32

#: Says what is wrong with a node, and raises.
Fail = Callable[[str, Node], NoReturn]

_THREADS = (ForKind.GPU_THREAD, ForKind.GPU_LANE)
#: Loops that all threads of a block go through together, or one thread does.
_SERIAL = (ForKind.SERIAL, ForKind.UNROLLED)
#: Statements of block level, and of a thread, besides loops, lets and storage.
_TOGETHER = (S.Block, S.If, S.Produce, S.Assert, S.Barrier)
_OF_A_THREAD = (S.Block, S.If, S.Produce, S.Assert, S.Store, S.Atomic)
#: Dimensions of a grid of blocks, and of a block of threads.
_MOST = 3


def verify_kernels(s: Stmt, fail: Fail, *, checked: bool) -> None:
    """Calls `fail` where a kernel of a program is not in normal form.

    checked: whether kernels that are simulated may have their checks already: a count
    of barriers and shadows of shared memory, which all threads of a block keep.
    """
    if isinstance(s, S.For):
        if s.kind is ForKind.GPU_BLOCK:
            _Kernel(fail, checked).kernel(s)
            return
        if s.kind in _THREADS:
            fail("a loop over threads outside of a kernel", s)
    if isinstance(s, S.Barrier):
        fail("a Barrier outside of a kernel", s)
    if isinstance(s, S.Allocate) and s.kind is MemoryKind.SHARED:
        fail(f"{s.buffer.name} in shared memory outside of a kernel", s)
    for c in s.children():
        if isinstance(c, Stmt):
            verify_kernels(c, fail, checked=checked)


class _Kernel:
    """Checks one kernel. varying: what is bound inside of it and that the host does not
    know. books: what a simulation's checks are kept in, None if there are none."""

    def __init__(self, fail: Fail, checked: bool) -> None:
        self.fail, self.checked = fail, checked
        self.varying: set[Var] = set()
        self.dimensions = 0
        self.books: set[BufferSym] | None = None

    def kernel(self, s: S.For) -> None:
        inner: Stmt = s
        count = 0
        while isinstance(inner, S.For) and inner.kind is ForKind.GPU_BLOCK:
            if self.varies(inner.min) or self.varies(inner.extent):
                self.fail("a loop over blocks that depends on another such loop", inner)
            self.varying.add(inner.var)
            inner, count = inner.body, count + 1
        if count > _MOST:
            self.fail(f"{count} loops over blocks of one kernel", s)
        if self.checked and isinstance(inner, S.Block):
            first = inner.items[0]
            if isinstance(first, S.Allocate) and first.kind is MemoryKind.STACK:
                self.books = {first.buffer}
        self.block(inner)

    def varies(self, e: Expr) -> bool:
        """Whether the host cannot tell an expression's value before the launch."""
        if not self.varying.isdisjoint(free_vars(e)):
            return True
        return any([isinstance(n, E.Load) for n in nodes(e)])

    def bind(self, s: S.LetStmt) -> None:
        if self.varies(s.value):
            self.varying.add(s.var)
        else:  # as it is bound again, with a value that is known
            self.varying.discard(s.var)

    # Block level.

    def block(self, s: Stmt) -> None:
        """What the threads of a block go through together."""
        if isinstance(s, S.For):
            if s.kind in _THREADS:
                self.leaf(s)
                return
            if s.kind is ForKind.GPU_BLOCK:
                self.fail("a loop over blocks inside of a kernel", s)
            if s.kind not in _SERIAL:
                self.fail(f"a loop at block level that is {s.kind.value}", s)
            self.varying.add(s.var)
        elif isinstance(s, S.LetStmt):
            self.bind(s)
        elif isinstance(s, S.Allocate):
            self.of_block(s)
        elif isinstance(s, S.Store):
            if self.books is None or s.buffer not in self.books:
                self.fail(f"a store to {s.buffer.name} at block level", s)
        elif not isinstance(s, _TOGETHER):
            self.fail(f"{type(s).__name__} at block level of a kernel", s)
        for c in s.children():
            if isinstance(c, Stmt):
                self.block(c)

    def of_block(self, s: S.Allocate) -> None:
        name = s.buffer.name
        if self.books is not None:
            if s.buffer in self.books:
                return
            if s.buffer.func is None and s.buffer.type is INT32:
                self.books.add(s.buffer)
        if s.kind not in (MemoryKind.SHARED, MemoryKind.REGISTER):
            self.fail(f"{name} in memory of the kind {s.kind.value} at block level", s)
        self.constant(s)

    def constant(self, s: S.Allocate) -> None:
        sized = all([isinstance(e, E.Imm) for e in s.extents])
        if not sized or not isinstance(s.condition, E.Imm):
            self.fail(f"{s.buffer.name} in a kernel, without a constant size", s)

    # Threads.

    def leaf(self, s: S.For) -> None:
        """A nest of threads."""
        inner: Stmt = s
        count = 0
        while isinstance(inner, S.For) and inner.kind in _THREADS:
            if self.varies(inner.extent):
                self.fail("a number of threads that depends on the block", inner)
            if inner.kind is ForKind.GPU_LANE and self.is_threads(inner.body):
                self.fail("a loop over threads inside of one over lanes", inner)
            self.varying.add(inner.var)
            inner, count = inner.body, count + 1
        self.dimensions = self.dimensions or count
        if count != self.dimensions:
            wanted = f"in a kernel of {self.dimensions}"
            self.fail(f"a nest of {count} loops over threads {wanted}", s)
        if count > _MOST:
            self.fail(f"a nest of {count} loops over threads", s)
        self.thread(inner)

    def is_threads(self, s: Stmt) -> bool:
        return isinstance(s, S.For) and s.kind in _THREADS

    def thread(self, s: Stmt) -> None:
        """What one thread does."""
        if isinstance(s, S.For):
            if s.kind in _THREADS:
                self.fail("a loop over threads that is not directly inside another", s)
            if s.kind not in (*_SERIAL, ForKind.VECTORIZED):
                self.fail(f"a loop of a thread that is {s.kind.value}", s)
            self.varying.add(s.var)
        elif isinstance(s, S.LetStmt):
            self.bind(s)
        elif isinstance(s, S.Barrier):
            self.fail("a Barrier that only some threads may come to", s)
        elif isinstance(s, S.Allocate):
            if s.kind is not MemoryKind.STACK:
                what = f"in memory of the kind {s.kind.value}"
                self.fail(f"{s.buffer.name} {what} in a thread", s)
            self.constant(s)
        elif not isinstance(s, _OF_A_THREAD):
            self.fail(f"{type(s).__name__} in a thread", s)
        for c in s.children():
            if isinstance(c, Stmt):
                self.thread(c)


__all__ = ["verify_kernels"]
