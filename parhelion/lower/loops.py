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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parhelion.analysis.bounds import SymInterval, bounds_of
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
from parhelion.lower.stages import Stage
from parhelion.schedule.directives import Dim, Fuse, Rename, Split, TailStrategy
from parhelion.simplify.driver import can_prove, simplify
from parhelion.types import INT32

_ZERO, _ONE = int32(0), int32(1)


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
    """``if (cond)`` around everything at `depth` loops and deeper."""

    depth: int
    cond: Expr


@dataclass(eq=False, slots=True)
class Axis:
    """A variable at one point of the transforms. ``split(x, x, xi, 8)`` makes a new
    axis of the same Var ``x``, so axes and Vars are not one to one.

    range: nominal bounds, known when the axis is made. The rest is known once its
    loops exist: value in terms of loops; covered; overshoot and rounding, each below
    and above; the depths of the loops it is made of; guarded, inside how many loops
    the last guard stands that keeps it, or an axis it is made of, from going too far
    (0: none); loose, whether it comes from a fused loop, as a remainder or quotient
    whose bounds over a part of the loop may exceed what the whole loop visits.
    """

    var: Var
    range: Range
    value: Expr = _ZERO
    covered: Range | None = None
    overshoot: tuple[Expr, Expr] = (_ZERO, _ZERO)
    rounding: tuple[Expr, Expr] = (_ZERO, _ZERO)
    depths: frozenset[int] = frozenset()
    guarded: int = 0
    loose: bool = False

    @property
    def visited(self) -> Range:
        assert self.covered is not None
        return self.covered


@dataclass(frozen=True, slots=True)
class Steps:
    """The loops that count through a variable, each inside the one before it, so that
    each value but the first is one more than some value visited before.

    forward: whether it is always more than all of them.
    """

    loops: tuple[Var, ...]
    forward: bool


#: Tails whose runs begin at most one after the last value of the run before.
_BY_ONES = (
    TailStrategy.RoundUp,
    TailStrategy.GuardWithIf,
    TailStrategy.ShiftInwards,
)


