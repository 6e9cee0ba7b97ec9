"""Where stages read: coordinates that stay inside of domains, and what is beyond them.

What mostly holds is marked likely, as by `hl.BoundaryConditions`, so that loops are
partitioned: clamps and choices are left at the borders alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.dataclass import dataclass
from parhelion.forma.sizes import Size, Sizes
from parhelion.forma.stages import BoundaryKind
from parhelion.forma.terms import Access
from parhelion.ir import build
from parhelion.ir.expr import Expr

_ZERO = build.int32(0)
_ONE = build.int32(1)


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether the points ``offset + i * scale``, of all i of a domain, may lie below
    and above of the domain that is read."""

    below: bool
    above: bool


#: Of what may be anywhere.
EVERYWHERE = Reach(True, True)


def reach_of(at: Access, own: Size, read: Size, sizes: Sizes) -> Reach:
    """How far an access goes from a domain that is `own` large in one that is `read`
    large."""
    below = at.offset < 0
    if own is read and at.scale == 1:
        return Reach(below, at.offset > 0)
    last = build.mul(build.sub(own, _ONE), build.int32(at.scale))
    inside = build.lt(build.add(last, build.int32(at.offset)), read)
    return Reach(below, not sizes.proves(inside, own, read))


#: Distances beyond a domain that are tried to be proven, the shortest first.
_DISTANCES = (1, 2, 4, 8, 16)


def distance_of(at: Access, own: Size, read: Size, sizes: Sizes) -> int | None:
    """How far an access goes beyond the domain that is read, at most; None where that
    is not known. Arguments are those of `reach_of`."""
    if own is read and at.scale == 1:
        return abs(at.offset)
    last = build.mul(build.sub(own, _ONE), build.int32(at.scale))
    stop = build.add(last, build.int32(at.offset + 1))
    for one in _DISTANCES:
        if -at.offset > one:
            continue
        if sizes.proves(build.le(stop, build.add(read, build.int32(one))), own, read):
            return one
    return None


def place(at: Access, x: Expr) -> Expr:
    """``offset + x * scale``"""
    return build.add(build.mul(x, build.int32(at.scale)), build.int32(at.offset))


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A coordinate to read at, and the tests that it is outside of the domain, which
    are its value for a boundary of a constant."""

    at: Expr
    outside: tuple[Expr, ...] = ()


def coordinate(
    p: Expr,
    n: Expr,
    reach: Reach,
    kind: BoundaryKind,
    always: bool,
    distance: int | None = None,
) -> Coordinate:
    """The place `p` of n points under a boundary condition. always: whether it is
    clamped where it is inside anyway (see `clamped`). distance: how far it is outside
    at most, where that is known."""
    if not (reach.below or reach.above):
        return Coordinate(clamped(p, n, EVERYWHERE) if always else p)
    beyond = tuple(
        [
            test
            for test, may_be in (
                (build.lt(p, _ZERO), reach.below),
                (build.ge(p, n), reach.above),
            )
            if may_be
        ]
    )
    inside = clamped(p, n, EVERYWHERE if always else reach)
    if kind is BoundaryKind.MIRROR and distance == 1:
        return Coordinate(inside, beyond)  # the mirror repeats the point at the edge
    if kind in _BEYOND:
        # Clamped, as bounds inference does not see that it is inside.
        low: Expr = _ZERO
        high: Expr = build.sub(n, _ONE)
        if kind is BoundaryKind.MIRROR and distance is not None:
            # A point beyond the edge by j is mirrored to one that is j - 1 from it.
            # Bounds inference sees it from this: a tile needs no more than its own
            # surroundings of the domain.
            edge, most = build.clamp(p, low, high), build.int32(distance - 1)
            low = build.maximum(build.sub(edge, most), low)
            high = build.minimum(build.add(edge, most), high)
        other = build.clamp(_BEYOND[kind](p, n), low, high)
        inside = build.select(any_of(beyond), other, build.likely(inside))
    return Coordinate(inside, beyond)


def clamped(p: Expr, n: Expr, reach: Reach) -> Expr:
    """The closest point of n to `p`, which is likely to be one of them.

    Some places are clamped that are inside for all points of the domain: those of
    images of the caller's, as a schedule may compute more than the domain, and those
    that stand in a choice, as the compiler puts a mask on loads that are not needed for
    all points, also where loops run over those that need them.
    """
    if reach.below or reach.above:
        p = build.likely(p)
    if reach.above:
        p = build.minimum(p, build.sub(n, _ONE))
    if reach.below:
        p = build.maximum(p, _ZERO)
    return p


def _wrapped(p: Expr, n: Expr) -> Expr:
    return build.mod(p, n)


def _mirrored(p: Expr, n: Expr) -> Expr:
    period = build.mul(n, build.int32(2))
    at = build.mod(p, period)
    back = build.sub(build.sub(period, _ONE), at)
    return build.select(build.lt(at, n), at, back)


_BEYOND: dict[BoundaryKind, Callable[[Expr, Expr], Expr]] = {
    BoundaryKind.WRAP: _wrapped,
    BoundaryKind.MIRROR: _mirrored,
}


def any_of(tests: Sequence[Expr]) -> Expr:
    """Whether one of the tests holds."""
    found: Expr = build.FALSE
    for test in tests:
        found = build.lor(found, test)
    return found


def unless(
    tests: Sequence[Expr], values: Sequence[Expr], others: Sequence[Expr]
) -> tuple[Expr, ...]:
    """The values, which are likely, or the others where one of the tests holds."""
    if not tests:
        return tuple(values)
    either = any_of(tests)
    return tuple(
        [
            build.select(either, other, build.likely(value))
            for value, other in zip(values, others, strict=True)
        ]
    )


__all__ = [
    "EVERYWHERE",
    "Coordinate",
    "Reach",
    "any_of",
    "clamped",
    "coordinate",
    "distance_of",
    "place",
    "reach_of",
    "unless",
]
