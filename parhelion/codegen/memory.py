"""Loads and stores.

Vector accesses are dense, reversed, strided (dense loads and shuffles, see `strided`),
broadcast, or else lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from parhelion.codegen import opaque, strided, transposed
from parhelion.codegen.addresses import (
    address,
    from_memory,
    index_value,
    offset_pointer,
    powers_of_two,
    read,
    to_memory,
)
from parhelion.codegen.backend import GATHER, MASKED_GATHER, SHORT_STEP
from parhelion.codegen.expr import broadcast
from parhelion.codegen.types import memory_type, suffix, value_type
from parhelion.codegen.vector import (
    concatenate,
    extract,
    reversed_lanes,
    slice_lanes,
)
from parhelion.codegen.writer import Function, emits
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.symbols import BufferSym
from parhelion.types import Bool, Type, UInt

#: Stores of values that an intrinsic marks, by its name: given the buffer, the value
#: and the index, they return the value's text.
STORES: dict[str, Callable[[Function, BufferSym, Any, Expr], str]] = {}


#: The base and stride of vectors that were looked at; None for what is no ramp.
_Ramps = dict[Expr, tuple[Expr, Expr] | None]


def as_ramp(e: Expr) -> tuple[Expr, Expr] | None:
    """The base and stride of a vector index that is a ramp (stride 0: broadcast)."""
    return _ramp(e, {})


def _ramp(e: Expr, seen: _Ramps) -> tuple[Expr, Expr] | None:
    if isinstance(e, E.Ramp):
        return e.base, e.stride
    if isinstance(e, E.Broadcast):
        return e.value, build.imm(0, e.value.type)
    if e not in seen:
        seen[e] = _find_ramp(e, seen)
    return seen[e]


def _find_ramp(e: Expr, seen: _Ramps) -> tuple[Expr, Expr] | None:
    if isinstance(e, E.Add | E.Sub):
        a = _ramp(e.a, seen)
        b = _ramp(e.b, seen) if a is not None else None
        if a is None or b is None:
            return None
        op = build.add if isinstance(e, E.Add) else build.sub
        return op(a[0], b[0]), op(a[1], b[1])
    if isinstance(e, E.Mul):
        for x, y in ((e.a, e.b), (e.b, e.a)):
            if isinstance(y, E.Broadcast):
                a = _ramp(x, seen)
                if a is not None:
                    return build.mul(a[0], y.value), build.mul(a[1], y.value)
    return None


def _store(
    f: Function,
    buffer: BufferSym,
    pointer: str,
    a: str,
    t: Type,
    align: int | None = None,
) -> None:
    a = to_memory(f, a, t)
    f.out(
        f"  store {memory_type(t)} {a}, ptr {pointer}, align {align or t.bytes()}"
        f"{f.module.tbaa(buffer)}"
    )


@emits(E.Load)
def load(f: Function, e: E.Load) -> str:
    t, buffer, index = e.type, e.buffer, e.index
    if e.predicate is not None and not build.is_true(e.predicate):
        return _load_masked(f, e, e.predicate)
    if t.count == 1:
        pointer, offset = address(f, buffer, index)
        return read(f, buffer, offset_pointer(f, pointer, t, offset), t)
    parts = _concatenated(index)
    if parts is not None:
        texts = [
            (f.value(E.Load(t.with_lanes(p.type.count), buffer, p, None)), p.type)
            for p in parts
        ]
        return concatenate(f, [(a, t.with_lanes(p.count)) for a, p in texts])[0]
    ramp = as_ramp(index)
    if ramp is None:
        return _gather(f, e)
    base, stride = ramp
    step = build.const_int(stride)
    if step == 0:
        one = f.value(E.Load(t.element_of(), buffer, base, None))
        return broadcast(f, one, t)
    pointer, offset = address(f, buffer, base)
    if step is None or abs(step) > SHORT_STEP:
        found = transposed.load(f, e, stride, pointer, offset)
        if found is not None:
            return found
    if step is None or abs(step) > f.module.backend.longest_step(f.target, t.width):
        return _load_lanes(f, e, base, stride)
    if step == 1:
        align = f.module.alignment(buffer, base, 0)
        return read(f, buffer, offset_pointer(f, pointer, t, offset), t, align)
    if step == -1:
        first = 1 - t.count
        start = offset_pointer(f, pointer, t, offset + first)
        align = f.module.alignment(buffer, base, first)
        return reversed_lanes(f, read(f, buffer, start, t, align), t)
    return strided.load(f, e, pointer, offset, step)


def _concatenated(index: Expr) -> Sequence[Expr] | None:
    """The pieces of an index that was put together from several vectors."""
    if not isinstance(index, E.Shuffle):
        return None
    lanes = sum(v.type.count for v in index.vectors)
    if len(index.vectors) < 2 or index.indices != tuple(range(lanes)):
        return None
    return index.vectors


def _load_lanes(f: Function, e: E.Load, base: Expr, stride: Expr) -> str:
    """A long stride, or one that is known at run time: one load a lane, stepping the
    pointer."""
    f.module.note_lanes(e.buffer)
    t, one = e.type, e.type.element_of()
    mt, st = memory_type(t), memory_type(one)
    pointer, offset = address(f, e.buffer, base)
    pointer = offset_pointer(f, pointer, t, offset)
    step = index_value(f, stride)
    tag = f.module.tbaa(e.buffer)
    text = "poison"
    for lane in range(t.count):
        if lane:
            pointer = f.op(f"getelementptr {st}, ptr {pointer}, i64 {step}")
        a = f.op(f"load {st}, ptr {pointer}, align {t.bytes()}{tag}")
        text = f.op(f"insertelement {mt} {text}, {st} {a}, i64 {lane}")
    return from_memory(f, text, t)


def _apart(f: Function, buffer: BufferSym, index: Expr) -> tuple[str, Expr]:
    """An index that is data: the pointer that all lanes share, and what they add."""
    start, offset, rest = f.pointers[buffer][0], 0, index
    if isinstance(index, E.Add):
        if isinstance(index.b, E.Broadcast):
            start, offset = address(f, buffer, index.b.value)
            rest = index.a
        elif isinstance(index.a, E.Broadcast):
            start, offset = address(f, buffer, index.a.value)
            rest = index.b
    return offset_pointer(f, start, buffer.type.element_of(), offset), rest


def _lane_pointers(f: Function, buffer: BufferSym, index: Expr) -> str:
    """A vector of pointers, for an index that is data."""
    start, rest = _apart(f, buffer, index)
    return f.op(
        f"getelementptr {memory_type(buffer.type.element_of())}, ptr {start}, "
        f"{value_type(rest.type)} {f.value(rest)}"
    )


def _each_lane(f: Function, buffer: BufferSym, index: Expr) -> Iterator[str]:
    """A pointer for each lane, for an index that is data.

    The lanes leave the vector as they are, and become addresses as scalars. Accesses
    with the same varying part, such as the values of a Tuple or the corners of a cell,
    then share them, and no vector of pointers, twice as wide as the index, is made:
    where it would fill 512 bits, half of the ports for shuffles would be shut.
    """
    start, rest = _apart(f, buffer, index)
    st, text = memory_type(buffer.type.element_of()), f.value(rest)
    scalar = value_type(rest.type.element_of())
    for lane in range(rest.type.count):
        at = extract(f, text, rest.type, lane)
        if rest.type.width < 64:
            at = f.op(f"sext {scalar} {at} to i64")
        yield f.op(f"getelementptr {st}, ptr {start}, i64 {at}")


def _gather(f: Function, e: E.Load) -> str:
    found = f.module.tables.emit(GATHER, f, e)
    if found is not None:
        return found
    f.module.note_lanes(e.buffer)
    t, one = e.type, e.type.element_of()
    mt, st = memory_type(t), memory_type(one)
    tag = f.module.tbaa(e.buffer)
    text = "poison"
    for lane, pointer in enumerate(_each_lane(f, e.buffer, e.index)):
        a = f.op(f"load {st}, ptr {pointer}, align {t.bytes()}{tag}")
        text = f.op(f"insertelement {mt} {text}, {st} {a}, i64 {lane}")
    return from_memory(f, text, t)


def _storage(t: Type) -> Type:
    """The type whose registers look like `t` in memory: bytes for Bools."""
    return UInt(8, t.count) if t.is_bool() else t


def _load_masked(f: Function, e: E.Load, predicate: Expr) -> str:
    t, buffer = e.type, e.buffer
    mask = f.value(predicate)
    kept = _storage(t)
    if t.count == 1:
        # Where the predicate fails, read a zero that is always there.
        pointer, offset = address(f, buffer, e.index)
        pointer = offset_pointer(f, pointer, t, offset)
        none = f.module.add_global(
            "parhelion.zero", "private unnamed_addr constant i64 0, align 8"
        )
        pointer = f.op(f"select i1 {mask}, ptr {pointer}, ptr {none}")
        text = f.op(f"load {memory_type(t)}, ptr {pointer}, align {t.bytes()}")
        return from_memory(f, text, t)
    vt, mt = memory_type(t), f"<{t.count} x i1>"
    ramp = as_ramp(e.index)
    step = build.const_int(ramp[1]) if ramp is not None else None
    tag = f.module.tbaa(buffer)
    if ramp is not None and step in (1, -1):
        pointer, offset = address(f, buffer, ramp[0])
        if step == -1:
            offset -= t.count - 1
            mask = reversed_lanes(f, mask, Bool(t.count))
        pointer = offset_pointer(f, pointer, t, offset)
        at = f.module.declare(
            f"llvm.masked.load.{suffix(kept)}.p0", vt, f"ptr, {mt}, {vt}"
        )
        text = f.op(
            f"call {vt} {at}(ptr align {t.bytes()} {pointer}, {mt} {mask}, "
            f"{vt} zeroinitializer){tag}"
        )
        text = from_memory(f, text, t)
        return reversed_lanes(f, text, t) if step == -1 else text
    if ramp is not None and step in (2, 3, 4) and _spreads(f, kept):
        pointer, offset = address(f, buffer, ramp[0])
        pointer = offset_pointer(f, pointer, t, offset)
        text = strided.load_masked(f, pointer, kept, step, mask, tag)
        return from_memory(f, text, t)
    found = f.module.tables.emit(MASKED_GATHER, f, e)
    if found is not None:
        return from_memory(f, found, t)
    f.module.note_lanes(buffer)
    lanes = _lane_pointers(f, buffer, e.index)
    if not f.target.gathers(kept.width):
        return from_memory(f, _gather_some(f, kept, lanes, mask, tag), t)
    pt = f"<{t.count} x ptr>"
    at = f.module.declare(
        f"llvm.masked.gather.{suffix(kept)}.v{t.count}p0", vt, f"{pt}, {mt}, {vt}"
    )
    text = f.op(
        f"call {vt} {at}({pt} align {t.bytes()} {lanes}, {mt} {mask}, "
        f"{vt} zeroinitializer){tag}"
    )
    return from_memory(f, text, t)


def _spreads(f: Function, t: Type) -> bool:
    """Whether lanes a short step apart are moved by masked moves of all that is between
    them: there is no instruction for such lanes alone."""
    return f.target.narrowest_masked <= t.width and not f.target.gathers(t.width)


def _gather_some(f: Function, t: Type, lanes: str, mask: str, tag: str) -> str:
    """Loads at the places of a mask's lanes, of what no instruction gathers. Of other
    lanes a zero is read that is always there: LLVM would make each lane a branch, and
    the time of its register allocation grows with the square of those."""
    one, vt = value_type(t.element_of()), value_type(t)
    none = f.module.add_global(
        "parhelion.zero", "private unnamed_addr constant i64 0, align 8"
    )
    places = _instead(f, t, lanes, mask, none)
    text = "poison"
    for lane in range(t.count):
        at = f.op(f"extractelement <{t.count} x ptr> {places}, i64 {lane}")
        a = f.op(f"load {one}, ptr {at}, align {t.bytes()}{tag}")
        text = f.op(f"insertelement {vt} {text}, {one} {a}, i64 {lane}")
    return text


def _scatter_some(
    f: Function, t: Type, text: str, lanes: str, mask: str, tag: str
) -> None:
    """Stores at the places of a mask's lanes, as `_gather_some`: other lanes are
    written to the stack, where nobody reads them."""
    one, vt = value_type(t.element_of()), value_type(t)
    places = _instead(f, t, lanes, mask, f.alloca("i64, align 8"))
    for lane in range(t.count):
        at = f.op(f"extractelement <{t.count} x ptr> {places}, i64 {lane}")
        a = f.op(f"extractelement {vt} {text}, i64 {lane}")
        f.out(f"  store {one} {a}, ptr {at}, align {t.bytes()}{tag}")


def _instead(f: Function, t: Type, lanes: str, mask: str, other: str) -> str:
    """Pointers for a mask's lanes, and another one for all others."""
    pt = f"<{t.count} x ptr>"
    first = f.op(f"insertelement {pt} poison, ptr {other}, i64 0")
    every = f.op(
        f"shufflevector {pt} {first}, {pt} poison, {pt[:-4]}i32> zeroinitializer"
    )
    return f.op(f"select <{t.count} x i1> {mask}, {pt} {lanes}, {pt} {every}")


