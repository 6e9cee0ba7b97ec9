"""Windows that slide over scans: each iteration goes on where the one before ended.

A scan computes each point from those before it, so that one production of it runs over
its whole domain. Where its storage lives outside of a loop along which what is needed
of it moves in the direction of the scan, the points of earlier iterations are there,
and so is what the next one begins with:

    for xo:                                    for xo:
      for r in [0, W - 1]:                       for r in [32 xo, 32 xo + 31]:
        f[r] = f[r - 1] + g[r]        ->           f[r] = f[r - 1] + g[r]
      for xi: h[32 xo + xi] = f[32 xo + xi]      for xi: h[32 xo + xi] = f[32 xo + xi]

The first iteration starts where the scan does, however far before the window that is;
points beyond the last window are not computed. So a scan along rows is in step with
what takes its values in, a summed-area table's scan along columns, say, and its row
stays in the nearest cache.

It is done for a Func that is nothing but a scan: its pure definition is undefined, its
last update is a recurrence (`analysis.recurrence`), and those before it write points
that the scan goes out from, which it does not write itself and which are made of other
Funcs. These are stored in the first iteration alone. Updates that change what the scan
has made would be read by it when it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from parhelion.analysis.bounds import SymInterval, bounds_of
from parhelion.analysis.recurrence import Recurrence, find_recurrence
from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    add,
    eq,
    int32,
    le,
    likely,
    lt,
    maximum,
    minimum,
    select,
    sub,
)
from parhelion.ir.expr import Expr, FuncCall, Intrinsic, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import Block, If, Stmt
from parhelion.lower.loops import Loop, Range
from parhelion.lower.stages import LoopStage
from parhelion.simplify.simplifier import can_prove, simplify

if TYPE_CHECKING:
    from parhelion.lower.regions import Regions

_ONE = int32(1)


@dataclass(frozen=True, slots=True)
class Scanned:
    """The scan that a Func is. stage: its last update; var, position, step: as in
    `Recurrence`; origin: what its coordinate has more than `step` times `var`."""

    stage: LoopStage
    var: Var
    position: int
    step: int
    origin: Expr

    def number(self, coordinate: Expr) -> Expr:
        """The value of `var` for which the scan writes at a coordinate."""
        if self.step > 0:
            return sub(coordinate, self.origin)
        return sub(self.origin, coordinate)


@dataclass(frozen=True, slots=True)
class ScanWindow:
    """What one iteration of `loop` runs over: values of the scan's variable."""

    stage: LoopStage
    var: Var
    range: Range
    loop: Loop

    def first(self, stage: LoopStage, made: Stmt) -> Stmt:
        """The loops of a stage of the Func, in the first iteration alone if they are of
        an update before the scan."""
        if stage is self.stage or stage.index == 0:
            return made
        later = likely(lt(self.loop.min, self.loop.var))
        return If(later, Block(()), made)


def scanned(regions: Regions, f: Function) -> Scanned | None:
    """The scan that a Func is, if it is nothing else."""
    if not f.updates or f.schedule.async_:
        return None
    stages = regions.program.stages[f]
    if len(stages) != len(f.updates) + 1:
        return None  # some are specialised
    pure, *before, last = stages
    if not all([isinstance(v, Intrinsic) and v.op == "undef" for v in pure.values]):
        return None
    found = find_recurrence(f, last.definition)
    if not isinstance(found, Recurrence):
        return None
    if last.args[found.position] is not found.coordinate:
        return None  # inlining has changed where it stores
    domain = last.rdom
    assert domain is not None
    step = sub if found.causal else add
    origin = simplify(step(found.coordinate, found.var))
    if not free_vars(origin).isdisjoint({*domain.vars, *f.args}):
        return None
    if not set(domain.vars) <= {v for a in last.args for v in free_vars(a)}:
        return None  # it is done again for each value of another variable
    made = Scanned(last, found.var, found.position, found.step, origin)
    return made if all([_precedes(regions, s, made) for s in before]) else None


def _precedes(regions: Regions, stage: LoopStage, scan: Scanned) -> bool:
    """Whether an update writes just points before those of the scan, and reads none of
    its own Func."""
    f, d = stage.func, scan.position
    exprs = (*stage.args, *stage.exprs, stage.predicate)
    if any([type(n) is FuncCall and n.func is f for e in exprs for n in nodes(e)]):
        return False
    if any([v is f.args[d] for v in stage.pure_vars]):
        return False
    nominal = regions.nominal(stage, tuple([Range(v, v) for v in f.args]))
    scope = {v: SymInterval(r.lo, r.hi) for v, r in nominal.items()}
    written = bounds_of(stage.args[d], scope, regions.value_bounds)
    first = scan.var.lo
    assert first is not None
    if scan.step > 0:
        start = add(first, scan.origin)
        return written.hi is not None and can_prove(lt(written.hi, start))
    start = sub(scan.origin, first)
    return written.lo is not None and can_prove(lt(start, written.lo))


def window(
    scan: Scanned, needed: Range, new: Range, loop: Loop, opened: Callable[[Expr], Expr]
) -> ScanWindow | None:
    """What is left to scan in an iteration of a loop; None if windows move against the
    scan.

    needed: the points that the iteration needs. new: those of them that the iterations
    before have not needed. opened: gives expressions in terms of the loop.
    """
    var, ahead = scan.var, scan.step > 0
    assert var.lo is not None and var.hi is not None
    begins, ends = (needed.lo, needed.hi) if ahead else (needed.hi, needed.lo)
    if (new.hi if ahead else new.lo) is not ends:
        return None
    before = substitute(opened(ends), {loop.var: sub(loop.var, _ONE)})
    start = simplify(add(before, _ONE) if ahead else sub(before, _ONE))
    # Windows side by side: the difference of the names of their ends is known.
    if can_prove(eq(opened(begins), start)):
        start = begins
    start, last = simplify(scan.number(start)), simplify(scan.number(ends))
    hi = last if can_prove(le(opened(last), var.hi)) else minimum(last, var.hi)
    lo = start if can_prove(le(var.lo, opened(start))) else maximum(start, var.lo)
    if not can_prove(eq(substitute(opened(lo), {loop.var: loop.min}), var.lo)):
        lo = select(likely(lt(loop.min, loop.var)), lo, var.lo)
    return ScanWindow(scan.stage, var, Range(simplify(lo), simplify(hi)), loop)


__all__ = ["ScanWindow", "Scanned", "scanned", "window"]
