"""The storage of each Func: how large it is, what is folded, and who may use it when.

A Func's storage begins where `Sites.store` says, is allocated at `Sites.hoist`, and has
at most one factor for each dimension (`lower.folding`). Copies of it, of a ring buffer,
lie one after the other along the slowest dimension. An async Func has semaphores too,
by which its thread and those that use it keep in step (`lower.fork_async`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from parhelion.dataclass import dataclass
from parhelion.ir.build import add, int32, mul, sub
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import LetStmt
from parhelion.lower import extern
from parhelion.lower.folding import find_folds, hoisted_extent, origins
from parhelion.lower.fork_async import Syncs, has_thread, semaphores
from parhelion.lower.prologue import add_ring_check
from parhelion.lower.regions import Regions
from parhelion.lower.relocate import Origins
from parhelion.lower.ring import Turns, numbered_slot, take_turns
from parhelion.lower.sites import Site
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32

#: The (min, extent) of each dimension.
Extents = tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class Realizations:
    """The storage of the Funcs of a program, its outputs aside.

    extents: of each. origins: what the coordinates of folded and hoisted Funcs are
    counted from. syncs: the semaphores of async Funcs. hoist: if false, storage begins
    where it is allocated, to be read.
    """

    regions: Regions
    extents: Mapping[Function, Extents]
    origins: Origins
    syncs: Syncs
    hoist: bool = True

    def allocated(self, f: Function) -> Site:
        """Where the storage of `f` is allocated."""
        sites = self.regions.sites
        return sites.hoist(f) if self.hoist else sites.store(f)


def lay_out(
    regions: Regions, *, hoist: bool = True, threads: bool = True
) -> Realizations:
    """The storage of all Funcs of a program. Folds may add checks and names to sites,
    so that nests are built after it. Warns and raises as `find_folds` does.

    hoist: see `Realizations`. threads: if false, async Funcs are computed where they
    would be without.
    """
    program = regions.program
    inner = [f for f in program.order if f not in program.outputs]
    threads = threads and hoist
    own = [f for f in inner if threads and has_thread(regions.sites, f)]
    made = {f: _Layout(regions, f, hoist, f in own) for f in reversed(inner)}
    syncs = {f: semaphores(regions, f, made[f].folds, made[f].turns) for f in own}
    return Realizations(
        regions,
        {f: one.extents for f, one in made.items()},
        {f: one.origins for f, one in made.items() if one.origins is not None},
        syncs,
        hoist,
    )


class _Layout:
    """The storage of one Func. thread: whether a thread of its own computes it.

    What is folded or allocated further out counts from 0; `origins` says what that 0
    is. turns: who counts the copies of a ring, where there is a thread.
    """

    def __init__(
        self, regions: Regions, f: Function, hoist: bool, thread: bool
    ) -> None:
        self._regions, self._f = regions, f
        self._hoisted = hoist and regions.sites.hoist(f) is not regions.sites.store(f)
        region = regions.stored(f)
        self.folds = find_folds(regions, f)
        self.turns: Turns | None = None
        ring = f.schedule.ring if self._hoisted else None
        slot = None if ring is None else self._slot(ring, thread)
        self.origins = origins(region, self.folds, self._hoisted)
        self.extents: Extents = tuple([self._extent(d) for d in range(len(region))])
        if ring is not None and slot is not None:
            self._multiply(ring, slot)

    def _extent(self, d: int) -> tuple[Expr, Expr]:
        fold = self.folds.get(d)
        if self._hoisted:
            return int32(0), self._room(d, fold)
        if fold is not None:
            return int32(0), fold
        r = self._regions.stored(self._f)[d]
        return r.lo, simplify(add(sub(r.hi, r.lo), int32(1)))

    def _room(self, d: int, fold: Expr | None) -> Expr:
        """The extent of a dimension that is allocated further out. It has a name where
        foreign code is asked for it, as every element's address may mention it."""
        extent = hoisted_extent(self._regions, self._f, d, fold)
        if not extern.asks(extent):
            return extent
        room = Var(f"{self._f.name}.{self._f.args[d].name}.room", INT32, value=extent)
        self._regions.sites.hoist(self._f).lets.append(LetStmt(room, extent))
        return room

    def _multiply(self, copies: Expr, slot: Expr) -> None:
        """Room for so many copies, of which an iteration uses the one at `slot`."""
        order = self._f.schedule.storage_order or list(range(self._f.dimensions))
        d = order[-1]
        assert self.origins is not None
        origin, size = self.origins[d], self.extents[d][1]
        assert origin is not None
        add_ring_check(self._regions, self._f, size, copies)
        moved = replace(origin, shift=mul(slot, size))
        room = int32(0), simplify(mul(size, copies))
        self.origins = (*self.origins[:d], moved, *self.origins[d + 1 :])
        self.extents = (*self.extents[:d], room, *self.extents[d + 1 :])

    def _slot(self, copies: Expr, thread: bool) -> Expr:
        """Which copy of a ring buffer an iteration uses."""
        turns = take_turns(self._regions, self._f, copies) if thread else None
        if turns is None:
            return numbered_slot(self._regions, self._f, copies)
        self.turns = turns
        return turns.slot


__all__ = ["Extents", "Realizations", "lay_out"]
