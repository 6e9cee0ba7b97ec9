"""Directives about iterations that run at the same time, as mixins.

Names, argument order and meaning are those of Halide 21's Python module.
"""

from __future__ import annotations

from typing import Self

from parhelion.errors import ScheduleError, here
from parhelion.ir.build import const_int
from parhelion.ir.expr import Max, Min
from parhelion.ir.function import Definition, Function
from parhelion.schedule import deps, rules
from parhelion.schedule.args import (
    HasFunction,
    HasImage,
    HasVar,
    IntLike,
    to_int,
    to_source,
    to_var,
)
from parhelion.schedule.directives import (
    PrefetchAhead,
    PrefetchBoundStrategy,
)
from parhelion.schedule.running_sums import is_running_sum


def _on_order(function: Function, d: Definition) -> str:
    """What else decides about an update that folds: ties, or NaNs among floats."""
    fold = None if deps.self_calls(function, d.guard) else rules.folded(function, d)
    if fold is not None and not fold.commutative:
        return (
            "; the update finds the least or greatest value and what belongs to it, but"
            " of equal ones the order decides which stays: rfactor keeps the order"
        )
    if any(isinstance(v, Min | Max) and v.type.is_float() for v in d.values):
        return (
            "; as the left operand of min and max, if they are floats: on the right, a"
            " NaN would replace it, and be replaced by what comes next"
        )
    return ""


class ConcurrentLoops:
    """Directives on the loops of one definition of a Func."""

    __slots__ = ()
    _function: Function
    _stage: int

    def allow_race_conditions(self) -> Self:
        """Lets the directives that follow reorder and parallelize reduction loops, even
        if that may change the result.

        The caller answers for it that the result stays the same, or that a difference
        does not matter: it is checked no longer. Updates of one place by several
        threads or lanes at once may be lost; `atomic` keeps them.

        >>> r = hl.RDom([(0, 10)])
        >>> f = hl.Func("f")
        >>> f[x] = 0
        >>> f[r * r % 8] = 1
        >>> f.update(0).allow_race_conditions().vectorize(r, 5)
        <parhelion.Stage f.update(0)>
        >>> np.asarray(f.realize([8])).tolist()
        [1, 1, 0, 0, 1, 0, 0, 0]
        """
        schedule = rules.definition_of(self._function, self._stage).schedule
        schedule.allow_race_conditions = schedule.touched = True
        schedule.race_site = here()
        return self

    def atomic(self, override_associativity_test: bool = False) -> Self:
        """Makes each update of a place happen as a whole, whichever threads and lanes
        are at it: reduction loops may then be parallel and vectorized.

        It must be certain that the order of the updates does not matter: every value is
        the old one at the same place with something folded into it by +, -, *, min,
        max, &, | or ^, or several are a product of complex numbers (sums and products
        of floats count, though their last bits depend on the order; ``max(e, old)`` of
        floats does not, as it takes a NaN and drops it at the next update). With
        `override_associativity_test` the user answers for that.

        A running sum, ``f[r] = f[r - 1] + e`` in any direction, keeps the order of its
        iterations, and may be vectorized along itself: a vector is summed in as many
        steps as it has halvings.

        Give it before `parallel` and `vectorize`. Raises ScheduleError if the order is
        not known to be free, or if the place itself depends on values of the Func.

        >>> r = hl.RDom([(0, 100)])
        >>> f = hl.Func("f")
        >>> f[x] = 0
        >>> f[r % 4] += 1
        >>> f.update(0).atomic().parallel(r)
        <parhelion.Stage f.update(0)>
        >>> np.asarray(f.realize([4])).tolist()
        [25, 25, 25, 25]
        """
        function, label = self._function, rules.stage_label(self._function, self._stage)
        definition = rules.definition_of(function, self._stage)
        if deps.self_calls(function, definition.args):
            raise ScheduleError(
                f"{label}.atomic: which place is updated depends on values of"
                f" {function.name} itself, which other iterations change",
                at=here(),
            )
        free = override_associativity_test or definition.rdom is None
        free = free or rules.commutes(function, definition, exact=False)
        if not (free or is_running_sum(function, definition)):
            raise ScheduleError(
                f"{label}.atomic: it is not proven that the updates may happen in any"
                " order",
                at=here(),
                detail="each value must be the old one at the same place, folded with"
                f" something that does not read {function.name} by +, -, *, min, max,"
                " &, | or ^, or be part of a product of complex numbers"
                + _on_order(function, definition)
                + "; or each value must be the one a point before it, plus such a"
                " thing",
                hint="atomic(override_associativity_test=True) takes the"
                " responsibility",
            )
        schedule = definition.schedule
        schedule.atomic = schedule.touched = True
        schedule.atomic_site, schedule.keeps_order = here(), not free
        return self

    def prefetch(
        self,
        func: HasFunction | HasImage,
        at: HasVar,
        from_: HasVar,
        offset: IntLike = 1,
        strategy: PrefetchBoundStrategy = PrefetchBoundStrategy.GuardWithIf,
    ) -> Self:
        """Fetches into the cache what a later iteration will read of a Func or image.

        Each iteration of the loop `at` gives the hint for what it would read of `func`
        with the loop `from_` (the same loop, or one around it) `offset` iterations
        further on. `strategy` says what happens where that is out of bounds. The result
        never changes; where nothing inside the loop reads `func` from storage outside
        of it, a warning says so when the pipeline is lowered.

        Raises ScheduleError for loops that are not there, for the Func that is
        scheduled itself, for what is no PrefetchBoundStrategy, and for an offset of
        more than 2**20 iterations; when the pipeline is lowered, if `from_` is inside
        `at`.

        >>> image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("f")
        >>> f[x, y] = 255 - image[x, y]
        >>> f = f.prefetch(image, y, y, 2)
        """
        label = rules.stage_label(self._function, self._stage)
        if not isinstance(strategy, PrefetchBoundStrategy):
            raise ScheduleError(
                f"{label}.prefetch: the strategy must be a PrefetchBoundStrategy, not"
                f" {strategy!r}",
                at=here(),
                legal=[
                    f"PrefetchBoundStrategy.{s.name}" for s in PrefetchBoundStrategy
                ],
            )
        source = to_source(func, f"{label}.prefetch")
        if source is self._function:
            raise ScheduleError(
                f"{label}.prefetch: {source.name} cannot foresee what it makes itself",
                at=here(),
                hint="prefetch takes a Func or ImageParam that the stage reads",
            )
        loops = [to_var(v, f"{label}.prefetch") for v in (at, from_)]
        for v in loops:
            rules.find_dim(self._function, self._stage, v, "prefetch")
        schedule = rules.definition_of(self._function, self._stage).schedule
        ahead = to_int(offset, f"{label}.prefetch", "offset")
        known = const_int(ahead)
        if known is not None and abs(known) > rules.MOST_FACTOR:
            raise ScheduleError(
                f"{label}.prefetch: the offset {known} is further than"
                f" {rules.MOST_FACTOR} iterations",
                at=here(),
            )
        made = PrefetchAhead(source, loops[0], loops[1], ahead, strategy, here())
        schedule.prefetches = (*schedule.prefetches, made)
        schedule.touched = True
        return self


