"""The rule tables, and what their conditions may ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from parhelion.analysis.interval import constant_interval, tame
from parhelion.analysis.modulus import alignment
from parhelion.analysis.rank import tree_size
from parhelion.ir import expr as E
from parhelion.ir.build import is_const
from parhelion.ir.expr import Broadcast, Expr, FloatImm
from parhelion.ir.rule_table import Table
from parhelion.ir.rules import Rule
from parhelion.simplify import (
    add,
    compare,
    div_mod,
    logic,
    min_max,
    mul,
    select_cast,
    sub,
    vector,
)
from parhelion.types import Type


def nonneg(e: Expr) -> bool:
    """Whether `e` is certainly not negative."""
    lo = constant_interval(e).lo
    return lo is not None and lo >= 0


def positive(e: Expr) -> bool:
    lo = constant_interval(e).lo
    return lo is not None and lo > 0


def nonzero(e: Expr) -> bool:
    return not constant_interval(e).contains(0)


def multiple(e: Expr, k: int) -> bool:
    """Whether `e` is known to be a multiple of k."""
    m, r = alignment(e)
    return k != 0 and m % k == 0 and r % k == 0


def fits(t: Type, value: int) -> bool:
    """Whether the integer type holds the value."""
    return t.lowest() <= value <= t.highest()


def float_value(e: Expr) -> float | None:
    """The value of a float constant, broadcast or not."""
    if type(e) is Broadcast:
        return float_value(e.value)
    return e.value if type(e) is FloatImm else None


def _plus_zero(e: Expr) -> bool:
    value = float_value(e)
    return value == 0.0 and str(value) == "0.0"


def _minus_zero(e: Expr) -> bool:
    value = float_value(e)
    return value == 0.0 and str(value) == "-0.0"


def one_quotient(base: Expr, stride: int, lanes: int, divisor: int) -> bool:
    """Whether all lanes of a ramp have the same quotient by `divisor`."""
    m, r = alignment(base)
    if m % divisor:
        return False
    ends = (r % divisor, r % divisor + stride * (lanes - 1))
    return min(ends) >= 0 and max(ends) < divisor


HELPERS: dict[str, Callable[..., Any]] = {
    "tame": tame,
    "nonneg": nonneg,
    "positive": positive,
    "nonzero": nonzero,
    "multiple": multiple,
    "fits": fits,
    "const": is_const,
    "size": tree_size,
    "signed": Type.is_int,
    "scalar": lambda e: e.type.count == 1,
    "alike": lambda a, b: a.type is b.type,
    "minus_zero": _minus_zero,
    "plus_zero": _plus_zero,
    "one": lambda e: float_value(e) == 1.0,
    "one_quotient": one_quotient,
}

RULES: dict[type[Expr], tuple[Rule, ...]] = {
    E.Add: add.RULES,
    E.Sub: sub.RULES,
    E.Mul: mul.RULES,
    E.Div: div_mod.DIV,
    E.Mod: div_mod.MOD,
    E.Min: min_max.MIN,
    E.Max: min_max.MAX,
    E.LT: compare.LT,
    E.LE: compare.LE,
    E.EQ: compare.EQ,
    E.NE: compare.NE,
    E.And: logic.AND,
    E.Or: logic.OR,
    E.Not: logic.NOT,
    E.Select: select_cast.SELECT,
}

TABLES: dict[type[Expr], Table] = {
    kind: Table(kind, rules, HELPERS) for kind, rules in RULES.items()
}
#: For sums that are not index arithmetic, tried before the others.
SUMS: dict[type[Expr], Table] = {
    kind: Table(kind, rules, HELPERS)
    for kind, rules in ((E.Add, add.SUMS), (E.Sub, sub.SUMS), (E.Mul, mul.SUMS))
}
BOOL_SELECT = Table(E.Select, select_cast.BOOL_SELECT, HELPERS)


def all_rules() -> Iterator[tuple[str, type[Expr], Rule]]:
    """Every rule with the name of its table and its node class (for tests)."""
    for kind, table in TABLES.items():
        for r in table.rules:
            yield kind.__name__, kind, r
    for kind, table in SUMS.items():
        for r in table.rules:
            yield f"{kind.__name__} of sums", kind, r
    for r in BOOL_SELECT.rules:
        yield "Select of conditions", E.Select, r


__all__ = [
    "BOOL_SELECT",
    "RULES",
    "SUMS",
    "TABLES",
    "all_rules",
    "float_value",
    "vector",
]
