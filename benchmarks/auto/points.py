"""The parameters that the 2016 paper's auto-tuning tries (its section 5.1)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from benchmarks.auto.made import Maker


@dataclass(frozen=True)
class Point:
    """A scheduler and what it is told, by name in the order of the paper."""

    scheduler: str
    parameters: tuple[tuple[str, int], ...] = ()

    @property
    def label(self) -> str:
        """In one line, the same for the same point: results are kept by it."""
        return " ".join([self.scheduler, *(f"{k}={n}" for k, n in self.parameters)])

    def maker(self, case: str, threads: int) -> Maker:
        """What makes the schedule of this point for a case."""
        return Maker(case, self.scheduler, tuple(self.told(threads).items()))

    def told(self, threads: int) -> dict[str, str]:
        """The parameters as a scheduler takes them. Where the point does not say how
        many parallel tasks there should be, the number of threads does."""
        told = {name: str(number) for name, number in self.parameters}
        if "PARALLELISM_THRESHOLD" not in told:
            told["parallelism"] = str(threads)
        return told


def grid(scheduler: str, values: Mapping[str, tuple[int, ...]]) -> tuple[Point, ...]:
    """Every combination of the values, the last parameter's changing fastest."""
    return tuple(
        Point(scheduler, tuple(zip(values, numbers, strict=True)))
        for numbers in itertools.product(*values.values())
    )


def _kilobytes(*sizes: int) -> tuple[int, ...]:
    return tuple(n << 10 for n in sizes)


def spread(points: Sequence[Point]) -> list[Point]:
    """The same points in an order in which the first few of them are from everywhere
    in the grid, so that a part of a search says something of the whole."""
    count = len(points)
    step = max(1, round(count * 0.618))
    while gcd(step, count) > 1:
        step += 1
    return [points[k * step % count] for k in range(count)]


#: What all are compared with: the scheduler as it is, by the machine's own numbers.
REFERENCE = Point("Mullapudi2016")

#: "a reduced auto-tuning search that varies only CACHE_SIZE and LOAD_COST".
REDUCED = grid(
    "Mullapudi2016",
    {"CACHE_SIZE": _kilobytes(32, 128, 256), "LOAD_COST": (10, 20)},
)
#: "over 1152 total parameter configurations".
FULL = grid(
    "Mullapudi2016",
    {
        "PARALLELISM_THRESHOLD": (6, 12, 18, 24),
        "LOAD_COST": tuple(range(5, 81, 5)),
        "VECTOR_WIDTH": (4, 8, 16),
        "CACHE_SIZE": _kilobytes(16, 32, 64, 128, 256, 512),
    },
)
#: "seven tile sizes in each spatial dimension and three LOAD_COST factors".
_TILES = tuple(8 << k for k in range(7))
POLYMAGE = grid(
    "PolyMage", {"TILE_X": _TILES, "TILE_Y": _TILES, "LOAD_COST": (10, 20, 40)}
)

#: "the most complex schedule many new Halide programmers are able to write".
BASELINE = (Point("Baseline"),)

KINDS: Mapping[str, tuple[Point, ...]] = {
    "baseline": BASELINE,
    "reduced": REDUCED,
    "polymage": POLYMAGE,
    "full": FULL,
}
