"""Runs filters that take each channel by itself: of Arrays, and of NumPy's arrays, for
which they are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from parhelion.dataclass import dataclass
from parhelion.errors import TypeMismatchError, here
from parhelion.filters.given import called
from parhelion.filters.lines import by_lines
from parhelion.lang.checked import a_kind
from parhelion.whole.arguments import has_pixels, pixels
from parhelion.whole.array import Array
from parhelion.whole.declared import declared_by
from parhelion.whole.jit import jit
from parhelion.whole.jitted import Jitted
from parhelion.whole.schedules import Schedule

#: What a filter takes and returns: an Array in a function under `hl.jit`, or pixels.
Image = TypeVar("Image", Array, NDArray[Any])

#: For how many choices of arguments code is kept in memory.
_MOST_KEPT = 512
(_IMAGE,) = declared_by(lambda image: image, ())


@dataclass(frozen=True, slots=True)
class Rows:
    """An image of pixels, its channels side by side.

    elements: (H, W * apart). apart: from one pixel of a row to the next. shape: of the
    image.
    """

    elements: NDArray[Any]
    apart: int
    shape: tuple[int, ...]

    def pixels(self, found: NDArray[Any]) -> NDArray[Any]:
        """What was made of the rows, with the channels of the image."""
        if found.shape == self.elements.shape:
            return found.reshape(self.shape)
        # It has other rows and columns, but as many channels.
        height, width = found.shape
        return found.reshape(height, width // self.apart, *self.shape[2:])


def run(
    function: Callable[..., Array],
    image: Any,
    *given: Any,
    schedule: Callable[[int], Schedule] = lambda apart: by_lines,
) -> Any:
    """What a filter makes of an image: an Array of an Array, and of pixels a NumPy
    array, for which code is compiled once for each type, each number of channels and
    each choice of the other arguments.

    function: takes an Array, how many elements are from one pixel of a row to the next
    (0 in a program of others), and `given`. schedule: of the code, by that number.

    Raises TypeMismatchError for what is no image.
    """
    if isinstance(image, Array):
        return function(image, 0, *given)
    found = rows_of(function, image)
    if found is None:
        return as_a_whole(function, image, *given)
    made = _jitted(function, given, found.apart, schedule)(found.elements)
    return found.pixels(made)


def rows_of(function: Callable[..., Array], image: Any) -> Rows | None:
    """An image of pixels as rows of elements, as no filter mixes channels; None for one
    whose axes have names, and for an array of others than two or three axes.

    Raises TypeMismatchError for what is no image of `function`'s.
    """
    if type(image) is not np.ndarray:
        if not has_pixels(image):
            raise no_image(function, image)
        image, names = pixels(image, _IMAGE)
        if any(names):
            return None
    if image.ndim not in (2, 3):
        return None
    rows, apart = image, 1
    if image.ndim == 3:
        height, width, apart = image.shape
        rows = image.reshape(height, width * apart)
    if rows.strides[1] != rows.itemsize:
        rows = np.ascontiguousarray(rows)
    return Rows(rows, max(apart, 1), image.shape)


def as_a_whole(function: Callable[..., Array], image: Any, *given: Any) -> Any:
    """As `run`, of pixels whose channels do not lie side by side, or whose axes have
    names: their rows and columns are found by these."""
    return _jitted(function, given, 0, None)(image)


def no_image(function: Callable[..., Array], given: object) -> TypeMismatchError:
    """The error for what a filter is given and cannot read as an image."""
    return TypeMismatchError(
        f"{called(function.__name__.strip('_'))} takes an Array or a NumPy array, not"
        f" {a_kind(given)}, {given!r:.60}",
        at=here(),
    )


#: By the function, the number of channels, and what is given.
_known: dict[tuple[Callable[..., Array], int, str], Jitted[NDArray[Any]]] = {}


def _jitted(
    function: Callable[..., Array],
    given: tuple[Any, ...],
    apart: int,
    schedule: Callable[[int], Schedule] | None,
) -> Jitted[NDArray[Any]]:
    # Python's numbers, words and tuples of them: the text tells 1 from 1.0 and True,
    # and 0.0 from -0.0.
    key = (function, apart, repr(given))
    found = _known.get(key)
    if found is not None:
        return found

    def filtered(image: Array) -> Array:
        return function(image, apart, *given)

    filtered.__name__ = function.__name__.strip("_")
    made = jit(filtered, schedule=None if schedule is None else schedule(apart))
    if len(_known) >= _MOST_KEPT:
        _known.clear()
    # Of two threads that come here at once, both use the first one's.
    return _known.setdefault(key, made)


__all__ = ["Image", "Rows", "as_a_whole", "no_image", "rows_of", "run"]
