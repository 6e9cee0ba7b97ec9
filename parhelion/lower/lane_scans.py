"""Sums of prefixes over the lanes of vectors.

A scan that adds up, vectorised along itself, takes as many steps as a vector has
halvings, in place of one for each lane (Hillis and Steele, "Data parallel algorithms",
1986). Lanes are shifted by 1, 2, 4 and so on, and added; what came before the vector is
added to all of them:

    for v in 0..3: atomic: f[x + v] = f[x + v - 1] + g[x + v]

    p = g[ramp(x, 1, 4)]
    p = p + shuffle(0, 0, 0, 0, p)[3, 4, 5, 6]
    p = p + shuffle(0, 0, 0, 0, p)[2, 3, 4, 5]
    f[ramp(x, 1, 4)] = p + broadcast(f[x - 1])

What one vector hands on to the next is kept in a register by `lower.carry_scans`.
"""

from __future__ import annotations

from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int, imm, int32
from parhelion.ir.expr import (
    Add,
    Broadcast,
    Expr,
    Intrinsic,
    Load,
    Ramp,
    Shuffle,
    Sub,
)
from parhelion.ir.intrinsics import FUSED
from parhelion.ir.rewrite import nodes
from parhelion.ir.rounding import unfused
from parhelion.ir.stmt import Store
from parhelion.lower.lanes import distance
from parhelion.lower.widen import Widener
from parhelion.simplify.simplifier import simplify


@dataclass(frozen=True, slots=True)
class _RunningSum:
    """A store of ``before + plus``, where `before` is another element of the buffer
    that is stored to, and `plus` reads none but the one that is stored."""

    before: Load
    plus: Expr


def _running_sum(s: Store) -> _RunningSum | None:
    """The store as a step of a running sum, if it is one."""
    value = s.value
    if isinstance(value, Intrinsic) and value.op in FUSED:
        # The order of the sum is free here, and so is where it is rounded.
        value = unfused(value)
    before: list[Load] = []
    plus: Expr | None = None
    minus: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(value, True)]
    while stack:
        e, positive = stack.pop()
        if isinstance(e, Add | Sub):
            stack += [(e.b, positive != (type(e) is Sub)), (e.a, positive)]
        elif type(e) is Load and e.buffer is s.buffer and e.index is not s.index:
            if not positive:
                return None
            before.append(e)
        elif _reads_others(e, s):
            return None
        elif positive:
            plus = e if plus is None else Add(plus, e)
        else:
            minus.append(e)
    if len(before) != 1 or before[0].predicate is not None:
        return None
    for e in minus:
        plus = Sub(imm(0, e.type) if plus is None else plus, e)
    return None if plus is None else _RunningSum(before[0], plus)


def rereads(s: Store) -> bool:
    """Whether a store's value is made of other elements of the buffer."""
    return _reads_others(s.value, s)


def scanned(s: Store, index: Expr, widen: Widener) -> Store | None:
    """The store of a vector in which each lane adds to what the lane before it stores.

    index: where the lanes store. widen: makes expressions vectors.
    """
    found = _running_sum(s)
    if found is None or type(index) is not Ramp or s.predicate is not None:
        return None
    behind = widen.go(found.before.index)
    if type(behind) is not Ramp or behind.stride is not index.stride:
        return None
    if not _is_next(index.base, behind.base, index.stride):
        return None
    before = Load(s.value.type, s.buffer, behind.base, None)
    sums = _sums_of_prefixes(widen.full(found.plus))
    return Store(s.buffer, Add(sums, Broadcast(before, sums.type.count)), index, None)


def _is_next(at: Expr, behind: Expr, stride: Expr) -> bool:
    """Whether one place is a stride further on than another. Strides of all but the
    innermost dimension are known when the program runs."""
    known = const_int(stride)
    if known is not None and distance(at, behind) == known:
        return True
    return at.type.count == 1 and simplify(Sub(Sub(at, behind), stride)) is int32(0)


def _reads_others(e: Expr, s: Store) -> bool:
    return any(
        type(n) is Load and n.buffer is s.buffer and n.index is not s.index
        for n in nodes(e)
    )


def _sums_of_prefixes(v: Expr) -> Expr:
    """Of each lane, its sum with all lanes before it."""
    step = 1
    while step < v.type.count:
        v = _with_lanes_before(v, step)
        step *= 2
    return v


def _with_lanes_before(v: Expr, step: int) -> Expr:
    """Of each lane, its sum with the one that is `step` before it, if there is one.

    The others are added to what changes no value: of floats that is minus zero, as zero
    would change the sign of another zero.
    """
    count, t = v.type.count, v.type.element_of()
    nothing = Broadcast(imm(-0.0 if t.is_float() else 0, t), count)
    return Add(v, Shuffle((nothing, v), tuple(range(count - step, 2 * count - step))))


__all__ = ["rereads", "scanned"]
