"""Proofs of conditions: simplification, then a bounded search over linear forms.

To prove ``a <= b`` the search shows that the form of ``b - a`` is not negative. It
takes, in turn, what loses nothing (the value of a let, both branches of a choice, a
quotient by its remainder) and what may (one branch, a Var's symbolic bound, a known
condition), and gives up when its budget is spent.
"""

from __future__ import annotations

from parhelion.analysis.facts import Facts, unmarked
from parhelion.analysis.interval import tame
from parhelion.analysis.linear import Linear, linear
from parhelion.analysis.rank import is_small, reads_data
from parhelion.ir.build import const_int
from parhelion.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    Expr,
    Imm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Var,
)
from parhelion.ir.rewrite import free_vars
from parhelion.simplify.driver import engine
from parhelion.simplify.engine import form_interval, known_sign
from parhelion.simplify.order import plain

#: Steps of one search; each costs a few microseconds.
BUDGET = 120
DEPTH = 16


def prove(cond: Expr, facts: Facts) -> bool:
    """Whether `cond` certainly holds under `facts`."""
    s = engine(facts)
    found = s.proofs.get(cond)
    if found is None:
        made = s.go(cond)
        search = _Search(facts, _inhabited(cond))
        found = s.proofs[cond] = is_small(made) and search.holds(made)
    return found


def _inhabited(cond: Expr) -> tuple[Linear, ...]:
    """Returns forms that are not negative because the Vars of `cond` have values.

    The body of a loop is only reached if the loop's least value is not above its
    greatest.
    """
    out = []
    for v in free_vars(cond):
        if v.lo is not None and v.hi is not None and v.type.is_int_or_uint():
            form = linear(v.hi) - linear(v.lo)
            if form.terms:
                out.append(form)
    return tuple(out)


