"""Loads at places that a table names: mostly near each other, one after the other.

Tables of places are made to be walked along: where pixels come from when an image gets
another size, or the elements of a list that was sorted. So code asks, when it runs,
whether the places of all lanes lie between the least of the first four and the greatest
of the last four (of colours that are repeated, the first lane may be the third one of a
pixel), and whether these are at most two registers apart. Then what lies there is
loaded, no element before the first or beyond the last, and permuted: some 25
instructions for a register, where each lane would take three by itself. Of others,
lanes are loaded one by one; to ask costs about as much as three lanes.
"""

from __future__ import annotations

from parhelion.codegen.addresses import address, offset_pointer
from parhelion.codegen.types import mask_text, memory_type, value_type
from parhelion.codegen.vector import concatenate, slice_lanes
from parhelion.codegen.writer import Function
from parhelion.codegen.x86.slopes import parted, seen
from parhelion.codegen.x86.tables import PERMUTATIONS, WIDTH, permutes
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import INT32, UInt

#: Fewer lanes are not worth it.
_FEWEST = 8


def load_near(f: Function, e: E.Load) -> str | None:
    """A load at the places of a table, in its memory form; None if it is none, or the
    machine does not permute such elements."""
    t = e.type
    permutation = PERMUTATIONS.get(t.width)
    if permutation is None or not permutes(f.target):
        return None
    if t.count < _FEWEST or not f.target.has(permutation.feature):
        return None
    moving, rest = parted(f, e.index)
    if moving.type.element_of() is not INT32 or not _is_listed(f, moving):
        return None
    f.module.note_lanes(e.buffer)
    pointer, offset = address(f, e.buffer, rest)
    pointer = offset_pointer(f, pointer, t, offset)
    at, per = f.value(moving), WIDTH * 8 // t.width
    parts = []
    for start in range(0, t.count, per):
        count = min(per, t.count - start)
        piece = slice_lanes(f, at, moving.type, start, count)
        name = _function(f, t.width, count, permutation.two)
        kind = f"<{count} x i{t.width}>"
        text = f.op(f"call {kind} @{name}(ptr {pointer}, <{count} x i32> {piece})")
        parts.append((text, UInt(t.width, count)))
    text, found = concatenate(f, parts)
    vt, to = value_type(found), memory_type(t)
    return text if vt == to else f.op(f"bitcast {vt} {text} to {to}")


def _is_listed(f: Function, e: Expr) -> bool:
    """Whether the lanes of an index were loaded from neighbouring places of a table.
    They may be limited since."""
    e = seen(f, e)
    if isinstance(e, E.Sub):
        return isinstance(e.b, E.Broadcast) and _is_listed(f, e.a)
    if isinstance(e, E.Min | E.Max | E.Add):
        if isinstance(e.b, E.Broadcast):
            return _is_listed(f, e.a)
        return isinstance(e.a, E.Broadcast) and _is_listed(f, e.b)
    if not isinstance(e, E.Load) or e.predicate is not None:
        return False
    at = seen(f, e.index)
    return isinstance(at, E.Ramp) and build.const_int(at.stride) == 1


