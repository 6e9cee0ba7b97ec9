"""Where parts are put: sizes of composes, and proofs that parts fit together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.forma.sizes import (
    Polynomial,
    Size,
    Sizes,
    added,
    expanded,
    polynomial_text,
    product,
    size_text,
)
from parhelion.forma.spans import Span
from parhelion.forma.stages import Part, Requirement
from parhelion.ir import build
from parhelion.ir.expr import Expr, Imm
from parhelion.types import INT64

#: The parts that one compose may have: each is compared with each.
MOST_PARTS = 1000
#: How many sizes at most are taken for positive in a proof.
_ASSUMED = 16


@dataclass(frozen=True, slots=True)
class _Line:
    """The points of a part along one dimension: count of them, from `first` to `last`
    in steps of `scale`."""

    first: Size
    last: Size
    scale: int
    count: Size


class Composed:
    """The size of parts together, and what has to hold of them."""

    def __init__(self, parts: Sequence[Part], sizes: Sizes, span: Span) -> None:
        self.sizes = sizes
        self.span = span
        self.parts = parts
        self.requirements: list[Requirement] = []
        self.lines = [self._lines(part) for part in parts]
        self.size = self._size()

    def _lines(self, part: Part) -> tuple[_Line, ...]:
        sizes, one = self.sizes, self.sizes.constant(1)
        lines = []
        for d, place in enumerate(part.place):
            source = part.source.sizes
            count = source[d] if d < len(source) else one
            scale = sizes.constant(place.scale)
            reach = sizes.mul(sizes.sub(count, one, part.span), scale, part.span)
            last = sizes.add(place.offset, reach, part.span)
            lines.append(_Line(place.offset, last, place.scale, count))
        return tuple(lines)

    def _size(self) -> tuple[Size, ...]:
        """The largest of the parts: scale * (count + offset div scale) each."""
        sizes = self.sizes
        total: list[Size] | None = None
        for part, lines in zip(self.parts, self.lines, strict=True):
            ends = []
            for place, line in zip(part.place, lines, strict=True):
                scale = sizes.constant(place.scale)
                moved = sizes.div(place.offset, scale)
                count = sizes.add(line.count, moved, part.span)
                ends.append(sizes.mul(scale, count, part.span))
            if total is None:
                total = ends
            else:
                total = [sizes.maximum(a, b) for a, b in zip(total, ends, strict=True)]
        assert total is not None
        return tuple(total)

    # Overlaps

    def check_overlaps(self) -> None:
        """Raises FormaError for parts that share points, whatever the parameters are;
        where these decide, there is a requirement."""
        for k, lines in enumerate(self.lines):
            for j in range(k):
                self._check_two(j, k, self.lines[j], lines)

    def _check_two(
        self, j: int, k: int, a: tuple[_Line, ...], b: tuple[_Line, ...]
    ) -> None:
        pairs = list(zip(a, b, strict=True))
        # Numbers decide at once; most parts differ in them.
        if any([_apart(p, q) for p, q in pairs]):
            return
        open_: list[Expr] = []
        for p, q in pairs:
            counts = (p.count, q.count)
            before, behind = build.lt(p.last, q.first), build.lt(q.last, p.first)
            if self.sizes.proves(before, *counts):
                return
            if self.sizes.proves(behind, *counts):
                return
            if not self._meet(p, q):
                open_ += [before, behind]
        lines = sorted({self.parts[j].span.line, self.parts[k].span.line})
        numbers = " and ".join([str(line) for line in lines])
        what = (
            "the parts of the compose overlap that are assigned in line"
            f"{'' if len(lines) == 1 else 's'} {numbers}"
        )
        if not open_:
            raise self.parts[k].span.error(
                what,
                detail=f"they are {self._told(a)} and {self._told(b)}",
                hint="crop them so that each point is assigned once",
            )
        apart = open_[0]
        for one in open_[1:]:
            apart = build.lor(apart, one)
        self.requirements.append(
            Requirement(apart, what, self.size, self.parts[k].span)
        )

    def _meet(self, p: _Line, q: _Line) -> bool:
        """Whether two lines share a point, for all parameters with which those that
        are no numbers have two points."""
        if p.scale != q.scale and p.first is not q.first:
            return False
        counts = (p.count, q.count)
        return all(
            [
                self.sizes.proves(build.le(one.first, other.last), *counts, least=2)
                for one, other in ((p, q), (q, p))
            ]
        )

    def _told(self, lines: tuple[_Line, ...]) -> str:
        """A part as a box: ``[0..M-1, 2..2]``."""
        return (
            "["
            + ", ".join(
                [
                    f"{size_text(one.first)}..{size_text(one.last)}"
                    + (f" by {one.scale}" if one.scale > 1 else "")
                    for one in lines
                ]
            )
            + "]"
        )

    # Gaps

    def covers(self, needed: bool) -> bool:
        """Whether the parts, which do not overlap, are all of the domain.

        needed: raises FormaError where they leave points out, and adds a requirement
        where the parameters decide.
        """
        total = _volume(self.size)
        rest = total
        for lines in self.lines:
            rest = added(rest, _volume([line.count for line in lines]), -1)
        if not rest or not needed:
            return not rest
        what = "the compose has points that no part assigns"
        if self._positive(rest):
            has = added(total, rest, -1)
            raise self.span.error(
                what,
                detail=f"the parts have {polynomial_text(has)} points of "
                f"{polynomial_text(total)}, where the domain is "
                f"[{', '.join([size_text(s) for s in self.size])}]",
                hint="assign them too; a part by itself, without the compose, leaves "
                "zeros",
            )
        points = build.imm(0, INT64)
        for lines in self.lines:
            points = build.add(points, _product([line.count for line in lines]))
        all_of_it = build.eq(points, _product(self.size))
        self.requirements.append(Requirement(all_of_it, what, self.size, self.span))
        return True

    def _positive(self, p: Polynomial) -> bool:
        """Whether a polynomial is more than zero, where all sizes are."""
        zero = self.sizes.constant(0)
        counts = {line.count: None for lines in self.lines for line in lines}
        known = [*counts, *self.size][:_ASSUMED]
        return all(
            [
                k > 0
                and all([self.sizes.proves(build.lt(zero, f), *known) for f in factors])
                for factors, k in p.items()
            ]
        )


def _apart(p: _Line, q: _Line) -> bool:
    """Whether numbers alone tell that two lines have no point in common."""
    if not isinstance(p.first, Imm) or not isinstance(q.first, Imm):
        return False
    if (p.first.value - q.first.value) % math.gcd(p.scale, q.scale):
        return True
    if isinstance(p.last, Imm) and p.last.value < q.first.value:
        return True
    return isinstance(q.last, Imm) and q.last.value < p.first.value


def _volume(sizes: Sequence[Size]) -> Polynomial:
    total: Polynomial = {(): 1}
    for size in sizes:
        total = product(total, expanded(size))
    return total


def _product(sizes: Sequence[Size]) -> Expr:
    total = build.imm(1, INT64)
    for size in sizes:
        total = build.mul(total, build.cast(INT64, size))
    return total


__all__ = ["MOST_PARTS", "Composed"]
