"""The IR's text: exact forms, and reading back gives the very same node."""

from __future__ import annotations

import math

import pytest

from parhelion.errors import DefinitionError
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, FloatImm, Var
from parhelion.ir.function import Function
from parhelion.ir.reader import read
from parhelion.ir.stmt import ForKind, MemoryKind
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import brief, symbols_of, text
from parhelion.schedule.directives import FuncSchedule
from parhelion.types import BOOL, INT32, BFloat, Float, Handle, Int, Type, UInt
from tests.analysis.drawing import F32, NARROW, Drawing

x, y, n = Var("x", INT32), Var("y", INT32), Var("n", INT32)
p, q = Var("p", BOOL), Var("q", BOOL)
f32 = BufferSym("f", F32, 1, "internal")
u8 = BufferSym("out", UInt(8), 1, "output")
image = BufferSym("in", UInt(8), 2, "input")
func = Function("f", FuncSchedule(), None)
func.types = (F32,)
pair = Function("pair", FuncSchedule(), None)
pair.types = (INT32, UInt(8))


def i(value: int) -> Expr:
    return B.int32(value)


def of(value: float, t: Type) -> Expr:
    return B.imm(value, t)


RAMP = E.Ramp(E.Mul(x, i(8)), i(1), 8)
EXPRS: list[tuple[Expr, str]] = [
    (E.Add(E.Mul(x, i(2)), i(-1)), "x*2 + -1"),
    (E.Sub(x, E.Sub(y, n)), "x - (y - n)"),
    (E.Sub(E.Sub(x, y), n), "x - y - n"),
    (E.Mul(E.Add(x, y), E.Div(n, i(4))), "(x + y)*(n/4)"),
    (E.Mod(E.Mul(x, y), i(3)), "x*y % 3"),
    (E.And(E.LT(x, y), E.Or(p, E.Not(q))), "x < y && (p || !q)"),
    (E.Or(E.And(p, q), E.NE(x, i(0))), "p && q || x != 0"),
    (E.Not(E.LE(x, y)), "!(x <= y)"),
    (E.EQ(E.LT(x, y), p), "(x < y) == p"),
    (E.Min(x, E.Max(y, i(0))), "min(x, max(y, 0))"),
    (E.Select(p, x, y), "select(p, x, y)"),
    (E.Cast(F32, x), "float32(x)"),
    (E.Cast(UInt(8), i(3)), "uint8(3)"),
    (of(3, UInt(8)), "u8(3)"),
    (of(-3, Int(16)), "i16(-3)"),
    (B.TRUE, "true"),
    (of(0.1, F32), "0.1f"),
    (of(-0.0, F32), "-0.0f"),
    (of(1e30, F32), "1e+30f"),
    (of(0.1, Float(64)), "f64(0.1)"),
    (of(1.5, Float(16)), "f16(1.5)"),
    (of(1.5, BFloat(16)), "bf16(1.5)"),
    (of(math.inf, F32), "f32(inf)"),
    (of(-math.inf, Float(64)), "f64(-inf)"),
    (of(math.nan, F32), "f32(nan)"),
    (FloatImm(F32, 0x7FC00123), "f32(0x7fc00123)"),
    (E.Reinterpret(UInt(32), of(1.0, F32)), "reinterpret<uint32>(1.0f)"),
    (E.Let(n, E.Add(x, i(1)), E.Mul(n, n)), "(let n = x + 1 in n*n)"),
    (E.Load(F32.with_lanes(8), f32, RAMP, None), "f[ramp(x*8, 1, 8)]"),
    (E.Load(F32, f32, x, p), "f[x if p]"),
    (E.Broadcast(x, 8), "x8(x)"),
    (
        E.Shuffle((RAMP, RAMP), (0, 9)),
        "shuffle(ramp(x*8, 1, 8), ramp(x*8, 1, 8); 0, 9)",
    ),
    (E.VectorReduce("add", RAMP, 2), "reduce_add(ramp(x*8, 1, 8), 2)"),
    (E.FuncCall(F32, func, (x, E.Add(y, i(1))), 0), "f(x, y + 1)"),
    (E.FuncCall(UInt(8), pair, (x,), 1), "pair(x).1"),
    (E.ImageLoad(UInt(8), image, (x, y)), "in(x, y)"),
    (E.Intrinsic(F32, "exp", (of(0.5, F32),)), "exp(0.5f)"),
    (
        E.Intrinsic(UInt(8), "saturating_cast", (x,)),
        "saturating_cast<uint8>(x)",
    ),
    (E.Intrinsic(UInt(32), "abs", (x,)), "abs(x)"),
    (
        E.Extern(F32, "expm1f", (of(1.0, F32),)),
        'extern<float32>("expm1f", 1.0f)',
    ),
    (E.StringImm(Handle(), 'a "b"\n'), '"a \\"b\\"\\n"'),
]


@pytest.mark.parametrize(("e", "expected"), EXPRS, ids=[c[1] for c in EXPRS])
def test_expression(e: Expr, expected: str) -> None:
    assert text(e) == expected
    assert read(expected, symbols_of(e)) is e


