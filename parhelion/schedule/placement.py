"""Where a Func is computed: each kind of place is a `Placement`.

`placement_of` reads it off the schedule. A placement knows whether calls of its Func
are replaced by the definition, in which loops the Func is computed, and what its
schedule must not ask for there. A new kind is a class, and its place in `PLACEMENTS`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Self

from parhelion.errors import ScheduleError
from parhelion.ir.function import Function, var_label
from parhelion.ir.stmt import ForKind
from parhelion.schedule.directives import OUTERMOST, ROOT, LoopLevel, Place
from parhelion.schedule.idle import (
    layout_calls,
    thread_calls,
    warn_idle_hoist,
    warn_idle_ring,
    warn_inlined,
)
from parhelion.schedule.misplaced import (
    call,
    depth,
    drawing,
    illegal,
    levels,
    race,
    too_far_in,
)
from parhelion.schedule.modes import by_loops
from parhelion.schedule.rules import KIND_WORD, stage_label, warn

if TYPE_CHECKING:
    from parhelion.schedule.sites import LoopSite, Nests, Stack

#: Loops whose iterations cannot share storage: the threads of a block of a GPU can.
_APART = (ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.GPU_BLOCK)


class Placement:
    """Where `func` is computed.

    substituted: whether calls of it are replaced by its definition, so that it has
    neither loops nor storage. kind: the place in a word, for pictures of pipelines.
    """

    substituted: ClassVar[bool] = False
    kind: ClassVar[str] = "stage"

    def __init__(self, func: Function) -> None:
        self.func = func

    @classmethod
    def of(cls, f: Function, outputs: Collection[Function]) -> Self | None:
        """The placement of `f`, if this is its kind."""
        raise NotImplementedError

    def settle(self, nests: Nests) -> None:
        """Enters the Func, all of whose uses are known, into the nests.

        Raises ScheduleError if its schedule asks for what this place has not; warns of
        what has no effect there.
        """
        raise NotImplementedError

    def level(self) -> LoopLevel | None:
        """The loop inside of which it is computed, once for all that use it there; None
        if it is computed anew for each stage that uses it."""
        return self.func.schedule.compute

    def loops_around(self, count: int) -> int:
        """Of a Func without a level: how many of the loops of a stage that uses it,
        which has `count` of them, it is computed inside of."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The place in words."""
        return self.kind


class AtOutput(Placement):
    """An output of the pipeline: computed at the root, into the caller's buffer."""

    kind = "output"

    @classmethod
    def of(cls, f: Function, outputs: Collection[Function]) -> Self | None:
        return cls(f) if f in outputs else None

    def settle(self, nests: Nests) -> None:
        f = self.func
        for level, directive in (
            (f.schedule.compute, "compute_at"),
            (f.schedule.store, "store_at"),
            (f.schedule.hoist, "hoist_storage"),
        ):
            if level is None or level.place is Place.ROOT:
                continue
            if level.place is Place.LOOP or level.site is not None:
                warn(
                    f"{f.name} is an output of the pipeline and computed at its root:"
                    f" {call(f, directive, level)} has no effect",
                    level.site,
                )
        for given, site in (*layout_calls(f), *thread_calls(f)):
            warn(
                f"{f.name} is an output of the pipeline, stored in the caller's buffer:"
                f" {given} has no effect",
                site,
            )
        nests.place(f, [()], [()])

    def level(self) -> LoopLevel | None:
        return ROOT


class Inlined(Placement):
    """Computed wherever a value is used, as if its definition stood there."""

    substituted = True
    kind = "inlined"

    @classmethod
    def of(cls, f: Function, outputs: Collection[Function]) -> Self | None:
        inline = f.schedule.compute.place is Place.INLINED
        return cls(f) if inline and not f.updates and by_loops(f) else None

    def settle(self, nests: Nests) -> None:
        """It has no loops that directives could shape."""
        f = self.func
        _check_store_of_inlined(f)
        assert f.pure is not None
        schedule = f.pure.schedule
        for d in schedule.dims:
            if d.kind is not ForKind.SERIAL:
                raise ScheduleError(
                    f"{f.name} is inlined and has no loop that could be"
                    f" {KIND_WORD[d.kind]}",
                    at=schedule.sites.get(d.var),
                    hint="compute it at a place of its own:"
                    f" {f.name}.compute_root(), or compute_at",
                )
        warn_inlined(f)


