"""Addresses of elements, and dense loads from them.

An index is a sum. Its terms are added in 64 bits (so int32 arithmetic on coordinates
cannot overflow here), the terms that vary least first: what an outer loop knows is
added to the pointer outside the inner loop, and the constant comes last, where it
folds into the instruction.
"""

from __future__ import annotations

from parhelion.codegen import opaque
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.writer import Function
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.sums import summands
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, INT64, Type

#: A vector whose lanes are an odd multiple of a power of two, up to this, is stored in
#: as many pieces.
MOST_PIECES = 7

#: One term of an index: a scalar expression and its constant factor.
Term = tuple[Expr, int]


def _collect(f: Function, e: Expr, terms: dict[Expr, int]) -> int:
    """Puts the terms of an index into `terms`; returns its constant part."""
    const = 0
    for term, scale in summands(e, lambda n: _parts(f, n)).items():
        if isinstance(term, E.Imm):
            const += scale * term.value
        else:
            terms[term] = scale
    return const


def _parts(f: Function, e: Expr) -> tuple[tuple[Expr, int], ...]:
    """Returns the terms of a part of an index, with factors.

    Lets and conversions are replaced by what they stand for.
    """
    kind = type(e)
    if kind is E.Add or kind is E.Sub:
        assert isinstance(e, E.Add | E.Sub)
        return (e.a, 1), (e.b, 1 if kind is E.Add else -1)
    if kind is E.Mul:
        assert isinstance(e, E.Mul)
        for x, c in ((e.a, build.const_int(e.b)), (e.b, build.const_int(e.a))):
            if c is not None:
                return ((x, c),)
    elif kind is E.Var:
        assert isinstance(e, E.Var)
        value = f.let_values.get(e)
        if value is not None:
            return ((value, 1),)
    elif kind is E.Cast and e.type is INT64:
        assert isinstance(e, E.Cast)
        if e.a.type is INT32:
            return ((e.a, 1),)
    return ()


def index_value(f: Function, e: Expr) -> str:
    """A scalar index (int32 or int64) in 64 bits."""
    terms: dict[Expr, int] = {}
    offset = _collect(f, e, terms)
    text = ""
    level = 0
    for (term, scale), at in _by_level(f, terms):
        level = at
        part = _scaled(f, term, scale, at)
        text = part if not text else f.at(level, f"add i64 {text}, {part}")
    if not text:
        return str(offset)
    return f.at(level, f"add i64 {text}, {offset}") if offset else text


def _by_level(f: Function, terms: dict[Expr, int]) -> list[tuple[Term, int]]:
    found = [(term, f.level(term[0])) for term in terms.items() if term[1]]
    found.sort(key=lambda item: item[1])
    return found


def _scaled(f: Function, e: Expr, scale: int, level: int) -> str:
    """``scale * e`` in 64 bits."""
    if scale == 1:
        return wide_value(f, e, level)
    key = ("scaled", e, scale)
    found = f.memo.get(key)
    if found is None:
        text = f.at(level, f"mul i64 {wide_value(f, e, level)}, {scale}")
        found = f.remember(key, text, level, e)
    return found


def wide_value(f: Function, e: Expr, level: int) -> str:
    """A scalar integer term of an index, sign-extended to 64 bits."""
    if isinstance(e, E.Var):
        wide = f.wide.get(e)
        if wide is not None:
            return wide
    elif isinstance(e, E.Mul) and e.type.width <= 64:
        # A product of two run-time values: exact in 64 bits.
        key: tuple[str, Expr] = ("wide", e)
        found = f.memo.get(key)
        if found is None:
            a = wide_value(f, e.a, f.level(e.a))
            b = wide_value(f, e.b, f.level(e.b))
            found = f.remember(key, f.at(level, f"mul i64 {a}, {b}"), level, e)
        return found
    elif isinstance(e, E.Add | E.Sub):
        if e.type is not INT32 or f.module.backend.word == "i64":
            return index_value(f, e)
    text = f.value(e)
    if e.type.width == 64:
        return text
    if not text.startswith("%"):
        return text
    key = ("wide", e)
    found = f.memo.get(key)
    if found is None:
        extend = "sext" if e.type.is_int() else "zext"
        text = f.at(level, f"{extend} {value_type(e.type)} {text} to i64")
        found = f.remember(key, text, level, e)
    return found


