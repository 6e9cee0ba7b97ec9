"""What particular expressions become: TestCase(before, after, given) tables."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from parhelion.analysis.facts import Facts
from parhelion.analysis.rank import tree_size
from parhelion.ir import expr as E
from parhelion.ir.build import FALSE, TRUE, int32
from parhelion.ir.symbols import BufferSym
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import BOOL, INT32, INT64, Float, Int, UInt
from tests.simplify.generator import show
from tests.simplify.notation import (
    N,
    boolean,
    cast,
    const,
    let,
    likely,
    maximum,
    minimum,
    ramp,
    select,
    spread,
    var,
)

x, y, z, n, m = (var(name) for name in "xyznm")
s = var("s")
xi = var("xi", lo=0, hi=7)
xo = var("xo", lo=0, hi=(n + 7) / 8 - 1)
i = var("i", lo=0, hi=n - 1)
pos = var("pos", lo=1)
p, q = boolean("p"), boolean("q")
f, g = var("f", Float(32)), var("g", Float(32))
u, v = var("u", UInt(8)), var("v", UInt(8))
w = var("w", UInt(16))
base = let("base", x * 16 + y)
last = let("last", n + m - 1)
buffer = BufferSym("in", INT32, 1, "input")
pixel = N(E.Load(INT32, buffer, x.node, None))
other = N(E.Load(INT32, buffer, y.node, None))
true, false = N(TRUE), N(FALSE)


@dataclass(frozen=True)
class TestCase:
    """`before` simplifies to `after` where `given` holds."""

    __test__ = False
    before: N
    after: N
    given: N | None = None

    def __str__(self) -> str:
        return show(self.before.node)


def case(before: N, after: object, given: N | None = None) -> TestCase:
    if not isinstance(after, N):
        after = (
            N(before.lift(after))
            if not isinstance(after, bool)
            else (true if after else false)
        )
    return TestCase(before, after, given)


SUMS = [
    case(y + x, x + y),
    case(x + 3 - x, 3),
    case((x + y) - (x - y), y * 2),
    case(x * 8 + y * 8, (x + y) * 8),
    case((x + y) * 8, (x + y) * 8),
    case((x - 3) * 4 + 12, x * 4),
    case(5 - x - 7, -2 - x),
    case(x - y * 3 - x, y * -3),
    case(x * s - y * s, s * (x - y)),
    case(x / 8 * 8 + x % 8, x),
    case(x - x / 8 * 8, x % 8),
    case(x + y - (x + y) / 8 * 8, (x + y) % 8),
    case(x - x % 8, x / 8 * 8),
    case((x + 13) / 4 - (x + 1) / 4, 3),
    case((x + 1) / 4 + 3, (x + 13) / 4),
    case(0 - (5 - x) / 8, (x + 2) / 8),
    case(minimum(x, y) + maximum(y, x), x + y),
    case(minimum(x + 3, y) - x, minimum(y - x, 3)),
    case(minimum(x, n - 8) + 7 - minimum(x, n - 8), 7),
    case(minimum(x + 1, n - 7) - minimum(x, n - 8), 1),
    case(maximum(x + y, z) - y, maximum(x, z - y)),
    # Lets are opened where something cancels, and only there.
    case(base - x * 16, y),
    case(last - n + 1, m),
    case(base + z, base + z),
    # Pixels wrap: nothing may be assumed of their sums.
    case(pixel + 1 - 1, pixel),
    case(pixel - pixel, 0),
    case(minimum(pixel + 1, other + 1), minimum(pixel + 1, other + 1)),
]

DIVISION = [
    case((x * 8 + xi) / 8, x),
    case((x * 8 + xi) % 8, xi),
    case((x * 8 + xi + 8) / 8, x + 1),
    case((x * 8 + y * 4 + 3) / 4, x * 2 + y),
    case((x * 8 + 13) / 4, x * 2 + 3),
    case((x * 8 + 4) / 16, x / 2),
    case((x * 8 + xi) / 16, x / 2),
    case((x * 16 + y) % 8, y % 8),
    case((x + 17) % 8, (x + 1) % 8),
    case((x * 6 + 1) % 2, 1),
    case(x * 4 % 8, x % 2 * 4),
    case(x % 16 % 8, x % 8),
    case((x % 16 + y) % 8, (x + y) % 8),
    case(x / 3 / 4, x / 12),
    case((x / 3 + 2) / 4, (x + 6) / 12),
    case(xi / 8, 0),
    case(xi % 8, xi),
    case((xi + 9) % 8, (xi + 1) % 8),
    case(x * pos / pos, x),
    case(x / x, x / x),
    case(minimum(x * 8, y) / 8, minimum(x, y / 8)),
    case(pos / pos, 1),
    case(x % x, 0),
    case(x / 0, 0),
    case(x % 0, 0),
    case(0 / x, 0),
    case(cast(INT32, w) / 65536, 0),
    # 8-bit products wrap.
    case(u * 4 / 4, u * 4 / 4),
    case(u * 8 % 8, 0),
]

CHOICES = [
    case(minimum(x, minimum(y, x)), minimum(x, y)),
    case(minimum(y, x), minimum(x, y)),
    case(minimum(x + 3, y + 3), minimum(x, y) + 3),
    case(minimum(x * 8, y * 8), minimum(x, y) * 8),
    case(minimum(0 - x, 0 - y), 0 - maximum(x, y)),
    case(minimum(x, x + 4), x),
    case(maximum(minimum(x, 10), 20), 20),
    case(minimum(maximum(x, 0), 10), maximum(minimum(x, 10), 0)),
    case(maximum(minimum(maximum(minimum(x, 5), 0), 7), -1), maximum(minimum(x, 5), 0)),
    case(minimum(xi, 9), xi),
    case(maximum(xi, -2), xi),
    case(minimum(x / 8, y / 8), minimum(x, y) / 8),
    case(minimum(maximum(x, y), x), x),
    case(minimum(likely(x), x + 4), x),
    case(minimum(likely(x), y), minimum(y, likely(x))),
    case(minimum(likely(x + z), z + 5), z + minimum(likely(x), 5)),
    case(select(x < y, x, y), minimum(x, y)),
    case(select(p, x, x), x),
    case(select(~p, x, y), select(p, y, x)),
    case(select(p, x + y, x + z), x + select(p, y, z)),
    case(select(p, true, false), p),
    case(select(p, q, false), p & q),
    case(select(x < 5, minimum(x, 5), y), select(x < 5, x, y)),
    case(select(p, x, select(p, y, z)), select(p, x, z)),
    case(select(pixel < 3, pixel, 3), minimum(pixel, 3)),
    # What is loaded does not change under a condition that is not yet checked.
    case(
        select(x < n, N(E.Load(INT32, buffer, minimum(x, n).node, None)), 0),
        select(x < n, N(E.Load(INT32, buffer, minimum(n, x).node, None)), 0),
    ),
]

COMPARISONS = [
    case(x * 8 + 7 < n + 7, x * 8 < n),
    case(x + 1 <= y, x < y),
    case(x - y <= 0, x <= y),
    case(x * 4 <= 18, x < 5),
    case(x > 3, x >= 4),
    case(x / 8 < 4, x < 32),
    case(x / 8 >= 4, x >= 32),
    case(x / 8 < y, x < y * 8),
    case(x < x + 1, True),
    case(x + 5 <= x, False),
    case(xi < 8, True),
    case(xi >= 0, True),
    case(x % 4 < 4, True),
    case(minimum(x, 3) < 5, True),
    case(minimum(x, y) <= x, True),
    case(maximum(x, 0) < 5, x < 5),
    case(maximum(x, y) < x, False),
    case(x == x, True),
    case(x * 2 + 4 == 8, x == 2),
    case(x * 2 == 5, False),
    case(x + y == y + z, x == z),
    case(x != x + 1, True),
    case(x * 4 + 1 != y * 2, True),
    case(likely(x) < x + 1, True),
    case(likely(x + y) < y + 5, likely(x < 5)),
    case(likely(x < y), likely(x < y)),
    case(likely(x < x), False),
    case(n + m - 1 <= last, True),
    case(pixel + 1 < other + 1, pixel + 1 < other + 1),
    case(cast(INT32, u) + 1 < cast(INT32, v) + 1, cast(INT32, u) < cast(INT32, v)),
    case(u < 0, False),
    case(u <= 255, True),
    case(u + 1 < v + 1, u + 1 < v + 1),
    case(select(p, const(1), 0) == 1, p),
    case(f < f, False),
    case(f <= f, f <= f),
    case(f == f, f == f),
]

LOGIC = [
    case((x < 5) & (x < 7), x < 5),
    case((x < 5) | (x < 7), x < 7),
    case((x < 5) & (x > 7), False),
    case((x < 5) | (x >= 3), True),
    case((x <= y) & (y <= x), x == y),
    case(~(x < y), y <= x),
    case(~(f < g), ~(f < g)),
    case(~(f == g), f != g),
    case(p & ~p, False),
    case(p | ~p, True),
    case(p & (q & p), p & q),
    case((p & q) | p, p),
    case(~(~p | ~q), p & q),
]

FLOATS = [
    # -0.0 + 0.0 is 0.0, and NaN and infinity have no inverse.
    case(f + 0.0, f + 0.0),
    case(f + -0.0, f),
    case(f - 0.0, f),
    case(f - f, f - f),
    case(f * 0.0, f * 0.0),
    case(f * 1.0, f),
    case(f / 1.0, f),
    case(2.0 * f, f * 2.0),
    case(minimum(f, f), f),
    case(minimum(g, f), minimum(g, f)),
    case(select(g < f, g, f), minimum(f, g)),
    # NaN is neither below nor above nor equal.
    case((f < 1.0) | (f >= 1.0), (f < 1.0) | (f >= 1.0)),
    case((f <= g) | (g <= f), (f <= g) | (g <= f)),
    case((f < g) | (g < f), (f < g) | (g < f)),
    case((f < g) | (f != g), f != g),
    case((f <= g) & (g <= f), f == g),
    case((f < g) & (g <= f), False),
    case(~((f < g) | (g <= f)), ~((f < g) | (g <= f))),
    case(const(2.5, Float(32)) + 1.5, 4.0),
    case(cast(Float(32), const(3)), const(3.0, Float(32))),
]

CASTS = [
    case(cast(INT32, cast(UInt(16), u)), cast(INT32, u)),
    case(cast(UInt(8), cast(UInt(16), x)), cast(UInt(8), x)),
    case(cast(UInt(8), cast(INT32, u)), u),
    case(cast(UInt(16), cast(UInt(8), w)), cast(UInt(16), cast(UInt(8), w))),
    case(cast(UInt(8), const(300)), const(44, UInt(8))),
    case(cast(BOOL, const(2)), True),
    case(cast(Int(8), const(200)), const(-56, Int(8))),
    case(cast(INT64, select(p, const(1), 2)), select(p, const(1, INT64), 2)),
]

VECTORS = [
    case(ramp(x, 1, 8) + spread(y, 8), ramp(x + y, 1, 8)),
    case(spread(y, 8) - ramp(x, 1, 8), ramp(y - x, -1, 8)),
    case(ramp(x, 1, 8) * spread(const(2), 8), ramp(x * 2, 2, 8)),
    case(ramp(x, 0, 8), spread(x, 8)),
    case(ramp(x * 8, 1, 8) / spread(const(8), 8), spread(x, 8)),
    case(ramp(x * 8, 1, 8) % spread(const(8), 8), ramp(const(0), 1, 8)),
    case(ramp(x, 8, 4) / spread(const(8), 4), ramp(x / 8, 1, 4)),
    case(ramp(x, 8, 4) % spread(const(8), 4), spread(x % 8, 4)),
    case(spread(x, 4) + spread(y, 4), spread(x + y, 4)),
    case(spread(x, 4) < spread(y, 4), spread(x < y, 4)),
    case(ramp(x, 1, 4) < ramp(y, 1, 4), spread(x < y, 4)),
    case(ramp(x, 1, 4) + ramp(y, 2, 4), ramp(x + y, 3, 4)),
    case(ramp(x, 1, 4) < spread(x + 4, 4), spread(true, 4)),
    case(ramp(x, 1, 4) < spread(x + 3, 4), ramp(x, 1, 4) < spread(x + 3, 4)),
    case(spread(x + 4, 4) <= ramp(x, 1, 4), spread(false, 4)),
    case(minimum(ramp(x, 1, 4), spread(x + 3, 4)), ramp(x, 1, 4)),
    case(maximum(ramp(x, 1, 4), spread(x, 4)), ramp(x, 1, 4)),
]

GIVEN = [
    case(minimum(x, y), x, x < y),
    case(x < 10, True, x < 5),
    case(x < 10, False, x >= 12),
    case(minimum(x + 3, 20), x + 3, (x <= 17) & p),
    case(maximum(x, 0), x, x >= 0),
    case(select(p, x, y), x, p),
    case(select(p, x, y), y, ~p),
    case(x + 1 <= n, True, x < n),
    case(minimum(x + y, n), x + y, likely(x + y < n)),
    case(x == y, False, x < y),
    case(x, 5, x == 5),
    case(minimum(ramp(x, 1, 4), spread(n - 1, 4)), ramp(x, 1, 4), x <= n - 4),
]

ALL = [
    pytest.param(c, id=f"{name}-{c}")
    for name, table in {
        "sums": SUMS,
        "division": DIVISION,
        "choices": CHOICES,
        "comparisons": COMPARISONS,
        "logic": LOGIC,
        "floats": FLOATS,
        "casts": CASTS,
        "vectors": VECTORS,
        "given": GIVEN,
    }.items()
    for c in table
]


@pytest.mark.parametrize("c", ALL)
def test_becomes(c: TestCase) -> None:
    facts = Facts.EMPTY if c.given is None else Facts.EMPTY.assume(c.given.node)
    made = simplify(c.before.node, facts)
    assert made is c.after.node, f"{show(made)}, not {show(c.after.node)}"
    assert simplify(made, facts) is made
    assert tree_size(made) <= tree_size(c.before.node)


#: A split loop over 0..n-1 by 8, with the tail shifted inwards.
shifted = minimum(xo * 8, n - 8)
wide = cast(INT64, x)

PROVED = [
    shifted + 7 <= n - 1,
    xo * 8 + xi <= n + 6,
    n <= (n + 7) / 8 * 8,
    (n + 7) / 8 * 8 < n + 8,
    x / 8 * 8 <= x,
    x < (x / 8 + 1) * 8,
    i < n,
    i + xi <= n + 6,
    n - 1 - i >= 0,
    minimum(x, y) <= maximum(x, z),
    maximum(minimum(i, n - 1), 0) < n,
    base - y >= x * 16,
    let("a", minimum(x, n) + 3) <= n + 3,
    select(p, i, n - 1) < n,
    cast(INT64, i) < cast(INT64, n),
    wide * 2 - wide <= wide,
    (x < y) | (y <= x),
    pos * pos >= 0,
    x % 8 + x / 8 * 8 == x,
    i * 4 != i * 4 + 3,
    ramp(i, 1, 4) < spread(n + 3, 4),
]

NOT_PROVED = [
    xo * 8 + xi <= n + 5,
    shifted >= 0,
    x < y,
    (n + 7) / 8 * 8 < n + 7,
    pixel < pixel + 1,
    ramp(i, 1, 4) < spread(n + 2, 4),
    u + 1 > u,
]


@pytest.mark.parametrize("cond", [pytest.param(c, id=show(c.node)) for c in PROVED])
def test_is_proved(cond: N) -> None:
    assert can_prove(cond.node)


@pytest.mark.parametrize("cond", [pytest.param(c, id=show(c.node)) for c in NOT_PROVED])
def test_is_not_proved(cond: N) -> None:
    assert not can_prove(cond.node)


def test_proofs_use_facts() -> None:
    cond = x + y < z
    assert not can_prove(cond.node)
    assert can_prove(
        cond.node, Facts.EMPTY.assume((x < n).node).assume((n + y <= z).node)
    )


def test_selections_in_one_another_take_linear_time() -> None:
    # Each side used to be simplified twice: 2 ** 60 times for the last one here.
    x, y = E.Var("x", INT32), E.Var("y", INT32)
    e: E.Expr = y
    for i in range(60):
        arm = E.Mul(y, int32(i + 2))
        e = E.Select(E.EQ(x, int32(i)), arm, e)
    made = simplify(e)
    assert simplify(made) is made
