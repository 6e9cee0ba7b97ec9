"""What else than loops at its place computes a Func: each kind is a `Mode`.

Foreign code may compute a Func, a cache may know its values from an earlier run, and a
thread of its own may run its loops. What directives, checks, lowering and the automatic
schedulers must know of these stands here, as properties and methods of a class each, so
that none of them lists the kinds. A new kind is a class, and its place in `MODES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from parhelion.errors import ScheduleError
from parhelion.ir.expr import Intrinsic
from parhelion.ir.function import Function, var_label
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.dependencies import dependencies
from parhelion.schedule.directives import Place
from parhelion.schedule.order import callees
from parhelion.schedule.rules import stage_label, warn

if TYPE_CHECKING:
    from parhelion.schedule.sites import LoopSite, Nests


class Mode:
    """One way in which `func` is computed.

    by_loops: whether loops of the compiler compute the Func, which directives may shape
    and others may share. whole: whether the Func is handed to others than its readers,
    who know it by its region, so that a scheduler computes it once, just as far as it
    is needed, in the storage order that it has.
    """

    by_loops: ClassVar[bool] = True
    whole: ClassVar[bool] = False

    def __init__(self, func: Function) -> None:
        self.func = func

    @classmethod
    def of(cls, f: Function) -> Self | None:
        """The mode of `f`, if its schedule or definition says so."""
        raise NotImplementedError

    @property
    def alone(self) -> str:
        """Why no other stage can share loops with the Func's: a sentence."""
        raise NotImplementedError

    def check(self, nests: Nests) -> None:
        """Raises ScheduleError where the Func, whose place is known, cannot be computed
        in this way; warns of directives that have no effect."""


class Foreign(Mode):
    """Foreign code computes the Func (`define_extern`), without loops of ours."""

    by_loops = False
    whole = True

    @classmethod
    def of(cls, f: Function) -> Self | None:
        return None if f.extern is None else cls(f)

    @property
    def alone(self) -> str:
        return f"foreign code computes {self.func.name}, without loops"

    def check(self, nests: Nests) -> None:
        """What it is given has its pixels in memory, and it computes one region at a
        time."""
        f = self.func
        for g in callees(f):
            if nests.placements[g].substituted:
                raise ScheduleError(
                    f"{g.name} is inlined, but {f.name}, which foreign code computes,"
                    " needs its pixels in memory",
                    at=f.site,
                    legal=[f"{g.name}.compute_root()"],
                    hint=f"or compute it where {f.name} is computed",
                )
        site = _vector_around(nests, f)
        if site is not None:
            raise ScheduleError(
                f"{f.name}, which foreign code computes, is computed inside the"
                f" vectorized loop {var_label(site.dim.var)} of"
                f" {stage_label(site.func, site.stage)}: it computes one region at a"
                " time",
                at=f.schedule.compute.site or f.site,
                hint="compute it at a loop further out",
            )
        assert f.pure is not None
        for one in f.pure.schedule.specializations:
            if one.schedule is not None:
                warn(
                    f"{f.name}.specialize has no effect: foreign code computes"
                    f" {f.name}, and has no loops that a branch could schedule",
                    one.site,
                )


class Threaded(Mode):
    """A thread of its own runs the loops of the Func (`async_`)."""

    @classmethod
    def of(cls, f: Function) -> Self | None:
        return cls(f) if f.schedule.async_ else None

    @property
    def alone(self) -> str:
        return f"{self.func.name} is async: a thread of its own runs it"


class Memoized(Mode):
    """The cache of the process is asked for the values first (`memoize`)."""

    whole = True

    @classmethod
    def of(cls, f: Function) -> Self | None:
        return None if f.schedule.memo is None else cls(f)

    @property
    def alone(self) -> str:
        name = self.func.name
        return f"{name} is memoized: its loops run only where its result is not kept"

    def check(self, nests: Nests) -> None:
        """There is storage to keep, of one computation, and a key for it."""
        f = self.func
        memo = f.schedule.memo
        assert memo is not None
        if f in nests.outputs:
            warn(
                f"{f.name} is an output of the pipeline, whose storage is the caller's:"
                f" {f.name}.memoize() has no effect",
                memo.site,
            )
            return
        if f.schedule.compute.place is Place.INLINED:
            raise ScheduleError(
                f"{f.name}.memoize(): {f.name} is inlined and has no storage to keep",
                at=memo.site,
                hint=f"compute it: {f.name}.compute_root(), or compute_at",
            )
        apart = nests.computed[f] != nests.stored[f]
        if apart or f.schedule.hoist is not None:
            raise ScheduleError(
                f"{f.name}.memoize(): the storage of {f.name} is made for more than one"
                " computation of it, and a result is kept as a whole",
                at=memo.site,
                hint="leave out store_at, store_root and hoist_storage",
            )
        site = _vector_around(nests, f)
        if site is not None:
            raise ScheduleError(
                f"{f.name}.memoize(): {f.name} is computed inside the vectorized loop"
                f" {var_label(site.dim.var)} of {stage_label(site.func, site.stage)},"
                " where it has no storage of its own",
                at=memo.site,
            )
        for e in dependencies(f):
            if isinstance(e, BufferSym):
                raise ScheduleError(
                    f"{f.name}.memoize(): {f.name} depends on the pixels of the image"
                    f" {e.name}, which no key can hold",
                    at=memo.site,
                    hint="say what tells one image from another: hl.memoize_tag(value,"
                    " version), with a Param for the version",
                )


