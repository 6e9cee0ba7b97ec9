"""Every operation of the interpreter against exact arithmetic on single numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from parhelion.interp import interpret
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import Value, evaluate
from parhelion.ir.expr import Expr, Intrinsic, Var
from parhelion.types import (
    BOOL,
    INT32,
    BFloat,
    Bool,
    Float,
    Int,
    Type,
    UInt,
    promote,
)
from tests.support.handmade import define, image, load, variables

(x,) = variables("x")
INTS = [Int(8), UInt(8), Int(16), UInt(16), Int(32), UInt(32), Int(64), UInt(64)]
FLOATS = [Float(16), Float(32), Float(64), BFloat(16)]


def numbers(t: Type) -> list[Value]:
    """Values of a type where something may go wrong."""
    if t.is_bool():
        return [False, True]
    if t.is_int_or_uint():
        low, high = int(t.lowest()), int(t.highest())
        near = [0, 1, 2, 3, 5, 7, 10, 100, high // 2, high // 2 + 1]
        found = {low, low + 1, low + 2, high - 1, high} | {v for v in near if v <= high}
        found |= {-v for v in near if low <= -v}
        return sorted(found)
    some = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1 / 3, 100.25, -7.75, 1e-5, 3e4]
    special = [math.inf, -math.inf, math.nan]
    rounded = [E.FloatImm(t, E.float_bits(s, t)).value for s in some]
    return [*rounded, *special]


def pixels(values: list[Value], t: Type) -> np.ndarray:
    if t.is_bfloat():
        return np.array([E.float_bits(float(v), t) for v in values], np.uint16)
    return np.array(values, t.to_numpy())


def plain(a: np.ndarray, t: Type) -> list[Value]:
    """The elements as Python numbers."""
    if t.is_bfloat():
        return [E.FloatImm(t, int(bits)).value for bits in a]
    return [v.item() for v in a]


def compare(make, *types: Type, domain=None) -> None:  # type: ignore[no-untyped-def]
    """``make(a, b, …)`` over all combinations of the types' `numbers`."""
    values = [numbers(t) for t in types]
    if domain is not None:
        values = domain
    points = list(itertools.product(*values))
    images = [image("operand", t, 1) for t in types]
    func = define("f", [x], make(*[load(i, x) for i in images]))
    given = {
        i: (pixels([p[k] for p in points], t), (0,))
        for k, (i, t) in enumerate(zip(images, types, strict=True))
    }
    (made,) = interpret(func, [(0, len(points))], images=given)
    vars = [Var(f"v{k}", t) for k, t in enumerate(types)]
    e = make(*vars)
    want = [evaluate(e, dict(zip(vars, p, strict=True))) for p in points]
    for p, got, expected in zip(points, plain(made, func.types[0]), want, strict=True):
        # By text: NaN is NaN, and -0.0 is not 0.0.
        assert str(got) == str(expected), (e, p)


def intrinsic(op: str, result: Type):  # type: ignore[no-untyped-def]
    return lambda *args: Intrinsic(result, op, tuple(args))


def widened(t: Type, signed: bool = False) -> Type:
    return (Int if signed or t.is_int() else UInt)(t.width * 2)


@pytest.mark.parametrize("type", INTS + FLOATS, ids=str)
@pytest.mark.parametrize(
    "node",
    [E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.Min, E.Max, E.EQ, E.NE, E.LT, E.LE],
    ids=lambda n: n.__name__,
)
def test_binary(node: type[Expr], type: Type) -> None:
    compare(node, type, type)


@pytest.mark.parametrize("node", [E.And, E.Or, E.EQ, E.NE, E.Min, E.Max])
def test_bool(node: type[Expr]) -> None:
    compare(node, BOOL, BOOL)
    compare(E.Not, BOOL)


@pytest.mark.parametrize("type", [Int(8), UInt(8)], ids=str)
@pytest.mark.parametrize("node", [E.Div, E.Mod])
def test_division_of_all_bytes(node: type[Expr], type: Type) -> None:
    every = [list(range(int(type.lowest()), int(type.highest()) + 1))]
    compare(node, type, type, domain=every * 2)


