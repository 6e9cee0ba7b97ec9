"""What LLVM is known to choose wrong on AVX-512 is not in our code (`faults`)."""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.target import host_target
from parhelion.ir.target import generic_target
from parhelion.runtime import faults, jit
from tests.support.checking import check

#: What is tested is what asks LLVM.
pytestmark = pytest.mark.usefixtures("llvm_each_time")

AVX512 = generic_target(512)
#: Masked vpternlogs that merge.
MASKED = re.compile(r"vpternlog[dq]\s+\$\d+, [^\n]*\{%k\d\}(?! *\{z\})")
on_avx512 = pytest.mark.skipif(
    not host_target().has("avx512vl"), reason="the code is for AVX-512"
)

on_faulty = pytest.mark.skipif(
    jit._ternary_mended(), reason="this LLVM has been mended"
)

TYPES = [hl.Int(32), hl.UInt(32), hl.Int(64), hl.UInt(64)]
NARROW = [hl.UInt(8), hl.Int(16)]


def _image(t: hl.Type, seed: int, n: int = 200) -> hl.Buffer:
    low, high = (0, 250) if t.is_uint() else (-120, 120)
    rng = np.random.default_rng(seed)
    return hl.Buffer(rng.integers(low, high, n).astype(t.to_numpy()))


def _forms(q: hl.Expr, a: hl.Expr, b: hl.Expr) -> list[hl.Expr]:
    """Selections whose one arm joins bits of the other with those of something else."""
    t = a.type()
    low, high = hl.cast(t, 3), hl.cast(t, ~3 & (1 << t.bits()) - 1)
    return [
        hl.select(q != 0, a / 4 * 4 + b % 4, b),
        hl.select(q != 0, (a & high) | (b & low), b),
        hl.select(q > 1, (a & low) | (b & high), b),
        hl.select(q != 0, (a & high) | (b & low), a),
        hl.select(q != 1, b, (a & high) | (b & low)),
        hl.select(q != 0, (a & high) | (b & low), low),
        hl.select(q > 2, ((a ^ b) & 12) ^ b, b),
        hl.select(q > 1, hl.select(q > 2, (a & low) | (b & high), b), b),
    ]


@on_avx512
@pytest.mark.parametrize("t", [*TYPES, *NARROW], ids=str)
def test_masked_operations_on_bits(t: hl.Type) -> None:
    """Each form in a loop of its own, as only what is used once becomes part of an
    instruction."""
    a, b, q = _image(t, 1), _image(t, 2), _image(hl.UInt(8), 3)
    x, xi = hl.Var("x"), hl.Var("xi")

    def make() -> tuple[hl.Func, ...]:
        parts = []
        for e in _forms(q[x] % 4, a[x], b[x]):
            parts.append(hl.Func("part"))
            parts[-1][x] = hl.cast(t, e)
        f = hl.Func("f")
        f[x] = tuple([part[x] for part in parts])
        return f, *parts

    def lanes(n: int, tail: hl.TailStrategy) -> Callable[..., None]:
        def schedule(f: hl.Func, *parts: hl.Func) -> None:
            for part in parts:
                part.compute_root().vectorize(x, n, tail)

        return schedule

    def unrolled(f: hl.Func, *parts: hl.Func) -> None:
        for part in parts:
            part.compute_root().split(x, x, xi, 32).vectorize(xi, 8).unroll(xi)

    wide = [lanes(n, hl.TailStrategy.RoundUp) for n in (2, 4, 8, 16, 32, 64)]
    masked = lanes(16, hl.TailStrategy.Predicate)
    check(make, [192], [*wide, masked, unrolled])


@on_avx512
@pytest.mark.parametrize("t", [hl.Int(32), hl.UInt(64)], ids=str)
def test_tails_whose_stores_are_masked(t: hl.Type) -> None:
    """What is kept is what was there: an update that is predicated."""
    a, b = _image(t, 4), _image(t, 5)
    x = hl.Var("x")

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = b[x]
        r = hl.RDom([(0, 180)])
        r.where(a[r] % 2 != 0)
        f[r] = a[r] / 4 * 4 | (f[r] & 3)
        return f

    def vectors(f: hl.Func) -> None:
        (r,) = f.rvars()
        f.vectorize(x, 8).update().vectorize(r, 16)

    check(make, [197], [vectors])


