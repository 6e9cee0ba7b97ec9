"""Rewrite rules as data: the notation. `rule_table` applies them.

A table is a list of rules of one node class, written with patterns::

    x, y = wilds("x y")
    c0, c1 = consts("c0 c1")
    RULES = (
        rule((x - y) + y, x),
        rule((x * c0) // c1, x * fold(c0 // c1), "c1 > 0 and c0 % c1 == 0", exact=True),
    )

`x` matches any expression (the same one each time), `c0` an integer constant, scalar
or broadcast. The condition is Python over the constants' values, the matched
expressions, ``T`` (the operands' type) and the helpers that the table's owner gives.

``exact``: the rule holds on unlimited integers only. It fires where every sum,
difference, product and quotient that it matches or makes is tame, and where every
folded constant fits the type. Other rules hold in wrapping arithmetic of every width.

``floats``: the rule also (or, with ``floats="only"``, only) serves float operands,
those of the comparisons inside it too. A rule without it may assume an order in which
one of a < b, a == b and a > b holds, which NaN has no place in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from parhelion.dataclass import dataclass
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr


class Pattern:
    """What a rule's side is written in; Python operators build bigger patterns."""

    __slots__ = ()

    def __add__(self, other: Pattern | int) -> Pattern:
        return Op(E.Add, (self, _lift(other)))

    def __radd__(self, other: int) -> Pattern:
        return Op(E.Add, (_lift(other), self))

    def __sub__(self, other: Pattern | int) -> Pattern:
        return Op(E.Sub, (self, _lift(other)))

    def __rsub__(self, other: int) -> Pattern:
        return Op(E.Sub, (_lift(other), self))

    def __mul__(self, other: Pattern | int) -> Pattern:
        return Op(E.Mul, (self, _lift(other)))

    def __floordiv__(self, other: Pattern | int) -> Pattern:
        return Op(E.Div, (self, _lift(other)))

    def __truediv__(self, other: Pattern | int) -> Pattern:
        return Op(E.Div, (self, _lift(other)))

    def __mod__(self, other: Pattern | int) -> Pattern:
        return Op(E.Mod, (self, _lift(other)))

    def __lt__(self, other: Pattern | int) -> Pattern:
        return Op(E.LT, (self, _lift(other)))

    def __le__(self, other: Pattern | int) -> Pattern:
        return Op(E.LE, (self, _lift(other)))

    def __and__(self, other: Pattern | int) -> Pattern:
        return Op(E.And, (self, _lift(other)))

    def __or__(self, other: Pattern | int) -> Pattern:
        return Op(E.Or, (self, _lift(other)))

    def __invert__(self) -> Pattern:
        return Op(E.Not, (self,))


@dataclass(frozen=True, slots=True, eq=False)
class Wild(Pattern):
    """Any expression, the same at each occurrence."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Const(Pattern):
    """An integer constant; the name stands for its value."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Pattern):
    """This very integer. `boolean`: a Bool constant."""

    value: int
    boolean: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Op(Pattern):
    """A node of a class over child patterns.

    data: the node's other field, if it has one: the `lanes` of Ramp and Broadcast
    (a name bound by the match) or the name of an Intrinsic.
    """

    kind: type[Expr]
    args: tuple[Pattern, ...]
    data: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FoldedConstant(Pattern):
    """An expression over constants, computed when the rule fires."""

    arg: Pattern


#: Names that the generated code uses itself.
_RESERVED = re.compile(r"n|T|B|[nt]\d+|_.*")


def _free_name(name: str) -> str:
    if _RESERVED.fullmatch(name):
        raise ValueError(f"a pattern cannot be called {name!r}")
    return name


def wilds(names: str) -> tuple[Wild, ...]:
    return tuple([Wild(_free_name(n)) for n in names.split()])


def consts(names: str) -> tuple[Const, ...]:
    return tuple([Const(_free_name(n)) for n in names.split()])


TRUE = Literal(1, boolean=True)
FALSE = Literal(0, boolean=True)


def _lift(value: Pattern | int) -> Pattern:
    return Literal(value) if isinstance(value, int) else value


def min_(a: Pattern | int, b: Pattern | int) -> Pattern:
    return Op(E.Min, (_lift(a), _lift(b)))


def max_(a: Pattern | int, b: Pattern | int) -> Pattern:
    return Op(E.Max, (_lift(a), _lift(b)))


def eq(a: Pattern | int, b: Pattern | int) -> Pattern:
    return Op(E.EQ, (_lift(a), _lift(b)))


