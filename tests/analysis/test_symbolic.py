"""The order of symbolic bounds: clamped coordinates have one, and it is never wrong."""

from __future__ import annotations

import random

import pytest

import parhelion as hl
from parhelion.analysis import box
from parhelion.analysis.symbolic import SymInterval, greatest, join, least, order
from parhelion.ir import build as B
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from parhelion.schedule.spec import PipelineSpec
from parhelion.types import INT32

a, n, m = Var("a", INT32), Var("n", INT32), Var("m", INT32)


def shifted(e: Expr, k: int) -> Expr:
    return B.add(e, B.int32(k))


def clamped(e: Expr) -> Expr:
    return B.maximum(B.minimum(e, shifted(n, -1)), B.int32(0))


CASES: list[tuple[str, Expr, Expr]] = [
    ("clamped alike", clamped(shifted(a, -2)), clamped(shifted(a, 1))),
    ("and shifted", shifted(clamped(a), -3), shifted(clamped(shifted(a, 1)), -2)),
    ("the other way around", B.minimum(a, n), B.minimum(shifted(n, 1), a)),
    ("one is shifted", shifted(B.minimum(a, m), 1), shifted(a, 1)),
]


@pytest.mark.parametrize(
    ("low", "high"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_order_of_clamped_coordinates(low: Expr, high: Expr) -> None:
    assert (order(low, high), order(high, low)) == (-1, 1)
    assert least(low, high) is low and least(high, low) is low
    assert greatest(low, high) is high and greatest(high, low) is high


def drawn(rng: random.Random, depth: int) -> Expr:
    if depth == 0:
        return rng.choice([a, n, m, B.int32(rng.randint(-3, 3))])
    kind = rng.choice([B.maximum, B.minimum, B.add])
    other = B.int32(rng.randint(-3, 3)) if kind is B.add else drawn(rng, depth - 1)
    return kind(drawn(rng, depth - 1), other)


def test_order_is_never_wrong() -> None:
    rng, found = random.Random(3), 0
    for _ in range(1000):
        p, q = drawn(rng, rng.randint(1, 3)), drawn(rng, rng.randint(1, 3))
        known, lesser, greater = order(p, q), least(p, q), greatest(p, q)
        found += known != 0
        for _ in range(12):
            env = {v: rng.randint(-6, 6) for v in (a, n, m)}
            one, two = evaluate(p, env), evaluate(q, env)
            assert known != -1 or one <= two, (text(p), text(q))
            assert known != 1 or one >= two, (text(p), text(q))
            assert evaluate(lesser, env) == min(one, two), (text(p), text(q))
            assert evaluate(greater, env) == max(one, two), (text(p), text(q))
    assert 220 < found < 800


def test_a_stencil_at_the_edges_reads_one_clamped_interval() -> None:
    """However often its coordinates are shifted and clamped."""
    x = hl.Var("x")
    image = hl.ImageParam(hl.Float(32), 1, "image")
    f = hl.Func("edges")
    f[x] = image[hl.clamp(x, 0, image.width() - 1)]
    for k in range(3):
        g = hl.Func(f"blur{k}")
        g[x] = f[x - 2] + f[x - 1] + f[x] + f[x + 1] + f[x + 2]
        f = g
    body = text(lower(PipelineSpec.of([f._function]), name="blur").body)
    (check,) = [line for line in body.splitlines() if "input_too_small" in line]
    condition = check.split(", input_too_small")[0]
    assert condition.count("min(") == 2, condition  # one for each end


def test_an_interval_is_joined_once_however_often_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stencils in one another read few coordinates in many ways."""
    joins: list[object] = []

    def counted(one: SymInterval, other: SymInterval) -> SymInterval:
        joins.append(other)
        return join(one, other)

    monkeypatch.setattr(box, "join", counted)
    x = hl.Var("x")
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.BoundaryConditions.repeat_edge(image)
    for k in range(5):
        g = hl.Func(f"stencil{k}")
        g[x] = f[x - 1] + f[x] + f[x + 1]
        f = g
    lower(PipelineSpec.of([f._function]), name="stencils")
    assert 10 <= len(joins) < 60
