"""Failures, memory, parallel loops and printing."""

from __future__ import annotations

import numpy as np
import pytest

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import int32
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Intrinsic, StringImm, Var
from parhelion.ir.failures import CODES
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.types import BOOL, INT32, Bool, Float, Int, Type, UInt

from .harness import LIVE, PRINTED, Compiled, lowered


def text(s: str) -> Expr:
    return StringImm(INT32, s)


def out_buffer(t: Type = INT32) -> BufferSym:
    return BufferSym("out", t, 1, "output")


def internal(name: str, t: Type = INT32) -> BufferSym:
    return BufferSym(name, t, 1, "internal")


def allocate(b: BufferSym, size: Expr, kind: MemoryKind = MemoryKind.AUTO) -> Stmt:
    return S.Allocate(b, (size,), build.TRUE, kind, 0)


P = ParamSym("p", INT32)


def test_assert_reports_its_arguments() -> None:
    q = ParamSym("q", Float(64))
    b = ParamSym("b", BOOL)
    u = ParamSym("u", UInt(8))
    out = out_buffer()
    body = S.Block(
        (
            S.Assert(E.LT(P.var, int32(10)), "param_above", (text("one"), P.var)),
            S.Assert(
                E.LT(P.var, int32(5)),
                "constraint",
                (text("two"), q.var, P.var, b.var, u.var),
            ),
            S.Store(out, P.var, int32(0), None),
        )
    )
    compiled = Compiled(lowered(body, [P, q, b, u, out]))
    result = np.zeros(1, np.int32)
    assert compiled(4, 2.5, True, 200, result) == 0
    assert result[0] == 4
    assert compiled(-7, 2.5, True, 200, result) == 0
    assert compiled(8, -2.5, True, 200, result) == CODES["constraint"]
    assert compiled.record() == ("constraint", "two", -2.5, 8, True, 200)
    assert compiled(12, -2.5, True, 200, result) == CODES["param_above"]
    assert compiled.record() == ("param_above", "one", 12)
    assert result[0] == -7


_ELSEWHERE = (
    *(MemoryKind.CACHE, MemoryKind.CACHE_MIRRORED),
    *(MemoryKind.DEVICE, MemoryKind.MIRRORED),
)


@pytest.mark.parametrize(
    "kind",
    # What the cache of memoized Funcs gives is not allocated here, and copies on a
    # device are of a run time that this harness has not (tests/gpu).
    [kind for kind in MemoryKind if kind not in _ELSEWHERE],
)
def test_failures_free_what_is_live(kind: MemoryKind) -> None:
    out, a, b, c = out_buffer(), internal("a"), internal("b"), internal("c")
    size = build.add(P.var, int32(100))
    i = Var("i", INT32)
    body = S.Block(
        (
            allocate(a, size, kind),
            S.For(
                i,
                int32(0),
                int32(3),
                ForKind.SERIAL,
                S.Block(
                    (
                        allocate(b, size, kind),
                        S.Store(b, i, int32(0), None),
                        S.If(
                            E.LT(i, int32(2)),
                            S.Block(
                                (
                                    allocate(c, int32(40), kind),
                                    S.Store(c, int32(1), int32(0), None),
                                    S.Assert(E.NE(i, P.var), "size_overflow", ()),
                                )
                            ),
                            None,
                        ),
                        S.Store(out, E.Load(INT32, b, int32(0), None), int32(0), None),
                    )
                ),
            ),
        )
    )
    compiled = Compiled(lowered(body, [P, out]))
    result = np.zeros(1, np.int32)
    for p, code in ((9, 0), (1, CODES["size_overflow"]), (0, CODES["size_overflow"])):
        assert compiled(p, result) == code
        assert not LIVE


def test_out_of_memory() -> None:
    out, a = out_buffer(), internal("big")
    huge = S.Allocate(a, (P.var, P.var, P.var), build.TRUE, MemoryKind.AUTO, 4)
    body = S.Block((huge, S.Store(out, P.var, int32(0), None)))
    compiled = Compiled(lowered(body, [P, out]))
    result = np.zeros(1, np.int32)
    assert compiled(50, result) == 0
    assert compiled(-5, result) == 0
    for p in (1 << 15, 2**31 - 1):
        assert compiled(p, result) == CODES["out_of_memory"]
        assert compiled.record()[:2] == ("out_of_memory", "big")
    assert not LIVE


