"""Whether a Func may be computed further than it is needed.

Rounding a loop up computes points that nobody asked for. That is harmless if they read
no more of any image than is there, whatever its size, and no more of any Func that may
not be computed further itself.
"""

from __future__ import annotations

from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.ir.bindings import SET
from parhelion.ir.build import add, conjunction, int32, le, sub
from parhelion.ir.expr import Expr, Intrinsic, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.modes import is_whole
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32

#: What must not be evaluated where the program does not ask for it.
_STRICT = {"require", "print", "promise_clamped"}


class Growth:
    """Answers for the Funcs of one graph, found by their definitions alone: they hold
    at any size."""

    def __init__(self, regions: Regions) -> None:
        self.regions = regions
        self._known: dict[tuple[Function, int], bool] = {}

    def harmless(self, f: Function, d: int) -> bool:
        """Whether any more of dimension `d` of `f` may be computed than is needed."""
        found = self._known.get((f, d))
        if found is None:
            found = self._known[f, d] = self._harmless(f, d)
        return found

    def _harmless(self, f: Function, d: int) -> bool:
        if is_whole(f):
            return False
        # The caller's buffer has no room for more, also where others read it.
        if f in self.regions.graph.outputs:
            return False
        v, said = f.args[d], f.schedule.storage.get(d)
        if said is not None and (said.fold is not None or said.bound is not None):
            return False
        if any(b.var is v for b in f.schedule.bounds):
            return False
        stages = self.regions.graph.stages.get(f, ())
        return all(self._stage(s, v) for s in stages if v in s.pure)

    def _stage(self, stage: GraphStage, v: Var) -> bool:
        for e in stage.exprs:
            if any(isinstance(n, Intrinsic) and n.op in _STRICT for n in nodes(e)):
                return False
        reads = self.regions.reads(stage)
        ends = set(reads.ends[v])
        for source, box in reads.symbolic.items():
            for d, side in enumerate(box):
                if side.lo is None or side.hi is None:
                    return False
                if ends.isdisjoint(free_vars(side.lo) | free_vars(side.hi)):
                    continue
                if isinstance(source, BufferSym):
                    if not _within(source, d, side.lo, side.hi):
                        return False
                elif source is not stage.func and not self.harmless(source, d):
                    return False
        return True


def _within(image: BufferSym, d: int, lo: Expr, hi: Expr) -> bool:
    """Whether what is read of an image is there, whatever is asked for."""
    dim = image.dims[d]
    if image.embedded:
        at = SET.of(image).dim(d)
        if at.extent() < 1:
            return False
        known: dict[Var, Expr] = {
            dim.min: int32(at.min()),
            dim.extent: int32(at.extent()),
        }
    else:
        # An image of no pixels has none to read in any way.
        known = {dim.extent: Var(dim.extent.name, INT32, lo=int32(1))}
    last = sub(add(dim.min, dim.extent), int32(1))
    low, high, lo, hi = [
        simplify(substitute(e, known)) for e in (dim.min, last, lo, hi)
    ]
    return can_prove(conjunction([le(low, lo), le(hi, high)]))


__all__ = ["Growth"]
