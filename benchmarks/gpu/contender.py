"""What is compared on a GPU: a job, and the ways to do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apps.common import Array
from benchmarks.case import Image, Tolerance

#: Who made a contender. HAND: ours with a schedule by hand, AUTOMATIC: with one that a
#: scheduler found. PART: does but a part of the job. CEILING: what limits the time, as
#: copying.
HAND, AUTOMATIC, HALIDE = "Parhelion", "automatic", "Halide"
CUDA, LIBRARY, PART, CEILING = "CUDA C++", "library", "a part", "ceiling"

Images = Mapping[str, Image]


class Absent(Exception):
    """Why a contender cannot run here: what is not installed."""


@dataclass(frozen=True)
class Ready:
    """A contender that is compiled, its inputs on the device.

    run: launches its work on the default stream of the device's primary context, and
    need not wait for it. result: waits, and returns what was computed. amount: the
    bytes or operations of one run, of those that are a ceiling.
    """

    run: Callable[[], object]
    result: Callable[[], Array] | None = None
    amount: int = 0


@dataclass(frozen=True)
class Contender:
    """One way to do a job. by: who made it. prepare: raises Absent where it cannot run.
    alone: whether it computes something else than the others, so that its result is not
    compared. tolerance: of its result, where not the job's.
    """

    by: str
    name: str
    prepare: Callable[[Images], Ready]
    alone: bool = False
    tolerance: Tolerance | None = None

    @property
    def label(self) -> str:
        return f"{self.by}, {self.name}"


@dataclass(frozen=True)
class Job:
    """What is to be computed. group: the table that it is shown in. size: in words.
    inputs: made once for all. contenders: the first is what others are compared with.
    difference: of two results, the largest one and the share of values that differ.
    moved, operations: the bytes that must be read and written, and the floating-point
    operations.
    """

    name: str
    group: str
    size: str
    inputs: Callable[[], Images]
    contenders: Sequence[Contender]
    tolerance: Tolerance
    moved: int = 0
    operations: int = 0

    def of(self, by: str) -> list[Contender]:
        return [c for c in self.contenders if c.by == by]


__all__ = [
    "AUTOMATIC",
    "CEILING",
    "CUDA",
    "HALIDE",
    "HAND",
    "LIBRARY",
    "PART",
    "Absent",
    "Contender",
    "Images",
    "Job",
    "Ready",
]
