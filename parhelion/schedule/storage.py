"""Directives on the storage of a Func: where it is, when it is allocated, its layout.

`StorageDirectives` is a mixin of `schedule.stage.FuncDirectives`. Names, argument order
and meaning are those of Halide 21's Python module. What the directives say stands in
`FuncSchedule` (`hoist`, `storage`, `storage_order`, `memory`); `lower.folding` and
`lower.flatten` act on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self, overload

from parhelion.errors import ScheduleError, here
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.stmt import MemoryKind
from parhelion.schedule import rules
from parhelion.schedule.args import (
    HasFunction,
    HasLevel,
    HasVar,
    IntLike,
    to_function,
    to_int,
    to_var,
    to_vars,
)
from parhelion.schedule.directives import (
    LoopLevel,
    MemoryType,
    Place,
    StorageDim,
)

_MEMORY = {
    MemoryType.Auto: MemoryKind.AUTO,
    MemoryType.Heap: MemoryKind.HEAP,
    MemoryType.Stack: MemoryKind.STACK,
    MemoryType.Register: MemoryKind.REGISTER,
    MemoryType.GPUShared: MemoryKind.SHARED,
    MemoryType.GPUTexture: MemoryKind.TEXTURE,
}


class StorageDirectives:
    """Where a Func's storage is, how long it lives, and how it is laid out."""

    __slots__ = ()
    _function: Function

    # When it is allocated.

    @overload
    def hoist_storage(self, f: HasFunction, var: HasVar) -> Self: ...

    @overload
    def hoist_storage(self, f: HasFunction, *, rvar: HasVar) -> Self: ...

    @overload
    def hoist_storage(self, loop_level: HasLevel) -> Self: ...

    def hoist_storage(self, *given: object, **named: object) -> Self:
        """Allocates the storage once for all iterations of the loops inside `var`, and
        not anew in each of them.

        The allocation is as large as the largest that one of the iterations needs. Only
        allocations are saved: unlike with `store_at`, no value is kept from one of
        these iterations to the next. Takes a Func and its loop, or a LoopLevel; it must
        be at or outside `store_at`, with no parallel or vectorized loop between the
        two.

        Raises ScheduleError for other arguments, and when the pipeline is lowered if
        the level does not enclose the storage.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y] = x + y
        >>> g[x, y] = f[x, y] + f[x, y + 1]
        >>> f = f.compute_at(g, x).hoist_storage(g, y)
        >>> np.asarray(g.realize([3, 2])).tolist()
        [[1, 3, 5], [3, 5, 7]]
        """
        self._place("hoist", "hoist_storage", given, named)
        return self

    def hoist_storage_root(self) -> Self:
        """Allocates the storage once, before all loops of the pipeline
        (`hoist_storage`)."""
        self._set_level("hoist", LoopLevel(Place.ROOT, site=here()))
        return self

    # Where it is.

    def store_in(self, memory_type: MemoryType) -> Self:
        """Says in which memory the storage is: a MemoryType.

        Auto, the default, takes the stack for a constant size of up to 16 KiB, else the
        heap. Heap and Stack take the one that they are called after. Register is for
        storage whose size is constant and whose loops are unrolled: its elements then
        become registers.

        Storage stays on the heap, with a warning when the pipeline is lowered, if Stack
        was asked for but its size is not constant, or such Funcs would take more than
        256 KiB of the stack of one thread. Raises ScheduleError, when the pipeline is
        lowered, for what cannot be in registers, and at once for what is no MemoryType
        and for memories of devices that code is not made for.

        In a kernel, Auto is the memory that the threads of a block share (GPUShared)
        for what is computed inside of the loops over blocks, and a thread's own for
        what is computed inside of those over threads. At the root it is the device's.

        GPUTexture is for a Func at the root that a kernel reads: integers or floats of
        8, 16 or 32 bits, in one dimension or more. Its storage is the device's, in rows
        of a multiple of 32 bytes, and kernels that do not store to it read it by the
        hardware for textures, which clamps coordinates to the edge, or reads 0 beyond:
        where the definition says so (`BoundaryConditions`), that code goes. It may have
        131,072 values along the first dimension of its storage, and the product of the
        others may be 65,000. Raises ScheduleError, when the pipeline is lowered, for
        other values, for what is stored inside of kernels and for what no kernel reads,
        and when it runs for what is too large.

        >>> f, g = hl.funcs("f g")
        >>> f[x] = x * x
        >>> g[x] = f[x] + f[x + 1]
        >>> f = f.compute_at(g, x).store_in(hl.MemoryType.Stack)
        >>> np.asarray(g.realize([3])).tolist()
        [1, 5, 13]
        """
        if not isinstance(memory_type, MemoryType):
            raise ScheduleError(
                f"{self._function.name}.store_in takes a MemoryType, not"
                f" {memory_type!r}",
                at=here(),
            )
        kind = _MEMORY.get(memory_type)
        if kind is None:
            raise ScheduleError(
                f"{self._function.name}.store_in: nothing here has a memory"
                f" MemoryType.{memory_type.name}",
                at=here(),
                legal=[f"MemoryType.{m.name}" for m in _MEMORY],
            )
        schedule = self._function.schedule
        schedule.memory, schedule.memory_site = kind, here()
        return self

    # How it is laid out.

    def reorder_storage(
        self, *given: HasVar | Sequence[HasVar], dims: Sequence[HasVar] = ()
    ) -> Self:
        """Lays the dimensions given out in this order in memory, innermost first; all
        others keep their places.

        Takes the Vars one by one or as one list. Raises ScheduleError unless they are
        two or more different dimensions of the Func.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y, c] = x + y + c
        >>> g[x, y, c] = f[x, y, c] + f[x, y + 1, c]
        >>> f = f.compute_root().reorder_storage(c, x, y)
        """
        function = self._function
        wanted = [
            self._dimension(v, "reorder_storage")
            for v in to_vars(given or dims, f"{function.name}.reorder_storage")
        ]
        if len(wanted) < 2 or len(set(wanted)) < len(wanted):
            raise ScheduleError(
                f"{function.name}.reorder_storage takes two or more different"
                " dimensions",
                at=here(),
                legal=[v.name for v in function.args],
            )
        schedule = function.schedule
        order = list(schedule.storage_order or range(function.dimensions))
        places = sorted(order.index(d) for d in wanted)
        for place, d in zip(places, wanted, strict=True):
            order[place] = d
        schedule.storage_order, schedule.order_site = tuple(order), here()
        return self

    def fold_storage(
        self, dim: HasVar, extent: IntLike, fold_forward: bool = True
    ) -> Self:
        """Keeps only `extent` coordinates of a dimension: ``f[x, y]`` lives where
        ``f[x, y % extent]`` does.

        For storage outside a loop that moves through the dimension, from low
        coordinates to high (from high to low, if not `fold_forward`): what one
        iteration of the loop uses must fit `extent`, which is proven or checked by each
        run (a BoundsError that gives both numbers). Without this directive, storage is
        folded wherever it is proven that 1024 coordinates or fewer do.

        Raises ScheduleError for what is no dimension and for an extent that is a
        constant below 1. When the pipeline is lowered, warns that it has no effect if
        no loop between storage and computation moves through the dimension in that
        direction.

        >>> f, g = hl.funcs("f g")
        >>> f[x, y] = x + y
        >>> g[x, y] = f[x, y] + f[x, y + 1]
        >>> f = f.store_root().compute_at(g, y).fold_storage(y, 2)
        >>> np.asarray(g.realize([3, 2])).tolist()
        [[1, 3, 5], [3, 5, 7]]
        """
        if not isinstance(fold_forward, bool):
            raise ScheduleError(
                f"{self._function.name}.fold_storage: fold_forward is True or False,"
                f" not {fold_forward!r}",
                at=here(),
            )
        d, size = self._sized(dim, extent, "fold_storage", "extent")
        self._lay_out(d, fold=size, forward=fold_forward, fold_site=here())
        return self

    def align_storage(self, dim: HasVar, alignment: IntLike) -> Self:
        """Rounds the storage of a dimension up to a multiple of `alignment` elements.

        For the innermost dimension that makes rows start at multiples of it, counted
        from the first one. Raises ScheduleError for what is no dimension, and unless
        `alignment` is a positive constant.
        """
        d, size = self._sized(dim, alignment, "align_storage", "alignment")
        by = const_int(size)
        if by is None:
            raise ScheduleError(
                f"{self._function.name}.align_storage: the alignment must be a"
                " constant",
                at=here(),
            )
        if by > rules.MOST_FACTOR:
            raise ScheduleError(
                f"{self._function.name}.align_storage: the alignment {by} is more than"
                f" {rules.MOST_FACTOR}",
                at=here(),
            )
        self._lay_out(d, align=by, align_site=here())
        return self

    def bound_storage(self, dim: HasVar, bound: IntLike) -> Self:
        """Gives the storage of a dimension the extent `bound`, whatever is needed.

        So storage whose size follows from run-time values can have a constant one. Each
        run checks that what is needed fits; if not, it raises BoundsError with both
        numbers. Raises ScheduleError for what is no dimension and for a bound that is a
        constant below 1.
        """
        d, size = self._sized(dim, bound, "bound_storage", "bound")
        self._lay_out(d, bound=size, bound_site=here())
        return self

    # Parts.

    def _sized(
        self, dim: HasVar, size: IntLike, directive: str, what: str
    ) -> tuple[int, Expr]:
        """A dimension's position, and a size of it that is not known to be below 1."""
        called = f"{self._function.name}.{directive}"
        d = self._dimension(to_var(dim, called), directive)
        made = to_int(size, called, what)
        known = const_int(made)
        if known is not None and known < 1:
            raise ScheduleError(
                f"{self._function.name}.{directive}: the {what} must be at least 1,"
                f" not {known}",
                at=here(),
            )
        if known is not None and known > rules.MOST_COORDINATE:
            raise ScheduleError(
                f"{self._function.name}.{directive}: the {what} {known} is more than"
                f" {rules.MOST_COORDINATE}",
                at=here(),
            )
        return d, made

    def _lay_out(self, d: int, **said: Any) -> None:
        schedule = self._function.schedule
        made = replace(schedule.storage.get(d, StorageDim()), **said)
        schedule.storage = {**schedule.storage, d: made}

    def _dimension(self, v: Var, directive: str) -> int:
        """The position of one of the Func's own Vars."""
        function = self._function
        rules.definition_of(function, 0)
        for i, own in enumerate(function.args):
            if own is v:
                return i
        raise ScheduleError(
            f"{function.name}.{directive}: {var_label(v)} is not a dimension of"
            f" {function.name}",
            at=here(),
            legal=[own.name for own in function.args],
        )

    def _set_level(self, slot: str, level: LoopLevel) -> None:
        """Sets one of the levels "compute", "store" and "hoist"."""
        setattr(self._function.schedule, slot, level)

    def _place(
        self,
        slot: str,
        directive: str,
        given: tuple[object, ...],
        named: dict[str, object],
    ) -> None:
        """Sets a level from the arguments of `compute_at` and its kin."""
        name = self._function.name
        values = list(given)
        for key in ("f", "var", "rvar", "loop_level"):
            if key in named:
                values.append(named[key])
        if len(values) != len(given) + len(named) or len(values) not in (1, 2):
            raise ScheduleError(
                f"{name}.{directive} takes a Func and a Var or RVar, or a LoopLevel",
                at=here(),
            )
        if len(values) == 1:
            level = values[0]
            if not isinstance(level, HasLevel):
                raise ScheduleError(
                    f"{name}.{directive} takes a Func and a Var or RVar, or a"
                    f" LoopLevel, not {level!r} alone",
                    at=here(),
                )
            self._set_level(slot, level._level)
            level._attach(self._function.schedule, slot)
            return
        consumer = to_function(values[0], f"{name}.{directive}")
        loop = to_var(values[1], f"{name}.{directive}")
        if consumer is self._function:
            raise ScheduleError(
                f"{name}.{directive}: {name} cannot be computed inside its own loop"
                f" over {var_label(loop)}",
                at=here(),
            )
        self._set_level(slot, LoopLevel(Place.LOOP, consumer, loop, -1, here()))
