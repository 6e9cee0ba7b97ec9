"""Stores past the caches: whole lines of large outputs (see `stream_stores`)."""

from __future__ import annotations

from parhelion.codegen.addresses import (
    address,
    offset_pointer,
    powers_of_two,
    to_memory,
)
from parhelion.codegen.intrinsics import lowers
from parhelion.codegen.memory import STORES
from parhelion.codegen.types import memory_type
from parhelion.codegen.vector import slice_lanes
from parhelion.codegen.writer import Function
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.symbols import BufferSym

#: The size of a cache line in bytes.
LINE = 64
#: What addresses are told apart by at first.
_PAGE = 4096


def store_streamed(
    f: Function, buffer: BufferSym, value: E.Intrinsic, index: Expr
) -> str:
    """Writes a dense store past the caches, of whole lines or of a part that divides
    one."""
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


STORES["streamed"] = store_streamed


@lowers("line_aligned")
def _line_aligned(f: Function, e: E.Intrinsic) -> str:
    past = f.op(f"and i64 {_number(f, e.args[0])}, {LINE - 1}")
    return f.op(f"icmp eq i64 {past}, 0")


@lowers("lines_apart")
def _lines_apart(f: Function, e: E.Intrinsic) -> str:
    read, written = (_number(f, at) for at in e.args[:2])
    behind = build.const_int(e.args[2])
    if behind is None:
        raise InternalError("code generation met a distance that is no constant")
    ahead = f.op(f"sub i64 {read}, {written}")
    moved = f.op(f"add i64 {ahead}, {behind}")
    place = f.op(f"and i64 {moved}, {_PAGE - 1}")
    return f.op(f"icmp uge i64 {place}, {behind + LINE}")


def _number(f: Function, at: Expr) -> str:
    """The address of an element, as a number."""
    if not isinstance(at, E.Load):
        raise InternalError("code generation met the address of what is no element")
    pointer, offset = address(f, at.buffer, at.index)
    pointer = offset_pointer(f, pointer, at.type, offset)
    return f.op(f"ptrtoint ptr {pointer} to i64")


def end_streams(f: Function) -> None:
    """Before the function returns: other threads see what went past the caches."""
    fence = f.module.backend.fence
    if f.streams and fence is not None:
        f.module.declare(fence.name, "void", fence.parameters)
        f.out(f"  {fence.call}")
