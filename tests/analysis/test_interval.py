"""Constant intervals and tameness, on particular nodes (fuzzed in tests/simplify)."""

from __future__ import annotations

import math

import pytest

from parhelion.analysis.interval import Interval, constant_interval, tame
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Intrinsic, Load, Var
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.types import BOOL, INT32, INT64, Float, Int, UInt

U8, I8, U16, U32, F32 = UInt(8), Int(8), UInt(16), UInt(32), Float(32)
x = Var("x", INT32)
i = Var("i", INT32, lo=B.int32(0), hi=B.int32(9))
j = Var("j", INT32, lo=B.int32(-3), hi=B.int32(4))
up = Var("up", INT32, lo=B.int32(5))
n = Var("n", INT32, lo=i, hi=B.add(i, B.int32(7)))
t = Var("t", INT32, value=E.Mul(i, B.int32(3)))
u = Var("u", U8)
f = Var("f", F32)
gain = ParamSym("gain", F32).var
pixel = Load(INT32, BufferSym("in", INT32, 1, "input"), x, None)
byte = Load(U8, BufferSym("bytes", U8, 1, "input"), x, None)


def k(value: int) -> Expr:
    return B.int32(value)


def real(value: float) -> Expr:
    return B.imm(value, F32)


CASES: list[tuple[Expr, tuple[float | None, float | None]]] = [
    (x, (None, None)),
    (i, (0, 9)),
    (n, (0, 16)),
    (t, (0, 27)),
    (u, (0, 255)),
    (pixel, (None, None)),
    (byte, (0, 255)),
    (E.Add(i, j), (-3, 13)),
    (E.Sub(i, j), (-4, 12)),
    (E.Mul(i, j), (-27, 36)),
    (E.Mul(x, x), (0, None)),
    (E.Add(up, k(1)), (6, None)),
    (E.Sub(k(1), up), (None, -4)),
    # Indices that surely overflow wrap; pixels always may.
    (E.Mul(i, k(1 << 30)), (None, None)),
    (E.Add(E.Max(pixel, k(0)), k(1)), (None, None)),
    (E.Add(E.Max(E.Min(pixel, k(9)), k(0)), k(1)), (1, 10)),
    (E.Div(i, k(4)), (0, 2)),
    (E.Div(j, k(2)), (-2, 2)),
    (E.Div(j, k(-2)), (-2, 2)),
    (E.Div(i, j), (-9, 9)),
    (E.Div(up, k(2)), (2, None)),
    (E.Mod(x, k(8)), (0, 7)),
    (E.Mod(i, k(20)), (0, 9)),
    (E.Mod(x, j), (0, 3)),
    (E.Min(x, k(3)), (None, 3)),
    (E.Max(E.Min(x, k(7)), k(2)), (2, 7)),
    (E.Select(E.LT(x, k(0)), i, k(20)), (0, 20)),
    (E.Select(E.LT(i, k(10)), i, x), (0, 9)),
    (E.LT(i, k(10)), (1, 1)),
    (E.LE(k(10), i), (0, 0)),
    (E.EQ(i, k(10)), (0, 0)),
    (E.NE(i, x), (0, 1)),
    (E.Add(u, u), (0, 255)),
    (E.Add(E.Cast(U16, u), E.Cast(U16, u)), (0, 510)),
    (E.Sub(u, B.imm(1, U8)), (0, 255)),
    (E.Cast(I8, i), (0, 9)),
    (E.Cast(I8, E.Mul(i, k(20))), (-128, 127)),
    (E.Cast(INT64, pixel), (-(1 << 31), (1 << 31) - 1)),
    (E.Cast(U32, j), (0, (1 << 32) - 1)),
    (E.Cast(BOOL, up), (1, 1)),
    (E.Cast(F32, i), (0.0, 9.0)),
    (E.Cast(INT32, E.Mul(E.Cast(F32, u), real(0.5))), (0, 127)),
    (E.Ramp(i, k(2), 4), (0, 15)),
    (E.Ramp(i, k(-1), 4), (-3, 9)),
    (E.Broadcast(i, 4), (0, 9)),
    (E.VectorReduce("add", E.Broadcast(i, 8), 2), (0, 36)),
    # NaN on the right of a float min gives the left.
    (E.Min(f, real(1.0)), (None, 1.0)),
    (E.Min(real(1.0), f), (None, 1.0)),
    (E.Max(E.Min(f, real(1.0)), real(0.0)), (0.0, 1.0)),
    (E.Max(E.Cast(F32, i), f), (0.0, None)),
    (B.imm(math.nan, F32), (None, None)),
    (B.likely(i), (0, 9)),
    (Intrinsic(INT32, "promise_clamped", (x, k(1), k(6))), (1, 6)),
    (Intrinsic(U32, "abs", (j,)), (0, 4)),
    (Intrinsic(INT32, "bit_and", (x, k(15))), (0, 15)),
    (Intrinsic(INT32, "shift_right", (i, k(1))), (0, 4)),
    (Intrinsic(U8, "saturating_cast", (E.Add(j, k(252)),)), (249, 255)),
    (Intrinsic(U16, "widening_mul", (u, u)), (0, 255 * 255)),
]


@pytest.mark.parametrize("e, bounds", CASES)
def test_constant_interval(e: Expr, bounds: tuple[float | None, float | None]) -> None:
    assert constant_interval(e) == Interval(*bounds)


@pytest.mark.parametrize(
    "e, expected",
    [
        (x, True),
        (E.Add(x, k(1)), True),
        (E.Mul(x, x), True),
        (pixel, False),
        (E.Add(pixel, k(1)), False),
        (E.Add(E.Mod(pixel, k(16)), x), True),
        (E.Mul(i, k(1 << 30)), False),
        (E.Add(u, u), False),
        (E.Add(E.Mod(u, B.imm(16, U8)), B.imm(200, U8)), True),
        (E.Cast(INT64, pixel), True),
        (E.Cast(INT32, f), False),
        (E.Cast(INT32, E.Mul(gain, real(0.5))), True),
        (E.Cast(INT32, E.Mul(gain, f)), False),
        (f, False),
    ],
)
def test_tame(e: Expr, expected: bool) -> None:
    assert tame(e) is expected


def test_interval_operations() -> None:
    a, b = Interval(0, None), Interval(-2, 5)
    assert a.intersect(b) == Interval(0, 5)
    assert a.union(b) == Interval(-2, None)
    assert b.contains(5) and not b.contains(6) and a.contains(10**9)
    assert Interval(3, 3).single() == 3 and a.single() is None
