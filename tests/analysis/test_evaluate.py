"""The evaluator is the text of the language's semantics: each rule, and NumPy."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from parhelion.errors import InternalError, PipelineRuntimeError
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import Value, evaluate, evaluate_lanes
from parhelion.ir.expr import Expr, Var
from parhelion.ir.scalars import cast_value
from parhelion.ir.symbols import BufferSym
from parhelion.types import BOOL, INT32, INT64, BFloat, Float, Handle, Int, Type, UInt

I8, U8, I16, U16, U32, U64 = Int(8), UInt(8), Int(16), UInt(16), UInt(32), UInt(64)
F16, F32, F64 = Float(16), Float(32), Float(64)
NAN, INF = math.nan, math.inf


def of(value: float, t: Type) -> Expr:
    return B.imm(value, t)


def call(op: str, t: Type, *args: Expr) -> Expr:
    return E.Intrinsic(t, op, args)


RULES: list[tuple[str, Expr, Value]] = [
    ("wraps up", E.Add(of(255, U8), of(1, U8)), 0),
    ("wraps signed", E.Add(of(127, I8), of(1, I8)), -128),
    ("wraps down", E.Sub(of(0, U32), of(1, U32)), 2**32 - 1),
    ("wraps product", E.Mul(of(2**31, U32), of(2, U32)), 0),
    ("divides down", E.Div(of(-7, INT32), of(2, INT32)), -4),
    ("divides by negative", E.Div(of(-7, INT32), of(-2, INT32)), 4),
    ("remainder", E.Mod(of(-7, INT32), of(3, INT32)), 2),
    ("remainder of negative", E.Mod(of(-7, INT32), of(-3, INT32)), 2),
    ("by zero", E.Div(of(5, INT32), of(0, INT32)), 0),
    ("modulo zero", E.Mod(of(5, INT32), of(0, INT32)), 0),
    ("lowest by -1", E.Div(of(-128, I8), of(-1, I8)), -128),
    ("float by zero", E.Div(of(-1.0, F32), of(0.0, F32)), -INF),
    ("float by minus zero", E.Div(of(1.0, F32), of(-0.0, F32)), -INF),
    ("float32 rounds", E.Add(of(2**24, F32), of(1.0, F32)), float(2**24)),
    ("float16 rounds", E.Mul(of(2048.0, F16), of(1.0005, F16)), 2050.0),
    ("float16 overflows", E.Mul(of(60000.0, F16), of(2.0, F16)), INF),
    ("bfloat rounds", E.Add(of(256.0, BFloat(16)), of(1.0, BFloat(16))), 256.0),
    (
        "min with NaN first",
        E.LT(E.Min(of(NAN, F32), of(1.0, F32)), of(2.0, F32)),
        False,
    ),
    ("min with NaN last", E.Min(of(1.0, F32), of(NAN, F32)), 1.0),
    ("max with NaN last", E.Max(of(1.0, F32), of(NAN, F32)), 1.0),
    ("int to narrow", E.Cast(U8, of(300, INT32)), 44),
    ("int to signed", E.Cast(I8, of(200, U8)), -56),
    ("truncates", E.Cast(INT32, of(-2.9, F32)), -2),
    ("bool of anything", E.Cast(BOOL, of(256, INT32)), True),
    ("bool of half", E.Cast(BOOL, of(0.5, F32)), True),
    ("int of bool", E.Cast(INT32, B.TRUE), 1),
    (
        "int to float, once",
        E.Cast(F32, of(2**62 + 2**38 + 1, INT64)),
        float(2**62 + 2**39),
    ),
    ("reinterpret", E.Reinterpret(U32, of(1.0, F32)), 0x3F800000),
    ("reinterpret back", E.Reinterpret(F32, of(0x3F800000, U32)), 1.0),
    ("select", E.Select(E.LT(of(1, INT32), of(2, INT32)), of(3, U8), of(4, U8)), 3),
    ("abs is unsigned", call("abs", U8, of(-128, I8)), 128),
    ("absd", call("absd", U8, of(-128, I8), of(127, I8)), 255),
    ("absd of unsigned", call("absd", U8, of(3, U8), of(200, U8)), 197),
    ("shift left", call("shift_left", U8, of(129, U8), of(1, U8)), 2),
    ("shift by negative", call("shift_left", INT32, of(-8, INT32), of(-1, INT32)), -4),
    ("shift right is arithmetic", call("shift_right", I8, of(-3, I8), of(1, I8)), -2),
    ("popcount", call("popcount", I8, of(-1, I8)), 8),
    ("clz", call("clz", U16, of(1, U16)), 15),
    ("clz of 0", call("clz", U16, of(0, U16)), 16),
    ("ctz", call("ctz", U16, of(8, U16)), 3),
    ("ctz of 0", call("ctz", U16, of(0, U16)), 16),
    (
        "truncating div",
        call("div_round_to_zero", INT32, of(-7, INT32), of(2, INT32)),
        -3,
    ),
    (
        "truncating mod",
        call("mod_round_to_zero", INT32, of(-7, INT32), of(2, INT32)),
        -1,
    ),
    ("widening sub", call("widening_sub", I16, of(3, U8), of(5, U8)), -2),
    ("widening mul", call("widening_mul", U16, of(255, U8), of(255, U8)), 65025),
    ("halving add", call("halving_add", U8, of(255, U8), of(254, U8)), 254),
    (
        "rounding halving add",
        call("rounding_halving_add", U8, of(255, U8), of(254, U8)),
        255,
    ),
    ("halving sub", call("halving_sub", U8, of(1, U8), of(4, U8)), 254),
    ("rounding shift", call("rounding_shift_right", U8, of(255, U8), of(2, U8)), 64),
    ("saturating add", call("saturating_add", I8, of(100, I8), of(100, I8)), 127),
    ("saturating sub", call("saturating_sub", U8, of(3, U8), of(5, U8)), 0),
    ("saturating cast", call("saturating_cast", U8, of(-5, INT32)), 0),
    ("saturating cast of float", call("saturating_cast", U8, of(1e9, F32)), 255),
    ("saturating cast of NaN", call("saturating_cast", U8, of(NAN, F32)), 0),
    (
        "mul shift",
        call("mul_shift_right", I16, of(32767, I16), of(4, I16), of(1, U16)),
        32767,
    ),
    ("round to even", call("round", F32, of(2.5, F32)), 2.0),
    ("floor", call("floor", F32, of(-0.5, F32)), -1.0),
    ("sqrt", call("sqrt", F32, of(2.0, F32)), float(np.float32(math.sqrt(2.0)))),
    ("is_nan", call("is_nan", BOOL, of(NAN, F32)), True),
    ("likely", call("likely", INT32, of(3, INT32)), 3),
    ("require", call("require", INT32, B.TRUE, of(3, INT32)), 3),
]


@pytest.mark.parametrize(
    ("e", "value"), [r[1:] for r in RULES], ids=[r[0] for r in RULES]
)
def test_rule(e: Expr, value: Value) -> None:
    assert evaluate(e, {}) == value


def test_zeros_keep_their_sign() -> None:
    zero = evaluate(call("ceil", F32, of(-0.5, F32)), {})
    assert math.copysign(1.0, zero) == -1.0


def test_lets_and_their_memo() -> None:
    x, v = Var("x", INT32), Var("v", INT32)
    body = E.Mul(v, v)
    twice = E.Add(
        E.Let(v, E.Add(x, B.int32(1)), body), E.Let(v, E.Add(x, B.int32(2)), body)
    )
    assert evaluate(twice, {x: 1}) == 4 + 9
    known = Var("known", INT32, value=E.Add(x, B.int32(5)))
    assert evaluate(known, {x: 1}) == 6
    with pytest.raises(InternalError):
        evaluate(x, {})


def test_lanes() -> None:
    x = Var("x", INT32)
    ramp = E.Ramp(x, B.int32(2), 4)
    assert evaluate_lanes(ramp, {x: 1}) == (1, 3, 5, 7)
    assert evaluate_lanes(E.Shuffle((ramp, ramp), (0, 7)), {x: 1}) == (1, 7)
    assert evaluate_lanes(E.VectorReduce("add", ramp, 2), {x: 1}) == (4, 12)
    chosen = E.Select(E.LT(ramp, B.broadcast(B.int32(4), 4)), ramp, B.imm(0, ramp.type))
    assert evaluate_lanes(chosen, {x: 1}) == (1, 3, 0, 0)
    halves = E.Reinterpret(UInt(16, 2), of(0x00010002, U32))
    assert evaluate_lanes(halves, {}) == (2, 1)
    with pytest.raises(InternalError):
        evaluate(ramp, {x: 1})


def test_memory() -> None:
    buffer = BufferSym("b", U8, 1, "input")
    masked = E.Load(U8, buffer, B.int32(5), B.FALSE)
    assert evaluate(E.Load(U8, buffer, B.int32(5), None), {}, lambda e, at: at[0]) == 5
    assert evaluate(masked, {}, lambda e, at: at[0]) == 0
    with pytest.raises(InternalError):
        evaluate(E.Load(U8, buffer, B.int32(5), None), {})


def test_requirements() -> None:
    message = E.StringImm(Handle(), "no")
    with pytest.raises(PipelineRuntimeError):
        evaluate(call("require", INT32, B.FALSE, of(3, INT32), message), {})


@pytest.mark.parametrize(
    "op", ["exp", "log", "sin", "cos", "tan", "atan", "tanh", "erf"]
)
def test_functions_are_near_the_truth(op: str) -> None:
    for x in (0.1, 0.5, 1.0, 2.5):
        truth = getattr(math, op)(x)
        for t, error in ((F16, 2e-3), (F32, 1e-6), (F64, 1e-14)):
            near = float(t.to_numpy().type(x))
            made = evaluate(call(op, t, of(x, t)), {})
            slack = abs(near - x) * 20
            assert abs(made - truth) <= error * (1 + abs(truth)) + slack


def test_random_numbers_are_a_hash() -> None:
    def draw(k: int) -> Value:
        return evaluate(call("random_int", U32, of(k, INT32), of(7, INT32)), {})

    assert draw(1) == draw(1)
    assert len({draw(k) for k in range(50)}) == 50


def test_agrees_with_numpy() -> None:
    """Wrapping integer and rounded float arithmetic, on random operands."""
    rng = random.Random(5)
    kinds = {E.Add: np.add, E.Sub: np.subtract, E.Mul: np.multiply}
    with np.errstate(all="ignore"):
        for t in (I8, U8, I16, U16, INT32, U32, INT64, U64, F16, F32, F64):
            dtype = t.to_numpy()
            for _ in range(60):
                if t.is_float():
                    pair = [float(dtype.type(rng.uniform(-300, 300))) for _ in range(2)]
                else:
                    pair = [
                        rng.randint(int(t.lowest()), int(t.highest())) for _ in "ab"
                    ]
                a, b = (np.array([v], dtype) for v in pair)
                for kind, expected in kinds.items():
                    made = evaluate(kind(of(pair[0], t), of(pair[1], t)), {})
                    assert made == expected(a, b)[0].item()


def test_casts_agree_with_numpy() -> None:
    rng = random.Random(6)
    for _ in range(300):
        v = rng.getrandbits(63) - rng.getrandbits(62)
        assert cast_value(v, F64) == float(np.int64(v).astype(np.float64))
        assert cast_value(v, F32) == float(np.int64(v).astype(np.float32))
        assert cast_value(v, I16) == int(np.int64(v).astype(np.int16))
