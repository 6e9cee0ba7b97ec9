"""The directives on the loops of one stage, as a mixin of Func and Stage.

Names, argument order and meaning are those of Halide 21's Python module. A directive
either takes effect as a whole or raises `ScheduleError` and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, overload

from parhelion.errors import ScheduleError, here
from parhelion.ir.function import Function
from parhelion.ir.stmt import ForKind
from parhelion.schedule.args import (
    HasVar,
    IntLike,
    tile_form,
    to_int,
    to_var,
    to_vars,
)
from parhelion.schedule.change import Change
from parhelion.schedule.concurrency import ConcurrentLoops
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.fusing import FusingLoops
from parhelion.schedule.gpu import GpuLoops
from parhelion.schedule.missing import MissingLoopDirectives
from parhelion.schedule.partition import PartitionDirectives


class LoopDirectives(
    PartitionDirectives, ConcurrentLoops, FusingLoops, GpuLoops, MissingLoopDirectives
):
    """Directives on the loops of one definition of a Func."""

    __slots__ = ()
    _function: Function
    _stage: int

    # The loops themselves.

    def split(
        self,
        old: HasVar,
        outer: HasVar,
        inner: HasVar,
        factor: IntLike,
        tail: TailStrategy = TailStrategy.Auto,
    ) -> Self:
        """``for x`` -> ``for xo: for xi in [0, factor - 1]``, ``x = xo*factor + xi``.

        `outer` or `inner` may be `old`. `tail` says what happens where the factor
        does not divide the extent.
        """
        with Change(self._function, self._stage) as change:
            change.split(
                to_var(old, f"{change.label}.split"),
                to_var(outer, f"{change.label}.split"),
                to_var(inner, f"{change.label}.split"),
                to_int(factor, f"{change.label}.split", "factor"),
                tail,
                "split",
            )
        return self

    def fuse(self, inner: HasVar, outer: HasVar, fused: HasVar) -> Self:
        """``for y: for x`` -> ``for t``, ``x = t % extent``, ``y = t / extent``.

        The fused loop stands where the inner one stood and keeps its kind.
        """
        with Change(self._function, self._stage) as change:
            change.fuse(
                to_var(inner, f"{change.label}.fuse"),
                to_var(outer, f"{change.label}.fuse"),
                to_var(fused, f"{change.label}.fuse"),
            )
        return self

    def rename(self, old_name: HasVar, new_name: HasVar) -> Self:
        """``for x`` -> ``for z``: the same loop under another name."""
        with Change(self._function, self._stage) as change:
            change.rename(
                to_var(old_name, f"{change.label}.rename"),
                to_var(new_name, f"{change.label}.rename"),
            )
        return self

    def reorder(
        self, *given: HasVar | Sequence[HasVar], vars: Sequence[HasVar] = ()
    ) -> Self:
        """The loops given, innermost first; the others keep their places.

        Takes the loops one by one or as one list.
        """
        with Change(self._function, self._stage) as change:
            change.reorder(to_vars(given or vars, f"{change.label}.reorder"), "reorder")
        return self

    @overload
    def tile(
        self,
        x: HasVar,
        y: HasVar,
        xo: HasVar,
        yo: HasVar,
        xi: HasVar,
        yi: HasVar,
        xfactor: IntLike,
        yfactor: IntLike,
        tail: TailStrategy = ...,
    ) -> Self: ...

    @overload
    def tile(
        self,
        x: HasVar,
        y: HasVar,
        xi: HasVar,
        yi: HasVar,
        xfactor: IntLike,
        yfactor: IntLike,
        tail: TailStrategy = ...,
    ) -> Self: ...

    @overload
    def tile(
        self,
        previous: Sequence[HasVar],
        outers: Sequence[HasVar],
        inners: Sequence[HasVar],
        factors: Sequence[IntLike],
        tail: TailStrategy = ...,
    ) -> Self: ...

    @overload
    def tile(
        self,
        previous: Sequence[HasVar],
        inners: Sequence[HasVar],
        factors: Sequence[IntLike],
        tail: TailStrategy = ...,
    ) -> Self: ...

    def tile(self, *given: object, **named: object) -> Self:
        """``for y: for x`` -> ``for y: for x: for yi: for xi``.

        Splits each loop by its factor and puts the inner ones inside the outer ones,
        which keep their names or take those given (`xo`, `yo`; `outers`).
        """
        with Change(self._function, self._stage) as change:
            label = f"{change.label}.tile"
            form = tile_form(label, given, named)
            olds = [to_var(v, label) for v in form.olds]
            outers = [to_var(v, label) for v in form.outers]
            inners = [to_var(v, label) for v in form.inners]
            for old, outer, inner, factor in zip(
                olds, outers, inners, form.factors, strict=True
            ):
                size = to_int(factor, label, "factor")
                change.split(old, outer, inner, size, form.tail, "tile")
            change.reorder(inners + outers, "tile")
        return self

    # How a loop runs.

    def serial(self, var: HasVar) -> Self:
        """The iterations of `var` run one after the other (the default)."""
        with Change(self._function, self._stage) as change:
            change.mark(to_var(var, f"{change.label}.serial"), ForKind.SERIAL, "serial")
        return self

    def parallel(
        self,
        var: HasVar,
        task_size: IntLike | None = None,
        tail: TailStrategy = TailStrategy.Auto,
    ) -> Self:
        """The iterations of `var` are tasks of the thread pool.

        With a task size, `var` is split by it first and each task runs that many.
        """
        with Change(self._function, self._stage) as change:
            loop = to_var(var, f"{change.label}.parallel")
            if task_size is not None:
                size = to_int(task_size, f"{change.label}.parallel", "task size")
                change.split_off(loop, size, tail, "parallel")
            change.mark(loop, ForKind.PARALLEL, "parallel")
        return self

    def vectorize(
        self,
        var: HasVar,
        factor: IntLike | None = None,
        tail: TailStrategy = TailStrategy.Auto,
    ) -> Self:
        """The iterations of `var` become the lanes of vectors.

        With a factor, `var` is split by it first, and the new inner loop becomes
        the lanes. Their number must be constant.
        """
        with Change(self._function, self._stage) as change:
            change.lanes(var, factor, tail, ForKind.VECTORIZED, "vectorize")
        return self

    def unroll(
        self,
        var: HasVar,
        factor: IntLike | None = None,
        tail: TailStrategy = TailStrategy.Auto,
    ) -> Self:
        """The iterations of `var` are written out one after the other.

        With a factor, `var` is split by it first, and the new inner loop is
        unrolled. Its length must be constant.
        """
        with Change(self._function, self._stage) as change:
            change.lanes(var, factor, tail, ForKind.UNROLLED, "unroll")
        return self

    def unscheduled(self) -> None:
        """Says that leaving this stage without directives is intended."""
        with Change(self._function, self._stage) as change:
            if change.schedule.touched:
                raise ScheduleError(
                    f"{change.label}.unscheduled: the stage has directives already",
                    at=here(),
                )
