"""Rewrite rules as data, compiled to Python functions at first use.

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

``floats``: the rule also (or, with ``floats="only"``, only) serves float operands.

A table compiles one function for each combination of child classes that it meets,
holding the rules that can match there (0.2 µs a node; trying the rules one by one
with ``match`` took 14 µs). Rules of commutative operations match in either order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from parhelion.ir import expr as E
from parhelion.ir.build import const_int, floor_div, floor_mod, imm
from parhelion.ir.expr import Broadcast, Expr, Imm
from parhelion.types import Bool, Type


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
class Fold(Pattern):
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
    return Fold(p)


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


_SYMBOLS: dict[type[Expr], str] = {
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
    if isinstance(p, Fold):
        return f"fold({show(p.arg)})"
    assert isinstance(p, Op)
    parts = [show(a) for a in p.args]
    if p.kind in _SYMBOLS:
        return f"({parts[0]} {_SYMBOLS[p.kind]} {parts[1]})"
    name = p.data if p.kind is E.Intrinsic else p.kind.__name__.lower()
    return f"{name}({', '.join(parts)})"


_COMMUTE = (E.Add, E.Mul, E.Min, E.Max, E.And, E.Or, E.EQ, E.NE)
_ARITHMETIC = (E.Add, E.Sub, E.Mul, E.Div, E.Ramp)
_COMPARE = (E.EQ, E.NE, E.LT, E.LE)


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
        if p.kind in _COMMUTE and not any(isinstance(a, Const | Literal) for a in args):
            integral = p.kind is E.Min or p.kind is E.Max
            yield Op(p.kind, (args[1], args[0]), p.data), swapped or integral


def _renamed(p: Pattern, names: dict[str, str]) -> str:
    """A text that is equal for patterns which differ in names alone."""
    if isinstance(p, Wild | Const):
        return names.setdefault(p.name, f"{type(p).__name__}{len(names)}")
    if isinstance(p, Op):
        args = ",".join([_renamed(a, names) for a in p.args])
        return f"{p.kind.__name__}:{p.data}({args})"
    if isinstance(p, Fold):
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


def _constant(t: Type, value: int) -> Expr:
    if t.count == 1:
        return Imm(t, t.wrap(value))
    return imm(value, t)


def _fits(t: Type, value: int) -> bool:
    return t.lowest() <= value <= t.highest()


@dataclass(slots=True)
class _Writer:
    """Writes the Python source of one rule's match and result."""

    rule: Rule
    lines: list[str]
    fields: dict[type[Expr], tuple[str, ...]]
    depth: int = 1
    bound: dict[str, str] = field(default_factory=dict)
    tame: list[str] = field(default_factory=list)
    temps: int = 0

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def test(self, condition: str) -> None:
        self.emit(f"if {condition}:")
        self.depth += 1

    def temp(self) -> str:
        self.temps += 1
        return f"t{self.temps}"

    def match(self, p: Pattern, at: str, known: type[Expr] | None) -> None:
        """Code that goes on only where the expression named `at` matches."""
        if isinstance(p, Wild):
            if p.name in self.bound:
                self.test(f"{at} is {self.bound[p.name]}")
            elif at != p.name:
                self.emit(f"{p.name} = {at}")
                self.bound[p.name] = p.name
            else:
                self.bound[p.name] = p.name
        elif isinstance(p, Const):
            if p.name in self.bound:
                self.test(f"_const({at}) == {p.name}")
            elif known is Imm:
                self.emit(f"{p.name} = {at}.value")
            else:
                self.emit(f"{p.name} = _const({at})")
                self.test(f"{p.name} is not None")
            self.bound[p.name] = p.name
        elif isinstance(p, Literal):
            self.test(f"_const({at}) == {p.value}")
        else:
            assert isinstance(p, Op)
            if known is None:
                self.test(f"type({at}) is {p.kind.__name__}")
            if p.kind is E.Intrinsic:
                self.test(f"{at}.op == {p.data!r}")
            elif p.data:
                if p.data in self.bound:
                    self.test(f"{at}.lanes == {p.data}")
                else:
                    self.emit(f"{p.data} = {at}.lanes")
                    self.bound[p.data] = p.data
            if p.kind in _ARITHMETIC:
                self.tame.append(at)
            self.children(p, at)

    def children(self, p: Op, at: str) -> None:
        # Plain names first: they cost nothing and later tests can use them.
        if p.kind is E.Intrinsic:
            slots = [f"args[{i}]" for i in range(len(p.args))]
        else:
            slots = list(self.fields[p.kind])
        for pattern, slot in zip(p.args, slots, strict=True):
            if isinstance(pattern, Wild) and pattern.name not in self.bound:
                self.emit(f"{pattern.name} = {at}.{slot}")
                self.bound[pattern.name] = pattern.name
            else:
                name = self.temp()
                self.emit(f"{name} = {at}.{slot}")
                self.match(pattern, name, None)

    def number(self, p: Pattern) -> str:
        """Source of a folded constant's value."""
        if isinstance(p, Const):
            return p.name
        if isinstance(p, Literal):
            return str(p.value)
        assert isinstance(p, Op)
        a, b = (self.number(arg) for arg in p.args)
        if p.kind is E.Div:
            return f"_floor_div({a}, {b})"
        if p.kind is E.Mod:
            return f"_floor_mod({a}, {b})"
        if p.kind is E.Min or p.kind is E.Max:
            return f"{p.kind.__name__.lower()}({a}, {b})"
        return f"({a} {_SYMBOLS[p.kind]} {b})"

    def type_of(self, p: Pattern) -> str | None:
        """Source of the type of the first matched expression inside `p`."""
        if isinstance(p, Wild):
            return f"{p.name}.type"
        if isinstance(p, Op):
            if p.kind in (E.Broadcast, E.Ramp):
                inner = next(filter(None, map(self.type_of, p.args)), None)
                return inner and f"{inner}.with_lanes({p.data})"
            for arg in p.args[1:] if p.kind is E.Select else p.args:
                found = self.type_of(arg)
                if found:
                    return found
        return None

    def result(self, p: Pattern, context: str) -> str:
        """Source that makes the expression; `context` is the type of constants."""
        if isinstance(p, Wild):
            return p.name
        if isinstance(p, Const):
            return f"_constant({context}, {p.name})"
        if isinstance(p, Literal):
            return f"_constant({'B' if p.boolean else context}, {p.value})"
        if isinstance(p, Fold):
            name = self.temp()
            self.emit(f"{name} = {self.number(p.arg)}")
            if self.rule.exact:
                self.test(f"_fits({context}, {name})")
            return f"_constant({context}, {name})"
        assert isinstance(p, Op)
        if p.kind in (E.Ramp, E.Broadcast):
            inner = next(filter(None, map(self.type_of, p.args)), None)
            inner = inner or f"{context}.element_of()"
            args = [self.result(a, inner) for a in p.args]
            return self.checked(p, f"{p.kind.__name__}({', '.join(args)}, {p.data})")
        if p.kind in _COMPARE:
            context = self.type_of(p) or "T"
        args = [self.result(a, context) for a in p.args]
        if p.kind is E.Intrinsic:
            return f"Intrinsic({context}, {p.data!r}, ({', '.join(args)},))"
        return self.checked(p, f"{p.kind.__name__}({', '.join(args)})")

    def checked(self, p: Op, made: str) -> str:
        """In an exact rule the new sums must not wrap either."""
        if not self.rule.exact or p.kind not in _ARITHMETIC:
            return made
        name = self.temp()
        self.emit(f"{name} = {made}")
        self.test(f"tame({name})")
        return name


