"""Unrolled loops are their iterations in order, each with facts of its own."""

from __future__ import annotations

import random
from typing import Any

import pytest

from parhelion.analysis.interval import constant_interval
from parhelion.errors import ScheduleError
from parhelion.ir.build import add, block, int32, minimum, mul
from parhelion.ir.expr import Var
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import NOP, For, ForKind, If, LetStmt, Stmt, Store
from parhelion.lower.unroll import unroll_loops
from parhelion.types import INT32
from tests.lower.execute import execute
from tests.lower.random_loops import Draw, inputs, internal, output_index
from tests.lower.test_vectorize import random_body

UNROLL, SERIAL = ForKind.UNROLLED, ForKind.SERIAL


def loops(s: Stmt) -> list[For]:
    return [n for n in nodes(s) if isinstance(n, For)]


def test_iterations_in_order() -> None:
    f, x = internal("f"), Var("x", INT32)
    s = For(x, int32(2), int32(3), UNROLL, Store(f, add(x, x), x, None))
    stores = [Store(f, int32(2 * i), int32(i), None) for i in (2, 3, 4)]
    assert unroll_loops(s) is block(*stores)


def test_each_copy_of_a_let_knows_its_own_value() -> None:
    f, x = internal("f"), Var("x", INT32, lo=int32(0), hi=int32(3))
    t = Var("t", INT32, value=mul(x, int32(10)))
    body = block(LetStmt(t, mul(x, int32(10))), Store(f, t, x, None))
    made = unroll_loops(For(x, int32(0), int32(4), UNROLL, body))
    lets = [n for n in nodes(made) if isinstance(n, LetStmt)]
    assert len({let.var for let in lets}) == 4
    for let in lets:
        known = constant_interval(let.var)
        assert known.lo == known.hi
    assert execute(made, {f: [None] * 4}).memory[f] == [0, 10, 20, 30]


def test_nested_and_inner_loops() -> None:
    f, x, y = internal("f"), Var("x", INT32), Var("y", INT32)
    k = Var("k", INT32, lo=int32(0), hi=y)
    at = add(x, mul(y, int32(4)))
    inner = For(k, int32(0), add(y, int32(1)), SERIAL, Store(f, k, at, None))
    s = For(y, int32(0), int32(3), UNROLL, For(x, int32(0), int32(4), UNROLL, inner))
    made = unroll_loops(s)
    assert len(loops(made)) == 12
    assert len({one.var for one in loops(made)}) == 12
    plain = For(
        y, int32(0), int32(3), SERIAL, For(x, int32(0), int32(4), SERIAL, inner)
    )
    memory = {f: [None] * 12}
    assert execute(made, memory).memory == execute(plain, memory).memory


def test_a_bounded_extent_is_unrolled_behind_guards() -> None:
    f, x, n = internal("f"), Var("x", INT32), Var("n", INT32)
    s = For(x, int32(0), minimum(n, int32(4)), UNROLL, Store(f, x, x, None))
    made = unroll_loops(s)
    assert len([e for e in nodes(made) if isinstance(e, If)]) == 4
    for count in (-1, 0, 2, 4, 9):
        got = execute(made, {f: [9] * 5}, {n: count}).memory[f]
        assert got == [i if i < min(count, 4) else 9 for i in range(5)]


def test_an_unbounded_extent_is_refused() -> None:
    x, n = Var("f.s0.x", INT32), Var("n", INT32)
    s = For(x, int32(0), n, UNROLL, Store(internal("f"), x, x, None))
    with pytest.raises(ScheduleError, match=r"loop over f\.s0\.x is unrolled"):
        unroll_loops(s)


def test_no_iterations() -> None:
    x = Var("x", INT32)
    s = For(x, int32(0), int32(0), UNROLL, Store(internal("f"), x, x, None))
    assert unroll_loops(s) is NOP


@pytest.mark.parametrize("seed", range(30))
def test_random_bodies(seed: int) -> None:
    rng = random.Random(seed)
    memory: dict[Any, list[Any]] = dict(inputs())
    draw = Draw(rng, inputs=list(memory))
    x, y = draw.loop_var("x", -1, 4), draw.loop_var("y", 2, 3)
    out = internal("out")
    at = output_index([(x, -1, 1), (y, 2, 4)])
    body = block(Store(out, int32(0), at, None), random_body(draw, out, at))
    memory[out] = [None] * 12
    kinds = [rng.choice([UNROLL, SERIAL]), UNROLL]
    rng.shuffle(kinds)

    def nest(outer: ForKind, inner: ForKind) -> Stmt:
        return For(
            y, int32(2), int32(3), outer, For(x, int32(-1), int32(4), inner, body)
        )

    want = execute(nest(SERIAL, SERIAL), memory).memory[out]
    made = unroll_loops(nest(*kinds))
    assert not [one for one in loops(made) if one.kind is UNROLL]
    assert execute(made, memory).memory[out] == want
