"""The loop nest of one stage: ranges of its loops, and its variables in their terms.

A stage's variables (pure Vars and RVars) are transformed by splits, fuses and renames
into the loops of the schedule. Ranges flow down (a split's outer and inner ranges
follow from the old one), values flow up (the old variable is a sum of the new ones).

Three regions of a variable matter:

- *nominal*: what was asked for;
- *covered*: what the loops visit, after rounding by the tails of splits;
- *overshoot*: an upper bound, below and above, of how far covered exceeds nominal
  wherever the nest runs, which regions seen from outer loops add to be safe;
- *rounding*: the same in terms of the nominal extents, so mostly less, for outer loops
  from which these extents can be seen.

All but the first are known twice (`Reach`): for the points at which the definition is
evaluated, and for those at which it is stored. They differ where only its loads, or
only its stores, are predicated.
"""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.analysis.bounds import SymInterval, bounds_of
from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    add,
    div,
    int32,
    is_const,
    le,
    likely,
    likely_if_innermost,
    maximum,
    minimum,
    mod,
    mul,
    sub,
)
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import LetStmt
from parhelion.lower.assume import Assuming
from parhelion.lower.stages import LoopStage
from parhelion.schedule.directives import Dim, Fuse, Rename, Split, TailStrategy
from parhelion.schedule.modes import by_loops
from parhelion.schedule.tails import (
    BLENDS,
    KEEP_WRITES,
    SHIFTS,
    blended_roots,
    colliding_roots,
)
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32

_ZERO, _ONE = int32(0), int32(1)

_T = TailStrategy
#: The tails whose guards are around what is read.
_KEEP_READS = frozenset((_T.GuardWithIf, _T.Predicate, _T.PredicateLoads))
#: What is masked in vector code, see `Guard`.
_MASKS = {
    _T.GuardWithIf: "",
    _T.Predicate: "all",
    _T.PredicateLoads: "loads",
    _T.PredicateStores: "stores",
}


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds."""

    lo: Expr
    hi: Expr

    @property
    def extent(self) -> Expr:
        return simplify(add(sub(self.hi, self.lo), _ONE))


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop of a nest. `var` is the compiler's own Var, with its bounds."""

    dim: Dim
    var: Var
    min: Expr
    extent: Expr


@dataclass(frozen=True, slots=True)
class Guard:
    """``if (cond)`` around everything at `depth` loops and deeper.

    masks: which accesses vector code masks instead, the others being harmless where
    `cond` fails: "" (as it finds best), "all", "loads" or "stores".
    """

    depth: int
    cond: Expr
    masks: str = ""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the iterations of a nest go: `covered`, and how far, at most, that is
    `below` and `above` of what was asked for; `rounding` is the same, below and above,
    where the regions of the stage's variables are those given."""

    covered: Range
    below: Expr = _ZERO
    above: Expr = _ZERO
    rounding: tuple[Expr, Expr] = (_ZERO, _ZERO)


@dataclass(eq=False, slots=True)
class Axis:
    """A variable at one point of the transforms. ``split(x, x, xi, 8)`` makes a new
    axis of the same Var ``x``, so axes and Vars are not one to one.

    range: nominal bounds, known when the axis is made, like folded: whether
    iterations beyond them fall back onto others of the axis that it was made of, an
    outer loop of ShiftInwards. The rest is known once its loops exist: value in terms
    of loops; reads and writes, where it goes; the depths of the loops it is made of;
    guarded, inside how many loops the last guard stands that keeps it, or an axis it
    is made of, from reading too far (0: none); loose, inside how many loops the fused
    loop that it comes from is a point (0: it comes from none): as a remainder or
    quotient, its bounds over a part of that loop may exceed what the whole visits.
    """

    var: Var
    range: Range
    folded: bool = False
    value: Expr = _ZERO
    reads: Reach | None = None
    writes: Reach | None = None
    depths: frozenset[int] = frozenset()
    guarded: int = 0
    loose: int = 0

    @property
    def reading(self) -> Reach:
        assert self.reads is not None
        return self.reads

    @property
    def writing(self) -> Reach:
        assert self.writes is not None
        return self.writes


@dataclass(frozen=True, slots=True)
class Steps:
    """The loops that count through a variable, each inside the one before it, so that
    each value but the first is one more than some value visited before.

    forward: whether it is always more than all of them.
    """

    loops: tuple[Var, ...]
    forward: bool


