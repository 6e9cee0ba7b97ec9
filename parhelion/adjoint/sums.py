"""The adjoint of a source: all that flows to it, as one Func.

What has one term at each point stands in the pure definition, what is summed up or
scattered in updates.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.adjoint.arithmetic import add, where, zero
from parhelion.adjoint.flows import Flow, Walk
from parhelion.adjoint.handles import Adjoint, new_func, update
from parhelion.adjoint.places import Solution, solutions
from parhelion.adjoint.regions import Region
from parhelion.analysis.facts import Facts
from parhelion.analysis.rank import reads_data
from parhelion.dataclass import dataclass
from parhelion.errors import Site
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.build import TRUE, const_int, int32, is_true, le, likely
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import DimName, Function, ReductionDomain
from parhelion.ir.names import fresh
from parhelion.ir.rewrite import nodes, substitute
from parhelion.ir.symbols import ParamSym
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import Type

#: A dimension of at most so many coordinates is compared with a constant one.
_SMALL = 8


@dataclass(slots=True, eq=False)
class _Term:
    """A part of an adjoint, ready for a definition."""

    args: tuple[Expr, ...]
    value: Expr
    left: tuple[Walk, ...]
    predicate: Expr
    site: Site | None


class Total:
    """The sum of flows to one value of a source.

    targets: the coordinates of the source. region: where it is computed; None for
    images and Params, whose gradient is 0 elsewhere. base: what the sum starts with,
    of the targets, and whether that may be read outside of the region.
    """

    def __init__(
        self,
        name: str,
        type: Type,
        targets: Sequence[Var],
        region: Region | None,
        everywhere: set[Function],
        base: tuple[Expr, bool] | None = None,
    ) -> None:
        self.name, self.type, self.targets = name, type, tuple(targets)
        self.region = region
        self.base = base
        self._everywhere = everywhere
        self._flows: list[Flow] = []
        self._facts = Facts.EMPTY
        for v, (lo, hi) in zip(self.targets, region or (), strict=region is not None):
            self._facts = self._facts.assume(le(lo, v)).assume(le(v, hi))

    def add(self, flow: Flow) -> None:
        self._flows.append(flow)

    def finish(self, site: Site | None) -> Adjoint:
        """The adjoint, as a Func if anything flows."""
        base, everywhere = self.base or (zero(self.type), True)
        terms: list[_Term] = []
        for flow in self._flows:
            for s in solutions(flow.place, flow.walks, self.targets, self._small):
                term, relies = self._term(flow, s)
                everywhere = everywhere and not relies
                terms.append(term)
        pure = base
        rest = []
        for t in terms:
            if t.left or t.args != self.targets or not is_true(t.predicate):
                rest.append(t)
            else:
                pure = add(pure, t.value)
        if not rest and build.is_const(pure, 0):
            return Adjoint(self.type)
        f = new_func(self.name, self.targets, [pure], site)
        for t in rest:
            self._update(f, t)
        if everywhere:
            self._everywhere.add(f)
        return Adjoint(self.type, f, everywhere=everywhere)

    def _small(self, d: int) -> bool:
        if self.region is None:
            return False
        lo, hi = self.region[d]
        extent = const_int(simplify(build.sub(hi, lo)))
        return extent is not None and extent < _SMALL

    def _term(self, flow: Flow, s: Solution) -> tuple[_Term, bool]:
        """The part that one solution has in the sum, and whether that is right only
        inside of the region."""
        facts = self._facts
        for w in s.left.values():
            facts = facts.assume(le(w.lo, w.var)).assume(le(w.var, w.hi))
        env: dict[Var, Expr] = dict(s.env)
        conditions = [simplify(c, facts) for c in s.conditions]
        vanishing = self._vanishing(flow.amount)
        relies = False
        for value, walk in s.inside:
            if walk.pure and walk not in s.narrowed and walk.var in vanishing:
                continue
            below, above = le(walk.lo, value), le(value, walk.hi)
            known = can_prove(below, facts) and can_prove(above, facts)
            if known:
                relies = relies or not (can_prove(below) and can_prove(above))
                continue
            conditions.append(likely(build.land(below, above)))
            held = build.clamp(likely(value), walk.lo, walk.hi)
            for v in s.variables(walk.var):
                env[v] = held
        amount = flow.amount
        predicate = substitute(flow.condition, env)
        amount = substitute(amount, env)
        condition = build.conjunction([c for c in conditions if not is_true(c)])
        # Where data say, what they are read at is in its range, too; elsewhere the
        # amount is 0.
        args = tuple(
            [
                substitute(place, env) if reads_data(a) else a
                for a, place in zip(s.args, flow.place, strict=True)
                if a is not None
            ]
        )
        left = tuple(s.left.values())
        if args == self.targets and not left:
            # There is no domain that would leave points out.
            condition = build.land(condition, predicate)
            predicate = TRUE
        return _Term(args, where(condition, amount), left, predicate, flow.site), relies

    def _vanishing(self, amount: Expr) -> frozenset[Var]:
        """The variables outside of whose ranges an amount is 0, because it is a
        constant multiple of adjoints that are 0 there, and reads nothing else."""
        found: frozenset[Var] | None = None
        for n in nodes(amount):
            if isinstance(n, FuncCall):
                if n.func not in self._everywhere:
                    return frozenset()
                own = frozenset([a for a in n.args if isinstance(a, Var)])
                found = own if found is None else found & own
            elif isinstance(n, E.ImageLoad | E.Div | E.Intrinsic | E.Extern):
                if n.type.is_float():
                    return frozenset()
            elif isinstance(n, Var) and isinstance(n.origin, ParamSym):
                return frozenset()
        if found is None or not _linear_in_calls(amount):
            return frozenset()
        return found

    def _update(self, f: Function, t: _Term) -> None:
        args, value, predicate = t.args, t.value, t.predicate
        domain = None
        if t.left:
            domain, to = domain_of(t.left, t.site)
            args = tuple([substitute(a, to) for a in args])
            value, predicate = substitute(value, to), substitute(predicate, to)
            domain.predicate = predicate
        else:
            value = where(predicate, value)
        old = FuncCall(self.type, f, args, 0)
        update(f, args, [add(old, value)], t.site, domain)


def _linear_in_calls(e: Expr) -> bool:
    """Whether an expression is a sum of constant multiples of calls."""
    if isinstance(e, FuncCall):
        return True
    if isinstance(e, E.Add | E.Sub):
        return _linear_in_calls(e.a) and _linear_in_calls(e.b)
    if isinstance(e, E.Mul):
        for a, b in ((e.a, e.b), (e.b, e.a)):
            if not any([isinstance(n, FuncCall) for n in nodes(b)]):
                return _linear_in_calls(a)
        return False
    return isinstance(e, E.Cast) and _linear_in_calls(e.a)


def domain_of(
    walks: Sequence[Walk], site: Site | None
) -> tuple[ReductionDomain, dict[Var, Expr]]:
    """A reduction domain over walks, and its variables in place of theirs."""
    prefix = fresh("r")
    letters = [*"xyzw", *map(str, range(4, 4 + len(walks)))]
    names = tuple([DimName(prefix, letter) for letter in letters[: len(walks)]])
    extents = []
    for w in walks:
        extent = simplify(build.add(build.sub(w.hi, w.lo), int32(1)))
        if not can_prove(le(int32(0), extent)):
            extent = build.maximum(extent, int32(0))
        extents.append(extent)
    mins = tuple([w.lo for w in walks])
    domain = ReductionDomain(names, mins, tuple(extents), TRUE, site)
    to: dict[Var, Expr] = {w.var: v for w, v in zip(walks, domain.vars, strict=True)}
    return domain, to


__all__ = ["Total", "domain_of"]
