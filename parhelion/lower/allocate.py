"""Deciding where allocations live, and for how long.

- Storage of a small constant size goes on the stack, the rest on the heap.
- A heap allocation of constant size moves out of the serial loops around it: one for
  all iterations, as far out as the nearest parallel loop, whose iterations each need
  their own.
- A size that is not constant is checked before it is allocated: it must be countable
  in the index type.
- Heap storage is freed after its last use, so that later stages find it in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.analysis.interval import constant_interval
from parhelion.ir.build import (
    add,
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
from parhelion.ir.expr import Expr, Imm, Load, StringImm
from parhelion.ir.node import Node
from parhelion.ir.rewrite import _N, Rewriter, nodes
from parhelion.ir.stmt import (
    Allocate,
    Assert,
    Block,
    For,
    ForKind,
    Free,
    MemoryKind,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.simplify.driver import can_prove
from parhelion.types import INT64, Handle

#: The most that one allocation takes of the stack, in bytes (Halide's limit).
MOST_ON_STACK = 16 << 10

#: What one thread's stack holds of all allocations that live at once, in bytes.
MOST_ON_STACK_TOGETHER = 256 << 10

_INT32_ELEMENTS = (1 << 31) - 1
_INT64_BYTES = 1 << 47  # what the address space of x86-64 and AArch64 can hold


def place_allocations(s: Stmt, index64: bool = False) -> Stmt:
    """Gives every allocation its place, its check and its end."""
    return _Place(index64).go(s)


def constant_size(a: Allocate) -> int | None:
    """The size in bytes, if it is constant."""
    size = a.buffer.type.bytes()
    total = 1
    for e in a.extents:
        extent = const_int(e)
        if extent is None:
            return None
        total *= extent
    return (total + a.padding) * size


class _Place(Rewriter):
    """`on_stack`: bytes that the allocations around already take."""

    def __init__(self, index64: bool) -> None:
        super().__init__()
        self.index64 = index64
        self.on_stack = 0

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        body = self.go(n.body)
        if n.kind is not ForKind.SERIAL or type(body) is not Block:
            return For(n.var, n.min, n.extent, n.kind, body)
        moved = [a for a in body.items if type(a) is Allocate and _may_leave(a)]
        if not moved:
            return For(n.var, n.min, n.extent, n.kind, body)
        gone = {a.buffer for a in moved}
        rest = [
            i
            for i in body.items
            if not (isinstance(i, (Allocate, Free)) and i.buffer in gone)
        ]
        inside = rest[0] if len(rest) == 1 else Block(tuple(rest))
        return Block((*moved, For(n.var, n.min, n.extent, n.kind, inside)))

    def on_block(self, n: Block) -> Stmt:
        before = self.on_stack
        items: list[Stmt] = []
        for item in n.items:
            made = self.go(item)
            if type(made) is Allocate:
                items += self.placed(made)
            elif type(made) is Block:
                # Allocations that came out of a loop end with this block now; any
                # other block of its own keeps its scope.
                items += made.items if type(item) is For else (made,)
            else:
                items.append(made)
        self.on_stack = before
        return Block(tuple(_freed_early(items)))

    def placed(self, a: Allocate) -> list[Stmt]:
        size = constant_size(a)
        kind = a.kind
        if size is not None and size > MOST_ON_STACK and kind is MemoryKind.AUTO:
            kind = MemoryKind.HEAP
        elif size is None:
            kind = MemoryKind.HEAP
        elif kind is MemoryKind.AUTO:
            fits = self.on_stack + size <= MOST_ON_STACK_TOGETHER
            kind = MemoryKind.STACK if fits else MemoryKind.HEAP
        if kind is MemoryKind.STACK and size is not None:
            self.on_stack += size
        made = Allocate(a.buffer, a.extents, a.condition, kind, a.padding)
        check = _size_check(a, self.index64)
        return [made] if check is None else [check, made]


def _may_leave(a: Allocate) -> bool:
    """Whether one allocation can serve all iterations of a serial loop."""
    size = constant_size(a)
    return size is not None and a.kind is MemoryKind.HEAP and is_true(a.condition)


def _size_check(a: Allocate, index64: bool) -> Stmt | None:
    """An Assert that the size can be counted; None if that is sure."""
    most = 1
    for e in a.extents:
        hi = constant_interval(e).hi
        most = most * int(hi) if hi is not None and most >= 0 else -1
    limit = _INT64_BYTES // a.buffer.type.bytes() if index64 else _INT32_ELEMENTS
    if 0 <= most <= limit - a.padding:
        return None
    cond, total = _countable(a.extents, limit - a.padding)
    if can_prove(cond):
        return None
    name = a.buffer.func.name if a.buffer.func is not None else a.buffer.name
    del total
    return Assert(cond, "allocation_too_large", (StringImm(Handle(), name),))


def _countable(extents: Sequence[Expr], limit: int) -> tuple[Expr, Expr]:
    """Whether the product of the extents is at most `limit`, and the product.

    No step overflows 64 bits unless one before it has failed: each extent is compared
    with what the ones before leave of the limit.
    """
    cond: Expr | None = None
    total: Expr = int64(1)
    for e in extents:
        wide = cast(INT64, e)
        if isinstance(total, Imm):
            fits = le(wide, int64(limit // max(total.value, 1)))
        else:
            fits = le(wide, div(int64(limit), maximum(total, int64(1))))
        cond = fits if cond is None else land(cond, fits)
        total = mul(total, wide)
    assert cond is not None
    return cond, total


def _freed_early(items: Sequence[Stmt]) -> list[Stmt]:
    """The items of a block, with a Free after the last use of each heap allocation
    (none where that is the block's end anyway)."""
    heap = [
        i for i in items if type(i) is Allocate and i.kind is MemoryKind.HEAP
    ]
    if not heap:
        return list(items)
    ended = {i.buffer for i in items if type(i) is Free}
    last: dict[BufferSym, int] = {}
    wanted = {a.buffer for a in heap} - ended
    for at, item in enumerate(items):
        for buffer in wanted & _touched(item):
            last[buffer] = at
    ends: dict[int, list[Stmt]] = {}
    for a in heap:
        at = last.get(a.buffer)
        if at is not None and at < len(items) - 1:
            ends.setdefault(at, []).append(Free(a.buffer))
    out: list[Stmt] = []
    for at, item in enumerate(items):
        out.append(item)
        out += ends.get(at, [])
    return out


def _touched(n: Node) -> set[BufferSym]:
    return {
        e.buffer for e in nodes(n) if isinstance(e, (Load, Store, Free, Allocate))
    }


__all__ = ["MOST_ON_STACK", "add", "constant_size", "place_allocations"]
