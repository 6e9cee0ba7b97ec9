"""Expressions of one place in the program, in names that are bound further out.

A region is known where it is needed, in terms of the loops around that place. What it
comes to for all iterations of some of these loops is asked from outside of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING

from parhelion.analysis.bounds import SymInterval, bounds_of
from parhelion.ir.build import add, int32, sub
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.lower.loops import Loop
from parhelion.lower.sites import Site
from parhelion.simplify.simplifier import simplify

if TYPE_CHECKING:
    from parhelion.lower.regions import Regions

_ONE = int32(1)


def visible(regions: Regions, store: Site) -> set[Var]:
    """The names that are bound at a site or around it."""
    found: set[Var] = set()
    for site in store.outwards():
        found.update([let.var for let in site.lets])
        if site.stage is not None:
            for level, let in regions.loops(site.stage).lets:
                if level <= site.depth:
                    found.add(let.var)
    return found


def loops_within(regions: Regions, inner: Site, outer: Site) -> list[Loop]:
    """The loops around `inner` that are inside `outer`, outermost first."""
    found: list[Loop] = []
    for site in inner.outwards():
        if site is outer:
            break
        found[:0] = regions.loops_at(site)
    return found


def greatest(
    e: Expr, loops: Sequence[Loop], open_: Callable[[Expr, bool], Expr | None]
) -> Expr | None:
    """The greatest value of `e` over all iterations of loops, outermost first; None
    if it has no bound.

    open_: a bound of an expression (a lower one, if asked for) in names that are
    visible where the answer is, and the loops'. No other name may be left: it would
    hide a loop that it depends on until that loop's turn is over.
    """
    most = open_(e, False)
    found = None if most is None else simplify(most)
    for loop in reversed(loops):
        if found is not None and loop.var in free_vars(found):
            last = simplify(sub(add(loop.min, loop.extent), _ONE))
            low, high = open_(loop.min, True), open_(last, False)
            ends = SymInterval(
                None if low is None else simplify(low),
                None if high is None else simplify(high),
            )
            found = bounds_of(found, {loop.var: ends}).hi
    return None if found is None else simplify(found)


def opened(e: Expr, closed: Set[Var]) -> Expr:
    """`e` with all names but those of `closed` replaced by their values."""
    while True:
        env = {
            v: v.value for v in free_vars(e) if v.value is not None and v not in closed
        }
        if not env:
            return e
        e = substitute(e, env)


def greatest_outside(
    regions: Regions, e: Expr, inner: Site, outer: Site
) -> Expr | None:
    """The greatest value that `e`, in names known at `inner`, has inside `outer`; in
    names known there, or None."""
    known = visible(regions, outer)
    loops = loops_within(regions, inner, outer)
    found = greatest(e, loops, lambda e, low: opened(e, known))
    if found is None:
        return None
    known |= {p.var for s in outer.outwards() for p in regions.loops_at(s)}
    outside = all(v.origin is not None or v in known for v in free_vars(found))
    return found if outside else None


__all__ = ["greatest", "greatest_outside", "loops_within", "opened", "visible"]
