"""Reductions to tables: how often each index occurs in an array, and sums along an
axis up to each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.inline import update_over
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.types import INT32, Type, UInt
from parhelion.whole.core import Whole, letters, loop_order, moved, read
from parhelion.whole.operands import operand
from parhelion.whole.promotion import sum_type
from parhelion.whole.reductions import places

#: Rows whose indices are counted in a table of their own, so that threads share the
#: work.
STRIP = 64
#: Tables of a strip that neighbouring elements are counted in by turns: so no count
#: waits for the one before it to be stored. Only tables that stay in the cache have
#: several.
TURNS, _MOST_BINS = 4, 1024
_COUNT = UInt(32)


def counted(index: Whole, bins: int, over: Sequence[int]) -> Whole:
    """How often each index occurs along axes: a table (bins, …) of int64, whose other
    axes are those that stay.

    index: integers; those outside of [0, bins) are not counted. over: axes by their
    places, the one that is cut into strips first.
    """
    left = [k for k in range(index.rank) if k not in over]
    names = (None, *[index.names[k] for k in left])
    shape = (int32(bins), *[index.shape[k] for k in left])
    order = loop_order(shape)
    named = [Var(c) for c in letters(names)]
    # By the axes of the table, counted from the last; the bins are the first of all.
    bin_ = named[-1]
    turn, strip, lines = Var("turn"), Var("strip"), index.shape[over[0]]
    turns = TURNS if bins <= _MOST_BINS else 1
    args = [named[p] for p in order]
    parts = Func("parts")
    parts[(*args, turn, strip)] = wrap(imm(0, _COUNT))
    inner = list(reversed(over[1:]))
    domain = RDom(
        [*[(wrap(int32(0)), wrap(index.shape[k])) for k in inner], (0, STRIP)]
    )
    line = strip * STRIP + domain[len(inner)]
    # The last strip may be shorter: nothing is read beyond it.
    last = build.sub(lines, int32(1))
    at: dict[int, Node] = {index.rank - 1 - over[0]: build.minimum(line._node, last)}
    for i, k in enumerate(inner):
        at[index.rank - 1 - k] = domain[i]._node
    for i, k in enumerate(left):
        at[index.rank - 1 - k] = named[len(left) - 1 - i]._node
    value = moved(index.value, at)
    domain.where(line < wrap(lines))
    place = build.cast(INT32, value)
    if not (value.type.is_uint() and 1 << value.type.width <= bins):
        inside = build.land(build.le(int32(0), place), build.lt(place, int32(bins)))
        domain.where(wrap(inside))
        place = build.clamp(place, int32(0), int32(bins - 1))
    found = [wrap(place) if v is bin_ else v for v in args]
    bin_of = (*found, domain[0] % turns, strip)
    update_over(parts, bin_of, parts[bin_of] + wrap(imm(1, _COUNT)), domain)
    total = Func("counts")
    wide = sum_type(INT32)
    total[tuple(args)] = wrap(imm(0, wide))
    strips = build.div(build.add(lines, int32(STRIP - 1)), int32(STRIP))
    each = RDom([(0, turns), (0, wrap(strips))])
    part = parts[(*args, each.x, each.y)]._node
    total[tuple(args)] += wrap(build.cast(wide, part))
    return Whole(read(total, shape), shape, names, index.trace)


def accumulated(whole: Whole, axis: int, t: Type) -> Whole:
    """The sums along an axis, by its place, up to each element, in a type."""
    p = whole.rank - 1 - axis
    order = loop_order(whole.shape)
    named = [Var(c) for c in letters(whole.names)]
    args = [named[q] for q in order]
    f = Func("sums")
    value = moved(whole.value, {q: v._node for q, v in enumerate(named)})
    f[tuple(args)] = wrap(build.cast(t, value))
    more = build.maximum(build.sub(whole.extent(p), int32(1)), int32(0))
    r = RDom([(1, wrap(more))])

    def at(k: object) -> tuple[object, ...]:
        return tuple([k if v is named[p] else v for v in args])

    f[at(r.x)] = f[at(r.x - 1)] + f[at(r.x)]
    return replace(
        whole, value=read(f, whole.shape), weak=False, func=None, bordered={}
    )


def cumsum(a: object, axis: int | str | None = None) -> Whole:
    """`numpy.cumsum` along an axis: of 64 bits, of integers.

    Raises TypeMismatchError for an array of several axes and none named.
    """
    whole = operand(a)
    if axis is None and whole.rank != 1:
        raise TypeMismatchError(
            "cumsum is told the axis: np.cumsum(a, axis=0)", at=here()
        )
    (at,) = places(whole, axis, "cumsum")
    return accumulated(whole, at, sum_type(whole.type))


__all__ = ["STRIP", "accumulated", "counted", "cumsum"]
