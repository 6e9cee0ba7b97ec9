"""Look-ups in small tables of bytes: the whole table is permuted.

A load at indices that are data is a scalar load for each lane: the index leaves its
vector, and the byte enters one, through the same port. A permutation of 128 bytes in
two registers looks up 64 lanes at once, by the low seven bits of their indices; eight
of them, and a choice among their results by each further bit, do so in 1,024 bytes.
That reads bytes of the table that no lane may ask for, so the table must be storage of
a size known here, and the indices known to lie in it.
"""

from __future__ import annotations

from parhelion.analysis.interval import constant_interval
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.vector import concatenate, slice_lanes, widen
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import Type, UInt

#: Bytes of a register.
WIDTH = 64
#: Registers that a table may fill.
MOST = 16
#: A look-up takes as long for one lane as for all of a register: a table may fill one
#: register for so many lanes.
LANES = 4


def look_up(f: Function, e: E.Load) -> str | None:
    """A load at indices that are data, by permutations; None if it is none of a small
    table of bytes, or the machine does not have them."""
    registers = _registers(f, e)
    if registers is None:
        return None
    table = _table(f, e, registers)
    narrow = _narrow(e.index)
    index = f.value(narrow)
    parts: list[tuple[str, Type]] = []
    for start in range(0, e.type.count, WIDTH):
        count = min(WIDTH, e.type.count - start)
        piece = slice_lanes(f, index, narrow.type, start, count)
        piece = widen(f, piece, narrow.type.with_lanes(count), WIDTH)
        found = _permuted(f, table, piece, narrow.type.with_lanes(WIDTH))
        whole, part = e.type.with_lanes(WIDTH), e.type.with_lanes(count)
        parts.append((slice_lanes(f, found, whole, 0, count), part))
    return concatenate(f, parts)[0]


def _registers(f: Function, e: E.Load) -> int | None:
    """How many registers the part of the table that may be read fills."""
    t, target = e.type, f.target
    if t.width != 8 or target.vector_bits < 8 * WIDTH or not target.has("avx512vbmi"):
        return None
    size, within = f.module.sizes.get(e.buffer), constant_interval(e.index)
    if size is None or within.lo is None or within.hi is None:
        return None
    registers = int(within.hi) // WIDTH + 1
    if within.lo < 0 or within.hi >= size or registers > MOST:
        return None
    return registers if registers * LANES <= t.count else None


def _table(f: Function, e: E.Load, registers: int) -> list[str]:
    """The table's registers. The last one ends where the storage does."""
    pointer, size = f.pointers[e.buffer][0], f.module.sizes[e.buffer]
    vt, tag = f"<{WIDTH} x i8>", f.module.tbaa(e.buffer)
    table: list[str] = []
    for start in range(0, registers * WIDTH, WIDTH):
        at = f.op(f"getelementptr i8, ptr {pointer}, i64 {start}")
        if start + WIDTH <= size:
            table.append(f.op(f"load {vt}, ptr {at}, align 1{tag}"))
            continue
        there = ", ".join(f"i1 {int(start + i < size)}" for i in range(WIDTH))
        masked = f.module.declare(
            f"llvm.masked.load.v{WIDTH}i8.p0", vt, f"ptr, <{WIDTH} x i1>, {vt}"
        )
        table.append(
            f.op(
                f"call {vt} {masked}(ptr align 1 {at}, <{WIDTH} x i1> <{there}>, "
                f"{vt} zeroinitializer){tag}"
            )
        )
    return table


def _narrow(index: Expr) -> Expr:
    """The index before it was widened: it is never negative."""
    while (
        isinstance(index, E.Cast)
        and index.type.is_int_or_uint()
        and index.a.type.is_int_or_uint()
        and 8 <= index.a.type.width <= index.type.width
    ):
        index = index.a
    return index


def _permuted(f: Function, table: list[str], index: str, t: Type) -> str:
    """What lies in the table at each of 64 indices of type `t`."""
    vt, bits = f"<{WIDTH} x i8>", f"<{WIDTH} x i1>"
    low = _byte(f, index, t, 0)
    found: list[str] = []
    for i in range(0, len(table), 2):
        pair = table[i : i + 2]
        if len(pair) == 2:
            name = "llvm.x86.avx512.vpermi2var.qi.512"
            at = f.module.declare(name, vt, f"{vt}, {vt}, {vt}")
            text = f"call {vt} {at}({vt} {pair[0]}, {vt} {low}, {vt} {pair[1]})"
        else:
            at = f.module.declare("llvm.x86.avx512.permvar.qi.512", vt, f"{vt}, {vt}")
            text = f"call {vt} {at}({vt} {pair[0]}, {vt} {low})"
        found.append(f.op(text))
    high = _byte(f, index, t, 7) if len(found) > 1 else ""
    bit = 1
    while len(found) > 1:
        one = f.op(f"and {vt} {high}, splat (i8 {bit})")
        chosen = f.op(f"icmp ne {vt} {one}, zeroinitializer")
        above = [*found[1::2], *([""] if len(found) % 2 else [])]
        found = [
            f.op(f"select {bits} {chosen}, {vt} {b}, {vt} {a}") if b else a
            for a, b in zip(found[::2], above, strict=True)
        ]
        bit *= 2
    return found[0]


def _byte(f: Function, index: str, t: Type, shift: int) -> str:
    """Eight bits of each index, from bit `shift` on."""
    it = value_type(t)
    if shift:
        index = f.op(f"lshr {it} {index}, splat ({value_type(t.element_of())} {shift})")
    if t.width == 8:
        return index
    return f.op(f"trunc {it} {index} to {memory_type(UInt(8, t.count))}")
