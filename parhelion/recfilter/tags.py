"""Tags: what the dimensions of a recursive filter's stages are, whichever they are.

The 2015 paper's section 7 marks the dimension of a serial scan SCAN, coordinates within
tiles INNER, and those of tiles OUTER. Beside these there are TAIL, the number of a
value among those that a tile leaves behind, and FULL, a dimension that is in no tiles.
"""

from __future__ import annotations

import enum
from dataclasses import replace

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, here
from parhelion.recfilter.dims import whole_number


class Kind(enum.Enum):
    """What a dimension of a stage is."""

    INNER = "inner"
    OUTER = "outer"
    SCAN = "scan"
    TAIL = "tail"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class VarTag:
    """The dimensions of stages that are of a kind: all of a stage, or the one of a
    number among them, counted from 0 in the order of the image's dimensions.

    part: whether the loops are meant that `split` has made within them.

    >>> from parhelion.recfilter import RecFilter
    >>> print(RecFilter().inner(0), RecFilter().outer().split_var())
    inner(0) outer().split_var()
    """

    kind: Kind
    number: int | None = None
    part: bool = False

    def split_var(self) -> VarTag:
        """Returns the tag of the inner loops that `split` makes of those of this tag,
        which itself stands for the outer ones then."""
        return replace(self, part=True)

    def __str__(self) -> str:
        number = "" if self.number is None else self.number
        return f"{self.kind.value}({number}){'.split_var()' * self.part}"


def tag(kind: Kind, number: object, what: str) -> VarTag:
    """A tag of a number that the user gives; None for all. Raises ScheduleError for
    what is no number of a dimension."""
    if number is None:
        return VarTag(kind)
    found = whole_number(number)
    if found is None or found < 0:
        raise ScheduleError(
            f"{what} takes the number of a dimension, 0 or more, not {number!r:.60}",
            at=here(),
            hint=f"{what}(0) for the first one, {what}() for all",
        )
    return VarTag(kind, found)


__all__ = ["Kind", "VarTag", "tag"]