def test_unneeded_allocation() -> None:
    out, a = out_buffer(), internal("a")
    body = S.Block(
        (
            S.Allocate(a, (P.var,), E.LT(int32(0), P.var), MemoryKind.HEAP, 0),
            S.If(E.LT(int32(0), P.var), S.Store(a, P.var, int32(0), None), None),
            S.Store(out, int32(5), int32(0), None),
            S.Free(a),
        )
    )
    compiled = Compiled(lowered(body, [P, out]))
    result = np.zeros(1, np.int32)
    assert compiled(-3, result) == 0
    assert compiled(3, result) == 0
    assert not LIVE


def parallel(var: Var, extent: Expr, body: Stmt) -> Stmt:
    return S.For(var, int32(0), extent, ForKind.PARALLEL, body)


def test_parallel_loops_see_what_is_outside() -> None:
    t = Float(32)
    source, out = BufferSym("a", t, 2, "input"), BufferSym("b", t, 2, "output")
    scratch = BufferSym("s", t, 1, "internal")
    scale = ParamSym("scale", t)
    flag = ParamSym("flag", BOOL)
    y, x, z = Var("y", INT32), Var("x", INT32), Var("z", INT32)
    let, vec = Var("let", INT32), Var("vec", Float(32, 4))
    width = out.dims[0].extent
    at = build.add(build.mul(y, out.dims[1].stride), x)
    row = build.add(build.mul(y, source.dims[1].stride), build.mul(z, int32(4)))
    dense = E.Ramp(row, int32(1), 4)
    inner = S.Store(
        out,
        E.Select(
            E.Broadcast(flag.var, 4),
            E.Add(E.Load(t.with_lanes(4), source, dense, None), vec),
            vec,
        ),
        E.Ramp(
            build.add(build.mul(y, out.dims[1].stride), build.mul(z, int32(4))),
            int32(1),
            4,
        ),
        None,
    )
    body = S.Block(
        (
            S.Allocate(scratch, (width,), build.TRUE, MemoryKind.HEAP, 0),
            S.For(
                x,
                int32(0),
                width,
                ForKind.SERIAL,
                S.Store(scratch, E.Cast(t, x), x, None),
            ),
            S.LetStmt(let, build.mul(width, int32(2))),
            S.LetStmt(vec, E.Broadcast(E.Mul(scale.var, E.Cast(t, let)), 4)),
            parallel(
                y,
                out.dims[1].extent,
                S.Block(
                    (
                        parallel(z, build.div(width, int32(4)), inner),
                        S.For(
                            x,
                            int32(0),
                            width,
                            ForKind.SERIAL,
                            S.Store(
                                out,
                                E.Add(
                                    E.Load(t, out, at, None),
                                    E.Load(t, scratch, x, None),
                                ),
                                at,
                                None,
                            ),
                        ),
                    )
                ),
            ),
        )
    )
    compiled = Compiled(lowered(body, [source, scale, flag, out]))
    a = np.arange(40, dtype=np.float32).reshape(5, 8)
    got = np.zeros((5, 8), np.float32)
    assert compiled(a, 0.5, True, got) == 0
    assert (got == a + 8 + np.arange(8)).all()
    assert compiled(a, 0.25, False, got) == 0
    assert (got == 4 + np.arange(8)).all()
    assert not LIVE


def test_a_failure_in_a_worker_comes_out() -> None:
    out, a, b = out_buffer(), internal("a"), internal("b")
    y, x = Var("y", INT32), Var("x", INT32)
    inner = S.Block(
        (
            allocate(b, build.add(P.var, int32(1)), MemoryKind.HEAP),
            S.Assert(E.NE(E.Add(x, y), P.var), "extent_negative", (text("f"), x, y)),
            S.Store(out, x, y, None),
        )
    )
    body = S.Block(
        (
            allocate(a, build.add(P.var, int32(9)), MemoryKind.HEAP),
            parallel(
                y,
                int32(4),
                S.Block(
                    (
                        parallel(x, int32(3), inner),
                        S.Store(a, y, y, None),
                    )
                ),
            ),
            S.Store(out, int32(77), int32(4), None),
        )
    )
    compiled = Compiled(lowered(body, [P, out]))
    result = np.zeros(5, np.int32)
    assert compiled(100, result) == 0
    assert result[4] == 77
    result[4] = 0
    assert compiled(5, result) == CODES["extent_negative"]
    assert compiled.record() == ("extent_negative", "f", 2, 3)
    assert result[4] == 0
    assert not LIVE


