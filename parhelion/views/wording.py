"""Definitions and schedules of Funcs in words and formulas, for people."""

from __future__ import annotations

import re

from parhelion.ir.build import is_true
from parhelion.ir.expr import Expr, Intrinsic, Var
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.names import plain_name
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.ir.text import brief, text
from parhelion.schedule.directives import LoopLevel, Place
from parhelion.schedule.placement import AtLevel, Placement
from parhelion.views.listing import rvar_name, shown

#: Distinct nodes of a value up to which all of it is shown.
_MOST_NODES = 120
_MOST_LETTERS = 2000
_NUMBER = re.compile(r"(?<=\w)\$\d+\b")


class _Plain(Rewriter):
    """Without the marks that speak to the compiler; reduction variables are called as
    the user calls them."""

    def on_var(self, n: Var) -> Expr:
        if not isinstance(n.origin, ReductionDomain):
            return n
        return Var(rvar_name(n, n.origin), n.type)

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op in LIKELY:
            return self.go(n.args[0])
        return n.map(self.go)


def formula(e: Expr) -> str:
    """An expression as text, cut short (…) if it is long."""
    e = _Plain().go(e)
    many = any([count > _MOST_NODES for count, _ in enumerate(nodes(e))])
    out = brief(e) if many else text(e)
    # Names without the numbers that make them unique.
    out = _NUMBER.sub("", out)
    return out if len(out) <= _MOST_LETTERS else brief(e)


def definition(f: Function, d: Definition) -> str:
    """``f(x, y) = …``, with the reduction domain that it runs over."""
    values = [formula(v) for v in d.values]
    value = values[0] if len(values) == 1 else f"({', '.join(values)})"
    args = ", ".join([formula(a) for a in d.args])
    line = f"{shown(f)}({args}) = {value}"
    if d.rdom is None:
        return line
    over = [
        f"{rvar_name(v, d.rdom)} in [{formula(v.lo)}, {formula(v.hi)}]"
        for v in d.rdom.vars
        if v.lo is not None and v.hi is not None
    ]
    line += f"  for {', '.join(over)}"
    if not is_true(d.predicate):
        line += f"  where {formula(d.predicate)}"
    return line


def definitions(f: Function) -> list[str]:
    """All definitions, as the user wrote them."""
    if f.extern is not None:
        args = ", ".join([a.name for a in f.args])
        return [f"{shown(f)}({args}) = {f.extern.name}(…), which is foreign code"]
    return [definition(f, d) for d in f.as_written()]


def signature(f: Function) -> str:
    """Types, and the names of the dimensions."""
    types = ", ".join([str(t) for t in f.types])
    if len(f.types) > 1:
        types = f"({types})"
    if not f.args:
        return f"{types}, a number"
    names = ", ".join([a.name for a in f.args])
    count = "1 dimension" if len(f.args) == 1 else f"{len(f.args)} dimensions"
    return f"{types}, {count} ({names})"


def place(at: Placement) -> str:
    """Where a Func is computed and stored."""
    if not isinstance(at, AtLevel):
        return str(at)
    s = at.func.schedule
    words = _level(s.compute)
    if (s.store_level.func, s.store_level.var) != (s.compute.func, s.compute.var):
        words += f", stored {_level(s.store_level)}"
    return words


def _level(level: LoopLevel) -> str:
    if level.place is Place.ROOT:
        return "at root"
    assert level.func is not None and level.var is not None
    v = level.var
    name = plain_name(v.name)
    if isinstance(v.origin, ReductionDomain):
        name = rvar_name(v, v.origin)
    return f"at {shown(level.func)}.{name}"


__all__ = ["definition", "definitions", "formula", "place", "signature"]
