"""Heap storage leaves serial loops, not parallel ones, and ends after its last use."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.errors import ScheduleError
from parhelion.ir.build import TRUE, add, int32, lt
from parhelion.ir.expr import Expr, Load, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import (
    Allocate,
    Block,
    For,
    ForKind,
    Free,
    If,
    LetStmt,
    MemoryKind,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.allocate import MOST_ON_STACK, memory_kind, place_allocations
from parhelion.schedule.directives import FuncSchedule
from parhelion.schedule.rules import ScheduleWarning
from parhelion.types import INT32, UInt
from tests.lower.execute import execute
from tests.lower.random_loops import internal
from tests.support.checking import check

BIG = int32(MOST_ON_STACK)


def heap(buffer: BufferSym, size: Expr = BIG) -> Allocate:
    return Allocate(buffer, (size,), TRUE, MemoryKind.HEAP, 0)


def use(buffer: BufferSym, out: BufferSym, at: Expr) -> list[Stmt]:
    value = Load(INT32, buffer, int32(0), None)
    return [Store(buffer, at, int32(0), None), Store(out, value, at, None)]


def depth_of(s: Stmt, buffer: BufferSym) -> list[str]:
    """The names of the loops around an allocation."""
    found: list[list[str]] = []

    def walk(n: Stmt, around: list[str]) -> None:
        if isinstance(n, Allocate) and n.buffer is buffer:
            found.append(around)
        inside = [*around, n.var.name] if isinstance(n, For) else around
        for c in n.children():
            if isinstance(c, Stmt):
                walk(c, inside)

    walk(s, [])
    assert len(found) == 1
    return found[0]


def test_out_of_serial_loops_into_the_parallel_one() -> None:
    g, out = internal("g"), internal("out")
    x, y, z = (Var(n, INT32) for n in "xyz")
    at = add(x, add(y, z))
    s: Stmt = Block((heap(g), *use(g, out, at)))
    s = For(x, int32(0), int32(2), ForKind.SERIAL, s)
    s = For(y, int32(0), int32(2), ForKind.SERIAL, s)
    s = For(z, int32(0), int32(2), ForKind.PARALLEL, s)
    made = place_allocations(s)
    assert depth_of(made, g) == ["z"]
    memory = {out: [None] * 4}
    assert execute(made, memory).memory == execute(s, memory).memory


def test_storage_that_varies_stays() -> None:
    g, out, x = internal("g"), internal("out"), Var("x", INT32)
    body = Block((heap(g, add(x, int32(1))), *use(g, out, x)))
    s = For(x, int32(0), int32(2), ForKind.SERIAL, body)
    assert depth_of(place_allocations(s), g) == ["x"]
    small = Allocate(g, (int32(4),), TRUE, MemoryKind.STACK, 0)
    s = For(x, int32(0), int32(2), ForKind.SERIAL, Block((small, *use(g, out, x))))
    assert depth_of(place_allocations(s), g) == ["x"]


def test_storage_is_freed_after_its_last_use() -> None:
    a, b, out = internal("a"), internal("b"), internal("out")
    s = Block(
        (
            heap(a),
            Store(a, int32(1), int32(0), None),
            heap(b),
            Store(b, Load(INT32, a, int32(0), None), int32(0), None),
            Store(out, Load(INT32, b, int32(0), None), int32(0), None),
        )
    )
    made = place_allocations(s)
    assert isinstance(made, Block)
    freed = [i.buffer for i in made.items if isinstance(i, Free)]
    assert freed == [a]
    assert made.items.index(Free(a)) == 4
    assert execute(made, {out: [0]}).memory[out] == [1]
    assert place_allocations(made) is made


def test_two_loops_with_the_same_storage() -> None:
    """The pieces of a partitioned loop allocate one buffer each in turn."""
    g, out = internal("g"), internal("out")
    x = Var("x", INT32)
    body = Block((heap(g), *use(g, out, x)))
    loops = [For(x, int32(i), int32(1), ForKind.SERIAL, body) for i in range(2)]
    s = Block(tuple(loops))
    made = place_allocations(s)
    assert execute(made, {out: [None] * 2}).memory[out] == [0, 1]
    assert len([n for n in nodes(made) if isinstance(n, Allocate)]) >= 1


@pytest.mark.parametrize("sizes", [(1, 3), (3, 1), (3, 3)], ids=str)
def test_loops_share_what_the_one_with_most_needs(sizes: tuple[int, int]) -> None:
    """The first iteration of a sliding window computes more rows than the others."""
    g, out, x = internal("g"), internal("out"), Var("x", INT32)
    loops = [
        For(
            x,
            int32(i),
            int32(1),
            ForKind.SERIAL,
            Block((heap(g, int32(n << 14)), *use(g, out, x))),
        )
        for i, n in enumerate(sizes)
    ]
    made = place_allocations(Block(tuple(loops)))
    (one,) = [n for n in nodes(made) if isinstance(n, Allocate)]
    assert one.extents == (int32(3 << 14),)
    assert execute(made, {out: [None] * 2}).memory[out] == [0, 1]


def nested(s: Stmt, around: frozenset[BufferSym] = frozenset()) -> bool:
    """Whether a buffer is allocated where it is allocated already."""
    for c in s.children():
        if isinstance(c, Allocate):
            if c.buffer in around:
                return True
            around |= {c.buffer}
        elif isinstance(c, Stmt) and nested(c, around):
            return True
    return False


@pytest.mark.parametrize("first", [True, False])
def test_storage_that_one_loop_keeps_to_itself(first: bool) -> None:
    """Copies of a body allocate one buffer, one of them under a condition: what leaves
    the other's loop must not be around it."""
    g, out, x, y = internal("g"), internal("out"), Var("x", INT32), Var("y", INT32)
    one: Stmt = Block((heap(g), *use(g, out, x)))
    other: Stmt = If(lt(x, int32(5)), one, None)
    loops = [
        For(x, int32(0), int32(2), ForKind.SERIAL, one),
        For(x, int32(2), int32(2), ForKind.SERIAL, other),
    ]
    s: Stmt = Block(tuple(loops if first else reversed(loops)))
    s = For(y, int32(0), int32(2), ForKind.SERIAL, s)
    made = place_allocations(Block((s, *loops)))
    assert not nested(made)
    memory = {out: [None] * 4}
    assert execute(made, memory).memory[out] == [0, 1, 2, 3]


