"""Every arithmetic node and intrinsic, every type, several lane counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Intrinsic
from parhelion.types import BFloat, Bool, Float, Int, Type, TypeCode, UInt

from .elementwise import check

Make = Callable[[Expr, Expr], Expr]
INTEGERS = [Int(w) for w in (8, 16, 32, 64)] + [UInt(w) for w in (8, 16, 32, 64)]
FLOATS = [Float(16), Float(32), Float(64), BFloat()]


def unsigned(t: Type) -> Type:
    return Type(TypeCode.UInt, t.width, t.count)


def _call(
    op: str, result: Callable[[Type], Type] = lambda t: t, arity: int = 2
) -> Make:
    def make(x: Expr, y: Expr) -> Expr:
        return Intrinsic(result(x.type), op, (x, y)[:arity])

    return make


def _imm(x: Expr, value: Any) -> Expr:
    return build.imm(value, x.type)


BASIC: dict[str, Make] = {
    kind.__name__: kind for kind in (E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.Min, E.Max)
}
COMPARE: dict[str, Make] = {k.__name__: k for k in (E.EQ, E.NE, E.LT, E.LE)}
CHOICE: dict[str, Make] = {
    "select": lambda x, y: E.Select(E.LT(x, y), x, y),
    "logic": lambda x, y: E.Or(E.And(E.LT(x, y), E.NE(x, y)), E.Not(E.LE(x, y))),
}


def _by(c: int) -> dict[str, Make]:
    return {
        f"div {c}": lambda x, y: E.Div(x, _imm(x, c)),
        f"mod {c}": lambda x, y: E.Mod(x, _imm(x, c)),
    }


def constants(t: Type) -> dict[str, Make]:
    found: dict[str, Make] = {}
    for c in (0, 1, 2, 3, 5, 7, 8, 10, 64, 127, -1, -2, -3, -8, int(t.lowest())):
        if t.lowest() <= c <= t.highest():
            found |= _by(c)
    for c in (0, 1, 3, t.width - 1, t.width, t.width + 5, -1, -2):
        if t.lowest() <= c:
            for op in ("shift_left", "shift_right", "rounding_shift_right"):
                found[f"{op} {c}"] = lambda x, y, c=c, op=op: Intrinsic(  # type: ignore[misc]
                    x.type, op, (x, _imm(x, c))
                )
    return found


def huge_shift(name: str, x: Any, y: Any) -> bool:
    """Amounts for which the evaluator's exact integers would grow without bound."""
    return name.startswith("rounding_shift") and abs(y) > 256


def fixed_point(t: Type) -> dict[str, Make]:
    found: dict[str, Make] = {}
    for op in [
        "bit_and",
        "bit_or",
        "bit_xor",
        "shift_left",
        "shift_right",
        "div_round_to_zero",
        "mod_round_to_zero",
        "halving_add",
        "halving_sub",
        "rounding_halving_add",
        "rounding_shift_left",
        "rounding_shift_right",
        "saturating_add",
        "saturating_sub",
    ]:
        found[op] = _call(op)
    for op in ("bit_not", "popcount", "clz", "ctz"):
        found[op] = _call(op, arity=1)
    found["abs"] = _call("abs", unsigned, 1)
    found["absd"] = _call("absd", unsigned)
    if t.width < 64:

        def wide(t: Type) -> Type:
            return t.with_bits(2 * t.width)

        def signed(t: Type) -> Type:
            return Int(2 * t.width, t.count)

        found["widening_add"] = _call("widening_add", wide)
        found["widening_sub"] = _call("widening_sub", signed)
        found["widening_mul"] = _call("widening_mul", wide)
        found["widening_shift_left"] = _call("widening_shift_left", wide)
        found["widening_shift_right"] = _call("widening_shift_right", wide)
        for op in ("widen_right_add", "widen_right_sub", "widen_right_mul"):
            found[op] = lambda x, y, op=op: Intrinsic(  # type: ignore[misc]
                wide(x.type), op, (build.cast(wide(x.type), x), y)
            )
    for c in (0, 1, t.width - 1, t.width, t.width + 2):
        for op in ("mul_shift_right", "rounding_mul_shift_right"):
            found[f"{op} {c}"] = lambda x, y, op=op, c=c: Intrinsic(  # type: ignore[misc]
                x.type, op, (x, y, build.imm(c, unsigned(x.type)))
            )
    return found


def casts(t: Type) -> dict[str, Make]:
    found: dict[str, Make] = {}
    for to in [*INTEGERS, *FLOATS, Bool()]:
        found[f"cast {to}"] = lambda x, y, to=to: E.Cast(  # type: ignore[misc]
            to.with_lanes(x.type.count), x
        )
        found[f"saturating_cast {to}"] = lambda x, y, to=to: Intrinsic(  # type: ignore[misc]
            to.with_lanes(x.type.count), "saturating_cast", (x,)
        )
    return found


@pytest.mark.parametrize("lanes", [1, 3, 16])
@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_integers(t: Type, lanes: int) -> None:
    makes = BASIC | COMPARE | CHOICE | fixed_point(t) | constants(t) | casts(t)
    check(makes, (t, t), lanes, seed=t.width, skip=huge_shift)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("t", [t for t in INTEGERS if t.is_int()], ids=str)
def test_shifts_of_unsigned_by_signed(t: Type, lanes: int) -> None:
    ops = ["shift_left", "shift_right", "rounding_shift_left", "rounding_shift_right"]
    makes = {op: _call(op) for op in ops}
    check(makes, (unsigned(t), t), lanes, skip=huge_shift)
    check(makes, (t, unsigned(t)), lanes, skip=huge_shift)


def outside(name: str, x: Any, y: Any) -> bool:
    """Whether a plain cast of the float `x` to an integer is out of its range."""
    if not name.startswith("cast ") or not isinstance(x, float):
        return False
    to = name.split()[1]
    if to.startswith(("float", "bfloat")) or to == "bool":
        return False
    t = UInt(int(to[4:])) if to.startswith("u") else Int(int(to[3:]))
    return not (t.lowest() - 1 < x < t.highest() + 1)


FLOAT_ONLY: dict[str, Make] = {
    **{op: _call(op, arity=1) for op in ("sqrt", "floor", "ceil", "round", "trunc")},
    **{
        op: _call(op, lambda t: Bool(t.count), 1)
        for op in ("is_nan", "is_inf", "is_finite")
    },
    "abs": _call("abs", arity=1),
    "absd": _call("absd"),
    "reciprocal": lambda x, y: E.Div(x, _imm(x, 3.0)),
}


@pytest.mark.parametrize("lanes", [1, 5, 16])
@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_floats(t: Type, lanes: int) -> None:
    makes = BASIC | COMPARE | CHOICE | FLOAT_ONLY | casts(t)
    check(makes, (t, t), lanes, seed=t.width, skip=outside)


@pytest.mark.parametrize("lanes", [1, 6, 32])
def test_bools(lanes: int) -> None:
    logic: dict[str, Make] = {
        "and": E.And,
        "or": E.Or,
        "not": lambda x, y: E.Not(x),
        "min": E.Min,
        "max": E.Max,
        "eq": E.EQ,
        "lt": E.LT,
        "select": lambda x, y: E.Select(x, y, E.Not(y)),
    }
    to = {k: v for k, v in casts(Bool()).items() if k.startswith("cast")}
    check(logic | to, (Bool(), Bool()), lanes)
