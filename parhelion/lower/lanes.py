"""Arithmetic on the lanes of vectors, folded so that affine vectors stay visible.

A vector that steps evenly is a `Ramp`, a constant one a `Broadcast`, and what a nest
of vectorised loops makes a concatenation of these. The constructors here keep sums,
differences and products of such vectors in these forms, because the code generator
reads a dense access from ``Ramp(base, 1, lanes)`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.errors import internal_assert
from parhelion.ir.build import (
    add,
    cast,
    conjunction,
    const_int,
    div,
    imm,
    land,
    le,
    lt,
    maximum,
    minimum,
    mul,
    sub,
)
from parhelion.ir.expr import (
    LE,
    LT,
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    Expr,
    Intrinsic,
    Max,
    Min,
    Mul,
    Ramp,
    Shuffle,
    Sub,
    Var,
    VectorReduce,
)
from parhelion.ir.intrinsics import MARKS
from parhelion.types import Type

_Lanes = dict[tuple[Expr, int], Expr]
_Ends = tuple[Expr | None, Expr | None]


def lane(e: Expr, i: int, made: _Lanes | None = None) -> Expr:
    """Lane `i` of a vector (or the scalar itself), taken out of the forms above.

    made: lanes that are known already.
    """
    if e.type.count == 1:
        return e
    if type(e) is Broadcast:
        return e.value
    if type(e) is Ramp:
        return add(e.base, mul(e.stride, imm(i, e.base.type)))
    if type(e) is Shuffle:
        at = e.indices[i]
        for v in e.vectors:
            if at < v.type.count:
                return lane(v, at, made)
            at -= v.type.count
    if isinstance(e, (Add, Sub, Mul, Min, Max)) and e.type.is_int_or_uint():
        made = {} if made is None else made
        found = made.get((e, i))
        if found is None:
            a, b = lane(e.a, i, made), lane(e.b, i, made)
            found = made[e, i] = _SCALAR[type(e)](a, b)
        return found
    return Shuffle((e,), (i,))


_SCALAR: dict[type[Expr], Callable[[Expr, Expr], Expr]] = {
    Add: add,
    Sub: sub,
    Mul: mul,
    Min: minimum,
    Max: maximum,
}


def is_concat(e: Expr) -> bool:
    """Whether `e` lays vectors end to end, whole and in order."""
    return type(e) is Shuffle and e.indices == tuple(range(e.type.count)) == tuple(
        range(sum(v.type.count for v in e.vectors))
    )


def pieces(e: Expr) -> tuple[Expr, ...]:
    """The vectors that `e` is the concatenation of; itself if it is none."""
    if type(e) is Shuffle and is_concat(e):
        return e.vectors
    return (e,)


def concat(vectors: Sequence[Expr]) -> Expr:
    """The vectors end to end: one Ramp or Broadcast where they continue each other."""
    first = vectors[0]
    if len(vectors) == 1:
        return first
    count = sum(v.type.count for v in vectors)
    if type(first) is Broadcast or first.type.count == 1:
        value = lane(first, 0)
        if all(
            (type(v) is Broadcast or v.type.count == 1) and lane(v, 0) is value
            for v in vectors
        ):
            return Broadcast(value, count)
    joined = _joined_ramp(vectors, count)
    if joined is not None:
        return joined
    return Shuffle(tuple(vectors), tuple(range(count)))


def _joined_ramp(vectors: Sequence[Expr], count: int) -> Expr | None:
    """One Ramp, if the vectors (ramps, or scalars) step on by one constant."""
    first = vectors[0]
    if not first.type.is_int_or_uint():
        return None
    if type(first) is Ramp:
        step = const_int(first.stride)
    elif first.type.count == 1:
        step = distance(vectors[1], first) if vectors[1].type.count == 1 else None
    else:
        step = None
    if step is None:
        return None
    base, at = lane(first, 0), 0
    stride = imm(step, base.type)
    for v in vectors:
        if type(v) is Ramp:
            if v.stride is not stride:
                return None
        elif v.type.count != 1:
            return None
        if at and distance(lane(v, 0), base) != base.type.wrap(at * step):
            return None
        at += v.type.count
    return Ramp(base, stride, count)


def _terms(e: Expr, sign: int, into: dict[Expr, int]) -> int:
    """Adds the terms of a sum of products by constants; returns the constant."""
    value = const_int(e)
    if value is not None:
        return sign * value
    if type(e) is Add:
        return _terms(e.a, sign, into) + _terms(e.b, sign, into)
    if type(e) is Sub:
        return _terms(e.a, sign, into) + _terms(e.b, -sign, into)
    if type(e) is Mul:
        for x, y in ((e.a, e.b), (e.b, e.a)):
            factor = const_int(y)
            if factor is not None:
                return _terms(x, sign * factor, into)
    into[e] = into.get(e, 0) + sign
    return 0


def distance(a: Expr, b: Expr) -> int | None:
    """``a - b`` if it is a constant that shows in the terms of the sums."""
    terms: dict[Expr, int] = {}
    const = _terms(a, 1, terms) + _terms(b, -1, terms)
    if any(terms.values()):
        return None
    return a.type.wrap(const)


def tile(e: Expr, times: int) -> Expr:
    """`e` laid end to end `times` times (a scalar becomes a Broadcast)."""
    if times == 1:
        return e
    if e.type.count == 1:
        return Broadcast(e, times)
    if type(e) is Broadcast:
        return Broadcast(e.value, e.lanes * times)
    if type(e) is Ramp or is_concat(e):
        return Shuffle(pieces(e) * times, tuple(range(e.type.count * times)))
    return Shuffle((e,), tuple(range(e.type.count)) * times)


def repeat(e: Expr, times: int) -> Expr:
    """Each lane of `e` `times` times, in order."""
    if times == 1:
        return e
    if e.type.count == 1:
        return Broadcast(e, times)
    if type(e) is Broadcast:
        return Broadcast(e.value, e.lanes * times)
    if type(e) is Ramp:
        lanes = range(e.lanes)
        return concat([Broadcast(lane(e, i), times) for i in lanes])
    if type(e) is Shuffle:
        return Shuffle(e.vectors, tuple([i for i in e.indices for _ in range(times)]))
    lanes = range(e.type.count)
    return Shuffle((e,), tuple([i for i in lanes for _ in range(times)]))


def to_lanes(e: Expr, lanes: int) -> Expr:
    """`e` with `lanes` lanes: itself, or laid end to end as often as it takes."""
    count = e.type.count
    internal_assert(lanes % count == 0, f"{count} lanes cannot become {lanes}")
    return tile(e, lanes // count)


def _simple(e: Expr) -> bool:
    return type(e) is Ramp or type(e) is Broadcast


def binary(kind: type[Expr], a: Expr, b: Expr) -> Expr:
    """``kind(a, b)`` for operands of one lane count, in the forms above."""
    if a.type.count == 1:
        fold = _FOLDS.get(kind)
        return fold(a, b) if fold else kind(a, b)  # type: ignore[call-arg]
    if type(a) is Broadcast and type(b) is Broadcast:
        return Broadcast(binary(kind, a.value, b.value), a.lanes)
    if kind in _AFFINE and a.type.is_int_or_uint():
        found = _affine(kind, a, b)
        if found is not None:
            return found
    return kind(a, b)  # type: ignore[call-arg]


_FOLDS: dict[type[Expr], Callable[[Expr, Expr], Expr]] = {
    Add: add,
    Sub: sub,
    Mul: mul,
    Div: div,
    Min: minimum,
    Max: maximum,
    LT: lt,
    LE: le,
    And: land,
}
_AFFINE = frozenset((Add, Sub, Mul))


def _affine(kind: type[Expr], a: Expr, b: Expr) -> Expr | None:
    """Sum, difference or product of Ramps, Broadcasts and concatenations of them."""
    if _simple(a) and _simple(b):
        if kind is Mul:
            if type(b) is Ramp:
                a, b = b, a
            if type(a) is Ramp and type(b) is Broadcast:
                return Ramp(mul(a.base, b.value), mul(a.stride, b.value), a.lanes)
            return None
        op = add if kind is Add else sub
        zero = imm(0, a.type.element_of())
        (p, s), (q, t) = [
            (v.base, v.stride) if type(v) is Ramp else (lane(v, 0), zero)
            for v in (a, b)
        ]
        stride = op(s, t)
        if const_int(stride) == 0:
            return Broadcast(op(p, q), a.type.count)
        return Ramp(op(p, q), stride, a.type.count)
    cut = _common_cut(a, b)
    if cut is None:
        return None
    out = []
    for x, y in cut:
        one = _affine(kind, x, y)
        if one is None:
            return None
        out.append(one)
    return concat(out)


def _common_cut(a: Expr, b: Expr) -> list[tuple[Expr, Expr]] | None:
    """Pieces of two vectors side by side, if both are made of simple vectors."""
    xs, ys = pieces(a), pieces(b)
    if not (all(map(_simple, xs)) and all(map(_simple, ys))):
        return None
    sizes_x = [x.type.count for x in xs]
    sizes_y = [y.type.count for y in ys]
    if sizes_x != sizes_y:
        sizes = _refined(sizes_x, sizes_y)
        xs, ys = _cut(xs, sizes), _cut(ys, sizes)
    return list(zip(xs, ys, strict=True))


def _refined(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """The sizes of the pieces between the cuts of both."""
    cuts: set[int] = set()
    for sizes in (a, b):
        at = 0
        for size in sizes:
            at += size
            cuts.add(at)
    out, last = [], 0
    for at in sorted(cuts):
        out.append(at - last)
        last = at
    return out


def _cut(vectors: Sequence[Expr], sizes: Sequence[int]) -> tuple[Expr, ...]:
    """Simple vectors, cut further into pieces of `sizes` (which refine their own)."""
    out: list[Expr] = []
    left = list(vectors)
    at = 0
    for size in sizes:
        out.append(slice_lanes(left[0], at, size))
        at += size
        if at == left[0].type.count:
            left.pop(0)
            at = 0
    return tuple(out)


def slice_lanes(e: Expr, start: int, count: int) -> Expr:
    """`count` adjacent lanes of `e` from `start`."""
    if start == 0 and count == e.type.count:
        return e
    if count == 1:
        return lane(e, start)
    if type(e) is Broadcast:
        return Broadcast(e.value, count)
    if type(e) is Ramp:
        return Ramp(lane(e, start), e.stride, count)
    if type(e) is Shuffle:
        indices = e.indices[start : start + count]
        at = 0
        for v in e.vectors:
            size = v.type.count
            if indices == tuple(range(at, at + size)):
                return v
            at += size
        return Shuffle(e.vectors, indices)
    return Shuffle((e,), tuple(range(start, start + count)))


def cast_lanes(to: Type, e: Expr) -> Expr:
    """`e` converted lane by lane to the scalar type `to`.

    A Ramp of int32 stays one in int64: index arithmetic does not overflow.
    """
    if e.type.count == 1:
        return cast(to, e)
    if type(e) is Broadcast:
        return Broadcast(cast(to, e.value), e.lanes)
    if e.type.is_int() and to.is_int() and to.width >= e.type.width >= 32:
        if type(e) is Ramp:
            return Ramp(cast(to, e.base), cast(to, e.stride), e.lanes)
        if is_concat(e) and all(map(_simple, pieces(e))):
            return concat([cast_lanes(to, v) for v in pieces(e)])
    return Cast(to.with_lanes(e.type.count), e)


def lane_bounds(e: Expr) -> _Ends:
    """Scalars that no lane of the integer vector `e` is below, or above.

    Both are exact for affine vectors; None where nothing is known.
    """
    return _bounds(e, {})


def _bounds(e: Expr, seen: dict[Expr, _Ends]) -> _Ends:
    if e.type.count == 1:
        return e, e
    found = seen.get(e)
    if found is None:
        found = seen[e] = _find_bounds(e, seen)
    return found


def _find_bounds(e: Expr, seen: dict[Expr, _Ends]) -> _Ends:
    kind = type(e)
    if isinstance(e, Broadcast):
        return e.value, e.value
    if isinstance(e, Ramp):
        stride = const_int(e.stride)
        last = lane(e, e.lanes - 1)
        if stride is None:
            return minimum(e.base, last), maximum(e.base, last)
        return (e.base, last) if stride >= 0 else (last, e.base)
    if isinstance(e, Shuffle):
        bounds = [_bounds(v, seen) for v in e.vectors]
        return _fold(minimum, [b[0] for b in bounds]), _fold(
            maximum, [b[1] for b in bounds]
        )
    if isinstance(e, Intrinsic) and e.op in MARKS:
        return _bounds(e.args[0], seen)
    if isinstance(e, Var):
        return (None, None) if e.value is None else _bounds(e.value, seen)
    if isinstance(e, (Add, Sub, Min, Max)):
        p, q = _bounds(e.a, seen), _bounds(e.b, seen)
        if isinstance(e, Sub):
            q = (q[1], q[0])
        op = _SCALAR[kind]
        lo = None if p[0] is None or q[0] is None else op(p[0], q[0])
        hi = None if p[1] is None or q[1] is None else op(p[1], q[1])
        if isinstance(e, Min) and hi is None:
            hi = p[1] if q[1] is None else q[1]
        if isinstance(e, Max) and lo is None:
            lo = p[0] if q[0] is None else q[0]
        return lo, hi
    if isinstance(e, (Mul, Div)):
        factor = const_int(e.b)
        if factor is None or (factor <= 0 and isinstance(e, Div)):
            return None, None
        scale = imm(factor, e.type.element_of())
        lo, hi = _bounds(e.a, seen)
        scaled = mul if isinstance(e, Mul) else div
        lo = None if lo is None else scaled(lo, scale)
        hi = None if hi is None else scaled(hi, scale)
        return (lo, hi) if factor >= 0 else (hi, lo)
    return None, None


def _fold(
    op: Callable[[Expr, Expr], Expr], bounds: Sequence[Expr | None]
) -> Expr | None:
    out: Expr | None = None
    for b in bounds:
        if b is None:
            return None
        out = b if out is None else op(out, b)
    return out


def all_lanes(cond: Expr) -> Expr:
    """A scalar Bool: whether the vector `cond` holds in every lane.

    Comparisons of affine vectors become scalar comparisons of their ends; the rest
    is folded at run time.
    """
    return _all(cond, {})


def _all(cond: Expr, seen: dict[Expr, Expr]) -> Expr:
    found = seen.get(cond)
    if found is None:
        found = seen[cond] = _find_all(cond, seen)
    return found


def _find_all(cond: Expr, seen: dict[Expr, Expr]) -> Expr:
    if cond.type.count == 1:
        return cond
    if isinstance(cond, Broadcast):
        return cond.value
    if isinstance(cond, And):
        return land(_all(cond.a, seen), _all(cond.b, seen))
    if isinstance(cond, Intrinsic) and cond.op in MARKS:
        inner = _all(cond.args[0], seen)
        return Intrinsic(inner.type, cond.op, (inner,))
    if isinstance(cond, Shuffle) and is_concat(cond):
        return conjunction([_all(v, seen) for v in cond.vectors])
    if isinstance(cond, (LT, LE)) and cond.a.type.is_int() and cond.a.type.width >= 32:
        # The difference, so that what both sides share cancels.
        least, _ = lane_bounds(binary(Sub, cond.b, cond.a))
        if least is not None:
            zero = imm(0, least.type)
            return lt(zero, least) if isinstance(cond, LT) else le(zero, least)
    return VectorReduce("and", cond, 1)


def any_lane(cond: Expr) -> Expr:
    """A scalar Bool: whether the vector `cond` holds in some lane."""
    if cond.type.count == 1:
        return cond
    if isinstance(cond, Broadcast):
        return cond.value
    return VectorReduce("or", cond, 1)


__all__ = [
    "all_lanes",
    "any_lane",
    "binary",
    "cast_lanes",
    "concat",
    "is_concat",
    "lane",
    "lane_bounds",
    "pieces",
    "repeat",
    "slice_lanes",
    "tile",
    "to_lanes",
]