def store(
    f: Function, buffer: BufferSym, value: Expr, index: Expr, predicate: Expr | None
) -> str:
    """Writes `value` at `index`, lanes in order. Returns the value's text."""
    marked = STORES.get(value.op) if isinstance(value, E.Intrinsic) else None
    if marked is not None:
        return marked(f, buffer, value, index)
    text = opaque.stored(f, value, f.value(value))
    if predicate is not None and not build.is_true(predicate):
        _store_masked(f, buffer, text, value.type, index, predicate)
    else:
        store_text(f, buffer, _whole(f, value, text), value.type, index)
    return text


def _whole(f: Function, value: Expr, text: str) -> str:
    """A value that is to be stored in all lanes. Where some lanes may be what the
    memory holds already, LLVM would make a masked store of it, out of which nothing is
    forwarded to loads, and which takes 30 times as long on some processors."""
    if value.type.count == 1 or not isinstance(value, E.Select | E.Min | E.Max):
        return text
    return f.op(f"freeze {value_type(value.type)} {text}")


def store_text(f: Function, buffer: BufferSym, text: str, t: Type, index: Expr) -> None:
    """Writes a value that is emitted already, of type `t`."""
    parts = _concatenated(index)
    if parts is None:
        _store_piece(f, buffer, text, t, index)
        return
    start = 0
    for part in parts:
        count = part.type.count
        piece = slice_lanes(f, text, t, start, count)
        _store_piece(f, buffer, piece, t.with_lanes(count), part)
        start += count


