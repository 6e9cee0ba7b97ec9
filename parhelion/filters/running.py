"""Filters of Arrays, and of NumPy's arrays, for which they are compiled and run."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from parhelion.errors import TypeMismatchError, here
from parhelion.filters.lines import by_lines
from parhelion.lang.checked import a_kind
from parhelion.whole.arguments import has_pixels, pixels, told_apart
from parhelion.whole.array import Array
from parhelion.whole.declared import declared_by
from parhelion.whole.jit import Jitted, jit

#: What a filter takes and returns: an Array in a function under `hl.jit`, or pixels.
Image = TypeVar("Image", Array, NDArray[Any])

#: For how many choices of arguments code is kept in memory.
_MOST_KEPT = 512
(_IMAGE,) = declared_by(lambda image: image, ())


def run(function: Callable[..., Array], image: Any, *given: Any) -> Any:
    """What a filter makes of an image: an Array of an Array, and of pixels a NumPy
    array, for which code is compiled once for each type, each number of channels and
    each choice of the other arguments.

    function: takes an Array, how many elements are from one pixel of a row to the next
    (0 in a program of others), and `given`.

    Raises TypeMismatchError for what is no image.
    """
    if isinstance(image, Array):
        return function(image, 0, *given)
    if type(image) is not np.ndarray:
        if not has_pixels(image):
            raise TypeMismatchError(
                f"{function.__name__.strip('_')} takes an Array or a NumPy array, not"
                f" {a_kind(image)}, {image!r:.60}",
                at=here(),
            )
        array, names = pixels(image, _IMAGE)
        if any(names):
            # Its rows and columns are found by their names.
            return _jitted(function, told_apart(given), 0, given)(image)
        image = array
    if image.ndim not in (2, 3):
        return _jitted(function, told_apart(given), 0, given)(image)
    # Channels are elements of a row: no filter mixes them.
    rows, apart = image, 1
    if image.ndim == 3:
        height, width, apart = image.shape
        rows = image.reshape(height, width * apart)
    if rows.strides[1] != rows.itemsize:
        rows = np.ascontiguousarray(rows)
    found = _jitted(function, told_apart(given), max(apart, 1), given)(rows)
    return found.reshape(image.shape)


@lru_cache(maxsize=_MOST_KEPT)
def _jitted(
    function: Callable[..., Array], told: Hashable, apart: int, given: tuple[Any, ...]
) -> Jitted[NDArray[Any]]:
    def filtered(image: Array) -> Array:
        return function(image, apart, *given)

    filtered.__name__ = function.__name__.strip("_")
    return jit(filtered, schedule=by_lines if apart else None)


__all__ = ["Image", "run"]
