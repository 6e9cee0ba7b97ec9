"""The loop nest of one stage: ranges of its loops, and its variables in their terms.

A stage's variables (pure Vars and RVars) are transformed by splits, fuses and renames
into the loops of the schedule. Ranges flow down (a split's outer and inner ranges
follow from the old one), values flow up (the old variable is a sum of the new ones).

Three regions of a variable matter:

- *nominal*: what was asked for;
- *covered*: what the loops visit, after rounding by the tails of splits;
- *overshoot*: an upper bound, below and above, of how far covered exceeds nominal
  wherever the nest runs, which regions seen from outer loops add to be safe.
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
    maximum,
    minimum,
    mod,
    mul,
    sub,
)
from parhelion.ir.expr import Expr, Var
from parhelion.ir.stmt import LetStmt
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


class StageLoops:
    """See the module's text. `nominal` gives the region of each variable."""

    def __init__(self, stage: Stage, nominal: Mapping[Var, Range]) -> None:
        self.stage = stage
        self.ranges: dict[Var, Range] = dict(nominal)
        self.roots = tuple(nominal)
        self._exact: dict[Split, bool] = {}
        for t in stage.schedule.transforms:
            self._range(t)
        self.loops: list[Loop] = []
        self._depth: dict[Var, int] = {}
        self.values: dict[Var, Expr] = {}
        for depth, dim in enumerate(reversed(stage.schedule.dims), 1):
            r = self.ranges[dim.var]
            var = Var(f"{stage.name}.{dim.var.name}", INT32, lo=r.lo, hi=r.hi)
            self.loops.append(Loop(dim, var, r.lo, r.extent))
            self.values[dim.var] = var
            self._depth[var] = depth
        #: Lets to place right inside a number of loops, in order.
        self.lets: list[tuple[int, LetStmt]] = []
        self.guards: list[Guard] = []
        self._leaves: dict[Var, frozenset[int]] = {
            loop.dim.var: frozenset((depth,))
            for depth, loop in enumerate(self.loops, 1)
        }
        self._clipped: dict[Var, Expr] = {}
        self.covered: dict[Var, Range] = {
            loop.dim.var: self.ranges[loop.dim.var] for loop in self.loops
        }
        self.overshoot: dict[Var, tuple[Expr, Expr]] = {
            loop.dim.var: (_ZERO, _ZERO) for loop in self.loops
        }
        for t in reversed(stage.schedule.transforms):
            self._value(t)

    # Ranges, downwards.

    def _range(self, t: Split | Fuse | Rename) -> None:
        if isinstance(t, Rename):
            self.ranges[t.new] = self.ranges[t.old]
        elif isinstance(t, Fuse):
            total = mul(
                *(_at_least_none(self.ranges[v].extent) for v in (t.inner, t.outer))
            )
            self.ranges[t.fused] = Range(_ZERO, simplify(sub(total, _ONE)))
        else:
            extent = self.ranges[t.old].extent
            self._exact[t] = can_prove_multiple(extent, t.factor)
            count = div(add(extent, sub(t.factor, _ONE)), t.factor)
            if self._exact[t]:
                count = div(extent, t.factor)
            self.ranges[t.outer] = Range(_ZERO, simplify(sub(count, _ONE)))
            self.ranges[t.inner] = Range(_ZERO, sub(t.factor, _ONE))

    # Values, upwards.

    def depth_of(self, e: Expr) -> int:
        """How many loops must be entered before `e` has its value."""
        from parhelion.ir.rewrite import free_vars

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

    def _value(self, t: Split | Fuse | Rename) -> None:
        if isinstance(t, Rename):
            self._adopt(t.old, t.new)
        elif isinstance(t, Fuse):
            self._unfuse(t)
        else:
            self._unsplit(t)

    def _adopt(self, old: Var, new: Var) -> None:
        for table in (self.values, self._leaves, self.covered, self.overshoot):
            table[old] = table[new]  # type: ignore[index]
        if new in self._clipped:
            self._clipped[old] = self._clipped[new]

    def _unfuse(self, t: Fuse) -> None:
        inner, outer = self.ranges[t.inner], self.ranges[t.outer]
        fused = self.values[t.fused]
        size = _at_least_none(inner.extent)
        self.values[t.inner] = self._name(
            t.inner.name, simplify(add(mod(fused, size), inner.lo))
        )
        self.values[t.outer] = self._name(
            t.outer.name, simplify(add(div(fused, size), outer.lo))
        )
        self._leaves[t.inner] = self._leaves[t.outer] = self._leaves[t.fused]
        below, above = self.overshoot[t.fused]
        covered = self.covered[t.fused]
        self.covered[t.inner] = inner
        self.overshoot[t.inner] = (_ZERO, _ZERO)
        if is_const(below, 0) and is_const(above, 0):
            self.covered[t.outer] = outer
        else:
            self.covered[t.outer] = Range(
                simplify(add(div(covered.lo, size), outer.lo)),
                simplify(add(div(covered.hi, size), outer.lo)),
            )
        # A run of `size` steps makes one of outer, and size is at least 1.
        self.overshoot[t.outer] = (below, above)

    def _unsplit(self, t: Split) -> None:
        old, factor = self.ranges[t.old], t.factor
        start = add(mul(self.values[t.outer], factor), old.lo)
        last = sub(old.hi, sub(factor, _ONE))
        inner = self.covered[t.inner]
        outer = self.covered[t.outer]
        (ilo, ihi), (olo, ohi) = self.overshoot[t.inner], self.overshoot[t.outer]
        below = simplify(add(mul(olo, factor), ilo))
        above = simplify(add(mul(ohi, factor), ihi))
        lo = add(add(mul(outer.lo, factor), old.lo), inner.lo)
        hi = add(add(mul(outer.hi, factor), old.lo), inner.hi)
        base = start
        if self._exact[t]:
            if is_const(ohi, 0) and is_const(ihi, 0):
                hi = old.hi
        elif t.tail is TailStrategy.ShiftInwards:
            base = minimum(likely(start), last)
            if not can_prove(le(factor, old.extent)):
                below = simplify(add(below, sub(factor, _ONE)))
                lo = minimum(lo, add(last, inner.lo))
            hi, above = add(old.hi, ihi), ihi
        elif t.tail is TailStrategy.RoundUp:
            above = simplify(add(above, sub(factor, _ONE)))
        value = add(
            self._name(f"{t.old.name}.base", simplify(base)), self.values[t.inner]
        )
        if t.tail is TailStrategy.GuardWithIf and not (
            self._exact[t] and is_const(above, 0)
        ):
            self.guards.append(Guard(self.depth_of(value), likely(le(value, old.hi))))
            self._clipped[t.old] = old.hi
            hi, above = old.hi, _ZERO
        self.values[t.old] = value
        self._leaves[t.old] = self._leaves[t.outer] | self._leaves[t.inner]
        self.covered[t.old] = Range(simplify(lo), simplify(hi))
        self.overshoot[t.old] = (below, above)

    # The regions seen from inside the nest.

    def region(self, depth: int) -> dict[Var, SymInterval]:
        """What each of the stage's variables spans inside `depth` loops: loops
        further out are points, those further in run through."""
        scope = {loop.var: self._loop_interval(loop) for loop in self.loops[depth:]}
        out: dict[Var, SymInterval] = {}
        for v in self.roots:
            if all(d > depth for d in self._leaves[v]):
                r = self.covered[v]
                out[v] = SymInterval(r.lo, r.hi)
                continue
            b = bounds_of(self.values[v], scope)
            assert b.lo is not None and b.hi is not None
            hi = b.hi
            if v in self._clipped:
                hi = minimum(hi, self._clipped[v])
            out[v] = SymInterval(simplify(b.lo), simplify(hi))
        return out

    def _loop_interval(self, loop: Loop) -> SymInterval:
        r = self.ranges[loop.dim.var]
        return SymInterval(r.lo, r.hi)


def _at_least_none(extent: Expr) -> Expr:
    """`extent`, or zero where it is negative: two negative ones multiply to more."""
    return extent if can_prove(le(_ZERO, extent)) else maximum(extent, _ZERO)


def can_prove_multiple(extent: Expr, factor: Expr) -> bool:
    """Whether `factor` surely divides `extent`."""
    if is_const(factor, 1):
        return True
    return is_const(simplify(mod(extent, factor)), 0)


def hull(a: Range, b: Range) -> Range:
    """The least range that contains both."""
    return Range(simplify(minimum(a.lo, b.lo)), simplify(maximum(a.hi, b.hi)))


__all__ = ["Guard", "Loop", "Range", "StageLoops", "can_prove_multiple", "hull"]