@dataclass(frozen=True, slots=True)
class _Split:
    old: Axis
    outer: Axis
    inner: Axis
    factor: Expr
    tail: TailStrategy
    exact: bool


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
    order. guards: conditions around what is inside a number of loops.

    guard: tails that the user left to us are guarded, so that nothing is visited
    beyond what was asked for.
    """

    def __init__(
        self, stage: Stage, nominal: Mapping[Var, Range], *, guard: bool = False
    ) -> None:
        self.stage = stage
        self._guard = guard
        self._where = Assuming(stage.condition)
        self.lets: list[tuple[int, LetStmt]] = []
        self.guards: list[Guard] = []
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
        if stage.func.extern is not None:
            # Foreign code computes just what it is asked for, without loops.
            for axis in self._roots.values():
                axis.covered = axis.range
        self.values = {v: a.value for v, a in self._roots.items()}

    def covered(self, v: Var) -> Range:
        """What the loops visit of a variable, where the stage is computed."""
        return self._roots[v].visited

    def overshoot(self, v: Var) -> tuple[Expr, Expr]:
        """How far, at most, they go below and above what was asked for."""
        return self._roots[v].overshoot

    def rounding(self, v: Var) -> tuple[Expr, Expr]:
        """The same, where the regions of the stage's variables are those given."""
        return self._roots[v].rounding

    def _resolve(
        self, t: Split | Fuse | Rename, current: dict[Var, Axis]
    ) -> _Split | _Fuse | _Rename:
        """The axes that a transform is about, and the ranges of the new ones."""
        if isinstance(t, Rename):
            old = current.pop(t.old)
            current[t.new] = Axis(t.new, old.range)
            return _Rename(old, current[t.new])
        if isinstance(t, Fuse):
            inner, outer = current.pop(t.inner), current.pop(t.outer)
            total = mul(*(_at_least_none(a.range.extent) for a in (inner, outer)))
            fused = Axis(t.fused, Range(_ZERO, simplify(sub(total, _ONE))))
            current[t.fused] = fused
            return _Fuse(inner, outer, fused)
        old = current.pop(t.old)
        extent = old.range.extent
        exact = self._where.divides(t.factor, extent)
        count = div(extent if exact else add(extent, sub(t.factor, _ONE)), t.factor)
        outer = Axis(t.outer, Range(_ZERO, simplify(sub(count, _ONE))))
        inner = Axis(t.inner, Range(_ZERO, sub(t.factor, _ONE)))
        current[t.outer], current[t.inner] = outer, inner
        tail = TailStrategy.GuardWithIf if self._guard and t.auto else t.tail
        return _Split(old, outer, inner, t.factor, tail, exact)

    def _add_loop(self, dim: Dim, depth: int, axis: Axis) -> None:
        r = axis.range
        var = Var(f"{self.stage.name}.{dim.var.name}", INT32, lo=r.lo, hi=r.hi)
        self.loops.append(Loop(dim, var, r.lo, r.extent))
        self._depth[var] = depth
        self._axes.append(axis)
        axis.value, axis.covered, axis.depths = var, r, frozenset((depth,))

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
        if not t.exact and t.tail not in _BY_ONES:
            return None
        loops = outer.loops + inner.loops
        depths = [self._depth[v] for v in loops]
        if depths != sorted(depths):
            return None
        # Shifted, or rounded up beyond the factor, runs overlap with the next ones.
        apart = t.exact or t.tail is not TailStrategy.ShiftInwards
        apart = apart and all(is_const(o, 0) for o in t.inner.overshoot)
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
        inner.loose = outer.loose = True
        inner.covered = inner.range
        outer.covered = outer.range
        if not all(is_const(o, 0) for o in fused.overshoot):
            outer.covered = Range(
                simplify(add(div(fused.visited.lo, size), outer.range.lo)),
                simplify(add(div(fused.visited.hi, size), outer.range.lo)),
            )
        # A run of `size` steps makes one of outer, and size is at least 1.
        outer.overshoot = outer.rounding = fused.overshoot

    def _unsplit(self, t: _Split) -> None:
        old, inner, outer, factor = t.old, t.inner, t.outer, t.factor
        nominal = old.range
        start = add(mul(outer.value, factor), nominal.lo)
        last = sub(nominal.hi, sub(factor, _ONE))
        (ilo, ihi), (olo, ohi) = inner.overshoot, outer.overshoot
        below = simplify(add(mul(olo, factor), ilo))
        above = simplify(add(mul(ohi, factor), ihi))
        (rilo, rihi), (rolo, rohi) = inner.rounding, outer.rounding
        rounding_below = add(mul(rolo, factor), rilo)
        rounding_above = add(mul(rohi, factor), rihi)
        most = sub(factor, _ONE)
        lo = add(add(mul(outer.visited.lo, factor), nominal.lo), inner.visited.lo)
        hi = add(add(mul(outer.visited.hi, factor), nominal.lo), inner.visited.hi)
        base = start
        if t.exact:
            if is_const(ohi, 0) and is_const(ihi, 0):
                hi = nominal.hi
        elif t.tail is TailStrategy.ShiftInwards:
            base = minimum(likely_if_innermost(start), last)
            if not self._where.proves(le(factor, nominal.extent)):
                below = simplify(add(below, most))
                missing = maximum(sub(factor, nominal.extent), _ZERO)
                rounding_below = add(rounding_below, minimum(missing, most))
                lo = minimum(lo, add(last, inner.visited.lo))
            hi, above, rounding_above = add(nominal.hi, ihi), ihi, rihi
        elif t.tail is TailStrategy.RoundUp:
            above = simplify(add(above, most))
            missing = mod(sub(_ZERO, nominal.extent), factor)
            rounding_above = add(rounding_above, missing)
        old.value = add(self._name(f"{old.var.name}.base", simplify(base)), inner.value)
        if t.tail is TailStrategy.GuardWithIf and not (t.exact and is_const(above, 0)):
            depth = self.depth_of(old.value)
            self.guards.append(Guard(depth, likely(le(old.value, nominal.hi))))
            old.guarded = depth
            hi, above, rounding_above = nominal.hi, _ZERO, _ZERO
        old.depths = outer.depths | inner.depths
        old.guarded = max(old.guarded, outer.guarded, inner.guarded)
        old.loose = outer.loose or inner.loose
        old.covered = Range(simplify(lo), simplify(hi))
        old.overshoot = below, above
        old.rounding = simplify(rounding_below), simplify(rounding_above)

    def region(self, depth: int) -> dict[Var, SymInterval]:
        """What each of the stage's variables spans inside `depth` loops: loops
        further out are points, those further in run through."""
        scope = {
            loop.var: SymInterval(axis.range.lo, axis.range.hi)
            for loop, axis in zip(self.loops[depth:], self._axes[depth:], strict=True)
        }
        out: dict[Var, SymInterval] = {}
        for v, axis in self._roots.items():
            if all(d > depth for d in axis.depths):
                out[v] = SymInterval(axis.visited.lo, axis.visited.hi)
                continue
            b = bounds_of(axis.value, scope)
            lo = axis.visited.lo if b.lo is None else b.lo
            hi = axis.visited.hi if b.hi is None else b.hi
            if axis.loose:
                # Storage further out is for what the loops visit, and no more.
                lo = maximum(lo, axis.visited.lo)
                hi = minimum(hi, axis.visited.hi)
            elif axis.guarded > depth:
                # Further in, the guard is around: the point is one of the region.
                hi = minimum(hi, axis.visited.hi)
            out[v] = SymInterval(simplify(lo), simplify(hi))
        return out


def _adopt(t: _Rename) -> None:
    old, new = t.old, t.new
    old.value, old.covered = new.value, new.covered
    old.overshoot, old.rounding = new.overshoot, new.rounding
    old.depths, old.guarded, old.loose = new.depths, new.guarded, new.loose


def _at_least_none(extent: Expr) -> Expr:
    """`extent`, or zero where it is negative: two negative ones multiply to more."""
    return extent if can_prove(le(_ZERO, extent)) else maximum(extent, _ZERO)


def hull(a: Range, b: Range) -> Range:
    """The least range that contains both."""
    return Range(simplify(minimum(a.lo, b.lo)), simplify(maximum(a.hi, b.hi)))


__all__ = ["Guard", "Loop", "Range", "StageLoops", "Steps", "hull"]
