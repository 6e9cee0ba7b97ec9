"""From where a value is read to who reads it: scatters turned into gathers.

A definition with the variables x reads a source at ``place(x)``; its adjoint at y is
the sum over all x with ``place(x) == y``. Where that can be solved for x, the adjoint
of a stencil is a stencil again, which has a value at each point and is scheduled like
any other (Li et al. 2018, section 4.2). What is solved, dimension by dimension:

- sums of multiples of variables: ``x + r`` for x, ``2*x`` where y is even, and
  ``8*x + r`` for both, where r has no more than eight values;
- quotients and remainders by constants, by taking the variable apart, ``x = 2*q + p``;
- clamps: the inside is solved, and what lies beyond is added to the edge;
- selects between two coordinates, the points on each side by themselves.

What is left, as coordinates that pixels tell, is scattered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from parhelion.adjoint.flows import Walk
from parhelion.analysis.linear import Linear, build, linear
from parhelion.analysis.rank import reads_data
from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    add,
    const_int,
    div,
    eq,
    int32,
    is_false,
    is_true,
    le,
    lnot,
    lt,
    maximum,
    minimum,
    mod,
    mul,
    sub,
)
from parhelion.ir.expr import (
    LE,
    LT,
    And,
    Div,
    Expr,
    Imm,
    Intrinsic,
    Max,
    Min,
    Mod,
    Not,
    Or,
    Select,
    Var,
)
from parhelion.ir.intrinsics import MARKS
from parhelion.ir.rewrite import Rewriter, free_vars, nodes, substitute
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32

#: Remainders up to this number are terms of one sum, more of them a loop.
_UNROLLED = 4
#: More alternatives than these are not worth their code: the read is scattered.
_ALTERNATIVES = 27


@dataclass(slots=True, eq=False)
class Solution:
    """One way in which a place is reached.

    place: the coordinates, in terms of variables that are left and of targets, and as
        they are where the conditions hold. whole: as they are anywhere.
    args: of the adjoint's definition: a target where the equation is solved, otherwise
        the coordinate that is scattered to; None where nothing is decided yet.
    left: the walks that remain to be summed over.
    env: what the other variables are, in terms of targets and variables that are left.
    inside: values that must lie in the range of a walk.
    conditions: what else must hold, of targets and variables that are left.
    narrowed: the walks that have not all of the range that they had.
    implied: variables whose range follows from that of others.
    names: of a variable with a narrower range, the one that it stands for.
    """

    place: list[Expr]
    whole: list[Expr]
    args: list[Expr | None]
    left: dict[Var, Walk]
    env: dict[Var, Expr] = field(default_factory=dict)
    inside: list[tuple[Expr, Walk]] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    narrowed: set[Walk] = field(default_factory=set)
    implied: set[Var] = field(default_factory=set)
    names: dict[Var, Var] = field(default_factory=dict)

    def copy(self) -> Solution:
        return Solution(
            list(self.place),
            list(self.whole),
            list(self.args),
            dict(self.left),
            dict(self.env),
            list(self.inside),
            list(self.conditions),
            set(self.narrowed),
            set(self.implied),
            dict(self.names),
        )

    def solve(self, v: Var, value: Expr) -> None:
        """Sets what a variable is, everywhere."""
        value = simplify(value)
        walk = self.left.pop(v)
        self._replace({v: value})
        self.env[v] = value
        if v not in self.implied:
            self.inside.append((value, walk))

    def variables(self, v: Var) -> set[Var]:
        """A variable and those that it stands for."""
        found = {v}
        while v in self.names:
            v = self.names[v]
            found.add(v)
        return found

    def _replace(self, to: dict[Var, Expr]) -> None:
        def new(e: Expr) -> Expr:
            return simplify(substitute(e, to))

        self.place = [new(e) for e in self.place]
        self.whole = [new(e) for e in self.whole]
        self.args = [None if a is None else new(a) for a in self.args]
        self.env = {w: new(e) for w, e in self.env.items()}
        self.inside = [(new(e), w) for e, w in self.inside]
        self.conditions = [new(c) for c in self.conditions]

    def assume(self, condition: Expr) -> bool:
        """Takes a condition in, as the range of a variable where it says no more than
        that; returns False if it cannot hold."""
        condition = simplify(substitute(condition, self.env))
        if is_false(condition):
            return False
        if is_true(condition):
            return True
        side = _side(condition, self.left)
        if side is None:
            self.conditions.append(condition)
            return True
        v, lo, hi = side
        walk = self.left[v]
        lo = walk.lo if lo is None else simplify(maximum(walk.lo, lo))
        hi = walk.hi if hi is None else simplify(minimum(walk.hi, hi))
        if can_prove(lt(hi, lo)):
            return False
        named = Var(v.name, INT32, lo=lo, hi=hi)
        one = Walk(named, lo, hi, walk.pure)
        self.left = {
            named if w is v else w: one if w is v else old
            for w, old in self.left.items()
        }
        self._replace({v: named})
        self.env[v] = named
        self.narrowed.add(one)
        self.names[named] = v
        if v in self.implied:
            self.implied.discard(v)
        return True


def _side(
    condition: Expr, left: dict[Var, Walk]
) -> tuple[Var, Expr | None, Expr | None] | None:
    """The bounds of a variable, where a condition says just them."""
    if not isinstance(condition, LT | LE):
        return None
    form = linear(condition.b) - linear(condition.a)  # at least 0, or 1
    found = [a for a in form.terms if not left.keys().isdisjoint(free_vars(a))]
    if len(found) != 1 or found[0] not in left or reads_data(condition):
        return None
    v = found[0]
    assert isinstance(v, Var)
    rest = form.without(v).shifted(-1 if isinstance(condition, LT) else 0)
    if any([w.origin is None for a in rest.terms for w in free_vars(a)]):
        return None  # the range would depend on the target
    if form.terms[v] == 1:  # v + rest >= 0
        return v, build(rest.scaled(-1), INT32), None
    return (v, None, build(rest, INT32)) if form.terms[v] == -1 else None


class _Unmarked(Rewriter):
    def on_intrinsic(self, n: Intrinsic) -> Expr:
        return self.go(n.args[0]) if n.op in MARKS else n.map(self.go)


def unmarked(e: Expr) -> Expr:
    """An expression without hints."""
    return _Unmarked().go(e)


def solutions(
    place: Sequence[Expr],
    walks: Sequence[Walk],
    targets: Sequence[Var],
    is_small: Callable[[int], bool],
) -> list[Solution]:
    """The ways in which variables of the walks reach ``place == targets``.

    Together they have each point of the walks once. is_small: of a dimension of the
    source, whether it has so few coordinates that a constant one is compared with.
    """
    plain = [simplify(unmarked(p)) for p in place]
    start = Solution(
        plain,
        list(plain),
        [None] * len(targets),
        {w.var: w for w in walks},
    )
    solver = _Solver(targets, is_small)
    found = solver.go(start.copy(), True)
    return solver.go(start, False) if len(found) > _ALTERNATIVES else found


class _Solver:
    def __init__(self, targets: Sequence[Var], is_small: Callable[[int], bool]) -> None:
        self.targets, self.is_small = targets, is_small

    def go(self, start: Solution, splits: bool) -> list[Solution]:
        """Solves dimension by dimension, those with the fewest variables first."""
        done: list[Solution] = []
        stack = [start]
        while stack:
            s = stack.pop()
            waiting = [d for d, a in enumerate(s.args) if a is None]
            counts = {d: len(s.left.keys() & free_vars(s.place[d])) for d in waiting}
            for d in sorted(waiting, key=lambda d: counts[d]):
                found = self._dimension(s, d, splits)
                if found is not None:
                    stack += found
                    break
            else:
                for d in waiting:
                    s.args[d] = s.whole[d]
                done.append(s)
        return done

    def _dimension(self, s: Solution, d: int, splits: bool) -> list[Solution] | None:
        """The alternatives that one dimension leaves; None if it is not solved."""
        e = s.place[d]
        if reads_data(e):
            return None
        target = self.targets[d]
        if s.left.keys().isdisjoint(free_vars(e)):
            made = s.copy()
            if self.is_small(d) or not free_vars(e).isdisjoint(self.targets):
                made.args[d] = target
                made.conditions.append(eq(e, target))
            else:
                made.args[d] = e
            return [made]
        return self._equate(s, d, e, target, splits)

    def _equate(
        self, s: Solution, d: int, e: Expr, target: Expr, splits: bool
    ) -> list[Solution] | None:
        """The alternatives for ``e == target``, where `e` is part of a coordinate."""
        form = linear(e)
        atoms = [a for a in form.terms if not s.left.keys().isdisjoint(free_vars(a))]
        if all([isinstance(a, Var) for a in atoms]):
            return self._linear(s, d, form, target)
        split = self._remainder(s, e)
        if split is not None or not splits:
            return split
        if len(atoms) != 1:
            return None
        if isinstance(atoms[0], Min | Max):
            return self._clamp(s, d, atoms[0])
        if isinstance(atoms[0], Select) and not reads_data(atoms[0].cond):
            return self._select(s, d, atoms[0])
        return None

    def _linear(
        self, s: Solution, d: int, form: Linear, target: Expr
    ) -> list[Solution] | None:
        coefficients = {v: c for v, c in form.terms.items() if v in s.left}
        made = s.copy()
        made.args[d] = self.targets[d]
        pair = _radix(coefficients, s.left)
        if pair is not None:
            return self._radix(made, form, target, *pair)
        v = min(
            coefficients,
            key=lambda v: (not s.left[v].pure, abs(coefficients[v])),
        )
        c = coefficients[v]
        rest = simplify(sub(target, build(form.without(v), INT32)))
        if abs(c) > 1:
            made.conditions.append(eq(mod(rest, int32(abs(c))), int32(0)))
            rest = div(rest, int32(abs(c)))
        made.solve(v, rest if c > 0 else sub(int32(0), rest))
        return [made]

    def _radix(
        self, s: Solution, form: Linear, target: Expr, v: Var, r: Var
    ) -> list[Solution]:
        """``size * v + r == target``, where r has a constant number of values."""
        size, sign = form.terms[v], form.terms[r]
        walk = s.left[r]
        extent = const_int(simplify(sub(walk.hi, walk.lo)))
        assert extent is not None
        first = walk.lo if sign > 0 else sub(int32(0), walk.hi)
        rest = sub(target, build(form.without(v).without(r), INT32))
        rest = sub(rest, first)
        more = extent // abs(size)
        found: list[Solution] = []
        for k in range(more + 1):
            one = s.copy() if more else s
            place = add(first, add(mod(rest, int32(abs(size))), int32(abs(size) * k)))
            one.solve(r, place if sign > 0 else sub(int32(0), place))
            place = sub(div(rest, int32(abs(size))), int32(k))
            one.solve(v, place if size > 0 else sub(int32(0), place))
            found.append(one)
        return found

    def _remainder(self, s: Solution, e: Expr) -> list[Solution] | None:
        """Takes a variable apart of which `e` has a quotient or a remainder."""
        for n in nodes(e):
            if not isinstance(n, Div | Mod) or not isinstance(n.b, Imm):
                continue
            size = n.b.value
            terms = linear(n.a).terms
            inner = [v for v in terms if v in s.left]
            if size < 2 or len(inner) != 1 or abs(terms[inner[0]]) != 1:
                continue
            v = inner[0]
            assert isinstance(v, Var)
            return _apart(s, v, size)
        return None

    def _clamp(self, s: Solution, d: int, e: Min | Max) -> list[Solution] | None:
        """What lies below, above and inside of the limits; the dimension is looked at
        again for each of them."""
        lo, hi, inner = _limits(e, s.left)
        if lo is None and hi is None:
            return None
        cases = []
        if lo is not None:
            cases.append((lo, [lt(inner, lo)]))
        if hi is not None:
            cases.append((hi, [lt(hi, inner)]))
        within = [le(lo, inner)] if lo is not None else []
        within += [le(inner, hi)] if hi is not None else []
        return _cases(s, d, e, [*cases, (inner, within)])

    def _select(self, s: Solution, d: int, e: Select) -> list[Solution]:
        """The points on each side; the dimension is looked at again."""
        cases = [(e.a, c) for c in _parts(e.cond, True)]
        return _cases(s, d, e, [*cases, *[(e.b, c) for c in _parts(e.cond, False)]])


def _cases(
    s: Solution, d: int, e: Expr, cases: list[tuple[Expr, list[Expr]]]
) -> list[Solution]:
    """A solution for each case that can be: where its conditions hold, `e`, a part of
    coordinate `d`, has its value."""
    found = []
    for value, conditions in cases:
        one = s.copy()
        one.place[d] = simplify(_Replace(e, value).go(one.place[d]))
        if all([one.assume(c) for c in conditions]):
            found.append(one)
    return found


def _radix(
    coefficients: dict[Var, int], left: dict[Var, Walk]
) -> tuple[Var, Var] | None:
    """A pair v, r in ``c * v + r`` where r has few values."""
    for v, c in coefficients.items():
        for r, k in coefficients.items():
            if abs(c) < 2 or abs(k) != 1 or v is r:
                continue
            extent = const_int(simplify(sub(left[r].hi, left[r].lo)))
            if extent is not None and 0 <= extent < _UNROLLED * abs(c):
                return v, r
    return None


def _apart(s: Solution, v: Var, size: int) -> list[Solution]:
    """``v = size * q + p`` for each p, or with a loop over p."""
    walk = s.left[v]
    lo = simplify(div(walk.lo, int32(size)))
    hi = simplify(div(walk.hi, int32(size)))
    found = []
    for p in range(size) if size <= _UNROLLED else [None]:
        one = s.copy()
        q = Var(f"{v.name}_q", INT32, lo=lo, hi=hi)
        one.left[q] = Walk(q, lo, hi, walk.pure)
        one.implied.add(q)
        rest: Expr
        if p is None:
            rest = Var(f"{v.name}_p", INT32, lo=int32(0), hi=int32(size - 1))
            one.left[rest] = Walk(rest, int32(0), int32(size - 1), False)
        else:
            rest = int32(p)
        one.solve(v, add(mul(q, int32(size)), rest))
        found.append(one)
    return found


def _limits(
    e: Min | Max, left: dict[Var, Walk]
) -> tuple[Expr | None, Expr | None, Expr]:
    """The limits of a clamp, and what is clamped; no limits if it is none."""
    lo: Expr | None = None
    hi: Expr | None = None
    inner: Expr = e
    while isinstance(inner, Min | Max):
        free = [left.keys().isdisjoint(free_vars(x)) for x in (inner.a, inner.b)]
        if free[0] == free[1]:
            return None, None, e
        limit, rest = (inner.a, inner.b) if free[0] else (inner.b, inner.a)
        if (lo if isinstance(inner, Max) else hi) is not None:
            return None, None, e
        if isinstance(inner, Max):
            lo = limit
        else:
            hi = limit
        inner = rest
    return lo, hi, inner


def _parts(cond: Expr, holds: bool) -> list[list[Expr]]:
    """The cases in which a condition holds, or does not, each by what is true in it;
    they exclude each other."""
    if isinstance(cond, Not):
        return _parts(cond.a, not holds)
    if not isinstance(cond, Or | And):
        return [[cond if holds else lnot(cond)]]
    first, second = _parts(cond.a, holds), _parts(cond.b, holds)
    both = [[*x, *y] for x in first for y in second]
    if isinstance(cond, And) == holds:
        return both
    others = [[*x, *y] for x in _parts(cond.a, not holds) for y in second]
    return [*first, *others]


class _Replace(Rewriter):
    def __init__(self, part: Expr, by: Expr) -> None:
        super().__init__()
        self.memo[part] = by


__all__ = ["Solution", "solutions", "unmarked"]
