"""The scheduler `Forma`: groups of fused stages, each in parallel and in vectors.

What a group stores is computed whole (`compute_root`), all else where it is used. The
loop along the rows is vectorised; the outermost one runs in parallel, in strips of so
many points that small domains are one strip; loops are unrolled by the periods of the
composes in them. Nothing outside of a domain is computed or written.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.errors import located
from parhelion.forma.funcs import Funcs, Loops
from parhelion.forma.fuse import Fusion, Group
from parhelion.forma.stages import Compose, Output
from parhelion.ir import build
from parhelion.ir.expr import Expr, Imm
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func, Stage
from parhelion.lang.rdom import RVar
from parhelion.lang.target_api import Target
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.simplify.simplifier import simplify

#: Of all splits: what a domain has no points for is neither computed nor written.
TAIL = TailStrategy.GuardWithIf

#: Points of a strip, which is one task of a parallel loop.
_STRIP = 1 << 14
#: A dimension of so few points is no loop in vectors, nor one in parallel: along
#: others there are more of them.
_FEW = 8
#: Results of fewer bits are computed in vectors of so wide ones, as arithmetic is.
_NARROW = 32


def schedule(funcs: Funcs, fusion: Fusion, target: Target) -> None:
    """Gives the Funcs of a program their schedules."""
    copies = {result.output: result.func for result in funcs.results}
    in_place = {r.output.source.stage for r in funcs.results if r.is_stage}
    for group in fusion.groups:
        stored = group.stored
        with located(stored.span.site()):
            if isinstance(stored, Output):
                _store(copies[stored], group, funcs, target)
                continue
            f = funcs.stages[stored]
            if stored not in in_place:
                f.compute_root()
            _store(f, group, funcs, target)


def whole_stages(funcs: Funcs, fusion: Fusion) -> None:
    """Gives the Funcs of a program the plainest schedule: what each group stores is
    computed whole, one point after the other."""
    in_place = {r.output.source.stage for r in funcs.results if r.is_stage}
    for group in fusion.groups:
        stored = group.stored
        if not isinstance(stored, Output) and stored not in in_place:
            with located(stored.span.site()):
                funcs.stages[stored].compute_root()


def _store(f: Func, group: Group, funcs: Funcs, target: Target) -> None:
    """The loops of what a group stores."""
    stored = group.stored
    source = stored.source if isinstance(stored, Output) else stored
    extents = [funcs.sizes[size] for size in source.sizes]
    xs = f.args()[: len(extents)]
    for x, extent in zip(xs, extents, strict=True):
        f.bound(x, 0, wrap(extent))
    lanes = lanes_for(f, target)
    parts: tuple[Loops, ...] = ()
    if isinstance(stored, Compose):
        parts = funcs.parts.get(stored, ())
    if not isinstance(stored, Compose) or not parts or not stored.covers:
        whole = tuple(zip(xs, extents, strict=True))
        _Nest(f, whole, group.periods, lanes).schedule()
    for k, loops in enumerate(parts):
        _Nest(f.update(k), loops, (1,) * len(loops), lanes).schedule()


def lanes_for(f: Func, target: Target) -> int:
    """How many lanes vectors have: a register of the widest type of the results."""
    widest = max(f.types(), key=lambda t: t.width)
    return target.natural_vector_size(widest.with_bits(max(widest.width, _NARROW)))


class _Nest:
    """The loops of one definition. loops: innermost first. periods: along each."""

    def __init__(
        self, stage: Func | Stage, loops: Loops, periods: Sequence[int], lanes: int
    ) -> None:
        self.stage, self.loops, self.periods = stage, loops, periods
        self.lanes = lanes
        many = [d for d, (_, n) in enumerate(loops) if not _is_few(n)] or [0]
        #: The loop in vectors, and the one in parallel: None if that is the same.
        self.row = many[0]
        self.outermost = many[-1] if len(many) > 1 else None

    def schedule(self) -> None:
        if not self.loops:
            return  # a part that is one point
        inner: list[Var | RVar] = []
        if isinstance(self.stage, Func):
            inner += self.stage.args()[len(self.loops) :]  # channels
        inner += [v for v, _ in self.loops[: self.row]]
        for (v, _), period in zip(self.loops, self.periods, strict=True):
            if period > 1:
                phase = _another(v, "p")
                self.stage.split(v, v, phase, period, TAIL)
                inner.append(phase)
        rows = [v for v, _ in self.loops[self.row :]]
        if self.outermost is not None:
            rows.append(rows.pop(self.outermost - self.row))
        task = self._task(rows)
        lane = _another(rows[0], "v")
        self.stage.split(rows[0], rows[0], lane, self.lanes, TAIL)
        self.stage.reorder(*inner, lane, *rows, *task)
        for v in inner:
            self.stage.unroll(v)
        self.stage.vectorize(lane)
        for v in task:
            self.stage.parallel(v)

    def _task(self, rows: list[Var | RVar]) -> list[Var | RVar]:
        """Splits the outermost loop into strips; returns the loop over them, if there
        may be several."""
        points: Expr = build.int32(1)
        for d, (_, extent) in enumerate(self.loops):
            if d != (self.row if self.outermost is None else self.outermost):
                points = build.mul(points, extent)
        strip = simplify(
            build.maximum(build.div(build.int32(_STRIP), points), build.int32(1))
        )
        d = self.row if self.outermost is None else self.outermost
        v, extent = self.loops[d]
        if isinstance(strip, Imm) and isinstance(extent, Imm):
            if extent.value <= strip.value:
                return []
        task = _another(v, "t")
        self.stage.split(v, task, v, wrap(strip), TAIL)
        return [task]


def _another(v: Var | RVar, suffix: str) -> Var | RVar:
    return type(v)(f"{v.name()}{suffix}")


def _is_few(extent: Expr) -> bool:
    return isinstance(extent, Imm) and extent.value <= _FEW


__all__ = ["TAIL", "lanes_for", "schedule", "whole_stages"]