@on_avx512
def test_signs_of_floats() -> None:
    rng = np.random.default_rng(6)
    a, b = (hl.Buffer(rng.standard_normal(200).astype(np.float32)) for _ in range(2))
    q, x = _image(hl.UInt(8), 7), hl.Var("x")

    def make() -> hl.Func:
        f = hl.Func("f")
        bits = [hl.reinterpret(hl.UInt(32), e[x]) for e in (a, b)]
        sign = hl.cast(hl.UInt(32), 0x80000000)
        both = hl.reinterpret(hl.Float(32), (bits[0] & sign) | (bits[1] & ~sign))
        f[x] = hl.select(q[x] % 2 != 0, both, b[x])
        return f

    check(make, [197], [lambda f: f.vectorize(x, 16), lambda f: f.vectorize(x, 8)])


@on_faulty
def test_objects_and_assembly_for_other_computers(tmp_path: Path) -> None:
    a, b = hl.ImageParam(hl.Int(32), 1), hl.ImageParam(hl.Int(32), 1)
    q, x = hl.ImageParam(hl.UInt(8), 1), hl.Var("x")
    f = hl.Func("f")
    f[x] = hl.select(q[x] != 0, (a[x] & ~3) | (b[x] & 3), b[x])
    f.vectorize(x, 16)
    target = hl.Target("x86-64-linux-avx512_skylake")
    at = tmp_path / "f.s"
    f.compile_to_assembly(str(at), [a, b, q], "f", target)
    text = at.read_text()
    assert "vpternlogd" in text
    assert not MASKED.search(text)
    made = tmp_path / "f.o"
    f.compile_to_object(str(made), [a, b, q], "f", target)
    assert not faults.suspected(made.read_bytes())


# All forms of the instruction.
def _ternary_forms(bits: int, lanes: int, kind: str) -> tuple[str, list[str]]:
    """A module of functions (memory, kept, other, mask, result) that each are a masked
    vpternlog, and the order of operands of each: M, K and O."""
    vt = f"<{lanes} x i{bits}>"
    name = f"llvm.x86.avx512.pternlog.{'d' if bits == 32 else 'q'}.{bits * lanes}"
    text = [
        'target triple = "x86_64-unknown-linux-gnu"',
        f"declare {vt} @{name}({vt}, {vt}, {vt}, i32 immarg)",
    ]
    orders = ["".join(p) for p in itertools.permutations("MKO")]
    for order in orders:
        operands = ", ".join([f"{vt} %{letter}" for letter in order])
        text += [
            f"define void @{order}(ptr %m, ptr %k, ptr %o, ptr %q, ptr %r) {{",
            f"  %k0 = load {vt}, ptr %k, align 1",
            f"  %K = add {vt} %k0, splat (i{bits} 1)",
            f"  %o0 = load {vt}, ptr %o, align 1",
            f"  %O = add {vt} %o0, splat (i{bits} 1)",
        ]
        if kind == "whole":
            text.append(f"  %M = load {vt}, ptr %m, align 1")
        else:
            text += [
                f"  %one = load i{bits}, ptr %m, align 1",
                f"  %in = insertelement {vt} poison, i{bits} %one, i64 0",
                f"  %M = shufflevector {vt} %in, {vt} poison, "
                f"<{lanes} x i32> zeroinitializer",
            ]
        text += [
            f"  %t = call {vt} @{name}({operands}, i32 226)",
            f"  %q0 = load <{lanes} x i8>, ptr %q, align 1",
            f"  %c = icmp ne <{lanes} x i8> %q0, zeroinitializer",
            f"  %s = select <{lanes} x i1> %c, {vt} %t, {vt} %K",
            f"  store {vt} %s, ptr %r, align 1",
            "  ret void",
            "}",
        ]
    return "\n".join(text), orders


