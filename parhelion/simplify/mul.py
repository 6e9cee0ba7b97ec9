"""Rules for products that linear forms do not cover."""

from __future__ import annotations

from parhelion.ir.rules import (
    broadcast,
    consts,
    fold,
    max_,
    min_,
    ramp,
    rule,
    select,
    wilds,
)

x, y, z, c = wilds("x y z c")
c0, c1, c2 = consts("c0 c1 c2")

#: What linear forms do for indices, for sums that they do not reach.
SUMS = (
    rule((x * c0) * c1, x * fold(c0 * c1)),
    rule((x + c0) * c1, x * c1 + fold(c0 * c1), "not const(x)"),
    rule((c0 - x) * c1, fold(c0 * c1) - x * c1, "c1 != -1"),
    rule((x - y) * c0, (y - x) * fold(0 - c0), "c0 < 0 and c0 != -1 and signed(T)"),
    rule((0 - x) * c0, x * fold(0 - c0)),
)

RULES = (
    rule((0 - x) * y, 0 - x * y),
    rule((x * c0) * y, (x * y) * c0),
    rule(min_(x, y) * max_(x, y), x * y),
    rule(select(c, c0, c1) * c2, select(c, fold(c0 * c2), fold(c1 * c2))),
    rule(select(c, 1, 0) * x, select(c, x, 0)),
    rule(select(c, 0, 1) * x, select(c, 0, x)),
    # Vectors.
    rule(broadcast(x) * broadcast(y), broadcast(x * y)),
    rule(ramp(x, y) * broadcast(z), ramp(x * z, y * z)),
    rule((x * broadcast(y)) * broadcast(z), x * broadcast(y * z)),
    # Floats: times one.
    rule(x * y, x, "one(y)", floats="only"),
)
