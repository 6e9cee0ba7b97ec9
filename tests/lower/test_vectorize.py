"""Vectorised loops compute what the loops computed, and touch nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest

from parhelion.errors import ScheduleError
from parhelion.ir.build import TRUE, add, block, cast, int32, likely, mul
from parhelion.ir.expr import (
    LT,
    Broadcast,
    Expr,
    Intrinsic,
    Load,
    Ramp,
    Shuffle,
    StringImm,
    Var,
)
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import (
    Allocate,
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
from parhelion.lower.vectorize import vectorize_loops
from parhelion.types import INT32, Float, Handle, UInt
from tests.lower.execute import execute
from tests.lower.random_loops import (
    Draw,
    guarded,
    inputs,
    internal,
    output_index,
    scratch,
    with_let,
)

VEC, SERIAL = ForKind.VECTORIZED, ForKind.SERIAL


def loop(v: Var, low: int, extent: int | Expr, kind: ForKind, body: Stmt) -> Stmt:
    extent = int32(extent) if isinstance(extent, int) else extent
    return For(v, int32(low), extent, kind, body)


def var(name: str, low: int, extent: int) -> Var:
    return Var(name, INT32, lo=int32(low), hi=int32(low + extent - 1))


def loops_in(s: Stmt) -> list[For]:
    return [n for n in nodes(s) if isinstance(n, For)]


def stores_in(s: Stmt) -> list[Store]:
    return [n for n in nodes(s) if isinstance(n, Store)]


def test_a_dense_loop_becomes_dense_vectors() -> None:
    f, g, x = internal("f"), internal("g"), var("x", 3, 8)
    y = Var("y", INT32)
    at = add(x, mul(y, int32(100)))
    s = loop(x, 3, 8, VEC, Store(f, add(Load(INT32, g, at, None), x), at, None))
    made = vectorize_loops(s)
    index = Ramp(add(int32(3), mul(y, int32(100))), int32(1), 8)
    wide = INT32.with_lanes(8)
    value = add(Load(wide, g, index, None), Ramp(int32(3), int32(1), 8))
    assert made is Store(f, value, index, None)


def test_nested_loops_join_into_one_dense_ramp() -> None:
    f, g = internal("f", UInt(8)), internal("g", UInt(8))
    c, x = var("c", 0, 3), var("x", 0, 4)
    at = add(c, mul(x, int32(3)))
    body = Store(f, Load(UInt(8), g, at, None), at, None)
    made = vectorize_loops(loop(x, 0, 4, VEC, loop(c, 0, 3, VEC, body)))
    index = Ramp(int32(0), int32(1), 12)
    assert made is Store(f, Load(UInt(8, 12), g, index, None), index, None)


def test_rows_of_a_tile_are_loaded_and_stored_row_by_row() -> None:
    f, g = internal("f", Float(32)), internal("g", Float(32))
    x, y = var("x", 0, 4), var("y", 0, 2)
    at = add(x, mul(y, int32(10)))
    body = Store(f, Load(Float(32), g, at, None), at, None)
    made = vectorize_loops(loop(y, 0, 2, VEC, loop(x, 0, 4, VEC, body)))
    rows = [Ramp(int32(10 * j), int32(1), 4) for j in range(2)]
    assert [s.index for s in stores_in(made)] == rows
    loads = [n for n in nodes(made) if isinstance(n, Load)]
    assert {n.index for n in loads} == set(rows)


def test_a_strided_and_a_reversed_access() -> None:
    f, g, x = internal("f"), internal("g"), var("x", 0, 4)
    value = Load(INT32, g, mul(x, int32(2)), None)
    back = add(int32(9), mul(x, int32(-1)))
    made = vectorize_loops(loop(x, 0, 4, VEC, Store(f, value, back, None)))
    assert isinstance(made, Store) and isinstance(made.value, Load)
    assert made.index is Ramp(int32(9), int32(-1), 4)
    assert made.value.index is Ramp(int32(0), int32(2), 4)


def test_what_does_not_vary_is_loaded_once() -> None:
    f, g, x = internal("f", Float(32)), internal("g", Float(32)), var("x", 0, 4)
    once, each = Load(Float(32), g, int32(7), None), Load(Float(32), g, x, None)
    made = vectorize_loops(loop(x, 0, 4, VEC, Store(f, add(once, each), x, None)))
    assert isinstance(made, Store)
    wide = Load(Float(32, 4), g, Ramp(int32(0), int32(1), 4), None)
    assert made.value is add(Broadcast(once, 4), wide)


def test_a_likely_guard_is_tested_once_for_all_lanes() -> None:
    f, x, n = internal("f"), var("x", 0, 8), Var("n", INT32)
    s = loop(x, 0, 8, VEC, If(likely(LT(x, n)), Store(f, x, x, None), None))
    made = vectorize_loops(s)
    assert isinstance(made, If)
    fast = made.then
    assert isinstance(fast, Store) and fast.predicate is None
    assert isinstance(made.cond, Intrinsic) and made.cond.type.count == 1
    assert isinstance(made.otherwise, Store) and made.otherwise.predicate is not None
    for count in (-1, 0, 1, 7, 8, 9):
        got = execute(made, {f: [9] * 8}, {n: count}).memory[f]
        assert got == [i if i < count else 9 for i in range(8)]


def test_narrow_masks_run_lane_by_lane() -> None:
    f, x, n = internal("f", UInt(8)), var("x", 0, 8), Var("n", INT32)
    guard = If(likely(LT(x, n)), Store(f, cast(UInt(8), x), x, None), None)
    made = vectorize_loops(loop(x, 0, 8, VEC, guard))
    assert isinstance(made, If)
    assert isinstance(made.then, Store) and made.then.value.type.count == 8
    assert isinstance(made.otherwise, For) and made.otherwise.kind is SERIAL
    wide = vectorize_loops(loop(x, 0, 8, VEC, guard), narrowest_masked=8)
    assert isinstance(wide, If) and isinstance(wide.otherwise, Store)
    for one in (made, wide):
        got = execute(one, {f: [9] * 8}, {n: 5}).memory[f]
        assert got == [0, 1, 2, 3, 4, 9, 9, 9]


def test_a_named_value_of_narrow_masks_runs_lane_by_lane_with_its_uses() -> None:
    """As both values of a Tuple are computed before the first is stored."""
    f, g, x = internal("f", UInt(16)), internal("g", UInt(16)), var("x", 0, 8)
    value = Load(UInt(16), g, x, LT(x, int32(5)))
    v = Var("v", UInt(16), value=value)
    body = block(LetStmt(v, value), Store(f, v, x, None), Store(g, v, x, None))
    s = loop(x, 0, 8, VEC, body)
    before = {f: [9] * 8, g: [5, 4, 3, 2, 1, 7, 7, 7]}
    for narrowest, serial in ((32, 1), (16, 0)):
        made = vectorize_loops(s, narrowest_masked=narrowest)
        assert len(loops_in(made)) == serial
        got = execute(made, before).memory
        assert got[f] == got[g] == [5, 4, 3, 2, 1, 0, 0, 0]


def test_a_guarded_load_does_not_leave_its_buffer() -> None:
    """`where` on data, past the guarded tail: both conditions mask the load."""
    f, g, x = internal("f"), internal("g"), var("x", 0, 8)
    inner = If(LT(int32(0), Load(INT32, g, x, None)), Store(f, x, x, None), None)
    s = loop(x, 0, 8, VEC, If(likely(LT(x, int32(5))), inner, None))
    got = execute(vectorize_loops(s), {f: [9] * 5, g: [1, -1, 1, 0, 1]})
    assert got.memory[f] == [0, 9, 2, 9, 4]


def test_a_shared_load_under_a_mask_waits_for_an_active_lane() -> None:
    f, g, x, n = internal("f"), internal("g"), var("x", 0, 4), Var("n", INT32)
    store = Store(f, Load(INT32, g, n, None), x, None)
    made = vectorize_loops(loop(x, 0, 4, VEC, If(LT(x, n), store, None)))
    assert execute(made, {f: [9] * 4, g: []}, {n: 0}).memory[f] == [9] * 4
    assert execute(made, {f: [9] * 4, g: [1, 2, 3]}, {n: 2}).memory[f] == [3, 3, 9, 9]


def test_a_condition_is_evaluated_before_the_stores_it_guards() -> None:
    f, x = internal("f"), var("x", 0, 4)
    here = Load(INT32, f, x, None)
    s = If(
        LT(here, int32(2)),
        block(
            Store(f, add(here, int32(5)), x, None),
            Store(f, add(here, int32(5)), x, None),
        ),
        Store(f, int32(0), x, None),
    )
    plain = loop(x, 0, 4, SERIAL, s)
    before = [0, 1, 2, 3]
    want = execute(plain, {f: before}).memory[f]
    got = execute(vectorize_loops(loop(x, 0, 4, VEC, s)), {f: before}).memory[f]
    assert got == want == [10, 11, 0, 0]


def test_prints_happen_lane_by_lane_in_order() -> None:
    x, y = var("x", 0, 3), Var("y", INT32)
    t = Var("t", INT32, value=mul(x, y))
    call = Intrinsic(INT32, "print", (x, StringImm(Handle(), "is"), t))
    body = block(LetStmt(t, mul(x, y)), Evaluate(call))
    made = vectorize_loops(loop(x, 0, 3, VEC, body))
    assert execute(made, {}, {y: 7}).printed == [
        (0, "is", 0),
        (1, "is", 7),
        (2, "is", 14),
    ]


def test_an_accumulation_stays_in_order() -> None:
    f, g, x = internal("f"), internal("g"), var("x", 0, 4)
    total = add(Load(INT32, f, int32(0), None), Load(INT32, g, x, None))
    made = vectorize_loops(loop(x, 0, 4, VEC, Store(f, total, int32(0), None)))
    assert execute(made, {f: [1], g: [1, 2, 3, 4]}).memory[f] == [11]


def test_a_value_read_before_a_store_is_the_old_one_in_every_lane() -> None:
    f, x = internal("f"), var("x", 0, 4)
    old = Var("old", INT32, value=Load(INT32, f, x, None))
    call = Intrinsic(INT32, "print", (old,))
    body = block(
        LetStmt(old, Load(INT32, f, x, None)),
        Store(f, int32(0), x, None),
        Evaluate(call),
    )
    made = vectorize_loops(loop(x, 0, 4, VEC, body))
    assert execute(made, {f: [5, 6, 7, 8]}).printed == [(5,), (6,), (7,), (8,)]


def test_loops_of_varying_length_inside() -> None:
    f, x, k = internal("f"), var("x", 0, 4), Var("k", INT32)
    sum_up = Store(f, add(Load(INT32, f, x, None), k), x, None)
    inner = For(k, mul(x, int32(2)), x, SERIAL, sum_up)
    want = execute(loop(x, 0, 4, SERIAL, inner), {f: [0] * 4}).memory[f]
    made = vectorize_loops(loop(x, 0, 4, VEC, inner))
    assert execute(made, {f: [0] * 4}).memory[f] == want
    assert not any(n.kind is VEC for n in loops_in(made))


def test_one_iteration_and_none() -> None:
    f, x = internal("f"), var("x", 5, 1)
    body = Store(f, x, x, None)
    assert vectorize_loops(loop(x, 5, 1, VEC, body)) is Store(
        f, int32(5), int32(5), None
    )
    assert execute(vectorize_loops(loop(x, 5, 0, VEC, body)), {f: []}).memory[f] == []


def test_an_extent_that_is_not_constant_is_refused() -> None:
    f, x, n = internal("f"), Var("f.s0.x", INT32), Var("n", INT32)
    with pytest.raises(ScheduleError, match=r"loop over f\.s0\.x is vectorized"):
        vectorize_loops(loop(x, 0, n, VEC, Store(f, x, x, None)))


def test_index_arithmetic_in_64_bits_stays_a_ramp() -> None:
    from parhelion.ir.build import int64
    from parhelion.types import INT64

    f, x, s = internal("f"), var("x", 0, 8), Var("s", INT64)
    at = add(cast(INT64, add(x, int32(2))), mul(s, int64(3)))
    made = vectorize_loops(loop(x, 0, 8, VEC, Store(f, x, at, None)))
    assert isinstance(made, Store) and isinstance(made.index, Ramp)
    assert made.index.stride is int64(1)


def random_body(draw: Draw, out: Any, at: Expr, depth: int = 2) -> Stmt:
    rng = draw.rng
    roll = rng.random()
    if depth and roll < 0.25:
        return with_let(draw, lambda: random_body(draw, out, at, depth - 1))
    if depth and roll < 0.35:
        return guarded(draw, scratch(draw, at, out))
    if depth and roll < 0.45:
        k = draw.loop_var("k", 0, 3)
        body = random_body(draw, out, at, depth - 1)
        del draw.scope[k]
        return For(k, int32(0), int32(3), SERIAL, body)
    store = Store(out, cast(out.type, draw.value()), at, None)
    reread = cast(INT32, Load(out.type, out, at, None))
    again = Store(out, cast(out.type, add(reread, draw.value(1))), at, None)
    return guarded(draw, block(store, again if rng.random() < 0.5 else None))


@pytest.mark.parametrize("seed", range(120))
def test_random_bodies(seed: int) -> None:
    rng = random.Random(seed)
    memory: dict[Any, list[Any]] = dict(inputs())
    draw = Draw(rng, inputs=list(memory), marks=rng.random() < 0.5)
    y = draw.loop_var("y", 1, rng.choice([2, 3]))
    x = draw.loop_var("x", -2, rng.choice([2, 4, 8]))
    ey, ex = (draw.scope[v][1] - draw.scope[v][0] + 1 for v in (y, x))
    out = internal("out", rng.choice([INT32, UInt(8), UInt(16)]))
    order = [(x, -2, 1), (y, 1, ex)] if rng.random() < 0.7 else [(x, -2, ey), (y, 1, 1)]
    body = block(
        Store(out, cast(out.type, int32(1)), output_index(order), None),
        random_body(draw, out, output_index(order)),
    )
    memory[out] = [None] * (ex * ey)
    plain = loop(y, 1, ey, SERIAL, loop(x, -2, ex, SERIAL, body))
    want = execute(plain, memory).memory[out]
    both = rng.random() < 0.6
    made = vectorize_loops(
        loop(y, 1, ey, VEC if both else SERIAL, loop(x, -2, ex, VEC, body)),
        rng.choice([8, 32]),
    )
    assert not any(n.kind is VEC for n in loops_in(made))
    assert execute(made, memory).memory[out] == want


def test_most_random_bodies_are_really_vectors() -> None:
    """The test above means something only if few bodies fall back to scalars."""
    wide = 0
    for seed in range(60):
        rng = random.Random(1000 + seed)
        draw = Draw(rng, inputs=list(inputs()))
        x = draw.loop_var("x", 0, 8)
        out = internal("out")
        body = random_body(draw, out, x)
        made = vectorize_loops(loop(x, 0, 8, VEC, body))
        wide += any(n.index.type.count == 8 for n in stores_in(made))
    assert wide >= 45


def test_lanes_are_taken_out_of_concatenations() -> None:
    from parhelion.lower.lanes import lane, slice_lanes

    rows = tuple([Ramp(int32(10 * j), int32(1), 4) for j in range(2)])
    both = Shuffle(rows, tuple(range(8)))
    assert lane(both, 5) is int32(11)
    assert slice_lanes(both, 4, 4) is rows[1]


def test_storage_in_both_copies_of_a_guarded_body() -> None:
    """The vector copy has a lane of storage per iteration; the scalar one has not."""
    f, g, n = internal("f", UInt(8)), internal("g", UInt(8)), Var("n", INT32)
    x = var("x", 0, 4)
    own = Load(UInt(8), g, int32(2), None)
    body = Block(
        (
            Allocate(g, (int32(3),), TRUE, MemoryKind.STACK, 0),
            Store(g, cast(UInt(8), x), int32(2), None),
            Store(f, own, x, None),
        )
    )
    made = vectorize_loops(loop(x, 0, 4, VEC, If(likely(LT(x, n)), body, None)))
    for count in (2, 4):
        got = execute(made, {f: [9] * 4}, {n: count}).memory[f]
        assert got == [i if i < count else 9 for i in range(4)]


def test_a_condition_between_two_vectorised_loops() -> None:
    """A mask with a lane per row covers the lanes of each row."""
    f, g, n = internal("f"), internal("g"), Var("n", INT32)
    x, y = var("x", 0, 4), var("y", 0, 3)
    at = add(x, mul(y, int32(4)))
    body = Store(f, Load(INT32, g, at, None), at, None)
    for choice in (
        If(LT(y, n), loop(x, 0, 4, VEC, body), None),
        If(LT(y, n), loop(x, 0, 4, VEC, body), Store(f, n, mul(y, int32(4)), None)),
    ):
        plain = loop(y, 0, 3, SERIAL, choice)
        made = vectorize_loops(loop(y, 0, 3, VEC, choice))
        for rows in range(4):
            memory = {f: [9] * 12, g: list(range(4 * rows))}
            want = execute(plain, memory, {n: rows}).memory
            assert execute(made, memory, {n: rows}).memory == want
