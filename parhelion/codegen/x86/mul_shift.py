"""Products of 16-bit numbers, shifted right by 15 and rounded, at once."""

from __future__ import annotations

from parhelion.codegen.types import mask_text, value_type
from parhelion.codegen.writer import Function
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.types import Int, Type

#: pmulhrsw by register width in bits: the feature it needs and its intrinsic.
_PMULHRSW = (
    (512, "avx512bw", "llvm.x86.avx512.pmul.hr.sw.512"),
    (256, "avx2", "llvm.x86.avx2.pmul.hr.sw"),
    (128, "ssse3", "llvm.x86.ssse3.pmul.hr.sw.128"),
)


def mul_shift(f: Function, e: E.Intrinsic) -> str | None:
    """``rounding_mul_shift_right(a, b, 15)`` of int16 vectors: pmulhrsw.

    The instruction wraps where the language saturates, for -1 times -1 (in Q15)
    alone, and no other product gives the least value, so it is put right by a
    comparison.
    """
    t = e.type
    if (
        e.op != "rounding_mul_shift_right"
        or t is not Int(16, t.count)
        or t.count < 8
        or t.count & (t.count - 1)
        or build.const_int(e.args[2]) != 15
    ):
        return None
    a, b = f.value(e.args[0]), f.value(e.args[1])
    for bits, feature, name in _PMULHRSW:
        lanes = bits // 16
        if lanes <= max(t.count, 8) and f.target.has(feature) and t.count >= lanes:
            text = _in_pieces(f, name, t, lanes, a, b)
            vt = value_type(t)
            least = "splat (i16 -32768)"
            over = f.op(f"icmp eq {vt} {text}, {least}")
            ones = f.op(f"sext <{t.count} x i1> {over} to {vt}")
            return f.op(f"xor {vt} {text}, {ones}")
    return None


def _in_pieces(f: Function, name: str, t: Type, lanes: int, a: str, b: str) -> str:
    """An instruction of `lanes` lanes applied to all of two longer vectors."""
    from parhelion.codegen.vector import concatenate

    part = t.with_lanes(lanes)
    pt, vt = value_type(part), value_type(t)
    at = f.module.declare(name, pt, f"{pt}, {pt}")
    out: list[tuple[str, Type]] = []
    for start in range(0, t.count, lanes):
        if lanes == t.count:
            x, y = a, b
        else:
            mask = mask_text(range(start, start + lanes))
            x = f.op(f"shufflevector {vt} {a}, {vt} poison, {mask}")
            y = f.op(f"shufflevector {vt} {b}, {vt} poison, {mask}")
        out.append((f.op(f"call {pt} {at}({pt} {x}, {pt} {y})"), part))
    return concatenate(f, out)[0]
