"""Rules for minima and maxima. Float operands are never swapped (NaN)."""

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

x, y, z, w, c, d = wilds("x y z w c d")
c0, c1, c2 = consts("c0 c1 c2")

MIN = (
    rule(min_(x, x), x, floats=True),
    rule(min_(min_(x, y), y), min_(x, y), floats=True),
    rule(min_(min_(x, y), x), min_(x, y), floats=True),
    rule(min_(min_(x, c0), c1), min_(x, fold(min_(c0, c1)))),
    rule(min_(min_(x, c0), y), min_(min_(x, y), c0)),
    rule(min_(max_(x, y), x), x),
    rule(min_(max_(x, c0), c1), max_(min_(x, c1), c0), "c0 < c1"),
    rule(min_(max_(x, c0), c1), c1, "c1 <= c0"),
    rule(min_(max_(x, y), max_(x, z)), max_(min_(y, z), x)),
    rule(min_(min_(x, y), min_(x, z)), min_(min_(y, z), x)),
    rule(min_(max_(min_(x, y), z), y), min_(max_(x, z), y)),
    rule(min_(x // c0, y // c0), min_(x, y) // c0, "c0 > 0"),
    rule(min_(x * c0, y * c0), min_(x, y) * c0, "c0 > 0", exact=True),
    rule(min_(x * c0, y * c0), max_(x, y) * c0, "c0 < 0", exact=True),
    rule(
        min_(x * c0, c1),
        min_(x, fold(c1 // c0)) * c0,
        "c0 > 0 and c1 % c0 == 0",
        exact=True,
    ),
    rule(min_(x + y, x + z), x + min_(y, z), exact=True),
    rule(min_(x + y, x), min_(y, 0) + x, exact=True),
    rule(min_(x - y, x), x - max_(y, 0), exact=True),
    rule(min_(x - y, z - y), min_(x, z) - y, exact=True),
    rule(min_(x - y, x - z), x - max_(y, z), exact=True),
    rule(min_(c0 - x, c1), c0 - max_(x, fold(c0 - c1)), exact=True),
    rule(min_(select(c, x, y), select(c, z, w)), select(c, min_(x, z), min_(y, w))),
    rule(
        min_(select(c, c0, c1), c2),
        select(c, fold(min_(c0, c2)), fold(min_(c1, c2))),
    ),
    # Vectors.
    rule(min_(broadcast(x), broadcast(y)), broadcast(min_(x, y)), floats=True),
    rule(
        min_(min_(x, broadcast(y)), broadcast(z)),
        min_(x, broadcast(min_(y, z))),
    ),
    rule(min_(ramp(x, y), ramp(z, y)), ramp(min_(x, z), y), exact=True),
)

MAX = (
    rule(max_(x, x), x, floats=True),
    rule(max_(max_(x, y), y), max_(x, y), floats=True),
    rule(max_(max_(x, y), x), max_(x, y), floats=True),
    rule(max_(max_(x, c0), c1), max_(x, fold(max_(c0, c1)))),
    rule(max_(max_(x, c0), y), max_(max_(x, y), c0)),
    rule(max_(min_(x, y), x), x),
    rule(max_(min_(x, c0), c1), c1, "c0 <= c1"),
    rule(max_(min_(x, y), min_(x, z)), min_(max_(y, z), x)),
    rule(max_(max_(x, y), max_(x, z)), max_(max_(y, z), x)),
    rule(max_(min_(max_(x, y), z), y), max_(min_(x, z), y)),
    rule(max_(x // c0, y // c0), max_(x, y) // c0, "c0 > 0"),
    rule(max_(x * c0, y * c0), max_(x, y) * c0, "c0 > 0", exact=True),
    rule(max_(x * c0, y * c0), min_(x, y) * c0, "c0 < 0", exact=True),
    rule(
        max_(x * c0, c1),
        max_(x, fold(c1 // c0)) * c0,
        "c0 > 0 and c1 % c0 == 0",
        exact=True,
    ),
    rule(max_(x + y, x + z), x + max_(y, z), exact=True),
    rule(max_(x + y, x), max_(y, 0) + x, exact=True),
    rule(max_(x - y, x), x - min_(y, 0), exact=True),
    rule(max_(x - y, z - y), max_(x, z) - y, exact=True),
    rule(max_(x - y, x - z), x - min_(y, z), exact=True),
    rule(max_(c0 - x, c1), c0 - min_(x, fold(c0 - c1)), exact=True),
    rule(max_(select(c, x, y), select(c, z, w)), select(c, max_(x, z), max_(y, w))),
    rule(
        max_(select(c, c0, c1), c2),
        select(c, fold(max_(c0, c2)), fold(max_(c1, c2))),
    ),
    # Vectors.
    rule(max_(broadcast(x), broadcast(y)), broadcast(max_(x, y)), floats=True),
    rule(
        max_(max_(x, broadcast(y)), broadcast(z)),
        max_(x, broadcast(max_(y, z))),
    ),
    rule(max_(ramp(x, y), ramp(z, y)), ramp(max_(x, z), y), exact=True),
)
