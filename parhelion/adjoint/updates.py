"""What an update does, as far as its reversal is concerned.

An update runs over its points in order, and each point may read what earlier ones have
written. Its reversal goes through them backwards. Which of these an update is decides
how:

- a *sum* adds something to the place that it writes, which nothing else depends on: the
  adjoint of what is there stays as it is;
- one that writes each place *once* may read other places, at fixed distances: what it
  reads of places that it has written before is a scan, whose adjoint is a scan in the
  other direction;
- one that only *overwrites* places, maybe several times: the last to write a place gets
  its adjoint;
- one that *folds* many points into a place, other than as a sum (a product, a maximum,
  a recurrence in time): all values that the place has had are computed anew.

Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.adjoint.flows import Walk, leaf, reads
from parhelion.adjoint.places import Solution, solutions
from parhelion.adjoint.regions import Instance
from parhelion.analysis.linear import linear
from parhelion.dataclass import dataclass
from parhelion.errors import DefinitionError
from parhelion.ir.build import add, int32, is_false, lt, maximum, minimum, sub
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import Rewriter, nodes, substitute
from parhelion.lang.expr import text_of
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A read of the Func by its own update.

    distance: for each reduction variable, how many steps before the point the place was
    written, or is yet to be; None where it never is. after: whether the value is that
    which the update has written before.
    """

    call: FuncCall
    distance: tuple[int, ...] | None
    after: bool


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """An update, its derivatives, and what it reads of its own Func.

    seeds: a variable for the adjoint of each value, None for integers. amounts: of each
    read that gets an adjoint, what it gets, in terms of the seeds. own: the reads of
    the Func itself, with any type.
    """

    func: Function
    instance: Instance
    seeds: tuple[Var | None, ...]
    amounts: list[tuple[Expr, Expr]]
    own: list[FuncCall]

    @property
    def rvars(self) -> list[Walk]:
        return [w for w in self.instance.walks if not w.pure]


def look(f: Function, instance: Instance) -> Update:
    """Differentiates an update. Raises DefinitionError for what has no derivative, and
    for one that chooses by its own Func where it writes."""
    site = instance.definition.site
    seeds = tuple(
        [Var(f"d{i}", t) if t.is_float() else None for i, t in enumerate(f.types)]
    )
    pairs = [
        (v, s) for v, s in zip(instance.values, seeds, strict=True) if s is not None
    ]
    amounts = reads(pairs, site)
    own = calls_of(f, [*instance.values])
    for e in (*instance.args, instance.predicate):
        if calls_of(f, [e]):
            raise DefinitionError(
                f"where this update of {f.label!r} writes depends on values of"
                f" {f.label!r}, so that its gradient cannot be computed",
                at=site,
                hint="compute the coordinates, or the condition, by another Func",
            )
    return Update(f, instance, seeds, amounts, own)


def calls_of(f: Function, exprs: Sequence[Expr]) -> list[FuncCall]:
    """The reads of a Func in expressions."""
    found = [
        n for e in exprs for n in nodes(e) if isinstance(n, FuncCall) and n.func is f
    ]
    return list(dict.fromkeys(found))


def is_sum(u: Update) -> bool:
    """Whether the update adds to the place that it writes what does not depend on the
    Func."""
    kept: set[int] = set()
    for read, amount in u.amounts:
        source = leaf(read)
        assert source is not None
        if source[0] is u.func:
            index = source[1]
            if source[2] != u.instance.args or amount is not u.seeds[index]:
                return False
            kept.add(index)
        elif calls_of(u.func, [amount]):
            return False
    return kept == {i for i, s in enumerate(u.seeds) if s is not None}


def written_once(u: Update) -> tuple[Solution, tuple[Var, ...]] | None:
    """The inverse of where an update writes, if no two of its points write one place,
    and the variables for the place."""
    targets = tuple([Var(a.name, INT32) for a in u.func.args])
    found = solutions(u.instance.args, u.instance.walks, targets, lambda _: True)
    if len(found) != 1 or found[0].left or tuple(found[0].args) != targets:
        return None
    return found[0], targets


