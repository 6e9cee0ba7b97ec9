"""Floats cast to integers, kept inside what bounds inference says of them.

Bounds of floats speak of the values that are not NaN, so that ``clamp(v, 0.0, 9.0)``
cast to an integer lies between 0 and 9, and may index nine pixels. A NaN, which may
become any integer, would index anything. Where a cast has such bounds, they are made
true here, at the price of an integer minimum and maximum; a cast without bounds needs
nothing, for nothing is built on it.
"""

from __future__ import annotations

from parhelion.analysis.bounds import Values, bounds_of
from parhelion.analysis.interval import never_nan
from parhelion.analysis.symbolic import number
from parhelion.ir.expr import Cast, Expr, Max, Min
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.lower.stages import Program


def pin_casts(program: Program, values: Values) -> None:
    """Rewrites the stages of `program`; `values` bounds what its Funcs hold."""
    pin = _Pin(values)
    for f in program.order:
        for s in program.stages[f]:
            if any(_loose(n) for e in (*s.exprs, s.predicate) for n in nodes(e)):
                s.args = tuple([pin.go(a) for a in s.args])
                s.values = tuple([pin.go(v) for v in s.values])
                s.predicate = pin.go(s.predicate)


def _loose(n: object) -> bool:
    """Whether `n` is a cast that may be of NaN to a number."""
    return (
        type(n) is Cast
        and n.a.type.is_float()
        and n.type.is_int_or_uint()
        and not n.type.is_bool()
        and not never_nan(n.a)
    )


class _Pin(Rewriter):
    def __init__(self, values: Values) -> None:
        super().__init__()
        self._values = values

    def on_cast(self, n: Cast) -> Expr:
        made: Expr = Cast(n.type, self.go(n.a))
        if not _loose(n):
            return made
        lo, hi = bounds_of(n, {}, self._values)
        if lo is hi:  # No more is known than the expression itself.
            return made
        low, high = number(lo), number(hi)
        t = n.type
        # Narrow types are converted by way of 32 bits, which makes NaN zero.
        if t.width < 32 and None not in (low, high) and low <= 0 <= high:  # type: ignore[operator]
            return made
        if hi is not None and high != t.highest():
            made = Min(made, hi)
        if lo is not None and low != t.lowest():
            made = Max(made, lo)
        return made