def _store_piece(
    f: Function, buffer: BufferSym, text: str, t: Type, index: Expr
) -> None:
    if t.count == 1:
        pointer, offset = address(f, buffer, index)
        align = f.module.alignment(buffer, index, 0)
        _store(f, buffer, offset_pointer(f, pointer, t, offset), text, t, align)
        return
    ramp = as_ramp(index)
    step = build.const_int(ramp[1]) if ramp is not None else None
    if ramp is not None and step in (1, -1):
        pointer, offset = address(f, buffer, ramp[0])
        first = 0
        if step == -1:
            first = 1 - t.count
            text = reversed_lanes(f, text, t)
        # In powers of two: LLVM takes what it cannot lay over registers apart.
        whole = (text, 0, t.count) in f.pieces
        for start, count in [(0, t.count)] if whole else powers_of_two(t.count):
            part = f.pieces.get((text, start, count))
            if part is None:
                part = slice_lanes(f, text, t, start, count)
            at = offset_pointer(f, pointer, t, offset + first + start)
            align = f.module.alignment(buffer, ramp[0], first + start)
            _store(f, buffer, at, part, t.with_lanes(count), align)
        return
    if ramp is not None and step == 0:
        # Lanes are written in order: the last one stays.
        pointer, offset = address(f, buffer, ramp[0])
        last = extract(f, text, t, t.count - 1)
        one = t.element_of()
        _store(f, buffer, offset_pointer(f, pointer, t, offset), last, one)
        return
    _scatter(f, buffer, text, t, index, ramp)


