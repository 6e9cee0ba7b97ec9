"""Symbolic bounds: tight on the forms that images use, and never wrong."""

from __future__ import annotations

import pytest

from parhelion.analysis.bounds import bounds_of
from parhelion.analysis.symbolic import SymInterval
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import text
from parhelion.types import INT32, Float, UInt
from tests.analysis.drawing import F32, NARROW, Drawing, load, well_behaved

U8, U16, U32 = UInt(8), UInt(16), UInt(32)
a, b, n = Var("a", INT32), Var("b", INT32), Var("n", INT32)
w = Var("w", INT32, lo=B.int32(0))
p = Var("p", Float(32))
x, y = Var("x", INT32), Var("y", INT32)
let = Var("let", INT32, value=B.add(x, B.int32(1)))
image = BufferSym("img", U8, 1, "input")
floats = BufferSym("fl", F32, 1, "input")
SCOPE = {x: SymInterval(a, b), y: SymInterval(B.int32(0), B.int32(9))}


def i(value: int) -> Expr:
    return B.int32(value)


def f(value: float) -> Expr:
    return B.imm(value, F32)


def call(op: str, t: object, *args: Expr) -> Expr:
    return E.Intrinsic(t, op, args)  # type: ignore[arg-type]


PIXEL = E.ImageLoad(U8, image, (x,))
FLOAT = E.ImageLoad(F32, floats, (x,))
UNIT = B.maximum(B.minimum(FLOAT, f(1.0)), f(0.0))