class Demanded(Mode):
    """Parts of the Func are computed where a value of them is first needed
    (`compute_lazy`)."""

    @classmethod
    def of(cls, f: Function) -> Self | None:
        return cls(f) if f.schedule.on_demand else None

    @property
    def alone(self) -> str:
        name = self.func.name
        return f"{name} is computed on demand: its loops run where a value is needed"

    def check(self, nests: Nests) -> None:
        """A part can be computed at any time, alone, and any number of times less than
        the Func would be."""
        f = self.func
        if f in nests.outputs:
            return  # `AtOutput` has said that it is computed as a whole
        for use in nests.uses[f]:
            if not by_loops(use.func):
                raise self._error(
                    f"foreign code, which computes {use.func.name}, reads it, and"
                    " cannot say which values it needs"
                )
        for refused, why in self._refusals():
            if refused:
                raise self._error(why)
        for g in nests.order:
            if g.schedule.async_ and g not in nests.outputs:
                raise self._error(
                    f"{g.name} is async, and the loops that both are in would run in"
                    " two threads, each with its own demands",
                    f"leave out {g.name}.async_(), or compute {f.name} at root",
                )
        if not f.schedule.tile:
            self._check_point()

    def _refusals(self) -> list[tuple[object, str]]:
        f = self.func
        s = f.schedule
        folds = [wish for wish in s.storage.values() if wish.fold is not None]
        effect = _effect(f)
        return [
            (f.extern, "foreign code computes it, which may have effects of its own"),
            (effect, f"its definition has an effect ({effect}), which would happen as"
                " often as values happen to be needed"),
            (s.async_, "a thread of its own cannot know which values are needed"),
            (s.memo, "a result that is kept (memoize) must be computed as a whole"),
            (folds, "storage that is folded (fold_storage) forgets values"),
            (s.ring, "copies of its storage that iterations take turns in (ring_buffer)"
                " forget values"),
            (s.hoist, "its values are kept as long as its storage, which is allocated"
                " where it begins: leave out hoist_storage"),
        ]  # fmt: skip

    def _check_point(self) -> None:
        f = self.func
        if f.updates:
            raise self._error(
                "its updates run over regions, and a single value has none",
                "compute tiles: compute_lazy(tile=(64, 64))",
            )
        assert f.pure is not None
        schedule = f.pure.schedule
        if schedule.touched:
            raise self._error(
                "one value at a time is computed without loops, which directives on"
                " loops could shape",
                "compute tiles, compute_lazy(tile=(64, 64)), or leave out the"
                f" directives on the loops of {f.name}",
            )

    def _error(self, why: str, hint: str = "") -> ScheduleError:
        f = self.func
        return ScheduleError(
            f"{f.name} cannot be computed on demand: {why}",
            at=f.schedule.compute.site,
            hint=hint or f"{f.name}.compute_root(), or compute_at, has no such limit",
        )


def _effect(f: Function) -> str:
    """What a Func's definitions do besides computing values; empty if nothing."""
    for d in f.stages():
        for e in (*d.values, *d.args, *d.guard):
            for n in nodes(e):
                if isinstance(n, Intrinsic) and n.op in ("print", "print_when"):
                    return n.op
    return ""


def _vector_around(nests: Nests, f: Function) -> LoopSite | None:
    """A vectorized loop inside of which the Func is computed."""
    for stack in nests.computed[f]:
        for site in stack:
            if site.dim.kind is ForKind.VECTORIZED:
                return site
    return None


#: All kinds. Of two, messages name the first.
MODES: tuple[type[Mode], ...] = (Foreign, Threaded, Memoized, Demanded)


def modes(f: Function) -> tuple[Mode, ...]:
    """The modes of a Func; none of one that loops at its place compute, each time."""
    found = [kind.of(f) for kind in MODES]
    return tuple([mode for mode in found if mode is not None])


def by_loops(f: Function) -> bool:
    """Whether loops of the compiler compute `f`."""
    return all([kind.by_loops or kind.of(f) is None for kind in MODES])


def is_whole(f: Function) -> bool:
    """Whether others than its readers know `f`, by its region (see `Mode`)."""
    return any([kind.whole and kind.of(f) is not None for kind in MODES])


__all__ = [
    "MODES",
    "Demanded",
    "Foreign",
    "Memoized",
    "Mode",
    "Threaded",
    "by_loops",
    "is_whole",
    "modes",
]
