"""A pipeline as a value: its Funcs as they are at one moment, apart from the user's.

Lowering reads a `PipelineSpec` and never the Funcs that a user holds, so that a
directive given meanwhile, by another thread say, changes nothing of a compilation that
has begun; nor does lowering write to anything that a user holds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError
from parhelion.ir.changes import CHANGES
from parhelion.ir.deep import run_deep
from parhelion.ir.function import Definition, Function
from parhelion.ir.pipeline import Requirement
from parhelion.ir.promises import Assumptions, Promise
from parhelion.ir.symbols import DimSym
from parhelion.schedule import pickled
from parhelion.schedule.branches import copied
from parhelion.schedule.directives import FuncSchedule, LoopLevel, StageSchedule
from parhelion.schedule.mentions import of_pipeline
from parhelion.schedule.order import realization_order
from parhelion.schedule.placement import placement_of
from parhelion.schedule.rules import warn
from parhelion.schedule.wrappers import Redirect, Source, changes, unread


@dataclass(frozen=True, slots=True, eq=False)
class PipelineSpec:
    """The Funcs that some outputs need, copied with their schedules.

    In a copy's definitions every call is of a copy, and wrappers and clones stand where
    the schedule has them read; images, Params and reduction domains are the user's.

    outputs: what the pipeline computes. copies: those of all Funcs that it needs, by
    the user's, producers first.
    requirements: what is checked before anything else when the pipeline runs.
    assumptions: what is promised of the images, the outputs and the Params.

    It can be pickled (see `schedule.pickled`), and be compiled in another process.
    """

    outputs: tuple[Function, ...]
    copies: Mapping[Function, Function]
    requirements: tuple[Requirement, ...]
    assumptions: Assumptions
    _digest: list[str] = field(default_factory=list, init=False, repr=False)

    @staticmethod
    def of(
        outputs: Sequence[Function], requirements: Sequence[Requirement] = ()
    ) -> PipelineSpec:
        """The pipeline that computes the user's `outputs`, as it is now.

        Warns of wrappers that nothing reads. Raises DefinitionError if Funcs call each
        other in a circle, and ScheduleError if a Func is to read a wrapper or a clone
        of something that it does not read.
        """
        required = [(r.condition, *r.shown) for r in requirements]
        with CHANGES:
            order = realization_order(outputs)
            for f in reversed(order):
                _check_replacements(f, outputs, order)
            copies = run_deep(lambda: _copies(order))
            made = tuple([copies[f] for f in outputs])
            for f, copy in zip(outputs, made, strict=True):
                copy.hold(f.buffers)
            assumed = Assumptions.now(of_pipeline(outputs, order, required))
        return PipelineSpec(made, copies, tuple(requirements), assumed)

    @property
    def order(self) -> tuple[Function, ...]:
        """The copies, producers first."""
        return tuple(self.copies.values())

    def __reduce__(self) -> tuple[Callable[[bytes], PipelineSpec], tuple[bytes]]:
        told = pickled.dumps(
            self.outputs, self.order, self.requirements, self.assumptions
        )
        return _loaded, (told,)

    @property
    def digest(self) -> str:
        """Hexadecimal digits that all specs have, in any process, of which the same
        program is made, names included; of one with foreign code, in this process."""
        if not self._digest:
            self._digest.append(self._made_digest())
        return self._digest[0]

    def _made_digest(self) -> str:
        from parhelion.schedule.keys import digest_apart
        from parhelion.schedule.reach import contents

        assumed = self.assumptions
        dims = [(*d.min.origin, promise) for d, promise in assumed.dims.items()]
        parts = [part for f in self.order for part in contents(f)]
        params = list(assumed.params.items())
        outputs = [(f, f.buffers) for f in self.outputs]
        return digest_apart((outputs, parts, self.requirements, dims, params))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PipelineSpec) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def assuming(self, instead: Mapping[DimSym, Promise]) -> PipelineSpec:
        """The same pipeline, with other promises of some dimensions."""
        return dataclasses.replace(self, assumptions=self.assumptions.but(instead))


def duplicates(outputs: Sequence[Function]) -> Mapping[Function, Function]:
    """Funcs of their own, by the user's, producers first: with the same definitions and
    directives, for others to be tried on.

    Wrappers and clones stand where they are read, so that directives which mention them
    know them as Funcs like all others. Images, Params and outputs' buffers are the
    user's. Warns and raises as `PipelineSpec.of`.
    """
    made = PipelineSpec.of(outputs).copies
    for f in made.values():
        f.copy_of = None  # what is given to it from now on counts
    return made


def _loaded(told: bytes) -> PipelineSpec:
    outputs, order, requirements, assumptions = pickled.loads(told)
    return PipelineSpec(outputs, {f: f for f in order}, requirements, assumptions)


def _copies(order: Sequence[Function]) -> dict[Function, Function]:
    """A copy of each Func, which calls copies."""
    copies = {f: _shell(f) for f in order}
    copier = _Copier(copies)
    for f in order:
        copier.fill(f)
    return copies


def _shell(f: Function) -> Function:
    """A copy of a Func without its definitions."""
    made = Function(f.name, dataclasses.replace(f.schedule), f.site)
    made.label, made.args, made.types = f.label, f.args, f.types
    made.frozen, made.extern, made.copy_of = f.frozen, f.extern, f
    return made


class _Copier:
    """Fills copies of Funcs, all of which are there already."""

    def __init__(self, copies: Mapping[Function, Function]) -> None:
        self.copies = copies
        self._to: dict[Source, Source] = dict(copies.items())
        self._redirect = Redirect(self._to)

    def fill(self, f: Function) -> None:
        """Gives the copy of `f` its definitions and its schedule."""
        copy = self.copies[f]
        stages = [self._definition(f, d) for d in f.stages()]
        if stages:
            copy.pure, copy.updates = stages[0], tuple(stages[1:])
        self._of_func(copy.schedule)

    def _definition(self, f: Function, d: Definition) -> Definition:
        changed = changes(f, d)
        redirect = self._redirect
        if changed:
            others = {s: self._copy(other) for s, other in changed.items()}
            redirect = Redirect({**self._to, **others})
        made = Definition(
            tuple([redirect.go(a) for a in d.args]),
            tuple([redirect.go(v) for v in d.values]),
            d.rdom,
            copied(d.schedule),
            d.site,
        )
        if d.rdom is not None:
            made.read_predicate(redirect.go(d.predicate))
        made.original, made.directive = d.original, d.directive
        made.moved_by, made.known_as = d.moved_by, d.known_as
        self._of_stage(made.schedule)
        return made

    def _copy(self, source: Source) -> Source:
        """The copy of a Func of the pipeline; of anything else, that itself."""
        return self._to.get(source, source)

    def _level(self, level: LoopLevel) -> LoopLevel:
        copy = None if level.func is None else self.copies.get(level.func)
        return level if copy is None else dataclasses.replace(level, func=copy)

    def _of_func(self, s: FuncSchedule) -> None:
        s.compute = self._level(s.compute)
        s.store = None if s.store is None else self._level(s.store)
        s.hoist = None if s.hoist is None else self._level(s.hoist)
        s.wraps = None if s.wraps is None else self._copy(s.wraps)
        s.instead, s.wrapper = {}, None

    def _of_stage(self, s: StageSchedule) -> None:
        if s.prefetches:
            s.prefetches = tuple(
                [
                    dataclasses.replace(p, source=self._copy(p.source))
                    for p in s.prefetches
                ]
            )
        to = s.fused_with
        if to is not None and to.func in self.copies:
            s.fused_with = dataclasses.replace(to, func=self.copies[to.func])
        for one in s.specializations:
            if one.schedule is not None:
                self._of_stage(one.schedule)


def _check_replacements(
    f: Function, outputs: Sequence[Function], order: Sequence[Function]
) -> None:
    """Every wrapper or clone made for `f` must stand for something that it reads, and
    one that is meant for all readers of `f` should have some."""
    for source, instead in list(f.schedule.instead.items()):
        clone = instead.func
        if clone.schedule.wraps is source or not isinstance(source, Function):
            continue
        if all([placement_of(g, outputs).substituted for g in (source, clone)]):
            warn(
                f"{source.name} and {clone.name} are both inlined:"
                f" {source.name}.clone_in has no effect",
                instead.site,
            )
    for source, instead in unread(f):
        directive = "in_" if instead.func.schedule.wraps is source else "clone_in"
        reads = dict.fromkeys([s.name for d in f.stages() for s in d.mentions()])
        raise ScheduleError(
            f"{source.name}.{directive}({f.name}): {f.name} does not read"
            f" {source.name}",
            at=instead.site,
            detail=f"{f.name} reads {', '.join(reads) or 'nothing'}",
        )
    wrapper = f.schedule.wrapper
    if wrapper is not None and wrapper not in order:
        warn(f"{f.name}.in_() has no effect: no Func reads {f.name}", wrapper.site)


__all__ = ["PipelineSpec", "duplicates"]
