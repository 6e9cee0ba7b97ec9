"""What is known at one place of a program beyond what its nodes say.

A `Facts` is immutable: the conditions of the enclosing ifs, the asserts before, the
bounds of the loops around. It answers with tighter intervals and with inequalities
for the prover. `assume` is cached, so one place reached twice has one `Facts`.
"""

from __future__ import annotations

from typing import ClassVar

from parhelion.analysis.interval import (
    FULL,
    Fact,
    Interval,
    compute_fact,
    fact,
)
from parhelion.analysis.linear import Linear, difference
from parhelion.analysis.rank import is_small, reads_data
from parhelion.ir.expr import EQ, LE, LT, NE, And, Expr, Intrinsic, Not, Or, Var
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.rewrite import free_vars


def unmarked(e: Expr) -> Expr:
    """`e` without the `likely` marks around it."""
    while type(e) is Intrinsic and e.op in LIKELY:
        e = e.args[0]
    return e


class Facts:
    """Known conditions.

    truths, falsehoods: Bool expressions known to hold, or known not to.
    nonneg: linear forms known to be at least 0, the newest first.
    intervals: bounds of atoms, tighter than the nodes' own.
    vars: the Vars that any of it mentions: other expressions gain nothing here.
    """

    __slots__ = (
        "truths",
        "falsehoods",
        "nonneg",
        "intervals",
        "vars",
        "_about",
        "_assumed",
        "_facts",
    )
    EMPTY: ClassVar[Facts]

    def __init__(
        self,
        truths: frozenset[Expr],
        falsehoods: frozenset[Expr],
        nonneg: tuple[Linear, ...],
        intervals: dict[Expr, Interval],
        vars: frozenset[Var],
        about: dict[Expr, tuple[tuple[int, Linear], ...]],
    ) -> None:
        self.truths = truths
        self.falsehoods = falsehoods
        self.nonneg = nonneg
        self.intervals = intervals
        self.vars = vars
        #: Of each atom the forms in `nonneg` that have it, with their numbers from the
        #: oldest on.
        self._about = about
        self._assumed: dict[Expr, Facts] = {}
        self._facts: dict[Expr, Fact] = {}

    def assume(self, cond: Expr) -> Facts:
        """These facts and that `cond` (a Bool expression) holds.

        Parts of it that read memory are not kept: memory may change.
        """
        found = self._assumed.get(cond)
        if found is None:
            new = _Gathered(self)
            if is_small(cond):
                new.hold(cond)
            found = self._assumed[cond] = new.facts()
        return found

    def deny(self, cond: Expr) -> Facts:
        """These facts and that `cond` does not hold."""
        return self.assume(Not(cond))

    def fact(self, e: Expr) -> Fact:
        """The interval and tameness of `e` here."""
        found = self._facts.get(e)
        if found is None:
            if not self.intervals or self.vars.isdisjoint(free_vars(e)):
                found = self._facts[e] = fact(e)
                return found
            made, is_tame = compute_fact(e, self.fact)
            if type(e) is Var and e.value is not None and e.value in self.intervals:
                made = made.intersect(self.intervals[e.value])
            known = self.intervals.get(e)
            if known is not None:
                narrowed = made.intersect(known)
                # A contradiction means code that cannot be reached.
                if not _empty(narrowed):
                    made = narrowed
                    if made.lo is not None and made.hi is not None:
                        is_tame = is_tame or e.type.is_int_or_uint()
            found = self._facts[e] = made, is_tame
        return found

    def about(self, form: Linear) -> list[Linear]:
        """Of the forms in `nonneg` those with an atom of another, in their order.

        The checks of a large pipeline leave hundreds, and each atom is in a few.
        """
        known = self._about
        found = [known[atom] for atom in form.terms if atom in known]
        if not found:
            return []
        if len(found) == 1:
            return [other for _, other in reversed(found[0])]
        together = {number: other for forms in found for number, other in forms}
        return [together[number] for number in sorted(together, reverse=True)]

    def forget(self) -> None:
        """Drops what is cached here, which holds nodes."""
        self._assumed.clear()
        self._facts.clear()

    def interval(self, e: Expr) -> Interval:
        """What the value of `e` lies between here."""
        return self.fact(e)[0]

    def __bool__(self) -> bool:
        return bool(self.vars or self.truths or self.falsehoods)


