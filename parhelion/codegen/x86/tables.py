"""Look-ups in small tables: the whole table is permuted.

A load at indices that are data is a scalar load for each lane: the index leaves its
vector, and the value enters one, through the same port. A permutation of two registers
looks up all lanes of a register at once, by the low bits of their indices; some of
them, and a choice among their results by each further bit, do so in a table of up to
1,024 bytes. That reads parts of the table that no lane may ask for, so the table must
be storage of a size known here, and the indices known to lie in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.analysis.interval import constant_interval
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.vector import concatenate, slice_lanes, widen
from parhelion.codegen.writer import Function
from parhelion.dataclass import dataclass
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.target import Target
from parhelion.types import Type, UInt

#: Bytes of a register.
WIDTH = 64
#: Registers that a table may fill.
MOST = 16


@dataclass(frozen=True, slots=True)
class _Permutation:
    """The instructions that permute one and two registers of elements of one width.

    feature: what the processor must have.
    one, two: their names.
    lanes: how many lanes of a look-up are worth one register of the table. The look-up
        takes as long for one lane as for a full register.
    """

    feature: str
    one: str
    two: str
    lanes: int


#: By the bits of an element.
PERMUTATIONS = {
    8: _Permutation("avx512vbmi", "permvar.qi", "vpermi2var.qi", 2),
    16: _Permutation("avx512bw", "permvar.hi", "vpermi2var.hi", 1),
    32: _Permutation("avx512f", "permvar.si", "vpermi2var.d", 1),
}


def look_up(f: Function, e: E.Load) -> str | None:
    """A load at indices that are data, in its memory form, by permutations; None if it
    is none of a small table, or the machine does not have them."""
    registers = _registers(f, e)
    if registers is None:
        return None
    table = _table(f, e, registers)
    narrow = _narrow(e.index)
    index = f.value(narrow)
    per = WIDTH * 8 // e.type.width
    parts: list[tuple[str, Type]] = []
    for start in range(0, e.type.count, per):
        count = min(per, e.type.count - start)
        piece = slice_lanes(f, index, narrow.type, start, count)
        piece = widen(f, piece, narrow.type.with_lanes(count), per)
        found = _permuted(f, table, piece, narrow.type.with_lanes(per), e.type.width)
        whole = UInt(e.type.width, per)
        parts.append((slice_lanes(f, found, whole, 0, count), whole.with_lanes(count)))
    text, t = concatenate(f, parts)
    to = memory_type(e.type)
    return (
        text if value_type(t) == to else f.op(f"bitcast {value_type(t)} {text} to {to}")
    )


def permutes(target: Target) -> bool:
    """Whether a target has registers as wide as those that are permuted."""
    return target.vector_bits >= 8 * WIDTH


def _registers(f: Function, e: E.Load) -> int | None:
    """How many registers the part of the table that may be read fills."""
    t, target = e.type, f.target
    permutation = PERMUTATIONS.get(t.width)
    if permutation is None or not permutes(target):
        return None
    if not target.has(permutation.feature):
        return None
    size, within = f.module.sizes.get(e.buffer), constant_interval(e.index)
    if size is None or within.lo is None or within.hi is None:
        return None
    end = (int(within.hi) + 1) * t.width // 8
    registers = (end + WIDTH - 1) // WIDTH
    if within.lo < 0 or end > size or registers > MOST:
        return None
    return registers if registers * permutation.lanes <= t.count else None


def _table(f: Function, e: E.Load, registers: int) -> list[str]:
    """The table's registers. The last one ends where the storage does."""
    pointer, size = f.pointers[e.buffer][0], f.module.sizes[e.buffer]
    part = UInt(e.type.width, WIDTH * 8 // e.type.width)
    vt, tag, lanes = value_type(part), f.module.tbaa(e.buffer), part.count
    table: list[str] = []
    for start in range(0, registers * WIDTH, WIDTH):
        at = f.op(f"getelementptr i8, ptr {pointer}, i64 {start}")
        align = f"align {e.type.bytes()}"
        if start + WIDTH <= size:
            table.append(f.op(f"load {vt}, ptr {at}, {align}{tag}"))
            continue
        held = (size - start) // e.type.bytes()
        there = ", ".join(f"i1 {int(i < held)}" for i in range(lanes))
        masked = f.module.declare(
            f"llvm.masked.load.v{lanes}i{e.type.width}.p0",
            vt,
            f"ptr, <{lanes} x i1>, {vt}",
        )
        table.append(
            f.op(
                f"call {vt} {masked}(ptr {align} {at}, <{lanes} x i1> <{there}>, "
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


def _permuted(
    f: Function, table: Sequence[str], index: str, t: Type, width: int
) -> str:
    """What lies in the table, of elements of `width` bits, at each of a register's
    indices of type `t`."""
    vt, bits = f"<{t.count} x i{width}>", f"<{t.count} x i1>"
    permutation = PERMUTATIONS[width]
    low = _resized(f, index, t, width, 0)
    found: list[str] = []
    for i in range(0, len(table), 2):
        pair = table[i : i + 2]
        if len(pair) == 2:
            name = f"llvm.x86.avx512.{permutation.two}.512"
            at = f.module.declare(name, vt, f"{vt}, {vt}, {vt}")
            text = f"call {vt} {at}({vt} {pair[0]}, {vt} {low}, {vt} {pair[1]})"
        else:
            name = f"llvm.x86.avx512.{permutation.one}.512"
            at = f.module.declare(name, vt, f"{vt}, {vt}")
            text = f"call {vt} {at}({vt} {pair[0]}, {vt} {low})"
        found.append(f.op(text))
    # The first bit that says in which pair of registers an element lies.
    bit = t.count.bit_length()
    above = low
    if bit + (len(found) - 1).bit_length() > width:
        above, bit = _resized(f, index, t, width, bit), 0
    while len(found) > 1:
        one = f.op(f"and {vt} {above}, splat (i{width} {1 << bit})")
        chosen = f.op(f"icmp ne {vt} {one}, zeroinitializer")
        others = [*found[1::2], *([""] if len(found) % 2 else [])]
        found = [
            f.op(f"select {bits} {chosen}, {vt} {b}, {vt} {a}") if b else a
            for a, b in zip(found[::2], others, strict=True)
        ]
        bit += 1
    return found[0]


def _resized(f: Function, index: str, t: Type, width: int, shift: int) -> str:
    """`width` bits of each index, from bit `shift` on."""
    it, one = value_type(t), value_type(t.element_of())
    if shift:
        index = f.op(f"lshr {it} {index}, splat ({one} {shift})")
    if t.width == width:
        return index
    how = "trunc" if t.width > width else "zext"
    return f.op(f"{how} {it} {index} to <{t.count} x i{width}>")
