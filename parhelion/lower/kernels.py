"""Kernels in their normal form: what a block does, and nests of threads as its leaves.

A loop over blocks of a GPU is a kernel, with the loops over blocks directly inside of
it. Schedules put loops over threads anywhere inside of them:

    gpu_block y:                          gpu_block y:
      gpu_thread ty:                        gpu_thread ty:
        let c = …                             gpu_thread tx:
        gpu_thread tx: A        becomes         let c = …
        gpu_thread tx: B                        A
                                            gpu_thread ty:
                                              gpu_thread tx:
                                                let c = …
                                                B

so that a barrier may stand between A and B. Threads may be taken apart at any point, as
long as none waits for another within its own code; so loops over threads go inwards to
where no other is, through lets, conditions and serial loops that do not depend on them.
Storage on the way gets a dimension for each such loop. See decision 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from parhelion.analysis.rank import reads_data
from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    add,
    block,
    broadcast,
    cast,
    conjunction,
    const_int,
    imm,
    int32,
    is_true,
    lnot,
    lt,
    maximum,
    mul,
    sub,
)
from parhelion.ir.device import Device
from parhelion.ir.expr import Expr, Load, Var
from parhelion.ir.rewrite import _N, Rewriter, free_vars, substitute
from parhelion.ir.stmt import (
    NOP,
    Allocate,
    Assert,
    Atomic,
    Block,
    For,
    ForKind,
    If,
    LetStmt,
    MemoryKind,
    Produce,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.allocate import constant_bytes, size_checks
from parhelion.lower.extents import most_of
from parhelion.lower.instantiate import instantiate
from parhelion.lower.kernel_checks import known_to_host, lift_checks
from parhelion.lower.kernel_loops import (
    MOST_DIMENSIONS,
    THREADS,
    depths,
    has_checks,
    has_threads,
    leaves,
    loop_vars,
    nest_of,
    outer_loops,
)
from parhelion.lower.kernel_refusals import (
    block_inside,
    divergent,
    refuse_memoized,
    refuse_texture,
    refused_statement,
    refused_storage,
)
from parhelion.lower.options import LowerOptions
from parhelion.lower.unroll import refused
from parhelion.types import INT32

#: Loops that all threads of a block may go through together.
_TOGETHER = (ForKind.SERIAL, ForKind.UNROLLED)
#: What one thread may do, besides loops and storage of its own.
_OF_A_THREAD = (Block, LetStmt, If, Store, Produce, Atomic, Assert)


def shape_kernels(s: Stmt, device: Device | None) -> Stmt:
    """Gives all kernels of a program their normal form.

    Raises ScheduleError, at the user's line, for what no kernel can be made of: loops
    over threads outside of blocks or over blocks inside of kernels, storage whose size
    is not constant, what only some threads would go through, and code of the host's. It
    also does where there is a kernel and no device.
    """
    return _Kernels(device).go(s)


class _Kernels(Rewriter):
    def __init__(self, device: Device | None) -> None:
        super().__init__()
        self.device = device

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        if n.kind is ForKind.GPU_BLOCK:
            if self.device is None:
                raise refused(
                    n,
                    "is over the blocks of a GPU, and there is none that can be used",
                    "the command `parhelion doctor` tells what is missing; where the"
                    " environment has PARHELION_GPU=simulate, kernels run on the CPU",
                )
            return _Kernel(self.device, n).shaped()
        if n.kind in THREADS:
            raise refused(
                n,
                "is over the threads of a block of a GPU, but is in no loop over"
                " blocks",
                "give a loop around it to gpu_blocks, or use gpu_single_thread",
            )
        return n.map(self.go)

    def on_allocate(self, n: Allocate) -> Stmt:
        if n.kind is MemoryKind.SHARED:
            raise refused_storage(
                n, "is outside of kernels: only the threads of a block share memory"
            )
        return n


@dataclass(frozen=True, slots=True)
class _Around:
    """What a statement will have around it in its leaf: loops over threads, and, inside
    of these, lets and conditions, and checks: no thread that one fails for goes on."""

    loops: tuple[For, ...] = ()
    inner: tuple[LetStmt | Assert | Expr, ...] = ()

    def is_empty(self) -> bool:
        return not self.loops and not self.inner

    def bound(self) -> set[Var]:
        lets = [i.var for i in self.inner if isinstance(i, LetStmt)]
        return {loop.var for loop in self.loops} | set(lets)

    def values(self) -> dict[Var, Expr]:
        """What the lets stand for, in terms of what is bound outside of them."""
        known: dict[Var, Expr] = {}
        for i in self.inner:
            if isinstance(i, LetStmt):
                known[i.var] = substitute(i.value, known)
        return known


class _Kernel:
    """Shapes one kernel. dimensions: how many loops over threads all leaves have."""

    def __init__(self, device: Device, kernel: For) -> None:
        self.device, self.kernel = device, kernel
        self.dimensions = 1
        self.copied: set[Var] = set()
        #: What loops in the kernel bind, and those over blocks, outermost first.
        self.inside: set[Var] = set()
        self.grid: list[For] = []
        #: What stands before the kernel.
        self.outside: list[Stmt] = []

    def shaped(self) -> Stmt:
        loops, lets, body = outer_loops(self.kernel)
        deepest = max(depths(body, []), default=[], key=len)
        if len(deepest) > MOST_DIMENSIONS:
            raise refused(
                deepest[MOST_DIMENSIONS],
                f"is inside of {MOST_DIMENSIONS} others over threads, which are all"
                " dimensions that a block has",
                "make it serial, or fuse two of them",
            )
        self.dimensions = max(len(deepest), 1)
        self.inside = {loop.var for loop in loops} | loop_vars(body)
        self.grid = loops
        lifted = lift_checks(body, loops, self.inside)
        made = block(*lets, self.walk(lifted.body, _Around()))
        self.check_threads(made)
        for loop in reversed(loops):
            made = For(loop.var, loop.min, loop.extent, loop.kind, made)
        if self.outside:
            return Block((*lifted.checks, *self.outside, made))
        return block(*lifted.checks, made)

    def check_threads(self, made: Stmt) -> None:
        """Raises ScheduleError if a block has more threads than the device's have."""
        most = [1] * self.dimensions
        for leaf in leaves(made):
            for d, loop in enumerate(nest_of(leaf)[0]):
                most[d] = max(most[d], const_int(loop.extent) or 1)
        if math.prod(most) > self.device.threads:
            listed = " x ".join(map(str, reversed(most)))
            raise refused(
                self.kernel,
                f"is over blocks of {listed} threads, in each dimension the most of all"
                " stages in the kernel, and a block has at most"
                f" {self.device.threads}",
                "split by smaller factors, or give fewer loops to gpu_threads",
            )

    # Block level.

    def walk(self, s: Stmt, around: _Around) -> Stmt:
        """A statement at block level, with what is around it moved into its leaves."""
        if isinstance(s, For) and s.kind in THREADS:
            inside = replace(around, loops=(*around.loops, s))
            if has_threads(s.body):
                return self.walk(s.body, inside)
            return self.leaf(inside, s.body)
        if not self.together(s, around):
            return self.leaf(around, s)
        if isinstance(s, Block):
            return self.block(s.items, around)
        if isinstance(s, Produce):
            return Produce(s.func, s.producing, self.walk(s.body, around))
        if isinstance(s, If):
            return self.branch(s, around)
        if isinstance(s, Assert):
            return s
        if not isinstance(s, For):
            raise refused_statement(s, self.kernel)
        if s.kind not in _TOGETHER:
            raise refused(
                s,
                f"is {s.kind.value} and has loops over threads of a GPU inside",
                "reorder the loops over threads outwards",
            )
        bound = around.bound()
        if not bound.isdisjoint(free_vars(s.extent)):
            raise divergent(around.loops[-1])
        body = s.body
        low, var = s.min, s.var
        if not bound.isdisjoint(free_vars(low)):
            # It begins elsewhere for each thread, and they count together.
            last = sub(s.extent, imm(1, s.extent.type))
            var = Var(s.var.name, s.var.type, lo=imm(0, low.type), hi=last)
            here = Var(s.var.name, low.type, value=add(low, var), loop=s.var.loop)
            body = block(LetStmt(here, add(low, var)), instantiate(body, {s.var: here}))
            low = imm(0, low.type)
        return For(var, low, s.extent, s.kind, self.walk(body, around))

    def together(self, s: Stmt, around: _Around) -> bool:
        """Whether a statement is gone through at block level: it has loops over threads
        in it, or a check that says the same in all threads. (What follows in another
        nest of threads must not run where a check has failed, so that it is none of a
        nest of one thread.)"""
        return has_threads(s) or (around.is_empty() and has_checks(s))

    def branch(self, s: If, around: _Around) -> Stmt:
        """A condition that is the same for all threads stays; any other is asked again
        in each leaf."""
        apart = not around.bound().isdisjoint(free_vars(s.cond))
        if not apart:
            then = self.walk(s.then, around)
            other = None if s.otherwise is None else self.walk(s.otherwise, around)
            return If(s.cond, then, other)
        if reads_data(s.cond):
            raise divergent(around.loops[-1])
        then = self.walk(s.then, replace(around, inner=(*around.inner, s.cond)))
        if s.otherwise is None:
            return then
        denied = replace(around, inner=(*around.inner, lnot(s.cond)))
        return block(then, self.walk(s.otherwise, denied))

    def block(self, items: Sequence[Stmt], around: _Around) -> Stmt:
        out: list[Stmt] = []
        run: list[Stmt] = []
        last = max([k for k, s in enumerate(items) if self.together(s, around)])
        left = list(items)
        for k in range(len(left)):
            item = left[k]
            if k > last:
                run.append(item)
                continue
            together = self.together(item, around)
            if isinstance(item, LetStmt | Allocate | Assert) or together:
                if run:
                    out.append(self.leaf(around, block(*run)))
                    run = []
            if isinstance(item, Allocate):
                made, rest = self.shared(item, around, left[k + 1 :])
                out.append(made)
                left[k + 1 :] = rest
            elif isinstance(item, LetStmt) and around.is_empty():
                out.append(item)
            elif isinstance(item, LetStmt):
                if reads_data(item.value):
                    raise divergent(around.loops[-1])
                around = replace(around, inner=(*around.inner, item))
            elif together:
                out.append(self.walk(item, around))
            elif isinstance(item, Assert):
                around = replace(around, inner=(*around.inner, item))
            else:
                run.append(item)
        if run:
            out.append(self.leaf(around, block(*run)))
        return block(*out)

    def shared(
        self, a: Allocate, around: _Around, rest: list[Stmt]
    ) -> tuple[Stmt, list[Stmt]]:
        """Storage that several threads use, with a place for each iteration of the
        loops over threads around it; and the statements that use it."""
        refuse_memoized(a)
        f = a.buffer.func
        wish = MemoryKind.AUTO if f is None else f.schedule.memory
        size = constant_bytes(a.buffer.type, a.extents, a.padding)
        if size is None or not is_true(a.condition):
            raise refused_storage(
                a,
                "has no constant size, which memory of a block needs",
                "split its consumer by constants, or bound it by bound_extent or"
                " bound_storage",
            )
        extents = list(a.extents)
        offset: Expr = int32(0)
        stride = size // a.buffer.type.bytes()
        for loop in around.loops:
            most = most_of(loop.extent)
            if most is None:
                raise refused_storage(
                    a,
                    f"is there for each {loop.var.name}, the number of which"
                    " is not constant",
                )
            lo = substitute(loop.min, around.values())
            offset = add(offset, mul(sub(loop.var, lo), int32(stride)))
            stride *= most
            extents.append(int32(most))
        refuse_texture(a)
        if wish is MemoryKind.HEAP:
            return self.in_blocks(a, extents, stride, offset, rest)
        made = Allocate(a.buffer, tuple(extents), a.condition, MemoryKind.SHARED, 0)
        if const_int(offset) == 0:
            return made, rest
        moved = _Moved(a.buffer, offset)
        return made, [moved.go(s) for s in rest]

    def in_blocks(
        self,
        a: Allocate,
        extents: list[Expr],
        stride: int,
        offset: Expr,
        rest: list[Stmt],
    ) -> tuple[Stmt, list[Stmt]]:
        """Storage in memory of the device, with a place for each block. It is allocated
        outside of the kernel, which cannot allocate any."""
        step: Expr = int32(stride)
        for loop in reversed(self.grid):
            offset = add(offset, mul(sub(loop.var, loop.min), step))
            step = mul(step, loop.extent)
            extents.append(maximum(loop.extent, int32(0)))
        made = Allocate(a.buffer, tuple(extents), a.condition, MemoryKind.HEAP, 0)
        # Places are sums of int32 numbers, however large other buffers are.
        self.outside += [*size_checks(made, LowerOptions(device=self.device)), made]
        moved = _Moved(a.buffer, offset)
        return NOP, [moved.go(s) for s in rest]

    # Threads.

    def leaf(self, around: _Around, s: Stmt) -> Stmt:
        """A nest of threads that all run a statement."""
        body = self.of_thread(s)
        for i in reversed(around.inner):
            body = If(i, body, None) if isinstance(i, Expr) else block(i, body)
        values = around.values()
        headers: list[tuple[For, Expr, Expr]] = []
        conditions: list[Expr] = []
        more: dict[Var, Expr] = {}
        for loop in around.loops:
            here = substitute(loop.min, values)
            low = substitute(here, more)
            extent = substitute(substitute(loop.extent, values), more)
            count = self.count(loop, extent)
            if count is not extent or low is not here:
                loop = _counting(loop, low, count, more)
            if count is not extent:
                conditions.append(lt(loop.var, add(low, extent)))
            headers.append((loop, low, count))
        body = instantiate(body, more)
        if conditions:
            body = If(conjunction(conditions), body, None)
        made = body
        for loop, low, count in reversed(headers):
            made = For(loop.var, low, count, loop.kind, made)
        for _ in range(len(around.loops), self.dimensions):
            one = Var("thread", INT32, lo=int32(0), hi=int32(0))
            made = For(one, int32(0), int32(1), ForKind.GPU_THREAD, made)
        bound = around.bound()
        if not bound.isdisjoint(self.copied):
            return instantiate(made, {}, renew=True)
        self.copied |= bound
        return made

    def count(self, loop: For, extent: Expr) -> Expr:
        """The number of threads of a loop, which is the same for all blocks: the most
        there can be, where the extent depends on the block."""
        if const_int(extent) is not None:
            return extent
        known = known_to_host(extent, self.inside)
        if known is not None:
            return known
        most = most_of(extent)
        if most is None:
            raise refused(
                loop,
                "is over threads, and nothing says how many it has at the most",
                "split it by a constant, or bound its Func by bound_extent",
            )
        return imm(most, extent.type)

    def of_thread(self, s: Stmt) -> Stmt:
        """What one thread does. Its storage is its own."""
        if isinstance(s, For):
            if s.kind is ForKind.GPU_BLOCK:
                raise block_inside(s)
            if s.kind not in (*_TOGETHER, ForKind.VECTORIZED):
                raise refused(
                    s, f"is {s.kind.value}, but is in a kernel", "make it serial"
                )
            return For(s.var, s.min, s.extent, s.kind, self.of_thread(s.body))
        if isinstance(s, Allocate):
            return self.private(s)
        if not isinstance(s, _OF_A_THREAD):
            raise refused_statement(s, self.kernel)
        return s.map(lambda c: c if isinstance(c, Expr) else self.of_thread(c))

    def private(self, a: Allocate) -> Stmt:
        refuse_memoized(a)
        refuse_texture(a)
        f = a.buffer.func
        wish = MemoryKind.AUTO if f is None else f.schedule.memory
        if wish in (MemoryKind.SHARED, MemoryKind.HEAP):
            raise refused_storage(
                a, "is inside of a loop over threads, where storage is a thread's own"
            )
        size = constant_bytes(a.buffer.type, a.extents, a.padding)
        if size is None or not is_true(a.condition):
            raise refused_storage(
                a,
                "has no constant size, which storage of a thread needs",
                "split its consumer by constants, or bound it by bound_extent or"
                " bound_storage",
            )
        return Allocate(a.buffer, a.extents, a.condition, MemoryKind.STACK, a.padding)