class ConcurrentFuncs:
    """Directives on a Func as a whole."""

    __slots__ = ()
    _function: Function

    def async_(self) -> Self:
        """Computes the Func in a thread of its own, as far ahead of what uses it as its
        storage allows.

        The loops between the storage and the computation run twice, once in the thread
        that produces and once in the one that consumes, which wait for each other on
        semaphores. So there is something to gain where the storage is further out than
        the computation: with `store_root` and a sliding window, or with `hoist_storage`
        and `ring_buffer`. The result is always the same.

        Raises ScheduleError, when the pipeline is lowered, where both threads would
        compute the same storage of another Func. Where the loops are those of a
        memoized Func, which do not always run, there is no thread; a warning says so.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y] = x + y
        >>> g[x, y] = f[x, y] + f[x, y + 1]
        >>> f = f.store_root().compute_at(g, y).fold_storage(y, 4).async_()
        >>> np.asarray(g.realize([3, 2])).tolist()
        [[1, 3, 5], [3, 5, 7]]
        """
        rules.definition_of(self._function, 0)
        schedule = self._function.schedule
        schedule.async_, schedule.async_site = True, here()
        return self

    def ring_buffer(self, extent: IntLike = 2) -> Self:
        """Keeps `extent` copies of the storage, which iterations use in turn: each
        takes the next one, and after the last the first again.

        With `async_`, the producer can then fill one copy while the consumer reads
        another. The iterations are those of the loops between `hoist_storage`, which
        allocates all copies, and `store_at` (or `compute_at`, without it).

        Raises ScheduleError for a number of copies that is not positive or more than
        2**20, and for a Func without dimensions; when the pipeline is lowered, without
        `hoist_storage` at a loop outside of the storage.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y] = x + y
        >>> g[x, y] = f[x, y] + f[x, y + 1]
        >>> f = f.compute_at(g, y).hoist_storage_root().ring_buffer(2).async_()
        >>> np.asarray(g.realize([3, 2])).tolist()
        [[1, 3, 5], [3, 5, 7]]
        """
        function = self._function
        rules.definition_of(function, 0)
        count = to_int(extent, f"{function.name}.ring_buffer", "extent")
        known = const_int(count)
        if known is not None and known <= 0:
            raise ScheduleError(
                f"{function.name}.ring_buffer: the number of copies must be positive,"
                f" not {known}",
                at=here(),
            )
        if known is not None and known > rules.MOST_FACTOR:
            raise ScheduleError(
                f"{function.name}.ring_buffer: the number of copies {known} is more"
                f" than {rules.MOST_FACTOR}",
                at=here(),
            )
        if not function.dimensions:
            raise ScheduleError(
                f"{function.name}.ring_buffer: {function.name} has no dimension along"
                " which copies of it could be stored",
                at=here(),
            )
        function.schedule.ring, function.schedule.ring_site = count, here()
        return self
