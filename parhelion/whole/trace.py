"""What is found out about a function of arrays while it is traced.

Extents are int32 nodes: constants, or expressions of the extents of the inputs, which
are unknown until a call. What must hold of them is written down as checks, with the
line that asks for it, and looked at when the sizes of a call are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, LiteralError, Site
from parhelion.ir.build import const_int
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Var
from parhelion.ir.rewrite import free_vars
from parhelion.ir.symbols import ParamSym
from parhelion.ir.text import text
from parhelion.lang.convert import number_text
from parhelion.types import Type


@dataclass(frozen=True, slots=True)
class SameExtent:
    """Two arrays that stand together have the same extent along an axis. one, other:
    the shapes; axis: counted from the last, from 0 on."""

    one: tuple[Node, ...]
    other: tuple[Node, ...]
    axes: tuple[int, int]
    site: Site | None

    def sizes(self) -> list[Node]:
        """What must be known to look."""
        return [self.one[self.axes[0]], self.other[self.axes[1]]]

    def look(self, sizes: Mapping[Var, int]) -> None:
        """Raises BoundsError if they have not."""
        a, b = self.axes
        extents = value_of(self.one[a], sizes), value_of(self.other[b], sizes)
        if extents[0] != extents[1]:
            one, other = shape_of(self.one, sizes), shape_of(self.other, sizes)
            raise BoundsError(
                f"arrays of the shapes {one} and {other} do not fit together",
                at=self.site,
                hint="an extent that happens to be 1 in a call is not spread: that of"
                " a[:1] is 1 in each"
                if 1 in extents
                else "along each axis both have one extent, or one of them has 1",
            )


@dataclass(frozen=True, slots=True)
class Inside:
    """An index lies inside of an axis: ``-extent <= index < extent``."""

    index: Node
    extent: Node
    site: Site | None

    def sizes(self) -> list[Node]:
        """What must be known to look."""
        return [self.index, self.extent]

    def look(self, sizes: Mapping[Var, int]) -> None:
        """Raises BoundsError if it does not."""
        n, index = value_of(self.extent, sizes), value_of(self.index, sizes)
        if not -n <= index < n:
            raise BoundsError(
                f"the index {index} is outside of an axis of {n} elements",
                at=self.site,
            )


@dataclass(frozen=True, slots=True)
class Filled:
    """What has no value for an array without elements is not given one."""

    what: str
    shape: tuple[Node, ...]
    axes: tuple[int, ...]
    site: Site | None

    def sizes(self) -> list[Node]:
        """What must be known to look."""
        return [self.shape[a] for a in self.axes]

    def look(self, sizes: Mapping[Var, int]) -> None:
        """Raises BoundsError if there are no elements."""
        shape = shape_of(self.shape, sizes)
        if any([shape[a] == 0 for a in self.axes]):
            raise BoundsError(
                f"{self.what} of an array of the shape {shape} has no elements to"
                " choose from",
                at=self.site,
            )


@dataclass(frozen=True, slots=True)
class Counted:
    """An axis has so many elements. what: who asks for them, a sentence's beginning."""

    what: str
    count: int
    extent: Node
    site: Site | None

    def sizes(self) -> list[Node]:
        """What must be known to look."""
        return [self.extent]

    def look(self, sizes: Mapping[Var, int]) -> None:
        """Raises BoundsError if it has not."""
        n = value_of(self.extent, sizes)
        if n != self.count:
            raise BoundsError(f"{self.what} {self.count}, not {n}", at=self.site)


@dataclass(frozen=True, slots=True)
class SameCount:
    """Two shapes have as many elements. before, after: of an array that is reshaped."""

    before: tuple[Node, ...]
    after: tuple[Node, ...]
    site: Site | None

    def sizes(self) -> list[Node]:
        """What must be known to look."""
        return [*self.before, *self.after]

    def look(self, sizes: Mapping[Var, int]) -> None:
        """Raises BoundsError if they have not."""
        before, after = shape_of(self.before, sizes), shape_of(self.after, sizes)
        known = [[n for n in shape if isinstance(n, int)] for shape in (before, after)]
        if math.prod(known[0]) != math.prod(known[1]) or any([n < 0 for n in known[1]]):
            raise BoundsError(
                f"an array of the shape {before} cannot be reshaped to {after}, which"
                " has another number of elements",
                at=self.site,
            )
        if math.prod(known[0]) >= 1 << 31:
            raise BoundsError(
                f"an array of the shape {before} has 2^31 elements or more, whose"
                " places in the order of all have no int32",
                at=self.site,
            )


@dataclass(frozen=True, slots=True)
class Enough:
    """An axis has so many elements at least. what: who asks for them, a sentence's
    beginning."""

    what: str
    least: int
    extent: Node
    site: Site | None

    def sizes(self) -> list[Node]:
        """What must be known to look."""
        return [self.extent]

    def look(self, sizes: Mapping[Var, int]) -> None:
        """Raises BoundsError if it has fewer."""
        n = value_of(self.extent, sizes)
        if n < self.least:
            raise BoundsError(f"{self.what} {n}", at=self.site)


@dataclass(frozen=True, slots=True)
class Fits:
    """A number that is known at each call, as an argument or an extent is, or made of
    such, fits the type of what it stands beside."""

    value: Node
    type: Type
    site: Site | None

    def sizes(self) -> list[Node]:
        """What must be known to look."""
        return [self.value]

    def look(self, given: Mapping[Var, int | float]) -> None:
        """Raises LiteralError if it does not. given: the numbers of a call."""
        value = evaluate(self.value, given)
        if not self.type.can_represent(int(value)):
            origins = [v.origin for v in free_vars(self.value)]
            made_of = "arguments" if isinstance(origins[0], ParamSym) else "extents"
            what = f"what is made of {made_of}, {text(self.value)},"
            if isinstance(self.value, Var) and isinstance(origins[0], ParamSym):
                what = f"the argument {origins[0].name!r}"
            raise LiteralError(
                f"{what} is {number_text(int(value))}, which does not fit the"
                f" {self.type} that it stands beside",
                at=self.site,
                hint="convert the array first: array.astype('int32')",
            )


Check = SameExtent | Inside | Filled | Counted | Enough | SameCount | Fits


@dataclass(eq=False, slots=True)
class Trace:
    """One tracing of a function: what it asks of its arguments.

    checks: of the sizes. fits: of the numbers. finished: whether it is over, so that
    arrays of it are of no use any more.
    """

    checks: list[Check] = field(default_factory=list)
    fits: list[Fits] = field(default_factory=list)
    finished: bool = False

    def check(self, one: Check) -> None:
        """Writes a check of sizes down; what is known already is looked at now."""
        if all([const_int(n) is not None for n in one.sizes()]):
            one.look({})
        else:
            self.checks.append(one)


def value_of(size: Node, sizes: Mapping[Var, int]) -> int:
    """An extent in numbers; of a shape in a message, -1 where it is not known."""
    known = const_int(size)
    return int(evaluate(size, sizes)) if known is None else known


def shape_of(
    shape: tuple[Node, ...], sizes: Mapping[Var, int]
) -> tuple[int | str, ...]:
    """A shape in numbers, with "?" for what is not known yet."""
    found: list[int | str] = []
    for size in shape:
        known = const_int(size)
        if known is None:
            found.append(int(evaluate(size, sizes)) if sizes else "?")
        else:
            found.append(known)
    return tuple(found)


__all__ = [
    "Check",
    "Counted",
    "Enough",
    "Filled",
    "Fits",
    "Inside",
    "SameCount",
    "SameExtent",
    "Trace",
    "shape_of",
    "value_of",
]
