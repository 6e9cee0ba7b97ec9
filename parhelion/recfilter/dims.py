"""The dimensions of recursive filters, and directions along them."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from parhelion.errors import DefinitionError, here
from parhelion.ir.symbols import COORDINATE_LIMIT
from parhelion.lang.expr import Expr
from parhelion.lang.var import Var


def whole_number(given: object) -> int | None:
    """A Python or NumPy integer as an int; None for all else, as for True and False,
    which Python takes for integers, and for expressions."""
    if isinstance(given, bool) or hasattr(type(given), "_node"):
        return None
    try:
        return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        return None


class RecFilterDim(Var):
    """A dimension of a recursive filter: a Var that knows its size, in points.

    ``+x`` and ``-x`` are the directions of filters along it: from point 0 on (causal),
    and from the last point back (anticausal). In expressions it is the coordinate, and
    ``-x`` the negative coordinate.

    Raises DefinitionError for a size that is not a positive integer. From: the 2015
    paper, section 4.

    >>> from parhelion.recfilter import RecFilterDim
    >>> x = RecFilterDim("x", 640)
    >>> x.extent, (-x).causal
    (640, False)
    """

    __slots__ = ("extent",)

    def __init__(self, name: str, extent: int) -> None:
        super().__init__(name)
        size = whole_number(extent)
        if size is None:
            raise DefinitionError(
                f"RecFilterDim({name!r}): the size must be an integer, not {extent!r}",
                at=here(),
                hint="a recursive filter is made for images of one size",
            )
        if not 0 < size < COORDINATE_LIMIT:
            raise DefinitionError(
                f"RecFilterDim({name!r}): the size must be positive and below"
                f" {COORDINATE_LIMIT}, not {size}",
                at=here(),
            )
        self.extent = size

    def __pos__(self) -> Direction:
        return Direction(self, True)

    def __neg__(self) -> Direction:
        return Direction(self, False)


class ScanDim(Var):
    """A dimension of a scan that a user wrote as an ordinary update: a Var whose size,
    in points, may be a number, an expression, or not known at all."""

    __slots__ = ("extent",)

    def __init__(self, name: str, extent: int | Expr | None) -> None:
        super().__init__(name)
        self.extent = extent


#: What stages in tiles may have as dimensions.
Dim = RecFilterDim | ScanDim


class Direction(Expr):
    """Along which dimension a filter runs, and whether from point 0 on."""

    __slots__ = ("causal", "dim")

    def __init__(self, dim: RecFilterDim, causal: bool) -> None:
        value = Var.__pos__(dim) if causal else Var.__neg__(dim)
        super().__init__(value)
        self.dim, self.causal = dim, causal

    def __str__(self) -> str:
        return f"{'+' if self.causal else '-'}{self.dim.name()}"


def another(among: Sequence[Var], v: Var, suffix: str) -> Var:
    """A new Var, called after `v`, and like none of those `among` which it stands."""
    taken = {one.name() for one in among}
    name = v.name() + suffix
    while name in taken:
        name += suffix
    return Var(name)


__all__ = ["Dim", "Direction", "RecFilterDim", "ScanDim", "another", "whole_number"]
