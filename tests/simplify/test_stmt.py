"""Simplification of statements: tables, and random programs run before and after."""

from __future__ import annotations

import random

import pytest

from parhelion.analysis.facts import Facts
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.build import block, int32, likely
from parhelion.ir.expr import Expr, Intrinsic, Load, Var
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import (
    NOP,
    Allocate,
    Assert,
    Block,
    Evaluate,
    For,
    ForKind,
    If,
    LetStmt,
    MemoryKind,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.simplify.driver import forget
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32
from tests.lower.execute import AssertFailed, Machine, execute

SERIAL = ForKind.SERIAL
out = BufferSym("out", INT32, 1, "output")
data = BufferSym("data", INT32, 1, "input")
n = Var("n", INT32)
a, b = Var("a", INT32), Var("b", INT32)


def store(value: Expr, at: Expr | int = 0) -> Store:
    return Store(out, value, at if isinstance(at, Expr) else int32(at), None)


def loop(var: Var, low: Expr | int, extent: Expr | int, body: Stmt) -> For:
    ends = [e if isinstance(e, Expr) else int32(e) for e in (low, extent)]
    return For(var, ends[0], ends[1], SERIAL, body)


def let(name: str, value: Expr) -> LetStmt:
    return LetStmt(Var(name, value.type, value=value), value)


def test_trivial_lets_go() -> None:
    one = let("one", int32(1))
    same = let("same", a)
    near = let("near", E.Add(a, int32(3)))
    s = block(one, same, near, store(E.Add(one.var, near.var), same.var))
    assert simplify(s) is store(E.Add(a, int32(4)), a)


def test_dead_lets_go() -> None:
    s = block(let("dead", E.Mul(a, b)), store(a))
    assert simplify(s) is store(a)


def test_a_let_used_once_is_inlined() -> None:
    t = let("t", E.Mul(a, b))
    s = block(t, store(t.var))
    assert simplify(s) is store(E.Mul(a, b))


def test_a_let_used_twice_stays() -> None:
    t = let("t", E.Mul(a, b))
    s = block(t, store(t.var, 0), store(t.var, 1))
    assert simplify(s) is s


@pytest.mark.parametrize("first", [E.Mul(a, b), E.Add(a, int32(3)), a])
def test_a_let_of_coordinates_names_the_first_of_them(first: Expr) -> None:
    t = let("t", E.Ramp(first, int32(2), 4))
    two = E.Broadcast(int32(2), 4)
    s = block(
        t,
        Store(out, E.Broadcast(a, 4), t.var, None),
        Store(out, E.Broadcast(b, 4), E.Add(t.var, two), None),
    )
    made = simplify(s)
    indices = [one.index for one in nodes(made) if isinstance(one, Store)]
    assert [type(index) for index in indices] == [E.Ramp, E.Ramp]
    lets = [one.value for one in nodes(made) if isinstance(one, LetStmt)]
    assert lets == ([first] if type(first) is E.Mul else [])


def test_a_let_is_not_put_into_a_loop() -> None:
    t = let("t", E.Mul(a, b))
    i = Var("i", INT32, lo=int32(0), hi=int32(9))
    s = block(t, loop(i, 0, 10, store(E.Add(i, t.var), i)))
    assert simplify(s) is s


def test_a_let_that_reads_memory_stays_where_it_is() -> None:
    t = let("t", Load(INT32, out, int32(0), None))
    s = block(t, store(a, 0), store(t.var, 1))
    assert simplify(s) is s


def test_a_let_that_reads_memory_goes_if_dead() -> None:
    t = let("t", Load(INT32, out, int32(0), None))
    assert simplify(block(t, store(a))) is store(a)


def test_lets_that_stay_speak_of_what_is_in_scope() -> None:
    t = let("t", E.Add(E.Mul(a, int32(2)), int32(1)))
    u = let("u", E.Mul(t.var, b))
    s = block(t, u, store(u.var, 0), store(u.var, 1))
    made = simplify(s)
    assert isinstance(made, Block)
    kept = made.items[0]
    assert isinstance(kept, LetStmt) and kept.var.value is kept.value
    assert free_vars(kept.value) == {a, b}


def test_empty_loops_go() -> None:
    i = Var("i", INT32)
    assert simplify(loop(i, 0, 0, store(i))) is NOP
    assert simplify(loop(i, 0, E.Min(n, int32(-1)), store(i))) is NOP
    assert simplify(loop(i, 0, n, NOP)) is NOP


def test_a_loop_of_one_iteration_is_its_body() -> None:
    i = Var("i", INT32)
    assert simplify(loop(i, 3, 1, store(i))) is store(int32(3))
    made = simplify(loop(i, E.Mul(a, b), 1, store(E.Mul(i, i))))
    assert isinstance(made, Block) and isinstance(made.items[0], LetStmt)


def test_loop_bounds_are_facts() -> None:
    i = Var("i", INT32)
    s = loop(i, 0, n, store(E.Max(E.Min(i, E.Sub(n, int32(1))), int32(0)), 0))
    made = simplify(s)
    assert isinstance(made, For)
    assert made.var.lo is int32(0)
    assert made.body is store(made.var)


def test_known_conditions_choose() -> None:
    i = Var("i", INT32, lo=int32(0), hi=int32(7))
    inside = If(E.LT(i, int32(8)), store(a), store(b))
    assert simplify(loop(i, 0, 8, inside)) is loop(i, 0, 8, store(a))
    assert simplify(If(B.FALSE, store(a), None)) is NOP
    assert simplify(If(E.LT(a, b), NOP, None)) is NOP
    assert simplify(If(E.LT(a, b), store(a), store(a))) is store(a)
    turned = simplify(If(E.LT(a, b), NOP, store(a)))
    assert turned is If(E.LE(b, a), store(a), None)


def test_conditions_hold_inside() -> None:
    s = If(E.LT(a, b), store(E.Min(a, b)), store(E.Min(a, b)))
    assert simplify(s) is If(E.LT(a, b), store(a), store(b))


def test_what_memory_held_does_not_hold_after_a_store() -> None:
    small = E.LT(Load(INT32, out, int32(0), None), int32(5))
    s = If(small, block(store(int32(9)), If(small, store(a, 1), store(b, 1))), None)
    assert simplify(s) is s


def test_marks_survive() -> None:
    s = If(likely(E.LT(a, b)), store(E.Min(n, likely(a))), None)
    assert simplify(s) is s


def test_asserts_hold_afterwards() -> None:
    check = Assert(E.LE(int32(4), n), "require", ())
    s = block(check, If(E.LE(n, int32(2)), store(a), store(b)))
    assert simplify(s) is block(check, store(b))
    assert simplify(Assert(B.TRUE, "require", ())) is NOP
    failing = Assert(B.FALSE, "require", ())
    assert simplify(failing) is failing


def test_effects_stay() -> None:
    shout = Intrinsic(INT32, "print", (E.Add(a, int32(0)),))
    made = simplify(Evaluate(shout))
    assert made is Evaluate(Intrinsic(INT32, "print", (a,)))
    assert simplify(Evaluate(E.Add(a, b))) is NOP
    doubled = E.Sub(shout, shout)
    assert any(
        type(x) is Intrinsic and x.op == "print" for x in nodes(simplify(doubled))
    )


def test_stores() -> None:
    wide = E.Broadcast(B.TRUE, 4)
    at = E.Ramp(a, int32(1), 4)
    s = Store(out, E.Broadcast(b, 4), at, wide)
    assert simplify(s) is Store(out, E.Broadcast(b, 4), at, None)
    assert simplify(Store(out, a, b, B.FALSE)) is NOP
    assert simplify(store(Intrinsic(INT32, "undef", ()))) is NOP


def test_unused_allocations_go() -> None:
    scratch = BufferSym("scratch", INT32, 1, "internal")
    room = Allocate(scratch, (n,), B.TRUE, MemoryKind.AUTO, 0)
    assert simplify(block(room, store(a))) is store(a)
    used = block(room, Store(scratch, a, int32(0), None))
    assert simplify(used) is used


def test_given_facts() -> None:
    s = If(E.LT(a, b), store(a), None)
    assert simplify(s, Facts.EMPTY.assume(E.LT(a, b))) is store(a)


SIZE = 24


class Programs:
    """Random programs over two buffers of SIZE elements and the Vars a, b, n."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def expr(self, scope: list[Var], depth: int) -> Expr:
        roll = self.rng.random()
        if depth <= 0 or roll < 0.15:
            if self.rng.random() < 0.3:
                return int32(self.rng.choice([-8, -3, -1, 0, 1, 2, 4, 7, 8, 16]))
            return self.rng.choice(scope)
        if roll < 0.25:
            buffer = self.rng.choice([out, data])
            return Load(INT32, buffer, self.place(scope, depth - 1), None)
        if roll < 0.35:
            cond = self.cond(scope, depth - 1)
            sides = [self.expr(scope, depth - 1) for _ in range(2)]
            return E.Select(cond, *sides)
        if roll < 0.4:
            return likely(self.expr(scope, depth - 1))
        left = self.expr(scope, depth - 1)
        kind = self.rng.choice((E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.Min, E.Max))
        if kind in (E.Mul, E.Div, E.Mod):
            return kind(left, int32(self.rng.choice([1, 2, 3, 4, 8])))
        return kind(left, self.expr(scope, depth - 1))

    def place(self, scope: list[Var], depth: int) -> Expr:
        at = self.expr(scope, depth)
        return E.Max(E.Min(at, int32(SIZE - 1)), int32(0))

    def cond(self, scope: list[Var], depth: int) -> Expr:
        kind = self.rng.choice(E.COMPARISONS)
        made: Expr = kind(self.expr(scope, depth), self.expr(scope, depth))
        if self.rng.random() < 0.2:
            other = self.rng.choice((E.And, E.Or))
            made = other(made, self.cond(scope, depth - 1))
        return likely(made) if self.rng.random() < 0.2 else made

    def body(self, scope: list[Var], depth: int) -> Stmt:
        scope = list(scope)
        items: list[Stmt] = []
        for _ in range(self.rng.randrange(1, 5)):
            roll = self.rng.random()
            if roll < 0.35:
                value = self.expr(scope, 2)
                var = Var(self.name("t"), INT32, value=value)
                items.append(LetStmt(var, value))
                scope.append(var)
            elif roll < 0.7 or depth == 0:
                value = self.expr(scope, 3)
                items.append(Store(out, value, self.place(scope, 2), None))
            elif roll < 0.85:
                items.append(self.loop(scope, depth))
            elif roll < 0.95:
                other = self.body(scope, depth - 1) if self.rng.random() < 0.4 else None
                then = self.body(scope, depth - 1)
                items.append(If(self.cond(scope, 2), then, other))
            else:
                items.append(Assert(self.cond(scope, 2), "require", ()))
        return block(*items)

    def loop(self, scope: list[Var], depth: int) -> Stmt:
        low = self.expr(scope, 1) if self.rng.random() < 0.4 else int32(0)
        if reads(low):
            low = int32(2)
        extent: Expr = int32(self.rng.choice([0, 1, 2, 5]))
        if self.rng.random() < 0.5:
            extent = E.Mod(self.rng.choice(scope), int32(4))
        last = B.sub(B.add(low, extent), int32(1))
        known = self.rng.random() < 0.6
        var = Var(
            self.name("i"),
            INT32,
            lo=low if known else None,
            hi=last if known else None,
        )
        body = self.body([*scope, var], depth - 1)
        return For(var, low, extent, SERIAL, body)


def reads(e: Expr) -> bool:
    return any(type(x) is Load for x in nodes(e))


def _run(s: Stmt, memory: dict[BufferSym, list[int]], env: dict[Var, int]) -> object:
    machine = Machine(memory, env)
    try:
        machine.run(s)
    except AssertFailed:
        return "assert", machine.memory
    return "done", machine.memory


@pytest.mark.parametrize("seed", range(150))
def test_programs_do_the_same(seed: int) -> None:
    g = Programs(seed)
    s = g.body([a, b, n], 3)
    made = simplify(s)
    for _ in range(4):
        memory = {
            buffer: [g.rng.randrange(-50, 50) for _ in range(SIZE)]
            for buffer in (out, data)
        }
        env = {v: g.rng.randrange(-9, 30) for v in (a, b, n)}
        assert _run(s, memory, env) == _run(made, memory, env)
    forget()
    assert simplify(made) is made


def test_execute_sees_a_wrong_result() -> None:
    """The oracle itself: a dropped store is noticed."""
    memory = {out: [0] * SIZE, data: [0] * SIZE}
    assert execute(store(int32(1)), memory).memory[out][0] == 1