def _function(f: Function, width: int, count: int, two: str) -> str:
    """The name of the function that loads so many elements, of so many bits."""
    m, per = f.module, WIDTH * 8 // width
    one, whole, flags = f"i{width}", f"<{per} x i{width}>", f"<{per} x i1>"
    m.declare("llvm.umin.i32", "i32", "i32, i32")
    load = m.declare(
        f"llvm.masked.load.v{per}{one}.p0", whole, f"ptr, {flags}, {whole}"
    )
    permute = m.declare(
        f"llvm.x86.avx512.{two}.512", whole, f"{whole}, {whole}, {whole}"
    )
    least = m.declare("llvm.vector.reduce.smin.v4i32", "i32", "<4 x i32>")
    most = m.declare("llvm.vector.reduce.smax.v4i32", "i32", "<4 x i32>")
    lanes, places = f"<{count} x {one}>", f"<{count} x i32>"
    zeros = f"<{count} x i32> zeroinitializer"
    text = [
        "{",
        "entry:",
        f"  %some = shufflevector {places} %at, {places} poison, {_four(0)}",
        f"  %others = shufflevector {places} %at, {places} poison, {_four(count - 4)}",
        f"  %first = call i32 {least}(<4 x i32> %some)",
        f"  %last = call i32 {most}(<4 x i32> %others)",
        "  %far = sub i32 %last, %first",
        f"  %top = call i32 @llvm.umin.i32(i32 %far, i32 {2 * per - 1})",
        f"  %first.0 = insertelement {places} poison, i32 %first, i64 0",
        f"  %firsts = shufflevector {places} %first.0, {places} poison, {zeros}",
        f"  %top.0 = insertelement {places} poison, i32 %top, i64 0",
        f"  %tops = shufflevector {places} %top.0, {places} poison, {zeros}",
        f"  %beyond = sub {places} %at, %firsts",
        # A place before the first one is far beyond it, as an unsigned number.
        f"  %is.out = icmp ugt {places} %beyond, %tops",
        f"  %out = bitcast <{count} x i1> %is.out to i{count}",
        f"  %near = icmp eq i{count} %out, 0",
        f"  br i1 %near, label %at.once, label %by.lane{m.LIKELY}",
        "at.once:",
        "  %begin = sext i32 %first to i64",
        f"  %pointer = getelementptr {one}, ptr %base, i64 %begin",
        f"  %index = {_resized(count, width, '%beyond')}",
        f"  %limit = {_scalar(width, '%top')}",
        f"  %limit.0 = insertelement {whole} poison, {one} %limit, i64 0",
        f"  %limits = shufflevector {whole} %limit.0, {whole} poison,"
        f" <{per} x i32> zeroinitializer",
    ]
    for k in range(2):
        numbers = ", ".join([f"{one} {k * per + i}" for i in range(per)])
        text += [
            f"  %there.{k} = icmp ule {whole} <{numbers}>, %limits",
            f"  %pointer.{k} = getelementptr {one}, ptr %pointer, i64 {k * per}",
            f"  %part.{k} = call {whole} {load}(ptr align {width // 8} %pointer.{k},"
            f" {flags} %there.{k}, {whole} zeroinitializer)",
        ]
    every = ", ".join([f"i32 {min(i, count)}" for i in range(per)])
    some = ", ".join([f"i32 {i}" for i in range(count)])
    text += [
        f"  %all = shufflevector {lanes} %index, {lanes} zeroinitializer,"
        f" <{per} x i32> <{every}>",
        f"  %found = call {whole} {permute}({whole} %part.0, {whole} %all,"
        f" {whole} %part.1)",
        f"  %together = shufflevector {whole} %found, {whole} poison,"
        f" <{count} x i32> <{some}>",
        "  br label %done",
        "by.lane:",
    ]
    before = "poison"
    for i in range(count):
        text += [
            f"  %place.{i} = extractelement {places} %at, i64 {i}",
            f"  %place.{i}.64 = sext i32 %place.{i} to i64",
            f"  %there.at.{i} = getelementptr {one}, ptr %base, i64 %place.{i}.64",
            f"  %one.{i} = load {one}, ptr %there.at.{i}, align {width // 8}",
            f"  %lane.{i} = insertelement {lanes} {before}, {one} %one.{i}, i64 {i}",
        ]
        before = f"%lane.{i}"
    text += [
        "  br label %done",
        "done:",
        f"  %value = phi {lanes} [ %together, %at.once ], [ {before}, %by.lane ]",
        f"  ret {lanes} %value",
        "}",
        "",
    ]
    name = f"parhelion.near.{count}.{width}"
    given = f"ptr %base, {places} %at"
    header = f"define internal {lanes} @{name}({given}) alwaysinline"
    return m.share(name, header, "\n".join(text))


def _four(start: int) -> str:
    """The mask of four lanes."""
    return mask_text(range(start, start + 4))


def _resized(count: int, width: int, text: str) -> str:
    """Numbers that are small, in as many bits as elements have."""
    places, lanes = f"<{count} x i32>", f"<{count} x i{width}>"
    kept = f"{places} {text}"
    return f"add {kept}, zeroinitializer" if width == 32 else f"trunc {kept} to {lanes}"


def _scalar(width: int, text: str) -> str:
    return f"add i32 {text}, 0" if width == 32 else f"trunc i32 {text} to i{width}"


__all__ = ["load_near"]
