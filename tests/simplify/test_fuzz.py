"""The simplifier on random expressions: same value, idempotent, never larger."""

from __future__ import annotations

import sys

import pytest

from parhelion.analysis.facts import Facts
from parhelion.analysis.interval import constant_interval
from parhelion.analysis.modulus import alignment
from parhelion.analysis.rank import tree_size
from parhelion.errors import InternalError
from parhelion.ir import build as B
from parhelion.ir.evaluate import evaluate, evaluate_lanes
from parhelion.ir.expr import Expr, Select
from parhelion.simplify.driver import forget
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32, Type, UInt
from tests.simplify.generator import (
    EVERY_FLOAT,
    FLOATS,
    NARROW,
    Generator,
    same_value,
    show,
)

SEEDS = range(40)
DRAWS = 25
POINTS = 12


def _draw(g: Generator) -> Expr:
    roll = g.rng.random()
    if roll < 0.45:
        return g.expr(INT32, g.rng.choice((3, 4, 5)))
    if roll < 0.65:
        return g.condition(4)
    if roll < 0.8:
        return g.expr(g.rng.choice(NARROW), 4)
    if roll < 0.9:
        return g.expr(g.rng.choice(FLOATS), 4)
    return g.vector(g.rng.choice((INT32, INT32, *NARROW, FLOATS[0])), 3, 4)


def check(g: Generator, e: Expr, facts: Facts = Facts.EMPTY) -> None:
    simple = simplify(e, facts)
    text = f"\n{show(e)}\n-> {show(simple)}"
    assert simple.type is e.type, text
    for _ in range(POINTS):
        at, load = g.point(e), g.loader()
        old = evaluate_lanes(e, at, load)
        new = evaluate_lanes(simple, at, load)
        shown = {v.name: value for v, value in at.items()}
        assert all(map(same_value, old, new)), f"{text}\n{shown}: {old} != {new}"
    forget()
    twice = simplify(simple, facts)
    assert twice is simple, f"not idempotent:{text}\n-> {show(twice)}"
    assert tree_size(simple) <= tree_size(e), f"larger:{text}"


@pytest.mark.parametrize("seed", SEEDS)
def test_expressions(seed: int) -> None:
    g = Generator(seed)
    for _ in range(DRAWS):
        check(g, _draw(g))


@pytest.mark.parametrize("t", [*EVERY_FLOAT, INT32, UInt(8)], ids=str)
def test_conditions_of_the_same_operands(t: Type) -> None:
    g = Generator(t.width)
    for _ in range(400):
        cond = g.related(t)
        check(g, cond)
        check(g, Select(cond, B.imm(1, INT32), B.imm(2, INT32)))


@pytest.mark.parametrize("seed", SEEDS)
def test_under_facts(seed: int) -> None:
    g = Generator(1000 + seed)
    for _ in range(DRAWS):
        e = _draw(g)
        cond = g.condition(2)
        facts = Facts.EMPTY.assume(cond)
        simple = simplify(e, facts)
        forget()
        again = simplify(simple, facts)
        text = f"\n{show(e)}\n-> {show(simple)} given {show(cond)}"
        assert again is simple, text + f"\n-> {show(again)}"
        for _ in range(POINTS):
            at, load = g.point(B_and(cond, e)), g.loader()
            if not evaluate(cond, at, load):
                continue
            old, new = evaluate_lanes(e, at, load), evaluate_lanes(simple, at, load)
            assert all(map(same_value, old, new)), f"{text}\n{at}: {old} != {new}"


def B_and(cond: Expr, e: Expr) -> Expr:
    """One expression that mentions the Vars of both."""
    from parhelion.ir.expr import Broadcast, Select

    if e.type.count > 1:
        cond = Broadcast(cond, e.type.count)
    return Select(cond, e, e)


@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_and_alignment_contain_every_value(seed: int) -> None:
    g = Generator(2000 + seed)
    for _ in range(DRAWS):
        e = _draw(g)
        bounds = constant_interval(e)
        m, r = alignment(e) if e.type.is_int_or_uint() else (1, 0)
        for _ in range(POINTS):
            at, load = g.point(e), g.loader()
            try:
                values = evaluate_lanes(e, at, load)
            except (InternalError, OverflowError):
                continue
            for value in values:
                text = f"{show(e)} = {value}, {bounds}, {m}, {r}"
                if value == value:
                    assert bounds.contains(value), text
                if m == 0:
                    assert value == r, text
                elif m > 1:
                    assert value % m == r, text


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proved_holds(seed: int) -> None:
    g = Generator(3000 + seed)
    proved = 0
    for _ in range(DRAWS):
        cond = g.condition(4)
        if not can_prove(cond):
            continue
        proved += 1
        for _ in range(POINTS):
            at, load = g.point(cond), g.loader()
            assert evaluate(cond, at, load), f"{show(cond)} at {at}"
    assert proved or sys.version_info  # most seeds prove a few