CASES: list[tuple[str, Expr, str, str]] = [
    ("shift", B.add(x, i(1)), "a + 1", "b + 1"),
    ("scale", B.sub(B.mul(x, i(2)), i(1)), "a*2 + -1", "b*2 + -1"),
    ("negated", B.sub(i(5), x), "5 - b", "5 - a"),
    ("halved", B.div(x, i(2)), "a/2", "b/2"),
    ("halved and back", B.mul(B.div(x, i(2)), i(2)), "a/2*2", "b/2*2"),
    ("remainder", B.mod(x, i(4)), "0", "3"),
    ("remainder of little", B.mod(y, i(100)), "0", "9"),
    ("tile", B.mod(B.add(B.mul(n, i(8)), B.mod(y, i(4))), i(8)), "0", "3"),
    (
        "clamp",
        B.clamp(x, i(0), B.sub(w, i(1))),
        "max(min(a, w - 1), 0)",
        "max(min(b, w - 1), 0)",
    ),
    (
        "likely clamp",
        B.likely(B.clamp(B.likely(x), i(0), i(7))),
        "max(min(a, 7), 0)",
        "max(min(b, 7), 0)",
    ),
    ("guarded", B.select(B.lt(x, i(10)), x, i(10)), "min(a, 10)", "10"),
    ("tent", B.select(B.lt(y, i(5)), y, B.sub(i(9), y)), "0", "4"),
    ("dead branch", B.select(B.lt(y, i(10)), y, x), "0", "9"),
    (
        "both sides",
        B.select(B.lor(B.lt(x, i(0)), B.lt(n, x)), i(0), x),
        "0",
        "max(min(b, n), 0)",
    ),
    (
        "fixed choice",
        E.Select(E.LT(n, w), y, i(3)),
        "select(n < w, 0, 3)",
        "select(n < w, 9, 3)",
    ),
    ("parity", B.sub(x, B.mul(B.div(x, i(2)), i(2))), "0", "1"),
    ("upper half", B.sub(x, B.div(x, i(2))), "a - a/2", "b - b/2"),
    ("half step", B.sub(B.div(B.add(x, i(1)), i(2)), B.div(x, i(2))), "0", "1"),
    ("whole again", B.add(B.mul(B.div(x, i(4)), i(4)), B.mod(x, i(4))), "a", "b"),
    ("rounded down", B.sub(x, B.mod(x, i(8))), "a/8*8", "b/8*8"),
    ("cancelled", B.sub(B.add(x, i(1)), x), "1", "1"),
    ("cancelled let", B.sub(let, x), "1", "1"),
    ("let expression", E.Let(n, B.add(x, i(1)), B.sub(n, x)), "1", "1"),
    ("product", B.mul(x, y), "min(a*9, 0)", "max(b*9, 0)"),
    ("product with a point", B.mul(x, w), "a*w", "b*w"),
    ("square", B.mul(B.sub(y, i(4)), B.sub(y, i(4))), "0", "25"),
    ("divided by", B.div(i(100), B.add(y, i(1))), "10", "100"),
    ("min", B.minimum(x, y), "min(a, 0)", "min(b, 9)"),
    ("pixel", PIXEL, "u8(0)", "u8(255)"),
    ("pixel as index", E.Cast(INT32, PIXEL), "0", "255"),
    ("pixels that may wrap", E.Add(PIXEL, PIXEL), "u8(0)", "u8(255)"),
    (
        "pixels widened",
        E.Add(E.Cast(U16, PIXEL), E.Cast(U16, PIXEL)),
        "u16(0)",
        "u16(510)",
    ),
    (
        "one pixel less another",
        E.Sub(E.Cast(INT32, PIXEL), E.Cast(INT32, PIXEL)),
        "0",
        "0",
    ),
    ("float to table", E.Cast(INT32, E.Mul(UNIT, f(255.0))), "0", "255"),
    ("open float", FLOAT, "None", "None"),
    ("open float to pixel", E.Cast(U8, FLOAT), "u8(0)", "u8(255)"),
    ("floor", call("floor", F32, E.Mul(E.Cast(F32, y), f(0.5))), "0.0f", "4.0f"),
    (
        "resample",
        E.Cast(INT32, call("floor", F32, E.Mul(E.Cast(F32, x), f(0.5)))),
        "int32(floor(float32(a)*0.5f))",
        "int32(floor(float32(b)*0.5f))",
    ),
    ("float parameter", B.maximum(B.minimum(FLOAT, p), f(0.0)), "0.0f", "max(p, 0.0f)"),
    ("abs", call("abs", U32, B.sub(y, i(5))), "u32(0)", "u32(5)"),
    (
        "abs as index",
        E.Cast(INT32, call("abs", U32, B.sub(x, i(5)))),
        "0",
        "max(b + -5, 5 - a)",
    ),
    ("absd", call("absd", U8, PIXEL, B.imm(10, U8)), "u8(0)", "u8(245)"),
    ("shift right", call("shift_right", INT32, x, i(2)), "a/4", "b/4"),
    ("shift left", call("shift_left", INT32, x, i(2)), "a*4", "b*4"),
    ("mask", call("bit_and", INT32, x, i(7)), "0", "7"),
    ("align", call("bit_and", INT32, x, i(-8)), "a/8*8", "b/8*8"),
    ("average", call("halving_add", U8, PIXEL, B.imm(10, U8)), "u8(5)", "u8(132)"),
    (
        "saturated",
        call("saturating_cast", U8, x),
        "saturating_cast<uint8>(a)",
        "saturating_cast<uint8>(b)",
    ),
    (
        "promised",
        call("promise_clamped", INT32, E.Cast(INT32, FLOAT), i(0), n),
        "0",
        "n",
    ),
    (
        "narrowed pixel",
        E.Select(E.LT(PIXEL, B.imm(10, U8)), PIXEL, B.imm(9, U8)),
        "u8(0)",
        "u8(9)",
    ),
    ("to unsigned", E.Cast(U8, y), "u8(0)", "u8(9)"),
    ("to unsigned, who knows", E.Cast(U8, x), "u8(0)", "u8(255)"),
    ("vector", E.Ramp(x, i(1), 8), "a", "b + 7"),
    ("broadcast", E.Add(E.Ramp(y, i(2), 4), E.Broadcast(n, 4)), "n", "n + 15"),
]


def shown(e: Expr | None) -> str:
    return "None" if e is None else text(e)


