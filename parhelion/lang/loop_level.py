"""`LoopLevel`: a place in the loop nests, to be given to compute_at, store_at and
hoist_storage."""

from __future__ import annotations

from parhelion.errors import ScheduleError, here
from parhelion.ir.function import var_label
from parhelion.schedule.args import HasFunction, HasVar, to_function, to_var
from parhelion.schedule.directives import (
    INLINED,
    FuncSchedule,
    Place,
)
from parhelion.schedule.directives import LoopLevel as _Level


class LoopLevel:
    """A place for `compute_at`, `store_at` and `hoist_storage`: a loop, inlined or
    root.

    ``LoopLevel(func, var, stage_index=-1)`` is the loop `var` of `func`, in the stage
    of that number, or with -1 in every stage that has the loop. ``LoopLevel(other)`` is
    a second handle on the same place: `set` on one of them moves both, and every Func
    scheduled there. Raises ScheduleError for other arguments.

    >>> f, g = hl.funcs("f g")
    >>> f[x] = x * x
    >>> g[x] = f[x] + f[x + 1]
    >>> place = hl.LoopLevel(g, x)
    >>> f = f.compute_at(place)
    >>> place.set(hl.LoopLevel.root())
    """

    __slots__ = ("_cell",)
    _cell: _Cell

    def __init__(
        self,
        func: HasFunction | LoopLevel,
        var: HasVar | None = None,
        stage_index: int = -1,
    ) -> None:
        if isinstance(func, LoopLevel):
            if var is not None:
                raise ScheduleError(
                    "LoopLevel takes a Func and a Var or RVar, or another LoopLevel",
                    at=here(),
                )
            self._cell = func._cell
            return
        if isinstance(stage_index, bool) or not isinstance(stage_index, int):
            raise ScheduleError(
                f"LoopLevel: the stage index must be an integer, not {stage_index!r}",
                at=here(),
            )
        if stage_index < -1:
            raise ScheduleError(
                f"LoopLevel: there is no stage {stage_index}", at=here()
            )
        self._cell = _Cell(
            _Level(
                Place.LOOP,
                to_function(func, "LoopLevel"),
                to_var(var, "LoopLevel"),
                stage_index,
                here(),
            )
        )

    @staticmethod
    def inlined() -> LoopLevel:
        """Returns the place of values that are computed where they are used."""
        return _made(INLINED)

    @staticmethod
    def root() -> LoopLevel:
        """Returns the place outside of all loops."""
        return _made(_Level(Place.ROOT))

    def set(self, other: LoopLevel) -> None:
        """Moves this place to the place `other`, and with it every Func scheduled
        there.

        Raises ScheduleError for what is no LoopLevel.
        """
        if not isinstance(other, LoopLevel):
            raise ScheduleError(
                f"LoopLevel.set takes a LoopLevel, not {other!r}", at=here()
            )
        self._cell.move(other._level)

    def stage_index(self) -> int:
        """Returns the number of the stage that is meant: 0 is the pure definition."""
        return self._level.stage

    @property
    def _level(self) -> _Level:
        return self._cell.level

    def _attach(self, schedule: FuncSchedule, slot: str) -> None:
        """Remembers that `schedule` has this place as its "compute" or "store"."""
        self._cell.users.append((schedule, slot))

    def __repr__(self) -> str:
        level = self._level
        if level.place is not Place.LOOP or level.func is None or level.var is None:
            return f"<LoopLevel {level.place.value}>"
        return f"<LoopLevel {level.func.name}, {var_label(level.var)}>"


class _Cell:
    """What all copies of a LoopLevel share."""

    __slots__ = ("level", "been", "users")

    def __init__(self, level: _Level) -> None:
        self.level = level
        #: All that it has been: an automatic schedule that is taken back may have put
        #: a Func where this was before.
        self.been = [level]
        self.users: list[tuple[FuncSchedule, str]] = []

    def move(self, to: _Level) -> None:
        self.level = to
        for schedule, slot in self.users:
            # Another directive may have put the Func elsewhere.
            now = getattr(schedule, slot)
            if any([now is old for old in self.been]):
                setattr(schedule, slot, to)
        self.been.append(to)


def _made(level: _Level) -> LoopLevel:
    made: LoopLevel = object.__new__(LoopLevel)
    # A copy, so that `move` can tell this place from others that say the same.
    made._cell = _Cell(_Level(level.place, site=here()))
    return made
