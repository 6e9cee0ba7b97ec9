"""A constant that a sum of index expressions never exceeds, however its parts move.

The extents of what a tile needs are differences such as ``(m + 7)/2 - (m - 1)/2 + 1``,
where `m` depends on the tile and on the image: their terms are large, and what is left
of them small. Intervals see each term by itself; here a sum is rewritten, one term
after the other, to sums that are no less, until terms cancel:

* ``k * (p / c)`` is at most ``k/c * p``, and at least ``k/c * (p - c + 1)``, where c
  divides k; the sum is multiplied where it does not.
* With the greater of two, a sum is no more than the greater of both sums; with the
  lesser, it is no more than either.
* A let stands for its value.
"""

from __future__ import annotations

from math import gcd

from parhelion.analysis.interval import constant_interval
from parhelion.analysis.linear import Linear, linear
from parhelion.ir.build import const_int
from parhelion.ir.expr import Div, Expr, Intrinsic, Max, Min, Mod, Select, Var
from parhelion.ir.intrinsics import MARKS

#: Sums that are looked at for one answer.
_STEPS = 2000
#: Coefficients of more would not fit into indices.
_LARGEST = 1 << 24


def most_of_sum(e: Expr) -> int | None:
    """A constant that an index expression never exceeds; None if none is found."""
    return _Most().of(linear(e))


class _Most:
    def __init__(self) -> None:
        self.left = _STEPS
        #: By the terms of a sum without its constant.
        self.memo: dict[frozenset[tuple[Expr, int]], int | None] = {}
        self.heights: dict[Expr, int] = {}

    def of(self, form: Linear) -> int | None:
        if not form.terms:
            return form.const
        key = frozenset(form.terms.items())
        if key not in self.memo:
            if self.left == 0:
                return None
            self.left -= 1
            self.memo[key] = self.found(Linear(0, dict(form.terms)))
        found = self.memo[key]
        return None if found is None else found + form.const

    def height(self, e: Expr) -> int:
        """How many operations and lets are one above the other."""
        known = self.heights.get(e)
        if known is None:
            parts = [c for c in e.children() if isinstance(c, Expr)]
            if isinstance(e, Var) and e.value is not None:
                parts.append(e.value)
            known = 1 + max([self.height(c) for c in parts], default=0)
            self.heights[e] = known
        return known

    def found(self, form: Linear) -> int | None:
        # Whatever others are made of comes last, so that it cancels as a whole.
        atom = max(form.terms, key=self.height)
        if _chooses(atom, form.terms[atom]) is False:
            # Which of both is better depends on what others come to be.
            sure = [e for e, k in form.terms.items() if _chooses(e, k)]
            atom = max(sure, key=self.height, default=atom)
        k = form.terms[atom]
        rest = form.plus(Linear(0, {atom: 1}), -k)
        if isinstance(atom, Var) and atom.value is not None:
            return self.of(rest.plus(linear(atom.value), k))
        if isinstance(atom, Intrinsic) and atom.op in MARKS:
            return self.of(rest.plus(linear(atom.args[0]), k))
        if isinstance(atom, Max | Min):
            a, b = [self.of(rest.plus(linear(e), k)) for e in (atom.a, atom.b)]
            return _greatest(a, b) if _chooses(atom, k) else _least(a, b)
        if isinstance(atom, Select):
            return _greatest(
                self.of(rest.plus(linear(atom.a), k)),
                self.of(rest.plus(linear(atom.b), k)),
            )
        if isinstance(atom, Div) and (by := const_int(atom.b)) is not None and by > 0:
            return self.quotient(rest, atom.a, by, k)
        return self.bounded(rest, atom, k)

    def quotient(self, rest: Linear, p: Expr, by: int, k: int) -> int | None:
        """Of a sum with k times a quotient of `p`."""
        times = by // gcd(by, k)
        if abs(k * times) > _LARGEST:
            return None
        share = k * times // by
        more = linear(p) if share > 0 else linear(p) - Linear(by - 1, {})
        found = self.of(rest.scaled(times).plus(more, share))
        return None if found is None else found // times

    def bounded(self, rest: Linear, atom: Expr, k: int) -> int | None:
        """Of a sum with k times something of which only the interval may be known."""
        known = constant_interval(atom)
        end = known.hi if k > 0 else known.lo
        if end is None and isinstance(atom, Mod):
            by = const_int(atom.b)
            if by is not None and by > 0:
                end = by - 1 if k > 0 else 0
        if not isinstance(end, int):
            return None
        return self.of(rest.plus(Linear(1, {}), k * end))


def _chooses(e: Expr, k: int) -> bool | None:
    """Whether k times the greater or lesser of two is the greater of two multiples;
    None for anything else."""
    if not isinstance(e, Max | Min):
        return None
    return isinstance(e, Max) == (k > 0)


def _greatest(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)


def _least(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


__all__ = ["most_of_sum"]
