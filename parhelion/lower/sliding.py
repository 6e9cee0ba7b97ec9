"""Sliding windows: computing only what the iterations before have not left behind.

Where storage lives outside a serial loop inside which the Func is computed, the values
of earlier iterations are still there. If the region needed moves one way along one
dimension as the loop advances, each iteration but the first computes only what is new:

    needed at y:    [y - 1, y + 1]
    computed at y:  [select(y > y_min, y + 1, y - 1), y + 1]

The condition is marked likely, so loop partitioning peels the first iteration off,
where the body is small enough that this pays.

A window slides along dimension d over loop v when the other dimensions' bounds do not
depend on v, and d's bounds do not depend on loops inside v: then each iteration of v
finds the whole of what its predecessors computed. Several loops may slide, each along
a dimension of its own. Along the dimension of a scan, see `lower.scan_windows`.

No window slides over loops around a memoized Func in whose production the Func is
computed: where the cache has the result, an iteration leaves nothing behind.

The loops of a split variable slide together, as a *walk*: what counts is that the
variable's value less one has been visited before, be it by the iteration before of the
inner loop or by the last one of the outer loop's iteration before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from parhelion.analysis.monotonic import Monotonic, monotonic
from parhelion.dataclass import dataclass
from parhelion.ir.build import add, int32, le, likely, lt, maximum, minimum, select, sub
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import ForKind
from parhelion.lower.loops import Loop, Range, Reach
from parhelion.lower.scan_windows import ScanWindow, scanned, window
from parhelion.lower.sites import Site
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32

if TYPE_CHECKING:
    from parhelion.lower.regions import Region, Regions

_ONE = int32(1)
_IN_ORDER = (ForKind.SERIAL, ForKind.UNROLLED)


@dataclass(frozen=True, slots=True)
class Slid:
    """The region left to compute; the loops whose iterations leave values to the
    next one; by dimension, the walks along which a window slides; and what is left of
    a scan."""

    region: Region
    loops: frozenset[Var]
    walks: Mapping[int, Walk]
    scan: ScanWindow | None = None


def slide(regions: Regions, f: Function, needed: Region) -> Slid | None:
    """What of `f` is left to compute at its compute site, or None if no window
    slides."""
    between = loops_between(regions, f)
    loops = [loop for loop, _ in between]
    if not all(loop.dim.kind in _IN_ORDER for loop in loops):
        return None
    if shared_between(between):
        return None  # the iterations of each stage are not those of the loop
    host = regions.sites.memoized_around(f)
    #: The loops each of whose iterations computes what it needs.
    steady = {loop.var for loop, at in between if host is None or at.within(host)}
    out = list(needed)
    over: set[Var] = set()
    walks: dict[int, Walk] = {}
    scan, left = scanned(regions, f), None
    for d, r in enumerate(needed):
        walk = find_walk(regions, f, needed, d)
        found = None if walk is None else _advance_along(r, walk, regions)
        if walk is None or found is None:
            continue
        if not all(loop.var in steady for loop in walk.loops):
            continue
        region = (*needed[:d], found, *needed[d + 1 :])
        if f.updates and not _updates_stay_inside(regions, f, d):
            continue
        if not _spares_the_rest(regions, f, loops, region):
            continue
        out[d], walks[d] = found, walk
        over.update([loop.var for loop in walk.loops])
    for i, loop in enumerate(loops):
        if loop.var not in steady:
            continue
        unfold = Unfold(loop.var, regions.unslid)
        moving = [d for d, r in enumerate(needed) if unfold.moves(r)]
        if len(moving) != 1:
            continue
        d = moving[0]
        if d in walks:
            continue
        inner = loops[i + 1 :]
        if any(Unfold(v.var, regions.unslid).moves(needed[d]) for v in inner):
            continue
        new = _advance(needed[d], loop, unfold)
        if new is None:
            continue
        region = (*needed[:d], new, *needed[d + 1 :])
        along = scan is not None and scan.position == d
        if f.updates and not along and not _updates_stay_inside(regions, f, d):
            continue
        if not _spares_the_rest(regions, f, loops[i:], region):
            continue
        if scan is not None and along:
            left = window(scan, needed[d], new, loop, unfold.of)
            if left is None:
                continue
        out[d] = new
        over.add(loop.var)
    return Slid(tuple(out), frozenset(over), walks, left) if over else None


@dataclass(frozen=True, slots=True)
class Walk:
    """The loops of a split variable, which step through it together.

    loops: slowest first. value: the variable in terms of the loops. forward: whether
    it always grows; together: whether no other loop is between them.
    """

    loops: tuple[Loop, ...]
    value: Expr
    at: Var
    forward: bool
    together: bool

    def along(self, e: Expr) -> Expr:
        """`e`, which is in terms of the loops as `value` is, in terms of `at`."""
        last = self.loops[-1].var
        rest = simplify(sub(self.value, last))
        return simplify(substitute(e, {last: sub(self.at, rest)}))


def find_walk(regions: Regions, f: Function, needed: Region, d: int) -> Walk | None:
    """The walk that dimension `d` of a region moves with, and nothing else does: two
    loops or more, the last to be made by splits of one variable."""
    between = loops_between(regions, f)
    moving: list[int] = []
    for i, (loop, _) in enumerate(between):
        dims = [e for e, r in enumerate(needed) if _unfold(regions, loop).moves(r)]
        if d in dims:
            if dims != [d]:
                return None
            moving.append(i)
    stage = between[moving[0]][1].stage if len(moving) > 1 else None
    if stage is None or any(between[i][1].stage is not stage for i in moving):
        return None
    loops = tuple([between[i][0] for i in moving])
    nest = regions.loops(stage)
    for v, value in nest.values.items():
        steps = nest.steps(v)
        if steps is None or steps.loops[-len(loops) :] != tuple([p.var for p in loops]):
            continue
        together = moving[-1] - moving[0] + 1 == len(moving)
        at = Var(f"{v.name}.at", INT32)
        return Walk(loops, value, at, steps.forward, together)
    return None


def _unfold(regions: Regions, loop: Loop) -> Unfold:
    return Unfold(loop.var, regions.unslid)


def _advance_along(r: Range, walk: Walk, regions: Regions) -> Range | None:
    """The new part of a range that moves with a walk: what the step before it has
    left is there, whichever loop has advanced.

    One choice for each loop, the slowest outermost, so that partitioning can peel
    the first iteration of each in turn.
    """
    unfold = _unfold(regions, walk.loops[-1])
    lo, hi = [walk.along(simplify(unfold.of(e))) for e in (r.lo, r.hi)]
    for e in (lo, hi):
        if any(_unfold(regions, p).within(e) for p in walk.loops):
            return None
    ways = {monotonic(e, walk.at) for e in (lo, hi)} - {Monotonic.CONSTANT}
    if ways != {Monotonic.INCREASING} or not unfold.sure(r.hi):
        return None
    back = {walk.at: sub(walk.value, _ONE)}
    start = simplify(add(substitute(hi, back), _ONE))
    if not can_prove(le(substitute(lo, {walk.at: walk.value}), start)):
        start = simplify(maximum(start, r.lo))
    first = r.lo
    for loop in reversed(walk.loops):
        first = select(likely(lt(loop.min, loop.var)), start, first)
    return Range(first, r.hi)


def loops_between(regions: Regions, f: Function) -> list[tuple[Loop, Site]]:
    """The loops inside the storage of `f` and around its computation, outermost
    first, each with the site inside it."""
    found: list[tuple[Loop, Site]] = []
    store = regions.sites.store(f)
    for site in regions.sites.compute(f).outwards():
        if site is store:
            break
        found += [(loop, site) for loop in regions.loops_at(site)]
    found.reverse()
    return found


def shared_between(loops: Sequence[tuple[Loop, Site]]) -> bool:
    """Whether several stages share some of the loops."""
    sites = [site for _, site in loops]
    return len(set(sites)) < len(sites)


class Unfold:
    """Expands lets until an expression shows how it depends on one loop variable."""

    def __init__(self, loop: Var, unslid: dict[Var, Expr]) -> None:
        self.loop = loop
        self.unslid = unslid
        self._known: dict[Var, Expr] = {}

    def depends(self, v: Var) -> bool:
        return v is self.loop or self._let(v) is not v

    def _let(self, v: Var) -> Expr:
        """The value of a let in terms of the loop variable; itself if it has none."""
        found = self._known.get(v)
        if found is None:
            found = v
            value = self.unslid.get(v, v.value)
            if value is not None:
                opened = self.of(value)
                if self.loop in free_vars(opened):
                    found = opened
            self._known[v] = found
        return found

    def of(self, e: Expr) -> Expr:
        env = {
            v: self._let(v)
            for v in free_vars(e)
            if v is not self.loop and self._let(v) is not v
        }
        return substitute(e, env)

    def sure(self, e: Expr) -> bool:
        """Whether `of` gives what `e` is, no bound that a window has moved in it.

        Regions of consumers are rounded up by the tails of their splits: from a
        region that has slid they may reach less far than from the whole one.
        """
        waiting, seen = list(free_vars(e)), set[Var]()
        while waiting:
            v = waiting.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in self.unslid:
                return False
            if v.value is not None:
                waiting += free_vars(v.value)
        return True

    def within(self, e: Expr) -> bool:
        """Whether an expression depends on the loop."""
        return self.loop in free_vars(simplify(self.of(e)))

    def moves(self, r: Range) -> bool:
        return self.within(r.lo) or self.within(r.hi)


def _advance(r: Range, loop: Loop, unfold: Unfold) -> Range | None:
    """The new part of a range that moves one way with the loop, or None."""
    v = loop.var
    lo, hi = simplify(unfold.of(r.lo)), simplify(unfold.of(r.hi))
    ways = {monotonic(lo, v), monotonic(hi, v)} - {Monotonic.CONSTANT}
    before = {v: sub(v, _ONE)}
    steady = likely(lt(loop.min, v))
    if ways == {Monotonic.INCREASING} and unfold.sure(r.hi):
        start = simplify(add(substitute(hi, before), _ONE))
        if not can_prove(le(lo, start)):
            start = simplify(maximum(start, r.lo))
        return Range(select(steady, start, r.lo), r.hi)
    if ways == {Monotonic.DECREASING} and unfold.sure(r.lo):
        end = simplify(sub(substitute(lo, before), _ONE))
        if not can_prove(le(end, hi)):
            end = simplify(minimum(end, r.hi))
        return Range(r.lo, select(steady, end, r.hi))
    return None


def _updates_stay_inside(regions: Regions, f: Function, d: int) -> bool:
    """Whether every stage of `f` reads and writes, along dimension `d`, just the
    points that it is asked for."""
    own = f.args[d]
    for stage in regions.program.stages[f]:
        if stage.args[d] is not own:
            return False
        for e in (*stage.exprs, stage.predicate):
            for n in nodes(e):
                if type(n) is FuncCall and n.func is f and n.args[d] is not own:
                    return False
    return True


def _spares_the_rest(
    regions: Regions, f: Function, loops: Sequence[Loop], region: Region
) -> bool:
    """Whether computing `region` leaves alone what earlier iterations of `loops` have
    finished.

    Along a dimension that moves with them, no stage may then go beyond what it is
    asked for, if there are updates (the pure definition would start values anew), or
    if it stores what it has not loaded (`PredicateLoads`). A pure definition that
    loads all it needs just stores the same values again.
    """
    for stage in regions.program.stages[f]:
        nest = regions.nest(stage, regions.nominal(stage, region))
        for own, r in zip(f.args, region, strict=True):
            if own not in stage.pure_vars:
                continue
            reads, writes = nest.reads(own), nest.writes(own)
            if writes is reads and not (f.updates and _exceeds(reads)):
                continue
            if any(Unfold(v.var, regions.unslid).moves(r) for v in loops):
                return False
    return True


def _exceeds(reach: Reach) -> bool:
    return not all(can_prove(le(o, int32(0))) for o in (reach.below, reach.above))
