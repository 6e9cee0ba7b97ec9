"""Pixels that only one branch of a `select` needs.

Both branches of a select are computed, on vectors at least, so what either reads would
have to be there. Where the condition bounds the coordinates,

    select(x < 10, a(x), b(x - 10))

that asks for pixels of `a` beyond 9 and of `b` below 0 which nobody uses, and which an
image may not have. Such a read is made conditional here,

    select(x < 10, guarded(a(x), x < 10), guarded(b(x - 10), 10 <= x))

bounds inference then asks for the narrower region (`analysis.box`), and flattening
makes it a load with a predicate. A read is left alone if its index is clamped (a
boundary condition: it stays inside whatever the condition says) or the same pixel is
read elsewhere without a condition.

Where a Func is inlined at coordinates that are clamped, or data, neither rule can tell
any more what the Func's own condition says of its own coordinates. So that it asks for
no more than it would in loops of its own, it is looked at before (`hides`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from parhelion.analysis.bounds import Bounds, SymInterval
from parhelion.analysis.box import narrow
from parhelion.analysis.facts import unmarked
from parhelion.analysis.rank import is_pure, rank, reads_data
from parhelion.ir.build import FALSE, TRUE, conjunction, lnot
from parhelion.ir.expr import (
    COMPARISONS,
    Expr,
    FuncCall,
    ImageLoad,
    Intrinsic,
    Let,
    Max,
    Min,
    Select,
    Var,
)
from parhelion.ir.function import ReductionDomain
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32

#: Conditions around a read, the outermost first. Those further in say most.
_Conditions = tuple[Expr, ...]
_MOST_CONDITIONS = 8
#: Selections of a tree that are looked at under the conditions around them: those that
#: are shared once for every way to them, which is exponential in their depth.
_MOST_CHOICES = 64


def guard_branches(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
    """The expressions of one definition, with reads in branches made conditional where
    that narrows what is read."""
    if not any(type(n) is Select for e in exprs for n in nodes(e)):
        return tuple(exprs)
    made = _Branches()
    for e in exprs:
        made.survey(e, ())
    if not made.guarded.keys() - made.free:
        return tuple(exprs)
    return tuple([made.rewrite(e, ()) for e in exprs])


def hides(coordinates: Sequence[Expr]) -> bool:
    """Whether reads at what takes the place of a Func's Vars, or depends on it, would
    be left alone whatever conditions say."""
    return any(_is_clamped(e) or reads_data(e) for e in coordinates)


class _Branches:
    def __init__(self) -> None:
        #: Reads with a condition that narrows them; those that something reads without.
        self.guarded: dict[Expr, None] = {}
        self.free: set[Expr] = set()
        self._says: dict[tuple[Expr, Expr], bool] = {}
        self._said: dict[Expr, tuple[Expr, Expr] | None] = {}
        self._ends: dict[Var, SymInterval] = {}
        self._seen: set[tuple[Expr, _Conditions]] = set()
        self._memo: dict[tuple[Expr, _Conditions], Expr] = {}

    # What there is.

    def survey(self, root: Expr, around: _Conditions) -> None:
        stack = [(root, around)]
        while stack:
            e, conditions = stack.pop()
            if (e, conditions) in self._seen or not reads_data(e):
                continue
            self._seen.add((e, conditions))
            if _is_guarded(e):
                pixel, cond = e.args
                stack += [(c, conditions) for c in (*pixel.children(), cond)]
                continue
            if isinstance(e, FuncCall | ImageLoad):
                if self.about(e, conditions):
                    self.guarded[e] = None
                else:
                    self.free.add(e)
            if isinstance(e, Select):
                stack += [(e.cond, conditions), *self.branches(e, conditions)]
            else:
                stack += [(c, conditions) for c in e.children()]

    def branches(
        self, e: Select, conditions: _Conditions
    ) -> tuple[tuple[Expr, _Conditions], tuple[Expr, _Conditions]]:
        """What a select gives, each with the conditions that it is read under."""
        if rank(e).choices > _MOST_CHOICES:
            return (e.a, conditions), (e.b, conditions)
        if e.cond not in self._said:
            self._said[e.cond] = _said(e.cond)
        said = self._said[e.cond]
        if said is None:
            return (e.a, conditions), (e.b, conditions)
        return (e.a, _inside(conditions, said[0])), (e.b, _inside(conditions, said[1]))

    def about(self, e: FuncCall | ImageLoad, conditions: _Conditions) -> list[Expr]:
        """The conditions that narrow what is read."""
        if FALSE in conditions:
            return [FALSE]
        if not conditions or any(map(_is_clamped, e.args)):
            return []
        return [c for c in conditions if self.narrows(c, e)]

    def narrows(self, cond: Expr, e: FuncCall | ImageLoad) -> bool:
        key = (cond, e)
        found = self._says.get(key)
        if found is None:
            walked = {v for a in (cond, *e.args) for v in free_vars(a) if _is_walked(v)}
            scope = {v: self.ends(v) for v in walked}
            plain, inside = Bounds(scope), Bounds(narrow(scope, cond))
            found = any(plain.of(a) != inside.of(a) for a in e.args)
            self._says[key] = found
        return found

    def ends(self, v: Var) -> SymInterval:
        """Some interval that a Var runs over."""
        found = self._ends.get(v)
        if found is None:
            low, high = Var(f"{v.name}.lo", INT32), Var(f"{v.name}.hi", INT32)
            found = self._ends[v] = SymInterval(low, high)
        return found

    # What becomes of it.

    def rewrite(self, e: Expr, conditions: _Conditions) -> Expr:
        if not reads_data(e):
            return e
        key = (e, conditions)
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self._rewritten(e, conditions)
        return found

    def _rewritten(self, e: Expr, conditions: _Conditions) -> Expr:
        if isinstance(e, Select):
            branches = [
                self.rewrite(*branch) for branch in self.branches(e, conditions)
            ]
            return Select(self.rewrite(e.cond, conditions), *branches)
        if _is_guarded(e):
            # What its condition says is known, the pixel itself stays as it is.
            pixel, cond = e.args
            pixel = pixel.map(lambda c: self.rewrite(c, conditions))
            return Intrinsic(e.type, e.op, (pixel, self.rewrite(cond, conditions)))
        made = e.map(lambda c: self.rewrite(c, conditions))
        if isinstance(e, FuncCall | ImageLoad) and e not in self.free:
            says = self.about(e, conditions)
            if says:
                return Intrinsic(e.type, "guarded", (made, conjunction(says)))
        return made


def _said(cond: Expr) -> tuple[Expr, Expr] | None:
    """What is known where a condition holds, and where it does not; None if that tells
    nothing. Where inlining has made numbers of what it speaks of, so that it is
    settled, one of them is FALSE: no coordinate is left for it to narrow."""
    if cond.type.count != 1 or reads_data(cond) or not is_pure(cond):
        return None
    parts = [n for n in nodes(cond) if isinstance(n, Expr) and type(n) in COMPARISONS]
    if not all(map(free_vars, (cond, *parts))):
        holds = unmarked(simplify(cond))
        if holds is TRUE or holds is FALSE:
            return (TRUE, FALSE) if holds is TRUE else (FALSE, TRUE)
    if not any(map(_is_walked, free_vars(cond))):
        return None
    return cond, lnot(cond)


def _inside(conditions: _Conditions, cond: Expr) -> _Conditions:
    if cond is TRUE or cond in conditions:
        return conditions
    return (*conditions, cond)[-_MOST_CONDITIONS:]


def _is_walked(v: Var) -> bool:
    """Whether a Var is a coordinate: of the Func's own or of a reduction."""
    return v.type is INT32 and (
        v.origin is None or isinstance(v.origin, ReductionDomain)
    )


def _is_guarded(e: Expr) -> TypeGuard[Intrinsic]:
    return isinstance(e, Intrinsic) and e.op == "guarded"


def _is_clamped(index: Expr) -> bool:
    return any(isinstance(n, Min | Max | Select | Let) for n in nodes(index))


__all__ = ["guard_branches", "hides"]
