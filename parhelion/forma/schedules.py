"""The schedulers `Forma` and `Strips`: fused groups, in parallel and in vectors.

What a group stores is computed whole (`compute_root`), all else where it is used;
`Strips` computes some groups in lines of others (see `forma.strips`). The
loop along the rows is vectorised; the outermost one runs in parallel, in strips of so
many points that small domains are one strip; loops are unrolled by the periods of the
composes in them. Nothing outside of a domain is computed or written.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.errors import located
from parhelion.forma.funcs import Funcs, Loops
from parhelion.forma.fuse import Fusion, Group
from parhelion.forma.narrow import widest
from parhelion.forma.stages import Compose, Output, Source, Stage
from parhelion.forma.strips import FEW, Line, Strips
from parhelion.ir import build
from parhelion.ir.expr import Expr, Imm
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.func import Stage as Definition
from parhelion.lang.rdom import RVar
from parhelion.lang.target_api import Target
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.simplify.simplifier import simplify
from parhelion.types import Int

#: Of all splits: what a domain has no points for is neither computed nor written.
TAIL = TailStrategy.GuardWithIf

#: Points of a strip, which is one task of a parallel loop.
_STRIP = 1 << 14
#: Numbers of fewer bits are computed in vectors of so wide ones.
_NARROWEST = 16


def schedule(funcs: Funcs, fusion: Fusion, target: Target) -> None:
    """Gives the Funcs of a program their schedules: each group is stored whole."""
    for group in fusion.groups:
        with located(group.stored.span.site()):
            _store(group, funcs, target, group.periods)


def schedule_strips(funcs: Funcs, strips: Strips, target: Target) -> None:
    """Gives the Funcs of a program their schedules, band after band (see
    `forma.strips`)."""
    for band in strips.bands:
        periods = (*band.root.periods[:-1], band.block)
        with located(band.root.stored.span.site()):
            nest = _store(band.root, funcs, target, periods, band.strip)
        for line in reversed(band.lines):
            with located(line.group.stored.span.site()):
                _lines(line, nest, funcs, target)


def whole_stages(funcs: Funcs, fusion: Fusion) -> None:
    """Gives the Funcs of a program the plainest schedule: what each group stores is
    computed whole, one point after the other."""
    in_place = {r.output.source.stage for r in funcs.results if r.is_stage}
    for group in fusion.groups:
        stored = group.stored
        if not isinstance(stored, Output) and stored not in in_place:
            with located(stored.span.site()):
                funcs.stages[stored].compute_root()


def _func_of(group: Group, funcs: Funcs) -> tuple[Func, tuple[Expr, ...]]:
    """The Func that a group stores, and the extents of its domain."""
    stored = group.stored
    if isinstance(stored, Output):
        (f,) = [one.func for one in funcs.results if one.output is stored]
        source: Source | Stage = stored.source
    else:
        f, source = funcs.stages[stored], stored
    return f, tuple([funcs.sizes[size] for size in source.sizes])


def _store(
    group: Group,
    funcs: Funcs,
    target: Target,
    periods: Sequence[int],
    strip: int = 1,
) -> _Nest:
    """Stores what a group computes whole. periods: how many points are computed at
    once, in each dimension; strip: how many lines are a task at least. Returns the
    loops of its first definition."""
    stored = group.stored
    f, extents = _func_of(group, funcs)
    in_place = {r.output.source.stage for r in funcs.results if r.is_stage}
    if not isinstance(stored, Output) and stored not in in_place:
        f.compute_root()
    xs = f.args()[: len(extents)]
    for x, extent in zip(xs, extents, strict=True):
        f.bound(x, 0, wrap(extent))
    lanes = _lanes(group, funcs, target)
    parts: tuple[Loops, ...] = ()
    if isinstance(stored, Compose):
        parts = funcs.parts.get(stored, ())
    whole = _Nest(f, tuple(zip(xs, extents, strict=True)), periods, lanes, strip)
    if not isinstance(stored, Compose) or not parts or not stored.covers:
        whole.schedule()
    for k, loops in enumerate(parts):
        _Nest(f.update(k), loops, (1,) * len(loops), lanes).schedule()
    return whole


def _lines(line: Line, root: _Nest, funcs: Funcs, target: Target) -> None:
    """Computes a group in lines of a band's root, whose loops are given."""
    group = line.group
    f, extents = _func_of(group, funcs)
    y, root_y = f.args()[-1], root.loops[-1][0]
    assert isinstance(root.stage, Func)
    if root.task:
        f.store_at(root.stage, root.task[0])
    else:
        f.store_root()
    f.compute_at(root.stage, root_y)
    xs = f.args()[:-1]
    for x, extent in zip(xs, extents[:-1], strict=True):
        f.bound(x, 0, wrap(extent))
    if group.periods[-1] > 1:
        f.align_bounds(y, group.periods[-1])
    loops = tuple(zip(f.args(), extents, strict=True))
    nest = _Nest(f, loops, group.periods, _lanes(group, funcs, target))
    nest.schedule(is_task=False)


def _lanes(group: Group, funcs: Funcs, target: Target) -> int:
    """How many lanes vectors have: a register of the widest numbers of a group."""
    made = [_func_of(group, funcs)[0], *[funcs.stages[s] for s in group.stages]]
    found = [d for one in made for d in one._function.stages()]
    values = [value for d in found for value in d.values]
    return target.natural_vector_size(Int(widest(values, _NARROWEST)))


class _Nest:
    """The loops of one definition. loops: innermost first. periods: along each. strip:
    how many points of the outermost one are a task at least."""

    def __init__(
        self,
        stage: Func | Definition,
        loops: Loops,
        periods: Sequence[int],
        lanes: int,
        strip: int = 1,
    ) -> None:
        self.stage, self.loops, self.periods = stage, loops, periods
        self.lanes, self.strip = lanes, strip
        #: The loop over tasks, if there may be several.
        self.task: list[Var | RVar] = []
        many = [d for d, (_, n) in enumerate(loops) if not _is_few(n)] or [0]
        #: The loop in vectors, and the one in parallel: None if that is the same.
        self.row = many[0]
        self.outermost = many[-1] if len(many) > 1 else None

    def schedule(self, is_task: bool = True) -> None:
        """is_task: whether it is one, or several at a time."""
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
        task = self.task = self._task() if is_task else []
        lane = _another(rows[0], "v")
        self.stage.split(rows[0], rows[0], lane, self.lanes, TAIL)
        self.stage.reorder(*inner, lane, *rows, *task)
        for v in inner:
            self.stage.unroll(v)
        self.stage.vectorize(lane)
        for v in task:
            self.stage.parallel(v)

    def _task(self) -> list[Var | RVar]:
        """Splits the outermost loop into strips; returns the loop over them, if there
        may be several."""
        points: Expr = build.int32(1)
        for d, (_, extent) in enumerate(self.loops):
            if d != (self.row if self.outermost is None else self.outermost):
                points = build.mul(points, extent)
        d = self.row if self.outermost is None else self.outermost
        least = build.int32(max(-(-self.strip // self.periods[d]), 1))
        strip = simplify(build.maximum(build.div(build.int32(_STRIP), points), least))
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
    return isinstance(extent, Imm) and extent.value <= FEW


__all__ = ["TAIL", "schedule", "schedule_strips", "whole_stages"]
