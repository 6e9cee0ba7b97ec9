"""Vector algebra: ramps, broadcasts, shuffles and reductions over lanes.

Binary operations of ramps and broadcasts are rules in the operators' own tables; here
is what concerns the vector nodes themselves. Each function takes a node with
simplified children and returns what it becomes, or None.
"""

from __future__ import annotations

from parhelion.ir.build import const_int, imm, is_const
from parhelion.ir.expr import (
    Add,
    Broadcast,
    Cast,
    Expr,
    Imm,
    Mul,
    Ramp,
    Shuffle,
    VectorReduce,
)


def ramp(n: Ramp) -> Expr | None:
    if n.lanes == 1:
        return n.base
    if is_const(n.stride, 0) and n.base.type.is_int_or_uint():
        return Broadcast(n.base, n.lanes)
    return None


def broadcast(n: Broadcast) -> Expr | None:
    if n.lanes == 1:
        return n.value
    if type(n.value) is Broadcast:
        return Broadcast(n.value.value, n.value.lanes * n.lanes)
    return None


def lane(e: Expr, i: int) -> Expr | None:
    """Lane `i` of a vector as a scalar, where that is an expression no larger."""
    if e.type.count == 1:
        return e
    if type(e) is Broadcast and e.value.type.count == 1:
        return e.value
    if type(e) is Ramp and e.base.type.count == 1:
        if i == 0:
            return e.base
        return Add(e.base, Mul(e.stride, imm(i, e.stride.type)))
    if type(e) is Shuffle:
        return _shuffled_lane(e, i)
    return None


def _shuffled_lane(e: Shuffle, i: int) -> Expr | None:
    at = e.indices[i]
    for v in e.vectors:
        if at < v.type.count:
            return lane(v, at)
        at -= v.type.count
    return None


def shuffle(n: Shuffle) -> Expr | None:
    vectors = n.vectors
    if len(vectors) == 1:
        v = vectors[0]
        if n.indices == tuple(range(v.type.count)):
            return v
        if type(v) is Broadcast and v.value.type.count == 1:
            lanes = len(n.indices)
            return v.value if lanes == 1 else Broadcast(v.value, lanes)
        if type(v) is Shuffle:
            return Shuffle(v.vectors, tuple([v.indices[i] for i in n.indices]))
        if type(v) is Ramp and v.base.type.count == 1:
            return _ramp_of(v, n.indices)
    if len(n.indices) == 1:
        return _shuffled_lane(n, 0)
    used = _used(n)
    if used is not None:
        return used
    first = vectors[0]
    if all(v is first for v in vectors) and first.type.count == 1:
        return Broadcast(first, len(n.indices))
    return _joined(n)


def _ramp_of(v: Ramp, indices: tuple[int, ...]) -> Expr | None:
    """Evenly spaced lanes of a ramp are a ramp."""
    steps = {b - a for a, b in zip(indices, indices[1:], strict=False)}
    if len(steps) > 1:
        return None
    start = lane(v, indices[0])
    if start is None or not v.type.is_int_or_uint():
        return None
    if not steps:
        return start
    t = v.stride.type
    return Ramp(start, Mul(v.stride, imm(steps.pop(), t)), len(indices))


def _used(n: Shuffle) -> Expr | None:
    """Drops the vectors that no lane comes from."""
    starts = [0]
    for v in n.vectors:
        starts.append(starts[-1] + v.type.count)
    wanted = [
        any(lo <= i < hi for i in n.indices)
        for lo, hi in zip(starts, starts[1:], strict=False)
    ]
    if all(wanted):
        return None
    shift: list[int] = []
    gone = 0
    for v, keep in zip(n.vectors, wanted, strict=True):
        shift += [gone] * v.type.count
        gone += 0 if keep else v.type.count
    kept = tuple([v for v, keep in zip(n.vectors, wanted, strict=True) if keep])
    return Shuffle(kept, tuple([i - shift[i] for i in n.indices]))


def _joined(n: Shuffle) -> Expr | None:
    """Scalars and ramps that continue each other, side by side, are one ramp."""
    if n.indices != tuple(range(sum([v.type.count for v in n.vectors]))):
        return None
    if not all(type(v) is Imm or type(v) is Ramp for v in n.vectors):
        return None
    values: list[int] = []
    for v in n.vectors:
        base = const_int(v.base if type(v) is Ramp else v)
        step = const_int(v.stride) if type(v) is Ramp else 0
        if base is None or step is None:
            return None
        values += [base + i * step for i in range(v.type.count)]
    t = n.vectors[0].type.element_of()
    steps = {b - a for a, b in zip(values, values[1:], strict=False)}
    if len(steps) != 1 or t.is_bool():
        return None
    return Ramp(imm(values[0], t), imm(steps.pop(), t), len(values))


def vector_reduce(n: VectorReduce) -> Expr | None:
    v = n.value
    if n.lanes == v.type.count:
        return v
    if type(v) is Broadcast and v.value.type.count == 1:
        t = n.type.element_of()
        made: Expr | None = None
        if n.op in ("min", "max", "and", "or"):
            made = v.value
        elif n.op == "add" and t.is_int_or_uint() and not t.is_bool():
            made = Mul(v.value, imm(v.lanes // n.lanes, t))
        if made is not None:
            return made if n.lanes == 1 else Broadcast(made, n.lanes)
    return None


def cast(n: Cast) -> Expr | None:
    """Casts go inside broadcasts, and inside ramps where nothing wraps."""
    if type(n.a) is Broadcast and n.a.value.type.count == 1:
        t = n.type.element_of()
        return Broadcast(Cast(t, n.a.value), n.a.lanes)
    return None
