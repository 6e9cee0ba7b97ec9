"""Expressions as records: lists of nodes, children before parents, that JSON can hold.

What they mention (images, Params, and Vars of no origin) is told by its number in lists
that whoever reads them has, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.schedule.keys import Symbol
from parhelion.types import Type, TypeCode

_DIMS = ("min", "extent", "stride")


class NotRecordable(Exception):
    """The error that a program mentions something which the lists do not contain."""


def type_numbers(t: Type) -> list[int]:
    """A type as numbers."""
    return [int(t.kind), t.width, t.count]


def type_of(numbers: Sequence[int]) -> Type:
    """The type of these numbers."""
    code, width, count = numbers
    return Type(TypeCode(code), width, count)


class ExprWriter:
    """Writes expressions into a list of nodes. vars: of no origin, that they may
    mention."""

    def __init__(self, symbols: Sequence[Symbol], vars: Sequence[Var] = ()) -> None:
        self._numbers = {id(s): i for i, s in enumerate(symbols)}
        self._vars = {v: i for i, v in enumerate(vars)}
        self._known: dict[Expr, int] = {}
        self.nodes: list[list[Any]] = []

    def symbol(self, s: Symbol) -> int:
        """The number of an image or a Param. Raises NotRecordable."""
        found = self._numbers.get(id(s))
        if found is None:
            raise NotRecordable(s.name)
        return found

    def expr(self, e: Expr) -> int:
        """The place of an expression in the list. Raises NotRecordable."""
        found = self._known.get(e)
        if found is None:
            made = self._node(e)
            found = self._known[e] = len(self.nodes)
            self.nodes.append(made)
        return found

    def _node(self, e: Expr) -> list[Any]:
        if isinstance(e, Var):
            return self._var(e)
        fields = [self._field(getattr(e, name)) for name in e.FIELDS]
        return [type(e).__name__, *fields]

    def _var(self, v: Var) -> list[Any]:
        origin = v.origin
        if isinstance(origin, ParamSym):
            return ["Param", self.symbol(origin)]
        if isinstance(origin, tuple) and origin[1] in _DIMS:
            owner, what, d = origin
            return ["Dim", self.symbol(owner), what, d]
        if v in self._vars:
            return ["Var", self._vars[v]]
        raise NotRecordable(v.name)

    def _field(self, value: object) -> Any:
        if isinstance(value, Expr):
            return {"e": self.expr(value)}
        if isinstance(value, Type):
            return {"t": type_numbers(value)}
        if isinstance(value, BufferSym):
            return {"b": self.symbol(value)}
        if isinstance(value, tuple):
            return [self._field(v) for v in value]
        if value is None or isinstance(value, int | str):
            return value
        raise NotRecordable(type(value).__name__)


class ExprReader:
    """The expressions of such a list."""

    def __init__(
        self,
        nodes: Sequence[Sequence[Any]],
        symbols: Sequence[Symbol],
        vars: Sequence[Var] = (),
    ) -> None:
        self.symbols = symbols
        self._vars = vars
        self._made: list[Expr] = []
        for kind, *fields in nodes:
            self._made.append(self._node(kind, fields))

    def expr(self, place: int) -> Expr:
        """The expression at a place of the list."""
        return self._made[place]

    def _node(self, kind: str, fields: Sequence[Any]) -> Expr:
        if kind == "Var":
            v = self._vars[fields[0]]
            assert isinstance(v, Var)
            return v
        if kind == "Param":
            p = self.symbols[fields[0]]
            assert isinstance(p, ParamSym)
            return p.var
        if kind == "Dim":
            b = self.symbols[fields[0]]
            assert isinstance(b, BufferSym)
            found = getattr(b.dims[fields[2]], fields[1])
            assert isinstance(found, Var)
            return found
        made = getattr(E, kind)(*[self._field(f) for f in fields])
        assert isinstance(made, Expr)
        return made

    def _field(self, told: Any) -> Any:
        if isinstance(told, dict):
            (what, value), *_ = told.items()
            if what == "e":
                return self._made[value]
            return type_of(value) if what == "t" else self.symbols[value]
        if isinstance(told, list):
            return tuple([self._field(one) for one in told])
        return told


__all__ = ["ExprReader", "ExprWriter", "NotRecordable", "type_numbers", "type_of"]