class AtUses(Placement):
    """Left inline, though only loops or foreign code can compute it: computed anew
    inside the innermost loop of each stage that uses it, as Halide does."""

    @classmethod
    def of(cls, f: Function, outputs: Collection[Function]) -> Self | None:
        return cls(f) if f.schedule.compute.place is Place.INLINED else None

    def settle(self, nests: Nests) -> None:
        _check_store_of_inlined(self.func)
        stacks = [use.stack for use in nests.uses[self.func]]
        nests.place(self.func, stacks, stacks)

    def level(self) -> LoopLevel | None:
        return None

    def loops_around(self, count: int) -> int:
        return count

    def __str__(self) -> str:
        return "at each use"


class AtDemand(Placement):
    """Parts of it are computed where a value of them is first needed, inside the
    loops that its storage is in."""

    kind = "on demand"

    @classmethod
    def of(cls, f: Function, outputs: Collection[Function]) -> Self | None:
        return cls(f) if f.schedule.on_demand else None

    def settle(self, nests: Nests) -> None:
        f = self.func
        store = f.schedule.store_level
        stacks: list[Stack] = []
        for use in nests.uses[f]:
            outer = depth(use.stack, store)
            if outer is None:
                raise illegal(nests, f, "store_at", store)
            for site in use.stack[:outer]:
                self._check_around(nests, site)
            stacks.append(use.stack[:outer])
        nests.place(f, stacks, stacks)

    def _check_around(self, nests: Nests, site: LoopSite) -> None:
        """Raises ScheduleError for storage inside of what runs on vectors: there would
        have to be a table of what is computed for each lane."""
        f, g = self.func, site.func
        point = g.schedule.on_demand and not g.schedule.tile and g not in nests.outputs
        if site.dim.kind is ForKind.VECTORIZED:
            loop = f"{var_label(site.dim.var)} of {stage_label(g, site.stage)}"
            where = f"the vectorized loop {loop}"
        elif point:
            where = f"{g.name}, of which values side by side are computed together"
        else:
            return
        store = f.schedule.store_level
        raise ScheduleError(
            f"{call(f, 'store_at', store)}: {f.name}, which is computed on demand, is"
            f" stored inside {where}: lanes have no tables of their own of what is"
            " computed",
            at=store.site or f.schedule.compute.site,
            hint="store it further out",
        )

    def level(self) -> LoopLevel | None:
        return self.func.schedule.store_level

    def __str__(self) -> str:
        return call(self.func, "compute_at", self.func.schedule.compute)


class AtLevel(Placement):
    """Computed at the root or in a loop of what uses it, as the schedule says."""

    @classmethod
    def of(cls, f: Function, outputs: Collection[Function]) -> Self | None:
        return cls(f)

    def settle(self, nests: Nests) -> None:
        f = self.func
        compute, store = f.schedule.compute, f.schedule.store_level
        computed: list[Stack] = []
        stored: list[Stack] = []
        further_out = False
        for use in nests.uses[f]:
            inner = depth(use.stack, compute)
            if inner is None:
                raise illegal(nests, f, "compute_at", compute)
            outer = depth(use.stack, store)
            if outer is None:
                raise illegal(nests, f, "store_at", store)
            if outer > inner:
                rule = f"must enclose {call(f, 'compute_at', compute)}"
                raise too_far_in(nests, f, "store_at", store, rule, use.stack[:inner])
            _check_hoist(nests, f, use.stack, outer)
            for site in use.stack[outer:inner]:
                if site.dim.kind in _APART:
                    raise race(nests, f, site, use.stack[:outer])
            hoist = depth(use.stack, f.schedule.hoist_level)
            least = outer if hoist is None else min(hoist, outer)
            _check_parts(nests, f, use.stack[least:inner])
            _check_ring(f, hoist is not None and hoist < outer)
            further_out = further_out or (hoist is not None and hoist < outer)
            computed.append(use.stack[:inner])
            stored.append(use.stack[:outer])
        _warn_of_hoist(f, further_out)
        warn_idle_ring(f)
        nests.place(f, computed, stored)

    def __str__(self) -> str:
        return call(self.func, "compute_at", self.func.schedule.compute)


