"""Python numbers are weakly typed; NumPy scalars are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl

x = hl.Var("x")
TYPES = [
    hl.Int(8),
    hl.Int(16),
    hl.Int(32),
    hl.Int(64),
    hl.UInt(8),
    hl.UInt(16),
    hl.UInt(32),
    hl.UInt(64),
    hl.Float(16),
    hl.Float(32),
    hl.Float(64),
    hl.BFloat(16),
]


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (3, hl.Int(32)),
        (-3, hl.Int(32)),
        (2**31, hl.Int(64)),
        (-(2**63), hl.Int(64)),
        (2.5, hl.Float(32)),
        (True, hl.Bool()),
        (np.float32(4.5), hl.Float(32)),
        (np.float64(4.5), hl.Float(64)),
        (np.float16(4.5), hl.Float(16)),
        (np.uint8(3), hl.UInt(8)),
        (np.int64(3), hl.Int(64)),
        (np.uint64(2**64 - 1), hl.UInt(64)),
        (np.bool_(True), hl.Bool()),
        (np.array(7, np.int16), hl.Int(16)),
    ],
)
def test_alone(value: hl.ExprLike, type: hl.Type) -> None:
    assert hl.Expr(value).type() is type


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_an_integer_takes_the_other_operands_type(type: hl.Type) -> None:
    e = hl.cast(type, x)
    assert (e + 3).type() is type
    assert (3 - e).type() is type
    assert hl.max(3, e).type() is type
    assert hl.select(x < 3, e, 3).type() is type
    assert hl.clamp(e, 0, 3).type() is type


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_a_float_literal_keeps_floats_and_lifts_integers(type: hl.Type) -> None:
    e = hl.cast(type, x)
    want = type if type.is_float() else hl.Float(32)
    assert (e * 0.5).type() is want
    assert (0.5 - e).type() is want


def test_numpy_scalars_promote() -> None:
    e = hl.u8(x)
    assert (e + np.int16(3)).type() is hl.Int(16)
    assert (np.uint16(3) * e).type() is hl.UInt(16)
    assert (e + np.float64(1)).type() is hl.Float(64)
    assert (np.float32(1) / e).type() is hl.Float(32)


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda e: e + 300, 300),
        (lambda e: 300 + e, 300),
        (lambda e: e - -1, -1),
        (lambda e: e < 256, 256),
        (lambda e: hl.min(e, 300), 300),
        (lambda e: hl.clamp(e, 0, 300), 300),
        (lambda e: hl.select(x < 3, 300, e), 300),
        (lambda e: e & 256, 256),
        (lambda e: hl.mux(x, [e, 300]), 300),
    ],
)
def test_one_that_does_not_fit_is_an_error(make: object, value: int) -> None:
    with pytest.raises(
        hl.LiteralError, match=rf"the literal {value} does not fit uint8"
    ):
        make(hl.u8(x))  # type: ignore[operator]


def test_an_integer_that_a_float_cannot_hold() -> None:
    with pytest.raises(hl.LiteralError, match="16777217 is not exact in float32"):
        hl.f32(x) + 16777217
    assert (hl.f64(x) + 16777217).type() is hl.Float(64)


def test_a_float_too_large() -> None:
    with pytest.raises(hl.LiteralError, match="too large for float16"):
        hl.f16(x) * 1e6
    with pytest.raises(hl.LiteralError, match="too large for float32"):
        hl.Expr(1e300)
    assert hl.f64(1e300).type() is hl.Float(64)
    assert (hl.f32(x) * float("inf")).type() is hl.Float(32)


def test_bool_literals() -> None:
    b = x < 3
    assert (b & True).type() is hl.Bool()
    assert (b == True).type() is hl.Bool()  # noqa: E712
    assert (x + True).type() is hl.Int(32)
    with pytest.raises(hl.LiteralError):
        b + 2


def test_an_explicit_cast_wraps_and_truncates() -> None:
    from parhelion.ir.build import imm

    assert hl.u8(300)._node is imm(44, hl.UInt(8))
    assert hl.u8(-1)._node is imm(255, hl.UInt(8))
    assert hl.i8(200)._node is imm(-56, hl.Int(8))
    assert hl.i32(-2.9)._node is imm(-2, hl.Int(32))
    assert hl.u64(2**64 - 1)._node is imm(2**64 - 1, hl.UInt(64))
    assert hl.cast(hl.Bool(), 2)._node is imm(True, hl.Bool())
    assert hl.cast(hl.Bool(), 0.5)._node is imm(True, hl.Bool())
    assert hl.u8_sat(300)._node is imm(255, hl.UInt(8))
    assert hl.i8_sat(-300)._node is imm(-128, hl.Int(8))
    assert hl.f64(0.1)._node is imm(0.1, hl.Float(64))


def test_overflow_among_literals_is_an_error() -> None:
    most = hl.Expr(2**31 - 1)
    overflowing: list[Callable[[], hl.Expr]] = [
        lambda: most + 1,
        lambda: -most - 2,
        lambda: hl.Expr(2**30) * 4,
        lambda: -hl.Expr(-(2**31)),
        lambda: hl.Expr(-(2**31)) / -1,
        lambda: hl.i64(2**63 - 1) + 1,
        lambda: hl.Expr(10) ** 10,
    ]
    for make in overflowing:
        with pytest.raises(hl.LiteralError, match="overflows int"):
            make()


def test_narrow_constants_wrap() -> None:
    from parhelion.ir.build import imm

    assert (hl.i8(127) + 1)._node is imm(-128, hl.Int(8))
    assert (hl.u8(200) + hl.u8(100))._node is imm(44, hl.UInt(8))
    assert (hl.i8(-128) / -1)._node is imm(-128, hl.Int(8))


def test_limits_of_types() -> None:
    assert hl.UInt(8).max().type() is hl.UInt(8)
    assert hl.Int(16).min()._node.value == -32768  # type: ignore[attr-defined]
    assert hl.Float(32).min()._node.value == float("-inf")  # type: ignore[attr-defined]
