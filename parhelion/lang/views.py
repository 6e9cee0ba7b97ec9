"""Other views of a Buffer's pixels: crop, slice, embed, translate, transpose.

Each has a form that changes the Buffer and one, in the past tense, that returns a
new Buffer of the same pixels.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Self, SupportsIndex

import numpy as np

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.lang.checked import integer
from parhelion.runtime.layout import Array


class Views:
    """What `Buffer` inherits; it has the pixels, the mins and `_become`."""

    __slots__ = ()
    _mins: list[int]

    def _grid(self) -> Array:
        raise NotImplementedError

    def _dimension(self, d: SupportsIndex) -> int:
        raise NotImplementedError

    def _become(self, array: Array, mins: Sequence[int]) -> None:
        raise NotImplementedError

    def _view(self) -> Self:
        raise NotImplementedError

    def name(self) -> str:
        raise NotImplementedError

    def crop(self, *where: Any) -> None:
        """Keeps only a region: ``crop(dimension, min, extent)`` or ``crop([(min,
        extent), …])``.

        Raises BoundsError if the region is not inside.

        >>> image = hl.Buffer(np.arange(6).reshape(2, 3))
        >>> image.crop(0, 1, 2)
        >>> image.left(), np.asarray(image).tolist()
        (1, [[1, 2], [4, 5]])
        """
        array, mins = self._grid(), list(self._mins)
        cut: list[builtins.slice] = [slice(None)] * array.ndim
        for d, m, e in self._regions(where):
            lo, n = mins[d], array.shape[d]
            if not (lo <= m and e >= 0 and m + e <= lo + n):
                raise BoundsError(
                    f"a crop of dimension {d} to min {m} and extent {e} is not inside "
                    f"Buffer {self.name()!r}, which covers {lo} to {lo + n - 1}",
                    at=here(),
                )
            cut[d] = slice(m - lo, m - lo + e)
            mins[d] = m
        self._become(array[tuple(cut)], mins)

    def _regions(self, where: tuple[Any, ...]) -> list[tuple[int, int, int]]:
        """The dimension, min and extent of each region that `crop` is given."""
        given = [where]
        if len(where) != 3:
            try:
                (rect,) = where
                given = [(d, low, n) for d, (low, n) in enumerate(rect)]
            except (TypeError, ValueError):
                raise TypeMismatchError(
                    f"a crop of Buffer {self.name()!r} is given by {_shown(where)}",
                    at=here(),
                    legal=["crop(dimension, min, extent)", "crop([(min, extent), …])"],
                ) from None
        return [
            (self._dimension(d), integer(low, "a min"), integer(n, "an extent"))
            for d, low, n in given
        ]

    def cropped(self, *where: Any) -> Self:
        """Returns a view of a region of the same pixels; the arguments are those of
        `crop`."""
        made = self._view()
        made.crop(*where)
        return made

    def slice(self, dimension: int, pos: int | None = None) -> None:
        """Drops a dimension and keeps the pixels at `pos`, by default its first
        coordinate.

        Raises BoundsError if `pos` is outside.

        >>> image = hl.Buffer(np.arange(6).reshape(2, 3))
        >>> image.slice(1, 1)
        >>> np.asarray(image).tolist()
        [3, 4, 5]
        """
        d = self._dimension(dimension)
        array = self._grid()
        at = self._mins[d] if pos is None else integer(pos, "a coordinate")
        if not self._mins[d] <= at < self._mins[d] + array.shape[d]:
            raise BoundsError(
                f"{at} is outside dimension {d} of Buffer {self.name()!r}", at=here()
            )
        cut: list[builtins.slice | int] = [slice(None)] * array.ndim
        cut[d] = at - self._mins[d]
        self._become(array[(*cut, ...)], self._mins[:d] + self._mins[d + 1 :])

    def sliced(self, dimension: int, pos: int | None = None) -> Self:
        """Returns a view without one dimension; the arguments are those of `slice`."""
        made = self._view()
        made.slice(dimension, pos)
        return made

    def embed(self, dimension: int, pos: int = 0) -> None:
        """Adds a dimension of extent 1, whose only coordinate is `pos`.

        >>> image = hl.Buffer(np.arange(6).reshape(2, 3))
        >>> image.embed(2, 7)
        >>> image[2, 1, 7]
        5
        """
        d = integer(dimension, "a dimension")
        if not 0 <= d <= len(self._mins):
            self._dimension(d)
        array = np.expand_dims(self._grid(), d)
        at = integer(pos, "a coordinate")
        self._become(array, [*self._mins[:d], at, *self._mins[d:]])

    def embedded(self, dimension: int, pos: int = 0) -> Self:
        """Returns a view with one more dimension; the arguments are those of
        `embed`."""
        made = self._view()
        made.embed(dimension, pos)
        return made

    def add_dimension(self) -> None:
        """Adds an outermost dimension of extent 1."""
        self.embed(len(self._mins))

    def translate(self, *delta: Any) -> None:
        """Moves the coordinates, not the pixels: ``translate(dimension, dx)`` or
        ``translate([dx, dy, …])``.

        >>> image = hl.Buffer(np.arange(6).reshape(2, 3))
        >>> image.translate([10, 20])
        >>> image[10, 20]
        0
        """
        mins = list(self._mins)
        if len(delta) == 2:
            mins[self._dimension(delta[0])] += integer(delta[1], "a distance")
        else:
            for d, dx in enumerate(_one_list(delta, "the distances of translate")):
                mins[self._dimension(d)] += integer(dx, "a distance")
        self._become(self._grid(), mins)

    def translated(self, *delta: Any) -> Self:
        """Returns a view with other coordinates; the arguments are those of
        `translate`."""
        made = self._view()
        made.translate(*delta)
        return made

    def set_min(self, *mins: Any) -> None:
        """Sets the least coordinates, innermost first: ``set_min([x, y, …])``."""
        if len(mins) == 1 and isinstance(mins[0], list | tuple):
            mins = tuple(mins[0])
        if len(mins) > len(self._mins):
            self._dimension(len(mins) - 1)
        given = [integer(m, "a coordinate") for m in mins]
        self._become(self._grid(), given + self._mins[len(given) :])

    def transpose(self, *order: Any) -> None:
        """Reorders the dimensions: ``transpose(d1, d2)`` swaps two of them.

        ``transpose([2, 0, 1])`` moves dimension 0 to place 2, dimension 1 to place 0
        and dimension 2 to place 1. Raises TypeMismatchError for what is no order of the
        dimensions.

        >>> image = hl.Buffer(np.arange(6).reshape(2, 3))
        >>> image.transpose(0, 1)
        >>> image.width(), image[1, 2]
        (2, 5)
        """
        places = list(range(len(self._mins)))
        if len(order) == 2:
            a, b = self._dimension(order[0]), self._dimension(order[1])
            places[a], places[b] = b, a
        else:
            listed = _one_list(order, "the dimensions of transpose")
            given = [integer(o, "a dimension") for o in listed]
            if sorted(given) != places:
                raise TypeMismatchError(
                    f"{given} is no order of the {len(places)} dimensions of Buffer "
                    f"{self.name()!r}",
                    at=here(),
                )
            for old, new in enumerate(given):
                places[new] = old
        array = self._grid().transpose(places)
        self._become(array, [self._mins[p] for p in places])

    def transposed(self, *order: Any) -> Self:
        """Returns a view with reordered dimensions; the arguments are those of
        `transpose`."""
        made = self._view()
        made.transpose(*order)
        return made

    def reverse_axes(self) -> Self:
        """Returns a view with the dimensions in reverse order."""
        return self.transposed(list(range(len(self._mins)))[::-1])


def _shown(given: tuple[Any, ...]) -> str:
    return f"{', '.join(map(repr, given)) or 'nothing':.60}"


def _one_list(given: tuple[Any, ...], what: str) -> list[Any]:
    """The items of the one list that is given; `what` names them in the message."""
    try:
        (listed,) = given
        return list(listed)
    except (TypeError, ValueError):
        raise TypeMismatchError(
            f"{what} are one list, not {_shown(given)}", at=here()
        ) from None
