"""Values that an iteration stores and reads back: which of them stay in registers."""

from __future__ import annotations

import pytest

from parhelion.ir.build import add, imm, int32, mul
from parhelion.ir.expr import Add, Expr, Load, Ramp, Var
from parhelion.ir.stmt import LetStmt, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import text
from parhelion.lower.kept_values import hold, kept_values
from parhelion.types import INT32, Int

F, G = BufferSym("f", INT32, 2, "output"), BufferSym("g", INT32, 2, "output")
X, PITCH = Var("x", INT32), Var("pitch", INT32)
ONES = imm(1, Int(32, 4))


def at(first: Expr) -> Expr:
    return Ramp(first, int32(1), 4)


def load(first: Expr, buffer: BufferSym = F) -> Load:
    return Load(Int(32, 4), buffer, at(first), None)


def store(first: Expr, value: Expr, buffer: BufferSym = F) -> Store:
    return Store(buffer, value, at(first), None)


NEXT = add(X, PITCH)


def again(between: Expr, buffer: BufferSym = F) -> list[Stmt]:
    """A row is stored, then another one, and then the first is read."""
    return [
        store(X, ONES),
        store(between, ONES, buffer),
        store(mul(X, int32(2)), load(X), G),
    ]


def test_a_row_beside_another_one() -> None:
    kept = kept_values(X, again(NEXT))
    assert kept.loads == {load(X)}
    assert [text(c) for c in kept.conditions] in (
        [["4 <= 0 - pitch || 0 - pitch <= -4"], ["4 <= pitch || pitch <= -4"]]
    )
    made = hold(again(NEXT), kept, {F})
    assert isinstance(made[0], LetStmt) and made[0].value is ONES
    assert isinstance(made[-1], Store) and made[-1].value is made[0].var


@pytest.mark.parametrize("distance, kept", [(3, False), (4, True), (-4, True)])
def test_rows_at_a_known_distance(distance: int, kept: bool) -> None:
    found = kept_values(X, again(add(X, int32(distance))))
    assert (load(X) in found.loads) == kept
    assert not found.conditions


def test_stores_to_another_buffer_change_nothing() -> None:
    found = kept_values(X, again(X, G))
    assert load(X) in found.loads and not found.conditions


def test_a_distance_that_changes_is_not_asked_for() -> None:
    assert not kept_values(X, again(mul(X, PITCH))).loads


def test_what_is_read_before_it_is_stored() -> None:
    body: list[Stmt] = [store(X, Add(load(X), ONES)), store(NEXT, load(X))]
    assert not kept_values(X, body).loads
    assert hold(body, kept_values(X, body), {F}) == body


def test_the_last_of_two_values_is_kept() -> None:
    twice, other = Add(ONES, ONES), load(NEXT, G)
    body: list[Stmt] = [store(X, other), store(X, twice), store(NEXT, load(X))]
    made = hold(body, kept_values(X, body), {F})
    last = made[-1]
    assert isinstance(last, Store) and isinstance(last.value, Var)
    named = {i.var: i.value for i in made if isinstance(i, LetStmt)}
    assert named[last.value] is twice


def test_names_of_values_that_change_are_new() -> None:
    """A let that mentions what is kept is about another value than before."""
    sum_of = Add(load(X), ONES)
    name = Var("sum", sum_of.type, value=sum_of)
    body: list[Stmt] = [
        store(X, ONES),
        LetStmt(name, sum_of),
        store(NEXT, Add(name, name)),
    ]
    made = hold(body, kept_values(X, body), {F})
    let, last = made[2], made[3]
    assert isinstance(let, LetStmt) and isinstance(last, Store)
    assert let.var is not name and let.var.value is let.value
    assert last.value is Add(let.var, let.var)
