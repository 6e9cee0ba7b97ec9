"""Boxes that a definition touches, as expressions to be evaluated, not to be read.

`analysis.box` joins the boxes of all reads of one source into the simplest expressions
that it can find, which is dear where there are many and the reader is a machine. Here,
bounds that differ by constants are joined to one, and the others left to `Min` and
`Max`.
"""

from __future__ import annotations

from collections.abc import Iterable

from parhelion.analysis.bounds import Bounds, Scope, SymInterval, Values
from parhelion.analysis.box import Box, boxes_touched
from parhelion.analysis.interval import constant_interval
from parhelion.analysis.linear import built, linear
from parhelion.analysis.rank import reads_data
from parhelion.analysis.symbolic import is_empty
from parhelion.ir import expr as E
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym

Source = Function | BufferSym

#: Tables that data look things up in have fewer entries than this.
_LOOKED_UP = 1 << 20


def boxes_needed(
    exprs: Iterable[Expr], scope: Scope, values: Values
) -> dict[Source, Box]:
    """What of each source the expressions read while the Vars of `scope` run over their
    intervals; as `analysis.box.boxes_touched`, if less simple."""
    exprs = tuple(exprs)
    found: dict[Source, list[dict[SymInterval, None]]] = {}
    at = Bounds(scope, values)
    seen: set[Expr] = set()
    stack = list(exprs)
    while stack:
        e = stack.pop()
        if e in seen or not reads_data(e):
            continue
        seen.add(e)
        if isinstance(e, E.Let) or isinstance(e, Intrinsic) and e.op == "guarded":
            # Conditions and names want the whole analysis.
            return boxes_touched(exprs, scope, values)
        if isinstance(e, FuncCall | ImageLoad):
            source: Source = e.func if isinstance(e, FuncCall) else e.image
            sides = found.setdefault(source, [{} for _ in e.args])
            for a, known in zip(e.args, sides, strict=True):
                known[_bounds(a, at)] = None
        stack.extend([c for c in e.children() if isinstance(c, Expr)])
    if any(map(is_empty, scope.values())):
        return boxes_touched(exprs, scope, values)
    return {s: tuple([_joined(side) for side in box]) for s, box in found.items()}


def _bounds(coordinate: Expr, at: Bounds) -> SymInterval:
    """What a coordinate lies between. Of one that reads data, what its clamps say will
    do, where they say something: it has no closer relation to the loops."""
    if reads_data(coordinate):
        lo, hi = constant_interval(coordinate)
        if isinstance(lo, int) and isinstance(hi, int) and hi - lo < _LOOKED_UP:
            t = coordinate.type
            return SymInterval(imm(lo, t), imm(hi, t))
    return at.of(coordinate)


def _joined(sides: Iterable[SymInterval]) -> SymInterval:
    lows, highs = zip(*sides, strict=True)
    return SymInterval(_extreme(lows, E.Min), _extreme(highs, E.Max))


def _extreme(
    ends: Iterable[Expr | None], kind: type[E.Min] | type[E.Max]
) -> Expr | None:
    """The least or greatest of some bounds; None if one of them is open."""
    constants: dict[frozenset[tuple[Expr, int]], int] = {}
    forms = {}
    for e in ends:
        if e is None:
            return None
        form = linear(e)
        key = frozenset(form.terms.items())
        old = constants.get(key)
        further = old is None or (form.const < old) == (kind is E.Min)
        if further:
            constants[key] = form.const
            forms[key] = (form, e)
    made: Expr | None = None
    for form, e in forms.values():
        one = built(form, e.type)
        one = e if one is None else one
        made = one if made is None else kind(made, one)
    return made


__all__ = ["boxes_needed"]