def _scatter(
    f: Function,
    buffer: BufferSym,
    text: str,
    t: Type,
    index: Expr,
    ramp: tuple[Expr, Expr] | None,
) -> None:
    f.module.note_lanes(buffer)
    one = t.element_of()
    st = memory_type(one)
    if ramp is not None:
        pointer, offset = address(f, buffer, ramp[0])
        pointer = offset_pointer(f, pointer, one, offset)
        step = index_value(f, ramp[1])
        for lane in range(t.count):
            if lane:
                pointer = f.op(f"getelementptr {st}, ptr {pointer}, i64 {step}")
            _store(f, buffer, pointer, extract(f, text, t, lane), one)
        return
    for lane, pointer in enumerate(_each_lane(f, buffer, index)):
        _store(f, buffer, pointer, extract(f, text, t, lane), one)


def _keep_truncated(f: Function, text: str, t: Type) -> None:
    """A second use, without code, of a value that was stored under a mask.

    LLVM 22 joins a truncation that has no other use to the masked store, and where
    the mask turns out to have a single constant lane, in whatever way, it stores that
    lane as it was before the truncation: over its neighbours, and up to seven bytes
    past the end of the storage (its issue 179489). Stores of a vector in a register
    take as many operations as truncating ones.
    """
    if t.width < 64 and memory_type(t.element_of()).startswith("i"):
        at = f.module.declare("llvm.fake.use", "void", "...")
        f.out(f"  call void (...) {at}({memory_type(t)} {text})")


