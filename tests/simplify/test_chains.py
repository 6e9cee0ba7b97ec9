"""Long chains of minima, maxima and conditions: what they become, in how many steps."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import pytest

from parhelion.analysis.facts import Facts
from parhelion.ir.expr import LE, Add, And, Expr, Imm, Max, Min, Mul, Or, Var
from parhelion.simplify import order
from parhelion.simplify.driver import ExprSimplifier
from parhelion.types import INT32

X = Var("x", INT32, lo=Imm(INT32, 0), hi=Imm(INT32, 9))


def _operands(count: int) -> list[Expr]:
    """Products that nothing is known of, in an order far from the canonical one."""
    made: list[Expr] = [Mul(X, Var(f"v{i:03}", INT32)) for i in range(count)]
    random.Random(3).shuffle(made)
    return made


def _leaves(kind: type[Expr], e: Expr) -> set[Expr]:
    if type(e) is not kind:
        return {e}
    a, b = e.children()
    assert isinstance(a, Expr) and isinstance(b, Expr)
    return _leaves(kind, a) | _leaves(kind, b)


@pytest.mark.parametrize("kind", [Min, Max])
def test_pairs_of_operands_are_compared_once_either_way(
    kind: type[Min | Max], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    decide = order.decide

    def counted(*args: object) -> bool | None:
        nonlocal asked
        asked += 1
        return decide(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(order, "decide", counted)
    operands = _operands(40)
    made = ExprSimplifier(Facts.EMPTY).go(functools.reduce(kind, operands))
    assert len(_leaves(kind, made)) == 40
    assert asked <= 40 * 40


@pytest.mark.parametrize("kind", [Min, Max])
def test_the_order_of_operands_does_not_show(kind: type[Min | Max]) -> None:
    operands = _operands(12)
    straight = functools.reduce(kind, operands)
    back = functools.reduce(lambda a, b: kind(b, a), reversed(operands))
    half = kind(
        functools.reduce(kind, operands[5:]), functools.reduce(kind, operands[:5])
    )
    made = [ExprSimplifier(Facts.EMPTY).go(e) for e in (straight, back, half)]
    assert made[0] is made[1] is made[2]
    assert ExprSimplifier(Facts.EMPTY).go(made[0]) is made[0]


def test_operands_of_either_side_that_others_make_needless_go() -> None:
    y, z = Var("y", INT32), Var("z", INT32)

    def at(v: Var, k: int) -> Expr:
        return Add(v, Imm(INT32, k))

    def least(*items: Expr) -> Expr:
        return functools.reduce(Min, items)

    made = ExprSimplifier(Facts.EMPTY).go(
        Min(least(at(X, 3), at(y, 1), at(z, 5)), least(at(X, 1), at(y, 2), at(z, 4)))
    )
    wanted = ExprSimplifier(Facts.EMPTY).go(least(at(X, 1), at(y, 1), at(z, 4)))
    assert made is wanted


@pytest.mark.parametrize("kind", [And, Or])
def test_conditions_are_compared_across_the_sides_alone(
    kind: type[And | Or], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    form_of = order._inequality_form

    def counted(e: Expr) -> object:
        nonlocal made
        made += 1
        return form_of(e)

    monkeypatch.setattr(order, "_inequality_form", counted)
    conditions: list[Expr] = [
        LE(Var(f"v{i:03}", INT32), Var(f"w{i:03}", INT32)) for i in range(40)
    ]
    join: Callable[[Expr, Expr], Expr] = kind
    e = ExprSimplifier(Facts.EMPTY).go(functools.reduce(join, conditions))
    assert len(_leaves(kind, e)) == 40
    assert made <= 40 * 41 // 2
