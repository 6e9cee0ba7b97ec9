"""Tables of rules, ready to be applied.

A table compiles one function for each combination of child classes that it often
meets, holding the rules that can match there (0.2 µs a node; trying the rules one by
one with ``match`` took 14 µs). That costs half a millisecond, so a combination that is
new goes another way: its patterns are compared as they stand (some 4 µs a node), and a
rule is compiled, alone, when its pattern first fits. Rules of commutative operations
match in either order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.ir import expr as E
from parhelion.ir.build import const_int, floor_div, floor_mod, imm
from parhelion.ir.expr import Broadcast, Expr, Imm
from parhelion.ir.rules import (
    COMMUTE,
    SYMBOLS,
    Const,
    FoldedConstant,
    Literal,
    Op,
    Pattern,
    Rule,
    Wild,
    variants,
)
from parhelion.types import Bool, Type

ARITHMETIC = (E.Add, E.Sub, E.Mul, E.Div, E.Ramp)
COMPARE = (E.EQ, E.NE, E.LT, E.LE)


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
            if p.kind in ARITHMETIC:
                self.tame.append(at)
            if p.kind in COMPARE and not self.rule.floats:
                # Bools do not tell of what they are comparisons.
                self.test(f"not {at}.a.type.is_float()")
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
        return f"({a} {SYMBOLS[p.kind]} {b})"

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
        if isinstance(p, FoldedConstant):
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
        if p.kind in COMPARE:
            context = self.type_of(p) or "T"
        args = [self.result(a, context) for a in p.args]
        if p.kind is E.Intrinsic:
            return f"Intrinsic({context}, {p.data!r}, ({', '.join(args)},))"
        return self.checked(p, f"{p.kind.__name__}({', '.join(args)})")

    def checked(self, p: Op, made: str) -> str:
        """In an exact rule the new sums must not wrap either."""
        if not self.rule.exact or p.kind not in ARITHMETIC:
            return made
        name = self.temp()
        self.emit(f"{name} = {made}")
        self.test(f"tame({name})")
        return name


def fits(p: Pattern, e: Expr, bound: dict[str, Any]) -> bool:
    """Whether `p` matches `e` as far as patterns say; `bound` are the names so far.

    What a rule's condition asks beyond that only its compiled function knows.
    """
    kind = type(p)
    if kind is Wild:
        return bound.setdefault(p.name, e) is e  # type: ignore[attr-defined]
    if kind is Op:
        if type(e) is not p.kind:  # type: ignore[attr-defined]
            return False
        data = p.data  # type: ignore[attr-defined]
        if not data:
            pass
        elif type(e) is E.Intrinsic:
            if e.op != data or len(e.args) != len(p.args):  # type: ignore[attr-defined]
                return False
        elif bound.setdefault(data, e.lanes) != e.lanes:  # type: ignore[attr-defined]
            return False
        for arg, child in zip(p.args, e.children(), strict=True):  # type: ignore[attr-defined]
            if not fits(arg, child, bound):
                return False
        return True
    value = const_int(e)
    if value is None:
        return False
    if kind is Const:
        return bool(bound.setdefault(p.name, value) == value)  # type: ignore[attr-defined]
    return bool(value == p.value)  # type: ignore[attr-defined]


#: Uses after which a combination of child classes gets a function of its own: by
#: then comparing patterns has cost what compiling costs.
HOT = 200

_Apply = Callable[[Expr], Expr | None]


class Table:
    """The rules of one node class, ready to be applied."""

    __slots__ = ("kind", "rules", "_fields", "_variants", "_single", "_buckets", "_env")

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
        self._single: dict[Op, _Apply] = {}
        self._buckets: dict[tuple[object, ...], _Apply | None] = {}
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

    def function(self, kinds: tuple[type[Expr], ...], of: Type) -> _Apply | None:
        """What applies the rules for children of these classes (None: no rule)."""
        key = (of.is_float(), *kinds)
        try:
            return self._buckets[key]
        except KeyError:
            made = self._buckets[key] = self._tentative(key)
            return made

    def _tentative(self, key: tuple[Any, ...]) -> _Apply | None:
        """A function that needs no compilation, and replaces itself when it is hot."""
        floats, *kinds = key
        found = list(self._matching(tuple(kinds), floats))
        if not found:
            return None
        uses = 0

        def apply(n: Expr) -> Expr | None:
            nonlocal uses
            uses += 1
            if uses == HOT:
                self._buckets[key] = self._compile(tuple(kinds), found)
            for r, before in found:
                if fits(before, n, {}):
                    one = self._single.get(before)
                    if one is None:
                        free = (None,) * len(kinds)
                        one = self._single[before] = self._compile(free, [(r, before)])
                    made = one(n)
                    if made is not None:
                        return made
            return None

        return apply

    def compiled(self, kinds: tuple[type[Expr], ...], of: Type) -> _Apply | None:
        """The function for children of these classes as it is when it is hot."""
        found = list(self._matching(kinds, of.is_float()))
        return self._compile(kinds, found) if found else None

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
                swapped = self.kind in COMMUTE
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
        self, kinds: Sequence[type[Expr] | None], found: Sequence[tuple[Rule, Op]]
    ) -> _Apply:
        """Source of the rules one after another, made a function. `kinds`: what is
        known of the children's classes."""
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
        kinds: Sequence[type[Expr] | None],
        lines: list[str],
    ) -> None:
        fields = {k: k.CHILDREN for k in _nodes_in(before)}
        w = _Writer(r, lines, fields)
        if before.kind in ARITHMETIC:
            w.tame.append("n")
        for p, name, kind in zip(before.args, names, kinds, strict=True):
            w.match(p, name, kind)
        if r.exact:
            for at in w.tame:
                w.test(f"tame({at})")
        if r.when:
            w.test(r.when)
        is_bool = self.kind in COMPARE or self.kind in (E.And, E.Or, E.Not)
        made = w.result(r.after, "B" if is_bool else "T")
        w.emit(f"return {made}")


def _nodes_in(p: Pattern) -> set[type[Expr]]:
    if not isinstance(p, Op):
        return set()
    out = {p.kind}
    for a in p.args:
        out |= _nodes_in(a)
    return out
