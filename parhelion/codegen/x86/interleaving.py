"""Three vectors of bytes interleaved, as one store of colours wants them."""

from __future__ import annotations

from parhelion.codegen.vector import interleaves, pair, shuffle, widen
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E


def three_of_bytes(f: Function, e: E.Shuffle) -> str | None:
    """``a0 b0 c0 a1 b1 c1 …`` of bytes by the one shuffle for which, with the store
    that follows, LLVM knows a sequence of its own."""
    t = e.vectors[0].type
    if len(e.vectors) != 3 or t.bits() != 8 or t.count not in (16, 32, 64):
        return None
    if not interleaves(e):
        return None
    vectors = [f.value(v) for v in e.vectors]
    wide = t.with_lanes(2 * t.count)
    ab, _ = pair(f, vectors[0], t, vectors[1], t)
    c = widen(f, vectors[2], t, 2 * t.count)
    mask = [j * t.count + i for i in range(t.count) for j in range(3)]
    text = shuffle(f, wide, ab, c, mask)
    f.pieces[text, 0, 3 * t.count] = text
    return text


__all__ = ["three_of_bytes"]