def address(f: Function, buffer: BufferSym, index: Expr) -> tuple[str, int]:
    """A pointer and a constant offset in elements: where a scalar index lies."""
    terms: dict[Expr, int] = {}
    offset = _collect(f, index, terms)
    pointer, level = f.pointers[buffer]
    element = memory_type(buffer.type)
    if abs(offset) <= f.module.furthest(buffer, index) and _is_short(terms):
        return _short_address(f, buffer, terms), offset
    # By the pointer: copies of a body allocate one buffer in several places.
    done: tuple[object, ...] = ("address", pointer)
    mentioned: list[Expr] = []
    for (term, scale), at in _by_level(f, terms):
        outside, level = level, max(level, at)
        mentioned.append(term)
        done = (*done, term, scale)
        found = f.memo.get(done)
        if found is None:
            step = _scaled(f, term, scale, at)
            if level > outside and f.scopes[level].hides:
                pointer = opaque.pointer(f, pointer, outside)
            found = f.at(level, f"getelementptr {element}, ptr {pointer}, i64 {step}")
            f.remember(done, found, level, *mentioned)
        pointer = found
    return pointer, offset


def _is_short(terms: dict[Expr, int]) -> bool:
    """Whether an index that fits may be summed up in 32 bits: modulo 2**32 the sum is
    right, whatever its parts are."""
    return all([t.type is INT32 for t in terms])


def _short_address(f: Function, buffer: BufferSym, terms: dict[Expr, int]) -> str:
    """A pointer to an element whose index is the sum of int32 terms."""
    pointer, level = f.pointers[buffer]
    text, of_text = "", 0
    done: tuple[object, ...] = ("short",)
    mentioned: list[Expr] = []
    for (term, scale), at in _by_level(f, terms):
        of_text = max(of_text, at)
        mentioned.append(term)
        done = (*done, term, scale)
        found = f.memo.get(done)
        if found is None:
            found = f.value(term)
            if scale != 1:
                found = f.at(at, f"mul i32 {found}, {INT32.wrap(scale)}")
            if text:
                found = f.at(of_text, f"add i32 {text}, {found}")
            f.remember(done, found, of_text, *mentioned)
        text = found
    if not text:
        return pointer
    key = ("address", pointer, *done)
    found = f.memo.get(key)
    if found is None:
        wide = f.at(of_text, f"sext i32 {text} to i64")
        level = max(level, of_text)
        element = memory_type(buffer.type)
        found = f.at(level, f"getelementptr {element}, ptr {pointer}, i64 {wide}")
        f.remember(key, found, level, *mentioned)
    return found


def offset_pointer(f: Function, pointer: str, t: Type, elements: int) -> str:
    """`pointer` moved by a constant number of elements of (one lane of) `t`."""
    if not elements:
        return pointer
    one = memory_type(t.element_of())
    return f.op(f"getelementptr {one}, ptr {pointer}, i64 {elements}")


def from_memory(f: Function, a: str, t: Type) -> str:
    """A loaded value in its register form: Bools are bytes in memory."""
    if not t.is_bool():
        return a
    none = "0" if t.count == 1 else "zeroinitializer"
    return f.op(f"icmp ne {memory_type(t)} {a}, {none}")


def to_memory(f: Function, a: str, t: Type) -> str:
    """A value in the form that memory has of it."""
    if not t.is_bool():
        return a
    return f.op(f"zext {value_type(t)} {a} to {memory_type(t)}")


def read(
    f: Function, buffer: BufferSym, pointer: str, t: Type, align: int | None = None
) -> str:
    """The value at an address, which is a multiple of `align` bytes, or of its
    elements' size."""
    text = f.op(
        f"load {memory_type(t)}, ptr {pointer}, align {align or t.bytes()}"
        f"{f.module.tbaa(buffer)}"
    )
    return from_memory(f, text, t)


def load_dense(
    f: Function, buffer: BufferSym, pointer: str, offset: int, t: Type
) -> str:
    """Neighbouring elements, `offset` elements past `pointer`."""
    return read(f, buffer, offset_pointer(f, pointer, t, offset), t)


def powers_of_two(lanes: int) -> list[tuple[int, int]]:
    """The start and size of the pieces of a vector: equal ones, powers of two."""
    size = lanes & -lanes
    if lanes // size > MOST_PIECES:
        return [(0, lanes)]
    return [(start, size) for start in range(0, lanes, size)]
