"""The reversal of an update: from the adjoints after it to those before it.

Each kind of update (`updates.py`) has its way to say what the adjoint of a value is at
the moment when the update writes it; from there it flows to what the update reads. What
was at the place before is gone, and gets nothing, but for what the update itself reads
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from parhelion.adjoint.arithmetic import add, where
from parhelion.adjoint.flows import Flow, Walk, leaf
from parhelion.adjoint.handles import Adjoint, new_func, update
from parhelion.adjoint.histories import History
from parhelion.adjoint.places import Solution
from parhelion.adjoint.regions import Region
from parhelion.adjoint.sums import Total, domain_of
from parhelion.adjoint.updates import (
    Read,
    Update,
    apart,
    folded,
    is_sum,
    own_reads,
    refused,
    with_reads,
    written_once,
)
from parhelion.analysis.rank import reads_data
from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir.build import (
    conjunction,
    eq,
    int32,
    is_true,
    le,
    likely,
    lnot,
    maximum,
)
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import substitute
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32

#: Of each value of a Func its adjoint at coordinates, None for integers.
_At = Callable[[Sequence[Expr]], list[Expr | None]]


@dataclass(slots=True, eq=False)
class Reversal:
    """The reversal of one update.

    after: the adjoints of the values after it. states: the Func after some of its
    updates, by how many. flows: what goes to other sources. before: the adjoints of the
    values before it.
    """

    u: Update
    number: int
    region: Region
    after: Sequence[Adjoint]
    states: Callable[[int], Function]
    everywhere: set[Function]
    flows: list[Flow]
    before: list[Adjoint]

    def __init__(
        self,
        u: Update,
        number: int,
        region: Region,
        after: Sequence[Adjoint],
        states: Callable[[int], Function],
        everywhere: set[Function],
    ) -> None:
        self.u, self.number, self.region = u, number, region
        self.after, self.states, self.everywhere = after, states, everywhere
        self.flows = []
        self.before = list(after)
        if is_sum(u):
            self._flow(self._after_at(u.instance.args), {})
            return
        once = written_once(u)
        if once is not None:
            self._once(*once)
        elif not u.own:
            self._overwritten()
        else:
            left = folded(u)
            if left is None:
                raise refused(
                    u,
                    f"this update of {u.func.label!r} reads what it writes several"
                    " times, at other places or at places that pixels tell",
                )
            self._folded(left)

    @property
    def _name(self) -> str:
        return self.u.func.label

    def _after_at(self, place: Sequence[Expr]) -> list[Expr | None]:
        return [
            None if s is None else a.at(place)
            for a, s in zip(self.after, self.u.seeds, strict=True)
        ]

    def _flow(
        self,
        seeds: Sequence[Expr | None],
        own: Mapping[Expr, Expr],
        walks: Sequence[Walk] | None = None,
        condition: Expr | None = None,
        env: Mapping[Var, Expr] | None = None,
    ) -> None:
        """Adds what flows to other sources. seeds: the adjoints of what is written.
        own: what reads of the Func itself stand for."""
        u = self.u
        for read, amount in u.amounts:
            source = leaf(read)
            assert source is not None
            if source[0] is not u.func:
                self.flows.append(
                    self._made(source, amount, seeds, own, walks, condition, env)
                )

    def _made(
        self,
        source: tuple[object, int, tuple[Expr, ...]],
        amount: Expr,
        seeds: Sequence[Expr | None],
        own: Mapping[Expr, Expr],
        walks: Sequence[Walk] | None = None,
        condition: Expr | None = None,
        env: Mapping[Var, Expr] | None = None,
    ) -> Flow:
        u = self.u
        amount = self._seeded(amount, seeds, own)
        place = tuple([with_reads(p, own) for p in source[2]])
        holds = u.instance.predicate if condition is None else condition
        if env:
            amount, holds = substitute(amount, env), substitute(holds, env)
            place = tuple([substitute(p, env) for p in place])
        over = u.instance.walks if walks is None else tuple(walks)
        site = u.instance.definition.site
        return Flow(source[0], source[1], place, amount, over, holds, site)  # type: ignore[arg-type]

    def _seeded(
        self, amount: Expr, seeds: Sequence[Expr | None], own: Mapping[Expr, Expr]
    ) -> Expr:
        """An amount with the adjoints in place of the seeds."""
        to = {
            s: d
            for s, d in zip(self.u.seeds, seeds, strict=True)
            if s is not None and d is not None
        }
        return substitute(with_reads(amount, own), to)

    # Places that are written once.

    def _once(self, inverse: Solution, targets: tuple[Var, ...]) -> None:
        u = self.u
        found = own_reads(u, inverse, targets)
        own: dict[Expr, Expr] = {}
        for r in found:
            state = self.states(self.number + 1 if r.after else self.number)
            own[r.call] = FuncCall(r.call.type, state, r.call.args, r.call.index)
        scanned = [r for r in found if r.after and self._amount(r) is not None]
        at: _At = self._after_at
        if scanned:
            at = self._scan(scanned, own)
        seeds = at(u.instance.args)
        self._flow(seeds, own)
        written, plain = self._written(inverse, targets, u.instance.predicate)
        totals = self._totals(targets, written, plain)
        for r in found:
            amount = self._amount(r)
            if amount is None:
                continue
            source = (u.func, r.call.index, r.call.args)
            total = totals[r.call.index]
            assert total is not None
            if not r.after:
                total.add(self._made(source, amount, seeds, own))
                continue
            # What the update has not written before is from before the update.
            assert r.distance is not None
            pure = [w for w in u.instance.walks if w.pure]
            for box in apart(r.distance, u.rvars):
                to: dict[Var, Expr] = {
                    w.var: b.var for w, b in zip(u.rvars, box, strict=True)
                }
                walks = [*pure, *box]
                total.add(self._made(source, amount, seeds, own, walks, None, to))
            if not is_true(u.instance.predicate):
                earlier = substitute(u.instance.predicate, _moved(r, u.rvars, -1))
                inside = _inside(_moved(r, u.rvars, -1), u.rvars)
                left_out = build.land(inside, lnot(earlier))
                holds = build.land(u.instance.predicate, left_out)
                total.add(self._made(source, amount, seeds, own, None, holds))
        self._finish(totals)

    def _amount(self, r: Read) -> Expr | None:
        """What a read of the Func itself gets, in terms of the seeds."""
        return next((d for n, d in self.u.amounts if n is r.call), None)

    def _written(
        self, inverse: Solution, targets: Sequence[Var], predicate: Expr
    ) -> tuple[Expr, bool]:
        """Whether the update writes a place, and whether that may be asked outside of
        the region."""
        region = dict(zip(targets, self.region, strict=True))
        conditions = list(inverse.conditions)
        env = dict(inverse.env)
        for e, w in inverse.inside:
            if w.pure and isinstance(e, Var) and e in region:
                continue  # an argument of its own: all of the region
            conditions += [le(w.lo, e), le(e, w.hi)]
            for v in inverse.variables(w.var):
                env[v] = build.clamp(e, w.lo, w.hi)
        predicate = substitute(predicate, env)
        conditions.append(predicate)
        held = simplify(conjunction([c for c in conditions if not is_true(c)]))
        return held, not reads_data(predicate)

    def _totals(
        self, targets: Sequence[Var], written: Expr, plain: bool
    ) -> list[Total | None]:
        """The adjoints before the update, without what it reads."""
        totals: list[Total | None] = []
        args = self.u.func.args
        written = substitute(written, dict(zip(targets, args, strict=True)))
        for a, s in zip(self.after, self.u.seeds, strict=True):
            if s is None:
                totals.append(None)
                continue
            old = where(lnot(written), a.at(args))
            totals.append(
                Total(
                    f"d_{self._name}",
                    a.type,
                    args,
                    self.region,
                    self.everywhere,
                    (old, a.everywhere and plain),
                )
            )
        return totals

    def _finish(self, totals: Sequence[Total | None]) -> None:
        site = self.u.instance.definition.site
        self.before = [
            a if t is None else t.finish(site)
            for a, t in zip(self.after, totals, strict=True)
        ]

    def _scan(self, scanned: Sequence[Read], own: Mapping[Expr, Expr]) -> _At:
        """The adjoints at the moment of writing: a scan from the last point to the
        first, in which each gets what later ones have read of it."""
        u = self.u
        which = [i for i, s in enumerate(u.seeds) if s is not None]
        args = u.func.args
        site = u.instance.definition.site
        start = [self.after[i].at(args) for i in which]
        f = new_func(f"d_{self._name}_scan", args, start, site)

        def at(place: Sequence[Expr]) -> list[Expr | None]:
            found: list[Expr | None] = [None] * len(u.seeds)
            for k, i in enumerate(which):
                found[i] = FuncCall(u.func.types[i], f, tuple(place), k)
            return found

        rvars = u.rvars
        shrunk = []
        for i, w in enumerate(rvars):
            steps = [r.distance[i] for r in scanned if r.distance is not None]
            back, front = max(0, min(steps)), min(0, max(steps))
            lo = build.sub(w.lo, int32(front))
            hi = build.sub(w.hi, int32(back))
            lo, hi = simplify(lo), simplify(hi)
            shrunk.append(Walk(Var(w.var.name, INT32, lo=lo, hi=hi), lo, hi, False))
        domain, to = domain_of(shrunk, site)
        # The points in the opposite order.
        back_to: dict[Var, Expr] = {
            w.var: build.sub(build.add(s.lo, s.hi), to[s.var])
            for w, s in zip(rvars, shrunk, strict=True)
        }
        pure: dict[Var, Expr] = {
            w.var: v
            for w, v in zip(
                [w for w in u.instance.walks if w.pure],
                [
                    v
                    for v, a in zip(args, u.instance.definition.args, strict=True)
                    if a is v
                ],
                strict=True,
            )
        }
        here = {**pure, **back_to}
        place = tuple([substitute(a, here) for a in u.instance.args])
        values: dict[int, Expr] = {
            i: FuncCall(u.func.types[i], f, place, k) for k, i in enumerate(which)
        }
        for r in scanned:
            amount = self._amount(r)
            assert amount is not None
            later = _moved(r, rvars, 1)
            given = substitute(self._seeded(amount, at(u.instance.args), own), later)
            within = [
                c
                for w, s in zip(rvars, shrunk, strict=True)
                for c in _within(later[w.var], w, s)
            ]
            condition = build.land(
                conjunction(within), substitute(u.instance.predicate, later)
            )
            if not is_true(condition):
                given = where(likely(condition), given)
            i = r.call.index
            values[i] = add(values[i], substitute(given, here))
        update(f, place, [values[i] for i in which], site, domain)
        return at

    # Places that are written several times.

    def _overwritten(self) -> None:
        u = self.u
        site = u.instance.definition.site
        rvars = u.rvars
        number: Expr = int32(0)
        count: Expr = int32(1)
        for w in rvars:
            number = build.add(number, build.mul(build.sub(w.var, w.lo), count))
            extent = build.add(build.sub(w.hi, w.lo), int32(1))
            count = build.mul(count, maximum(simplify(extent), int32(1)))
        args = u.func.args
        last = new_func(f"{self._name}_last", args, [int32(-1)], site)
        domain, to = domain_of(rvars, site)
        own = self._own_vars()
        here = {**own, **to}
        domain.predicate = substitute(u.instance.predicate, here)
        place = tuple([substitute(a, here) for a in u.instance.args])
        update(last, place, [substitute(number, here)], site, domain)
        written = FuncCall(INT32, last, u.instance.args, 0)
        mine = eq(written, number)
        seeds = [
            None if s is None else where(mine, a.at(u.instance.args))
            for a, s in zip(self.after, u.seeds, strict=True)
        ]
        self._flow(seeds, {})
        ever = le(int32(0), FuncCall(INT32, last, tuple(args), 0))
        self._finish(self._totals(args, ever, False))

    def _own_vars(self) -> dict[Var, Expr]:
        """The arguments of the Func in place of the walks over them."""
        u = self.u
        own = [
            v
            for v, a in zip(u.func.args, u.instance.definition.args, strict=True)
            if a is v
        ]
        pure = [w.var for w in u.instance.walks if w.pure]
        return dict(zip(pure, own, strict=True))

    # Places that many points are folded into.

    def _folded(self, left: Sequence[Walk]) -> None:
        u = self.u
        history = History(u, left, self.states(self.number), self.after)
        walks = u.instance.walks
        seeds = history.adjoint(history.step)
        own: dict[Expr, Expr] = {
            c: history.value(build.sub(history.step, int32(1)), c.index) for c in u.own
        }
        self._flow(seeds, own, walks)
        once = history.inverse
        # Points that are left out hand on what was there, in the history.
        written, plain = self._written(*once, build.TRUE)
        totals = self._totals(once[1], written, plain)
        first = history.adjoint(int32(0))
        site = u.instance.definition.site
        for i, (total, d) in enumerate(zip(totals, first, strict=True)):
            if total is None or d is None:
                continue
            outer = tuple(history.outer)
            total.add(Flow(u.func, i, u.instance.args, d, outer, build.TRUE, site))
        self._finish(totals)


def _within(value: Expr, w: Walk, s: Walk) -> list[Expr]:
    """Whether a value, of a variable that runs over `s`, lies in the range of `w`;
    nothing where that is certain."""
    named: dict[Var, Expr] = {w.var: s.var}
    value = substitute(value, named)
    below, above = le(w.lo, value), le(value, w.hi)
    found = [] if can_prove(below) else [le(w.lo, substitute(value, {s.var: w.var}))]
    if not can_prove(above):
        found.append(le(substitute(value, {s.var: w.var}), w.hi))
    return found


def _inside(moved: Mapping[Var, Expr], walks: Sequence[Walk]) -> Expr:
    ends = [c for w in walks for c in (le(w.lo, moved[w.var]), le(moved[w.var], w.hi))]
    return conjunction(ends)


def _moved(r: Read, rvars: Sequence[Walk], sign: int) -> dict[Var, Expr]:
    """The point that is as many steps later as a read reaches back, or earlier."""
    assert r.distance is not None
    return {
        w.var: build.add(w.var, int32(sign * d))
        for w, d in zip(rvars, r.distance, strict=True)
    }


__all__ = ["Reversal"]
