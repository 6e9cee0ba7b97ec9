"""Where storage lives, and for how long.

Storage of a small constant size goes on the stack, the rest on the heap. A size that
is not constant is checked before it is allocated: every element must have an index.
`place_allocations`, near the end of lowering, then fits heap storage to the loops:

- One of constant size moves out of the serial loops around it, as far as the nearest
  parallel loop (whose iterations each need their own): one allocation for all.
- One is freed after its last use, so that later stages find its memory in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.analysis.interval import constant_interval
from parhelion.analysis.rank import reads_data
from parhelion.errors import ScheduleError
from parhelion.ir.build import (
    cast,
    const_int,
    div,
    int64,
    is_true,
    land,
    le,
    maximum,
    mul,
)
from parhelion.ir.device import INDEX_LIMIT
from parhelion.ir.expr import Expr, Imm, Load, StringImm
from parhelion.ir.function import Function
from parhelion.ir.node import Node
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import (
    HEAPS,
    Acquire,
    Allocate,
    Assert,
    Block,
    Demand,
    For,
    ForKind,
    Free,
    MemoryKind,
    Prefetch,
    Release,
    RunExtern,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.options import LowerOptions
from parhelion.schedule.directives import Split
from parhelion.schedule.rules import warn
from parhelion.schedule.tails import KEEP_WRITES
from parhelion.types import INT64, Handle, Type

#: The most that one allocation takes of the stack, in bytes (Halide's limit).
MOST_ON_STACK = 16 << 10

#: The most that `store_in` has the storage of all Funcs together take of the stack of
#: one thread, in bytes: threads have stacks of a few MiB.
MOST_WISHED_ON_STACK = 256 << 10

#: The most that the frame of one function takes, in bytes.
MOST_IN_FRAME = 256 << 10

#: The most that splits may round storage up to, in bytes, as Halide's allocations.
MOST_BY_ROUNDING = (1 << 31) - 1

#: How many elements an int32 index can count.
_INT32_ELEMENTS = (1 << 31) - 1
#: What the address space of x86-64 and AArch64 can hold, in bytes.
_ADDRESSABLE = 1 << 47


def constant_bytes(of: Type, extents: Sequence[Expr], padding: int = 0) -> int | None:
    """The size of storage in bytes, if it is constant."""
    total = 1
    for e in extents:
        extent = const_int(e)
        if extent is None:
            return None
        total *= max(extent, 0)
    return (total + padding) * of.bytes()


def memory_kind(f: Function, of: Type, extents: Sequence[Expr]) -> MemoryKind:
    """Where storage of `f` lives: as the schedule wishes, where it is possible.

    Warns where it is not; raises ScheduleError where registers are wished for.
    """
    wish = f.schedule.memory
    size = constant_bytes(of, extents)
    heap = MemoryKind.SPARSE if f.schedule.on_demand else MemoryKind.HEAP
    if wish is MemoryKind.AUTO:
        small = size is not None and size <= MOST_ON_STACK
        return MemoryKind.STACK if small else heap
    if wish in (MemoryKind.HEAP, MemoryKind.TEXTURE):
        return heap
    if wish is MemoryKind.SHARED:
        return wish
    if size is None:
        why = f"the size of the storage of {f.label} is not a constant"
    elif size > MOST_WISHED_ON_STACK:
        why = f"the storage of {f.label} takes {size} bytes, and the most is"
        why += f" {MOST_WISHED_ON_STACK}"
    else:
        return MemoryKind.STACK
    return refuse_wish(f, why)


def refuse_wish(f: Function, why: str) -> MemoryKind:
    """Where the storage of `f` lives though `store_in` wishes for another place, which
    a warning tells. Raises ScheduleError where registers are wished for."""
    wish, at = f.schedule.memory, f.schedule.memory_site
    where = "Register" if wish is MemoryKind.REGISTER else "Stack"
    directive = f"{f.label}.store_in(MemoryType.{where})"
    if wish is MemoryKind.REGISTER:
        raise ScheduleError(
            f"{directive}: {why}",
            at=at,
            hint=f"{f.label}.bound_storage gives it a constant size",
        )
    warn(f"{directive}: {why}, so that it is on the heap", at)
    return MemoryKind.HEAP


def refuse_rounding(f: Function) -> None:
    """Raises ScheduleError where splits make the storage of `f` huge, however little of
    it is needed: their outer loops run whole factors."""
    if f.pure is None:
        return
    splits: dict[int, Split] = {}
    for t in f.pure.schedule.transforms:
        if isinstance(t, Split) and t.old in f.args and t.tail not in KEEP_WRITES:
            if const_int(t.factor) is not None:
                splits.setdefault(f.args.index(t.old), t)
    least = sum([t.bytes() for t in f.types])
    for t in splits.values():
        least *= const_int(t.factor) or 1
    if least <= MOST_BY_ROUNDING:
        return
    last = [*splits.values()][-1]
    listed = [f"{f.args[d].name} by {const_int(t.factor)}" for d, t in splits.items()]
    raise ScheduleError(
        f"the storage of {f.label} would take {least} bytes, however little of it is"
        f" needed: its loops are split ({', '.join(listed)}) and run whole factors",
        at=last.site,
        hint="a smaller factor; or the tail strategy GuardWithIf, which stores no more"
        " than is needed",
    )


def size_checks(a: Allocate, options: LowerOptions) -> list[Stmt]:
    """Asserts that the elements can be counted; none where that is sure."""
    limit = _INT32_ELEMENTS if options.device is None else INDEX_LIMIT
    if options.index64:
        limit = _ADDRESSABLE // a.buffer.type.bytes()
    limit -= a.padding
    most: int | None = 1
    for e in a.extents:
        hi = constant_interval(e).hi
        most = None if most is None or hi is None else most * max(int(hi), 0)
    if most is not None and most <= limit:
        return []
    name = a.buffer.func.label if a.buffer.func is not None else a.buffer.name
    args = (StringImm(Handle(), name),)
    return [Assert(_countable(a.extents, limit), "allocation_too_large", args)]


def _countable(extents: Sequence[Expr], limit: int) -> Expr:
    """Whether the product of the extents (none negative) is at most `limit`.

    No step overflows 64 bits unless one before it has failed: each extent is compared
    with what the ones before leave of the limit.
    """
    cond: Expr | None = None
    total: Expr = int64(1)
    for e in extents:
        wide = cast(INT64, e)
        if isinstance(total, Imm):
            left: Expr = int64(limit // max(total.value, 1))
        else:
            left = div(int64(limit), maximum(total, int64(1)))
        fits = le(wide, left)
        cond = fits if cond is None else land(cond, fits)
        total = mul(total, wide)
    assert cond is not None, "a size without extents is constant"
    return cond


def place_allocations(s: Stmt) -> Stmt:
    """Moves heap storage of constant size out of serial loops; ends it early."""
    return _Place().go(s)


class _Uses:
    """Which buffers a statement touches or allocates: kept for each statement, since
    the blocks around it ask again."""

    def __init__(self) -> None:
        self._touched: dict[Node, frozenset[BufferSym]] = {}
        self._allocated: dict[Stmt, frozenset[BufferSym]] = {}

    def touched(self, n: Node) -> frozenset[BufferSym]:
        found = self._touched.get(n)
        if found is None:
            found = frozenset()
            if isinstance(n, (Load, Store, Allocate, Prefetch)):
                found = frozenset((n.buffer,))
            elif isinstance(n, RunExtern):
                found = frozenset((*n.inputs, *n.outputs))
            elif isinstance(n, (Acquire, Release)):
                found = frozenset((n.semaphore,))
            elif isinstance(n, Demand):
                assert isinstance(n.table, BufferSym)
                found = frozenset((n.table,))
            for child in n.children():
                if not isinstance(child, Expr) or reads_data(child):
                    found |= self.touched(child)
            self._touched[n] = found
        return found

    def allocated(self, s: Stmt) -> frozenset[BufferSym]:
        found = self._allocated.get(s)
        if found is None:
            found = frozenset((s.buffer,)) if isinstance(s, Allocate) else frozenset()
            for child in s.children():
                if isinstance(child, Stmt):
                    found |= self.allocated(child)
            self._allocated[s] = found
        return found

    def allocated_in(self, items: Sequence[Stmt]) -> set[BufferSym]:
        return {b for s in items for b in self.allocated(s)}


class _Place(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.uses = _Uses()

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        body = self.go(n.body)
        if n.kind is not ForKind.SERIAL or type(body) is not Block:
            return For(n.var, n.min, n.extent, n.kind, body)
        moved = [i for i in body.items if type(i) is Allocate and _may_leave(i)]
        if not moved:
            return For(n.var, n.min, n.extent, n.kind, body)
        gone = {a.buffer for a in moved}
        rest = [
            i
            for i in body.items
            if not (isinstance(i, (Allocate, Free)) and i.buffer in gone)
        ]
        one = len(rest) == 1 and type(rest[0]) is not Allocate
        inside = rest[0] if one else Block(tuple(rest))
        return Block((*moved, For(n.var, n.min, n.extent, n.kind, inside)))

    def on_block(self, n: Block) -> Stmt:
        pieces = _sharing(n.items, [self.go(item) for item in n.items])
        inside = _inner_storage(n.items, pieces, self.uses)
        items: list[Stmt] = []
        for item, made in zip(n.items, pieces, strict=True):
            if type(made) is Block and type(item) is For:
                items += _joined(items, made, inside)
            else:
                items.append(made)
        items = _freed_early(_opened(items, self.uses), self.uses)
        same = len(items) == len(n.items) and all(
            a is b for a, b in zip(items, n.items, strict=True)
        )
        return n if same else Block(tuple(items))


def _opened(items: list[Stmt], uses: _Uses) -> list[Stmt]:
    """The items of a block, without a block at their end: what that one allocates
    lives to the same point, and may go further from here."""
    if not items:
        return items
    *before, last = items
    if type(last) is not Block:
        return items
    own = {i.buffer for i in last.items if type(i) is Allocate}
    return items if own & uses.allocated_in(before) else [*before, *last.items]


def _sharing(items: Sequence[Stmt], pieces: Sequence[Stmt]) -> list[Stmt]:
    """`pieces`, what `items` have become, where loops that allocate the same storage
    all allocate as much as the one that needs most: the first iteration of a sliding
    window computes more rows than the others."""
    most: dict[BufferSym, Allocate] = {}
    came_out = [
        type(piece) is Block and type(item) is For
        for item, piece in zip(items, pieces, strict=True)
    ]
    for out, piece in zip(came_out, pieces, strict=True):
        for a in piece.children() if out else ():
            if type(a) is Allocate:
                known = most.setdefault(a.buffer, a)
                most[a.buffer] = a if _bytes(a) > _bytes(known) else known
    return [
        Block(tuple([_largest(a, most) for a in piece.children()])) if out else piece
        for out, piece in zip(came_out, pieces, strict=True)
    ]


def _largest(s: Stmt, most: Mapping[BufferSym, Allocate]) -> Stmt:
    return most[s.buffer] if type(s) is Allocate else s


def _bytes(a: Allocate) -> int:
    """The size of an allocation that has left a loop."""
    size = constant_bytes(a.buffer.type, a.extents, a.padding)
    assert size is not None
    return size


def _inner_storage(
    items: Sequence[Stmt], pieces: Sequence[Stmt], uses: _Uses
) -> set[BufferSym]:
    """What the pieces that `items` have become allocate further in than they begin."""
    if not any(type(p) is Block for p in pieces):
        return set()
    inner: list[Stmt] = []
    for item, piece in zip(items, pieces, strict=True):
        if type(piece) is Block and type(item) is For:
            inner += [p for p in piece.items if type(p) is not Allocate]
        elif type(piece) is not Allocate:
            inner.append(piece)
    return uses.allocated_in(inner)


def _joined(
    before: Sequence[Stmt], loop: Block, inside: set[BufferSym]
) -> Sequence[Stmt]:
    """What follows `before` in a block: a loop with the storage that came out of it.

    The storage may go further with the block's own. The pieces of a partitioned loop
    share it; where they cannot, because one allocates it `inside`, it keeps a block to
    itself.
    """
    there = {a.buffer: a for a in before if type(a) is Allocate}
    new = [a for a in loop.items if type(a) is Allocate]
    if any(a.buffer in inside or there.get(a.buffer, a) is not a for a in new):
        return (loop,)
    return [i for i in loop.items if type(i) is not Allocate or i.buffer not in there]


def _may_leave(a: Allocate) -> bool:
    """Whether one allocation can serve all iterations of a serial loop."""
    size = constant_bytes(a.buffer.type, a.extents, a.padding)
    return size is not None and a.kind in HEAPS and is_true(a.condition)


def _freed_early(items: list[Stmt], uses: _Uses) -> list[Stmt]:
    """The items of a block, with a Free after the last use of each heap allocation
    (none where that is the block's end anyway)."""
    wanted = {i.buffer for i in items if type(i) is Allocate and i.kind in HEAPS}
    wanted -= {i.buffer for i in items if type(i) is Free}
    if not wanted:
        return items
    last: dict[BufferSym, int] = {}
    for at, item in enumerate(items):
        for buffer in wanted & uses.touched(item):
            last[buffer] = at
    out: list[Stmt] = []
    for at, item in enumerate(items):
        out.append(item)
        if at < len(items) - 1:
            # The last one allocated is freed first.
            ends = [b for b, end in last.items() if end == at]
            out += [Free(b) for b in reversed(ends)]
    return out