def _empty(i: Interval) -> bool:
    return i.lo is not None and i.hi is not None and i.lo > i.hi


class _Gathered:
    """Facts while they are being extended."""

    def __init__(self, base: Facts) -> None:
        self.base = base
        self.truths: set[Expr] = set()
        self.falsehoods: set[Expr] = set()
        self.nonneg: list[Linear] = []
        self.intervals: dict[Expr, Interval] = {}

    def hold(self, cond: Expr) -> None:
        cond = unmarked(cond)
        kind = type(cond)
        if kind is And:
            self.hold(cond.a)  # type: ignore[attr-defined]
            self.hold(cond.b)  # type: ignore[attr-defined]
            return
        if kind is Not:
            self.fail(cond.a)  # type: ignore[attr-defined]
            return
        if reads_data(cond):
            return
        if kind is LT or kind is LE or kind is EQ:
            self.compare(cond, strict=kind is LT)
        elif kind is NE:
            self.falsehoods.add(EQ(cond.a, cond.b))  # type: ignore[attr-defined]
        self.truths.add(cond)
        if type(cond) is Var and cond.value is not None:
            self.hold(cond.value)

    def fail(self, cond: Expr) -> None:
        cond = unmarked(cond)
        kind = type(cond)
        if kind is Or:
            self.fail(cond.a)  # type: ignore[attr-defined]
            self.fail(cond.b)  # type: ignore[attr-defined]
            return
        if kind is Not:
            self.hold(cond.a)  # type: ignore[attr-defined]
            return
        if reads_data(cond):
            return
        if kind in (LT, LE) and cond.a.type.is_int_or_uint():  # type: ignore[attr-defined]
            a, b = cond.a, cond.b  # type: ignore[attr-defined]
            self.hold(LE(b, a) if kind is LT else LT(b, a))
        elif kind is NE:
            self.hold(EQ(cond.a, cond.b))  # type: ignore[attr-defined]
        self.falsehoods.add(cond)
        if type(cond) is Var and cond.value is not None:
            self.fail(cond.value)

    def compare(self, cond: Expr, strict: bool) -> None:
        a, b = cond.a, cond.b  # type: ignore[attr-defined]
        t = a.type
        if t.count > 1 or not t.is_int_or_uint():
            return
        form = difference(b, a)
        if strict:
            form = form.shifted(-1)
        self.inequality(form)
        if type(cond) is EQ:
            self.inequality(form.scaled(-1))

    def inequality(self, form: Linear) -> None:
        """Takes in that `form` is at least 0."""
        if not form.terms:
            return
        if len(form.terms) > 1:
            self.nonneg.append(form)
            return
        (atom, k), c = next(iter(form.terms.items())), form.const
        # k*atom + c >= 0
        new = Interval(-(c // k), None) if k > 0 else Interval(None, c // -k)
        old = self.intervals.get(atom) or self.base.intervals.get(atom, FULL)
        self.intervals[atom] = old.intersect(new)

    def facts(self) -> Facts:
        base = self.base
        free: frozenset[Var] = base.vars
        for e in (*self.truths, *self.falsehoods, *self.intervals):
            free |= free_vars(e)
        about = base._about
        if self.nonneg:
            about = dict(about)
            for i, form in enumerate(reversed(self.nonneg), len(base.nonneg)):
                for atom in form.terms:
                    about[atom] = (*about.get(atom, ()), (i, form))
        return Facts(
            base.truths | self.truths,
            base.falsehoods | self.falsehoods,
            (*self.nonneg, *base.nonneg),
            base.intervals | self.intervals,
            free,
            about,
        )


Facts.EMPTY = Facts(frozenset(), frozenset(), (), {}, frozenset(), {})