@pytest.mark.parametrize(
    ("e", "lo", "hi"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_forms_of_images(e: Expr, lo: str, hi: str) -> None:
    found = bounds_of(e, SCOPE)
    assert (shown(found.lo), shown(found.hi)) == (lo, hi)


def test_outside_the_scope_is_a_point() -> None:
    e = B.add(B.mul(n, i(2)), w)
    assert bounds_of(e, SCOPE) == (e, e)


def test_data_is_never_part_of_a_bound() -> None:
    lut = E.ImageLoad(INT32, BufferSym("lut", INT32, 1, "input"), (n,))
    assert bounds_of(lut, SCOPE) == (None, None)


def test_values_of_funcs() -> None:
    d = Drawing(0)
    held = E.FuncCall(INT32, d.func, (x,), 0)
    known = bounds_of(B.add(held, i(1)), SCOPE, lambda g, k: SymInterval(i(0), n))
    assert (shown(known.lo), shown(known.hi)) == ("1", "n + 1")


def test_open_scopes() -> None:
    scope = {x: SymInterval(None, None)}
    assert bounds_of(x, scope) == (None, None)
    clamped = bounds_of(B.clamp(x, i(0), i(9)), scope)
    assert clamped == (i(0), i(9))
    assert bounds_of(B.mod(x, i(5)), scope) == (i(0), i(4))


def test_an_empty_scope_has_a_place() -> None:
    """No side of a select is taken; what it clamps stays clamped."""
    scope = {x: SymInterval(i(4), i(3))}
    outside = B.lor(B.lt(x, n), B.le(B.add(n, w), x))
    inside = B.clamp(x, n, B.sub(B.add(n, w), i(1)))
    e = E.Select(outside, B.add(B.mod(B.sub(x, n), w), n), inside)
    found = bounds_of(e, scope)
    assert found.lo is not None and found.hi is not None


def test_conditions_see_each_other() -> None:
    """x < y and y < 5 together bound x, whichever comes first."""
    scope = {x: SymInterval(i(0), None), y: SymInterval(None, None)}
    for cond in (
        B.land(B.lt(x, y), B.lt(y, i(5))),
        B.land(B.lt(y, i(5)), B.lt(x, y)),
    ):
        assert bounds_of(E.Select(cond, x, i(0)), scope) == (i(0), i(3))


@pytest.mark.parametrize("seed", range(8))
def test_contains_every_value(seed: int) -> None:
    """Random expressions, scopes and points: the value lies within the bounds."""

    def values(g: object, k: int) -> SymInterval:
        return SymInterval(i(0), i(255))

    tried = 0
    for k in range(220):
        d = Drawing(seed * 10_000 + k)
        e = d.expr(d.rng.choice([INT32] * 6 + [*NARROW, F32]), 4)
        scope = d.scope()
        found = bounds_of(e, scope, values)
        for _ in range(4):
            env = d.free_point()
            at = d.inside(scope, env)
            inside = all(
                (r.lo is None or evaluate(r.lo, env) <= at[v])
                and (r.hi is None or at[v] <= evaluate(r.hi, env))
                for v, r in scope.items()
            )
            ends = [end for end in found if end is not None]
            if not inside or not well_behaved(e, at):
                continue
            if not all(well_behaved(end, env) for end in ends):
                continue
            tried += 1
            value = evaluate(e, at, load)
            where = f"{text(e)} = {value} in {shown(found.lo)} .. {shown(found.hi)}"
            if found.lo is not None:
                assert evaluate(found.lo, env) <= value, where
            if found.hi is not None:
                assert value <= evaluate(found.hi, env), where
    assert tried > 500


def test_speed_of_shared_work() -> None:
    """A sum of many shifted terms is taken apart once, not once per prefix."""
    e: Expr = x
    for k in range(300):
        e = B.add(e, B.mul(y, i(k % 3)))
    found = bounds_of(e, SCOPE)
    assert shown(found.lo) == "a"


def test_selects_over_selects_do_not_explode() -> None:
    e: Expr = x
    for k in range(60):
        e = E.Select(E.LT(e, i(k)), B.add(e, i(1)), B.sub(e, i(1)))
    found = bounds_of(e, {x: SymInterval(i(0), i(100))})
    for value in range(101):
        assert evaluate(found.lo, {}) <= evaluate(e, {x: value})  # type: ignore[arg-type]
        assert evaluate(e, {x: value}) <= evaluate(found.hi, {})  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize(
    "op",
    ["sqrt", "exp", "log", "sin", "cos", "asin", "acos", "atan", "sinh", "cosh", "tanh"]
    + [
        "asinh",
        "acosh",
        "erf",
        "fast_exp",
        "fast_log",
        "floor",
        "ceil",
        "abs",
        "trunc",
    ],
)
def test_functions(op: str, width: int) -> None:
    """Every value over a range lies in the bounds, with constant and symbolic ends."""
    t = Float(width)
    e = call(op, t, E.Mul(E.Cast(t, x), B.imm(0.137, t)))
    for lo, hi in ((-40, 40), (1, 60), (-7, 7), (7, 9)):
        ends = {a: lo, b: hi}
        constant = bounds_of(e, {x: SymInterval(i(lo), i(hi))})
        symbolic = bounds_of(e, {x: SymInterval(a, b)})
        for value in range(lo, hi + 1):
            at = evaluate(e, {x: value})
            if at != at:
                continue
            for found in (constant, symbolic):
                low = None if found.lo is None else evaluate(found.lo, ends)
                high = None if found.hi is None else evaluate(found.hi, ends)
                assert low is None or low <= at or low != low
                assert high is None or at <= high or high != high
