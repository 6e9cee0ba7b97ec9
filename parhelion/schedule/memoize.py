"""memoize: results of a Func that are kept from one run to the next.

`MemoizingFunc` has the directive; where it may stand, `schedule.modes` knows, and
`schedule.dependencies` what a result depends on besides its region.
"""

from __future__ import annotations

from typing import Self

from parhelion.errors import ScheduleError, here
from parhelion.ir.build import cast
from parhelion.ir.expr import Expr
from parhelion.ir.function import Function
from parhelion.schedule.args import to_int
from parhelion.schedule.directives import Memo
from parhelion.types import INT64


class EvictionKey:
    """A number by which memoized results can be dropped together
    (`memoization_cache_evict`): an integer, or an Expr over Params.

    >>> f, version = hl.Func("f"), hl.Param(hl.Int(32), "version", 7)
    >>> f[x] = x * x
    >>> f = f.compute_root().memoize(hl.EvictionKey(version))
    >>> hl.memoization_cache_evict(7)
    """

    __slots__ = ("_given",)

    def __init__(self, expr: object = None) -> None:
        self._given = expr


class MemoizingFunc:
    """The directive that Func has."""

    __slots__ = ()
    _function: Function

    def memoize(self, eviction_key: EvictionKey | None = None) -> Self:
        """Keeps what is computed in a cache of the process, and looks there first.

        A result is found again for the same region and the same values of all Params
        that the Func depends on, itself or through others. Images have no values that a
        key could hold: a Func that reads an ImageParam is refused unless the read
        stands inside ``hl.memoize_tag(value, version)``. A Buffer that the algorithm
        mentions is taken to be constant.

        eviction_key: what `hl.memoization_cache_evict` drops it by. The size of the
        cache is set by `hl.memoization_cache_set_size`.

        Raises ScheduleError for what is no EvictionKey; when the pipeline is lowered,
        for a Func that depends on pixels as above, is inlined, is computed inside a
        vectorized loop, or keeps its storage for several computations (`store_at`,
        `store_root`, `hoist_storage`). From: Halide's memoize.

        >>> f, g = hl.funcs("f g")
        >>> f[x] = x * x
        >>> g[x] = f[x] + f[x + 1]
        >>> f = f.compute_root().memoize()
        >>> np.asarray(g.realize([3])).tolist()
        [1, 5, 13]
        """
        key: Expr | None = None
        given = None if eviction_key is None else eviction_key
        if given is not None and not isinstance(given, EvictionKey):
            raise ScheduleError(
                f"{self._function.name}.memoize takes an EvictionKey, not {given!r}",
                at=here(),
                hint="hl.EvictionKey(7) makes one",
            )
        if given is not None and given._given is not None:
            what = f"{self._function.name}.memoize"
            key = cast(INT64, to_int(given._given, what, "eviction key"))
        self._function.schedule.memo = Memo(key, here())
        return self


__all__ = ["EvictionKey", "MemoizingFunc"]
