"""The most that an extent can be, where lets and loops hide it."""

from __future__ import annotations

from parhelion.analysis.interval import constant_interval
from parhelion.analysis.most import most_of_sum
from parhelion.analysis.rank import tree_size
from parhelion.ir.build import const_int, sub
from parhelion.ir.expr import Add, Div, Expr, Max, Min, Sub
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.simplify.simplifier import simplify

#: Expressions with more nodes are not worth a search.
_LARGEST = 400


def opened(e: Expr) -> Expr:
    """An expression with the values of lets in their place, while it stays small."""
    while True:
        lets = {v: v.value for v in free_vars(e) if v.value is not None}
        if not lets or tree_size(e) > _LARGEST:
            return e
        e = substitute(e, lets)


def most_of(e: Expr) -> int | None:
    """A constant that an extent never exceeds; None if none is found."""
    known = const_int(e)
    if known is not None:
        return known
    found = constant_interval(e).hi
    if found is not None:
        return int(found)
    most = most_of_sum(e)
    other = _most(opened(e))
    return most if other is None or (most is not None and most < other) else other


def _most(e: Expr) -> int | None:
    """As `most_of`, of an expression without lets: by the parts of sums, quotients,
    minima and maxima where the whole says nothing."""
    most = constant_interval(simplify(e)).hi
    if most is not None:
        return int(most)
    if isinstance(e, Div) or (isinstance(e, Add) and const_int(e.b) is not None):
        a, by = _most(e.a), const_int(e.b)
        if a is None or by is None:
            return None
        if isinstance(e, Add):
            return a + by
        return a // by if by > 0 else None
    if isinstance(e, Min):
        return _least_of([_most(e.a), _most(e.b)])
    if isinstance(e, Max):
        return _greatest_of([_most(e.a), _most(e.b)])
    if isinstance(e, Sub):
        # Of ends of ranges: min(p, q) - min(r, s) is no more than one of p - r, q - r,
        # or one of p - s, q - s.
        last, first = e.a, e.b
        if isinstance(first, Min):
            return _greatest_of([_most(sub(last, b)) for b in (first.a, first.b)])
        if isinstance(last, Min):
            return _least_of([_most(sub(a, first)) for a in (last.a, last.b)])
    return None


def _least_of(bounds: list[int | None]) -> int | None:
    return min([k for k in bounds if k is not None], default=None)


def _greatest_of(bounds: list[int | None]) -> int | None:
    known = [k for k in bounds if k is not None]
    return max(known) if len(known) == len(bounds) else None


__all__ = ["most_of", "opened"]
