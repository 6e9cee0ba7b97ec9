"""Vectors of columns, from dense loads of rows that are transposed in registers.

A vector whose lanes lie far apart, as of a scan along rows with its vectors across
them, takes a load and an insertion for each lane. Where a run of statements loads such
vectors of several neighbouring columns, dense loads of the rows have them all, and two
shuffles for each vector and halving bring them into order. Nothing is read but what the
run surely reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.codegen.addresses import index_value, load_dense
from parhelion.codegen.neighbours import offsets_of_run
from parhelion.codegen.types import memory_type
from parhelion.codegen.vector import concatenate, shuffle
from parhelion.codegen.writer import Function
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import Type

#: Of fewer columns, lanes that are loaded one by one take no longer.
_LEAST = 4
#: Bits within which shuffles are cheap: wider registers consist of such parts.
_PART = 128


def load(f: Function, e: E.Load, stride: Expr, pointer: str, offset: int) -> str | None:
    """The vector of the column that is `offset` elements past `pointer`; None if it
    has too few neighbours, or lanes that make no blocks.

    stride: from one row to the next, in elements.
    """
    t = e.type
    if t.is_bool() or t.count < _LEAST or t.count & (t.count - 1):
        return None
    step = build.const_int(stride)
    offsets = offsets_of_run(f, e, pointer, stride if step is None else step)
    start, size = _block(offsets, offset, min(t.count, f.target.natural_vector_size(t)))
    if size < _LEAST or step is not None and abs(step) < size:
        return None
    key = ("column", pointer, stride, t)
    found = f.memo.get((*key, offset))
    if found is None:
        for k, text in enumerate(_columns(f, e, stride, pointer, start, size)):
            f.remember((*key, start + k), text, f.level(e), e)
        found = f.memo[(*key, offset)]
    return found


def _block(offsets: Sequence[int], offset: int, most: int) -> tuple[int, int]:
    """The block of neighbouring columns that a column is loaded with: the first one,
    and how many, a power of two. All columns of a block agree about it."""
    if offset not in offsets:
        return offset, 1
    start = end = offset
    while start - 1 in offsets:
        start -= 1
    while end + 1 in offsets:
        end += 1
    while True:
        left = end + 1 - start
        size = min(most, 1 << (left.bit_length() - 1))
        if offset < start + size:
            return start, size
        start += size


def _columns(
    f: Function, e: E.Load, stride: Expr, pointer: str, start: int, size: int
) -> list[str]:
    """The vectors of `size` columns from `start` on."""
    one = memory_type(e.type.element_of())
    t, step = e.type.with_lanes(size), index_value(f, stride)
    blocks: list[list[str]] = []
    row = pointer
    for first in range(0, e.type.count, size):
        rows: list[str] = []
        for k in range(size):
            if first or k:
                row = f.op(f"getelementptr {one}, ptr {row}, i64 {step}")
            rows.append(load_dense(f, e.buffer, row, start, t))
        blocks.append(transpose(f, rows, t))
    return [concatenate(f, [(block[k], t) for block in blocks])[0] for k in range(size)]


def transpose(f: Function, rows: Sequence[str], t: Type) -> list[str]:
    """The columns of a square block of rows, vectors of type `t`, a power of two of
    lanes."""
    n = t.count
    part = min(n, _PART // t.width)
    if part == 1:
        return _unpacked(f, rows, t, 1, n)
    # In all parts at once: vector c of a group has columns c, part + c, 2 part + c, …
    # of its rows.
    groups = [_unpacked(f, rows[k : k + part], t, 1, part) for k in range(0, n, part)]
    if len(groups) == 1:
        return groups[0]
    made = [""] * n
    for c in range(part):
        made[c::part] = _unpacked(f, [group[c] for group in groups], t, part, n)
    return made


def _unpacked(
    f: Function, rows: Sequence[str], t: Type, size: int, span: int
) -> list[str]:
    """The columns of as many rows as pieces of `size` lanes are in each `span`: the
    first column's pieces in each span, the second's, …"""
    if len(rows) == 1:
        return list(rows)
    lows: list[str] = []
    highs: list[str] = []
    for a, b in zip(rows[::2], rows[1::2], strict=True):
        lows.append(shuffle(f, t, a, b, _pieces(t.count, size, span, 0)))
        highs.append(shuffle(f, t, a, b, _pieces(t.count, size, span, span // 2)))
    return [
        *_unpacked(f, lows, t, 2 * size, span),
        *_unpacked(f, highs, t, 2 * size, span),
    ]


def _pieces(lanes: int, size: int, span: int, start: int) -> list[int]:
    """The mask that takes pieces of `size` lanes of two vectors in turn, of a half of
    each span of lanes, which begins `start` after it does."""
    mask: list[int] = []
    for begin in range(start, lanes, span):
        for k in range(begin, begin + span // 2, size):
            mask += [*range(k, k + size), *range(lanes + k, lanes + k + size)]
    return mask


__all__ = ["load", "transpose"]
