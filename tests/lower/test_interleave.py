"""Vectors of ``x/2`` and ``x % 2`` taken apart compute the same, from dense loads."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.build import add, int32, mul
from parhelion.ir.expr import (
    EQ,
    LT,
    Add,
    Broadcast,
    Div,
    Expr,
    Load,
    Min,
    Mod,
    Mul,
    Ramp,
    Select,
    Shuffle,
    Sub,
    Var,
)
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Stmt, Store
from parhelion.lower.interleave import interleave_phases
from parhelion.lower.passes import lower
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32
from tests.lower.execute import execute
from tests.lower.random_loops import internal
from tests.support.spec import spec_of

F, G, H = internal("f"), internal("g"), internal("h")
X = Var("x", INT32)
SIZE = 80


def wide(value: int, lanes: int) -> Expr:
    return Broadcast(int32(value), lanes)


def load(buffer: Any, index: Expr) -> Expr:
    return Load(INT32.with_lanes(index.type.count), buffer, index, None)


def loads(s: Stmt) -> list[Load]:
    return [n for n in nodes(s) if isinstance(n, Load)]


def store(value: Expr) -> Store:
    return Store(F, value, Ramp(int32(0), int32(1), value.type.count), None)


def test_every_second_lane_is_a_dense_load() -> None:
    x = Ramp(mul(X, int32(2)), int32(1), 8)
    half, even = Div(x, wide(2, 8)), EQ(Mod(x, wide(2, 8)), wide(0, 8))
    made = simplify(
        interleave_phases(store(Select(even, load(G, half), load(H, half))))
    )
    dense = Ramp(X, int32(1), 4)
    wanted = Shuffle((load(G, dense), load(H, dense)), (0, 4, 1, 5, 2, 6, 3, 7))
    assert made is store(wanted)


def test_a_base_of_unknown_parity_leaves_scalar_choices() -> None:
    x = Ramp(X, int32(1), 8)
    made = simplify(interleave_phases(store(load(G, Div(x, wide(2, 8))))))
    starts = {n.index for n in loads(made)}
    assert starts == {
        simplify(Ramp(Div(add(X, int32(i)), int32(2)), int32(1), 4)) for i in (0, 1)
    }


def test_a_dense_load_beside_it_stays_whole() -> None:
    x = Ramp(X, int32(1), 8)
    s = store(Add(load(G, x), load(H, Div(x, wide(2, 8)))))
    made = interleave_phases(s)
    assert isinstance(made, Store) and isinstance(made.value, Add)
    assert made.value.a is load(G, x) and isinstance(made.value.b, Shuffle)


def test_a_look_up_takes_an_index_that_is_interleaved() -> None:
    x = Ramp(mul(X, int32(2)), int32(1), 8)
    half, even = Div(x, wide(2, 8)), EQ(Mod(x, wide(2, 8)), wide(0, 8))
    index = Select(even, load(G, half), load(H, half))
    made = simplify(interleave_phases(store(load(F, index))))
    dense = Ramp(X, int32(1), 4)
    turned = Shuffle((load(G, dense), load(H, dense)), (0, 4, 1, 5, 2, 6, 3, 7))
    assert made is store(load(F, turned))


@pytest.mark.parametrize(
    "value",
    [
        load(G, Mul(Ramp(X, int32(1), 8), wide(2, 8))),  # nothing repeats
        load(G, Div(Ramp(X, int32(2), 8), wide(2, 8))),  # steps evenly
        load(G, Div(Ramp(X, int32(1), 8), wide(9, 8))),  # more phases than lanes
        load(G, Div(Ramp(X, int32(1), 4), wide(2, 4))),  # phases of half a register
        Mod(Ramp(X, int32(1), 8), wide(2, 8)),  # arithmetic, and not constant
    ],
)
def test_left_as_it_is(value: Expr) -> None:
    assert interleave_phases(store(value)) is store(value)


def random_value(rng: random.Random, lanes: int, depth: int) -> Expr:
    """Arithmetic over loads at indices that repeat, and over loads of neighbours."""
    x = Ramp(add(X, int32(rng.randrange(4))), int32(rng.choice((1, 1, 2, 3))), lanes)
    by = wide(rng.choice((2, 2, 3, 4)), lanes)
    if depth == 0:
        slow = rng.choice((Div, Mod))(x, by)
        index = rng.choice((slow, slow, x, Min(slow, wide(9, lanes))))
        return rng.choice((load(rng.choice((G, H)), index), slow, wide(3, lanes)))
    a, b = (random_value(rng, lanes, depth - 1) for _ in "ab")
    if rng.random() < 0.3:
        return Select(LT(Mod(x, by), wide(1, lanes)), a, b)
    return rng.choice((Add, Sub, Min))(a, b)


@pytest.mark.parametrize("seed", range(150))
def test_computes_the_same(seed: int) -> None:
    rng = random.Random(seed)
    lanes = rng.choice((6, 8, 12, 16))
    s = store(random_value(rng, lanes, rng.randrange(1, 4)))
    made = simplify(interleave_phases(s))
    memory = {F: [0] * lanes, G: list(range(SIZE)), H: [i * i for i in range(SIZE)]}
    for at in range(3):
        wanted = execute(s, memory, {X: at}).memory[F]
        assert execute(made, memory, {X: at}).memory[F] == wanted


def test_upsampling_has_no_gathers() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image = np.random.default_rng(1).uniform(size=(20, 40)).astype(np.float32)
    source = hl.Buffer(image)
    small, up = hl.Func("small"), hl.Func("up")
    small[x, y] = source[x, y] * 2
    weight = (x % 2 * 2 + 1) / hl.f32(4)
    up[x, y] = hl.lerp(small[(x + 1) / 2, y], small[x / 2, y], weight)
    small.compute_root()
    up.bound(x, 0, 64).vectorize(x, 16)
    body = lower(spec_of(up), name="up").body
    vectors = [n for n in loads(body) if n.type.count > 1]
    assert vectors and all(type(n.index) is Ramp for n in vectors)

    got = np.asarray(up.realize([64, 16]))
    at = np.arange(64)
    w = ((at % 2 * 2 + 1) / 4).astype(np.float32)
    doubled = 2 * image[:16]
    wanted = doubled[:, (at + 1) // 2] * (1 - w) + doubled[:, at // 2] * w
    assert np.allclose(got, wanted, atol=1e-6)
