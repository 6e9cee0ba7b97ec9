"""Filters of Arrays, and of NumPy's arrays, for which they are compiled and run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from numpy.typing import NDArray

from parhelion.errors import TypeMismatchError, here
from parhelion.lang.checked import a_kind
from parhelion.whole.arguments import has_pixels
from parhelion.whole.array import Array
from parhelion.whole.jit import Jitted, jit

#: What a filter takes and returns: an Array in a function under `hl.jit`, or pixels.
Image = TypeVar("Image", Array, NDArray[Any])


def run(function: Callable[..., Array], image: Any, *given: object) -> Any:
    """What a filter makes of an image: an Array of an Array, and of pixels a NumPy
    array, for which code is compiled once for each type and each choice of the other
    arguments.

    Raises TypeMismatchError for what is no image.
    """
    if isinstance(image, Array):
        return function(image, *given)
    if not has_pixels(image):
        raise TypeMismatchError(
            f"{function.__name__.strip('_')} takes an Array or a NumPy array, not"
            f" {a_kind(image)}, {image!r:.60}",
            at=here(),
        )
    return _jitted(function)(image, *given)


@cache
def _jitted(function: Callable[..., Array]) -> Jitted[NDArray[Any]]:
    _, *others = inspect.signature(function).parameters
    return jit(function, static=others)


__all__ = ["Image", "run"]