@dataclass(frozen=True, slots=True)
class _Split:
    """exact: whether the factor surely divides the extent. fits: whether it surely is
    no more. collides: whether two lanes of a vector may be about one point."""

    old: Axis
    outer: Axis
    inner: Axis
    factor: Expr
    tail: TailStrategy
    exact: bool
    fits: bool
    collides: bool

    @property
    def last(self) -> Expr:
        """Where a run of `factor` steps that ends at the nominal end starts."""
        return sub(self.old.range.hi, sub(self.factor, _ONE))

    def reach(self, outer: Reach, inner: Reach, keep: bool) -> tuple[Reach, bool]:
        """Where the old loop goes if the new ones go to `outer` and `inner`. `keep`:
        a guard stops it at its end; returned is also whether that needs one."""
        nominal, factor = self.old.range, self.factor
        below = simplify(add(mul(outer.below, factor), inner.below))
        above = simplify(add(mul(outer.above, factor), inner.above))
        less = add(mul(outer.rounding[0], factor), inner.rounding[0])
        more = add(mul(outer.rounding[1], factor), inner.rounding[1])
        most = sub(factor, _ONE)
        start = add(mul(outer.covered.lo, factor), nominal.lo)
        end = add(mul(outer.covered.hi, factor), nominal.lo)
        lo, hi = add(start, inner.covered.lo), add(end, inner.covered.hi)
        if self.exact:
            if is_const(outer.above, 0) and is_const(inner.above, 0):
                hi = nominal.hi
        elif self.tail in SHIFTS:
            if not self.fits:
                below = simplify(add(below, most))
                missing = maximum(sub(factor, nominal.extent), _ZERO)
                less = add(less, minimum(missing, most))
                lo = minimum(lo, add(self.last, inner.covered.lo))
            # No run starts past `last`. What an inner loop adds there is its own
            # rounding, often less than `above`, by which others size the storage.
            above, more = inner.above, inner.rounding[1]
            hi = nominal.hi
            if not is_const(above, 0):
                hi = add(self.last, inner.covered.hi)
        elif not keep:
            above = simplify(add(above, most))
            more = add(more, mod(sub(_ZERO, nominal.extent), factor))
        guarded = keep and not (self.exact and is_const(above, 0))
        if guarded:
            hi, above, more = nominal.hi, _ZERO, _ZERO
        covered = Range(simplify(lo), simplify(hi))
        return Reach(covered, below, above, (simplify(less), simplify(more))), guarded


@dataclass(frozen=True, slots=True)
class _Fuse:
    inner: Axis
    outer: Axis
    fused: Axis


@dataclass(frozen=True, slots=True)
class _Rename:
    old: Axis
    new: Axis


