"""What computes a point on demand, made to compute several points side by side.

The points are neighbours along the first dimension: a vectorized loop over them stands
inside of the row and the column, which is that of the first one.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from parhelion.ir.build import add, int32
from parhelion.ir.expr import Var
from parhelion.ir.stmt import For, ForKind, OnDemand, Stmt
from parhelion.lower.instantiate import instantiate
from parhelion.types import INT32

#: The fewest lanes of values that are computed together.
_FEWEST = 4


def versions(n: OnDemand, asked: Collection[int], bits: int) -> tuple[int, ...]:
    """How many points are to be computed at once, where so many are asked for: one, and
    what divides the others and fills a vector of so many bits. Tiles are computed one
    by one."""
    if n.claims:
        return (1,)
    widest = max([t.width for t in n.func.types], default=8)
    most = max(bits // widest, _FEWEST)
    return tuple(sorted({1, *[math.gcd(lanes, most) for lanes in asked]}))


def side_by_side(n: OnDemand, times: int) -> Stmt:
    """The one production of `n`, for so many points."""
    (outer,) = n.makes
    assert isinstance(outer, For) and isinstance(outer.body, For)
    inner = outer.body
    body = inner.body
    if times > 1:
        zero = int32(0)
        lane = Var(f"{n.func.name}.lane", INT32, lo=zero, hi=int32(times - 1))
        body = instantiate(body, {inner.var: add(inner.var, lane)}, renew=True)
        body = For(lane, zero, int32(times), ForKind.VECTORIZED, body)
    inside = For(inner.var, inner.min, inner.extent, inner.kind, body)
    return For(outer.var, outer.min, outer.extent, outer.kind, inside)


__all__ = ["side_by_side", "versions"]