def test_require() -> None:
    out = out_buffer()
    cond = E.LT(P.var, int32(3))
    value = Intrinsic(
        INT32, "require", (cond, P.var, text("p is"), P.var, text("too large"))
    )
    i = Var("i", INT32)
    body = S.For(
        i,
        int32(0),
        int32(2),
        ForKind.SERIAL,
        S.Store(out, E.Add(value, int32(1)), i, None),
    )
    compiled = Compiled(lowered(body, [P, out]))
    result = np.zeros(2, np.int32)
    assert compiled(1, result) == 0
    assert result.tolist() == [2, 2]
    assert compiled(3, result) == CODES["require"]
    assert compiled.record() == ("require", "p is", 3, "too large")


def test_print() -> None:
    PRINTED.clear()
    out = out_buffer()
    f = ParamSym("f", Float(32))
    i = Var("i", INT32)
    value = Intrinsic(INT32, "print", (E.Mul(i, P.var), text("at"), i, f.var))
    when = Intrinsic(
        INT32, "print_when", (E.EQ(i, int32(1)), i, E.Cast(UInt(64), int32(-1)))
    )
    vector = Intrinsic(
        UInt(8, 2),
        "print_when",
        (
            E.LT(E.Ramp(int32(0), int32(1), 2), E.Broadcast(int32(1), 2)),
            E.Broadcast(build.imm(9, UInt(8)), 2),
            text("v"),
        ),
    )
    body = S.Block(
        (
            S.For(
                i,
                int32(0),
                int32(3),
                ForKind.SERIAL,
                S.Store(out, E.Add(E.Add(value, value), when), i, None),
            ),
            S.Evaluate(vector),
            S.Evaluate(vector),
            S.Evaluate(Intrinsic(Bool(), "print", (build.TRUE,))),
        )
    )
    compiled = Compiled(lowered(body, [P, f, out]))
    result = np.zeros(3, np.int32)
    assert compiled(10, 1.5, result) == 0
    assert result.tolist() == [0, 21, 42]
    assert PRINTED == [
        "0 at 0 1.500000\n",
        "10 at 1 1.500000\n",
        "1 18446744073709551615\n",
        "20 at 2 1.500000\n",
        "9 v\n",
        "9 v\n",
        "true\n",
    ]


def test_random_int_is_the_same_everywhere() -> None:
    out = BufferSym("out", UInt(32), 1, "output")
    i = Var("i", INT32)
    seed = build.imm(3, UInt(32))
    lanes = 8
    at = E.Ramp(E.Mul(i, int32(lanes)), int32(1), lanes)
    value = Intrinsic(UInt(32, lanes), "random_int", (E.Broadcast(seed, lanes), at))
    body = S.For(i, int32(0), int32(64), ForKind.SERIAL, S.Store(out, value, at, None))
    result = np.zeros(512, np.uint32)
    assert Compiled(lowered(body, [out]))(result) == 0
    scalar = Intrinsic(UInt(32), "random_int", (seed, i))
    assert result.tolist() == [evaluate(scalar, {i: k}) for k in range(512)]
    assert len(set(result.tolist())) == 512
    ones = np.unpackbits(result.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 0.02


def test_extern() -> None:
    out = BufferSym("out", Float(64), 1, "output")
    lanes = 3
    x = E.Cast(Float(64, lanes), E.Ramp(int32(1), int32(1), lanes))
    y = E.Broadcast(build.imm(2.0, Float(64)), lanes)
    value = E.Extern(Float(64, lanes), "hypot", (x, y))
    small = E.Extern(INT32, "abs", (E.Cast(INT32, build.imm(-5, Int(8))),))
    body = S.Block(
        (
            S.Store(out, value, E.Ramp(int32(0), int32(1), lanes), None),
            S.Store(out, E.Cast(Float(64), small), int32(3), None),
        )
    )
    result = np.zeros(4)
    assert Compiled(lowered(body, [out]))(result) == 0
    assert np.allclose(result, [5**0.5, 8**0.5, 13**0.5, 5])


def test_large_frames_go_to_the_heap() -> None:
    """Many stack allocations in one function stay within its frame's limit."""
    out = out_buffer()
    items: list[Stmt] = []
    for k in range(40):
        b = internal(f"b{k}")
        items += [
            allocate(b, int32(4000)),
            S.Store(b, int32(k), P.var, None),
            S.Store(out, E.Load(INT32, b, P.var, None), int32(k), None),
        ]
    result = np.zeros(40, np.int32)
    compiled = Compiled(lowered(S.Block(tuple(items)), [P, out]))
    assert compiled(3999, result) == 0
    assert result.tolist() == list(range(40))
    assert compiled.emitted.text.count("call ptr @ph_malloc") > 10
    assert not LIVE
