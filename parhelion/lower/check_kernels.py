"""Checks of kernels: how much shared memory they take, and, in simulated ones, races
between threads and elements never written.

The simulator runs the threads of a nest one after the other, which hides what a device
would show. So each SHARED allocation gets a shadow that says of each element, since the
last barrier, which thread has stored to it and which have read it. Before each use an
`Assert` fails if two threads meet there and one of them stores, and before each read if
nobody has stored to the element at all. Updates that are atomic may meet each other and
are not checked. Threads that compute a pure definition may store one value twice: the
last vector of a row is shifted to where the one before it ends.

A mark in the shadow is the number of barriers so far times the most threads of a block,
plus the thread's number, so that marks from before the last barrier are smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from parhelion.ir.build import (
    TRUE,
    add,
    block,
    const_int,
    eq,
    imm,
    int32,
    is_true,
    land,
    lnot,
    lor,
    lt,
    mul,
    sub,
)
from parhelion.ir.device import Device
from parhelion.ir.expr import Expr, Let, Load, Reinterpret, StringImm, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import (
    Allocate,
    Assert,
    Atomic,
    Barrier,
    Block,
    For,
    ForKind,
    If,
    MemoryKind,
    Produce,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.kernel_blocks import rewrite_blocks
from parhelion.lower.kernel_loops import THREADS, leaves, nest_of
from parhelion.lower.lanes import lane
from parhelion.lower.shared import lay_out_shared
from parhelion.lower.unroll import refused
from parhelion.types import INT32, Handle, UInt

#: What the shadow has of each element: who stored last, who read first since the last
#: barrier, and another one who did.
_WRITER, _READER, _OTHER = range(3)
_WORDS = 3
#: The mark of what never happened.
_NEVER = -1

#: Makes the check of one use of an element: of which lane, and where.
_Check = Callable[[int, Expr], list[Stmt]]


def check_kernels(s: Stmt, device: Device | None) -> Stmt:
    """Checks all kernels, which have their normal form and barriers, and adds to those
    that are simulated what they check themselves.

    Raises ScheduleError for a kernel that takes more shared memory than a block has.
    """
    if device is None:
        return s
    return rewrite_blocks(s, lambda kernel, body: _checked(kernel, body, device))


def _checked(kernel: For, body: Stmt, device: Device) -> Stmt:
    """What a block does, with the checks of a simulation."""
    size = lay_out_shared(body).size
    if size > device.shared:
        raise refused(
            kernel,
            f"is over blocks that share {size} bytes of memory at once, and the"
            f" most is {device.shared}",
            "compute less inside of the loops over blocks, or use smaller tiles",
        )
    return _Checks(device.threads, body).kernel(body) if device.simulated else body


class _Checks:
    """Adds checks to one kernel. strides: how far apart the numbers of threads are that
    are neighbours along each dimension, outermost first."""

    def __init__(self, most: int, body: Stmt) -> None:
        self.most = most
        self.barriers = BufferSym("barriers", INT32, 1, "internal")
        self.shadows: dict[BufferSym, BufferSym] = {}
        self.thread: Expr | None = None
        #: The Funcs whose pure definitions the threads compute.
        self.pure: set[Function] = set()
        counts: list[int] = []
        for leaf in leaves(body):
            extents = [const_int(loop.extent) or 1 for loop in nest_of(leaf)[0]]
            counts = [
                max(a, b) for a, b in zip(counts or extents, extents, strict=True)
            ]
        self.strides = [1] * len(counts)
        for d in reversed(range(len(counts) - 1)):
            self.strides[d] = self.strides[d + 1] * counts[d + 1]

    def kernel(self, body: Stmt) -> Stmt:
        made = self.stmt(body)
        items = made.items if isinstance(made, Block) else (made,)
        count = Allocate(self.barriers, (int32(1),), TRUE, MemoryKind.STACK, 0)
        begin = Store(self.barriers, int32(0), int32(0), None)
        return Block((count, begin, *items))

    def stmt(self, s: Stmt) -> Stmt:
        if isinstance(s, Barrier):
            more = add(Load(INT32, self.barriers, int32(0), None), int32(1))
            return block(s, Store(self.barriers, more, int32(0), None))
        if isinstance(s, Block):
            items: list[Stmt] = []
            for item in s.items:
                made = self.stmt(item)
                if isinstance(made, Block) and not isinstance(item, Block):
                    items += made.items
                else:
                    items.append(made)
            return Block(tuple(items))
        if isinstance(s, Allocate):
            return self.allocate(s)
        if isinstance(s, Atomic):
            return s
        if isinstance(s, For) and s.kind in THREADS:
            return self.leaf(s)
        checks = self.reads([c for c in s.children() if isinstance(c, Expr)])
        if isinstance(s, Store):
            checks += self.writes(s)
        inside = s
        if isinstance(s, For | If | Produce):
            inside = s.map(lambda c: c if isinstance(c, Expr) else self.stmt(c))
        return block(*checks, inside)

    def leaf(self, s: For) -> Stmt:
        loops, body = nest_of(s)
        number: Expr = int32(0)
        for loop, stride in zip(loops, self.strides, strict=True):
            number = add(number, mul(sub(loop.var, loop.min), int32(stride)))
        self.thread = number
        ids = [loop.var.loop for loop in loops]
        self.pure = {i.func for i in ids if i is not None and i.stage == 0}
        made = self.stmt(body)
        self.thread, self.pure = None, set()
        for loop in reversed(loops):
            made = For(loop.var, loop.min, loop.extent, loop.kind, made)
        return made

    def allocate(self, s: Allocate) -> Stmt:
        if s.kind is not MemoryKind.SHARED:
            return s
        name = f"{s.buffer.name}.shadow"
        shadow = self.shadows.get(s.buffer)
        if shadow is None:
            shadow = BufferSym(name, INT32, 1, "internal")
            self.shadows[s.buffer] = shadow
        total = _WORDS
        for e in s.extents:
            total *= const_int(e) or 0
        made = Allocate(shadow, (int32(total),), TRUE, MemoryKind.SHARED, 0)
        k = Var("k", INT32, lo=int32(0), hi=int32(total - 1))
        clear = Store(shadow, int32(_NEVER), k, None)
        every = For(k, int32(0), int32(total), ForKind.SERIAL, clear)
        return Block((s, made, every))

    # Uses of elements.

    def reads(self, exprs: Iterable[Expr]) -> list[Stmt]:
        out: list[Stmt] = []
        for e in exprs:
            # What a Let binds has no name outside of it.
            if any([isinstance(n, Let) for n in nodes(e)]):
                continue
            for n in nodes(e):
                if isinstance(n, Load) and n.buffer in self.shadows:
                    out += self.each(n, n.type.count, self.read(n))
        return out

    def writes(self, s: Store) -> list[Stmt]:
        if s.buffer not in self.shadows:
            return []
        return self.each(s, s.value.type.count, self.write(s))

    def each(self, n: Load | Store, lanes: int, check: _Check) -> list[Stmt]:
        """A check of each lane that is used."""
        out: list[Stmt] = []
        for k in range(lanes):
            at = n.index if lanes == 1 else lane(n.index, k)
            made = block(*check(k, at))
            if n.predicate is not None:
                used = n.predicate if lanes == 1 else lane(n.predicate, k)
                if not is_true(used):
                    made = If(used, made, None)
            out.append(made)
        return out

    def word(self, buffer: BufferSym, at: Expr, which: int) -> tuple[BufferSym, Expr]:
        place = add(mul(at, imm(_WORDS, at.type)), imm(which, at.type))
        return self.shadows[buffer], place

    def load(self, buffer: BufferSym, at: Expr, which: int) -> Expr:
        shadow, place = self.word(buffer, at, which)
        return Load(INT32, shadow, place, None)

    def began(self) -> Expr:
        """The least mark since the last barrier."""
        return mul(Load(INT32, self.barriers, int32(0), None), int32(self.most))

    def mark(self) -> Expr:
        """This thread's mark; at block level, that of all threads: no thread has it."""
        number = int32(self.most - 1) if self.thread is None else self.thread
        return add(self.began(), number)

    def other(self, found: Expr) -> Expr:
        """Whether a mark is another thread's, since the last barrier."""
        old = lt(found, self.began())
        if self.thread is None:
            return lnot(old)
        return land(lnot(old), lnot(eq(found, self.mark())))

    def read(self, n: Load) -> _Check:
        return lambda k, at: self.reading(n.buffer, at)

    def reading(self, buffer: BufferSym, at: Expr) -> list[Stmt]:
        writer = self.load(buffer, at, _WRITER)
        first = self.load(buffer, at, _READER)
        shadow, place = self.word(buffer, at, _READER)
        _, other = self.word(buffer, at, _OTHER)
        since = lnot(lt(first, self.began()))
        args = _told(buffer, at)
        return [
            Assert(lnot(eq(writer, int32(_NEVER))), "kernel_unwritten", args),
            Assert(lnot(self.other(writer)), "kernel_race", args),
            If(
                since,
                If(
                    lnot(eq(first, self.mark())),
                    Store(shadow, self.mark(), other, None),
                    None,
                ),
                Store(shadow, self.mark(), place, None),
            ),
        ]

    def is_pure(self, f: Function | None) -> bool:
        """Whether what is stored is of a pure definition. (The loops of `compute_with`
        tell the first stage in them alone.)"""
        return f is not None and (f in self.pure or not f.updates)

    def write(self, s: Store) -> _Check:
        lanes = s.value.type.count
        return lambda k, at: self.writing(
            s.buffer, at, s.value if lanes == 1 else lane(s.value, k)
        )

    def writing(self, buffer: BufferSym, at: Expr, value: Expr) -> list[Stmt]:
        marks = [self.load(buffer, at, which) for which in range(_WORDS)]
        wrote = self.other(marks[_WRITER])
        if self.is_pure(buffer.func):
            found = Load(value.type, buffer, at, None)
            wrote = land(wrote, lnot(_same(found, value)))
        met = lor(lor(wrote, self.other(marks[_READER])), self.other(marks[_OTHER]))
        shadow, place = self.word(buffer, at, _WRITER)
        return [
            Assert(lnot(met), "kernel_race", _told(buffer, at)),
            Store(shadow, self.mark(), place, None),
        ]


def _same(a: Expr, b: Expr) -> Expr:
    """Whether two values have the same bits."""
    if a.type.is_float():
        bits = UInt(a.type.width)
        return eq(Reinterpret(bits, a), Reinterpret(bits, b))
    return eq(a, b)


def _told(buffer: BufferSym, at: Expr) -> tuple[Expr, ...]:
    name = buffer.name if buffer.func is None else buffer.func.label
    return (StringImm(Handle(), name), at)


__all__ = ["check_kernels"]
