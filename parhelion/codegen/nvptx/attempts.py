"""Nodes that are written otherwise for a GPU than elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.codegen.addresses import (
    address,
    from_memory,
    offset_pointer,
    read,
    to_memory,
)
from parhelion.codegen.backend import Attempt, Key
from parhelion.codegen.nvptx.reports import require
from parhelion.codegen.nvptx.textures import texel
from parhelion.codegen.types import memory_type, value_type, zero
from parhelion.codegen.writer import Function
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.types import INT32

#: The bits of a register, and the lanes of a warp.
_REGISTER, _WARP = 32, 32


def _predicated(f: Function, e: E.Load) -> str | None:
    """A scalar of the kernel's own storage, or zero.

    Elsewhere a zero is read that is kept for this. It would be in another memory than
    the element, and an address that may be in either is slow, and keeps storage of a
    thread out of registers. The first element is always there.
    """
    t, predicate = e.type, e.predicate
    if predicate is None or build.is_true(predicate) or t.count > 1:
        return None
    if e.buffer not in f.module.sizes:
        return None
    mask = f.value(predicate)
    pointer, offset = address(f, e.buffer, e.index)
    pointer = offset_pointer(f, pointer, t, offset)
    first = f.pointers[e.buffer][0]
    pointer = f.op(f"select i1 {mask}, ptr {pointer}, ptr {first}")
    vt = value_type(t)
    text = read(f, e.buffer, pointer, t)
    return f.op(f"select i1 {mask}, {vt} {text}, {vt} {zero(t)}")


def _aligned(f: Function, e: E.Load) -> str | None:
    """A scalar at a place that is known to be a multiple of more than its size: LLVM
    puts it and those beside it into one load of up to 16 bytes."""
    t, predicate = e.type, e.predicate
    if t.count > 1 or not (predicate is None or build.is_true(predicate)):
        return None
    align = f.module.alignment(e.buffer, e.index, 0)
    if align <= t.bytes():
        return None
    pointer, offset = address(f, e.buffer, e.index)
    return read(f, e.buffer, offset_pointer(f, pointer, t, offset), t, align)


def _from_lane(f: Function, e: E.Intrinsic) -> str:
    """Another lane's register. Lanes go together in groups, each of which counts from
    0; groups of fewer than a warp are told by a mask in the last operand (PTX ISA,
    "shfl.sync")."""
    value, lane, across = e.args
    count = build.const_int(across)
    if count is None:
        raise InternalError("lanes of a number that is no constant go together")
    t = e.type
    text, bits = to_memory(f, f.value(value), t), memory_type(t)
    if t.width < _REGISTER or bits != "i32":
        narrow = f"i{t.width}"
        if bits != narrow:
            text = f.op(f"bitcast {bits} {text} to {narrow}")
        if t.width < _REGISTER:
            text = f.op(f"zext {narrow} {text} to i32")
    at = f.module.declare(
        "llvm.nvvm.shfl.sync.idx.i32",
        "i32",
        "i32, i32, i32, i32",
        "convergent nounwind",
    )
    clamp = ((_WARP - count) << 8) | (_WARP - 1)
    found = f.op(f"call i32 {at}(i32 -1, i32 {text}, i32 {f.value(lane)}, i32 {clamp})")
    if t.width < _REGISTER:
        found = f.op(f"trunc i32 {found} to i{t.width}")
    if bits != f"i{t.width}":
        found = f.op(f"bitcast i{t.width} {found} to {bits}")
    return from_memory(f, found, t)


def _saturating_sub(f: Function, e: E.Intrinsic) -> str | None:
    """One instruction, for which LLVM writes seven."""
    a, b = e.args
    if e.type is not INT32:
        return None
    asm = 'asm "sub.sat.s32 $0, $1, $2;", "=r,r,r"'
    return f.op(f"call i32 {asm}(i32 {f.value(a)}, i32 {f.value(b)})")


EMITTERS: Mapping[Key, tuple[Attempt, ...]] = {
    E.Load: (_predicated, _aligned),
    "from_lane": (_from_lane,),
    "require": (require,),
    "saturating_sub": (_saturating_sub,),
    "texel": (texel,),
}

__all__ = ["EMITTERS"]
