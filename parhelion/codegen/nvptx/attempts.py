"""Nodes that are written otherwise for a GPU than elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.codegen.addresses import address, offset_pointer, read
from parhelion.codegen.backend import Attempt, Key
from parhelion.codegen.nvptx.reports import require
from parhelion.codegen.types import value_type, zero
from parhelion.codegen.writer import Function
from parhelion.ir import build
from parhelion.ir import expr as E


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


EMITTERS: Mapping[Key, tuple[Attempt, ...]] = {
    E.Load: (_predicated, _aligned),
    "require": (require,),
}

__all__ = ["EMITTERS"]
