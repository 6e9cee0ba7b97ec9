"""How the points of a kernel are divided: blocks, threads, points of one thread."""

from __future__ import annotations

import math
from collections.abc import Sequence

from parhelion.dataclass import dataclass

#: Loops over blocks, and over threads, that a kernel can have.
MOST_LOOPS = 3
#: The most threads along the third loop, and blocks along the second and third
#: (CUDA C++ Programming Guide, technical specifications).
MOST_DEEP, MOST_GRID = 64, 65535


@dataclass(frozen=True, slots=True)
class Shape:
    """threads: along each parallel loop, in the order of `Roles.parallel`; points: of
    one thread along it, which are unrolled. apart: whether the points of a thread along
    the first loop are as far from each other as there are threads, so that neighbouring
    threads go through neighbouring places."""

    threads: tuple[int, ...]
    points: tuple[int, ...]
    apart: bool = False

    @property
    def tile(self) -> tuple[int, ...]:
        """Points of one block along each loop."""
        return tuple([t * p for t, p in zip(self.threads, self.points, strict=True)])

    @property
    def count(self) -> int:
        """Threads of one block."""
        return math.prod(self.threads)

    def grid(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Blocks along each loop."""
        return tuple([-(-e // t) for e, t in zip(extents, self.tile, strict=True)])

    def deep(self) -> list[int]:
        """The loops that threads run along: one at least."""
        return [d for d, n in enumerate(self.threads) if n > 1] or [0]

    def legal(self, most: int) -> bool:
        """Whether a device takes it that has so many threads in a block at most."""
        deep = self.deep()
        if len(deep) > MOST_LOOPS or self.count > most:
            return False
        return len(deep) < MOST_LOOPS or self.threads[deep[-1]] <= MOST_DEEP


def fused(grid: Sequence[int]) -> list[list[int]]:
    """Which loops over blocks are put together to one, so that there are no more than a
    kernel can have, and none is too long: the outermost ones are."""
    made = [[d] for d in range(len(grid))]
    while len(made) > MOST_LOOPS:
        last = made.pop()
        made[-1] = [*made[-1], *last]
    if any(math.prod([grid[d] for d in loop]) > MOST_GRID for loop in made[1:]):
        return [list(range(len(grid)))]
    return made


__all__ = ["MOST_DEEP", "MOST_GRID", "MOST_LOOPS", "Shape", "fused"]