@on_avx512
@pytest.mark.parametrize("kind", ["whole", "one for all lanes"])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("size", [128, 256, 512])
def test_every_order_of_operands(bits: int, size: int, kind: str) -> None:
    lanes = size // bits
    text, orders = _ternary_forms(bits, lanes, kind)
    # Not optimised, as LLVM's optimiser would take the instructions apart.
    code = jit.emit_object(jit.parse(text), host_target())
    library, addresses = jit.load(code, tuple(orders), {})
    rng = np.random.default_rng(bits + size)
    dtype = np.uint32 if bits == 32 else np.uint64
    memory, kept, other = (rng.integers(0, 1 << bits, lanes, dtype) for _ in range(3))
    mask = np.arange(lanes, dtype=np.uint8) % 2
    values = {
        "M": memory if kind == "whole" else np.full(lanes, memory[0]),
        "K": kept + dtype(1),
        "O": other + dtype(1),
    }
    for order in orders:
        result = np.zeros(lanes, dtype)
        arrays = (memory, kept, other, mask, result)
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(addresses[order])(
            *[a.ctypes.data for a in arrays]
        )
        first, second, third = [values[letter] for letter in order]
        wanted = _table(226, first, second, third)
        wanted = np.where(mask != 0, wanted, values["K"])
        assert np.array_equal(result, wanted), order
    del library


def _table(table: int, *operands: np.ndarray) -> np.ndarray:
    """What vpternlog computes."""
    out = np.zeros_like(operands[0])
    for i in range(8):
        if table >> i & 1:
            bits = [a if i >> (2 - n) & 1 else ~a for n, a in enumerate(operands)]
            out |= bits[0] & bits[1] & bits[2]
    return out


def test_llvm_is_asked_whether_it_still_needs_that() -> None:
    def mended(assembly: str) -> str:
        found = jit.target_machine(AVX512).emit_assembly(jit.parse(assembly))
        return re.sub(r"(vpternlogd\s+)\$\d+", r"\1$2", str(found))

    assert faults.ternary_mended(mended)
    # What computers of this LLVM must find.
    assert not jit._ternary_mended() or llvm.llvm_version_info > (22, 1, 0)


@on_faulty
def test_code_of_a_mended_llvm_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """define <8 x i32> @f(ptr %p, <8 x i32> %b, <8 x i1> %m) {
  %a = load <8 x i32>, ptr %p, align 4
  %x = and <8 x i32> %a, splat (i32 -4)
  %y = and <8 x i32> %b, splat (i32 3)
  %z = or <8 x i32> %x, %y
  %s = select <8 x i1> %m, <8 x i32> %z, <8 x i32> %b
  ret <8 x i32> %s
}
"""
    assert not MASKED.search(jit.assembly_text(text, AVX512))
    assert not faults.suspected(jit.object_code(text, AVX512))
    monkeypatch.setattr(jit, "_ternary_mended", lambda: True)
    assert MASKED.search(jit.assembly_text(text, AVX512))
    assert faults.suspected(jit.object_code(text, AVX512))


# Masks that go to general registers.
_USED = ",".join([f"~{{xmm{i}}}" for i in range(16)])
_HIGH = f"""define i64 @f(ptr %a) {{
  %v = load <2 x i64>, ptr %a, align 8
  %w = add <2 x i64> %v, splat (i64 3)
  call void asm sideeffect "", "{_USED}"()
  %m = icmp slt <2 x i64> %w, zeroinitializer
  %e = extractelement <2 x i1> %m, i64 0
  %s = select i1 %e, i64 100, i64 2000
  ret i64 %s
}}
"""


def test_a_mask_is_not_moved_from_a_register_without_a_name() -> None:
    plain = str(jit.target_machine(AVX512).emit_assembly(jit.parse(_HIGH)))
    assert faults.move_mask(plain) or llvm.llvm_version_info > (22, 1, 0)
    assert not faults.move_mask(jit.emit_assembly(jit.parse(_HIGH), AVX512))
    if faults.move_mask(plain):
        assert not faults.suspected(jit.emit_object(jit.parse(_HIGH), AVX512))


@on_avx512
def test_the_sign_is_that_of_the_right_register() -> None:
    code = jit.emit_object(jit.parse(_HIGH), host_target())
    library, addresses = jit.load(code, ("f",), {})
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(addresses["f"])
    for value in (-100, 100):
        given = np.array([value, -value], np.int64)
        assert function(given.ctypes.data) == (100 if value < 0 else 2000)
    del library


