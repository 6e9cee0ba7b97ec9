"""How far apart expressions are at most: named cases, and random ones tried out."""

from __future__ import annotations

import itertools
import random

import pytest

from parhelion.analysis.apart import apart
from parhelion.analysis.interval import Interval
from parhelion.ir.build import add, clamp, div, int32, maximum, minimum, mul, sub
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.types import INT32

Y, N = Var("y", INT32), Var("n", INT32)


def inside(e: Expr) -> Expr:
    return clamp(e, int32(0), sub(N, int32(1)))


def test_clamps_bring_values_closer_together() -> None:
    above, below = add(Y, int32(1)), sub(Y, int32(1))
    assert apart(inside(above), inside(below)) == 2
    up, down = [inside(add(inside(e), int32(k))) for e, k in ((above, 2), (below, -2))]
    assert apart(up, down) == 6


def test_rounding_adds_what_is_cut_off() -> None:
    up = add(mul(div(add(Y, int32(5)), int32(2)), int32(2)), int32(1))
    down = mul(div(sub(Y, int32(3)), int32(2)), int32(2))
    assert apart(up, down) == 9
    assert apart(Y, down) == 3 + 1


def test_one_sided_clamps_need_a_range() -> None:
    """Where there is no point at all, they are any distance apart."""
    low = sub(minimum(maximum(Y, int32(1)), N), int32(1))
    high = maximum(minimum(add(Y, int32(1)), sub(N, int32(1))), int32(0))
    assert apart(high, low) is None
    assert apart(high, low, lambda v: Interval(1, None) if v is N else None) == 2


def test_what_is_known_of_nothing_is_nothing() -> None:
    assert apart(Y, N) is None
    assert apart(N, N) == 0


def drawn(rng: random.Random, depth: int) -> Expr:
    if depth == 0:
        return rng.choice([Y, N, int32(rng.randrange(-3, 4)), Y])
    a = drawn(rng, depth - 1)
    k = int32(rng.randrange(1, 4))
    match rng.randrange(7):
        case 0:
            return add(a, k)
        case 1:
            return sub(a, k)
        case 2:
            return mul(a, k)
        case 3:
            return div(a, k)
        case 4:
            return mul(div(a, k), k)
        case 5:
            return minimum(a, drawn(rng, depth - 1))
    return maximum(a, drawn(rng, depth - 1))


@pytest.mark.parametrize("seed", range(8))
def test_no_pair_is_further_apart(seed: int) -> None:
    rng = random.Random(seed)
    known = 0
    for _ in range(150):
        a, b = drawn(rng, 3), drawn(rng, 3)
        most = apart(a, b)
        if most is None:
            continue
        known += 1
        for y, n in itertools.product(range(-9, 10), range(-4, 7)):
            at = {Y: y, N: n}
            assert evaluate(a, at) - evaluate(b, at) <= most, (a, b)
    assert known >= 20
