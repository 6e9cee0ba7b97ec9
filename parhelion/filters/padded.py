"""Images whose rows lie in memory with what a border puts on both of their ends.

A row is copied once, its ends are filled from its own pixels, and all that reads it
needs no condition: neither for vectors, nor for loops that would have to be cut.
"""

from __future__ import annotations

from parhelion.ir.expr import Expr as Node
from parhelion.lang import boundary
from parhelion.lang.effects import undef
from parhelion.lang.expr import Expr, ExprLike, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp, select
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.whole.core import Whole, moved


def padded(whole: Whole, apart: int, border: str, fill: Node, reach: int) -> Func:
    """The rows of an image, continued by `reach` pixels on both sides, and the rows
    above and below it.

    whole: (H, W * apart), whose pixels have `apart` elements side by side. border: a
    name of `hl.BoundaryConditions`. fill: the pixel outside of a constant one.
    """
    rows = Func("rows")
    x, y = Var("x"), Var("y")
    width, height = wrap(whole.extent(0)), wrap(whole.extent(1))
    rows[x, y] = undef(whole.type)
    constant = border == "constant_exterior"
    if constant or border == "repeat_edge":
        row = clamp(y, 0, height - 1)
    else:
        row = clamp(_remapped("row", border, y, height), 0, height - 1)
    inside = RDom([(0, width)], "inside")
    value = wrap(moved(whole.value, {0: inside.x._node, 1: row._node}))
    if constant:
        value = select((y < 0) | (y >= height), wrap(fill), value)
    rows[inside.x, y] = value
    if reach == 0:
        return rows
    beside = RDom([(0, reach * apart)], "beside")
    ends: dict[str, tuple[Expr, ExprLike]] = {
        "left": (beside.x - reach * apart, -reach),
        "right": (beside.x + width, width // apart),
    }
    k = Var("k")
    for name, (place, first) in ends.items():
        if constant:
            rows[place, y] = wrap(fill)
            continue
        column = Func(name)
        pixels = width // apart
        found = _remapped(f"{name}_pixel", border, k // apart + first, pixels)
        column[k] = found * apart + k % apart
        rows[place, y] = rows[clamp(column[beside.x], 0, width - 1), y]
    return rows


def _remapped(name: str, border: str, at: ExprLike, extent: Expr) -> Expr:
    """The place inside of [0, extent) that a border takes for one that may be outside:
    a value of a table, which is computed before all else."""
    n = Var("n")
    places = Func(f"{name}_inside")
    places[n] = n
    around: Func = getattr(boundary, border)(places, [(0, extent)])
    table = Func(name)
    table[n] = around[n]
    return wrap(table[at]._node)


__all__ = ["padded"]
