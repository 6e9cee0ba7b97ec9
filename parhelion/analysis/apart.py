"""How far apart two integer expressions are at most, where clamps hide what they share.

``max(min(y + 1, n), 0) - max(min(y - 1, n), 0)`` is 2 at most, as a clamp brings values
closer together. Interval arithmetic loses that, since it looks at both sides by
themselves, and linear forms, in which both are atoms.

The rules, for an upper bound of ``a - b``: a minimum in a is no more than any of its
sides, a maximum in b no less; of a maximum in a and of a minimum in b each side may be
the one that counts; multiples and quotients by one number are as far apart as what they
are of. As everywhere here, integers are as large as it takes.
"""

from __future__ import annotations

from collections.abc import Callable

from parhelion.analysis.interval import Interval, constant_interval
from parhelion.analysis.linear import difference
from parhelion.ir.build import const_int
from parhelion.ir.expr import Add, Div, Expr, Max, Min, Mul, Sub, Var

#: Pairs of expressions that are compared at most: beyond, nothing is known.
_MOST = 20_000


def apart(
    a: Expr, b: Expr, ranges: Callable[[Var], Interval | None] | None = None
) -> int | None:
    """The most that ``a - b`` may be; None if that is not known. ranges: what some Vars
    are promised to lie between, beyond what they say themselves."""
    return _Finder(ranges).most(a, b)


class _Finder:
    def __init__(self, ranges: Callable[[Var], Interval | None] | None) -> None:
        self._ranges = ranges
        self._known: dict[tuple[Expr, Expr], int | None] = {}

    def most(self, a: Expr, b: Expr) -> int | None:
        if a is b:
            return 0
        key = a, b
        if key not in self._known:
            if len(self._known) >= _MOST:
                return None
            self._known[key] = None
            self._known[key] = self._find(a, b)
        return self._known[key]

    def _find(self, a: Expr, b: Expr) -> int | None:
        found = _least(self._any(a, b), self._each(a, b))
        if found is None:
            found = _least(self._shifted(a, b), self._scaled(a, b))
        if found is None:
            found = _least(self._by_terms(a, b), self._opened(a, b))
        return found

    def _opened(self, a: Expr, b: Expr) -> int | None:
        """By what names stand for."""
        if isinstance(a, Var) and a.value is not None:
            return self.most(a.value, b)
        if isinstance(b, Var) and b.value is not None:
            return self.most(a, b.value)
        return None

    def _by_terms(self, a: Expr, b: Expr) -> int | None:
        form = difference(a, b)
        total = form.const
        for atom, k in form.terms.items():
            between = constant_interval(atom)
            if self._ranges is not None and isinstance(atom, Var):
                between = self._ranges(atom) or between
            one = _whole(between.hi if k > 0 else between.lo)
            if one is None:
                return None
            total += k * one
        return total

    def _any(self, a: Expr, b: Expr) -> int | None:
        """By a side of a minimum above, or of a maximum below."""
        found: int | None = None
        if isinstance(a, Min):
            found = _least(self.most(a.a, b), self.most(a.b, b))
        if isinstance(b, Max):
            found = _least(found, self.most(a, b.a), self.most(a, b.b))
        return found

    def _each(self, a: Expr, b: Expr) -> int | None:
        """By both sides of a maximum above, or of a minimum below."""
        found: int | None = None
        if isinstance(a, Max):
            found = _greatest(self.most(a.a, b), self.most(a.b, b))
        if isinstance(b, Min):
            found = _least(found, _greatest(self.most(a, b.a), self.most(a, b.b)))
        return found

    def _shifted(self, a: Expr, b: Expr) -> int | None:
        """By a term that lies between constants."""
        found: int | None = None
        if isinstance(a, Add):
            found = _least(
                _sum(self.most(a.a, b), _highest(a.b)),
                _sum(self.most(a.b, b), _highest(a.a)),
            )
        elif isinstance(a, Sub):
            found = _sum(self.most(a.a, b), _negative(_lowest(a.b)))
        if isinstance(b, Add):
            found = _least(
                found,
                _sum(self.most(a, b.a), _negative(_lowest(b.b))),
                _sum(self.most(a, b.b), _negative(_lowest(b.a))),
            )
        elif isinstance(b, Sub):
            found = _least(found, _sum(self.most(a, b.a), _highest(b.b)))
        return found

    def _scaled(self, a: Expr, b: Expr) -> int | None:
        """By what multiples or quotients by one number are of; ``x / k * k`` is no more
        than x, and less by k - 1 at most."""
        found: int | None = None
        k, n = _factor(a), _factor(b)
        if k is not None and k == n:
            assert isinstance(a, Mul) and isinstance(b, Mul)
            whole = self.most(a.a, b.a)
            found = None if whole is None else whole * k
        if isinstance(a, Div) and isinstance(b, Div):
            k, n = const_int(a.b), const_int(b.b)
            if k is not None and k == n and k > 0:
                whole = self.most(a.a, b.a)
                found = None if whole is None else -(-whole // k)
        rounded = _rounded(a)
        if rounded is not None:
            found = _least(found, self.most(rounded[0], b))
        rounded = _rounded(b)
        if rounded is not None:
            found = _least(found, _sum(self.most(a, rounded[0]), rounded[1] - 1))
        return found


def _highest(e: Expr) -> int | None:
    return _whole(constant_interval(e).hi)


def _lowest(e: Expr) -> int | None:
    return _whole(constant_interval(e).lo)


def _whole(bound: int | float | None) -> int | None:
    return bound if isinstance(bound, int) else None


def _factor(e: Expr) -> int | None:
    """The number that an expression is a positive multiple by."""
    k = const_int(e.b) if isinstance(e, Mul) else None
    return k if k is not None and k > 0 else None


def _rounded(e: Expr) -> tuple[Expr, int] | None:
    """x and k of ``x / k * k``."""
    k = _factor(e)
    if k is None or not isinstance(e, Mul) or not isinstance(e.a, Div):
        return None
    return (e.a.a, k) if const_int(e.a.b) == k else None


def _least(*found: int | None) -> int | None:
    return min([one for one in found if one is not None], default=None)


def _greatest(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _negative(a: int | None) -> int | None:
    return None if a is None else -a


__all__ = ["apart"]
