"""The schedule of a whole pipeline as it is at one moment, to go back to."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.ir.changes import CHANGES
from parhelion.ir.function import Definition, Function
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.directives import FuncSchedule, Specialization, StageSchedule
from parhelion.schedule.order import realization_order

_FUNC = tuple(f.name for f in dataclasses.fields(FuncSchedule))
_STAGE = tuple(f.name for f in dataclasses.fields(StageSchedule))

#: The fields of a schedule, by name; those of branches in the same way.
Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch of a specialised definition, and what its schedule was."""

    branch: Specialization
    fields: Fields | None


class Snapshot:
    """What `restore` puts back: every directive on the Funcs that `outputs` need, the
    definitions that `rfactor` replaces, and wrappers.

    Func and Stage schedules stay the objects that they are, so that handles on them
    stay good. Definitions of the algorithm that are made after the snapshot are lost
    by `restore`.

    more: Funcs that are to go back as well, though the outputs may not need them now.
    """

    def __init__(
        self, outputs: Sequence[Function], more: Sequence[Function] = ()
    ) -> None:
        with CHANGES:
            self._take(outputs, more)

    def _take(self, outputs: Sequence[Function], more: Sequence[Function]) -> None:
        order = dict.fromkeys((*realization_order(outputs), *more))
        self.functions = tuple(order)
        self._funcs = [_fields(f.schedule, _FUNC) for f in self.functions]
        self._pure = [f.pure for f in self.functions]
        self._updates = [f.updates for f in self.functions]
        self._written = [f.as_written() for f in self.functions]
        self._frozen = [f.frozen for f in self.functions]
        self._stages: dict[Definition, Fields] = {
            d: _stage_fields(d.schedule) for f in self.functions for d in f.stages()
        }
        self._wrappers: dict[BufferSym, object] = {
            s: s.wrapper
            for d in self._stages
            for s in d.mentions()
            if isinstance(s, BufferSym)
        }

    def redefined(self) -> list[Function]:
        """The Funcs that the user has given other definitions since, which `restore`
        would lose; what a schedule makes of definitions does not count."""
        return [
            f
            for f, written in zip(self.functions, self._written, strict=True)
            if f.as_written() != written
        ]

    def restore(self) -> None:
        """Puts everything back as it was."""
        with CHANGES:
            self._put_back()

    def _put_back(self) -> None:
        for f, fields, pure, updates, frozen in zip(
            self.functions,
            self._funcs,
            self._pure,
            self._updates,
            self._frozen,
            strict=True,
        ):
            _put(f.schedule, fields)
            f.pure, f.updates, f.frozen = pure, updates, frozen
        for d, fields in self._stages.items():
            _put_stage(d.schedule, fields)
        for symbol, wrapper in self._wrappers.items():
            symbol.wrapper = wrapper


def _fields(of: object, names: tuple[str, ...]) -> Fields:
    return {name: getattr(of, name) for name in names}


def _put(into: object, fields: Fields) -> None:
    for name, value in fields.items():
        setattr(into, name, value)


def _stage_fields(schedule: StageSchedule) -> Fields:
    fields = _fields(schedule, _STAGE)
    fields["specializations"] = [
        _Branch(s, None if s.schedule is None else _stage_fields(s.schedule))
        for s in schedule.specializations
    ]
    return fields


def _put_stage(schedule: StageSchedule, fields: Fields) -> None:
    branches = fields["specializations"]
    assert isinstance(branches, list)
    _put(schedule, fields)
    schedule.specializations = tuple([b.branch for b in branches])
    for b in branches:
        if b.fields is not None:
            _put_stage(b.branch.schedule, b.fields)


__all__ = ["Snapshot"]
