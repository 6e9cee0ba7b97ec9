"""The verifier: sound programs pass, each kind of damage is named."""

from __future__ import annotations

import pytest

from parhelion.errors import InternalError
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.ir.verify import Form, verify
from parhelion.schedule.directives import FuncSchedule
from parhelion.types import BOOL, INT32, INT64, Float, UInt

F32, U8 = Float(32), UInt(8)
x, y, v = Var("x", INT32), Var("y", INT32), Var("v", INT32)
param = ParamSym("gain", F32)
out = BufferSym("out", F32, 2, "output")
source = BufferSym("in", F32, 2, "input")
room = BufferSym("room", F32, 1, "internal")
func = Function("f", FuncSchedule(), None)
func.types, func.args = (F32,), (x, y)


def i(value: int) -> Expr:
    return B.int32(value)


ONE = B.imm(1.0, F32)
EXTENT = out.dims[0].extent


def loop(var: Var, body: Stmt, kind: ForKind = ForKind.SERIAL) -> Stmt:
    return S.For(var, i(0), EXTENT, kind, body)


def store(index: Expr, value: Expr = ONE) -> Stmt:
    return S.Store(out, value, index, None)


def allocated(*rest: Stmt) -> Stmt:
    return S.Block((S.Allocate(room, (i(8),), B.TRUE, MemoryKind.AUTO, 0), *rest))


GOOD: list[tuple[str, Stmt, Form]] = [
    ("nothing", S.NOP, Form.FINAL),
    ("a loop", loop(x, store(x)), Form.FINAL),
    ("a parameter", loop(x, store(x, E.Mul(param.var, ONE))), Form.FINAL),
    (
        "one Var in two loops",
        S.Block((loop(x, store(x)), loop(x, store(x)))),
        Form.FINAL,
    ),
    (
        "a let for the rest of its block",
        loop(x, S.Block((S.LetStmt(v, E.Add(x, i(1))), store(v)))),
        Form.FINAL,
    ),
    (
        "storage",
        allocated(S.Store(room, ONE, i(3), None), S.Free(room)),
        Form.FLAT,
    ),
    (
        "vectors",
        store(E.Ramp(i(0), i(1), 8), E.Broadcast(ONE, 8)),
        Form.FINAL,
    ),
    (
        "Funcs",
        S.Realize(
            func,
            ((i(0), i(4)), (i(0), i(4))),
            B.TRUE,
            loop(x, S.Provide(func, (E.FuncCall(F32, func, (x, x), 0),), (x, x), None)),
        ),
        Form.NESTS,
    ),
]


@pytest.mark.parametrize(("s", "form"), [g[1:] for g in GOOD], ids=[g[0] for g in GOOD])
def test_sound(s: Stmt, form: Form) -> None:
    verify(s, form)


