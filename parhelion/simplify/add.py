"""Rules for sums that linear forms do not cover: wrapping types, vectors, choices."""

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
    rule((x + c0) + c1, x + fold(c0 + c1)),
    rule((x + c0) + y, (x + y) + c0),
    rule((c0 - x) + c1, fold(c0 + c1) - x),
    rule((c0 - x) + y, (y - x) + c0),
    # Cancellation.
    rule((x - y) + y, x),
    rule((x - y) + (y - z), x - z),
    rule((x - y) + (y + z), x + z),
    rule(((x - y) + z) + y, x + z),
    rule(((x + y) - z) + z, x + y),
    # Common factors.
    rule(x * c0 + x * c1, x * fold(c0 + c1)),
    rule(x * c0 + x, x * fold(c0 + 1)),
    rule(x * c0 + y * c0, (x + y) * c0),
    rule(x + x, x * 2),
    # Quotient and remainder.
    rule((x // c0) * c0 + x % c0, x, "c0 != 0"),
    rule(((x // c0) * c0 + y) + x % c0, x + y, "c0 != 0"),
    rule(((x % c0) + y) + (x // c0) * c0, x + y, "c0 != 0"),
)

RULES = (
    # Common factors.
    rule(x * y + x * z, x * (y + z)),
    # Choices.
    rule(min_(x, y) + max_(x, y), x + y),
    rule(min_(x, y - z) + z, min_(x + z, y), exact=True),
    rule(max_(x, y - z) + z, max_(x + z, y), exact=True),
    rule(min_(x, c0 - y) + y, min_(x + y, c0), exact=True),
    rule(max_(x, c0 - y) + y, max_(x + y, c0), exact=True),
    rule(select(c, x, y) + select(c, z, w), select(c, x + z, y + w)),
    rule(select(c, c0, c1) + c2, select(c, fold(c0 + c2), fold(c1 + c2))),
    rule(select(c, x, c0) + c1, select(c, x + c1, fold(c0 + c1)), "const(x)"),
    rule(select(c, x - y, z) + y, select(c, x, z + y), "size(z) == 1"),
    rule(select(c, z, x - y) + y, select(c, z + y, x), "size(z) == 1"),
    # Vectors.
    rule(ramp(x, y) + ramp(z, w), ramp(x + z, y + w)),
    rule(ramp(x, y) + broadcast(z), ramp(x + z, y)),
    rule(broadcast(x) + broadcast(y), broadcast(x + y)),
    rule((x + broadcast(y)) + broadcast(z), x + broadcast(y + z)),
    rule((x + ramp(y, z)) + broadcast(w), x + ramp(y + w, z)),
    rule((x - broadcast(y)) + broadcast(z), x + broadcast(z - y)),
    # Floats: adding -0.0 changes nothing (adding 0.0 turns -0.0 into 0.0).
    rule(x + y, x, "minus_zero(y)", floats="only"),
)
