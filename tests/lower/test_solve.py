"""Solutions of conditions hold inside their bounds, and exact bounds are exact."""

from __future__ import annotations

import random

import pytest

from parhelion.ir.build import add, clamp, int32, likely, maximum, minimum, mul, sub
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    And,
    Div,
    Expr,
    Load,
    Mod,
    Not,
    Or,
    Select,
    Var,
)
from parhelion.ir.rewrite import substitute
from parhelion.ir.stmt import NOP, For, ForKind
from parhelion.ir.symbols import BufferSym
from parhelion.lower import solve as solve_module
from parhelion.lower.solve import EVERYWHERE, Solution, Solver
from parhelion.types import INT32
from tests.lower.random_loops import internal

V, W, N = Var("v", INT32), Var("w", INT32), Var("n", INT32)
LOOP = For(V, int32(0), int32(12), ForKind.SERIAL, NOP)


def solver() -> Solver:
    made = Solver(LOOP)
    # An inner loop whose start moves with the outer one: w in [v, v + 2].
    made.enter(For(W, V, int32(3), ForKind.SERIAL, NOP))
    return made


def terms(rng: random.Random, depth: int = 2) -> Expr:
    roll = rng.random()
    if depth == 0 or roll < 0.3:
        leaf = rng.choice([V, V, W, N])
        return add(
            mul(leaf, int32(rng.choice([-3, -1, 1, 1, 2]))), int32(rng.randint(-9, 9))
        )
    a, b = terms(rng, depth - 1), terms(rng, depth - 1)
    if roll < 0.45:
        return Div(a, int32(rng.choice([2, 3, 5])))
    if roll < 0.5:
        return Mod(a, int32(rng.choice([2, 7])))
    if roll < 0.55:
        return Select(LT(V, N), a, b)
    return rng.choice([add, sub, minimum, maximum])(a, b)


def condition(rng: random.Random, depth: int = 2) -> Expr:
    roll = rng.random()
    if depth == 0 or roll < 0.6:
        return rng.choice([LT, LE, LT, LE, EQ, NE])(terms(rng), terms(rng))
    if roll < 0.7:
        return Not(condition(rng, depth - 1))
    kind = And if roll < 0.9 else Or
    return kind(condition(rng, depth - 1), condition(rng, depth - 1))


def check(cond: Expr, want: bool, found: Solution) -> None:
    for n in (-7, -1, 0, 3, 8, 20):
        holds = [
            [evaluate(cond, {V: v, W: w, N: n}) is want for w in ((v, v + 1, v + 2))]
            for v in range(12)
        ]
        lows = [int(evaluate(b.at, {N: n})) for b in found.lows]
        highs = [int(evaluate(b.at, {N: n})) for b in found.highs]
        guarded = all(evaluate(g, {N: n}) for g in found.guards)
        for v in range(12):
            if guarded and all(b <= v for b in lows) and all(v <= b for b in highs):
                assert all(holds[v]), (v, n)
            for bound, at in zip(found.lows, lows, strict=True):
                assert not (bound.exact and v < at and any(holds[v])), (v, n)
            for bound, at in zip(found.highs, highs, strict=True):
                assert not (bound.exact and v > at and any(holds[v])), (v, n)


@pytest.mark.parametrize("block", range(20))
def test_random_conditions(block: int) -> None:
    solved = 0
    for seed in range(40):
        rng = random.Random(block * 1000 + seed)
        cond, want = condition(rng), rng.random() < 0.8
        found = solver().solve(cond, want)
        if found is not None:
            solved += found.bounded
            check(cond, want, found)
    assert solved >= 10


def bound(cond: Expr, want: bool = True) -> Solution:
    found = solver().solve(cond, want)
    assert found is not None
    return found


def test_linear_conditions_are_exact() -> None:
    (low,) = bound(LE(N, V)).lows
    assert low.at is N and low.exact
    (high,) = bound(LT(mul(V, int32(4)), N)).highs
    assert high.exact
    for n in range(-9, 30):
        assert evaluate(high.at, {N: n}) == (n - 1) // 4


