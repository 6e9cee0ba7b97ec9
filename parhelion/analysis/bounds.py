"""Symbolic bounds: what an expression lies between while some Vars run over intervals.

`bounds_of(e, scope)` answers with expressions over everything that is not in `scope`.
It is interval arithmetic, sharpened where images need it: sums are taken apart into
linear forms first, so that what cancels cancels; quotients and remainders of one thing
are put together again; each branch of a `select` sees what its condition says; casts
know what fits.

A Var outside the scope is a point, unless it is a let whose value mentions the scope
or reads data: then the value is looked at. What is loaded from memory is never itself
part of an answer. For floats the answer speaks of values that are not NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parhelion.analysis.interval import (
    add_intervals,
    constant_interval,
    never_nan,
    scale_interval,
)
from parhelion.analysis.intrinsics import INTRINSIC_BOUNDS
from parhelion.analysis.linear import Linear, build, linear
from parhelion.analysis.narrowing import Narrower
from parhelion.analysis.rank import is_pure, reads_data
from parhelion.analysis.symbolic import (
    EVERYTHING,
    SymInterval,
    constants,
    greatest,
    is_index,
    join,
    least,
    may_hold,
    number,
    order,
    plus,
    point,
    scalar,
    type_range,
)
from parhelion.analysis.transfer import (
    cast_bounds,
    combine,
    constant_product,
    product,
    quotient,
    remainder,
    square,
)
from parhelion.ir import expr as E
from parhelion.ir.build import FALSE, TRUE, imm
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.types import Type

Scope = Mapping[Var, SymInterval]
#: A select whose condition tells something is looked at once for each side, and so is
#: all that is shared below: twice for one, four times for two, one inside the other.
#: Deeper than this, or after so many in all, conditions are no longer looked at.
_DEPTH, _BRANCHES = 8, 400

#: Bounds of a Func's value, wherever it is evaluated.
Values = Callable[[Function, int], SymInterval]


def bounds_of(e: Expr, scope: Scope, values: Values | None = None) -> SymInterval:
    """What `e` lies between while the Vars of `scope` run over their intervals.

    A vector's bounds are those of its lanes, as scalars. `values` bounds what Funcs
    hold, beyond what their types say.
    """
    return Bounds(scope, values).of(e)


class Bounds:
    """The bounds of many expressions in one scope; answers are memoised."""

    def __init__(
        self,
        scope: Scope,
        values: Values | None = None,
        known: Mapping[Expr, SymInterval] | None = None,
        depth: int = 0,
        budget: list[int] | None = None,
    ) -> None:
        """`known` bounds some expressions tighter than their operands tell. `depth` is
        how many conditions were taken in, `budget` how many more may be, in all."""
        self.scope = scope
        self.values = values
        self.known = known or {}
        self.depth = depth
        self.budget = [_BRANCHES] if budget is None else budget
        self._memo: dict[Expr, SymInterval] = dict(self.known)
        self._points: dict[Var, bool] = {}
        self._branches: dict[tuple[Expr, bool], Bounds | None] = {}

    def of(self, e: Expr) -> SymInterval:
        found = self._memo.get(e)
        if found is None:
            found = self._memo[e] = self._find(e)
        return found

    def afresh(self) -> Bounds:
        """Resets the budget of conditions that may be taken in, and returns these
        Bounds."""
        self.budget[0] = _BRANCHES
        return self

    def is_fixed(self, e: Expr) -> bool:
        """Whether `e` has one value here, and reads no data: it is its own bound."""
        return not reads_data(e) and all([self._is_point(v) for v in free_vars(e)])

    def _is_point(self, v: Var) -> bool:
        found = self._points.get(v)
        if found is None:
            if v in self.scope:
                found = False
            else:
                found = v.value is None or self.is_fixed(v.value)
            self._points[v] = found
        return found

    def _find(self, e: Expr) -> SymInterval:
        t = e.type
        if t.count == 1:
            if self.is_fixed(e) and is_pure(e):
                return point(_folded(e))
            if is_index(t) and type(e) in _LINEAR:
                form = linear(e)
                if len(form.terms) != 1 or e not in form.terms:
                    return self._filled(e, self.of_linear(form, t))
        handler = _HANDLERS.get(type(e))
        made = type_range(t) if handler is None else handler(self, e)
        return self._filled(e, made)

    def _filled(self, e: Expr, made: SymInterval) -> SymInterval:
        """With what the node itself and its type say where a bound is missing."""
        lo, hi = made
        if (lo is not None and hi is not None) or not e.type.is_int_or_uint():
            return made
        known = constant_interval(e)
        t = e.type.element_of()
        if lo is None and known.lo is not None:
            lo = imm(known.lo, t)
        if hi is None and known.hi is not None:
            hi = imm(known.hi, t)
        return SymInterval(lo, hi)

    # Sums.

    def of_linear(self, form: Linear, t: Type) -> SymInterval:
        """The bounds of a linear form of index arithmetic of type `t`."""
        form = self._combined(self._unfolded(form), t)
        lo: _Sum | None = _Sum(form.const)
        hi: _Sum | None = _Sum(form.const)
        for atom, k in form.terms.items():
            low, high = self.of(atom)
            if k < 0:
                low, high = high, low
            lo = None if lo is None or low is None else lo.add(linear(low), k)
            hi = None if hi is None or high is None else hi.add(linear(high), k)
        for end in (lo, hi):
            if end is not None and not t.lowest() <= end.const <= t.highest():
                return EVERYTHING
        return SymInterval(
            None if lo is None else build(lo.form(), t),
            None if hi is None else build(hi.form(), t),
        )

    def _unfolded(self, form: Linear) -> Linear:
        """Lets that vary are replaced by the forms of their values; marks go."""
        out = form
        for atom, k in form.terms.items():
            value = self._behind(atom)
            if value is not None:
                out = out.without(atom).plus(self._unfolded(linear(value)), k)
        return out

    def _behind(self, atom: Expr) -> Expr | None:
        if type(atom) is Var:
            hidden = atom not in self.scope and not self._is_point(atom)
            return atom.value if hidden else None
        if type(atom) is E.Intrinsic and atom.op in _MARKS:
            return atom.args[0]
        return None

    def _combined(self, form: Linear, t: Type) -> Linear:
        """Joins terms that vary together: ``x - x/2*2`` is ``x % 2``, ``x - x/2`` is
        one thing that grows with x, and ``(x + 1)/2 - x/2`` is 0 or 1."""
        for atom in tuple(form.terms):
            k = form.terms.get(atom)
            if k is None or type(atom) not in (E.Div, E.Mod):
                continue
            divisor = atom.b  # type: ignore[attr-defined]
            if type(divisor) is not E.Imm or divisor.value <= 1 or self.is_fixed(atom):
                continue
            if type(atom) is E.Div:
                form = self._join_quotient(form, atom, k, divisor.value, t)
            else:
                assert type(atom) is E.Mod
                form = self._join_remainder(form, atom, k, divisor.value)
        return form

    def _join_remainder(self, form: Linear, r: E.Mod, k: int, d: int) -> Linear:
        whole, quotient = linear(r.a), linear(E.Div(r.a, r.b))
        if _within(quotient, form, k * d):
            # x/4*4 + x % 4
            return form.without(r).plus(quotient, -k * d).plus(whole, k)
        if _within(whole, form, -k):
            # x - x % 4
            return form.without(r).plus(whole, k).plus(quotient, -k * d)
        return form

    def _join_quotient(self, form: Linear, q: E.Div, k: int, d: int, t: Type) -> Linear:
        inner = linear(q.a)
        if k % d == 0 and _within(inner, form, -k // d):
            m = -k // d
            return form.without(q).plus(inner, -m).plus(linear(E.Mod(q.a, q.b)), m)
        for other, j in form.terms.items():
            if j != -k or type(other) is not E.Div or other.b is not q.b:
                continue
            gap = inner - linear(other.a)
            if not gap.terms:
                # floor((y + c)/d) - floor(y/d) is c/d rounded down or up.
                step = self._named(
                    SymInterval(imm(gap.const // d, t), imm(-(-gap.const // d), t)), t
                )
                return form.without(q).without(other).plus(step, k)
        if _within(inner, form, -k):
            # k*(y/d - y) moves against y, one way only.
            at = self.of(q.a)
            ends = [
                None
                if y is None
                else build(linear(E.Div(y, q.b)).plus(linear(y), -1).scaled(k), t)
                for y in ((at.hi, at.lo) if k > 0 else (at.lo, at.hi))
            ]
            group = self._named(SymInterval(ends[0], ends[1]), t)
            return form.without(q).plus(inner, k).plus(group)
        return form

    def _named(self, i: SymInterval, t: Type) -> Linear:
        """Returns a linear form of one new Var, which stands for any value in `i`."""
        var = Var("term", t)
        self._memo[var] = i
        return Linear(0, {var: 1})

    # Handlers.

    def _var(self, e: Var) -> SymInterval:
        found = self.scope.get(e)
        if found is not None:
            return found
        assert e.value is not None
        return self.of(e.value)

    def _add(self, e: E.Add | E.Sub) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        t = e.a.type.element_of()
        subtract = type(e) is E.Sub
        low, high = (b.hi, b.lo) if subtract else b
        if t.is_float():
            return SymInterval(
                combine(type(e), a.lo, low), combine(type(e), a.hi, high)
            )
        # Whether it wraps is not to be seen from sums, which may wrap themselves.
        d = constants(b)
        total = add_intervals(constants(a), scale_interval(d, -1) if subtract else d)
        if not may_hold(t, total):
            return type_range(t)
        sign = -1 if subtract else 1
        return SymInterval(
            None if a.lo is None or low is None else plus(a.lo, low, sign),
            None if a.hi is None or high is None else plus(a.hi, high, sign),
        )

    def _mul(self, e: E.Mul) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        t = e.a.type.element_of()
        if not t.is_float() and not may_hold(t, constant_product(a, b)):
            return type_range(t)
        if e.a is e.b and not a.is_point:
            return square(a, t)
        return product(a, b, t)

    def _div(self, e: E.Div) -> SymInterval:
        return quotient(self.of(e.a), self.of(e.b), e.a.type.element_of())

    def _mod(self, e: E.Mod) -> SymInterval:
        return remainder(self.of(e.a), self.of(e.b), e.a.type.element_of())

    def _min(self, e: E.Min) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        lo = None if a.lo is None or b.lo is None else least(a.lo, b.lo)
        hi = a.hi
        if b.hi is not None and self._is_number(e.b):
            hi = b.hi if a.hi is None else least(a.hi, b.hi)
        return SymInterval(lo, hi)

    def _max(self, e: E.Max) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        hi = None if a.hi is None or b.hi is None else greatest(a.hi, b.hi)
        lo = a.lo
        if b.lo is not None and self._is_number(e.b):
            lo = b.lo if a.lo is None else greatest(a.lo, b.lo)
        return SymInterval(lo, hi)

    def _is_number(self, e: Expr) -> bool:
        """Whether the second operand of a float min or max can be relied on: were it
        NaN, the first would be the result."""
        return not e.type.is_float() or never_nan(e) or self.of(e).is_point

    def _select(self, e: E.Select) -> SymInterval:
        known = self.decide(e.cond)
        if known is not None:
            return self.of(e.a if known else e.b)
        yes, no = self.branch(e.cond, True), self.branch(e.cond, False)
        if yes is None or no is None:
            if yes is None and no is None:
                # The scope is empty. Regions still have a place, so has what is read.
                return join(self.of(e.a), self.of(e.b))
            return no.of(e.b) if no is not None else yes.of(e.a)  # type: ignore[union-attr]
        a, b = yes.of(e.a), no.of(e.b)
        if e.cond.type.count == 1 and self.is_fixed(e.cond):
            return SymInterval(_chosen(e.cond, a.lo, b.lo), _chosen(e.cond, a.hi, b.hi))
        return join(a, b)

    def branch(self, cond: Expr, holds: bool) -> Bounds | None:
        """Returns the bounds where `cond` is true, or false if not `holds`.

        It is None if that cannot happen, and these Bounds if the budget is spent.
        """
        key = (cond, holds)
        if key not in self._branches:
            if self.depth == _DEPTH or not self.budget[0]:
                return self
            self.budget[0] -= 1
            self._branches[key] = self._narrowed(cond, holds)
        return self._branches[key]

    def _narrowed(self, cond: Expr, holds: bool) -> Bounds | None:
        narrower = Narrower(self)
        narrower.assume(cond, holds)
        return None if narrower.contradiction else narrower.at

    def within(
        self, scope: Scope, known: Mapping[Expr, SymInterval] | None = None
    ) -> Bounds:
        """Bounds in a narrower scope, with the same values."""
        known = self.known if known is None else known
        return Bounds(scope, self.values, known, self.depth + 1, self.budget)

    def decide(self, cond: Expr) -> bool | None:
        """Whether a condition certainly holds, or certainly does not."""
        i = self.of(cond)
        if i.lo is TRUE:
            return True
        return False if i.hi is FALSE else None

    def _lt(self, e: E.LT) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        if a.lo is not None and b.hi is not None and order(b.hi, a.lo) == -1:
            return _NO
        if a.hi is not None and b.lo is not None and _less(a.hi, b.lo):
            return _certain(e)
        return _UNSURE

    def _le(self, e: E.LE) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        if a.lo is not None and b.hi is not None and _less(b.hi, a.lo):
            return _NO
        if a.hi is not None and b.lo is not None and order(a.hi, b.lo) == -1:
            return _certain(e)
        return _UNSURE

    def _eq(self, e: E.EQ) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        if a.hi is not None and b.lo is not None and _less(a.hi, b.lo):
            return _NO
        if a.lo is not None and b.hi is not None and _less(b.hi, a.lo):
            return _NO
        if a.is_point and a.lo is b.lo and a.hi is b.hi:
            return _certain(e)
        return _UNSURE

    def _ne(self, e: E.NE) -> SymInterval:
        return _opposite(self.of(E.EQ(e.a, e.b)))

    def _and(self, e: E.And) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        if a.hi is FALSE or b.hi is FALSE:
            return _NO
        return _YES if a.lo is TRUE and b.lo is TRUE else _UNSURE

    def _or(self, e: E.Or) -> SymInterval:
        a, b = self.of(e.a), self.of(e.b)
        if a.lo is TRUE or b.lo is TRUE:
            return _YES
        return _NO if a.hi is FALSE and b.hi is FALSE else _UNSURE

    def _not(self, e: E.Not) -> SymInterval:
        return _opposite(self.of(e.a))

    def _cast(self, e: E.Cast) -> SymInterval:
        return cast_bounds(e.type.element_of(), self.of(e.a), e.a.type)

    def _let(self, e: E.Let) -> SymInterval:
        return self.of(substitute(e.body, {e.var: e.value}))

    def _func_call(self, e: E.FuncCall) -> SymInterval:
        return self._held(e.func, e.index, e.type)

    def _load(self, e: E.Load) -> SymInterval:
        func = e.buffer.func
        if isinstance(func, Function) and e.predicate is None:
            return self._held(func, e.buffer.value_index, e.type)
        return type_range(e.type)

    def _held(self, f: Function, index: int, t: Type) -> SymInterval:
        usual = type_range(t)
        if self.values is None:
            return usual
        lo, hi = self.values(f, index)
        return SymInterval(
            usual.lo if lo is None else lo, usual.hi if hi is None else hi
        )

    def _ramp(self, e: E.Ramp) -> SymInterval:
        t = e.base.type
        last = E.Mul(e.stride, imm(e.lanes - 1, t))
        return join(self.of(e.base), self.of(E.Add(e.base, last)))

    def _broadcast(self, e: E.Broadcast) -> SymInterval:
        return self.of(scalar(e))

    def _shuffle(self, e: E.Shuffle) -> SymInterval:
        out = self.of(e.vectors[0])
        for v in e.vectors[1:]:
            out = join(out, self.of(v))
        return out

    def _vector_reduce(self, e: E.VectorReduce) -> SymInterval:
        t = e.type.element_of()
        if e.op in ("min", "max"):
            return self.of(e.value)
        if e.op == "add" and t.is_int_or_uint():
            n = e.value.type.count // e.lanes
            return self.of(E.Mul(e.value, imm(n, e.value.type)))
        return type_range(t)

    def _intrinsic(self, e: E.Intrinsic) -> SymInterval:
        handler = INTRINSIC_BOUNDS.get(e.op)
        return type_range(e.type) if handler is None else handler(self, e)


_MARKS = LIKELY | {"strict_float"}
_LINEAR = (E.Add, E.Sub, E.Mul, E.Div)
_CONSTANTS = (E.Imm, E.FloatImm)
_FOLDABLE = frozenset((*_CONSTANTS, *E.BINARY, E.Cast, E.Select, E.Not))
_YES, _NO = SymInterval(TRUE, TRUE), SymInterval(FALSE, FALSE)
_UNSURE = SymInterval(FALSE, TRUE)


class _Sum:
    """A linear form while it is summed up."""

    __slots__ = ("const", "terms")

    def __init__(self, const: int) -> None:
        self.const = const
        self.terms: dict[Expr, int] = {}

    def add(self, form: Linear, k: int) -> _Sum:
        self.const += k * form.const
        terms = self.terms
        for atom, c in form.terms.items():
            terms[atom] = terms.get(atom, 0) + k * c
        return self

    def form(self) -> Linear:
        return Linear(self.const, {atom: k for atom, k in self.terms.items() if k})


def _folded(e: Expr) -> Expr:
    """`e`, or the constant that it is."""
    if type(e) in _CONSTANTS or free_vars(e):
        return e
    if all([type(n) in _FOLDABLE for n in nodes(e)]):
        return imm(evaluate(e, {}), e.type)
    return e


def _within(part: Linear, form: Linear, m: int) -> bool:
    """Whether taking m times the terms of `part` out of `form` leaves less."""
    for atom, c in part.terms.items():
        have, want = form.terms.get(atom, 0), m * c
        if have * want <= 0 or abs(have) < abs(want):
            return False
    return bool(part.terms) and m != 0


def _less(a: Expr, b: Expr) -> bool:
    """Whether a < b is certain."""
    x, y = number(a), number(b)
    if x is not None and y is not None:
        return x < y
    if not a.type.is_int_or_uint():
        return False
    gap = (linear(b) - linear(a)).interval().lo
    return gap is not None and gap > 0


def _certain(e: E.EQ | E.LT | E.LE) -> SymInterval:
    """Returns the bounds of a comparison that is true unless an operand may be NaN."""
    if e.a.type.is_float() and not (never_nan(e.a) and never_nan(e.b)):
        return _UNSURE
    return _YES


def _opposite(i: SymInterval) -> SymInterval:
    if i.lo is TRUE:
        return _NO
    return _YES if i.hi is FALSE else _UNSURE


def _chosen(cond: Expr, a: Expr | None, b: Expr | None) -> Expr | None:
    """Returns a bound of a select whose condition has one value in this scope."""
    if a is None or b is None:
        return None
    if a is b:
        return a
    return E.Select(cond, a, b)


_HANDLERS: dict[type[Expr], Callable[[Bounds, Any], SymInterval]] = {
    Var: Bounds._var,
    E.Add: Bounds._add,
    E.Sub: Bounds._add,
    E.Mul: Bounds._mul,
    E.Div: Bounds._div,
    E.Mod: Bounds._mod,
    E.Min: Bounds._min,
    E.Max: Bounds._max,
    E.Select: Bounds._select,
    E.LT: Bounds._lt,
    E.LE: Bounds._le,
    E.EQ: Bounds._eq,
    E.NE: Bounds._ne,
    E.And: Bounds._and,
    E.Or: Bounds._or,
    E.Not: Bounds._not,
    E.Cast: Bounds._cast,
    E.Let: Bounds._let,
    E.FuncCall: Bounds._func_call,
    E.Load: Bounds._load,
    E.Ramp: Bounds._ramp,
    E.Broadcast: Bounds._broadcast,
    E.Shuffle: Bounds._shuffle,
    E.VectorReduce: Bounds._vector_reduce,
    E.Intrinsic: Bounds._intrinsic,
}

__all__ = ["EVERYTHING", "Bounds", "Scope", "SymInterval", "Values", "bounds_of"]
