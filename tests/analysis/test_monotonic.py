"""Directions and slopes of expressions as one Var grows."""

from __future__ import annotations

import pytest

from parhelion.analysis.monotonic import Monotonic, monotonic, slope
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import text
from parhelion.types import INT32, Float, UInt
from tests.analysis.drawing import Drawing, load, well_behaved

UP, DOWN = Monotonic.INCREASING, Monotonic.DECREASING
STILL, UNKNOWN = Monotonic.CONSTANT, Monotonic.UNKNOWN
F32 = Float(32)
x, n = Var("x", INT32), Var("n", INT32, lo=B.int32(0))
m = Var("m", INT32)
let = Var("let", INT32, value=B.sub(n, x))
image = BufferSym("img", UInt(8), 1, "input")
out = BufferSym("out", UInt(8), 1, "output")


def i(value: int) -> Expr:
    return B.int32(value)


ROOT = E.Intrinsic(F32, "sqrt", (E.Cast(F32, B.sub(x, i(5))),))

CASES: list[tuple[str, Expr, Monotonic]] = [
    ("itself", x, UP),
    ("another", n, STILL),
    ("scaled", B.add(B.mul(x, i(3)), n), UP),
    ("negated", B.sub(n, x), DOWN),
    ("let", B.mul(let, i(2)), DOWN),
    ("cancelled", B.sub(B.add(x, n), x), STILL),
    ("cancelled let", B.add(let, x), STILL),
    ("halved", B.div(x, i(2)), UP),
    ("upper half", B.sub(x, B.div(x, i(2))), UP),
    ("too much", B.sub(x, B.mul(B.div(x, i(2)), i(2))), UNKNOWN),
    ("remainder", B.mod(x, i(4)), UNKNOWN),
    ("times unknown", B.mul(x, m), UNKNOWN),
    ("times extent", B.mul(x, n), UP),
    ("divided by itself", B.div(i(100), x), UNKNOWN),
    ("clamped", B.clamp(x, i(0), n), UP),
    ("likely", B.likely(B.clamp(x, i(0), n)), UP),
    ("opposed", B.minimum(x, B.sub(n, x)), UNKNOWN),
    ("stays at the end", B.select(B.lt(x, n), x, n), UP),
    ("jumps back", B.select(B.lt(x, n), x, i(0)), UNKNOWN),
    ("fixed condition", B.select(B.lt(m, n), x, B.mul(x, i(2))), UP),
    ("comparison", B.lt(x, n), DOWN),
    ("from", B.le(n, x), UP),
    ("within", B.land(B.le(n, x), B.le(m, x)), UP),
    ("between", B.land(B.le(n, x), B.le(x, m)), UNKNOWN),
    ("to float", E.Mul(E.Cast(F32, x), B.imm(-0.5, F32)), DOWN),
    (
        "rounded",
        E.Intrinsic(F32, "floor", (E.Mul(E.Cast(F32, x), B.imm(0.5, F32)),)),
        UP,
    ),
    ("float comparison", B.lt(E.Cast(F32, x), B.imm(4.5, F32)), DOWN),
    # Below 5 the root is NaN, of which nothing holds; from there on it grows.
    ("root comparison", B.lt(ROOT, B.imm(4.0, F32)), UNKNOWN),
    ("chosen by a root", B.select(B.lt(ROOT, B.imm(4.0, F32)), i(5), i(3)), UNKNOWN),
    ("narrowed", E.Cast(UInt(8), x), UNKNOWN),
    ("narrowed in range", E.Cast(UInt(8), B.clamp(x, i(0), i(255))), UP),
    ("shifted", E.Intrinsic(INT32, "shift_right", (x, i(3))), UP),
    ("inverted", E.Intrinsic(INT32, "bit_not", (x,)), DOWN),
    ("pixel", E.ImageLoad(UInt(8), image, (x,)), UNKNOWN),
    ("fixed pixel", E.ImageLoad(UInt(8), image, (n,)), STILL),
    ("what may be stored to", E.Load(UInt(8), out, n, None), UNKNOWN),
    ("vector", E.Ramp(B.mul(x, i(8)), i(1), 8), UP),
]


@pytest.mark.parametrize(
    ("e", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_direction(e: Expr, expected: Monotonic) -> None:
    assert monotonic(e, x) is expected


def test_slopes() -> None:
    assert slope(B.add(B.mul(x, i(3)), n), x) == (3, 3)
    assert slope(B.div(B.mul(x, i(3)), i(2)), x) == (1, 2)
    assert slope(B.clamp(x, i(0), n), x) == (0, 1)


@pytest.mark.parametrize("seed", range(4))
def test_slope_bounds_every_step(seed: int) -> None:
    steps = 0
    for k in range(400):
        d = Drawing(900_000 + seed * 1000 + k)
        e = d.expr(INT32, 3)
        found = slope(e, d.x)
        if found == (None, None):
            continue
        for _ in range(4):
            env = d.free_point()
            env[d.x], env[d.y] = d.rng.randrange(-12, 12), d.rng.randrange(-9, 9)
            after = env | {d.x: int(env[d.x]) + 1}
            if not well_behaved(e, env) or not well_behaved(e, after):
                continue
            steps += 1
            step = evaluate(e, after, load) - evaluate(e, env, load)
            assert found.contains(step), f"{text(e)} moves by {step}, not in {found}"
    assert steps > 200