def test_a_division_is_inverted() -> None:
    (high,) = bound(LE(Div(V, int32(3)), N)).highs
    (low,) = bound(LE(N, Div(V, int32(3)))).lows
    assert high.exact and low.exact
    for n in range(-5, 6):
        assert evaluate(high.at, {N: n}) == 3 * n + 2
        assert evaluate(low.at, {N: n}) == 3 * n


def test_an_inner_loop_takes_its_worst_end() -> None:
    (high,) = bound(LE(W, N)).highs
    assert not high.exact
    assert evaluate(high.at, {N: 10}) == 8
    (low,) = bound(LE(N, W)).lows
    assert evaluate(low.at, {N: 10}) == 10


def test_unequal_to_an_end_of_the_loop() -> None:
    (low,) = bound(NE(V, int32(0))).lows
    assert low.at is int32(1)
    (high,) = bound(EQ(V, int32(11)), False).highs
    assert high.at is int32(10)
    assert solver().solve(NE(V, int32(5))) is None


def test_what_is_not_known_is_not_claimed() -> None:
    f = internal("f")
    assert solver().solve(LT(Load(INT32, f, V, None), N)) is None
    assert solver().solve(LT(mul(V, V), N)) is None
    assert bound(LE(likely(V), add(V, int32(1)))) == EVERYWHERE


def test_a_condition_without_the_variable_is_a_guard() -> None:
    found = bound(LT(int32(3), N))
    assert not found.bounded and len(found.guards) == 1


def test_clamped_bounds_of_an_inner_loop() -> None:
    made = Solver(LOOP)
    start = clamp(mul(V, int32(4)), int32(0), sub(N, int32(4)))
    made.enter(For(W, start, int32(4), ForKind.SERIAL, NOP))
    found = made.solve(LT(W, sub(N, int32(2))))
    assert found is not None
    for n in (8, 11, 40):
        highs = [int(evaluate(b.at, {N: n})) for b in found.highs]
        for v in range(12):
            if all(v <= h for h in highs) and all(
                evaluate(g, {N: n}) for g in found.guards
            ):
                first = int(evaluate(start, {V: v, N: n}))
                assert first + 3 < n - 2


def test_lets_are_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many conditions mention them, and not for what has no solution anyway."""
    made, calls = Solver(LOOP), [0]

    def counted(e: Expr, env: dict[Var, Expr]) -> Expr:
        calls[0] += 1
        return substitute(e, env)

    monkeypatch.setattr(solve_module, "substitute", counted)
    image = BufferSym("image", INT32, 1, "input")
    x, y, z = [Var(name, INT32) for name in "xyz"]
    made.let(x, add(V, int32(3)))
    made.let(y, add(x, N))
    made.let(z, add(y, Load(INT32, image, V, None)))
    assert calls == [0]
    assert made.told(z) == {V, N}
    for k in range(9):
        assert made.solve(LE(minimum(z, int32(k)), N)) is None
    assert calls == [0]
    for k in range(9):
        assert made.solve(LE(y, int32(k))) is not None
    # Two lets, and a condition each time.
    assert calls == [2 + 9]


def test_a_let_that_is_bound_anew() -> None:
    """What was said with the value before stays said."""
    made = Solver(LOOP)
    image = BufferSym("image", INT32, 1, "input")
    x, y = Var("x", INT32), Var("y", INT32)
    made.let(x, add(V, int32(3)))
    made.let(y, add(x, int32(1)))
    made.let(x, Load(INT32, image, V, None))
    assert made.solve(LE(x, int32(5))) is None
    found = made.solve(LE(y, int32(5)))
    assert found is not None and [b.at for b in found.highs] == [int32(1)]
    made.let(y, x)
    made.let(x, int32(0))
    assert made.solve(LE(y, int32(5))) is None