class _Search:
    def __init__(
        self, facts: Facts, inhabited: tuple[Linear, ...], budget: int = BUDGET
    ) -> None:
        self.facts = facts
        self.inhabited = inhabited
        self.left = budget

    def under(self, facts: Facts) -> _Search:
        """A search under more facts, on the same budget."""
        return _Search(facts, self.inhabited, self.left)

    def holds(self, cond: Expr) -> bool:
        cond = unmarked(cond)
        value = const_int(cond)
        if value is not None:
            return bool(value)
        if cond in self.facts.truths:
            return True
        kind = type(cond)
        if isinstance(cond, And):
            return self.holds(cond.a) and self.holds(cond.b)
        if isinstance(cond, Or):
            if self.holds(cond.a) or self.holds(cond.b):
                return True
            more = self.facts.deny(cond.a)
            return self.under(more).holds(engine(more).go(cond.b))
        if kind is Not:
            return unmarked(cond.a) in self.facts.falsehoods  # type: ignore[attr-defined]
        if isinstance(cond, Broadcast):
            return self.holds(cond.value)
        if isinstance(cond, Select) and cond.cond.type.count == 1:
            yes, no = self.facts.assume(cond.cond), self.facts.deny(cond.cond)
            return self.under(yes).holds(engine(yes).go(cond.a)) and self.under(
                no
            ).holds(engine(no).go(cond.b))
        if isinstance(cond, Var) and cond.value is not None:
            return self.holds(engine(self.facts).go(cond.value))
        if isinstance(cond, LT | LE | EQ | NE) and cond.a.type.is_int_or_uint():
            return self.compare(cond)
        return False

    def compare(self, cond: LT | LE | EQ | NE) -> bool:
        if cond.a.type.count > 1:
            return all(
                a is not None and b is not None and self.compare(type(cond)(a, b))
                for a, b in zip(_ends(cond.a), _ends(cond.b), strict=True)
            ) and not isinstance(cond, EQ | NE)
        form = plain(linear(cond.b) - linear(cond.a))
        if isinstance(cond, LE):
            return self.nonneg(form, DEPTH)
        if isinstance(cond, LT):
            return self.nonneg(form.shifted(-1), DEPTH)
        if isinstance(cond, EQ):
            return self.nonneg(form, DEPTH) and self.nonneg(form.scaled(-1), DEPTH)
        return self.nonneg(form.shifted(-1), DEPTH) or self.nonneg(
            form.scaled(-1).shifted(-1), DEPTH
        )

    def nonneg(self, form: Linear, depth: int) -> bool:
        """Whether ``form >= 0``."""
        known = known_sign(form, self.facts)
        if known is not None:
            return known
        if depth == 0 or self.left <= 0:
            return False
        self.left -= 1
        form = plain(form)
        for atom, k in form.terms.items():
            same = self.rewritten(form, atom, k)
            if same is not None:
                return self.nonneg(same, depth - 1)
        for atom, k in form.terms.items():
            if isinstance(atom, Min | Max):
                rest = form.without(atom)
                a = rest.plus(linear(atom.a), k)
                b = rest.plus(linear(atom.b), k)
                if isinstance(atom, Min) is (k > 0):
                    return self.nonneg(a, depth - 1) and self.nonneg(b, depth - 1)
        for atom, k in form.terms.items():
            if isinstance(atom, Select) and atom.cond.type.count == 1:
                return self.both(form.without(atom), atom, k, depth)
        return self.lossy(form, depth)

    def rewritten(self, form: Linear, atom: Expr, k: int) -> Linear | None:
        """An equal form (up to a positive factor) with one atom taken apart."""
        if isinstance(atom, Var) and atom.value is not None:
            if atom.value.type.is_int_or_uint() and not reads_data(atom.value):
                value = engine(self.facts).go(atom.value)
                return form.without(atom).plus(linear(value), k)
        if isinstance(atom, Div) and isinstance(atom.b, Imm) and tame(atom.a):
            d = atom.b.value
            if d > 1:
                # d * (x/d) is x - x%d.
                inner = linear(atom.a)
                part = engine(self.facts).go(Mod(atom.a, atom.b))
                rest = form.without(atom).scaled(d)
                return rest.plus(inner, k).plus(linear(part), -k)
        if isinstance(atom, Cast) and atom.a.type.is_int_or_uint() and tame(atom.a):
            lo, hi = self.facts.interval(atom.a)
            f, t = atom.a.type, atom.type
            wide = t.is_int_or_uint() and t.can_represent(f)
            held = lo is not None and hi is not None and not t.is_bool()
            if wide or (held and t.lowest() <= lo and hi <= t.highest()):  # type: ignore[operator]
                return form.without(atom).plus(linear(atom.a), k)
        return None

    def both(self, rest: Linear, atom: Select, k: int, depth: int) -> bool:
        """A selection: each side, where its condition holds."""
        yes, no = self.facts.assume(atom.cond), self.facts.deny(atom.cond)
        return self.under(yes).nonneg(
            rest.plus(linear(atom.a), k), depth - 1
        ) and self.under(no).nonneg(rest.plus(linear(atom.b), k), depth - 1)

    def lossy(self, form: Linear, depth: int) -> bool:
        """Replaces something by a bound of it that no longer is exact."""
        for atom, k in form.terms.items():
            if isinstance(atom, Min | Max):
                rest = form.without(atom)
                if self.nonneg(rest.plus(linear(atom.a), k), depth - 1):
                    return True
                if self.nonneg(rest.plus(linear(atom.b), k), depth - 1):
                    return True
        for known in (*self.facts.nonneg, *self.inhabited):
            made = _eliminated(form, known)
            if made is not None and self.nonneg(made, depth - 1):
                return True
        for atom, k in form.terms.items():
            bound = self.bound(atom, k)
            if bound is not None:
                made = form.without(atom).plus(linear(bound), k)
                if self.nonneg(made, depth - 1):
                    return True
        return False

    def bound(self, atom: Expr, k: int) -> Expr | None:
        """A symbolic lower bound of ``k * atom``, divided by k."""
        if isinstance(atom, Var):
            limit = atom.lo if k > 0 else atom.hi
            if limit is None or const_int(limit) is not None:
                return None
            return engine(self.facts).go(limit)
        if isinstance(atom, Mod) and k < 0 and tame(atom.a):
            lo = self.facts.interval(atom.a).lo
            return atom.a if lo is not None and lo >= 0 else None
        if isinstance(atom, Mul) and k > 0:
            a, b = linear(atom.a), linear(atom.b)
            if self.nonneg(a, 2) and self.nonneg(b, 2):
                return Imm(atom.a.type, 0) if atom.a.type.count == 1 else None
        return None


def _eliminated(form: Linear, known: Linear) -> Linear | None:
    """``m*form - n*known`` with m, n > 0, chosen so that an atom falls out: if that
    is not negative, nor is `form`."""
    for atom, k in form.terms.items():
        c = known.terms.get(atom)
        if c is not None and (c > 0) is (k > 0):
            made = form.scaled(abs(c)).plus(known, -abs(k))
            return made if len(made.terms) <= len(form.terms) else None
    return None


def _ends(e: Expr) -> tuple[Expr | None, Expr | None]:
    """The first and last lane of a vector whose lanes change monotonically."""
    if isinstance(e, Broadcast):
        return e.value, e.value
    if isinstance(e, Ramp) and e.base.type.count == 1:
        t = e.base.type
        return e.base, Add(e.base, Mul(e.stride, Imm(t, e.lanes - 1)))
    return None, None


__all__ = ["form_interval", "prove"]