def _store_masked(
    f: Function, buffer: BufferSym, text: str, t: Type, index: Expr, predicate: Expr
) -> None:
    kept = _storage(t)
    mask = f.value(predicate)
    if t.count == 1:
        pointer, offset = address(f, buffer, index)
        pointer = offset_pointer(f, pointer, t, offset)
        yes, done = f.label("store"), f.label("stored")
        f.out(f"  br i1 {mask}, label %{yes}, label %{done}")
        f.start(yes)
        _store(f, buffer, pointer, text, t)
        f.out(f"  br label %{done}")
        f.start(done)
        return
    ramp = as_ramp(index)
    step = build.const_int(ramp[1]) if ramp is not None else None
    text = to_memory(f, text, t)
    vt, mt = memory_type(t), f"<{t.count} x i1>"
    tag = f.module.tbaa(buffer)
    if ramp is not None and step in (1, -1):
        pointer, offset = address(f, buffer, ramp[0])
        if step == -1:
            offset -= t.count - 1
            mask = reversed_lanes(f, mask, Bool(t.count))
            text = reversed_lanes(f, text, kept)
        pointer = offset_pointer(f, pointer, t, offset)
        at = f.module.declare(
            f"llvm.masked.store.{suffix(kept)}.p0", "void", f"{vt}, ptr, {mt}"
        )
        f.out(
            f"  call void {at}({vt} {text}, ptr align {t.bytes()} {pointer}, "
            f"{mt} {mask}){tag}"
        )
        _keep_truncated(f, text, kept)
        return
    if ramp is not None and step in (2, 3, 4) and _spreads(f, kept):
        pointer, offset = address(f, buffer, ramp[0])
        pointer = offset_pointer(f, pointer, t, offset)
        strided.store_masked(f, pointer, text, kept, step, mask, tag)
        return
    lanes = _lane_pointers(f, buffer, index)
    if not f.target.gathers(kept.width):
        _scatter_some(f, kept, text, lanes, mask, tag)
        return
    pt = f"<{t.count} x ptr>"
    at = f.module.declare(
        f"llvm.masked.scatter.{suffix(kept)}.v{t.count}p0", "void", f"{vt}, {pt}, {mt}"
    )
    f.out(
        f"  call void {at}({vt} {text}, {pt} align {t.bytes()} {lanes}, "
        f"{mt} {mask}){tag}"
    )
