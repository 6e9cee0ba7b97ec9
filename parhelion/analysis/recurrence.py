"""Recurrences: updates that are affine in earlier values of their Func, along one axis.

    f[…, i, …] = own * f[…, i, …] + Σ_j feedback_j * f[…, i ∓ j, …] + rest

where i advances by one with a reduction variable: upwards in a *causal* recurrence,
downwards in an anticausal one. Recursive filters and sums of prefixes are of this form,
whoever wrote them. What is known of it lets the order be changed: the values at one
point, and the last few before it, decide about all that come later, by a matrix.

Integers wrap, so that their sums may be regrouped at will; those of floats are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.analysis.linear import Linear, linear
from parhelion.dataclass import dataclass
from parhelion.ir.build import add, div, imm, is_true, mul, select, sub
from parhelion.ir.expr import (
    Add,
    Cast,
    Div,
    Expr,
    FuncCall,
    Intrinsic,
    Mul,
    Select,
    Sub,
    Var,
)
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.intrinsics import MARKS
from parhelion.ir.rewrite import nodes
from parhelion.types import Type


@dataclass(frozen=True, slots=True)
class Affine:
    """A value of the update: `own` times the value that was there before, the sum of
    feedback[j - 1] times the one that is j points back, and `rest`. None for zero."""

    own: Expr | None
    feedback: tuple[Expr | None, ...]
    rest: Expr | None


@dataclass(frozen=True, slots=True)
class Recurrence:
    """An update that is affine in earlier values of its Func.

    position: of the dimension along which it runs. var: the reduction variable that
    counts its points. step: 1 if the coordinate rises as `var` does (causal), -1 if it
    falls. coordinate: what the update writes at in that dimension. values: one for each
    value of the Func; of a Tuple, each reads earlier values of itself alone.
    """

    position: int
    var: Var
    step: int
    coordinate: Expr
    values: tuple[Affine, ...]

    @property
    def order(self) -> int:
        """How many points back it reads, at most; at least 1."""
        return max([len(v.feedback) for v in self.values])

    @property
    def causal(self) -> bool:
        return self.step > 0


@dataclass(frozen=True, slots=True)
class NoRecurrence:
    """What keeps an update from being one, in words."""

    reason: str


def find_recurrence(f: Function, d: Definition) -> Recurrence | NoRecurrence:
    """The recurrence that an update of `f` is, or why it is none."""
    if d.rdom is None:
        return NoRecurrence("it runs over no reduction domain")
    if not is_true(d.predicate):
        return NoRecurrence("it leaves out points of its domain")
    if _calls(f, d.args):
        return NoRecurrence("where it stores depends on values of the Func")
    calls = _calls(f, d.values)
    found = _axis(f, d, calls)
    if isinstance(found, str):
        return NoRecurrence(found)
    position, var, step = found
    values: list[Affine] = []
    for index, value in enumerate(d.values):
        taken = _Terms(f, index, d.args, position, step).of(value)
        if isinstance(taken, str):
            return NoRecurrence(taken)
        values.append(_affine(taken))
    if not any([v.feedback for v in values]):
        return NoRecurrence("it reads no earlier value")
    return Recurrence(position, var, step, d.args[position], tuple(values))


def _calls(f: Function, exprs: Sequence[Expr]) -> list[FuncCall]:
    found = [
        n for e in exprs for n in nodes(e) if isinstance(n, FuncCall) and n.func is f
    ]
    return list(dict.fromkeys(found))


def _axis(
    f: Function, d: Definition, calls: Sequence[FuncCall]
) -> tuple[int, Var, int] | str:
    """The dimension in which values are read at other points than the update's, the
    variable of it, and its direction; or what is wrong."""
    moved = {
        k
        for call in calls
        for k, (a, b) in enumerate(zip(call.args, d.args, strict=True))
        if a is not b
    }
    if not moved:
        return "it reads no earlier value"
    if len(moved) > 1:
        return "it reads along more than one dimension"
    (position,) = moved
    form = linear(d.args[position])
    rvars = [v for v in form.terms if isinstance(v, Var) and _is_rvar(v, d)]
    if len(rvars) != 1 or abs(form.terms[rvars[0]]) != 1:
        return (
            f"its coordinate in {f.args[position].name} does not advance by one with a"
            " reduction variable"
        )
    (var,) = rvars
    others = [a for k, a in enumerate(d.args) if k != position]
    if any([n is var for a in others for n in nodes(a)]):
        return "more than one of its coordinates advances with a reduction variable"
    return position, var, form.terms[var]


def _is_rvar(v: Var, d: Definition) -> bool:
    return isinstance(v.origin, ReductionDomain) and v.origin is d.rdom


#: By how many points back: 0 is the value at the point itself; `_REST`, no value.
_Lags = dict[int, Expr]
_REST = -1


class _Terms:
    """The terms of a value, by the earlier value that each is a multiple of."""

    def __init__(
        self, f: Function, index: int, args: Sequence[Expr], position: int, step: int
    ) -> None:
        self.f, self.index = f, index
        self.at, self.step = linear(args[position]), step
        self.position = position

    def of(self, e: Expr) -> _Lags | str:
        """The coefficient of each value, or what is not affine about `e`."""
        if not _calls(self.f, (e,)):
            return {_REST: e}
        if isinstance(e, FuncCall) and e.func is self.f:
            return self._call(e)
        if isinstance(e, Add | Sub):
            return self._both(e.a, e.b, lambda a, b: _sum(type(e), a, b, e.type))
        if isinstance(e, Mul):
            free, other = (e.a, e.b) if not _calls(self.f, (e.a,)) else (e.b, e.a)
            return self._scaled(other, free, mul)
        if isinstance(e, Div) and e.type.is_float():
            return self._scaled(e.a, e.b, div)
        if isinstance(e, Select):
            if _calls(self.f, (e.cond,)):
                return "what it chooses depends on values of the Func"
            zero = imm(0, e.type)
            return self._both(
                e.a,
                e.b,
                lambda a, b: select(
                    e.cond, zero if a is None else a, zero if b is None else b
                ),
            )
        if isinstance(e, Intrinsic) and e.op in MARKS:
            return self.of(e.args[0])
        what = "a conversion" if isinstance(e, Cast) else type(e).__name__.lower()
        return f"it is not a sum of multiples of earlier values: {what} of one"

    def _call(self, e: FuncCall) -> _Lags | str:
        if e.index != self.index:
            return "values of the Tuple read each other"
        apart: Linear = self.at - linear(e.args[self.position])
        if apart.terms:
            return "how far back it reads is not a constant"
        lag = apart.const * self.step
        if lag < 0:
            return "it reads values that come later"
        return {lag: imm(1, e.type)}

    def _both(
        self,
        a: Expr,
        b: Expr,
        join: Callable[[Expr | None, Expr | None], Expr],
    ) -> _Lags | str:
        left, right = self.of(a), self.of(b)
        if isinstance(left, str):
            return left
        if isinstance(right, str):
            return right
        lags = dict.fromkeys([*left, *right])
        return {k: join(left.get(k), right.get(k)) for k in lags}

    def _scaled(
        self, value: Expr, by: Expr, times: Callable[[Expr, Expr], Expr]
    ) -> _Lags | str:
        if _calls(self.f, (by,)):
            return "it multiplies or divides values of the Func with each other"
        found = self.of(value)
        if isinstance(found, str):
            return found
        one = imm(1, value.type)
        product = times is mul
        return {
            k: by if product and c is one else times(c, by) for k, c in found.items()
        }


def _sum(kind: type[Expr], a: Expr | None, b: Expr | None, t: Type) -> Expr:
    if b is None:
        assert a is not None
        return a
    if kind is Add:
        return b if a is None else add(a, b)
    return sub(imm(0, t) if a is None else a, b)


def _affine(found: _Lags) -> Affine:
    order = max(found)
    feedback = tuple([found.get(j) for j in range(1, order + 1)])
    return Affine(found.get(0), feedback, found.get(_REST))


__all__ = ["Affine", "NoRecurrence", "Recurrence", "find_recurrence"]