def program() -> S.Stmt:
    """Every kind of statement."""
    other_x = Var("x", INT32)
    kernel = S.For(
        x,
        i(0),
        n,
        ForKind.PARALLEL,
        B.block(
            S.LetStmt(other_x, E.Add(x, i(1))),
            S.Store(f32, of(0.0, F32), other_x, None),
            S.Store(
                f32, E.Broadcast(of(1.0, F32), 8), RAMP, E.LT(RAMP, E.Broadcast(n, 8))
            ),
            S.If(
                E.LT(x, y),
                S.Evaluate(E.Intrinsic(INT32, "print", (x,))),
                S.If(p, S.Free(f32), S.NOP),
            ),
            S.If(q, S.For(y, i(0), i(4), ForKind.UNROLLED, S.NOP), None),
            S.Prefetch(f32, E.Add(x, n), i(8), False),
            S.Prefetch(f32, x, n, True),
        ),
    )
    allocated = B.block(
        S.Allocate(f32, (i(16), E.Add(n, i(1))), B.TRUE, MemoryKind.STACK, 4),
        S.Produce(func, True, kernel),
        S.Produce(func, False, S.Store(u8, of(1, UInt(8)), x, None)),
    )
    shared = BufferSym("tile", F32, 1, "internal")
    device = S.For(
        x,
        i(0),
        n,
        ForKind.GPU_BLOCK,
        B.block(
            S.Allocate(shared, (i(32),), B.TRUE, MemoryKind.SHARED, 0),
            S.For(
                y,
                i(0),
                i(32),
                ForKind.GPU_THREAD,
                S.Store(shared, of(0.0, F32), y, None),
            ),
            S.Barrier(),
            S.For(
                y, i(0), i(4), ForKind.GPU_LANE, S.Store(u8, of(1, UInt(8)), y, None)
            ),
        ),
    )
    before = S.Realize(
        pair,
        ((i(0), n), (x, E.Add(n, i(2)))),
        E.LT(i(0), n),
        B.block(
            S.Provide(pair, (x, of(2, UInt(8))), (x, y), None),
            S.Provide(func, (of(1.5, F32),), (x,), E.LT(x, n)),
        ),
    )
    return S.Block(
        (
            S.Assert(E.LE(i(0), n), "require", (E.StringImm(Handle(), "n"), n)),
            S.Assert(p, "require", ()),
            before,
            allocated,
            S.Block((S.Allocate(u8, (), p, MemoryKind.AUTO, 0),)),
            S.Block((S.Free(u8),)),
            S.Sync(image, True, True, False),
            S.Sync(u8, True, True, True),
            device,
            S.Sync(u8, False, False, True),
        )
    )


PROGRAM = """\
assert(0 <= n, require, "n", n)
assert(p, require)
realize pair([0, n], [x, n + 2]) if 0 < n {
  pair(x, y) = {x, u8(2)}
  f(x) = 1.5f if x < n
}
block {
  allocate f[float32 * 16 * (n + 1)] in stack padding 4
  produce f:
    parallel (x, 0, n) {
      let x#2 = x + 1
      f[x#2] = 0.0f
      f[ramp(x*8, 1, 8) if ramp(x*8, 1, 8) < x8(n)] = x8(1.0f)
      if (x < y) {
        evaluate print(x)
      } else if (p) {
        free f
      } else {
      }
      if (q) {
        unrolled (y, 0, 4) {
        }
      }
      prefetch f[x + n] for 8
      prefetch f[x] for n to write
    }
  consume f:
    out[x] = u8(1)
}
block {
  allocate out[uint8] if p
}
block {
  free out
}
sync in on device reads
sync out on device reads writes
gpu_block (x, 0, n) {
  allocate tile[float32 * 32] in shared
  gpu_thread (y, 0, 32) {
    tile[y] = 0.0f
  }
  barrier
  gpu_lane (y, 0, 4) {
    out[y] = u8(1)
  }
}
sync out on host writes
"""


def test_program() -> None:
    s = program()
    assert text(s) == PROGRAM
    assert read(PROGRAM, symbols_of(s)) is s


def test_nothing() -> None:
    assert text(S.NOP) == "\n"
    assert read("\n", {}) is S.NOP


def test_names_are_told_apart() -> None:
    """By order of appearance; keywords and built-in names make room."""
    other = Var("x", INT32)
    odd = Var("a b", INT32)
    assert text(E.Add(E.Add(x, other), odd)) == "x + x#2 + a_b"
    assert text(Var("true", BOOL)) == "true#2"
    clash = Function("exp", FuncSchedule(), None)
    clash.types = (F32,)
    called = E.FuncCall(F32, clash, (x,), 0)
    assert text(called) == "exp#2(x)"
    assert read("exp#2(x)", symbols_of(called)) is called


@pytest.mark.parametrize("seed", range(3))
def test_random_expressions_read_back(seed: int) -> None:
    for k in range(150):
        d = Drawing(31_000 + seed * 1000 + k)
        e = d.expr(d.rng.choice([INT32, BOOL, F32, *NARROW]), 4)
        assert read(text(e), symbols_of(e)) is e


BAD: list[tuple[str, str]] = [
    ("x +", "the end"),
    ("x + + y", "'+'"),
    ("(x", "')'"),
    ("z", "no Var"),
    ("g(x)", "no Func or image"),
    ("x + 1.0f", "int32 meets float32"),
    ("saturating_cast(x)", "needs its type"),
    ("x ? y", "'?'"),
    ("x y", "end here"),
    ("for (x, 0, n) {\n", "not closed"),
    ("x = 3\n", "no Func"),
    ("    free f\n", "indented"),
]


@pytest.mark.parametrize(("source", "expected"), BAD, ids=[c[0] for c in BAD])
def test_bad_text_says_where(source: str, expected: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(source, {"x": x, "y": y, "n": n, "f[]": f32})
    assert expected in str(caught.value)


def test_brief_is_short_whatever_the_size() -> None:
    e: Expr = x
    for _ in range(60):
        e = E.Add(e, e)  # A tree of 2**60 nodes.
    assert len(brief(e)) <= 240
    many = S.Block(tuple([S.Evaluate(E.Add(x, i(k))) for k in range(2000)]))
    assert len(repr(many)) < 300
