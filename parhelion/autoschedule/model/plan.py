"""A schedule as the default scheduler thinks of it: groups, tiles, blocks of registers.

A group is one Func, its root, computed at the pipeline's root, and the Funcs that are
computed inside its loops. The root's loops are, from the outside: over tiles; over what
is in a tile, with the row loop somewhere among them; over one block, unrolled and in
vectors, whose results stay in registers.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import field

from parhelion.autoschedule.pipeline.graph import Source
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function


class Level(enum.IntEnum):
    """Inside which loops of the root a member is computed: further in is greater.

    TILE: those over tiles. ROW: those over tiles and over the rows of one; what rows
    before have left behind is not computed again. BLOCK: all but the unrolled ones.
    """

    TILE = 1
    ROW = 2
    BLOCK = 3


@dataclass(frozen=True, slots=True)
class Loops:
    """How one Func runs over the box that it computes.

    vector: which dimension runs in vectors (-1: none), lanes: how many at once.
    block: how many points of each dimension are done together, in registers; that of
    the vector dimension is a multiple of lanes. order: the dimensions, innermost first.
    local: whether the block is all that is stored, so that it can be in registers.
    """

    vector: int
    lanes: int
    block: tuple[int, ...]
    order: tuple[int, ...]
    local: bool = False


@dataclass(frozen=True, slots=True)
class Tiling:
    """The loops of a group's root around its blocks.

    tile: points of each dimension in one tile; 0: all of them. row: which dimension's
    loop the members at ROW are computed in (-1: there is none). outer: the dimensions
    that are tiled, innermost first.
    """

    tile: tuple[int, ...]
    row: int
    outer: tuple[int, ...]


@dataclass(frozen=True)
class Packed:
    """A source of which what a tile needs is copied first, and the Func that reads the
    copy. over: the copy serves all tiles of so many loops, from the innermost on."""

    source: Source
    reader: Function
    over: int = 0


@dataclass
class Group:
    """One group with its loops, and what the model says that it costs, in nanoseconds.

    loops: of the root and of every member. cost: on all threads together. length: of
    the code, see `code_size`. terms: what the cost is made of. packed: sources of which
    tiles copy what they need into dense memory first. tile: what is computed of the
    root at a time, if that is on demand (empty: one value); None if it is computed as a
    whole.
    """

    root: Function
    members: Mapping[Function, Level]
    tiling: Tiling
    loops: Mapping[Function, Loops]
    cost: float
    terms: Mapping[str, float] = field(default_factory=dict)
    packed: Sequence[Packed] = ()
    length: float = 0.0
    tile: tuple[int | None, ...] | None = None

    @property
    def alone(self) -> bool:
        """Whether one thread does it sooner than the others could begin."""
        return self.terms.get("tasks", 1.0) == 0


@dataclass
class Plan:
    """All groups, producers first, and the Funcs that are inlined."""

    inlined: frozenset[Function]
    groups: list[Group]

    @property
    def cost(self) -> float:
        return sum(g.cost for g in self.groups)


__all__ = ["Group", "Level", "Loops", "Packed", "Plan", "Tiling"]
