"""All values that a place has had while an update folded points into it.

The reversal of ``f[x] = max(f[x], g[x + r])``, or of any recurrence in time, needs the
value before each step. They are kept, one for each step: as many values as the update
has points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.adjoint.arithmetic import add, zero
from parhelion.adjoint.flows import Walk, leaf
from parhelion.adjoint.handles import Adjoint, new_func, update
from parhelion.adjoint.places import Solution, solutions
from parhelion.adjoint.sums import domain_of
from parhelion.adjoint.updates import Update, with_reads
from parhelion.ir import build
from parhelion.ir.build import int32, maximum
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Function, ReductionDomain
from parhelion.ir.names import fresh, user_var
from parhelion.ir.rewrite import substitute
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32

_ONE = int32(1)


class History:
    """The values and adjoints of the places of an update, by the number of steps done.

    outer: the walks that tell the places. step: the number of a point of the walks that
    are folded, from 1 on. inverse: of where the update writes, and the variables for a
    place.
    """

    def __init__(
        self,
        u: Update,
        left: Sequence[Walk],
        before: Function,
        after: Sequence[Adjoint],
    ) -> None:
        self.u = u
        self.outer = [w for w in u.instance.walks if w not in left]
        targets = tuple([Var(a.name, INT32) for a in u.func.args])
        found: Solution = solutions(
            u.instance.args, self.outer, targets, lambda _: True
        )[0]
        self.inverse = found, targets
        self.step: Expr = _ONE
        self._count: Expr = _ONE
        #: The variables of the point with a number, which counts from 0.
        self._point = Var("point", INT32)
        self._decoded: dict[Var, Expr] = {}
        for w in left:
            extent = build.add(build.sub(w.hi, w.lo), _ONE)
            extent = simplify(maximum(extent, _ONE))
            place = build.mul(build.sub(w.var, w.lo), self._count)
            self.step = build.add(self.step, place)
            digit = build.div(self._point, self._count)
            if w is not left[-1]:
                digit = build.mod(digit, extent)
            self._decoded[w.var] = build.add(digit, w.lo)
            self._count = simplify(build.mul(self._count, extent))
        self._which = [i for i, s in enumerate(u.seeds) if s is not None]
        self._values = self._record(before)
        self._adjoints = self._reverse(after)

    def value(self, step: Expr, index: int) -> Expr:
        """A value of the Func at the place of a point, after some steps."""
        return self._call(self._values, step, index)

    def adjoint(self, step: Expr) -> list[Expr | None]:
        """The adjoint of each value at the place of a point, after some steps."""
        found: list[Expr | None] = [None] * len(self.u.seeds)
        for k, i in enumerate(self._which):
            found[i] = self._call(self._adjoints, step, k)
        return found

    def _call(self, f: Function, step: Expr, index: int) -> Expr:
        place = (*[w.var for w in self.outer], step)
        return FuncCall(f.types[index], f, place, index)

    def _started(
        self, name: str, values: Sequence[Expr]
    ) -> tuple[Function, tuple[Var, ...], dict[Var, Expr]]:
        """A new Func of the places and of steps, its arguments, and these in place of
        the walks."""
        args = tuple([user_var(fresh(w.var.name)) for w in self.outer])
        to: dict[Var, Expr] = {w.var: a for w, a in zip(self.outer, args, strict=True)}
        step = user_var(fresh("t"))
        start = [substitute(v, to) for v in values]
        site = self.u.instance.definition.site
        return new_func(name, (*args, step), start, site), args, to

    def _steps(self) -> tuple[ReductionDomain, Expr]:
        """A domain over the numbers of the points."""
        last = simplify(build.sub(self._count, _ONE))
        walk = Walk(Var("t", INT32, lo=int32(0), hi=last), int32(0), last, False)
        domain, to = domain_of([walk], self.u.instance.definition.site)
        return domain, to[walk.var]

    def _at_point(self, e: Expr, number: Expr, to: Mapping[Var, Expr]) -> Expr:
        """An expression at the point with a number."""
        e = substitute(substitute(e, self._decoded), {self._point: number})
        return substitute(e, to)

    def _record(self, before: Function) -> Function:
        u = self.u
        types = u.func.types
        start = [FuncCall(t, before, u.instance.args, i) for i, t in enumerate(types)]
        f, args, to = self._started(f"{u.func.label}_history", start)
        domain, point = self._steps()
        # Step n + 1 folds in the point n.
        own: dict[Expr, Expr] = {}
        for i, t in enumerate(types):
            call = FuncCall(t, u.func, u.instance.args, i)
            own[call] = self._call(f, self._point, i)
        values = []
        for i, v in enumerate(u.instance.values):
            same = FuncCall(types[i], u.func, u.instance.args, i)
            made = with_reads(build.select(u.instance.predicate, v, same), own)
            values.append(self._at_point(made, point, to))
        site = u.instance.definition.site
        update(f, (*args, build.add(point, _ONE)), values, site, domain)
        return f

    def _reverse(self, after: Sequence[Adjoint]) -> Function:
        u = self.u
        start = [after[i].at(u.instance.args) for i in self._which]
        f, args, to = self._started(f"d_{u.func.label}_history", start)
        domain, number = self._steps()
        point = build.sub(build.sub(self._count, _ONE), number)
        own: dict[Expr, Expr] = {c: self.value(self._point, c.index) for c in u.own}
        seeds: dict[Var, Expr] = {}
        for k, i in enumerate(self._which):
            seed = u.seeds[i]
            assert seed is not None
            seeds[seed] = self._call(f, build.add(self._point, _ONE), k)
        given: dict[int, Expr] = {}
        for read, amount in u.amounts:
            source = leaf(read)
            assert source is not None
            if source[0] is u.func:
                i = source[1]
                given[i] = add(given[i], amount) if i in given else amount
        values = []
        for i in self._which:
            seed = u.seeds[i]
            assert seed is not None
            kept = given.get(i, zero(u.func.types[i]))
            made = build.select(u.instance.predicate, kept, seed)
            made = substitute(with_reads(made, own), seeds)
            values.append(self._at_point(made, point, to))
        update(f, (*args, point), values, u.instance.definition.site, domain)
        return f


__all__ = ["History"]
