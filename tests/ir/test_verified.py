"""What the verifier remembers of one program hides no damage of another."""

from __future__ import annotations

import pytest

from parhelion.errors import InternalError
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import Stmt
from parhelion.ir.verified import Known, Verified
from parhelion.ir.verify import Form, verify
from parhelion.schedule.directives import FuncSchedule
from parhelion.types import INT32
from tests.ir.test_verify import BAD, F32, GOOD, allocated, i, loop, out, room
from tests.ir.test_verify import x as VAR


def message(s: Stmt, form: Form, verified: Verified) -> str:
    with pytest.raises(InternalError) as caught:
        verify(s, form, after="this_pass", verified=verified)
    return str(caught.value)


@pytest.mark.parametrize("twice", [False, True])
def test_what_is_said_is_the_same_as_of_a_first_program(twice: bool) -> None:
    """Also where a program was found to be damaged before."""
    verified = Verified()
    for _, s, form in GOOD:
        verify(s, form, verified=verified)
    for _ in range(1 + twice):
        for _, s, form in BAD:
            assert message(s, form, verified) == message(s, form, Verified())
    for _, s, form in GOOD:
        verify(s, form, verified=verified)


def seen(e: Expr) -> list[Expr]:
    """A program of one expression, and the nodes that are checked of it."""
    found: list[Expr] = []
    Known().find(e, found.append)
    return found


def test_each_node_is_checked_once_and_parents_first() -> None:
    shared = E.Add(VAR, i(1))
    whole = E.Mul(E.Min(shared, i(2)), E.Max(shared, i(2)))
    assert seen(whole) == [whole, whole.a, shared, VAR, i(1), i(2), whole.b]
    verified = Verified()
    found: list[Expr] = []
    verified.of("one kind").find(shared, found.append)
    assert found == [shared, VAR, i(1)]
    verified.of("one kind").find(whole, found.append)
    assert found[3:] == [whole, whole.a, i(2), whole.b]
    verified.of("another kind").find(whole, found.append)
    assert found[7:] == seen(whole)


def test_what_expressions_use() -> None:
    f = Function("f", FuncSchedule(), None)
    f.types, f.args = (F32,), (VAR,)
    load = E.Load(F32, room, VAR, None)
    call = E.FuncCall(F32, f, (VAR,), 0)
    known = Known()

    def uses(e: Expr) -> set[object]:
        return set(known.find(e, lambda _: None))

    assert uses(VAR) == set()
    assert uses(E.Add(load, call)) == {room, f}
    # In coordinates, too, and of what is known already.
    inner = E.Load(F32, out, E.Cast(INT32, load), None)
    assert uses(inner) == {room, out} and uses(load) == {room} and uses(call) == {f}


def test_a_node_that_was_refused_is_refused_again() -> None:
    wrong = E.Add(VAR, i(1))
    known = Known()

    def refuse(n: Expr) -> None:
        if n is wrong:
            raise InternalError("no")

    for e in (E.Mul(wrong, i(2)), E.Mul(wrong, i(2)), wrong):
        with pytest.raises(InternalError, match="no"):
            known.find(e, refuse)


def test_scopes_are_asked_at_each_place() -> None:
    """One expression, which is right in one place, in another where it is not."""
    value = E.Load(F32, room, VAR, None)
    inside = S.Store(out, value, VAR, None)
    verified = Verified()
    verify(allocated(loop(VAR, inside)), Form.FLAT, verified=verified)
    told = message(loop(VAR, inside), Form.FLAT, verified)
    assert "room is used outside of its allocation" in told
    told = message(allocated(inside), Form.FLAT, verified)
    assert "the Var 'x' is used outside of its scope" in told
    # After it is freed.
    freed = allocated(loop(VAR, inside), S.Free(room), loop(Var("z", INT32), S.NOP))
    verify(freed, Form.FLAT, verified=verified)
    late = allocated(S.Free(room), loop(VAR, inside))
    assert "outside of its allocation" in message(late, Form.FLAT, verified)


def test_forms_are_asked_each_time() -> None:
    """A mark may stand in a program until it is final, and a Func until it is flat."""
    marked = S.Evaluate(E.Intrinsic(INT32, "likely", (i(1),)))
    verified = Verified()
    verify(marked, Form.FLAT, verified=verified)
    assert "a mark (likely)" in message(marked, Form.FINAL, verified)
    f = Function("f", FuncSchedule(), None)
    f.types, f.args = (F32,), (VAR,)
    calls = S.Evaluate(E.FuncCall(F32, f, (i(0),), 0))
    realized = S.Realize(f, ((i(0), i(4)),), B.TRUE, calls)
    verify(realized, Form.NESTS, verified=verified)
    assert "outside of its Realize" in message(calls, Form.NESTS, verified)
    assert "as a Func in a flat program" in message(calls, Form.FLAT, verified)
