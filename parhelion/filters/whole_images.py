"""Runs filters that mix the channels of a pixel, or that take more arrays than the
image."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from parhelion.errors import TypeMismatchError, here
from parhelion.filters.given import called
from parhelion.filters.running import Image, no_image
from parhelion.whole.arguments import has_pixels
from parhelion.whole.array import Array
from parhelion.whole.jit import jit
from parhelion.whole.jitted import Jitted
from parhelion.whole.schedules import Schedule


def run(
    function: Callable[..., Any],
    image: Any,
    *given: object,
    schedule: Schedule = None,
) -> Any:
    """What a filter makes of an image: an Array of an Array, and of pixels a NumPy
    array, for which code is compiled once for each type and each choice of the other
    arguments. schedule: of the code; without one it is found.

    Raises TypeMismatchError for what is no image.
    """
    return run_with(function, image, (), *given, schedule=schedule)


def run_with(
    function: Callable[..., Any],
    image: Any,
    arrays: tuple[Any, ...],
    *given: object,
    schedule: Schedule = None,
) -> Any:
    """As `run`, of a filter that is given more arrays, whose elements are no part of
    the program.

    They follow the image. NumPy's become constants where the image is an Array. Raises
    TypeMismatchError for what is no image, and for Arrays beside pixels.
    """
    if isinstance(image, Array):
        whole = [a if isinstance(a, Array) else Array(a) for a in arrays]
        return function(image, *whole, *given)
    if any([isinstance(a, Array) for a in arrays]):
        raise TypeMismatchError(
            f"{called(function.__name__.strip('_'))} is given an Array beside an image"
            " of pixels",
            at=here(),
            hint="give the image as an argument of the function under hl.jit, too",
        )
    if not has_pixels(image):
        raise no_image(function, image)
    return _jitted(function, len(arrays), given, schedule)(image, *arrays)


#: For how many choices of arguments code is kept in memory.
_MOST_KEPT = 512
#: By the function, its schedule, and what is given.
_known: dict[tuple[Callable[..., Any], Schedule, str], Jitted[NDArray[Any]]] = {}


def _jitted(
    function: Callable[..., Any],
    arrays: int,
    given: tuple[object, ...],
    schedule: Schedule,
) -> Jitted[NDArray[Any]]:
    """The code for some given, which is no argument of it: so all of its arguments are
    arrays, of which calls cost the least."""
    # Python's numbers, words and tuples of them, which the text tells from each other.
    key = (function, schedule, repr(given))
    found = _known.get(key)
    if found is not None:
        return found

    def filtered(*images: Any) -> Any:
        return function(*images, *given)

    filtered.__name__ = function.__name__
    parameters = list(inspect.signature(function).parameters.values())
    signature = inspect.Signature(parameters[: 1 + arrays])
    filtered.__signature__ = signature  # type: ignore[attr-defined]
    made: Jitted[NDArray[Any]] = jit(filtered, schedule=schedule)
    if len(_known) >= _MOST_KEPT:
        _known.clear()
    # Of two threads that come here at once, both use the first one's.
    return _known.setdefault(key, made)


__all__ = ["Image", "run", "run_with"]