def ne(a: Pattern | int, b: Pattern | int) -> Pattern:
    return Op(E.NE, (_lift(a), _lift(b)))


def select(c: Pattern, a: Pattern | int, b: Pattern | int) -> Pattern:
    return Op(E.Select, (c, _lift(a), _lift(b)))


def ramp(base: Pattern | int, stride: Pattern | int, lanes: str = "lanes") -> Pattern:
    return Op(E.Ramp, (_lift(base), _lift(stride)), lanes)


def broadcast(value: Pattern | int, lanes: str = "lanes") -> Pattern:
    return Op(E.Broadcast, (_lift(value),), lanes)


def intrinsic(name: str, *args: Pattern) -> Pattern:
    return Op(E.Intrinsic, args, name)


def fold(p: Pattern) -> Pattern:
    return FoldedConstant(p)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    before: Op
    after: Pattern
    when: str = ""
    exact: bool = False
    floats: bool | str = False

    def __str__(self) -> str:
        when = f"  if {self.when}" if self.when else ""
        return f"{show(self.before)} -> {show(self.after)}{when}"


def rule(
    before: Pattern,
    after: Pattern | int,
    when: str = "",
    *,
    exact: bool = False,
    floats: bool | str = False,
) -> Rule:
    """`before` becomes `after` where the Python condition `when` holds."""
    if not isinstance(before, Op):
        raise TypeError(f"the left side of a rule must be an operation: {before}")
    return Rule(before, _lift(after), when, exact, floats)


SYMBOLS: dict[type[Expr], str] = {
    E.Add: "+",
    E.Sub: "-",
    E.Mul: "*",
    E.Div: "/",
    E.Mod: "%",
    E.LT: "<",
    E.LE: "<=",
    E.EQ: "==",
    E.NE: "!=",
    E.And: "&&",
    E.Or: "||",
}


def show(p: Pattern) -> str:
    """A pattern as text."""
    if isinstance(p, Wild | Const):
        return p.name
    if isinstance(p, Literal):
        return str(bool(p.value)).lower() if p.boolean else str(p.value)
    if isinstance(p, FoldedConstant):
        return f"fold({show(p.arg)})"
    assert isinstance(p, Op)
    parts = [show(a) for a in p.args]
    if p.kind in SYMBOLS:
        return f"({parts[0]} {SYMBOLS[p.kind]} {parts[1]})"
    name = p.data if p.kind is E.Intrinsic else p.kind.__name__.lower()
    return f"{name}({', '.join(parts)})"


COMMUTE = (E.Add, E.Mul, E.Min, E.Max, E.And, E.Or, E.EQ, E.NE)


def _orders(p: Pattern) -> Iterator[tuple[Pattern, bool]]:
    """The pattern with the operands of commutative operations in every order.

    Constants stay on the right, where the simplifier puts them. Whether a minimum or
    maximum was swapped goes with each: for floats those do not commute.
    """
    if not isinstance(p, Op) or not p.args:
        yield p, False
        return
    for choice in product(*[list(_orders(a)) for a in p.args]):
        args = tuple([a for a, _ in choice])
        swapped = any(s for _, s in choice)
        yield Op(p.kind, args, p.data), swapped
        if p.kind in COMMUTE and not any(isinstance(a, Const | Literal) for a in args):
            integral = p.kind is E.Min or p.kind is E.Max
            yield Op(p.kind, (args[1], args[0]), p.data), swapped or integral


def _renamed(p: Pattern, names: dict[str, str]) -> str:
    """A text that is equal for patterns which differ in names alone."""
    if isinstance(p, Wild | Const):
        return names.setdefault(p.name, f"{type(p).__name__}{len(names)}")
    if isinstance(p, Op):
        args = ",".join([_renamed(a, names) for a in p.args])
        return f"{p.kind.__name__}:{p.data}({args})"
    if isinstance(p, FoldedConstant):
        return f"fold({_renamed(p.arg, names)})"
    return show(p)


def variants(r: Rule) -> list[tuple[Op, bool]]:
    """The left sides that `r` stands for, and whether each serves integers alone."""
    out: list[tuple[Op, bool]] = []
    seen: set[str] = set()
    for before, integral in _orders(r.before):
        assert isinstance(before, Op)
        names: dict[str, str] = {}
        # Of two left sides that differ in names alone the first always wins, unless
        # a condition tells the names apart.
        key = _renamed(before, names)
        key += r.when and f" if {r.when} with {names}"
        if key not in seen:
            seen.add(key)
            out.append((before, integral))
    return out