FUNC_AT = E.FuncCall(F32, func, (x, y), 0)
BAD: list[tuple[str, Stmt, Form]] = [
    ("'x' is used outside of its scope", store(x), Form.FLAT),
    (
        "'x' is used outside of its scope",
        S.Block((loop(x, store(x)), store(x))),
        Form.FLAT,
    ),
    (
        "'v' is used outside of its scope",
        S.Block((loop(x, S.Block((S.LetStmt(v, x), store(v)))), store(v))),
        Form.FLAT,
    ),
    ("bound twice", loop(x, loop(x, store(x))), Form.FLAT),
    ("a let of int32 with a value of bool", S.LetStmt(v, B.TRUE), Form.FLAT),
    ("a Block of one statement", S.Block((store(i(0)),)), Form.FLAT),
    (
        "a Block within a Block",
        S.Block((store(i(0)), S.Block((store(i(1)), store(i(2)))))),
        Form.FLAT,
    ),
    (
        "an Allocate outside of a Block",
        loop(x, S.Allocate(room, (), B.TRUE, MemoryKind.AUTO, 0)),
        Form.FLAT,
    ),
    ("outside of its allocation", S.Store(room, ONE, i(0), None), Form.FLAT),
    (
        "outside of its allocation",
        S.Block((allocated(S.Free(room)), S.Store(room, ONE, i(0), None))),
        Form.FLAT,
    ),
    ("outside of its allocation", allocated(S.Free(room), S.Free(room)), Form.FLAT),
    (
        "outside of its allocation",
        S.Block(
            (
                allocated(S.Evaluate(E.Load(F32, room, i(0), None))),
                S.Evaluate(E.Load(F32, room, i(0), None)),
            )
        ),
        Form.FLAT,
    ),
    ("a store to the input", S.Store(source, ONE, i(0), None), Form.FLAT),
    ("holds float32", store(i(0), B.imm(1, U8)), Form.FLAT),
    ("8 lanes at 1 places", store(i(0), E.Broadcast(ONE, 8)), Form.FLAT),
    ("an index of type float32", store(ONE), Form.FLAT),
    (
        "a predicate of type bool",
        S.Store(out, E.Broadcast(ONE, 8), E.Ramp(i(0), i(1), 8), B.TRUE),
        Form.FLAT,
    ),
    (
        "a condition of type boolx4",
        S.If(B.broadcast(B.TRUE, 4), S.NOP, None),
        Form.FLAT,
    ),
    (
        "a loop over int32 from int64",
        S.For(x, B.int64(0), B.int64(4), ForKind.SERIAL, S.NOP),
        Form.FLAT,
    ),
    ("still to be vectorized", loop(x, store(x), ForKind.VECTORIZED), Form.FINAL),
    ("a mark (likely)", store(B.likely(i(0))), Form.FINAL),
    ("there is no failure", S.Assert(B.TRUE, "whim", ()), Form.FLAT),
    ("a prefetched index of", S.Prefetch(out, ONE, i(1), False), Form.FLAT),
    ("a prefetched length of", S.Prefetch(out, i(0), ONE, True), Form.FLAT),
    ("as a Func in a flat program", loop(x, loop(y, store(x, FUNC_AT))), Form.FLAT),
    ("outside of its Realize", loop(x, loop(y, store(x, FUNC_AT))), Form.NESTS),
    (
        "has 2 dimensions, not 1",
        S.Realize(func, ((i(0), i(1)),), B.TRUE, S.NOP),
        Form.NESTS,
    ),
    (
        "values of bool for float32",
        S.Realize(
            func,
            ((i(0), i(1)), (i(0), i(1))),
            B.TRUE,
            S.Provide(func, (B.TRUE,), (i(0), i(0)), None),
        ),
        Form.NESTS,
    ),
    (
        "in has 2 dimensions, not 1",
        S.Evaluate(E.ImageLoad(F32, source, (i(0),))),
        Form.NESTS,
    ),
    (
        "at coordinates in a flat program",
        S.Evaluate(E.ImageLoad(F32, source, (i(0), i(0)))),
        Form.FLAT,
    ),
    ("And of int32", S.Evaluate(E.And(i(1), i(2))), Form.FLAT),
    ("Not of int32", S.Evaluate(E.Not(i(1))), Form.FLAT),
    ("300 does not fit uint8", S.Evaluate(E.Imm(U8, 300)), Form.FLAT),
    ("a cast of int32", S.Evaluate(E.Cast(UInt(8, 4), i(1))), Form.FLAT),
    ("int32 read as int64", S.Evaluate(E.Reinterpret(INT64, i(1))), Form.FLAT),
    ("a Ramp of 1", S.Evaluate(E.Ramp(i(0), i(1), 1)), Form.FLAT),
    (
        "4 copies of int32x2",
        S.Evaluate(E.Broadcast(E.Ramp(i(0), i(1), 2), 4)),
        Form.FLAT,
    ),
    (
        "Shuffle indices",
        S.Evaluate(E.Shuffle((E.Ramp(i(0), i(1), 2),), (2,))),
        Form.FLAT,
    ),
    (
        "into 3 lanes",
        S.Evaluate(E.VectorReduce("add", E.Ramp(i(0), i(1), 4), 3)),
        Form.FLAT,
    ),
    ("no intrinsic 'guess'", S.Evaluate(E.Intrinsic(INT32, "guess", ())), Form.FLAT),
    (
        "sqrt with 2 arguments",
        S.Evaluate(E.Intrinsic(F32, "sqrt", (ONE, ONE))),
        Form.FLAT,
    ),
    (
        "sqrt of float32 gives bool",
        S.Evaluate(E.Intrinsic(BOOL, "sqrt", (ONE,))),
        Form.FLAT,
    ),
]


@pytest.mark.parametrize(
    ("what", "s", "form"), BAD, ids=[f"{k}: {b[0]}" for k, b in enumerate(BAD)]
)
def test_damage_is_named(what: str, s: Stmt, form: Form) -> None:
    with pytest.raises(InternalError) as caught:
        verify(s, form, after="this_pass")
    message = str(caught.value)
    assert what in message
    assert "after this_pass" in message
    assert "node: " in message


def test_the_message_shows_where() -> None:
    with pytest.raises(InternalError) as caught:
        verify(loop(x, S.Block((store(x), store(E.Add(y, i(1)))))), Form.FLAT)
    assert str(caught.value) == (
        "internal error: malformed IR: the Var 'y' is used outside of its scope\n"
        "node: y + 1\n"
        "in:\n"
        "   |  out[y + 1] = 1.0f"
    )


def test_free_vars_may_be_named() -> None:
    verify(store(x), Form.FLAT, free=(x,))
