"""What a condition says about the Vars of a scope: narrower intervals where it holds.

Conjunctions of comparisons are taken apart; each is solved for every varying term in
turn, the others at the extreme that is least helpful. A disjunction gives what both
its sides agree on. What cannot be solved is dropped, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from parhelion.analysis.interval import never_nan
from parhelion.analysis.linear import Linear, build, linear
from parhelion.analysis.rank import is_small
from parhelion.analysis.symbolic import (
    EVERYTHING,
    SymInterval,
    fits,
    is_empty,
    is_index,
    join,
    meet,
    number,
    shifted,
)
from parhelion.ir import expr as E
from parhelion.ir.build import FALSE, TRUE, imm
from parhelion.ir.expr import Expr, Var
from parhelion.ir.intrinsics import LIKELY
from parhelion.types import Type

if TYPE_CHECKING:
    from parhelion.analysis.bounds import Bounds


class Narrower:
    """Takes in conditions; `at` is then the bounds where they all hold.

    scope: the narrowed scope (the given object if nothing changed).
    contradiction: whether the conditions cannot hold together.
    """

    def __init__(self, at: Bounds) -> None:
        self._at: Bounds | None = at
        self._base = at
        self.scope: Mapping[Var, SymInterval] = at.scope
        self.known: Mapping[Expr, SymInterval] = at.known
        self.contradiction = False
        #: Whether something might be solved once other terms are known better.
        self._open = False

    @property
    def at(self) -> Bounds:
        if self._at is None:
            self._at = self._base.within(self.scope, self.known)
        return self._at

    def assume(self, cond: Expr, holds: bool = True) -> None:
        """Takes in that `cond` holds (or, if not `holds`, that it does not)."""
        if not is_small(cond):
            return  # Nothing is known of it.
        before = self.scope, self.known
        self._open = False
        self._take(cond, holds)
        if self._open and (self.scope, self.known) != before:
            self._take(cond, holds)

    def _take(self, cond: Expr, holds: bool) -> None:
        if self.contradiction:
            return
        while True:
            if type(cond) is E.Broadcast:
                cond = cond.value
            elif type(cond) is E.Intrinsic and cond.op in LIKELY:
                cond = cond.args[0]
            else:
                break
        kind = type(cond)
        if kind is E.Not:
            self._take(cond.a, not holds)  # type: ignore[attr-defined]
        elif kind is E.And or kind is E.Or:
            if (kind is E.And) is holds:
                self._take(cond.a, holds)  # type: ignore[attr-defined]
                self._take(cond.b, holds)  # type: ignore[attr-defined]
            else:
                self._either(cond.a, cond.b, holds)  # type: ignore[attr-defined]
        elif kind in E.COMPARISONS:
            known = self.at.decide(cond)
            if known is not None:
                self.contradiction = known is not holds
            else:
                self._compare(cond, holds)
        elif cond is TRUE or cond is FALSE:
            self.contradiction = (cond is TRUE) is not holds
        elif type(cond) is Var and cond.value is not None:
            self._take(cond.value, holds)

    def _either(self, a: Expr, b: Expr, holds: bool) -> None:
        one, two = self._tried(a, holds), self._tried(b, holds)
        if one.contradiction or two.contradiction:
            kept = two if one.contradiction else one
            self.scope, self.known, self._at = kept.scope, kept.known, kept._at
            self.contradiction = kept.contradiction
            return
        for v, i in one.scope.items():
            if i != self.scope[v] and two.scope[v] != self.scope[v]:
                self._set(v, join(i, two.scope[v]))
        for e, i in one.known.items():
            if e in two.known and i != self.known.get(e):
                self._know(e, join(i, two.known[e]))

    def _tried(self, cond: Expr, holds: bool) -> Narrower:
        made = Narrower(self.at)
        made.assume(cond, holds)
        return made

    # Comparisons.

    def _compare(self, cond: Expr, holds: bool) -> None:
        a, b = cond.a, cond.b  # type: ignore[attr-defined]
        t: Type = a.type.element_of()
        kind = type(cond)
        if kind is E.EQ or kind is E.NE:
            if (kind is E.EQ) is holds:
                self._at_most(a, b, 0, t)
                self._at_most(b, a, 0, t)
            elif t.is_int_or_uint():
                self._differ(a, b, t)
            return
        strict = kind is E.LT
        if holds:
            self._at_most(a, b, int(strict), t)
        elif not t.is_float():
            self._at_most(b, a, int(not strict), t)
        else:
            # Not a < b: either b <= a or one of them is NaN, which binds neither.
            if never_nan(a):
                self._above_or_below(b, None, self.at.of(a).hi)
            if never_nan(b):
                self._above_or_below(a, self.at.of(b).lo, None)

    def _at_most(self, a: Expr, b: Expr, gap: int, t: Type) -> None:
        """a + gap <= b"""
        if is_index(t) and a.type.count == 1:
            self._not_negative((linear(b) - linear(a)).shifted(-gap), t)
            return
        high, low = self.at.of(b).hi, self.at.of(a).lo
        if t.is_int_or_uint() and gap:
            high = _stepped(high, -1, t)
            low = _stepped(low, 1, t)
        self._above_or_below(a, None, high)
        self._above_or_below(b, low, None)

    def _not_negative(self, form: Linear, t: Type) -> None:
        """Takes in that `form` is at least 0."""
        for atom, k in form.terms.items():
            if self.contradiction:
                return
            if self.at.is_fixed(atom):
                continue
            rest = self.at.of_linear(form.without(atom), t).hi
            if rest is None:
                self._open = True
                continue
            # k*atom >= -rest
            share = linear(E.Div(rest, imm(abs(k), t))) if abs(k) > 1 else linear(rest)
            if k > 0:
                self._above_or_below(atom, build(share.scaled(-1), t), None)
            else:
                self._above_or_below(atom, None, build(share, t))

    def _differ(self, a: Expr, b: Expr, t: Type) -> None:
        """a != b moves a bound that is just there."""
        for x, y in ((a, b), (b, a)):
            i, j = self.at.of(x), self.at.of(y)
            if not j.is_point or j.lo is None or self.at.is_fixed(x):
                continue
            if i.lo is not None and _same(i.lo, j.lo):
                self._above_or_below(x, _stepped(i.lo, 1, t), None)
            if i.hi is not None and _same(i.hi, j.lo):
                self._above_or_below(x, None, _stepped(i.hi, -1, t))

    def _above_or_below(self, e: Expr, lo: Expr | None, hi: Expr | None) -> None:
        """Takes in that `e` lies in [lo, hi]."""
        if lo is None and hi is None or self.contradiction:
            return
        if type(e) is Var:
            if e in self.scope:
                self._set(e, meet(self.scope[e], SymInterval(lo, hi)))
            elif e.value is not None and not self.at.is_fixed(e):
                self._above_or_below(e.value, lo, hi)
            return
        if self.at.is_fixed(e):
            return
        kind = type(e)
        t = e.type.element_of()
        if kind is E.Intrinsic and e.op in LIKELY:  # type: ignore[attr-defined]
            self._above_or_below(e.args[0], lo, hi)  # type: ignore[attr-defined]
            return
        if is_index(t) and e.type.count == 1:
            form = linear(e)
            if e not in form.terms:
                if lo is not None:
                    self._not_negative(form - linear(lo), t)
                if hi is not None:
                    self._not_negative(linear(hi) - form, t)
        self._know(e, meet(self.at.of(e), SymInterval(lo, hi)))
        if kind is E.Div and is_index(t) and type(e.b) is E.Imm and e.b.value > 0:  # type: ignore[attr-defined]
            d = e.b.value  # type: ignore[attr-defined]
            self._above_or_below(
                e.a,  # type: ignore[attr-defined]
                None if lo is None else build(linear(lo).scaled(d), t),
                None if hi is None else build(linear(hi).scaled(d).shifted(d - 1), t),
            )
        elif kind is E.Min and lo is not None and not t.is_float():
            self._above_or_below(e.a, lo, None)  # type: ignore[attr-defined]
            self._above_or_below(e.b, lo, None)  # type: ignore[attr-defined]
        elif kind is E.Max and hi is not None and not t.is_float():
            self._above_or_below(e.a, None, hi)  # type: ignore[attr-defined]
            self._above_or_below(e.b, None, hi)  # type: ignore[attr-defined]
        elif kind is E.Cast:
            self._through_cast(e, lo, hi)  # type: ignore[arg-type]

    def _through_cast(self, e: E.Cast, lo: Expr | None, hi: Expr | None) -> None:
        """A widening cast of an integer says of it what it says of itself."""
        source = e.a.type.element_of()
        if not e.type.is_int_or_uint() or not source.is_int_or_uint():
            return
        if not e.type.can_represent(e.a.type):
            return
        low, high = number(lo), number(hi)
        self._above_or_below(
            e.a,
            imm(low, source) if low is not None and fits(source, low, low) else None,
            imm(high, source)
            if high is not None and fits(source, high, high)
            else None,
        )

    def _set(self, v: Var, i: SymInterval) -> None:
        if i == self.scope[v]:
            return
        self.scope = {**self.scope, v: i}
        self._at = None
        if is_empty(i):
            self.contradiction = True

    def _know(self, e: Expr, i: SymInterval) -> None:
        if i == self.at.of(e):
            return
        self.known = {**self.known, e: i}
        self._at = None
        if is_empty(i):
            self.contradiction = True


def _stepped(e: Expr | None, k: int, t: Type) -> Expr | None:
    """Returns ``e + k``, or `e` where the sum may leave the type."""
    if e is None:
        return None
    if is_index(t):
        return shifted(e, k)
    value = number(e)
    if value is None or not t.lowest() <= value + k <= t.highest():
        return e
    return imm(value + k, t)


def _same(a: Expr, b: Expr) -> bool:
    if a is b:
        return True
    gap = linear(a) - linear(b)
    return gap.is_const() and gap.const == 0


__all__ = ["EVERYTHING", "Narrower"]
