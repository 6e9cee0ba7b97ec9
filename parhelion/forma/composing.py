"""How domains are put together: by choosing at each point, or part after part.

Parts that differ in phases alone, as the even and the odd points of an extrapolation,
are chosen by remainders, ``select(x % 2 == 0, even[x / 2], odd[x / 2])``. A schedule
that unrolls the loop by the period knows the remainders, so that each point is computed
by its own part alone, and the stores of all phases are dense together. Of Listing 12's
extrapolation along x, one iteration on AVX-512 loads 3 vectors, has 2 fused
multiply-adds, 2 products and 2 permutations (vpermt2ps), and stores the 32 points as 2
vectors. A single part is chosen by where it is, as the inside of a boundary condition.

All others are put in one after the other, each by an update with loops of its own:
neither tests nor values that are not needed are computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.forma.accesses import Reach, unless
from parhelion.forma.sizes import Size, Sizes
from parhelion.forma.stages import Compose, Part, Place
from parhelion.ir import build
from parhelion.ir.expr import Expr, Imm

#: The most points that a period has: loops are unrolled by it.
MOST_PHASES = 16

_ONE = build.int32(1)


@dataclass(frozen=True, slots=True)
class Along:
    """A part along one dimension: `count` points of it, put at `place`."""

    place: Place
    count: Size

    @property
    def skipped(self) -> int | None:
        """How many of the points with its phase lie before it; None if that is no
        number."""
        if not isinstance(self.place.offset, Imm):
            return None
        return self.place.offset.value // self.place.scale

    @property
    def phase(self) -> int:
        """The remainder of its points by the scale."""
        if self.place.scale == 1:
            return 0
        assert isinstance(self.place.offset, Imm)
        return self.place.offset.value % self.place.scale

    def is_all_of(self, size: Size) -> bool:
        return self.place.scale == 1 and self.skipped == 0 and self.count is size


def lines_of(part: Part) -> tuple[Along, ...]:
    """A part along each dimension: it is one point thick beyond its own ones."""
    counts = part.source.sizes
    return tuple(
        [
            Along(place, counts[d] if d < len(counts) else _ONE)
            for d, place in enumerate(part.place)
        ]
    )


def periods(stage: Compose) -> tuple[int, ...] | None:
    """After how many points, in each dimension, the parts of a domain repeat, if they
    are chosen at each point; None if they are put in one after the other."""
    first, *others = [lines_of(part) for part in stage.parts]
    found = tuple([one.place.scale for one in first])
    if math.prod(found) > MOST_PHASES:
        return None
    for lines in others:
        for one, other in zip(first, lines, strict=True):
            if not _differ_in_phase_alone(one, other):
                return None
    return found


def _differ_in_phase_alone(one: Along, other: Along) -> bool:
    if one.place.scale != other.place.scale or one.count is not other.count:
        return False
    if one.skipped is None:
        return one.place.offset is other.place.offset
    return one.skipped == other.skipped


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is chosen at a point. at: the point of each part, wherever it is; counts: of
    how many. phases: when each part is meant. outside: the tests that none is."""

    at: tuple[Expr, ...]
    counts: tuple[Expr, ...]
    reaches: tuple[Reach, ...]
    phases: tuple[Expr, ...]
    outside: tuple[Expr, ...]


def chosen(
    stage: Compose,
    xs: Sequence[Expr],
    sizes: Sizes,
    of_size: dict[Size, Expr],
) -> Chosen:
    """What the point `xs` of a domain is, the parts of which are chosen at each point.
    of_size: the sizes, for the compiler."""
    lines = [lines_of(part) for part in stage.parts]
    at: list[Expr] = []
    counts: list[Expr] = []
    reaches: list[Reach] = []
    outside: list[Expr] = []
    for d, (one, x) in enumerate(zip(lines[0], xs, strict=True)):
        before = build.div(one.place.offset, build.int32(one.place.scale))
        reach = _reach(one, stage.sizes[d], sizes)
        shift = of_size[one.place.offset] if one.place.scale == 1 else before
        c = build.sub(build.div(x, build.int32(one.place.scale)), shift)
        n = of_size[one.count]
        if reach.below:
            outside.append(build.lt(c, build.int32(0)))
        if reach.above:
            outside.append(build.ge(c, n))
        at.append(c)
        counts.append(n)
        reaches.append(reach)
    phases = []
    for part_lines in lines:
        tests = [
            build.eq(build.mod(x, build.int32(one.place.scale)), build.int32(one.phase))
            for one, x in zip(part_lines, xs, strict=True)
            if one.place.scale > 1
        ]
        phases.append(build.conjunction(tests))
    return Chosen(
        *(tuple(at), tuple(counts), tuple(reaches)), tuple(phases), tuple(outside)
    )


def _reach(one: Along, size: Size, sizes: Sizes) -> Reach:
    skipped = one.skipped
    last = build.div(build.sub(size, _ONE), build.int32(one.place.scale))
    if skipped is None:
        last = build.sub(last, one.place.offset)
    else:
        last = build.sub(last, build.int32(skipped))
    above = not sizes.proves(build.lt(last, one.count), size, one.count)
    return Reach(skipped != 0, above)


def choice(
    stage: Compose, found: Chosen, values: Sequence[Sequence[Expr]]
) -> tuple[Expr, ...]:
    """The values of the domain at a point, of those of all parts."""
    zeros = [build.imm(0, v.type) for v in values[0]]
    scales = [place.scale for place in stage.parts[0].place]
    if len(stage.parts) == math.prod(scales):
        *some, last = list(zip(found.phases, values, strict=True))
        made = list(last[1])
    else:
        some, made = list(zip(found.phases, values, strict=True)), zeros
    for phase, value in reversed(some):
        made = [build.select(phase, a, b) for a, b in zip(value, made, strict=True)]
    return unless(found.outside, made, zeros)


__all__ = ["MOST_PHASES", "Along", "Chosen", "choice", "chosen", "lines_of", "periods"]