def _counting(loop: For, low: Expr, count: Expr, more: dict[Var, Expr]) -> For:
    """A loop over other threads than it has iterations. What is known of its Var does
    not hold for all of them, so that it gets another one, which is noted in `more`."""
    old = loop.var
    last = sub(add(low, count), imm(1, low.type))
    var = Var(old.name, old.type, lo=low, hi=last, origin=old.origin, loop=old.loop)
    more[old] = var
    return For(var, low, count, loop.kind, loop.body)


class _Moved(Rewriter):
    """Adds an offset to each place in a buffer."""

    def __init__(self, buffer: BufferSym, offset: Expr) -> None:
        super().__init__()
        self.buffer, self.offset = buffer, offset

    def at(self, index: Expr) -> Expr:
        one = cast(index.type.element_of(), self.offset)
        lanes = index.type.count
        return add(index, one if lanes == 1 else broadcast(one, lanes))

    def on_load(self, n: Load) -> Expr:
        made: Load = n.map(self.go)
        if n.buffer is not self.buffer:
            return made
        return Load(made.type, made.buffer, self.at(made.index), made.predicate)

    def on_store(self, n: Store) -> Stmt:
        made: Store = n.map(self.go)
        if n.buffer is not self.buffer:
            return made
        return Store(made.buffer, made.value, self.at(made.index), made.predicate)


__all__ = ["shape_kernels"]