def test_a_block_at_the_end_of_a_loop() -> None:
    """Its storage leaves the loop with it."""
    g, out, x = internal("g"), internal("out"), Var("x", INT32)
    at = Var("at", INT32, value=add(x, int32(1)))
    body = Block((LetStmt(at, at.value), Block((heap(g), *use(g, out, at)))))  # type: ignore[arg-type]
    made = place_allocations(For(x, int32(0), int32(2), ForKind.SERIAL, body))
    assert depth_of(made, g) == []
    assert execute(made, {out: [None] * 3}).memory[out] == [None, 1, 2]


@pytest.mark.parametrize("tail", [hl.TailStrategy.GuardWithIf, hl.TailStrategy.Auto])
def test_copies_of_a_body_with_heap_storage(tail: hl.TailStrategy) -> None:
    """Unrolled, vectorised and partitioned: each copy has storage of its own."""
    x, y = hl.vars("x y")

    def make() -> tuple[hl.Func, hl.Func]:
        f, total, g = hl.Func("f"), hl.Func("total"), hl.Func("g")
        r = hl.RDom([(0, 3)])
        g[x, y] = x * y
        total[x, y] = 0
        total[x, y] += g[x + r.x, y]
        f[x, y] = total[x, y] * 2
        g.compute_root()
        return f, total

    def schedule(f: hl.Func, total: hl.Func) -> None:
        f.unroll(y, 2, tail).vectorize(x, 4, tail)
        total.store_in(hl.MemoryType.Heap)

    check(make, [9, 5], [schedule])


def stored_in(wish: MemoryKind, size: Expr, bits: int = 8) -> MemoryKind:
    f = Function("f", FuncSchedule(memory=wish), None)
    return memory_kind(f, UInt(bits), (size,))


def test_small_storage_is_on_the_stack() -> None:
    size = int32(MOST_ON_STACK)
    assert stored_in(MemoryKind.AUTO, size) is MemoryKind.STACK
    assert stored_in(MemoryKind.AUTO, size, 16) is MemoryKind.HEAP
    assert stored_in(MemoryKind.HEAP, size) is MemoryKind.HEAP
    assert stored_in(MemoryKind.REGISTER, size) is MemoryKind.STACK


def test_storage_that_cannot_be_on_the_stack() -> None:
    n = Var("n", INT32)
    with pytest.warns(ScheduleWarning, match="is not a constant, so that it is on the"):
        assert stored_in(MemoryKind.STACK, n) is MemoryKind.HEAP
    with pytest.warns(ScheduleWarning, match="takes 262145 bytes, and the most is"):
        assert stored_in(MemoryKind.STACK, int32((256 << 10) + 1)) is MemoryKind.HEAP
    with pytest.raises(ScheduleError, match="size of the storage of f is not a const"):
        stored_in(MemoryKind.REGISTER, n)
