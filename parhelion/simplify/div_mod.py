"""Rules for quotients and remainders that linear forms do not cover."""

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

DIV = (
    rule(x // 1, x),
    rule(x // 0, 0),
    rule(x // x, 1, "nonzero(x)"),
    rule(x // -1, 0 - x, "signed(T)"),
    rule((x // c0) // c1, x // fold(c0 * c1), "c0 > 0 and c1 > 0 and fits(T, c0 * c1)"),
    rule(
        (x // c0) // c1,
        0,
        "c0 > 0 and c1 > 0 and not fits(T, c0 * c1) and nonneg(x)",
    ),
    rule((x * c0) // c1, x * fold(c0 // c1), "c1 > 0 and c0 % c1 == 0", exact=True),
    rule((x * c0) // c1, x // fold(c1 // c0), "c0 > 0 and c1 % c0 == 0", exact=True),
    rule((x * y) // y, x, "nonzero(y)", exact=True),
    rule((x * y + z) // y, x + z // y, "nonzero(y)", exact=True),
    rule((z - x * y) // y, z // y - x, "nonzero(y)", exact=True),
    rule((x * y) // (z * y), x // z, "positive(y) and nonzero(z)", exact=True),
    rule((x + y) // x, y // x + 1, "nonzero(x) and size(y) == 1", exact=True),
    rule(min_(x * c0, y) // c0, min_(x, y // c0), "c0 > 0", exact=True),
    rule(max_(x * c0, y) // c0, max_(x, y // c0), "c0 > 0", exact=True),
    rule((x % c0) // c1, 0, "0 < c0 <= c1"),
    rule(select(c, c0, c1) // c2, select(c, fold(c0 // c2), fold(c1 // c2)), "c2 > 0"),
    # Vectors.
    rule(broadcast(x) // broadcast(y), broadcast(x // y)),
    rule(
        ramp(x, c0) // broadcast(c1),
        ramp(x // c1, fold(c0 // c1)),
        "c1 > 0 and c0 % c1 == 0",
        exact=True,
    ),
    rule(
        ramp(x, c0) // broadcast(c1),
        broadcast(x // c1),
        "c1 > 0 and one_quotient(x, c0, lanes, c1)",
        exact=True,
    ),
    rule((x * broadcast(y)) // broadcast(y), x, "nonzero(y)", exact=True),
    # Floats: division by one.
    rule(x // y, x, "one(y)", floats="only"),
)

MOD = (
    rule(x % 1, 0),
    rule(x % 0, 0),
    rule(x % -1, 0, "signed(T)"),
    rule(x % x, 0),
    rule(x % c0, 0, "multiple(x, c0)"),
    rule((x * y) % y, 0, exact=True),
    rule((x * y + z) % y, z % y, exact=True),
    rule((z - x * y) % y, z % y, exact=True),
    rule((x + y) % y, x % y, exact=True),
    rule((x - y) % y, x % y, exact=True),
    rule((x % c0) % c1, x % c1, "c0 > 0 and c1 > 0 and c0 % c1 == 0"),
    rule((x % c0) % c1, x % c0, "0 < c0 <= c1"),
    rule((x % y) % y, x % y, "positive(y)"),
    rule(select(c, c0, c1) % c2, select(c, fold(c0 % c2), fold(c1 % c2)), "c2 > 0"),
    # Vectors.
    rule(broadcast(x) % broadcast(y), broadcast(x % y)),
    rule(
        ramp(x, c0) % broadcast(c1),
        broadcast(x % c1),
        "c1 > 0 and c0 % c1 == 0",
        exact=True,
    ),
    rule(
        ramp(x, c0) % broadcast(c1),
        ramp(x % c1, c0),
        "c1 > 0 and one_quotient(x, c0, lanes, c1)",
        exact=True,
    ),
)