def own_reads(u: Update, inverse: Solution, targets: Sequence[Var]) -> list[Read]:
    """The reads of the Func itself, by when their places are written. Raises
    DefinitionError for distances that are not fixed."""
    return [_own_read(u, call, inverse, targets) for call in u.own]


def _own_read(
    u: Update, call: FuncCall, inverse: Solution, targets: Sequence[Var]
) -> Read:
    to = dict(zip(targets, call.args, strict=True))
    never = [is_false(simplify(substitute(c, to))) for c in inverse.conditions]
    outside = [
        can_prove(lt(e, w.lo)) or can_prove(lt(w.hi, e))
        for e, w in [(simplify(substitute(e, to)), w) for e, w in inverse.inside]
    ]
    if any(never) or any(outside):
        return Read(call, None, False)
    distance = []
    for w in u.rvars:
        there = substitute(inverse.env[w.var], to)
        form = linear(simplify(sub(w.var, there)))
        if form.terms:
            raise refused(
                u,
                f"this update of {u.func.label!r} reads it at"
                f" {text_of(call)}, which is no fixed number of steps from what it"
                " writes",
            )
        distance.append(form.const)
    after = next((d > 0 for d in reversed(distance) if d), False)
    return Read(call, tuple(distance), after)


def refused(u: Update, what: str) -> DefinitionError:
    return DefinitionError(
        f"{what}, so that its gradient cannot be computed",
        at=u.instance.definition.site,
        hint="write it as sums, as a scan that writes each place once, or as a fold of"
        " many points into places that Vars and single RVars tell"
        " (docs/differentiation.md)",
    )


def folded(u: Update) -> list[Walk] | None:
    """The reduction variables that an update folds, if it reads of its own Func what is
    where it writes and nothing else, and each place is told by its other variables."""
    if any([c.args != u.instance.args for c in u.own]):
        return None
    targets = tuple([Var(a.name, INT32) for a in u.func.args])
    found = solutions(u.instance.args, u.instance.walks, targets, lambda _: True)
    if len(found) != 1 or tuple(found[0].args) != targets:
        return None
    left = list(found[0].left.values())
    return None if any([w.pure or w not in u.rvars for w in left]) else left


def apart(distance: Sequence[int], walks: Sequence[Walk]) -> list[list[Walk]]:
    """The points of some walks from which as many steps back lead out of them: boxes
    that exclude each other. A negative number leads forwards."""
    found = []
    for i, (d, w) in enumerate(zip(distance, walks, strict=True)):
        if d == 0:
            continue
        box = list(walks)
        for j in range(i):
            e, v = distance[j], walks[j]
            lo = maximum(v.lo, add(v.lo, int32(e))) if e > 0 else v.lo
            hi = minimum(v.hi, add(v.hi, int32(e))) if e < 0 else v.hi
            box[j] = _sub_walk(v, lo, hi)
        if d > 0:
            box[i] = _sub_walk(w, w.lo, minimum(w.hi, add(w.lo, int32(d - 1))))
        else:
            box[i] = _sub_walk(w, maximum(w.lo, add(w.hi, int32(d + 1))), w.hi)
        found.append(box)
    return found


def _sub_walk(w: Walk, lo: Expr, hi: Expr) -> Walk:
    lo, hi = simplify(lo), simplify(hi)
    return Walk(Var(w.var.name, INT32, lo=lo, hi=hi), lo, hi, w.pure)


class _With(Rewriter):
    def __init__(self, reads: Mapping[Expr, Expr]) -> None:
        super().__init__()
        self.memo.update(reads)


def with_reads(e: Expr, reads: Mapping[Expr, Expr]) -> Expr:
    """An expression in which reads stand for something else."""
    return _With(reads).go(e) if reads else e


__all__ = [
    "Read",
    "Update",
    "apart",
    "calls_of",
    "folded",
    "is_sum",
    "look",
    "own_reads",
    "refused",
    "with_reads",
    "written_once",
]
