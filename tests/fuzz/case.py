"""A fuzzing case as data: inputs, stages, outputs and a schedule.

Everything that builds or schedules from this data is total: numbers are taken modulo
what is possible and missing ones are 0, so a case with a part removed is still a case.
That is what lets `reduction` shrink one. `repr` of a `Case` is Python source.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Positions, factors, weights and choices of a stage or directive, by its kind.
Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """An image whose pixels are a hash of the coordinates.

    boundary: 0 for none (the image covers what the pipeline says that it needs), else
        one of `build.BOUNDARIES`.
    param: an ImageParam rather than a Buffer that the algorithm mentions.
    """

    type: str = "u8"
    extents: tuple[int, ...] = (24, 20)
    mins: tuple[int, ...] = (0, 0)
    boundary: int = 1
    param: bool = True


@dataclass(frozen=True, slots=True)
class Stage:
    """One Func. `op` names its kind in `ops.OPS`; `sources` are numbers of earlier
    stages, or -1, -2, … for the inputs."""

    op: str
    type: str = "u8"
    dims: int = 2
    sources: tuple[int, ...] = (-1,)
    numbers: Numbers = ()


@dataclass(frozen=True, slots=True)
class Directive:
    """A call on definition number `definition` of a stage (0 is the pure one). `given`
    says which of its numbers are Params (see `numbers.Params`)."""

    name: str
    stage: int
    definition: int = 0
    numbers: Numbers = ()
    given: Numbers = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A pipeline, and one schedule for it. `outputs` are numbers of stages, all of
    one dimensionality; `extents` and `mins` are what is realized of them."""

    inputs: tuple[Input, ...]
    stages: tuple[Stage, ...]
    outputs: tuple[int, ...]
    extents: tuple[int, ...]
    mins: tuple[int, ...] = (0, 0, 0)
    schedule: tuple[Directive, ...] = ()


class Choices:
    """Hands out the numbers of a stage or directive one by one."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.next = 0

    def upto(self, last: int) -> int:
        """A number in 0..last."""
        found = self.numbers[self.next] if self.next < len(self.numbers) else 0
        self.next += 1
        return found % (last + 1)

    def between(self, low: int, high: int) -> int:
        """A number in low..high; for a 0, the one nearest to 0."""
        simple = min(max(0, low), high)
        return low + (simple - low + self.upto(high - low)) % (high - low + 1)

    def chance(self) -> bool:
        return self.upto(1) == 1
