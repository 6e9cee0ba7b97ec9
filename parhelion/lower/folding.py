"""Storage folding: keeping only as much of a dimension as one iteration of a loop uses.

Storage that lives outside a loop holds what all iterations touch. Where the region that
an iteration touches moves one way along a dimension, a coordinate that has been passed
is not wanted again, and its place can be had by a later one:

    touched at y:  [y - 1, y + 1]      ->      f(x, (y - f.y.min) % 4)

Why that is right: let iteration v touch nothing outside [lo(v), hi(v)], an extent of
at most n, and let lo never decrease. Let p be written in iteration a and still be
wanted in a later one, b. What an iteration v from a to b writes beside it at q shares
its place only if q - p is a multiple of n. But p >= lo(b) >= lo(v) and q <= hi(v), so
that q - p < n; and q >= lo(v) >= lo(a) and p <= hi(a), so that p - q < n. The same
holds, mirrored, if hi never increases.

The factor is decided here, as is where the storage begins (`Sites.store`) and is
allocated (`Sites.hoist`). `origins` says of each Func what its coordinates are counted
from and folded by; the pass `lower.relocate` rewrites them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from parhelion.analysis.apart import apart
from parhelion.analysis.interval import Interval, constant_interval
from parhelion.analysis.monotonic import Monotonic, monotonic
from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError
from parhelion.ir.build import const_int, int32, le, lor, sub
from parhelion.ir.expr import LE, Expr, FuncCall, StringImm, Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import Assert, ForKind
from parhelion.ir.symbols import ParamSym
from parhelion.lower.checks import storage_check
from parhelion.lower.loops import Loop, Range
from parhelion.lower.outwards import greatest, loops_within, opened, visible
from parhelion.lower.regions import Region, Regions
from parhelion.lower.sites import Site
from parhelion.lower.sliding import Walk, loops_between, shared_between
from parhelion.lower.stages import LoopStage
from parhelion.schedule.directives import StorageDim
from parhelion.schedule.modes import by_loops
from parhelion.schedule.rules import warn
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import Handle

_ONE = int32(1)

#: The largest factor that storage is folded by on its own.
MOST_FOLDED = 1024


@dataclass(frozen=True, slots=True)
class Origin:
    """What a coordinate of one dimension is counted from, and what it is taken
    modulo (None: nothing). shift: where the copy of a ring buffer begins."""

    min: Expr
    fold: Expr | None = None
    shift: Expr | None = None


def find_folds(regions: Regions, f: Function) -> dict[int, Expr]:
    """The factors by which the dimensions of `f` are folded, by position. Asserts of
    what is promised but not proven join the checks of the sites it is true of.

    Warns where `fold_storage` can have no effect.
    """
    wishes = {d: s for d, s in f.schedule.storage.items() if s.fold is not None}
    loops = loops_between(regions, f)
    for d, wish in wishes.items():
        if not loops:
            warn(
                f"{f.label}.fold_storage({f.args[d].name}, …) has no effect: no loop is"
                f" between the storage of {f.label} and its computation",
                wish.fold_site,
            )
    if not loops:
        return {}
    if touched_by_foreign(regions, f, wishes):
        for d in range(f.dimensions):
            regions.unfolded[f, d] = "foreign code needs it in one piece"
        return {}
    finder = _Finder(regions, f, loops)
    folds: dict[int, Expr] = {}
    for d in range(f.dimensions):
        if d in wishes:
            found = finder.explicit(d, wishes[d])
        elif f.schedule.async_:
            # Less storage would keep the producer from running ahead.
            found = None
            regions.unfolded[f, d] = "it is async, and runs ahead of what uses it"
        else:
            found = finder.automatic(d)
        if found is not None:
            folds[d] = found
    return folds


def touched_by_foreign(
    regions: Regions, f: Function, wishes: Mapping[int, StorageDim]
) -> bool:
    """Whether foreign code computes or reads `f`: it knows strides, but no folds."""
    program = regions.program
    readers = [s.func for s in program.consumers.get(f, ()) if not by_loops(s.func)]
    if by_loops(f) and not readers:
        return False
    for d, wish in wishes.items():
        raise ScheduleError(
            f"{f.label}.fold_storage({f.args[d].name}, …): foreign code"
            f" ({(readers or [f])[0].label}) needs the storage of {f.label} in one"
            " piece",
            at=wish.fold_site,
        )
    return True


@dataclass(frozen=True, slots=True)
class _Motion:
    """What the iterations of a loop, or the steps of a walk, touch along one
    dimension, as expressions over the loops outside and the names that are visible
    where the storage is. at: what advances, the loop's variable or the walk's;
    value: the same in terms of the loops."""

    loop: Loop
    site: Site
    touched: Range
    at: Var
    value: Expr

    def forward(self) -> Monotonic:
        return monotonic(self.touched.lo, self.at)

    def backward(self) -> Monotonic:
        return monotonic(self.touched.hi, self.at)

    @property
    def moves(self) -> bool:
        return self.at in free_vars(self.touched.lo) | free_vars(self.touched.hi)

    def proven(self) -> bool:
        """Whether coordinates that are passed are surely not touched again."""
        return (
            self.forward() is Monotonic.INCREASING
            or self.backward() is Monotonic.DECREASING
        )


class _Finder:
    def __init__(
        self, regions: Regions, f: Function, loops: Sequence[tuple[Loop, Site]]
    ) -> None:
        self.regions = regions
        self.f = f
        self.loops = loops
        self.visible = visible(regions, regions.sites.store(f))
        self._regions: dict[Site, tuple[Range | None, ...]] = {}

    def motions(self, d: int) -> list[_Motion]:
        """The loops that may fold dimension `d`: those that move through it, up to
        the first whose iterations leave values to later ones."""
        found: list[_Motion] = []
        slid = self.regions.slid.get(self.f)
        if shared_between(self.loops):
            return []
        for loop, site in self.loops:
            if loop.dim.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
                break
            touched = self.touched(site)[d]
            if touched is not None:
                motion = _Motion(loop, site, touched, loop.var, loop.var)
                if motion.moves:
                    found.append(motion)
            if slid is not None and loop.var in slid.loops:
                walk = slid.walks.get(d)
                if walk is not None and walk.loops[0] is loop:
                    found += self.steps(d, walk)
                break
        return found

    def steps(self, d: int, walk: Walk) -> list[_Motion]:
        """What the steps of a walk touch, if the walk never turns back: it is all of
        what the iterations of its loops are, in their order."""
        if not (walk.forward and walk.together):
            return []
        loop, site = next(p for p in self.loops if p[0] is walk.loops[-1])
        touched = self.touched(site)[d]
        if touched is None:
            return []
        opened = replace(walk, value=simplify(self.open(walk.value)))
        along = Range(opened.along(touched.lo), opened.along(touched.hi))
        over = {p.var for p in walk.loops}
        if over & (free_vars(along.lo) | free_vars(along.hi)):
            return []
        return [_Motion(loop, site, along, walk.at, opened.value)]

    def touched(self, site: Site) -> tuple[Range | None, ...]:
        """What is touched inside a site, in visible names; None where unknown."""
        found = self._regions.get(site)
        if found is None:
            region = self.regions.footprint(self.f, site)
            found = self._regions[site] = tuple([self.opened(r) for r in region])
        return found

    # Decisions.

    def automatic(self, d: int) -> Expr | None:
        """The least proven factor, or None if there is none or it saves nothing; then
        `Regions.unfolded` says why."""
        best, why = self.least(d)
        if best is None:
            self.regions.unfolded[self.f, d] = why
        return best

    def least(self, d: int) -> tuple[Expr | None, str]:
        """What `automatic` finds, and why it finds nothing."""
        if _along_vectors(self.regions, self.f, d):
            return None, "vectors lie along it, and would be gathers"
        whole = self.regions.stored(self.f)[d].extent
        best: Expr | None = None
        why = "no serial loop outside of its computation moves through it"
        for motion in self.motions(d):
            loop = _loop_label(motion.loop, motion.site)
            if not motion.proven():
                why = f"the loop {loop} is not known to move one way through it"
                continue
            most = self.most(motion)
            known = apart(motion.touched.hi, motion.touched.lo, self.promised)
            is_small = known is not None and known < MOST_FOLDED
            if known is not None and (
                most is None or (is_small and const_int(most) is None)
            ):
                # What is large is but the most for any numbers: of two points for each
                # row and 16384 rows it says that there may be 16384 rows.
                most = int32(max(known + 1, 1))
            if most is None:
                why = f"an iteration of {loop} touches no bounded part of it"
                continue
            size = _rounded(most)
            if size is None and self._storage_order()[0] != d:
                size = most  # A division for each row is not for each pixel.
            if size is None:
                why = f"an iteration of {loop} touches no constant part of it"
                continue
            if can_prove(le(whole, size)):
                why = f"an iteration of {loop} touches all that there is of it"
                continue
            if best is None or _less(size, best):
                best = size
        return best, why

    def explicit(self, d: int, wish: StorageDim) -> Expr | None:
        assert wish.fold is not None
        motions = self.motions(d)
        wanted = Monotonic.INCREASING if wish.forward else Monotonic.DECREASING
        best: _Motion | None = None
        for motion in motions:
            way = motion.forward() if wish.forward else motion.backward()
            if way is wanted:
                best = motion
                most = self.most(motion)
                if most is not None and can_prove(le(most, wish.fold)):
                    return wish.fold
        if best is None:
            best = next((m for m in motions if m.at is m.loop.var), None)
            why = self._idle(wish, best)
            if best is None or why:
                v = self.f.args[d].name
                warn(
                    f"{self.f.label}.fold_storage({v}, …) has no effect: {why}",
                    wish.fold_site,
                )
                return self.automatic(d)
            self._check_direction(best, d, wish)
        self._check_size(best, d, wish)
        return wish.fold

    def promised(self, v: Var) -> Interval | None:
        """What a Param is promised to lie between, which the program checks."""
        if not isinstance(v.origin, ParamSym):
            return None
        bounds = self.regions.program.assumptions.params.get(v.origin, (None, None))
        lo, hi = [None if e is None else const_int(e) for e in bounds]
        return Interval(lo, hi)

    def most(self, motion: _Motion) -> Expr | None:
        """The most that one iteration touches, in names visible at the storage."""
        size = motion.touched.extent
        if motion.at is not motion.loop.var and motion.at in free_vars(size):
            return None
        return greatest(size, [p for p, _ in self.loops], self.widened)

    # Explicit folds that are checked by each run.

    def _idle(self, wish: StorageDim, motion: _Motion | None) -> str:
        """Why a fold surely has nothing to do; empty if it may have."""
        if motion is None:
            between = ", ".join([_loop_label(loop, site) for loop, site in self.loops])
            return (
                f"of the loops between the storage of {self.f.label} and its"
                f" computation ({between}), none moves through it while those outside"
                " leave nothing to their next iterations"
            )
        opposite = motion.backward() if wish.forward else motion.forward()
        if opposite is (Monotonic.DECREASING if wish.forward else Monotonic.INCREASING):
            where, way = ("forward", False) if wish.forward else ("backward", True)
            return (
                f"the loop {_loop_label(motion.loop, motion.site)} does not move"
                f" {where} through it (fold_forward={way} is for the other direction)"
            )
        return ""

    def _check_direction(self, motion: _Motion, d: int, wish: StorageDim) -> None:
        """A run-time check that the loop moves one way."""
        v = motion.at
        before = {v: sub(v, _ONE)}
        r = motion.touched
        if wish.forward:
            now, past = r.lo, substitute(r.lo, before)
            kept = LE(past, now)
        else:
            now, past = r.hi, substitute(r.hi, before)
            kept = LE(now, past)
        first = LE(v, motion.loop.min)
        args = (*self._names(motion, d), past, now)
        motion.site.checks.append(Assert(lor(first, kept), "fold_direction", args))

    def _check_size(self, motion: _Motion, d: int, wish: StorageDim) -> None:
        """A run-time check that what one iteration touches fits."""
        assert wish.fold is not None
        size = substitute(motion.touched.extent, {motion.at: motion.value})
        args = (*self._names(motion, d), wish.fold, size)
        motion.site.checks.append(Assert(le(size, wish.fold), "fold_too_small", args))

    def _names(self, motion: _Motion, d: int) -> tuple[Expr, ...]:
        loop = _loop_label(motion.loop, motion.site)
        names = (self.f.label, self.f.args[d].name, loop)
        return tuple([StringImm(Handle(), n) for n in names])

    def _storage_order(self) -> Sequence[int]:
        return self.f.schedule.storage_order or range(self.f.dimensions)

    # Names.

    def opened(self, r: Range) -> Range | None:
        lo, hi = self.widened(r.lo, True), self.widened(r.hi, False)
        if lo is None or hi is None:
            return None
        return Range(simplify(lo), simplify(hi))

    def open(self, e: Expr) -> Expr:
        """`e` in terms of what is visible at the storage, the loops in between and
        windows that have slid."""
        return opened(e, self.visible | self.regions.unslid.keys())

    def widened(self, e: Expr, low: bool) -> Expr | None:
        """A bound (a lower one, if `low`) of a region that contains this one, as if
        no window had slid; None if that is not known to be one.

        A window that has slid computes less than it would have: its lower bound is
        higher or its upper bound lower. Going back makes the region larger only if
        the bound moves with it the right way.
        """
        while True:
            e = self.open(e)
            slid = [v for v in free_vars(e) if v in self.regions.unslid]
            slid = [v for v in slid if v not in self.visible]
            if not slid:
                return e
            for v in slid:
                grows = low is (v in self.regions.raised)
                wanted = Monotonic.INCREASING if grows else Monotonic.DECREASING
                if monotonic(e, v) not in (wanted, Monotonic.CONSTANT):
                    return None
            e = substitute(e, {v: self.regions.unslid[v] for v in slid})


def _loop_label(loop: Loop, site: Site) -> str:
    """A loop as the user knows it: ``g.y``."""
    assert site.stage is not None
    return f"{site.stage.func.label}.{var_label(loop.dim.var)}"


def _rounded(most: Expr) -> Expr | None:
    """The power of two that a constant upper bound of an extent is rounded up to."""
    known = constant_interval(most).hi
    if known is None or known > MOST_FOLDED:
        return None
    return int32(1 << (max(int(known), 1) - 1).bit_length())


def _less(a: Expr, b: Expr) -> bool:
    """Whether a factor is to be had rather than another: constants first."""
    x, y = const_int(a), const_int(b)
    if x is None or y is None:
        return x is not None
    return x < y


def _along_vectors(regions: Regions, f: Function, d: int) -> bool:
    """Whether some vectorised loop walks along dimension `d`: folded, its vectors
    would be gathers and scatters."""
    for stage in regions.program.stages[f]:
        if _vectorized(regions, stage, stage.args[d]):
            return True
    for stage in regions.program.consumers.get(f, ()):
        for e in (*stage.exprs, stage.predicate):
            for n in nodes(e):
                if isinstance(n, FuncCall) and n.func is f:
                    if _vectorized(regions, stage, n.args[d]):
                        return True
    return False


def _vectorized(regions: Regions, stage: LoopStage, e: Expr) -> bool:
    """Whether a coordinate of a stage varies over the lanes of a vector."""
    nest = regions.loops(stage)
    lanes = {p.var for p in nest.loops if p.dim.kind is ForKind.VECTORIZED}
    if not lanes:
        return False
    found = set(free_vars(substitute(e, dict(nest.values))))
    opened: set[Var] = set()
    while found:
        v = found.pop()
        if v in lanes:
            return True
        if v.value is not None and v not in opened:
            opened.add(v)
            found |= free_vars(v.value)
    return False


def origins(
    region: Region, folds: Mapping[int, Expr], hoisted: bool
) -> tuple[Origin | None, ...] | None:
    """How coordinates become places in the storage of a region; None if they are
    those places."""
    if not (folds or hoisted):
        return None
    return tuple(
        [
            Origin(r.lo, folds.get(d)) if hoisted or d in folds else None
            for d, r in enumerate(region)
        ]
    )


def hoisted_extent(regions: Regions, f: Function, d: int, fold: Expr | None) -> Expr:
    """The most that dimension `d` of `f` takes in any iteration of the loops between
    the allocation of its storage and its beginning, in names visible at the former.

    fold: what the dimension is folded by, in names visible at the latter.
    """
    if fold is not None and const_int(fold) is not None:
        return fold
    hoist, store = regions.sites.hoist(f), regions.sites.store(f)
    bound, between = visible(regions, hoist), loops_within(regions, store, hoist)

    def most(size: Expr) -> Expr | None:
        return greatest(size, between, lambda e, low: opened(e, bound))

    if fold is not None and (e := most(fold)) is not None:
        return e
    # Coordinates are counted from the region's first: a fold never takes more than it.
    needed = regions.stored(f)[d].extent
    e = most(needed)
    # What the level further out needs as a whole would not do: a region inside may be
    # bound or aligned to more than its part of that.
    wish = f.schedule.storage.get(d)
    if e is None and wish is not None and wish.bound is not None:
        store.checks.append(storage_check(f, d, needed, wish.bound))
        return wish.bound
    if e is None:
        level = f.schedule.hoist_level
        raise ScheduleError(
            f"{f.label}.hoist_storage: the extent of {f.args[d].name} has no bound at"
            " that level",
            at=level.site,
            hint=f"{f.label}.bound_storage gives it one, or hoist it less far",
        )
    return e
