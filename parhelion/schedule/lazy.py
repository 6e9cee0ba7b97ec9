"""compute_lazy: values of a Func are computed where they are first needed, once.

`LazyFunc` has the directive, and the estimate by which an automatic scheduler chooses
it. Where it may stand, `schedule.placement` and `schedule.modes` know; `lower.lazy`
makes of it what runs.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Sequence
from typing import Self

from parhelion.errors import ScheduleError, here
from parhelion.ir.function import Function
from parhelion.schedule import rules
from parhelion.schedule.directives import Coverage, LoopLevel, Place

#: A tile of more coordinates in one dimension is none.
MOST_TILE = 1 << 20


class LazyFunc:
    """The directive that Func has."""

    __slots__ = ()
    _function: Function

    def compute_lazy(self, tile: Sequence[int | None] | None = None) -> Self:
        """Computes a value when it is first needed, and keeps it.

        For a Func of which the consumers read few values, or in an order that depends
        on data: ``warp[x, y] = f[clamp(u[x, y], …), clamp(v[x, y], …)]``. Storage is
        made for all that could be needed (`store_root`, the default, or `store_at`,
        whose loop is how long values are kept), and a table beside it says what has
        been computed. The memory of values that are never needed is not touched.

        tile: extents, in pixels, of the first dimensions; a value that is needed then
        has its tile computed, by the loops that the Func's schedule says (vectorized
        and parallel ones, and Funcs computed inside of them). ``None`` in it, and
        dimensions beyond it, stand for the whole extent. Without it, one value is
        computed at a time, and the schedule must say nothing of loops.

        Consumers may be parallel and vectorized. A tile is computed once, by the thread
        that needs it first, while others that need it wait. A single value may be
        computed by several threads at the same time, with the same result.

        Raises ScheduleError for what is no tile; when the pipeline is lowered, for a
        Func that foreign code computes, whose definition prints, that is async or
        memoized, whose storage is folded, hoisted or copied, that is stored inside a
        vectorized loop, or whose updates touch points outside of their own tile, or are
        there at all without a tile. An index that depends on data needs a
        clamp (BoundsError). From: the 2013 paper on dynamic scheduling.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y] = hl.sqrt(hl.f32(x * x + y * y))
        >>> g[x, y] = f[hl.clamp(x * y % 7, 0, 6), 0]
        >>> f = f.compute_lazy()
        >>> g.realize([3, 2])[2, 1]
        2.0
        """
        function = self._function
        rules.definition_of(function, 0)
        extents: list[int | None] = []
        if tile is not None:
            called = f"{function.name}.compute_lazy"
            extents = _extents(function, called, "a tile", tile)
        schedule = function.schedule
        schedule.compute = LoopLevel(Place.DEMAND, site=here())
        schedule.tile = tuple(extents)
        return self

    def set_coverage(
        self, fraction: float, patch: Sequence[int | None] | None = None
    ) -> Self:
        """Tells the automatic scheduler how much of this Func is read, so that it may
        choose `compute_lazy`, in tiles or one value at a time, where that is faster
        than computing all of it, or computing values anew at each use.

        fraction: of all values that could be read, from more than 0 to 1, where all
            are. patch: extents of the pieces that are read, of the first dimensions:
            small ones touch many tiles. ``None`` in it, and dimensions beyond it, stand
            for the whole extent. Without it, what is read is thought to lie in one
            piece, as what a window shows.

        It is an estimate, as those of `set_estimates`: results never depend on it, and
        without an automatic scheduler nothing does. Raises ScheduleError for a fraction
        that is none, and what are no extents of the Func's dimensions.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y] = hl.sqrt(hl.f32(x * x + y * y))
        >>> g[x, y] = f[hl.clamp(x * y % 700, 0, 699), y]
        >>> f = f.set_coverage(0.1, patch=(64, 64))
        """
        function = self._function
        rules.definition_of(function, 0)
        called = f"{function.name}.set_coverage"
        extents: list[int | None] = []
        if patch is not None:
            extents = _extents(function, called, "a patch", patch)
        share = _fraction(called, fraction)
        function.schedule.coverage = Coverage(share, tuple(extents), here())
        return self


def _fraction(called: str, given: object) -> float:
    share = 0.0
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        share = float(given)
    if not 0 < share <= 1:
        raise ScheduleError(
            f"{called}: a fraction is a number above 0, and at most 1, not {given!r}",
            at=here(),
            hint="a tenth is 0.1; of what is never read, nothing is computed anyway",
        )
    return share


def _extents(
    function: Function, called: str, what: str, given: object
) -> list[int | None]:
    text = isinstance(given, str | bytes | bytearray)
    if text or not isinstance(given, Sequence) or not given:
        raise ScheduleError(
            f"{called}: {what} is the extents of the first dimensions, such as"
            f" (64, 64), not {given!r}",
            at=here(),
        )
    if len(given) > function.dimensions:
        raise ScheduleError(
            f"{called}: {what} of {len(given)} dimensions, but {function.name} has"
            f" {function.dimensions}",
            at=here(),
        )
    found: list[int | None] = []
    for e in given:
        if e is None:
            found.append(None)
            continue
        size = None if isinstance(e, bool) else _index(e)
        if size is None or not 1 <= size <= MOST_TILE:
            raise ScheduleError(
                f"{called}: each extent of {what} is an integer from 1 to {MOST_TILE},"
                f" or None for all of a dimension, not {e!r}",
                at=here(),
            )
        found.append(size)
    return found


def _index(e: object) -> int | None:
    try:
        return operator.index(e)  # type: ignore[arg-type]
    except TypeError:
        return None


__all__ = ["MOST_TILE", "LazyFunc"]
