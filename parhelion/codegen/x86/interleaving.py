"""Three vectors of bytes interleaved, as one store of colours wants them."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.analysis.linear import difference
from parhelion.codegen.vector import interleaves, pair, shuffle, widen
from parhelion.codegen.writer import Function
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr


def three_of_bytes(f: Function, e: E.Shuffle) -> str | None:
    """``a0 b0 c0 a1 b1 c1 …`` of bytes by the one shuffle for which, with the store
    that follows, LLVM knows a sequence of its own."""
    t = e.vectors[0].type
    if len(e.vectors) != 3 or t.bits() != 8 or t.count not in (16, 32, 64):
        return None
    if not interleaves(e):
        return None
    if _are_channels(e.vectors):
        return None
    vectors = [f.value(v) for v in e.vectors]
    wide = t.with_lanes(2 * t.count)
    ab, _ = pair(f, vectors[0], t, vectors[1], t)
    c = widen(f, vectors[2], t, 2 * t.count)
    mask = [j * t.count + i for i in range(t.count) for j in range(3)]
    text = shuffle(f, wide, ab, c, mask)
    f.pieces[text, 0, 3 * t.count] = text
    return text


def _are_channels(vectors: Sequence[Expr]) -> bool:
    """Whether vectors are loads of every third byte of the same ones: what is taken
    apart and put together in another order is one permutation for each register, which
    LLVM finds, but not for a store that it has a sequence for."""
    starts = []
    for v in vectors:
        if not isinstance(v, E.Load) or v.predicate is not None:
            return False
        at = v.index
        if not isinstance(at, E.Ramp) or build.const_int(at.stride) != len(vectors):
            return False
        starts.append((v.buffer, at.base))
    buffer, base = starts[0]
    if any([b is not buffer for b, _ in starts]):
        return False
    apart = [difference(at, base) for _, at in starts]
    if not all([d.is_const() for d in apart]):
        return False
    places = [d.const for d in apart]
    return max(places) - min(places) < len(vectors)


__all__ = ["three_of_bytes"]