class StageLoops:
    """See the module's text. `nominal` gives the region of each variable.

    loops: outermost first. lets: names to place right inside a number of loops, in
    order. guards: conditions around what is inside a number of loops. blends: where
    they do not all hold, the innermost point stores what is there already. fused: how
    many steps the two loops have that become one.

    guard: tails that the user left to us are guarded, so that nothing is visited
    beyond what was asked for. given: whether the Func is stored in the caller's buffer.
    shared: how many of the outermost loops are shared with other stages. There, the
    guards stand further in than what is computed for all of the stages.
    """

    def __init__(
        self,
        stage: LoopStage,
        nominal: Mapping[Var, Range],
        *,
        guard: bool = False,
        given: bool = False,
        shared: int = 0,
    ) -> None:
        self.stage = stage
        self._given = given
        self._shared = shared
        self._guard = guard
        self._where = Assuming(stage.condition)
        self.lets: list[tuple[int, LetStmt]] = []
        self.guards: list[Guard] = []
        self.blends: list[Expr] = []
        self.nominal = nominal
        self.fused: dict[Fuse, tuple[Expr, Expr]] = {}
        self._colliding = colliding_roots(stage.schedule)
        self._depth: dict[Var, int] = {}
        self._roots = {v: Axis(v, r) for v, r in nominal.items()}
        current = dict(self._roots)
        transforms = [self._resolve(t, current) for t in stage.schedule.transforms]
        self._became: dict[Axis, _Split | _Fuse | _Rename] = {}
        for t in transforms:
            olds = (t.inner, t.outer) if isinstance(t, _Fuse) else (t.old,)
            self._became.update(dict.fromkeys(olds, t))
        self._axes: list[Axis] = []
        self.loops: list[Loop] = []
        for depth, dim in enumerate(reversed(stage.schedule.dims), 1):
            self._add_loop(dim, depth, current[dim.var])
        for t in reversed(transforms):
            if isinstance(t, _Split):
                self._unsplit(t)
            elif isinstance(t, _Fuse):
                self._unfuse(t)
            else:
                _adopt(t)
        if not by_loops(stage.func):
            # Foreign code computes just what it is asked for, without loops.
            for axis in self._roots.values():
                axis.reads = axis.writes = Reach(axis.range)
        self.values = {v: a.value for v, a in self._roots.items()}

    def reads(self, v: Var) -> Reach:
        """For which values of a variable the definition is evaluated."""
        return self._roots[v].reading

    def writes(self, v: Var) -> Reach:
        """For which values of a variable something is stored."""
        return self._roots[v].writing

    def _resolve(
        self, t: Split | Fuse | Rename, current: dict[Var, Axis]
    ) -> _Split | _Fuse | _Rename:
        """The axes that a transform is about, and the ranges of the new ones."""
        if isinstance(t, Rename):
            old = current.pop(t.old)
            current[t.new] = Axis(t.new, old.range, old.folded)
            return _Rename(old, current[t.new])
        if isinstance(t, Fuse):
            inner, outer = current.pop(t.inner), current.pop(t.outer)
            self.fused[t] = inner.range.extent, outer.range.extent
            total = mul(*(_at_least_none(e) for e in self.fused[t]))
            folded = inner.folded or outer.folded
            fused = Axis(t.fused, Range(_ZERO, simplify(sub(total, _ONE))), folded)
            current[t.fused] = fused
            return _Fuse(inner, outer, fused)
        old = current.pop(t.old)
        extent = old.range.extent
        exact = self._where.divides(t.factor, extent)
        count = div(extent if exact else add(extent, sub(t.factor, _ONE)), t.factor)
        tail = _T.GuardWithIf if self._guard and t.auto else t.tail
        folded = old.folded or tail is _T.ShiftInwards
        outer = Axis(t.outer, Range(_ZERO, simplify(sub(count, _ONE))), folded)
        inner = Axis(t.inner, Range(_ZERO, sub(t.factor, _ONE)), old.folded)
        current[t.outer], current[t.inner] = outer, inner
        if tail is _T.PredicateLoads and (old.folded or self._given):
            # Storing what was not loaded would overwrite what was; and a buffer of
            # the caller's has no room for it.
            tail = _T.Predicate
        collides = bool(self._colliding & blended_roots(self.stage.schedule, t))
        fits = tail in SHIFTS and not exact and self._where.proves(le(t.factor, extent))
        return _Split(old, outer, inner, t.factor, tail, exact, fits, collides)

    def _add_loop(self, dim: Dim, depth: int, axis: Axis) -> None:
        r = axis.range
        name, which = f"{self.stage.name}.{dim.var.name}", self.stage.loop_id(dim.var)
        var = Var(name, INT32, lo=r.lo, hi=r.hi, loop=which)
        self.loops.append(Loop(dim, var, r.lo, r.extent))
        self._depth[var] = depth
        self._axes.append(axis)
        axis.value, axis.depths = var, frozenset((depth,))
        axis.reads = axis.writes = Reach(r)

    def steps(self, v: Var) -> Steps | None:
        """How the loops count through a variable; None if that is not by ones."""
        return self._steps(self._roots[v])

    def _steps(self, axis: Axis) -> Steps | None:
        t = self._became.get(axis)
        if t is None:
            assert isinstance(axis.value, Var)
            return Steps((axis.value,), True)
        if isinstance(t, _Rename):
            return self._steps(t.new)
        if isinstance(t, _Fuse):
            return None
        outer, inner = self._steps(t.outer), self._steps(t.inner)
        if outer is None or inner is None:
            return None
        loops = outer.loops + inner.loops
        depths = [self._depth[v] for v in loops]
        if depths != sorted(depths):
            return None
        # Shifted, or rounded up beyond the factor, runs overlap with the next ones.
        apart = t.exact or t.tail not in SHIFTS
        inner_run = t.inner.reading
        apart = apart and is_const(inner_run.below, 0) and is_const(inner_run.above, 0)
        return Steps(loops, outer.forward and inner.forward and apart)

    def depth_of(self, e: Expr) -> int:
        """How many loops must be entered before `e` has its value."""
        return max((self._depth.get(v, 0) for v in free_vars(e)), default=0)

    def _name(self, wish: str, e: Expr) -> Expr:
        """`e` behind a let, placed as far out as it can be."""
        if isinstance(e, Var) or is_const(e):
            return e
        var = Var(f"{self.stage.name}.{wish}", INT32, value=e)
        depth = self.depth_of(e)
        self._depth[var] = depth
        self.lets.append((depth, LetStmt(var, e)))
        return var

    def _unfuse(self, t: _Fuse) -> None:
        inner, outer, fused = t.inner, t.outer, t.fused
        size = _at_least_none(inner.range.extent)
        inner.value = self._name(
            inner.var.name, simplify(add(mod(fused.value, size), inner.range.lo))
        )
        outer.value = self._name(
            outer.var.name, simplify(add(div(fused.value, size), outer.range.lo))
        )
        inner.depths = outer.depths = fused.depths
        inner.guarded = outer.guarded = fused.guarded
        inner.loose = outer.loose = max(fused.depths)
        inner.reads = inner.writes = Reach(inner.range)
        outer.reads = _unfused(fused.reading, outer.range, size)
        outer.writes = outer.reads
        if fused.writes is not fused.reads:
            outer.writes = _unfused(fused.writing, outer.range, size)

    def _unsplit(self, t: _Split) -> None:
        old, inner, outer, factor, tail = t.old, t.inner, t.outer, t.factor, t.tail
        start = add(mul(outer.value, factor), old.range.lo)
        base = start
        if tail in SHIFTS and not t.exact:
            # A tail that is blended costs a load; the loops around better know better.
            mark = likely if tail in BLENDS else likely_if_innermost
            base = minimum(mark(start), t.last)
        old.value = add(self._name(f"{old.var.name}.base", simplify(base)), inner.value)
        old.guarded = max(outer.guarded, inner.guarded)
        old.reads, reading = t.reach(outer.reading, inner.reading, tail in _KEEP_READS)
        old.writes, writing = old.reads, reading
        if (
            (tail in _KEEP_READS) is not (tail in KEEP_WRITES)
            or outer.writes is not outer.reads
            or inner.writes is not inner.reads
        ):
            keep = tail in KEEP_WRITES
            old.writes, writing = t.reach(outer.writing, inner.writing, keep)
        if reading or writing:
            depth = self.depth_of(old.value)
            within = le(old.value, old.range.hi)
            self.guards.append(Guard(depth, within, _MASKS[tail]))
            if reading:
                old.guarded = max(old.guarded, depth)
        elif tail in BLENDS and not t.exact:
            self._blend(t, start)
        old.depths = outer.depths | inner.depths
        old.loose = max(outer.loose, inner.loose)

    def _blend(self, t: _Split, start: Expr) -> None:
        """Keeps the points that are beyond the end, or of earlier iterations."""
        value = t.old.value
        fresh = le(start, value) if t.tail in SHIFTS else le(value, t.old.range.hi)
        if t.collides:
            # One lane's old value would be stored over another's new one.
            # `start` may need loops that folding took out of `value`.
            self.guards.append(Guard(self.depth_of(fresh), fresh, "all"))
        else:
            self.blends.append(fresh)

    def region(self, depth: int) -> dict[Var, SymInterval]:
        """What each of the stage's variables spans inside `depth` loops: loops
        further out are points, those further in run through."""
        scope = {
            loop.var: SymInterval(axis.range.lo, axis.range.hi)
            for loop, axis in zip(self.loops[depth:], self._axes[depth:], strict=True)
        }
        out: dict[Var, SymInterval] = {}
        for v, axis in self._roots.items():
            read = axis.reading.covered
            if all(d > depth for d in axis.depths):
                out[v] = SymInterval(read.lo, read.hi)
                continue
            b = bounds_of(axis.value, scope)
            lo = read.lo if b.lo is None else b.lo
            hi = read.hi if b.hi is None else b.hi
            if axis.loose > depth:
                # Storage further out is for what the loops visit, and no more.
                lo = maximum(lo, read.lo)
                hi = minimum(hi, read.hi)
            elif axis.guarded > depth or 0 < axis.guarded <= self._shared:
                # Further in, the guard is around: the point is one of the region.
                hi = minimum(hi, read.hi)
            out[v] = SymInterval(simplify(lo), simplify(hi))
        return out


