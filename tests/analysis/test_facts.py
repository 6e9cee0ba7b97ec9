"""What a place in a program knows."""

from __future__ import annotations

from parhelion.analysis.facts import Facts
from parhelion.analysis.interval import Interval
from parhelion.analysis.linear import least_of_sum, linear
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Load, Var
from parhelion.ir.symbols import BufferSym
from parhelion.types import BOOL, INT32, Float

x, y = Var("x", INT32), Var("y", INT32)
p, q = Var("p", BOOL), Var("q", BOOL)
f = Var("f", Float(32))
EMPTY = Facts.EMPTY


def k(value: int) -> Expr:
    return B.int32(value)


def test_bounds() -> None:
    facts = EMPTY.assume(E.And(E.LT(x, k(8)), E.LE(k(2), x)))
    assert facts.interval(x) == Interval(2, 7)
    assert facts.interval(E.Add(E.Mul(x, k(2)), k(1))) == Interval(5, 15)
    assert facts.interval(y) == Interval(None, None)
    assert EMPTY.interval(x) == Interval(None, None)
    assert EMPTY.assume(E.LT(E.Mul(x, k(3)), k(8))).interval(x).hi == 2
    assert EMPTY.assume(E.LE(k(8), E.Mul(x, k(3)))).interval(x).lo == 3
    assert EMPTY.assume(E.LT(E.Mul(x, k(-3)), k(8))).interval(x).lo == -2
    assert EMPTY.assume(E.EQ(x, k(5))).interval(x) == Interval(5, 5)
    assert EMPTY.deny(E.LT(x, k(5))).interval(x) == Interval(5, None)
    assert EMPTY.deny(E.NE(x, k(5))).interval(x) == Interval(5, 5)


def test_facts_add_up() -> None:
    facts = EMPTY.assume(E.LT(x, k(8))).assume(E.LT(k(0), x))
    assert facts.interval(x) == Interval(1, 7)


def test_conditions() -> None:
    facts = EMPTY.assume(E.And(p, E.Not(q)))
    assert p in facts.truths and q in facts.falsehoods
    either = EMPTY.deny(E.Or(p, q))
    assert {p, q} <= either.falsehoods
    assert p in EMPTY.assume(B.likely(p)).truths
    assert EMPTY.assume(E.NE(x, y)).falsehoods == {E.EQ(x, y)}


def test_a_let_stands_for_its_condition() -> None:
    t = Var("t", BOOL, value=E.LT(x, k(3)))
    assert EMPTY.assume(t).interval(x).hi == 2


def test_a_false_float_comparison_says_nothing_of_its_reverse() -> None:
    facts = EMPTY.deny(E.LT(f, B.imm(1.0, f.type)))
    assert facts.truths == frozenset()


def test_what_memory_holds_is_not_a_fact() -> None:
    pixel = Load(INT32, BufferSym("in", INT32, 1, "input"), x, None)
    facts = EMPTY.assume(E.And(E.LT(pixel, k(3)), E.LT(x, k(8))))
    assert facts.truths == {E.LT(x, k(8))}
    assert not EMPTY.deny(E.LT(pixel, k(3)))


def test_contradictions_are_ignored() -> None:
    facts = EMPTY.assume(E.LT(x, k(0))).assume(E.LT(k(0), x))
    assert facts.interval(x) == Interval(None, None)


def test_one_place_has_one_facts() -> None:
    assert EMPTY.assume(p) is EMPTY.assume(p)
    assert not EMPTY
    assert EMPTY.assume(p)


def test_inequalities_are_found_by_what_they_mention() -> None:
    z = Var("z", INT32)
    pairs = [(x, y), (y, z), (x, z), (z, x), (y, x)]
    facts = EMPTY
    for a, b in pairs:
        facts = facts.assume(E.LE(a, E.Mul(b, k(2))))
    # Together in one condition, too: the first of them is the older one.
    facts = facts.assume(E.And(E.LT(x, y), E.LT(E.Mul(y, k(3)), z)))
    assert len(facts.nonneg) == 7
    for e in (x, y, z, E.Add(x, y), E.Add(E.Add(x, y), z), f):
        form = linear(e)
        wanted = [g for g in facts.nonneg if not g.terms.keys().isdisjoint(form.terms)]
        assert facts.about(form) == wanted


def test_the_least_of_a_sum_is_that_of_the_sum_that_is_made() -> None:
    facts = EMPTY.assume(E.And(E.LE(k(2), x), E.LE(y, k(9))))
    forms = [E.Add(x, y), E.Sub(x, y), E.Add(E.Mul(x, k(-3)), k(5)), x, y, k(4)]
    for a in map(linear, forms):
        for b in map(linear, forms):
            for m in (1, -1):
                for n in (2, -1):
                    made = a.scaled(m).plus(b, n)
                    lows = [facts.interval(e) for e in made.terms]
                    wanted: float | None = made.const
                    for (lo, hi), c in zip(lows, made.terms.values(), strict=True):
                        bound = lo if c > 0 else hi
                        known = wanted is not None and bound is not None
                        wanted = wanted + bound * c if known else None  # type: ignore[operator]
                    assert least_of_sum(a, m, b, n, facts.fact) == wanted
