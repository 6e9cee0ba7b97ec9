"""What the values of a Func depend on besides coordinates: the key of its cache."""

from __future__ import annotations

from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Load, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.schedule.wrappers import body


def dependencies(f: Function) -> list[Expr | BufferSym]:
    """What decides about the values of `f` besides coordinates: Params, sizes of
    images, what tags say, and images whose pixels are read without a tag."""
    found: dict[Expr | BufferSym, None] = {}
    functions = [f]
    seen: set[Expr] = set()
    waiting: list[Expr] = []
    for g in functions:  # grows while it is walked
        for d in g.stages():
            it = body(g, d)
            waiting += [*it.args, *it.values, it.predicate]
            if d.rdom is not None:
                waiting += [*d.rdom.mins, *d.rdom.extents]
            waiting += [s.condition for s in d.schedule.specializations]
        while waiting:
            e = waiting.pop()
            if e in seen:
                continue
            seen.add(e)
            if isinstance(e, Intrinsic) and e.op == "memoize_tag":
                for tag in e.args[1:]:
                    found[tag] = None
                continue
            if isinstance(e, FuncCall):
                if e.func not in functions:
                    functions.append(e.func)
            elif isinstance(e, ImageLoad) and not e.image.embedded:
                found[e.image] = None
            elif isinstance(e, Var) and (
                isinstance(e.origin, ParamSym)
                or (isinstance(e.origin, tuple) and not e.origin[0].embedded)
            ):
                found[e] = None
            waiting += e.children()
    return list(found)


def untaggable(e: Expr) -> str:
    """What keeps an expression from being a tag, as it varies within a run; empty if
    nothing does."""
    for n in nodes(e):
        if isinstance(n, FuncCall | ImageLoad | Load):
            return "a pixel"
        if isinstance(n, Var) and not isinstance(n.origin, ParamSym | tuple):
            return n.name
    return ""


__all__ = ["dependencies", "untaggable"]
