"""Every rule of every table: it can fire, and both sides are then equal.

The rules are data, so one test serves them all: a rule's left side is built with
random Vars and constants, and where the rule fires, both sides are evaluated at random
points. Rules of wrapping arithmetic are tried in 8 bits over the whole range, exact
ones in 8 bits with bounded Vars and in 32 bits with small values. Every rule is tried
on every float type as well, on zeros, infinities, NaN and the ends of the type, whether
or not it says that it serves floats: where it fires it must be right.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import Value, evaluate_lanes
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rule_table import Table
from parhelion.ir.rules import (
    Const,
    Literal,
    Op,
    Pattern,
    Rule,
    Wild,
    show,
    variants,
)
from parhelion.simplify.tables import BOOL_SELECT, HELPERS, all_rules
from parhelion.types import BOOL, INT32, Int, Type, UInt
from tests.simplify.generator import EVERY_FLOAT, same_value, special_floats
from tests.simplify.generator import show as show_expr

LANES = 4
TRIES = 300
ENOUGH = 8
POINTS = 24

CASES = [pytest.param(kind, r, id=f"{name}: {r}") for name, kind, r in all_rules()]


class Instance:
    """A rule's left side with its names bound at random."""

    def __init__(self, r: Rule, before: Op, t: Type, rng: random.Random) -> None:
        self.rule, self.t, self.rng = r, t, rng
        self.vector = _has_vectors(before)
        self.scalar_conditions = "scalar(" in r.when
        self.bound: dict[str, Expr] = {}
        self.vars: list[Var] = []
        logic = before.kind in (E.And, E.Or, E.Not)
        self.expr = self.make(before, BOOL if logic else t, self.vector)

    def make(self, p: Pattern, t: Type, vector: bool) -> Expr:
        if isinstance(p, Wild | Const):
            if p.name not in self.bound:
                fresh = self.constant if isinstance(p, Const) else self.wild
                self.bound[p.name] = fresh(t, vector)
            return self.bound[p.name]
        if isinstance(p, Literal):
            return B.imm(p.value, t.with_lanes(LANES if vector else 1))
        assert isinstance(p, Op)
        if p.kind is E.Ramp:
            base, stride = [self.make(a, t, False) for a in p.args]
            return E.Ramp(base, stride, LANES)
        if p.kind is E.Broadcast:
            (value,) = [self.make(a, t, False) for a in p.args]
            return E.Broadcast(value, LANES)
        if p.kind in E.COMPARISONS:
            return p.kind(*[self.make(a, self.t, vector) for a in p.args])
        if p.kind is E.Select:
            wide = vector and not self.scalar_conditions
            cond = self.make(p.args[0], BOOL, wide)
            return E.Select(cond, *[self.make(a, t, vector) for a in p.args[1:]])
        return p.kind(*[self.make(a, t, vector) for a in p.args])

    def constant(self, t: Type, vector: bool) -> Expr:
        if t.is_int_or_uint():
            options: list[int | float]
            options = [0, 1, 2, 3, 4, 5, 6, 8, 12, -1, -2, -3, -8]
            if not (self.rule.exact and t is INT32):
                # 32-bit indices are taken not to overflow.
                options += [t.lowest(), t.highest()]
            options.append(self.rng.randrange(-100, 100))
        else:
            options = list(special_floats(t))
        value = self.rng.choice(options)
        return B.imm(value, t.with_lanes(LANES if vector else 1))

    def wild(self, t: Type, vector: bool) -> Expr:
        if self.rng.random() < 0.15:
            return self.constant(t, vector)
        if not vector:
            return self.var(t)
        lanes = tuple([self.var(t) for _ in range(LANES)])
        return E.Shuffle(lanes, tuple(range(LANES)))

    def var(self, t: Type) -> Var:
        lo = hi = None
        if self.rule.exact and t is not INT32 and t.is_int_or_uint():
            a = self.rng.randrange(int(t.lowest()) // 8, int(t.highest()) // 8)
            lo, hi = B.imm(a, t), B.imm(a + self.rng.choice([0, 3, 12]), t)
        elif t.is_int_or_uint() and t is not BOOL and self.rng.random() < 0.5:
            a = self.rng.choice([0, 1, 2])
            lo, hi = B.imm(a, t), B.imm(a + 5, t)
        v = Var(f"v{len(self.vars)}", t, lo=lo, hi=hi)
        self.vars.append(v)
        return v

    def points(self) -> Iterator[dict[Var, Value]]:
        for _ in range(POINTS):
            yield {v: self.value(v) for v in self.vars}

    def value(self, v: Var) -> Value:
        t = v.type
        if t.is_bool():
            return self.rng.random() < 0.5
        if t.is_float():
            return self.rng.choice(special_floats(t))
        lo, hi = int(t.lowest()), int(t.highest())
        if t is INT32:
            lo, hi = -20, 20
        if v.lo is not None and v.hi is not None:
            lo, hi = B.const_int(v.lo) or 0, B.const_int(v.hi) or 0
        return self.rng.choice([lo, hi, self.rng.randint(lo, hi), lo + (hi - lo) // 2])


def _has_vectors(p: Pattern) -> bool:
    if not isinstance(p, Op):
        return False
    return p.kind in (E.Ramp, E.Broadcast) or any(map(_has_vectors, p.args))


def _types(r: Rule) -> tuple[Type, ...]:
    integers: tuple[Type, ...] = (Int(8), UInt(8), INT32)
    if r.floats == "only":
        return EVERY_FLOAT
    return (*integers, *EVERY_FLOAT) if r.floats else integers


Hot = dict[object, Callable[[Expr], Expr | None] | None]


def _hot(table: Table, known: Hot, e: Expr) -> Expr | None:
    """What the compiled function for the classes of e's children makes of it."""
    kids = e.children()
    kinds = tuple([type(k) for k in kids])
    key = (kinds, kids[-1].type.is_float())
    if key not in known:
        known[key] = table.compiled(kinds, kids[-1].type)
    f = known[key]
    return None if f is None else f(e)


@pytest.mark.parametrize("kind, r", CASES)
def test_rule(kind: type[Expr], r: Rule) -> None:
    rng = random.Random(str(r))
    table = Table(kind, [r], HELPERS)
    fired = 0
    bools = r in BOOL_SELECT.rules
    hot: Hot = {}
    for before, integral in variants(r):
        for t in (BOOL,) if bools else _types(r):
            if integral and t.is_float():
                continue
            fired += _fires(r, table, before, t, rng, hot)
    assert fired, f"{show(r.before)} never fires"


def _fires(
    r: Rule, table: Table, before: Op, t: Type, rng: random.Random, hot: Hot
) -> int:
    """How often the rule fires on instances over `t`, with the same value each time."""
    done = 0
    for _ in range(TRIES):
        case = Instance(r, before, t, rng)
        after = table.apply(case.expr)
        assert _hot(table, hot, case.expr) is after
        if after is None:
            continue
        done += 1
        text = f"{r}: {show_expr(case.expr)} -> {show_expr(after)}"
        assert after.type is case.expr.type, text
        for at in case.points():
            old = evaluate_lanes(case.expr, at)
            new = evaluate_lanes(after, at)
            assert all(map(same_value, old, new)), f"{text} at {at}: {old} {new}"
        if done >= ENOUGH:
            break
    return done


#: Of rules over float conditions, which are Bools, no class of node tells the type.
@pytest.mark.parametrize("kind, r", CASES)
def test_no_rule_is_wrong_of_floats(kind: type[Expr], r: Rule) -> None:
    rng = random.Random(str(r))
    if r in BOOL_SELECT.rules:
        return
    table = Table(kind, [r], HELPERS)
    hot: Hot = {}
    for before, _ in variants(r):
        for t in EVERY_FLOAT:
            _fires(r, table, before, t, rng, hot)


def test_float_operands_of_min_and_max_are_not_swapped() -> None:
    for _, _, r in all_rules():
        if r.floats:
            assert all(
                not integral or before is not r.before
                for before, integral in variants(r)
            )


def test_variants_cover_both_orders() -> None:
    from parhelion.ir.rules import max_, min_, rule, wilds

    x, y = wilds("x y")
    r = rule(min_(x, y) + max_(x, y), x + y)
    # Either operand first, in the sum, the min and the max; naming apart.
    assert len(variants(r)) == 4
