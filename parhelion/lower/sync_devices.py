"""Buffers with two copies: which is used next, the device's or that in main memory.

What kernels use that is stored outside of them has a copy on the device. Before each
kernel, and before each statement of the host's that uses such a buffer too, a `Sync`
says what will be read and written there; the run time copies where the other side has
stored since. A kernel that computes a pure definition of a Func writes all of it that
counts, so that what the device held before is not wanted: unless some of it is
undefined, or the host writes to it in the same iterations of a loop, each of which has
a part.

The threads of an async Func run at once: while one stores to a part of its storage, the
other may copy all of it to its own side, for another part. So what is stored to in a
thread is said to be newer once more when it has been stored: whoever is then told that
it is there copies again. The run time does one thing at a time to a buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.ir.build import block
from parhelion.ir.expr import Expr, Intrinsic, Load
from parhelion.ir.function import Function
from parhelion.ir.loop_id import LoopId
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import (
    Acquire,
    Allocate,
    Block,
    Demand,
    Evaluate,
    For,
    Fork,
    ForKind,
    Free,
    If,
    LetStmt,
    MemoryKind,
    Produce,
    Release,
    RunExtern,
    Stmt,
    Store,
    Sync,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.unroll import refused
from parhelion.schedule.directives import Place


def sync_devices(s: Stmt, outputs: Mapping[Function, tuple[BufferSym, ...]]) -> Stmt:
    """Says before each use of a buffer with two copies which of them it uses.

    outputs: the Funcs whose values are stored in the caller's buffers.

    Raises ScheduleError for kernels in parallel loops of the host.
    """
    kernels = _kernels(s)
    if not kernels:
        return s
    shared = _Uses()
    for kernel in kernels:
        shared.stmt(kernel)
    both = frozenset(shared.reads) | frozenset(shared.writes)
    host = _Uses()
    _of_host(s, host)
    used = frozenset(host.reads) | frozenset(host.writes)
    # What a caller gives may be on a device already, though no kernel here uses it.
    given = frozenset([b for b in used if b.role != "internal"])
    touched, both = used & both, both | given
    owners = {b: f for f, buffers in outputs.items() for b in buffers}
    return _Syncs(both, touched, frozenset(host.writes), owners).stmt(s)


@dataclass(slots=True)
class _Uses:
    """The buffers that statements use, in the order of their first use."""

    reads: dict[BufferSym, None] = field(default_factory=dict)
    writes: dict[BufferSym, None] = field(default_factory=dict)
    own: set[BufferSym] = field(default_factory=set)

    def expr(self, e: Expr) -> None:
        for n in nodes(e):
            if isinstance(n, Load):
                self.reads[n.buffer] = None

    def parts(self, s: Stmt) -> None:
        """What a statement uses itself, without the statements in it."""
        for c in s.children():
            if isinstance(c, Expr):
                self.expr(c)
        if isinstance(s, Store):
            self.writes[s.buffer] = None
        elif isinstance(s, Allocate):
            self.own.add(s.buffer)
        elif isinstance(s, RunExtern):
            self.reads.update(dict.fromkeys(s.inputs))
            # It may leave some of them as they are.
            self.reads.update(dict.fromkeys(s.outputs))
            self.writes.update(dict.fromkeys(s.outputs))
        elif isinstance(s, Acquire | Release):
            self.writes[s.semaphore] = None
        elif isinstance(s, Demand):
            assert isinstance(s.table, BufferSym)
            self.writes[s.table] = None

    def stmt(self, s: Stmt) -> None:
        self.parts(s)
        for c in s.children():
            if isinstance(c, Stmt):
                self.stmt(c)
        for b in self.own:
            self.reads.pop(b, None)
            self.writes.pop(b, None)


def _undefined(f: Function) -> bool:
    """Whether values of a pure definition may be undefined, its own or those of Funcs
    that are inlined into it."""
    found = {f: None}
    left = [f]
    while left:
        pure = left.pop().pure
        if pure is None:
            continue
        for v in pure.values:
            if any([isinstance(n, Intrinsic) and n.op == "undef" for n in nodes(v)]):
                return True
        for g in pure.mentions():
            if isinstance(g, Function) and g not in found:
                found[g] = None
                if g.schedule.compute.place is Place.INLINED:
                    left.append(g)
    return False


def is_kernel(s: Stmt) -> bool:
    return isinstance(s, For) and s.kind is ForKind.GPU_BLOCK


def _kernels(s: Stmt) -> list[For]:
    if isinstance(s, For) and s.kind is ForKind.GPU_BLOCK:
        return [s]
    return [k for c in s.children() if isinstance(c, Stmt) for k in _kernels(c)]


def _of_host(s: Stmt, uses: _Uses) -> None:
    """Collects what the host's code uses."""
    if is_kernel(s):
        loops: Stmt = s
        while isinstance(loops, For) and loops.kind is ForKind.GPU_BLOCK:
            uses.expr(loops.min)
            uses.expr(loops.extent)
            loops = loops.body
        return
    uses.parts(s)
    for c in s.children():
        if isinstance(c, Stmt):
            _of_host(c, uses)


