"""Dot products of bytes: four products and their sum, added to a number, at once.

``reduce_add(int32(a) * int32(b), n)`` of 4n unsigned bytes and 4n signed ones is one
instruction where the machine has VNNI. LLVM finds it for a sum of all lanes alone.
"""

from __future__ import annotations

from parhelion.codegen.types import value_type
from parhelion.codegen.vector import concatenate, slice_lanes
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.lower.lane_sums import bytes_of
from parhelion.types import Type, UInt

#: How many bytes each of the 32-bit sums takes.
TERMS = 4


def dot(f: Function, e: E.VectorReduce, start: Expr | None = None) -> str | None:
    """The sums of each four products of bytes, plus `start`; None if this is not one,
    or the machine has no instruction for it."""
    count = e.value.type.count
    if e.type.width != 32 or not e.type.is_int_or_uint():
        return None
    if e.op != "add" or count != TERMS * e.lanes or e.lanes < 4:
        return None
    if not f.target.dots_bytes:
        return None
    pair = bytes_of(e.value)
    if pair is None or e.lanes & (e.lanes - 1):
        return None
    lanes = min(e.lanes, f.target.vector_bits // 32)
    t = e.type.with_lanes(lanes)
    vt = value_type(t)
    name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    at = f.module.declare(name, vt, f"{vt}, {vt}, {vt}")
    total = "zeroinitializer" if start is None else f.value(start)
    texts = [f.value(x) for x in pair]
    parts: list[tuple[str, Type]] = []
    for low in range(0, e.lanes, lanes):
        acc = total
        if start is not None:
            acc = slice_lanes(f, total, e.type, low, lanes)
        words = []
        for text, x in zip(texts, pair, strict=True):
            size = TERMS * lanes
            piece = slice_lanes(f, text, x.type, TERMS * low, size)
            words.append(f.op(f"bitcast {value_type(UInt(8, size))} {piece} to {vt}"))
        args = ", ".join([f"{vt} {a}" for a in (acc, *words)])
        parts.append((f.op(f"call {vt} {at}({args})"), t))
    return concatenate(f, parts)[0]


def sum_with_dot(f: Function, e: E.Add) -> str | None:
    """A dot product that takes the other operand of a sum along."""
    for a, b in ((e.a, e.b), (e.b, e.a)):
        if isinstance(b, E.VectorReduce):
            text = dot(f, b, a)
            if text is not None:
                return text
    return None
