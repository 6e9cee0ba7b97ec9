"""Directives that cannot have an effect where they stand: each is warned of.

The checks of `schedule.legality` refuse what is wrong; what is only in vain is said
here, at the user's line, so that no directive is ignored in silence.
"""

from __future__ import annotations

from parhelion.errors import Site
from parhelion.ir.build import const_int
from parhelion.ir.function import Function, var_label
from parhelion.ir.stmt import ForKind
from parhelion.schedule.directives import (
    DimType,
    Fuse,
    Rename,
    Split,
    StageSchedule,
)
from parhelion.schedule.rules import KIND_WORD, stage_label, warn


def warn_idle_stage(f: Function, k: int, schedule: StageSchedule) -> None:
    """Warns of what the directives on the loops of a stage cannot bring about."""
    _warn_of_atomic(f, k, schedule)
    _warn_of_races(f, k, schedule)
    _warn_of_partitions(stage_label(f, k), schedule)


def _warn_of_atomic(f: Function, k: int, schedule: StageSchedule) -> None:
    """`atomic` is for iterations that meet."""
    kinds = {d.kind for d in schedule.dims if d.type is DimType.IMPURE_RVAR}
    if schedule.atomic and not any(k.concurrent for k in kinds):
        warn(
            f"{stage_label(f, k)}.atomic has no effect: no loop whose iterations"
            " depend on each other is parallel or vectorized",
            schedule.atomic_site,
        )


def _warn_of_races(f: Function, k: int, schedule: StageSchedule) -> None:
    """`allow_race_conditions` is for loops that could not run in any order."""
    if schedule.race_site is None:  # not given, or (rfactor) to another stage
        return
    if all(d.type is not DimType.IMPURE_RVAR for d in schedule.dims):
        warn(
            f"{stage_label(f, k)}.allow_race_conditions has no effect: no iterations"
            " of its loops depend on each other",
            schedule.race_site,
        )


def _warn_of_partitions(label: str, schedule: StageSchedule) -> None:
    """A loop to be partitioned or left whole may become no loop at all."""
    for d in schedule.dims:
        choice = schedule.partitions.get(d.var)
        if choice is None or not choice.explicit:
            continue
        if d.kind in (ForKind.VECTORIZED, ForKind.UNROLLED):
            warn(
                f"{label}.{choice.directive}: {var_label(d.var)} is"
                f" {KIND_WORD[d.kind]} and leaves no loop to partition",
                choice.site,
            )


def warn_idle_ring(f: Function) -> None:
    """Warns of turns that are taken by one copy of the storage."""
    ring = f.schedule.ring
    if ring is not None and const_int(ring) == 1:
        warn(
            f"{f.name}.ring_buffer(1) has no effect: one copy of its storage is what"
            f" {f.name} has without it",
            f.schedule.ring_site,
        )


def warn_idle_hoist(f: Function, call: str) -> None:
    """Warns of storage that is allocated where it begins anyway."""
    assert f.schedule.hoist is not None
    warn(
        f"{call} has no effect: that is where the storage of {f.name} begins",
        f.schedule.hoist.site,
    )


def warn_inlined(f: Function) -> None:
    """Warns of each directive on an inlined Func: it has no loops and no storage."""
    wrapped = f.schedule.wraps
    if wrapped is not None:
        warn(
            f"{f.name} is inlined: {wrapped.name}.in_ has no effect; give {f.name} a"
            " place, compute_root() or compute_at",
            f.site,
        )
    assert f.pure is not None
    calls = [*_loop_calls(f.pure.schedule), *_bound_calls(f)]
    named = [(f"{f.name}.{directive}", site) for directive, site in calls]
    # One directive may stand for several entries, as `tile` does for two splits.
    for call, site in dict.fromkeys((*named, *layout_calls(f), *thread_calls(f))):
        warn(f"{f.name} is inlined: {call} has no effect", site)


def _loop_calls(schedule: StageSchedule) -> list[tuple[str, Site | None]]:
    """The directives on the loops of a stage, and where they stand."""
    found: list[tuple[str, Site | None]] = []
    for one in schedule.specializations:
        what = "specialize_fail" if one.schedule is None else "specialize"
        found.append((what, one.site))
    for t in schedule.transforms:
        found.append(
            ({Split: "split", Fuse: "fuse", Rename: "rename"}[type(t)], t.site)
        )
    if schedule.reorder_site is not None:
        found.append(("reorder", schedule.reorder_site))
    found += [(c.directive, c.site) for c in schedule.partitions.values()]
    found += [("prefetch", p.site) for p in schedule.prefetches]
    return found


def _bound_calls(f: Function) -> list[tuple[str, Site | None]]:
    """The directives on the region of a Func, and where they stand."""
    found: list[tuple[str, Site | None]] = []
    for b in f.schedule.bounds:
        if b.modulus is None:
            found.append(("bound_extent" if b.min is None else "bound", b.site))
        else:
            what = "align_extent" if b.remainder is None else "align_bounds"
            found.append((what, b.site))
    return found


def layout_calls(f: Function) -> list[tuple[str, Site | None]]:
    """The directives on the storage of a Func, and where they stand."""
    found: list[tuple[str, Site | None]] = []
    s = f.schedule
    if s.memory_site is not None:
        found.append((f"{f.name}.store_in", s.memory_site))
    if s.order_site is not None:
        found.append((f"{f.name}.reorder_storage", s.order_site))
    for d, wish in s.storage.items():
        for given, directive, site in (
            (wish.fold, "fold_storage", wish.fold_site),
            (wish.align, "align_storage", wish.align_site),
            (wish.bound, "bound_storage", wish.bound_site),
        ):
            if given is not None:
                found.append((f"{f.name}.{directive}({f.args[d].name}, …)", site))
    return found


def thread_calls(f: Function) -> list[tuple[str, Site | None]]:
    """The directives given about the threads of a Func, and their lines."""
    found: list[tuple[str, Site | None]] = []
    if f.schedule.async_:
        found.append((f"{f.name}.async_", f.schedule.async_site))
    if f.schedule.ring is not None:
        found.append((f"{f.name}.ring_buffer", f.schedule.ring_site))
    return found
