"""Runs one update definition over its reduction domain."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from parhelion.interp.grid import Grid, Guard, Realization, Source
from parhelion.interp.order import UfuncUpdate, order_of
from parhelion.interp.region import Box, Mask, shape_of, volume
from parhelion.interp.values import Array
from parhelion.ir import expr as E
from parhelion.ir.build import is_true
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.node import Node
from parhelion.ir.rewrite import nodes

#: How many points are computed at once, at most (of the order of 100 MB of arrays).
_MOST_POINTS = 1 << 21

#: With so many pure points, one step for each point of the RDom is faster.
_PURE_POINTS_TO_STEP = 2048


def _line(axis: int, axes: int, low: int, high: int) -> Array:
    """low..high along one axis of a grid."""
    shape = [1] * max(axes, 1)
    shape[axis] = -1
    return np.arange(low, high + 1, dtype=np.int32).reshape(shape)


def _ranges(source: Source, update: Definition) -> dict[Var, tuple[int, int]] | None:
    """The inclusive range of each RVar; None if the domain is empty."""
    ranges: dict[Var, tuple[int, int]] = {}
    if update.rdom is None:
        return ranges
    grid = Grid(source, {}, 0)
    rdom = update.rdom
    for var, low, extent in zip(rdom.vars, rdom.mins, rdom.extents, strict=True):
        first = int(grid.value(low).item())
        count = int(grid.value(extent).item())
        if grid.reason is not None:
            raise grid.reason
        if count <= 0:
            return None
        ranges[var] = (first, first + count - 1)
    return ranges


def _pure_ranges(
    func: Function, update: Definition, box: Box
) -> dict[Var, tuple[int, int]]:
    """The pure Vars of an update, which run over the box."""
    return {
        var: bounds
        for var, arg, bounds in zip(func.args, update.args, box, strict=True)
        if arg is var
    }


def update_grid(
    source: Source, func: Function, update: Definition, box: Box
) -> tuple[Grid, Expr | None] | None:
    """A grid over all points of an update, and the predicate if there is one; None if
    the update has no points."""
    ranges = _ranges(source, update)
    if ranges is None:
        return None
    ranges |= _pure_ranges(func, update, box)
    env = {v: _line(i, len(ranges), *r) for i, (v, r) in enumerate(ranges.items())}
    predicate = None if update.rdom is None else update.predicate
    if predicate is not None and is_true(predicate):
        predicate = None
    return Grid(source, env, len(ranges)), predicate


class Updater:
    """Applies `update` to `state`, the values of `func` so far."""

    def __init__(
        self, source: Source, func: Function, update: Definition, state: Realization
    ) -> None:
        self.source, self.func, self.update, self.state = source, func, update, state
        self.flat = [v.reshape(-1) for v in state.values]
        self.predicate = None if update.rdom is None else update.predicate
        if self.predicate is not None and is_true(self.predicate):
            self.predicate = None
        #: The values that may come from `undef`, as far as they have been looked at.
        self._undefined: dict[Expr, bool] = {}

    def run(self) -> None:
        rvars = _ranges(self.source, self.update)
        if rvars is None:
            return
        pure = _pure_ranges(self.func, self.update, self.state.box)
        order = order_of(self.func, self.update)
        pure_points = volume(tuple(pure.values()))
        folds = order.folds
        if pure_points >= _PURE_POINTS_TO_STEP and rvars:
            folds = None
        if folds is not None or not order.reads_itself:
            stepping: list[Var] = []
        else:
            stepping = [v for v in rvars if v not in order.independent]
        # Too many points at once: step through the slowest dimensions first, which
        # keeps the order.
        for v in reversed(list(rvars)):
            together = [r for w, r in rvars.items() if w not in stepping]
            if volume(tuple(together)) * pure_points <= _MOST_POINTS:
                break
            if v not in stepping:
                stepping.append(v)
        stepping.sort(key=list(rvars).index)
        # Axes: the RVars, slowest first, so that flat order is the domain's order.
        axes = [(v, rvars[v]) for v in reversed(rvars) if v not in stepping]
        duplicates = any(v not in order.independent for v, _ in axes)
        axes += list(pure.items())
        self._walk(axes, [(v, rvars[v]) for v in stepping], folds, duplicates)

    def _walk(
        self,
        axes: list[tuple[Var, tuple[int, int]]],
        stepping: list[tuple[Var, tuple[int, int]]],
        folds: tuple[UfuncUpdate, ...] | None,
        duplicates: bool,
    ) -> None:
        count = max(len(axes), 1)
        env = {v: _line(i, count, *r) for i, (v, r) in enumerate(axes)}
        steps = frozenset([v for v, _ in stepping])
        placing, valuing = (
            Grid(self.source, env, count, self.func, self.state, steps)
            for _ in range(2)
        )
        shape = shape_of(tuple([r for _, r in axes])) or (1,)
        for step in _lexicographic(stepping, count):
            placing.advance(step)
            valuing.advance(step)
            self._step(placing, valuing, shape, folds, duplicates)

    def _step(
        self,
        placing: Grid,
        valuing: Grid,
        shape: tuple[int, ...],
        folds: tuple[UfuncUpdate, ...] | None,
        duplicates: bool,
    ) -> None:
        """Computes and writes the points of one step."""
        guard: Guard | None = None
        if self.predicate is not None:
            holds = placing.value(self.predicate)
            if placing.spoiled is None and not bool(holds.any()):
                return
            if not bool(holds.all()):
                guard = Guard(holds, variant=True)
        index = [placing.value(a, guard) for a in self.update.args]
        if placing.spoiled is not None:
            self._spoil_all(placing)
            return
        values = _operands(folds) if folds else self.update.values
        made = [valuing.value(v, guard) for v in values]
        spoils = valuing.spoils(values, guard)
        defined = [self._defined(valuing, v, guard) for v in values]
        target, written = self._targets(index, guard, shape)
        for k, value in enumerate(made):
            at, here = target, written
            kept = defined[k]
            if kept is not None:
                keep = np.broadcast_to(kept, shape).ravel()
                at, here = at[keep[here]], here[keep[here]]
            if here.size == 0:
                continue
            self._spoil(k, at, here, spoils[k], shape, folds is not None)
            new = np.broadcast_to(value, shape).reshape(-1)[here]
            if folds is not None:
                folds[k].ufunc.at(self.flat[k], at, new)
                continue
            if duplicates:
                at, new = _last_of_each(at, new)
            self.flat[k][at] = new
        if self.state.reason is None:
            self.state.reason = valuing.reason

    def _defined(self, grid: Grid, root: Expr, guard: Guard | None) -> Mask | None:
        """Where the value of an expression, now known, does not come from `undef`;
        None means everywhere."""
        if root not in self._undefined:
            self._undefined[root] = any([_is_undef(n) for n in nodes(root)])
        return _Defined(grid, guard).of(root) if self._undefined[root] else None

    def _targets(
        self, index: list[Array], guard: Guard | None, shape: tuple[int, ...]
    ) -> tuple[Array, Array]:
        """For each point that writes inside the box, in order: the flat place that it
        writes, and its number."""
        inside: Mask = np.ones((1,) * len(shape), np.bool_)
        if guard is not None:
            inside = guard.holds
        place: Array = np.zeros((1,) * len(shape), np.int64)
        stride = 1
        for i, (low, high) in reversed(list(zip(index, self.state.box, strict=True))):
            at = i.astype(np.int64)
            inside = inside & (low <= at) & (at <= high)
            place = place + (at - low) * stride
            stride *= high - low + 1
        points = np.flatnonzero(np.broadcast_to(inside, shape))
        return np.broadcast_to(place, shape).reshape(-1)[points], points

    def _spoil_all(self, placing: Grid) -> None:
        """Marks all points: where this step writes is not known."""
        self.state.spoiled = [
            np.ones(shape_of(self.state.box), np.bool_) for _ in self.state.values
        ]
        if self.state.reason is None:
            self.state.reason = placing.reason

    def _spoil(
        self,
        k: int,
        at: Array,
        points: Array,
        spoiled: Mask | None,
        shape: tuple[int, ...],
        folds: bool,
    ) -> None:
        """Marks what is computed from spoiled points, and unmarks what is not."""
        marks = self.state.spoiled[k]
        if spoiled is None and (marks is None or folds):
            return
        if marks is None:
            marks = np.zeros(shape_of(self.state.box), np.bool_)
            self.state.spoiled[k] = marks
        flat = marks.reshape(-1)
        if spoiled is None:
            flat[at] = False
            return
        bad = np.broadcast_to(spoiled, shape).reshape(-1)[points]
        if not folds:
            # Of several writes to one place the last one counts.
            flat[at] = False
            at, bad = _last_of_each(at, bad)
        flat[at[bad]] = True


def _operands(folds: tuple[UfuncUpdate, ...]) -> tuple[Expr, ...]:
    return tuple([f.operand for f in folds])


def _lexicographic(
    stepping: list[tuple[Var, tuple[int, int]]], axes: int
) -> Iterator[Mapping[Var, Array]]:
    """The points of the dimensions given, the first fastest."""
    names = [v for v, _ in reversed(stepping)]
    spans = [range(low, high + 1) for _, (low, high) in reversed(stepping)]
    shape = (1,) * axes
    for point in itertools.product(*spans):
        yield {
            v: np.full(shape, p, np.int32) for v, p in zip(names, point, strict=True)
        }


def _last_of_each(at: Array, new: Array) -> tuple[Array, Array]:
    """Only the last of several writes to a place: NumPy promises no order."""
    places, first_from_behind = np.unique(at[::-1], return_index=True)
    return places, new[::-1][first_from_behind]


def _is_undef(e: Node) -> bool:
    return isinstance(e, E.Intrinsic) and e.op == "undef"


class _Defined:
    """Where expressions have values that do not come from `undef`."""

    def __init__(self, grid: Grid, guard: Guard | None) -> None:
        self._grid = grid
        self._guard = guard
        self._everywhere: Mask = np.ones((1,) * grid.axes, np.bool_)
        self._known: dict[Expr, Mask] = {}

    def of(self, e: Expr) -> Mask:
        if e not in self._known:
            self._known[e] = self._find(e)
        return self._known[e]

    def _find(self, e: Expr) -> Mask:
        if _is_undef(e):
            return ~self._everywhere
        if isinstance(e, E.Select):
            cond = self._grid.value(e.cond, self._guard)
            return np.where(cond, self.of(e.a), self.of(e.b)) & self.of(e.cond)
        made = self._everywhere
        for c in e.children():
            made = made & self.of(c)
        return made
