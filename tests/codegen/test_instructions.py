"""That the intended x86 instructions come out, and no calls or gathers instead."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr, Intrinsic, Var
from parhelion.ir.rounding import Decision
from parhelion.ir.stmt import ForKind
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target, generic_target, make_target
from parhelion.types import INT32, Float, Int, Type, TypeCode, UInt

from .harness import Compiled, lowered

SSE41, AVX2, AVX512 = map(generic_target, (128, 256, 512))
COUNTER = Var("i", INT32)


def loop_of(
    make: Callable[[Expr, Expr], Expr],
    t: Type,
    lanes: int,
    target: Target,
    *,
    step: int = 1,
    strict: bool = False,
) -> str:
    """The instructions of the loop ``out[i] = make(a[i], b[i])``."""
    a, b = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "input")

    def load(source: BufferSym) -> Expr:
        at = build.mul(COUNTER, int32(lanes * abs(step)))
        return E.Load(
            t.with_lanes(lanes), source, build.ramp(at, int32(step), lanes), None
        )

    value = make(load(a), load(b))
    out = BufferSym("out", value.type.element_of(), 1, "output")
    at = build.ramp(build.mul(COUNTER, int32(lanes)), int32(1), value.type.count)
    body = S.For(
        COUNTER,
        int32(0),
        out.dims[0].extent,
        ForKind.SERIAL,
        S.Store(out, value, at, None),
    )
    compiled = Compiled(
        lowered(body, [a, b, out], strict=strict), target, only_text=True
    )
    return innermost(compiled.asm)


def innermost(asm: str) -> str:
    """The instructions of the block that jumps back to its own label."""
    parts = re.split(r"^(\.LBB\d+_\d+):.*\n", asm, flags=re.M)
    for label, block in zip(parts[1::2], parts[2::2], strict=True):
        end = re.search(rf"\tj\w+\t{re.escape(label)}\n", block)
        if end is not None:
            return block[: end.end()]
    raise AssertionError(f"no loop in:\n{asm}")


def call(op: str, result: Type | None = None) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: Intrinsic(result or x.type, op, (x, y))


def unary(op: str) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: Intrinsic(x.type, op, (x,))


def by(kind: Callable[[Expr, Expr], Expr], c: int) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: kind(x, build.imm(c, x.type))


def decided(make: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    """What `make` makes, as a definition that has it is compiled."""
    return lambda x, y: Decision().go(make(x, y))


def high(x: Expr, y: Expr) -> Expr:
    wide = x.type.with_bits(2 * x.type.width)
    product = Intrinsic(wide, "widening_mul", (x, y))
    return E.Cast(x.type, Intrinsic(wide, "shift_right", (product, _imm(16, wide))))


def _imm(value: int, t: Type) -> Expr:
    return build.imm(value, t)


def q15(x: Expr, y: Expr) -> Expr:
    amount = _imm(15, Type(TypeCode.UInt, 16, x.type.count))
    return Intrinsic(x.type, "rounding_mul_shift_right", (x, y, amount))


def dot(x: Expr, y: Expr) -> Expr:
    wide = x.type.with_bits(32)
    return E.VectorReduce(
        "add", Intrinsic(wide, "widening_mul", (x, y)), x.type.count // 2
    )


U8, U16, I16, F32 = UInt(8), UInt(16), Int(16), Float(32)
SINGLE = {
    "u8 average": (call("rounding_halving_add"), U8, 32, "vpavgb"),
    "u16 average": (call("rounding_halving_add"), U16, 16, "vpavgw"),
    "u8 saturating add": (call("saturating_add"), U8, 32, "vpaddusb"),
    "u16 saturating sub": (call("saturating_sub"), U16, 16, "vpsubusw"),
    "i16 saturating add": (call("saturating_add"), I16, 16, "vpaddsw"),
    "u16 / 3": (by(E.Div, 3), U16, 16, "vpmulhuw"),
    "u16 high half": (high, U16, 16, "vpmulhuw"),
    "i16 high half": (high, I16, 16, "vpmulhw"),
    "i16 q15": (q15, I16, 16, "vpmulhrsw"),
    "i16 dot": (dot, I16, 16, "vpmaddwd"),
    "i16 abs": (
        lambda x, y: Intrinsic(U16.with_lanes(16), "abs", (x,)),
        I16,
        16,
        "vpabsw",
    ),
    "f32 min": (E.Min, F32, 8, "vminps"),
    "f32 max": (E.Max, F32, 8, "vmaxps"),
    "f32 sqrt": (unary("sqrt"), F32, 8, "vsqrtps"),
    "f32 floor": (unary("floor"), F32, 8, "vroundps"),
    "f32 fma": (decided(lambda x, y: E.Add(E.Mul(x, y), y)), F32, 8, "vfmadd132ps"),
    "f32 fms": (decided(lambda x, y: E.Sub(E.Mul(x, y), y)), F32, 8, "vfmsub132ps"),
    "f32 fnma": (decided(lambda x, y: E.Sub(y, E.Mul(x, y))), F32, 8, "vfnmadd132ps"),
    "u8 to u16": (lambda x, y: E.Cast(UInt(16, 16), x), U8, 16, "vpmovzxbw"),
    "u32 variable shift": (call("shift_left"), UInt(32), 8, "vpsllvd"),
    "i16 to u8": (
        lambda x, y: Intrinsic(UInt(8, 16), "saturating_cast", (x,)),
        I16,
        16,
        "vpackuswb",
    ),
    "f32 to i32": (lambda x, y: E.Cast(Int(32, 8), x), F32, 8, "vcvttps2dq"),
}


@pytest.mark.parametrize("name", SINGLE)
def test_one_instruction(name: str) -> None:
    make, t, lanes, want = SINGLE[name]
    asm = loop_of(make, t, lanes, AVX2)
    assert asm.count(f"\t{want}\t") == 1, asm
    if name in ("f32 min", "f32 max", "u8 average", "i16 q15"):
        assert "\tvcmp" not in asm


def test_division_by_three_is_a_multiplication_and_a_shift() -> None:
    asm = loop_of(by(E.Div, 3), U16, 16, AVX2)
    arithmetic = [line for line in asm.splitlines() if "\tv" in line]
    assert len(arithmetic) == 3, asm  # vpmulhuw from memory, vpsrlw, store


@pytest.mark.parametrize("op", ["exp", "log", "sin", "cos", "tanh", "atan", "erf"])
def test_functions_are_inline(op: str) -> None:
    asm = loop_of(unary(op), F32, 8, AVX2)
    assert "call" not in asm
    assert "ps\t" in asm


def test_fused_operations_only_outside_strict_code() -> None:
    def make(x: Expr, y: Expr) -> Expr:
        return E.Add(E.Mul(x, y), y)

    def inner(x: Expr, y: Expr) -> Expr:
        return Intrinsic(x.type, "strict_float", (make(x, y),))

    assert "vfmadd" in loop_of(decided(make), F32, 8, AVX2)
    assert "vfmadd" not in loop_of(decided(inner), F32, 8, AVX2)
    # LLVM has no say in it.
    assert "vfmadd" not in loop_of(make, F32, 8, AVX2)
    # SSE4.1 rounds the product, too.
    assert re.search("mulps.*addps", loop_of(decided(make), F32, 4, SSE41), re.S)


def test_functions_are_fused_only_outside_strict_code() -> None:
    def inner(x: Expr, y: Expr) -> Expr:
        return Intrinsic(x.type, "strict_float", (unary("exp")(x, y),))

    assert "vfmadd" in loop_of(unary("exp"), F32, 8, AVX2)
    assert not re.search(r"vfn?m(add|sub)", loop_of(decided(inner), F32, 8, AVX2))
    assert not re.search(
        r"vfn?m(add|sub)", loop_of(unary("exp"), F32, 8, AVX2, strict=True)
    )


def test_division_by_a_constant_is_a_multiplication() -> None:
    asm = loop_of(decided(by(E.Div, 3)), F32, 8, AVX2)
    assert "vmulps" in asm and "vdivps" not in asm
    # Unrolling makes constants too: those divide.
    assert "vdivps" in loop_of(by(E.Div, 3), F32, 8, AVX2)
    # By a power of two both are the same.
    assert "vdivps" not in loop_of(by(E.Div, 4), F32, 8, AVX2, strict=True)


@pytest.mark.parametrize("step", [2, 3, 4, -1])
@pytest.mark.parametrize("target", [AVX2, AVX512], ids=["avx2", "avx512"])
def test_strided_loads_are_dense(step: int, target: Target) -> None:
    asm = loop_of(lambda x, y: x, U8, 32, target, step=step)
    assert "gather" not in asm
    assert "pinsrb" not in asm
    assert asm.count("vmovdqu") + asm.count("vmovups") <= 2 * abs(step) + 1, asm


def test_full_registers() -> None:
    assert "%zmm" in loop_of(E.Add, F32, 16, AVX512)
    assert "%ymm" in loop_of(E.Add, F32, 16, AVX2)


def test_invariants_leave_the_loop() -> None:
    """What does not depend on the inner loop is computed before it."""
    t = F32
    a, out = BufferSym("a", t, 2, "input"), BufferSym("out", t, 2, "output")
    y, x = Var("y", INT32), Var("x", INT32)
    row = E.Div(y, build.add(a.dims[1].min, int32(3)))
    at = build.add(build.mul(row, a.dims[1].stride), build.mul(x, int32(8)))
    weight = E.Load(t, a, row, None)
    value = E.Mul(
        E.Load(t.with_lanes(8), a, E.Ramp(at, int32(1), 8), None),
        E.Broadcast(Intrinsic(t, "exp", (weight,)), 8),
    )
    where = build.add(build.mul(y, out.dims[1].stride), build.mul(x, int32(8)))
    body = S.For(
        y,
        int32(0),
        out.dims[1].extent,
        ForKind.SERIAL,
        S.For(
            x,
            int32(0),
            out.dims[0].extent,
            ForKind.SERIAL,
            S.Store(out, value, E.Ramp(where, int32(1), 8), None),
        ),
    )
    asm = innermost(Compiled(lowered(body, [a, out]), AVX2, only_text=True).asm)
    assert "idiv" not in asm and "imul" not in asm
    assert asm.count("\n") <= 6, asm  # load and multiply, store, step, compare, jump


@pytest.mark.parametrize("lanes", [1, 8])
def test_a_reduction_stays_in_a_register(lanes: int) -> None:
    t = F32
    a, k = BufferSym("a", t, 1, "input"), BufferSym("k", t, 1, "input")
    out = BufferSym("out", t, 1, "output")
    r = Var("r", INT32)
    place = build.ramp(build.mul(COUNTER, int32(lanes)), int32(1), lanes)
    moved = build.ramp(build.add(build.mul(COUNTER, int32(lanes)), r), int32(1), lanes)
    vector = t.with_lanes(lanes)
    weight = build.broadcast(E.Load(t, k, r, None), lanes)
    value = Decision().go(
        E.Add(
            E.Load(vector, out, place, None),
            E.Mul(E.Load(vector, a, moved, None), weight),
        )
    )
    body = S.For(
        COUNTER,
        int32(0),
        out.dims[0].extent,
        ForKind.SERIAL,
        S.For(
            r,
            int32(0),
            k.dims[0].extent,
            ForKind.SERIAL,
            S.Store(out, value, place, None),
        ),
    )
    asm = innermost(Compiled(lowered(body, [a, k, out]), AVX2, only_text=True).asm)
    assert re.search(r"vfmadd\d+[ps]s\t", asm)
    # The loop stores nothing: no instruction has memory as its destination.
    assert not re.search(r"\tvmov\w+\t%[xy]mm\d+, .*\(", asm), asm


@pytest.mark.parametrize("target", [AVX2, AVX512])
@pytest.mark.parametrize("lanes", [8, 32])
@pytest.mark.parametrize("of", [E.Max, E.Min, None])
@pytest.mark.parametrize("t", [Float(32), Int(32)])
def test_what_is_kept_in_memory_is_stored_as_a_whole(
    target: Target, lanes: int, of: type[E.Max] | type[E.Min] | None, t: Type
) -> None:
    """``out[i] = max(out[i], a[i])`` and ``select(c, a[i], out[i])``: masked stores of
    the lanes that change are slow, and nothing is forwarded out of them."""
    a, out = BufferSym("a", t, 1, "input"), BufferSym("out", t, 1, "output")
    at = build.ramp(build.mul(COUNTER, int32(lanes)), int32(1), lanes)
    old, new = (E.Load(t.with_lanes(lanes), b, at, None) for b in (out, a))
    least = build.broadcast(build.imm(3, t), lanes)
    value = of(old, new) if of else E.Select(build.lt(new, least), new, old)
    store = S.Store(out, value, at, None)
    body = S.For(COUNTER, int32(0), out.dims[0].extent, ForKind.SERIAL, store)
    asm = innermost(Compiled(lowered(body, [a, out]), target, only_text=True).asm)
    assert re.search(r"\bvmov\w+\s+%[yz]mm\d+, [^%]*\(", asm)
    assert "vmaskmov" not in asm and "vpmaskmov" not in asm
    assert not re.search(r"%[yz]mm\d+, [^\n]*\) \{%k", asm)


def test_what_a_virtual_machine_hides_of_its_processor_is_not_used() -> None:
    """Compares of vectors end in mask registers on a Zen 4, unless it lacks AVX-512."""

    def text(*missing: str) -> str:
        features = ("avx2", "fma", "vaes")
        target = make_target(AVX2.triple, "znver4", features, missing)
        return loop_of(lambda a, b: E.Select(build.lt(a, b), a, b), INT32, 32, target)

    assert "zmm" in text()
    hidden = text("avx512f", "avx512vl")
    assert "%ymm" in hidden and "zmm" not in hidden and "%k" not in hidden
