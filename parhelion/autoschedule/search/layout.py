"""Storage orders: which Funcs had better lie in memory with another dimension first.

A Func is stored with its first dimension side by side. Where its readers go along
another one in vectors, each lane is a load by itself. This file finds such Funcs in a
schedule; whether another order pays is for the search to say, which chooses the loops
of writer and readers anew for it.
"""

from __future__ import annotations

from parhelion.autoschedule.model.plan import Group
from parhelion.autoschedule.model.throughput import load_time, registers_of
from parhelion.autoschedule.search.state import State
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function
from parhelion.schedule.modes import is_whole

#: Vectors must save this share of the whole, and so many Funcs are tried.
_LEAST_SHARE, _MOST = 0.08, 2


@dataclass(frozen=True)
class StorageOrder:
    """A storage order of a Func: its dimensions, the one that is side by side first."""

    function: Function
    order: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple([self.function.args[d].name for d in self.order])

    @property
    def label(self) -> str:
        return ", ".join(self.names)


def layouts(state: State) -> list[StorageOrder]:
    """The storage orders that might gain, the one that seems to save most first."""
    saved: dict[tuple[Function, int], float] = {}
    for g in state.groups.values():
        for f in (g.root, *g.members):
            _count(state, g, f, saved)
    least = state.cost * state.model.machine.threads * _LEAST_SHARE
    found = sorted(saved, key=lambda one: -saved[one])
    return [
        StorageOrder(f, (d, *[k for k in range(f.dimensions) if k != d]))
        for f, d in found
        if saved[f, d] > least
    ][:_MOST]


def _count(
    state: State, g: Group, f: Function, saved: dict[tuple[Function, int], float]
) -> None:
    """Adds the nanoseconds that the reads of one Func would save with each dimension of
    what it reads first."""
    model, loops = state.model, g.loops[f]
    machine = model.machine
    if loops.vector < 0:
        return
    v = f.args[loops.vector]
    for stage in model.graph.stages[f]:
        if v not in stage.pure:
            continue
        times = 1.0
        for lo, hi in model.regions.loops(stage, model.regions.bounds[f]):
            times *= hi - lo + 1
        times /= loops.lanes
        for a in model.work(stage).loads:
            source = a.source
            if not isinstance(source, Function) or v not in a.depends:
                continue
            if source is f:
                continue  # whose loops will be others
            if not _free(state, source):
                continue
            now = load_time(a, machine, v, loops.lanes)
            dense = registers_of(loops.lanes, a.bits, machine) * machine.load
            moved = [d for d in range(len(a.steps)) if a.step(d, v) != 0]
            for d in range(1, source.dimensions):
                then = dense
                if moved != [d] or a.step(d, v) != 1:
                    then = loops.lanes * machine.lane
                key = source, d
                saved[key] = saved.get(key, 0.0) + times * (now - then)


def _free(state: State, f: Function) -> bool:
    """Whether the storage order of a Func is ours to choose."""
    s = f.schedule
    natural = list(s.storage_order) == list(range(f.dimensions))
    return (
        f in state.model.graph.stages
        and state.search.freedom.move(f)
        and not is_whole(f)
        and f not in state.search.freedom.given
        and not s.storage
        and natural
    )


__all__ = ["StorageOrder", "layouts"]
