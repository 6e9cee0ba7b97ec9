"""Rules for differences that linear forms do not cover."""

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

x, y, z, w, c = wilds("x y z w c")
c0, c1, c2 = consts("c0 c1 c2")

#: What linear forms do for indices, for sums that they do not reach.
SUMS = (
    # Constants travel right and meet.
    rule((x + c0) - y, (x - y) + c0),
    rule(x - (y + c0), (x - y) - c0),
    rule(x - (c0 - y), (x + y) - c0),
    rule((c0 - x) - y, c0 - (x + y), "not const(y)"),
    # Cancellation.
    rule(x - x, 0),
    rule((x + y) - y, x),
    rule((x - y) - x, 0 - y),
    rule(x - (x + y), 0 - y),
    rule(x - (x - y), y),
    rule((x + y) - (x + z), y - z),
    rule((x - y) - (z - y), x - z),
    rule((x - y) - (x - z), z - y),
    rule(((x + y) + z) - x, y + z),
    rule(((x - y) + z) - x, z - y),
    rule(x - (0 - y), x + y),
    # Common factors.
    rule(x * c0 - x * c1, x * fold(c0 - c1)),
    rule(x * c0 - x, x * fold(c0 - 1)),
    rule(x - x * c0, x * fold(1 - c0)),
    rule(x * c0 - y * c0, (x - y) * c0),
    # Quotient and remainder.
    rule(x - (x // c0) * c0, x % c0, "c0 != 0"),
    rule((x // c0) * c0 - x, 0 - x % c0, "c0 != 0"),
    rule(x - x % c0, (x // c0) * c0, "c0 != 0"),
)

RULES = (
    rule(x * y - x, x * (y - 1)),
    rule(x * y - x * z, x * (y - z)),
    # Choices.
    rule(min_(x, y) - x, min_(y - x, 0), exact=True),
    rule(max_(x, y) - x, max_(y - x, 0), exact=True),
    rule(x - min_(x, y), max_(x - y, 0), "not const(x)", exact=True),
    rule(x - max_(x, y), min_(x - y, 0), "not const(x)", exact=True),
    rule(min_(x + z, y) - z, min_(x, y - z), exact=True),
    rule(max_(x + z, y) - z, max_(x, y - z), exact=True),
    rule((x + y) - min_(x, y), max_(x, y)),
    rule((x + y) - max_(x, y), min_(x, y)),
    rule(select(c, x, y) - select(c, z, w), select(c, x - z, y - w)),
    rule(select(c, c0, c1) - c2, select(c, fold(c0 - c2), fold(c1 - c2))),
    rule(c2 - select(c, c0, c1), select(c, fold(c2 - c0), fold(c2 - c1))),
    rule(select(c, x, y) - x, select(c, 0, y - x)),
    rule(select(c, x, y) - y, select(c, x - y, 0)),
    rule(select(c, x + z, y) - z, select(c, x, y - z), "size(z) == 1"),
    rule(select(c, y, x + z) - z, select(c, y - z, x), "size(z) == 1"),
    # Vectors.
    rule(ramp(x, y) - ramp(z, w), ramp(x - z, y - w)),
    rule(ramp(x, y) - broadcast(z), ramp(x - z, y)),
    rule(broadcast(x) - ramp(y, z), ramp(x - y, 0 - z)),
    rule(broadcast(x) - broadcast(y), broadcast(x - y)),
    rule((x + broadcast(y)) - broadcast(z), x + broadcast(y - z)),
    rule((x - broadcast(y)) - broadcast(z), x - broadcast(y + z)),
    # Floats: subtracting 0.0 changes nothing, not even -0.0.
    rule(x - y, x, "plus_zero(y)", floats="only"),
)