def _unfused(fused: Reach, outer: Range, size: Expr) -> Reach:
    """Where the outer one of two fused loops goes; the inner one has `size` steps."""
    covered = outer
    if not all(is_const(o, 0) for o in (fused.below, fused.above)):
        covered = Range(
            simplify(add(div(fused.covered.lo, size), outer.lo)),
            simplify(add(div(fused.covered.hi, size), outer.lo)),
        )
    # A run of `size` steps makes one of outer, and size is at least 1.
    return Reach(covered, fused.below, fused.above, (fused.below, fused.above))


def _adopt(t: _Rename) -> None:
    old, new = t.old, t.new
    old.value, old.reads, old.writes = new.value, new.reads, new.writes
    old.depths, old.guarded, old.loose = new.depths, new.guarded, new.loose


def _at_least_none(extent: Expr) -> Expr:
    """`extent`, or zero where it is negative: two negative ones multiply to more."""
    return extent if can_prove(le(_ZERO, extent)) else maximum(extent, _ZERO)


def hull(a: Range, b: Range) -> Range:
    """The least range that contains both."""
    return Range(simplify(minimum(a.lo, b.lo)), simplify(maximum(a.hi, b.hi)))


__all__ = ["Guard", "Loop", "Range", "Reach", "StageLoops", "Steps", "hull"]