class Table:
    """The rules of one node class, ready to be applied."""

    __slots__ = ("kind", "rules", "_fields", "_variants", "_buckets", "_env")

    def __init__(
        self,
        kind: type[Expr],
        rules: Sequence[Rule],
        helpers: Mapping[str, Callable[..., Any]],
    ) -> None:
        """`helpers` may be called in conditions; it must have ``tame`` (whether an
        expression computes as on unlimited integers) if a rule is `exact`."""
        self.kind = kind
        self.rules = tuple(rules)
        self._fields = kind.CHILDREN
        self._variants: dict[int, list[tuple[Op, bool]]] = {}
        self._buckets: dict[tuple[object, ...], Callable[[Expr], Expr | None] | None]
        self._buckets = {}
        self._env: dict[str, Any] = {
            **{k: v for k, v in vars(E).items() if isinstance(v, type)},
            "Bool": Bool,
            "_const": const_int,
            "_constant": _constant,
            "_fits": _fits,
            "_floor_div": floor_div,
            "_floor_mod": floor_mod,
            **helpers,
        }

    def function(
        self, kinds: tuple[type[Expr], ...], of: Type
    ) -> Callable[[Expr], Expr | None] | None:
        """What applies the rules for children of these classes (None: no rule)."""
        key = (of.is_float(), *kinds)
        try:
            return self._buckets[key]
        except KeyError:
            made = self._buckets[key] = self._compile(kinds, of.is_float())
            return made

    def apply(self, n: Expr) -> Expr | None:
        """The result of the first rule that matches `n`, or None."""
        kids = n.children()
        f = self.function(tuple([type(k) for k in kids]), kids[-1].type)
        return None if f is None else f(n)

    def _may_match(self, p: Pattern, kind: type[Expr]) -> bool:
        if isinstance(p, Wild):
            return True
        if isinstance(p, Const | Literal):
            return kind is Imm or kind is Broadcast
        return isinstance(p, Op) and p.kind is kind

    def _matching(
        self, kinds: tuple[type[Expr], ...], floats: bool
    ) -> Iterator[tuple[Rule, Op]]:
        """The left sides that can match children of these classes."""
        for i, r in enumerate(self.rules):
            if floats and not r.floats or not floats and r.floats == "only":
                continue
            args = r.before.args
            if not all(map(self._may_match, args, kinds)):
                # Its variants' operands are in the same order, or swapped.
                swapped = self.kind in _COMMUTE
                if not swapped or not all(map(self._may_match, args[::-1], kinds)):
                    continue
            known = self._variants.get(i)
            if known is None:
                known = self._variants[i] = variants(r)
            for before, integral in known:
                if floats and integral:
                    continue
                if all(map(self._may_match, before.args, kinds)):
                    yield r, before

    def _compile(
        self, kinds: tuple[type[Expr], ...], floats: bool
    ) -> Callable[[Expr], Expr | None] | None:
        found = list(self._matching(kinds, floats))
        if not found:
            return None
        lines = ["def apply(n):"]
        names = [f"n{i}" for i in range(len(kinds))]
        for name, slot in zip(names, self._fields, strict=True):
            lines.append(f"    {name} = n.{slot}")
        body: list[str] = []
        for r, before in found:
            self._write(r, before, names, kinds, body)
        text = "\n".join(body)
        if re.search(r"\b[TB]\b", text):
            lines.append(f"    T = {names[-1]}.type")
        if re.search(r"\bB\b", text):
            lines.append("    B = Bool(T.count)")
        lines.append(text)
        scope: dict[str, Any] = {}
        exec("\n".join(lines), self._env, scope)  # noqa: S102 - our own text
        return scope["apply"]  # type: ignore[no-any-return]

    def _write(
        self,
        r: Rule,
        before: Op,
        names: list[str],
        kinds: tuple[type[Expr], ...],
        lines: list[str],
    ) -> None:
        fields = {k: k.CHILDREN for k in _nodes_in(before)}
        w = _Writer(r, lines, fields)
        if before.kind in _ARITHMETIC:
            w.tame.append("n")
        for p, name, kind in zip(before.args, names, kinds, strict=True):
            w.match(p, name, kind)
        if r.exact:
            for at in w.tame:
                w.test(f"tame({at})")
        if r.when:
            w.test(r.when)
        is_bool = self.kind in _COMPARE or self.kind in (E.And, E.Or, E.Not)
        made = w.result(r.after, "B" if is_bool else "T")
        w.emit(f"return {made}")


def _nodes_in(p: Pattern) -> set[type[Expr]]:
    if not isinstance(p, Op):
        return set()
    out = {p.kind}
    for a in p.args:
        out |= _nodes_in(a)
    return out
