"""Stores past the caches: whole lines of large outputs (see `stream_stores`)."""

from __future__ import annotations

from parhelion.codegen.intrinsics import lowers
from parhelion.codegen.memory import address, offset_pointer, powers_of_two, to_memory
from parhelion.codegen.types import memory_type
from parhelion.codegen.vector import slice_lanes
from parhelion.codegen.writer import Function
from parhelion.errors import InternalError
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.symbols import BufferSym

#: The size of a cache line in bytes.
LINE = 64


def store_streamed(
    f: Function, buffer: BufferSym, value: E.Intrinsic, index: Expr
) -> str:
    """A dense store of what begins a line, or divides one evenly."""
    if not isinstance(index, E.Ramp):
        raise InternalError("code generation met a streamed store that is not dense")
    text, t = f.value(value.args[0]), value.type
    pointer, offset = address(f, buffer, index.base)
    for start, count in powers_of_two(t.count):
        part = f.pieces.get((text, start, count))
        if part is None:
            part = slice_lanes(f, text, t, start, count)
        piece = t.with_lanes(count)
        part = to_memory(f, part, piece)
        at = offset_pointer(f, pointer, t, offset + start)
        alignment = min(count * buffer.type.bytes(), LINE)
        f.out(
            f"  store {memory_type(piece)} {part}, ptr {at}, align {alignment}"
            f"{f.module.tbaa(buffer)}{f.module.NONTEMPORAL}"
        )
    f.streams = True
    return text


@lowers("line_aligned")
def _line_aligned(f: Function, e: E.Intrinsic) -> str:
    at = e.args[0]
    if not isinstance(at, E.Load):
        raise InternalError("code generation met line_aligned of what is no element")
    pointer, offset = address(f, at.buffer, at.index)
    pointer = offset_pointer(f, pointer, at.type, offset)
    number = f.op(f"ptrtoint ptr {pointer} to i64")
    past = f.op(f"and i64 {number}, {LINE - 1}")
    return f.op(f"icmp eq i64 {past}, 0")


def end_streams(f: Function) -> None:
    """Before the function returns: other threads see what went past the caches."""
    if f.streams and f.target.is_x86():
        fence = f.module.declare("llvm.x86.sse.sfence", "void", "")
        f.out(f"  call void {fence}()")