class _Syncs:
    """both: what has two copies. touched: of that, what the host uses too. written:
    what the host writes to. owners: the Funcs whose values the outputs hold. depth: how
    many loops of the host's are around."""

    def __init__(
        self,
        both: frozenset[BufferSym],
        touched: frozenset[BufferSym],
        written: frozenset[BufferSym],
        owners: Mapping[BufferSym, Function],
    ) -> None:
        self.both, self.touched, self.written = both, touched, written
        self.owners = owners
        self.depth = 0
        #: How many of them are around the storage.
        self.stored_at: dict[BufferSym, int] = {}
        self.found: dict[Stmt, bool] = {}
        #: The semaphores that statements use and do not allocate.
        self.waits: dict[Stmt, frozenset[BufferSym]] = {}
        #: Funcs that another thread may read while they are stored.
        self.forked: set[Function] = set()
        #: Buffers whose copy in main memory the cache of memoized Funcs keeps, by its
        #: answer.
        self.kept: dict[Expr, list[BufferSym]] = {}

    def has_kernel(self, s: Stmt) -> bool:
        known = self.found.get(s)
        if known is None:
            known = is_kernel(s) or any(
                [self.has_kernel(c) for c in s.children() if isinstance(c, Stmt)]
            )
            self.found[s] = known
        return known

    def semaphores(self, s: Stmt) -> frozenset[BufferSym]:
        """Those that a statement uses and does not allocate: for what it reads it waits
        within."""
        if isinstance(s, Acquire | Release):
            return frozenset((s.semaphore,))
        known = self.waits.get(s)
        if known is None:
            inside = [c for c in s.children() if isinstance(c, Stmt)]
            own = [c.buffer for c in inside if isinstance(c, Allocate)]
            known = frozenset().union(*map(self.semaphores, inside)) - frozenset(own)
            self.waits[s] = known
        return known

    def stmt(self, s: Stmt) -> Stmt:
        if isinstance(s, For) and s.kind is ForKind.GPU_BLOCK:
            return self.kernel(s)
        if isinstance(s, Allocate):
            return self.allocate(s)
        uses = _Uses()
        if isinstance(s, Block):
            return block(*map(self.stmt, s.items))
        if self.has_kernel(s) or (
            self.semaphores(s) and not isinstance(s, Acquire | Release)
        ):
            if self.has_kernel(s):
                self.check(s)
            if isinstance(s, Fork):
                self.forked.add(s.func)
            uses.parts(s)
            self.depth += isinstance(s, For)
            inside = s.map(lambda c: c if isinstance(c, Expr) else self.stmt(c))
            self.depth -= isinstance(s, For)
        elif isinstance(s, Free):
            return s
        else:
            uses.stmt(s)
            uses.reads.update(dict.fromkeys(self.stored(s)))
            inside = s
        # The host seldom writes all that is used of a buffer later.
        reads = {**uses.reads, **uses.writes}
        syncs = [
            Sync(b, False, True, b in uses.writes) for b in reads if b in self.both
        ]
        return block(*syncs, inside, *self.told(uses, False))

    def told(self, uses: _Uses, device: bool) -> list[Sync]:
        """Says again what one side has stored, where others may have copied it to
        theirs meanwhile."""
        return [
            Sync(b, device, False, True)
            for b in uses.writes
            if b in self.both and b.func in self.forked
        ]

    def stored(self, s: Stmt) -> list[BufferSym]:
        """The buffers that a statement gives to the cache of memoized Funcs."""
        if not isinstance(s, Evaluate) or not isinstance(s.value, Intrinsic):
            return []
        call = s.value
        return self.kept.get(call.args[0], []) if call.op == "memo_store" else []

    def kernel(self, s: For) -> Stmt:
        uses = _Uses()
        uses.stmt(s)
        host = _Uses()
        _of_host(s, host)
        syncs = [Sync(b, False, True, False) for b in host.reads if b in self.both]
        which: LoopId | None = s.var.loop
        for b in {**uses.reads, **uses.writes}:
            if b not in self.both:
                continue
            reads = b in uses.reads or not self.writes_all(b, which)
            syncs.append(Sync(b, True, reads, b in uses.writes))
        return block(*syncs, s, *self.told(uses, True))

    def writes_all(self, b: BufferSym, which: LoopId | None) -> bool:
        """Whether a kernel that stores to a buffer leaves nothing of what it held that
        counts. which: its outermost loop."""
        owner = self.owners.get(b, b.func)
        if owner is None or which is None or which.func is not owner or which.stage:
            return False
        if self.depth > self.stored_at.get(b, 0) and b in self.written:
            return False
        return not _undefined(owner)

    def allocate(self, s: Allocate) -> Stmt:
        self.stored_at[s.buffer] = self.depth
        if s.buffer not in self.both:
            return s
        kind = MemoryKind.MIRRORED if s.buffer in self.touched else MemoryKind.DEVICE
        if s.kind is MemoryKind.CACHE:
            kind = MemoryKind.CACHE_MIRRORED
            assert isinstance(s.condition, Intrinsic)
            self.kept.setdefault(s.condition.args[0], []).append(s.buffer)
        return Allocate(s.buffer, s.extents, s.condition, kind, s.padding)

    def check(self, s: Stmt) -> None:
        """Raises ScheduleError where threads of the host's would run kernels."""
        if isinstance(s, LetStmt | If | Produce | Fork):
            return
        if isinstance(s, For) and s.kind in (ForKind.SERIAL, ForKind.UNROLLED):
            return
        loop = _kernels(s)[0]
        where = "the use of a Func that is computed on demand"
        what = "compute that Func at the root"
        if isinstance(s, For):
            where, what = f"a {s.kind.value} loop", "make that loop serial"
        raise refused(
            loop,
            f"is over the blocks of a kernel, but inside of {where} of the host's,"
            " whose threads cannot run kernels",
            f"{what}: a kernel is parallel by itself",
        )


__all__ = ["is_kernel", "sync_devices"]