def test_masks_changed_in_place_are_noticed() -> None:
    assert faults.move_mask("\tvpmovmskb\t%ymm17, %eax\n")
    assert not faults.move_mask("\tvpmovmskb\t%ymm7, %eax\n")
    moved = "\tvmovmskpd\t%ymm0, %eax\n"
    written = "\tvptestmb\t%xmm0, %xmm0, %k0\n"
    shift = "\tkshiftrb\t$2, %k0, %k0\n"
    assert faults.stale_mask(moved + shift)
    assert faults.stale_mask(moved + "\tvpcmpgtd\t%ymm0, %ymm1, %k1 {%k1}\n")
    assert not faults.stale_mask(moved + "\tkshiftrb\t$2, %k0, %k1\n")
    # In another block, before, or after the mask was written anew.
    assert not faults.stale_mask(moved + ".LBB0_1:\n" + shift)
    assert not faults.stale_mask(shift + moved)
    assert not faults.stale_mask(moved + written + shift)


@on_avx512
def test_masks_that_stay_in_doubt_compile() -> None:
    """A vmovmsk of other origin, and a mask that is changed in place behind it."""
    text = """define i32 @f(double %x, ptr %p) {
  %v = load <8 x i32>, ptr %p, align 4
  %m = icmp sgt <8 x i32> %v, splat (i32 3)
  %b = bitcast double %x to i64
  %s = lshr i64 %b, 63
  %t = trunc i64 %s to i32
  call void asm sideeffect "", "r,~{memory}"(i32 %t)
  %n = shufflevector <8 x i1> %m, <8 x i1> poison, <8 x i32> <i32 2, i32 3, i32 4, \
i32 5, i32 6, i32 7, i32 7, i32 7>
  %c = bitcast <8 x i1> %n to i8
  %d = zext i8 %c to i32
  %r = add i32 %d, %t
  ret i32 %r
}
"""
    code = jit.object_code(text)
    library, addresses = jit.load(code, ("f",), {})
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, ctypes.c_void_p)(
        addresses["f"]
    )
    given = np.array([9, 9, 0, 9, 9, 0, 0, 9], np.int32)
    assert function(-1.0, given.ctypes.data) == 0b11100110 + 1
    del library


@pytest.mark.parametrize("everywhere", [False, True])
def test_fences_change_no_value(everywhere: bool) -> None:
    """All that `rewritten` rewrites, with fences and without."""
    text = """define void @f(ptr %p, ptr %q, ptr %o) {
  %"a b" = load <8 x i32>, ptr %p, align 4
  %b = load <8 x i32>, ptr %q, align 4
  %c = icmp slt <8 x i32> %"a b", zeroinitializer
  %d = icmp sgt <8 x i32> %b, splat (i32 -1)
  %e = trunc <8 x i32> %b to <8 x i1>
  %x = mul <8 x i32> %"a b", %b
  %y = xor <8 x i32> %"a b", %b
  %s = select <8 x i1> %c, <8 x i32> %x, <8 x i32> splat (i32 7)
  %t = select <8 x i1> %d, <8 x i32> %s, <8 x i32> %y
  %g = bitcast <8 x i32> %t to <8 x float>
  %h = bitcast <8 x i32> %b to <8 x float>
  %u = select nnan <8 x i1> %e, <8 x float> %g, <8 x float> %h
  store <8 x float> %u, ptr %o, align 4
  ret void
}
"""
    plain = str(jit.parse(text))
    fenced = faults.rewritten(plain, everywhere)
    # Those of the three tests; the exclusive or and the bit casts; and all arms.
    count = len(re.findall(r"= call .*@llvm\.arithmetic\.fence", fenced))
    assert count == (8 if everywhere else 6)
    a = np.array([-5, 3, 1 << 30, -(1 << 31), 0, 77, -1, 9], np.int32)
    b = np.array([2, -7, 5, 4, -1, 0, 12, -(1 << 31)], np.int32)
    results = []
    for module in (plain, fenced):
        code = jit.object_code(module)
        library, addresses = jit.load(code, ("f",), {})
        out = np.zeros(8, np.int32)
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(addresses["f"])(
            a.ctypes.data, b.ctypes.data, out.ctypes.data
        )
        results.append(out)
        del library
    first, second = results
    assert np.array_equal(first, second)
