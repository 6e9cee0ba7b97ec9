"""The directives that users write, as mixins: what Func and Stage inherit.

`LoopDirectives` (from `schedule.loops`) shapes the loops of one definition;
`FuncDirectives` adds where a Func is computed and stored and what is promised of its
region. Names, argument order and meaning are those of Halide 21's Python module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, overload

from parhelion.errors import ScheduleError, here
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function, ReductionDomain
from parhelion.ir.stmt import ForKind
from parhelion.schedule import deps, rules
from parhelion.schedule.args import (
    HasFunction,
    HasLevel,
    HasVar,
    IntLike,
    to_int,
    to_var,
)
from parhelion.schedule.concurrency import ConcurrentFuncs
from parhelion.schedule.directives import (
    Bound,
    Dim,
    DimType,
    LoopLevel,
    Place,
    StageSchedule,
)
from parhelion.schedule.lazy import LazyFunc
from parhelion.schedule.loops import LoopDirectives
from parhelion.schedule.memoize import MemoizingFunc
from parhelion.schedule.missing import MissingFuncDirectives
from parhelion.schedule.storage import StorageDirectives

__all__ = ["FuncDirectives", "LoopDirectives", "initial_stage_schedule"]


def initial_stage_schedule(
    args: tuple[Expr, ...],
    func_args: tuple[Var, ...],
    rdom: ReductionDomain | None,
    *,
    function: Function,
    values: tuple[Expr, ...],
) -> StageSchedule:
    """The schedule of a definition ``function[args] = values`` as it is made.

    Reduction variables are innermost, in the order of their domain; then come the
    Func's own Vars that stand at their own position on the left-hand side.
    """
    found = deps.conflicts(function, args, values, rdom)
    dims = [
        Dim(
            r,
            ForKind.SERIAL,
            DimType.PURE_RVAR if conflict is None else DimType.IMPURE_RVAR,
        )
        for r, conflict in found.items()
    ]
    dims += [
        Dim(own, ForKind.SERIAL, DimType.PURE_VAR)
        for own, arg in zip(func_args, args, strict=True)
        if arg is own
    ]
    return StageSchedule(dims=tuple(dims))


class FuncDirectives(
    StorageDirectives,
    ConcurrentFuncs,
    MemoizingFunc,
    LazyFunc,
    LoopDirectives,
    MissingFuncDirectives,
):
    """Directives on a Func as a whole; those on loops are its pure definition's."""

    __slots__ = ()
    _stage = 0

    # Where it is computed and stored.

    @overload
    def compute_at(self, f: HasFunction, var: HasVar) -> Self: ...

    @overload
    def compute_at(self, f: HasFunction, *, rvar: HasVar) -> Self: ...

    @overload
    def compute_at(self, loop_level: HasLevel) -> Self: ...

    def compute_at(self, *given: object, **named: object) -> Self:
        """Computes what each iteration of a loop of `f` needs, inside that loop.

        Takes a consumer and its loop, or a LoopLevel. Unless `store_at` says otherwise,
        the storage lives as long as one iteration. Raises ScheduleError for other
        arguments, and when the pipeline is lowered, if what uses the Func is not inside
        such a loop.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y] = x + y
        >>> g[x, y] = f[x, y] + f[x, y + 1]
        >>> f = f.compute_at(g, y)
        >>> g.print_loop_nest()
        produce g:
          for y:
            produce f:
              for y:
                for x:
                  f(...) = ...
            consume f:
              for x:
                g(...) = ...
        """
        self._place("compute", "compute_at", given, named)
        return self

    def compute_root(self) -> Self:
        """Computes all that is needed, once, before the consumers.

        >>> f, g = hl.funcs("f g")
        >>> f[x] = x * x
        >>> g[x] = f[x] + f[x + 1]
        >>> f = f.compute_root()
        >>> g.print_loop_nest()
        produce f:
          for x:
            f(...) = ...
        consume f:
          produce g:
            for x:
              g(...) = ...
        """
        self._set_level("compute", LoopLevel(Place.ROOT, site=here()))
        return self

    def compute_inline(self) -> Self:
        """Computes each value where it is used (the default).

        An output is always computed into the caller's buffer: for one, a warning says
        when the pipeline is lowered that this has no effect.
        """
        schedule = self._function.schedule
        schedule.compute = LoopLevel(Place.INLINED, site=here())
        schedule.store = schedule.hoist = None
        return self

    @overload
    def store_at(self, f: HasFunction, var: HasVar) -> Self: ...

    @overload
    def store_at(self, f: HasFunction, *, rvar: HasVar) -> Self: ...

    @overload
    def store_at(self, loop_level: HasLevel) -> Self: ...

    def store_at(self, *given: object, **named: object) -> Self:
        """Keeps the storage for one iteration of a loop outside `compute_at`'s.

        What earlier iterations of the loops in between computed is then reused. Takes a
        consumer and its loop, or a LoopLevel. Raises ScheduleError for other arguments,
        and when the pipeline is lowered, if the loop does not enclose `compute_at`'s,
        or one in between is parallel or vectorized.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y] = x + y
        >>> g[x, y] = f[x, y] + f[x + 1, y]
        >>> f = f.compute_at(g, x).store_at(g, y)
        >>> g.print_loop_nest()
        produce g:
          for y:
            store f:
              for x:
                produce f:
                  f(...) = ...
                consume f:
                  g(...) = ...
        """
        self._place("store", "store_at", given, named)
        return self

    def store_root(self) -> Self:
        """Keeps the storage for the whole run of the pipeline.

        What earlier iterations of the loops around `compute_at` computed is then
        reused.
        """
        self._set_level("store", LoopLevel(Place.ROOT, site=here()))
        return self

    # What is promised of its region.

    def bound(self, var: HasVar, min: IntLike | None, extent: IntLike) -> Self:
        """Promises that only `extent` coordinates of a dimension are needed, from `min`
        on.

        The loop over the dimension then has a known length, and can be unrolled, say.
        Each run checks it, and raises BoundsError where more is needed. Raises
        ScheduleError for what is no dimension of the Func, and for a negative extent.

        >>> f = hl.Func("f")
        >>> f[x, c] = x + c
        >>> f = f.bound(c, 0, 3).unroll(c)
        >>> np.asarray(f.realize([2, 3])).tolist()
        [[0, 1], [1, 2], [2, 3]]
        """
        self._bound("bound", var, min, extent)
        return self

    def bound_extent(self, var: HasVar, extent: IntLike) -> Self:
        """Promises that only `extent` coordinates of a dimension are needed, wherever
        they begin.

        Each run checks it, and raises BoundsError where more are needed. Raises
        ScheduleError as `bound` does.
        """
        self._bound("bound_extent", var, None, extent)
        return self

    def align_bounds(
        self, var: HasVar, modulus: IntLike, remainder: IntLike = 0
    ) -> Self:
        """Grows the region that is computed of a dimension so that
        ``min % modulus == remainder``, and its extent is a multiple of `modulus`.

        Raises ScheduleError for what is no dimension of the Func, and unless `modulus`
        and `remainder` are constants and `modulus` is from 1 to 2**20.
        """
        self._align("align_bounds", var, modulus, remainder)
        return self

    def align_extent(self, var: HasVar, modulus: IntLike) -> Self:
        """Grows the region that is computed of a dimension upwards, so that its extent
        is a multiple of `modulus`.

        Raises ScheduleError as `align_bounds` does.
        """
        self._align("align_extent", var, modulus, None)
        return self

    def set_estimate(self, var: HasVar, min: IntLike, extent: IntLike) -> Self:
        """Tells the automatic scheduler what region of a dimension will usually be
        asked for.

        It changes no code: nothing is warned of where no automatic scheduler runs, as
        estimates are given once, whichever way a pipeline is then compiled. Raises
        ScheduleError as `bound` does.
        """
        function = self._function
        made = self._region("set_estimate", var, min, extent)
        kept = [b for b in function.schedule.estimates if b.var is not made.var]
        function.schedule.estimates = (*kept, made)
        return self

    def set_estimates(self, estimates: Sequence[object]) -> Self:
        """Gives `set_estimate` for every dimension: ``[(min, extent), …]`` or Ranges.

        Raises ScheduleError unless there is one such pair or Range for each dimension.

        >>> f = hl.Func("f")
        >>> f[x, y] = x + y
        >>> f = f.set_estimates([(0, 640), (0, 480)])
        """
        function = self._function
        if not isinstance(estimates, (list, tuple)):
            raise ScheduleError(
                f"{function.name}.set_estimates takes a list of (min, extent), not"
                f" {estimates!r}",
                at=here(),
            )
        if len(estimates) != function.dimensions:
            raise ScheduleError(
                f"{function.name}.set_estimates: {function.name} has"
                f" {function.dimensions} dimensions, but {len(estimates)} estimates"
                " are given",
                at=here(),
            )
        made = []
        for v, one in zip(function.args, estimates, strict=True):
            if hasattr(one, "min") and hasattr(one, "extent"):
                low, extent = one.min, one.extent
            elif isinstance(one, (tuple, list)) and len(one) == 2:
                low, extent = one
            else:
                raise ScheduleError(
                    f"{function.name}.set_estimates: {one!r} is neither a Range nor"
                    " (min, extent)",
                    at=here(),
                )
            made.append(
                Bound(
                    v,
                    to_int(low, f"{function.name}.set_estimates", "min"),
                    to_int(extent, f"{function.name}.set_estimates", "extent"),
                    site=here(),
                )
            )
        function.schedule.estimates = tuple(made)
        return self

    # Parts.

    def _region(
        self, directive: str, var: HasVar, low: IntLike | None, extent: IntLike
    ) -> Bound:
        """A region of a dimension, checked as far as it is known."""
        function = self._function
        what = f"{function.name}.{directive}"
        v = function.args[self._dimension(to_var(var, what), directive)]
        size = to_int(extent, what, "extent")
        count = const_int(size)
        if count is not None and count < 0:
            raise ScheduleError(
                f"{function.name}.{directive}: the extent of {v.name} must not be"
                f" negative, but is {count}",
                at=here(),
            )
        start = None if low is None else to_int(low, what, "min")
        self._check_reach(what, v, start, count)
        return Bound(v, start, size, site=here())

    def _check_reach(
        self, what: str, v: Var, start: Expr | None, count: int | None
    ) -> None:
        """As far as they are constants, the ends of a region are coordinates."""
        low = 0 if start is None else const_int(start)
        for name, end in (
            ("min", low),
            ("extent", count),
            ("end", None if low is None or count is None else low + count),
        ):
            if end is not None and abs(end) > rules.MOST_COORDINATE:
                raise ScheduleError(
                    f"{what}: the {name} {end} of {v.name} is out of range:"
                    f" coordinates lie within {rules.MOST_COORDINATE} of 0",
                    at=here(),
                )

    def _bound(
        self, directive: str, var: HasVar, low: IntLike | None, extent: IntLike
    ) -> None:
        function = self._function
        made = self._region(directive, var, low, extent)
        kept = [
            b
            for b in function.schedule.bounds
            if b.var is not made.var or b.modulus is not None
        ]
        function.schedule.bounds = (*kept, made)

    def _align(
        self, directive: str, var: HasVar, modulus: IntLike, remainder: IntLike | None
    ) -> None:
        function = self._function
        what = f"{function.name}.{directive}"
        v = function.args[self._dimension(to_var(var, what), directive)]
        by = const_int(to_int(modulus, what, "modulus"))
        if by is None or by <= 0:
            raise ScheduleError(
                f"{function.name}.{directive}: the modulus must be a positive constant",
                at=here(),
            )
        if by > rules.MOST_FACTOR:
            raise ScheduleError(
                f"{function.name}.{directive}: the modulus {by} is more than"
                f" {rules.MOST_FACTOR}",
                at=here(),
            )
        rest = None
        if remainder is not None:
            rest = const_int(to_int(remainder, what, "remainder"))
            if rest is None:
                raise ScheduleError(
                    f"{function.name}.{directive}: the remainder must be a constant",
                    at=here(),
                )
            rest %= by
        made = Bound(v, None, None, by, rest, here())
        kept = [
            b for b in function.schedule.bounds if b.var is not v or b.modulus is None
        ]
        function.schedule.bounds = (*kept, made)