@pytest.mark.parametrize("type", INTS, ids=str)
@pytest.mark.parametrize(
    "op",
    [
        *("bit_and", "bit_or", "bit_xor", "absd"),
        *("div_round_to_zero", "mod_round_to_zero"),
        *("halving_add", "halving_sub", "rounding_halving_add"),
        *("saturating_add", "saturating_sub"),
    ],
)
def test_two_integers(op: str, type: Type) -> None:
    result = UInt(type.width) if op == "absd" else type
    compare(intrinsic(op, result), type, type)


@pytest.mark.parametrize("type", INTS, ids=str)
@pytest.mark.parametrize("op", ["bit_not", "popcount", "clz", "ctz", "abs"])
def test_one_integer(op: str, type: Type) -> None:
    compare(intrinsic(op, UInt(type.width) if op == "abs" else type), type)


@pytest.mark.parametrize("type", INTS, ids=str)
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    "op", ["shift_left", "shift_right", "rounding_shift_left", "rounding_shift_right"]
)
def test_shifts(op: str, type: Type, signed: bool) -> None:
    amounts = list(range(-type.width if signed else 0, type.width + 1))
    by = (Int if signed else UInt)(type.width)
    compare(intrinsic(op, type), type, by, domain=[numbers(type), amounts])


@pytest.mark.parametrize("type", INTS[:6], ids=str)
def test_widening(type: Type) -> None:
    wide = widened(type)
    compare(intrinsic("widening_add", wide), type, type)
    compare(intrinsic("widening_mul", wide), type, type)
    compare(intrinsic("widening_sub", widened(type, signed=True)), type, type)
    for op in ("widen_right_add", "widen_right_sub", "widen_right_mul"):
        compare(intrinsic(op, wide), wide, type)
    amounts = list(range(type.width))
    for op in ("widening_shift_left", "widening_shift_right"):
        compare(
            intrinsic(op, wide), type, UInt(type.width), domain=[numbers(type), amounts]
        )


@pytest.mark.parametrize("type", INTS, ids=str)
@pytest.mark.parametrize("op", ["mul_shift_right", "rounding_mul_shift_right"])
def test_mul_shift_right(op: str, type: Type) -> None:
    amounts = [0, 1, 5, type.width - 1, type.width]
    compare(
        intrinsic(op, type),
        *(type, type, UInt(type.width)),
        domain=[numbers(type), numbers(type), amounts],
    )


@pytest.mark.parametrize("to", [*INTS, *FLOATS, Bool()], ids=str)
@pytest.mark.parametrize("of", [*INTS, *FLOATS, Bool()], ids=str)
def test_casts(of: Type, to: Type) -> None:
    domain = None
    if of.is_float() and to.is_int_or_uint() and not to.is_bool():
        # Out of the range of an integer the result is unspecified.
        domain = [[v for v in numbers(of) if 0 <= v <= 127]]
    compare(lambda a: E.Cast(to, a), of, domain=domain)
    if not to.is_float():
        compare(intrinsic("saturating_cast", to), of)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_floats(type: Type) -> None:
    for op in ("sqrt", "floor", "ceil", "round", "trunc", "abs", "strict_float"):
        compare(intrinsic(op, type), type)
    for op in ("is_nan", "is_inf", "is_finite"):
        compare(intrinsic(op, BOOL), type)
    compare(intrinsic("absd", type), type, type)
    same = UInt(type.width)
    compare(lambda a: E.Reinterpret(same, a), type)
    compare(lambda a: E.Reinterpret(type, E.Reinterpret(same, a)), type)


def test_select_and_lets() -> None:
    compare(E.Select, BOOL, INT32, INT32)
    v = Var("v", INT32)
    compare(lambda a: E.Let(v, B.add(a, a), B.mul(v, B.add(v, a))), INT32)


def test_promotion_is_symmetric() -> None:
    for a, b in itertools.product(INTS + FLOATS, repeat=2):
        assert promote(a, b) is promote(b, a)
