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
        """Splits a loop in two, of which the inner one runs `factor` iterations.

        ``for x`` becomes ``for xo: for xi in [0, factor - 1]``, with ``xo*factor + xi``
        in place of `x`, counted from the first `x`. `outer` or `inner` may be `old`.
        `tail` says what happens where the factor does not divide the extent.

        Raises ScheduleError if there is no loop `old`, a new name is in use, the factor
        is not positive, or the tail strategy could change the result.

        >>> f, xo, xi = hl.Func("f"), hl.Var("xo"), hl.Var("xi")
        >>> f[x] = x * x
        >>> f.split(x, xo, xi, 8).print_loop_nest()
        produce f:
          for x.xo:
            for x.xi in [0, 7]:
              f(...) = ...
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
        """Makes one loop of two, which runs through all pairs of their iterations.

        ``for y: for x`` becomes ``for t``, with ``t % extent`` in place of `x` and
        ``t / extent`` in place of `y`, where `extent` is that of `x`. The fused loop
        stands where the inner one stood and keeps its kind.

        Raises ScheduleError if one of the loops is not there, the new name is in use,
        or the order of iterations would change the result.

        >>> f, t = hl.Func("f"), hl.Var("t")
        >>> f[x, y] = x + y
        >>> f.fuse(x, y, t).parallel(t).print_loop_nest()
        produce f:
          parallel x.t:
            f(...) = ...
        """
        with Change(self._function, self._stage) as change:
            change.fuse(
                to_var(inner, f"{change.label}.fuse"),
                to_var(outer, f"{change.label}.fuse"),
                to_var(fused, f"{change.label}.fuse"),
            )
        return self

    def rename(self, old_name: HasVar, new_name: HasVar) -> Self:
        """Gives a loop another name: ``for x`` becomes ``for z``.

        Raises ScheduleError if there is no such loop, or the new name is in use.
        """
        with Change(self._function, self._stage) as change:
            change.rename(
                to_var(old_name, f"{change.label}.rename"),
                to_var(new_name, f"{change.label}.rename"),
            )
        return self

    def reorder(
        self, *given: HasVar | Sequence[HasVar], vars: Sequence[HasVar] = ()
    ) -> Self:
        """Puts the loops given inside each other in this order, innermost first.

        They take up the places that they have now among them; all other loops stay
        where they are. Takes the loops one by one or as one list. Raises ScheduleError
        if one is not there or is given twice, or if the order of iterations would
        change the result.

        >>> f = hl.Func("f")
        >>> f[x, y] = x + y
        >>> f.reorder(y, x).print_loop_nest()
        produce f:
          for x:
            for y:
              f(...) = ...
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
        """Cuts dimensions into tiles: splits each loop by its factor, and puts the
        inner ones inside the outer ones.

        ``for y: for x`` becomes ``for y: for x: for yi: for xi``. The outer loops keep
        their names or take those given (`xo`, `yo`; `outers`). A tail strategy may
        follow in each form::

            tile(x, y, xi, yi, xfactor, yfactor)
            tile(x, y, xo, yo, xi, yi, xfactor, yfactor)
            tile(previous, inners, factors)     # lists, for any number of loops
            tile(previous, outers, inners, factors)

        Raises ScheduleError as `split` and `reorder` do.

        >>> f, xi, yi = hl.Func("f"), hl.Var("xi"), hl.Var("yi")
        >>> f[x, y] = x + y
        >>> f.tile(x, y, xi, yi, 8, 4).print_loop_nest()
        produce f:
          for y.y:
            for x.x:
              for y.yi in [0, 3]:
                for x.xi in [0, 7]:
                  f(...) = ...
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
        """Runs the iterations of `var` one after the other, as loops do by default.

        Raises ScheduleError if there is no such loop.
        """
        with Change(self._function, self._stage) as change:
            change.mark(to_var(var, f"{change.label}.serial"), ForKind.SERIAL, "serial")
        return self

    def parallel(
        self,
        var: HasVar,
        task_size: IntLike | None = None,
        tail: TailStrategy = TailStrategy.Auto,
    ) -> Self:
        """Runs the iterations of `var` as tasks of the thread pool.

        With a task size, `var` is split by it first and each task runs that many.
        Raises ScheduleError if there is no such loop, or its iterations depend on each
        other.

        >>> f = hl.Func("f")
        >>> f[x, y] = x + y
        >>> f.parallel(y, 16).print_loop_nest()
        produce f:
          parallel y.y:
            for y.v0 in [0, 15]:
              for x:
                f(...) = ...
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
        """Runs the iterations of `var` at once, as the lanes of vectors.

        With a factor, `var` is split by it first, and the new inner loop becomes the
        lanes. Their number must be constant. Raises ScheduleError if it is not, if
        there is no such loop, or if its iterations depend on each other.

        >>> f = hl.Func("f")
        >>> f[x] = x * x
        >>> f.vectorize(x, 8).print_loop_nest()
        produce f:
          for x.x:
            vectorized x.v0 in [0, 7]:
              f(...) = ...
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
        """Writes the iterations of `var` out one after the other, without a loop.

        With a factor, `var` is split by it first, and the new inner loop is unrolled.
        Its length must be constant. Raises ScheduleError if it is not, or if there is
        no such loop.

        >>> f = hl.Func("f")
        >>> f[x, c] = x + c
        >>> f.bound(c, 0, 3).unroll(c).print_loop_nest()
        produce f:
          unrolled c in [0, 2]:
            for x:
              f(...) = ...
        """
        with Change(self._function, self._stage) as change:
            change.lanes(var, factor, tail, ForKind.UNROLLED, "unroll")
        return self

    def unscheduled(self) -> None:
        """Says that this stage has no directives on purpose, so that no warning asks
        for some.

        Raises ScheduleError if it has directives already.

        >>> f = hl.Func("f")
        >>> f[x] = x
        >>> f[0] += 5
        >>> f.vectorize(x, 8).update(0).unscheduled()
        """
        with Change(self._function, self._stage) as change:
            if change.schedule.touched:
                raise ScheduleError(
                    f"{change.label}.unscheduled: the stage has directives already",
                    at=here(),
                )