#: All kinds. A Func has the first that is its own; the last is that of all others.
PLACEMENTS: tuple[type[Placement], ...] = (
    AtOutput,
    Inlined,
    AtUses,
    AtDemand,
    AtLevel,
)


def placement_of(f: Function, outputs: Collection[Function]) -> Placement:
    """Where a Func of a pipeline is computed."""
    found = (kind.of(f, outputs) for kind in PLACEMENTS)
    return next(place for place in found if place is not None)


def _check_store_of_inlined(f: Function) -> None:
    store = f.schedule.store
    if store is not None and store.place is not Place.INLINED:
        raise ScheduleError(
            f"{call(f, 'store_at', store)}: {f.name} is inlined and needs no storage",
            at=store.site,
            hint="store_at goes together with compute_at",
        )
    hoist = f.schedule.hoist
    if hoist is not None and hoist.place is not Place.INLINED:
        raise ScheduleError(
            f"{call(f, 'hoist_storage', hoist)}: {f.name} is inlined and needs no"
            " storage",
            at=hoist.site,
            hint="hoist_storage goes together with compute_at",
        )


def _check_parts(nests: Nests, f: Function, between: Stack) -> None:
    """Raises ScheduleError if the storage of `f` outlives the production of a part of a
    Func on demand in which `f` is computed: threads compute such parts at any time."""
    for site in between:
        g = site.func
        if site.dim.var is OUTERMOST and g.schedule.on_demand:
            if g in nests.outputs:
                continue
            compute = f.schedule.compute
            raise ScheduleError(
                f"{f.name} is computed inside of {g.name}, which is computed on demand,"
                " but stored outside of it: parts of"
                f" {g.name} that are computed at the same time would overwrite each"
                " other's values",
                at=(f.schedule.hoist or f.schedule.store or compute).site,
                hint=f"store {f.name} inside the loops of {g.name}",
            )


def _check_ring(f: Function, hoisted: bool) -> None:
    ring = f.schedule.ring
    if ring is not None and not hoisted:
        raise ScheduleError(
            f"{f.name}.ring_buffer: the storage of {f.name} is allocated where it"
            " begins, so that no iterations could take turns in copies of it",
            at=f.schedule.ring_site,
            hint=f"{f.name}.hoist_storage(…) at a loop outside of the storage",
        )


def _warn_of_hoist(f: Function, further_out: bool) -> None:
    hoist = f.schedule.hoist
    if hoist is not None and hoist.place is not Place.INLINED and not further_out:
        warn_idle_hoist(f, call(f, "hoist_storage", hoist))


def _check_hoist(nests: Nests, f: Function, stack: Stack, outer: int) -> None:
    """Raises ScheduleError unless the storage of `f`, which begins inside the first
    `outer` loops of a use, may be allocated where `hoist_storage` says."""
    hoist = f.schedule.hoist
    if hoist is None or hoist.place is Place.INLINED:
        return
    first = depth(stack, hoist)
    if first is None:
        raise illegal(nests, f, "hoist_storage", hoist)
    given = call(f, "hoist_storage", hoist)
    if first > outer:
        begun = call(f, "store_at", f.schedule.store_level)
        rule = f"must be allocated at or outside {begun}"
        raise too_far_in(nests, f, "hoist_storage", hoist, rule, stack[:outer])
    for inner, site in enumerate(stack[first:outer], first + 1):
        if site.dim.kind in _APART:
            loop = f"{var_label(site.dim.var)} of {stage_label(site.func, site.stage)}"
            inside = stack[inner - 1 : outer]
            raise ScheduleError(
                f"{given}: the iterations of the {KIND_WORD[site.dim.kind]} loop {loop}"
                " would share the storage and overwrite each other's values",
                at=hoist.site,
                detail=drawing(nests, f),
                legal=[
                    call(f, "hoist_storage", level)
                    for level in levels(nests, f, inside)[1:]
                ],
            )


__all__ = [
    "PLACEMENTS",
    "AtDemand",
    "AtLevel",
    "AtOutput",
    "AtUses",
    "Inlined",
    "Placement",
    "placement_of",
]
