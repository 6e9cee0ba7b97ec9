"""Alignment of integer expressions."""

from __future__ import annotations

import pytest

from parhelion.analysis.modulus import Alignment, alignment
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Intrinsic, Load, Var
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, UInt

U8 = UInt(8)
x, y = Var("x", INT32), Var("y", INT32)
u = Var("u", U8)
t = Var("t", INT32, value=E.Mul(x, B.int32(4)))
pixel = Load(INT32, BufferSym("in", INT32, 1, "input"), x, None)


def k(value: int) -> Expr:
    return B.int32(value)


@pytest.mark.parametrize(
    "e, expected",
    [
        (k(12), (0, 12)),
        (x, (1, 0)),
        (E.Mul(x, k(8)), (8, 0)),
        (E.Add(E.Mul(x, k(8)), k(11)), (8, 3)),
        (E.Sub(k(3), E.Mul(x, k(6))), (6, 3)),
        (E.Add(E.Mul(x, k(8)), E.Mul(y, k(12))), (4, 0)),
        (E.Mul(E.Mul(x, k(4)), E.Mul(y, k(6))), (24, 0)),
        (E.Div(E.Mul(x, k(8)), k(4)), (2, 0)),
        (E.Mod(E.Add(E.Mul(x, k(8)), k(11)), k(4)), (0, 3)),
        (E.Mod(E.Mul(x, k(6)), k(8)), (2, 0)),
        (E.Min(E.Mul(x, k(8)), E.Add(E.Mul(y, k(8)), k(4))), (4, 0)),
        (E.Select(E.LT(x, y), k(3), k(11)), (8, 3)),
        (t, (4, 0)),
        (E.Ramp(E.Mul(x, k(8)), k(4), 4), (4, 0)),
        (E.Broadcast(k(5), 4), (0, 5)),
        (B.likely(E.Mul(x, k(8))), (8, 0)),
        (Intrinsic(INT32, "shift_left", (x, k(3))), (8, 0)),
        # Wrapping keeps powers of two, and nothing else.
        (E.Mul(u, B.imm(8, U8)), (8, 0)),
        (E.Mul(u, B.imm(6, U8)), (2, 0)),
        (E.Mul(pixel, k(12)), (4, 0)),
        (E.Cast(U8, E.Mul(x, k(24))), (8, 0)),
        (E.Cast(INT32, E.Mul(u, B.imm(8, U8))), (8, 0)),
    ],
)
def test_alignment(e: Expr, expected: Alignment) -> None:
    assert alignment(e) == expected
