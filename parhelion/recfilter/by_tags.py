"""Schedules by tags: the user's directives, given to the stages that they mean.

From: the 2015 paper, section 7, "Manual control".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from parhelion.errors import ScheduleError, Site, here, located
from parhelion.lang.func import Func
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.directives import FULL, INTRA, Class, Directive
from parhelion.recfilter.gpu_schedules import (
    OnGpu,
    keep_in_blocks,
    parts_by_hand,
    schedule_kernels,
)
from parhelion.recfilter.schedules import lanes, schedule_points, tail_of
from parhelion.recfilter.stages import Loop, Nest, Staged, free_points, level_of
from parhelion.recfilter.tags import Kind, VarTag
from parhelion.schedule.directives import TailStrategy
from parhelion.types import Type


class ByTags:
    """Collects the stages of a RecFilter that directives by tags are for, and schedules
    them once all are there.

    name: of the RecFilter. directives: in the order given. t: the type filtered in.
    on_gpu: whether stages that none of them is for are kernels of a GPU.
    """

    def __init__(
        self,
        name: str,
        directives: Sequence[Directive],
        t: Type,
        on_gpu: OnGpu | None = None,
    ) -> None:
        self.name, self.directives, self.type = name, tuple(directives), t
        self.on_gpu = on_gpu
        self.stages: list[Staged] = []
        #: The classes of all stages, scheduled by tags or not.
        self.met: dict[Class, None] = {}

    def takes(self, stages: Class) -> bool:
        """Whether stages of a class are scheduled by tags: by the user, or as kernels,
        and not for a CPU."""
        self.met[stages] = None
        return self.on_gpu is not None or self.is_told(stages)

    def is_told(self, stages: Class) -> bool:
        """Whether the user has directives for stages of a class."""
        return any([d.stages.has(stages) for d in self.directives])

    def add(self, stages: Sequence[Staged]) -> None:
        self.stages += stages

    def apply(self) -> None:
        """Gives the stages their directives. Raises ScheduleError, at the line of a
        directive, if it is for stages or tags that there are not, or is refused."""
        for d in self.directives:
            mine = [one for one in self.stages if d.stages.has(one.stages)]
            if not mine:
                raise self._no_stages(d)
            met = {t for one in mine for t in d.tags if _has(one, t, d)}
            for t in d.tags:
                if t not in met:
                    raise self._no_tag(d, t, mine)
            for one in mine:
                self._give_or_tell(d, one)
        shared: set[Func] = set()
        told = [one for one in self.stages if self.is_told(one.stages)]
        if self.on_gpu is not None:
            rest = [one for one in self.stages if one not in told]
            schedule_kernels(rest, self.on_gpu, self.type)
        for one in told:
            last = [d for d in self.directives if d.stages.has(one.stages)][-1]
            with _at(last.site):
                self._place(one, shared)

    def _no_stages(self, d: Directive) -> ScheduleError:
        told = list(dict.fromkeys([f"{self.name}.{c}" for c in self.met]))
        hint = f"{self.name}.split has filters computed in tiles"
        return ScheduleError(
            f"{self.name}.{d.stages}.{d}: {self.name} has no stages of this class, as"
            f" {self._why(d.stages)}",
            at=d.site,
            legal=told,
            hint="" if d.stages.name == "full" else hint,
        )

    def _why(self, stages: Class) -> str:
        """Why there are no stages of a class."""
        if stages.has(FULL):
            return "all filters are computed in tiles"
        if any([INTRA.has(one) for one in self.met]):
            return "no two dimensions are in the same tiles"
        return "all filters run along whole lines"

    def _no_tag(self, d: Directive, t: VarTag, mine: Sequence[Staged]) -> ScheduleError:
        known: dict[str, None] = {}
        for one in mine:
            for loop in _loops(one, d):
                own = VarTag(loop.kind, loop.number, loop.part)
                plain = VarTag(loop.kind, None, loop.part)
                known[str(plain if loop.kind is Kind.SCAN else own)] = None
        count = "1 stage" if len(mine) == 1 else f"{len(mine)} stages"
        return ScheduleError(
            f"{self.name}.{d.stages}.{d}: of {count}, none has a dimension {t}",
            at=d.site,
            legal=[f"{self.name}.{one}" for one in sorted(known)],
        )

    # One directive, for one Func.

    def _give_or_tell(self, d: Directive, one: Staged) -> None:
        """Gives a Func a directive. Raises ScheduleError in the user's words if the
        Func refuses it: its loops have names that no user has given."""
        try:
            with _at(d.site):
                self._give(d, one)
        except ScheduleError as error:
            raise ScheduleError(
                f"{self.name}.{d.stages}.{d}: one of the stages refuses it:"
                f" {error.what}",
                at=d.site,
                hint=f"{self.name}.print_loop_nest() shows the loops of all stages,"
                " without the directive",
                detail=error.detail,
            ) from error

    def _give(self, d: Directive, one: Staged) -> None:
        if d.method == "reorder_storage":
            order = _listed(one.storage, d.tags)
            if order and len(one.storage) > 1:
                rest = [loop for loop in one.storage if loop not in order]
                one.func.reorder_storage(*[loop.var for loop in (*order, *rest)])
            return
        local = self._is_local(one)
        if d.method in ("parallel", "gpu_blocks") and local:
            return
        for nest in one.nests:
            if d.method == "reorder":
                nest.reorder(_listed(nest.loops, d.tags))
            elif d.method == "fuse":
                _fuse(nest, *d.tags)
            elif d.method.startswith("gpu_"):
                free = [loop for loop in nest.loops if not loop.idle]
                loops = _listed(free, d.tags)
                if loops:
                    getattr(nest.stage, d.method)(*[loop.var for loop in loops])
            elif d.tags:
                self._shape(d, nest, local)

    def _shape(self, d: Directive, nest: Nest, local: bool) -> None:
        """Splits, vectorizes, unrolls or runs loops in parallel."""
        loops = [loop for loop in nest.having(d.tags[0]) if not loop.idle]
        if d.tags[0].number is None and d.method == "vectorize":
            loops = loops[:1]
        if d.tags[0].number is None and d.method == "parallel":
            loops = loops[-1:]
        for loop in loops:
            factor = d.factor
            if factor is None and d.method == "vectorize":
                factor = lanes(self.type)
            if factor is None:
                getattr(nest.stage, d.method)(loop.var)
                continue
            tail = _tail(nest, loop, factor, local)
            if d.method == "split":
                nest.split(loop, factor, tail)
            else:
                getattr(nest.stage, d.method)(loop.var, factor, tail)
                nest.replace(loop, replace(loop, extent=-(-loop.extent // factor)))

    # Where a Func is computed.

    def _is_local(self, one: Staged) -> bool:
        """Whether a Func is computed in the loops of those that read it."""
        if not one.readers or level_of(one.readers[0]) is None:
            return False
        places = [
            d.method
            for d in self.directives
            if d.stages.has(one.stages) and d.method.startswith("compute_")
        ]
        return not places or places[-1] == "compute_locally"

    def _place(self, one: Staged, shared: set[Func]) -> None:
        """Says where a Func is computed. shared: those that share their loops with the
        last one of several that read what is computed in them."""
        if not self._is_local(one):
            one.func.compute_root()
            return
        *others, lead = one.readers
        level = level_of(lead)
        assert level is not None
        for other in others:
            if other.func not in shared:
                self._check_alike(one, lead, other)
                other.func.compute_with(lead.func, level.var)
                shared.add(other.func)
        one.func.compute_at(lead.func, level.var)
        told = [d.method for d in self.directives if d.stages.has(one.stages)]
        if "gpu_blocks" in told:
            padded = one.storage[0].kind in (Kind.INNER, Kind.SCAN)
            keep_in_blocks(one, parts_by_hand(lead), padded)

    def _check_alike(self, one: Staged, lead: Staged, other: Staged) -> None:
        """Raises ScheduleError unless both have the same loops around what is computed
        in them."""
        around = [_around(each) for each in (lead, other)]
        if around[0] == around[1]:
            return
        told = [", ".join(loops) for loops in around]
        raise ScheduleError(
            f"{self.name}: filters within tiles are computed locally for the tails of"
            " several dimensions, whose loops around them must be the same; they are"
            f" {told[0]} and {told[1]}",
            at=here(),
            hint=f"reorder the loops of {self.name}.outer() outside of all others, or"
            " compute_globally()",
        )


def _at(site: Site | None) -> AbstractContextManager[None]:
    return nullcontext() if site is None else located(site)


def _loops(one: Staged, d: Directive) -> list[Loop]:
    """What tags of a directive may mean of a Func."""
    if d.method == "reorder_storage":
        return one.storage
    loops = [loop for nest in one.nests for loop in nest.loops]
    if d.method in ("reorder", "fuse"):
        return loops
    return [loop for loop in loops if not loop.idle]


def _has(one: Staged, t: VarTag, d: Directive) -> bool:
    return any([loop.has(t) for loop in _loops(one, d)])


def _listed(loops: Sequence[Loop], tags: Sequence[VarTag]) -> list[Loop]:
    """The loops that have tags, in the order of the tags, each once."""
    found = [loop for t in tags for loop in loops if loop.has(t)]
    return list(dict.fromkeys(found))


def _fuse(nest: Nest, inner: VarTag, outer: VarTag) -> None:
    firsts = nest.having(inner)[:1]
    seconds = [loop for loop in nest.having(outer) if loop not in firsts]
    if not firsts or not seconds:
        return
    nest.fuse(firsts[0], seconds[0])


def _tail(nest: Nest, loop: Loop, factor: int, local: bool) -> TailStrategy:
    """How a loop ends, so that no point outside of what is needed is computed."""
    if nest.number:
        return TailStrategy.Auto
    return TailStrategy.GuardWithIf if local else tail_of(factor, loop.extent)


def _around(reader: Staged) -> list[str]:
    """The loops from that one outwards."""
    level, loops = level_of(reader), reader.nests[0].loops
    outside = loops if level is None else loops[loops.index(level) :]
    return [f"{VarTag(x.kind, x.number, x.part)} of {x.extent}" for x in outside]


def points(f: Func, dims: Sequence[RecFilterDim], t: Type, by_tags: ByTags) -> None:
    """Schedules a Func whose points do not depend on each other."""
    if by_tags.takes(FULL):
        by_tags.add(free_points(f, dims))
    else:
        schedule_points(f, dims, t)


__all__ = ["ByTags", "points"]
