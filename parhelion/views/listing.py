"""The lines of a program that the animation shows beside its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int
from parhelion.ir.expr import Var
from parhelion.ir.function import Function, ReductionDomain, dim_name
from parhelion.ir.loop_id import LoopId
from parhelion.ir.names import plain_name
from parhelion.ir.stmt import (
    Atomic,
    Block,
    For,
    If,
    OnDemand,
    Produce,
    Provide,
    Realize,
    Stmt,
    keeps_books,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line. parent: the number of the line around it, or -1. loop: whether it is a
    loop, whose variable has a value at each step."""

    depth: int
    text: str
    parent: int
    loop: bool


class Listing:
    """Productions, storage, loops and definitions of a program that is not flat yet.

    Loops of one iteration are left out, and what keeps books of parts on demand. of:
    the number of the line of each statement that has one. names: what Funcs are called,
    where that is not `shown`.
    """

    def __init__(self, body: Stmt, names: Mapping[Function, str] | None = None) -> None:
        self._names = {} if names is None else names
        self._rvars: dict[str, str] = {}
        self.lines: list[Line] = []
        self.of: dict[Stmt, int] = {}
        self._walk(body, 0, -1)

    def _walk(self, s: Stmt, depth: int, parent: int) -> None:
        if keeps_books(s):
            return
        if isinstance(s, Block):
            for item in s.items:
                self._walk(item, depth, parent)
        elif isinstance(s, If):
            self._walk(s.then, depth, parent)
            if s.otherwise is not None:
                self._walk(s.otherwise, depth, parent)
        elif isinstance(s, Atomic):
            self._walk(s.body, depth, parent)
        elif isinstance(s, Provide):
            self._add(s, depth, f"{self._name(s.func)}(…) = …", parent)
        elif isinstance(s, For):
            if const_int(s.extent) == 1:
                self._walk(s.body, depth, parent)
                return
            text = f"{s.kind.value} {self._loop_name(s)}"
            inside = self._add(s, depth, text, parent, loop=True)
            self._walk(s.body, depth + 1, inside)
        elif isinstance(s, OnDemand):
            text = f"on demand {self._name(s.func)}"
            inside = self._add(s, depth, text, parent)
            loops = s.makes[0]
            assert isinstance(loops, For) and isinstance(loops.body, For)
            self._walk(loops.body.body, depth + 1, inside)
            self._walk(s.body, depth, parent)
        elif isinstance(s, Realize) and not s.func.defined:
            self._walk(s.body, depth, parent)
        elif isinstance(s, Realize):
            inside = self._add(s, depth, f"store {self._name(s.func)}", parent)
            self._walk(s.body, depth + 1, inside)
        elif isinstance(s, Produce):
            if not s.producing:
                self._walk(s.body, depth, parent)
                return
            for d in s.func.updates:
                if d.rdom is not None:
                    self._rvars |= {v.name: rvar_name(v, d.rdom) for v in d.rdom.vars}
            inside = self._add(s, depth, f"produce {self._name(s.func)}", parent)
            self._walk(s.body, depth + 1, inside)

    def _add(
        self, s: Stmt, depth: int, text: str, parent: int, loop: bool = False
    ) -> int:
        number = len(self.lines)
        self.lines.append(Line(depth, text, parent, loop))
        # The same statement may stand in two places: its first line is shown.
        self.of.setdefault(s, number)
        return number

    def _name(self, f: Function) -> str:
        return self._names.get(f) or shown(f)

    def _loop_name(self, s: For) -> str:
        """A loop as the user calls it."""
        loop: LoopId | None = s.var.loop
        if loop is None:
            return s.var.name
        return self._rvars.get(loop.var.name) or plain_name(loop.var.name)


def names_of(functions: Sequence[Function]) -> dict[Function, str]:
    """Names for several Funcs at once: of those that the user gave one name, the second
    is ``f (2)``."""
    found: dict[Function, str] = {}
    count: dict[str, int] = {}
    for f in functions:
        name = shown(f)
        count[name] = count.get(name, 0) + 1
        found[f] = name if count[name] == 1 else f"{name} ({count[name]})"
    return found


def rvar_name(v: Var, domain: ReductionDomain) -> str:
    """``r.x``, or ``r`` for a domain of one dimension."""
    name = dim_name(v)
    of = plain_name(name.of)
    return of if len(domain.vars) == 1 else str(name._replace(of=of))


def shown(f: Function) -> str:
    """A Func's name as the user gave it."""
    return plain_name(f.label)


__all__ = ["Line", "Listing", "names_of", "rvar_name", "shown"]
