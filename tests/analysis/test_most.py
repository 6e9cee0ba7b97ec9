"""Constants that sums of index expressions never exceed: never too small, and small."""

from __future__ import annotations

import itertools
import random

import pytest

from parhelion.analysis.most import most_of_sum
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.types import INT32

A, B = Var("a", INT32), Var("b", INT32)
LOOP = Var("loop", INT32, lo=build.int32(0), hi=build.int32(3))


def num(n: int) -> Expr:
    return build.int32(n)


def half(e: Expr) -> Expr:
    return E.Div(e, num(2))


def let(name: str, value: Expr) -> Var:
    return Var(name, INT32, value=value)


def test_quotients_of_the_same_number_cancel() -> None:
    base = let("base", E.Min(A, build.add(B, num(-7))))
    last = E.Max(half(build.add(base, num(7))), build.add(half(base), num(4)))
    extent = E.Max(build.add(build.sub(last, half(base)), num(1)), num(0))
    assert most_of_sum(extent) == 5


def test_quotients_of_quotients() -> None:
    base = let("base", E.Min(A, B))
    once = let("once", half(build.add(half(build.add(base, num(31))), num(1))))
    first = let("first", half(half(base)))
    # (32 + 1 + 3) / 4, rounded down, and the one at the other end.
    assert most_of_sum(build.add(build.sub(once, first), num(1))) == 10


def test_what_is_doubled_again() -> None:
    even = E.Mul(half(A), num(2))
    assert most_of_sum(build.sub(even, A)) == 0
    assert most_of_sum(build.sub(A, even)) == 1


def test_extremes_are_taken_side_by_side() -> None:
    low = E.Min(A, B)
    high = E.Min(build.add(A, num(3)), build.add(B, num(5)))
    assert most_of_sum(build.sub(high, low)) == 5
    assert most_of_sum(build.sub(E.Max(A, B), E.Max(build.add(A, num(1)), B))) == 0


def test_nothing_is_said_of_what_nothing_bounds() -> None:
    assert most_of_sum(build.sub(A, B)) is None
    assert most_of_sum(half(A)) is None


def test_loops_and_remainders_have_bounds() -> None:
    remainder = E.Mod(A, num(8))
    assert most_of_sum(build.add(E.Mul(LOOP, num(2)), remainder)) == 13
    assert most_of_sum(build.sub(LOOP, remainder)) == 3


def drawn(rng: random.Random, depth: int) -> Expr:
    if depth == 0:
        return rng.choice([A, B, LOOP, num(rng.randint(-9, 9))])
    kind = rng.randrange(7)
    a, b = drawn(rng, depth - 1), drawn(rng, depth - 1)
    if kind == 0:
        return E.Div(a, num(rng.choice([2, 3, 4])))
    if kind == 1:
        return E.Mod(a, num(rng.choice([2, 5])))
    if kind == 2:
        return E.Mul(a, num(rng.choice([-2, 2, 3])))
    if kind == 3:
        return E.Min(a, b)
    if kind == 4:
        return E.Max(a, b)
    if kind == 5:
        return let(f"t{rng.randrange(10**6)}", a)
    return E.Add(a, b) if rng.random() < 0.5 else E.Sub(a, b)


def opened(e: Expr) -> Expr:
    from parhelion.lower.extents import opened as with_values

    return with_values(e)


@pytest.mark.parametrize("seed", range(8))
def test_no_value_is_greater(seed: int) -> None:
    rng = random.Random(seed)
    points = [*itertools.product(range(-6, 7), range(-6, 7), range(4))]
    known = 0
    for _ in range(60):
        one, other = drawn(rng, 3), drawn(rng, 3)
        shift = E.Add(one, num(rng.randint(0, 5)))
        e = rng.choice(
            [E.Sub(shift, one), E.Sub(one, other), E.Sub(half(shift), half(one))]
        )
        most = most_of_sum(e)
        if most is None:
            continue
        known += 1
        plain = opened(e)
        values = [evaluate(plain, {A: a, B: b, LOOP: i}) for a, b, i in points]
        assert max(values) <= most, plain
    assert known > 10
