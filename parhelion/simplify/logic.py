"""Rules for conditions. Of floats ``not (a < b)`` is not ``b <= a``: see NaN."""

from __future__ import annotations

from parhelion.ir.rules import (
    FALSE,
    TRUE,
    broadcast,
    consts,
    eq,
    ne,
    rule,
    wilds,
)

x, y, z, p, q, r = wilds("x y z p q r")
c0, c1 = consts("c0 c1")

AND = (
    rule(p & p, p),
    rule(p & ~p, FALSE),
    rule((p & q) & q, p & q),
    rule((p & q) & ~q, FALSE),
    rule((p | q) & q, q),
    rule((p | q) & ~q, p & ~q),
    rule((p | q) & (p | r), p | (q & r)),
    rule((x < y) & (y < x), FALSE, floats=True),
    rule((x < y) & (y <= x), FALSE, floats=True),
    rule((x <= y) & (y <= x), eq(x, y), floats=True),
    rule((x < y) & (x <= y), x < y, floats=True),
    rule((x <= y) & ne(x, y), x < y, floats=True),
    rule((x < y) & ne(x, y), x < y, floats=True),
    rule((x <= y) & eq(x, y), eq(x, y), floats=True),
    rule(eq(x, y) & ne(x, y), FALSE, floats=True),
    rule(eq(x, c0) & eq(x, c1), FALSE, "c0 != c1"),
    rule(eq(x, c0) & ne(x, c1), eq(x, c0), "c0 != c1"),
    rule((x < c0) & (x < c1), x < c0, "c0 <= c1"),
    rule((x <= c0) & (x <= c1), x <= c0, "c0 <= c1"),
    rule((c0 < x) & (c1 < x), c0 < x, "c0 >= c1"),
    rule((c0 <= x) & (c1 <= x), c0 <= x, "c0 >= c1"),
    rule((x < c0) & (c1 < x), FALSE, "c0 <= c1 + 1"),
    rule((x < c0) & (c1 <= x), FALSE, "c0 <= c1"),
    rule((x <= c0) & (c1 <= x), FALSE, "c0 < c1"),
    rule(broadcast(p) & broadcast(q), broadcast(p & q)),
)

OR = (
    rule(p | p, p),
    rule(p | ~p, TRUE),
    rule((p | q) | q, p | q),
    rule((p | q) | ~q, TRUE),
    rule((p & q) | q, q),
    rule((p & q) | ~q, p | ~q),
    rule((p & q) | (p & r), p & (q | r)),
    rule((x < y) | (y < x), ne(x, y)),
    rule((x < y) | (y <= x), TRUE),
    rule((x <= y) | (y <= x), TRUE),
    rule((x < y) | (x <= y), x <= y, floats=True),
    rule((x < y) | eq(x, y), x <= y, floats=True),
    rule((x <= y) | eq(x, y), x <= y, floats=True),
    rule((x < y) | ne(x, y), ne(x, y), floats=True),
    rule(eq(x, y) | ne(x, y), TRUE, floats=True),
    rule(eq(x, c0) | ne(x, c1), ne(x, c1), "c0 != c1"),
    rule(ne(x, c0) | ne(x, c1), TRUE, "c0 != c1"),
    rule((x < c0) | (x < c1), x < c0, "c0 >= c1"),
    rule((x <= c0) | (x <= c1), x <= c0, "c0 >= c1"),
    rule((c0 < x) | (c1 < x), c0 < x, "c0 <= c1"),
    rule((c0 <= x) | (c1 <= x), c0 <= x, "c0 <= c1"),
    rule((x < c0) | (c1 < x), TRUE, "c0 > c1"),
    rule((x < c0) | (c1 <= x), TRUE, "c0 >= c1"),
    rule((x <= c0) | (c1 <= x), TRUE, "c0 >= c1 - 1"),
    rule(broadcast(p) | broadcast(q), broadcast(p | q)),
)

NOT = (
    rule(~(~p), p),
    rule(~(x < y), y <= x),
    rule(~(x <= y), y < x),
    rule(~eq(x, y), ne(x, y), floats=True),
    rule(~ne(x, y), eq(x, y), floats=True),
    rule(~(~p & ~q), p | q),
    rule(~(~p | ~q), p & q),
    rule(~broadcast(p), broadcast(~p)),
)
