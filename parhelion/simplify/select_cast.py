"""Rules for selections. (Casts are folded by `driver`, since their rules turn on
types rather than shapes.)"""

from __future__ import annotations

from parhelion.ir.rules import (
    FALSE,
    TRUE,
    broadcast,
    consts,
    eq,
    max_,
    min_,
    ne,
    ramp,
    rule,
    select,
    wilds,
)

x, y, z, w, p, q = wilds("x y z w p q")
c0, c1 = consts("c0 c1")

SELECT = (
    rule(select(p, x, x), x, floats=True),
    rule(select(~p, x, y), select(p, y, x), floats=True),
    rule(select(p, select(p, x, y), z), select(p, x, z), floats=True),
    rule(select(p, x, select(p, y, z)), select(p, x, z), floats=True),
    rule(
        select(p, select(q, x, y), y), select(p & q, x, y), "alike(p, q)", floats=True
    ),
    rule(
        select(p, x, select(q, x, y)), select(p | q, x, y), "alike(p, q)", floats=True
    ),
    # Float min and max are these very selections.
    rule(select(y < x, y, x), min_(x, y), floats=True),
    rule(select(y < x, x, y), max_(y, x), floats=True),
    rule(select(x <= y, x, y), min_(x, y)),
    rule(select(x <= y, y, x), max_(x, y)),
    rule(select(eq(x, y), x, y), y),
    rule(select(ne(x, y), x, y), x),
    # Parts that both sides share.
    rule(select(p, x + y, x + z), x + select(p, y, z)),
    rule(select(p, x - y, x - z), x - select(p, y, z)),
    rule(select(p, x - y, z - y), select(p, x, z) - y),
    rule(select(p, x * y, x * z), x * select(p, y, z)),
    rule(select(p, x // y, z // y), select(p, x, z) // y),
    rule(select(p, x % y, z % y), select(p, x, z) % y),
    rule(select(p, min_(x, y), min_(x, z)), min_(select(p, y, z), x)),
    rule(select(p, max_(x, y), max_(x, z)), max_(select(p, y, z), x)),
    # Vectors.
    rule(select(broadcast(p), x, y), select(p, x, y), floats=True),
    rule(
        select(p, broadcast(x), broadcast(y)),
        broadcast(select(p, x, y)),
        "scalar(p)",
        floats=True,
    ),
    rule(
        select(p, ramp(x, y), ramp(z, w)),
        ramp(select(p, x, z), select(p, y, w)),
        "scalar(p) and y is w",
    ),
)

#: Selections between conditions.
BOOL_SELECT = (
    rule(select(p, TRUE, FALSE), p),
    rule(select(p, FALSE, TRUE), ~p),
    rule(select(p, TRUE, x), p | x),
    rule(select(p, x, FALSE), p & x),
    rule(select(p, FALSE, x), ~p & x),
    rule(select(p, x, TRUE), ~p | x),
    rule(select(p, p, x), p | x),
    rule(select(p, x, p), p & x),
)
