"""What filters are given beside images: checked, in a form that tells calls apart."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from parhelion.errors import PACKAGE, BoundsError, TypeMismatchError, here
from parhelion.lang.checked import a_kind
from parhelion.lang.convert import check_type
from parhelion.types import Type
from parhelion.whole.array import Array
from parhelion.whole.borders import BORDERS

#: OpenCV's and SciPy's words for borders, where they have one meaning.
_WORDS = {
    "replicate": "edge",
    "nearest": "edge",
    "reflect_101": "reflect",
    "reflect101": "reflect",
    "mirror": "reflect",
}

_FILTERS = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: The most pixels of a window along an axis: larger ones take minutes to compile.
MOST_PIXELS = 1023


def border_name(border: object) -> str:
    """The name of a border in `whole.borders`. Raises TypeMismatchError for others."""
    if isinstance(border, str):
        found = _WORDS.get(border, border)
        if found in BORDERS:
            return found
    raise TypeMismatchError(
        f"there is no border {border!r:.60}",
        at=here(),
        legal=sorted({*BORDERS, *_WORDS}),
    )


def number(value: object, what: str) -> float:
    """A finite number. Raises TypeMismatchError for what is none, or only known when
    the function runs."""
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return value  # As nearly always: calls are to cost little.
    if isinstance(value, Array):
        raise TypeMismatchError(
            f"{what} is part of the program, and {value!r} is known only when the"
            " function runs",
            at=here(),
            hint="name the argument in @hl.jit(static=[…])",
        )
    wrong = isinstance(value, bool | np.bool_)
    if wrong or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeMismatchError(
            f"{what} is a number, not {a_kind(value)}, {value!r:.60}", at=here()
        )
    if not math.isfinite(value):
        raise BoundsError(f"{what} is a finite number, not {value}", at=here())
    return value if isinstance(value, int | float) else value.item()


def at_least(value: object, low: float, what: str) -> float:
    """A number that is not below a limit. Raises BoundsError for others."""
    found = number(value, what)
    if found < low:
        raise BoundsError(f"{what} is at least {low}, not {found}", at=here())
    return found


def above_zero(value: object, what: str) -> float:
    """A number above 0, as a float. Raises BoundsError for others."""
    found = float(number(value, what))
    if found <= 0:
        raise BoundsError(f"{what} is above 0, not {found}", at=here())
    return found


def called(otherwise: str) -> str:
    """The name of the filter that the user called, for messages: that of the outermost
    function of this package on the way here. otherwise: what if there is none."""
    frame: FrameType | None = sys._getframe(1)
    found = otherwise
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        code = frame.f_code
        if code.co_filename.startswith(_FILTERS) and not code.co_name.startswith("_"):
            found = code.co_name
        frame = frame.f_back
    return found


def whole_number(value: object, low: int, what: str) -> int:
    """An integer that is not below a limit. Raises TypeMismatchError for what is no
    integer, and BoundsError for a lower one."""
    found = number(value, what)
    if not isinstance(found, int):
        raise TypeMismatchError(f"{what} is an integer, not {found}", at=here())
    at_least(found, low, what)
    return found


def pair(value: object, what: str) -> tuple[Any, Any]:
    """What is given for rows and columns: two values, or one for both. Raises
    TypeMismatchError for another number of them."""
    if not isinstance(value, tuple | list):
        return value, value
    if len(value) != 2:
        raise TypeMismatchError(
            f"{what} has two values, of rows and of columns, not {len(value)}",
            at=here(),
        )
    return value[0], value[1]


def sizes(value: object, what: str) -> tuple[int, int]:
    """The rows and columns of a window, or other counts."""
    rows, columns = pair(value, what)
    return whole_number(rows, 1, what), whole_number(columns, 1, what)


def check_window(pixels: float, what: str) -> None:
    """Raises BoundsError for a window of more pixels along an axis than are compiled in
    seconds."""
    if pixels > MOST_PIXELS:
        shown = f"{pixels:.4g}" if pixels > 1 << 30 else f"{round(pixels)}"
        raise BoundsError(
            f"{what} makes a window of {shown} pixels along an axis, and {MOST_PIXELS}"
            " is the most",
            at=here(),
            hint="filter a smaller image, as hl.filters.pyr_down makes it",
        )


def window(value: object, what: str) -> tuple[int, int]:
    """The rows and columns of a window that is not too large."""
    found = sizes(value, what)
    check_window(max(found), what)
    return found


def kernel(values: object, axes: int, what: str) -> tuple[Any, ...]:
    """The weights of a kernel of one or two axes, as tuples; integers stay such.

    Raises TypeMismatchError for what has not as many axes or no numbers, and
    BoundsError for one without elements or with weights that are not finite.
    """
    if isinstance(values, Array):
        number(values, what)
    try:
        table = np.asarray(values)
    except ValueError:
        table = np.asarray(None)
    if table.dtype.kind not in "iufb" or table.ndim != axes:
        raise TypeMismatchError(
            f"{what} is an array of numbers with {axes} axes, not {values!r:.60}",
            at=here(),
        )
    if not table.size or not np.all(np.isfinite(table)):
        raise BoundsError(
            f"{what} has elements, and finite ones, not {values!r:.60}", at=here()
        )
    if table.dtype.kind == "b":
        table = table.astype(np.uint8)
    found: tuple[Any, ...] = _tuples(table.tolist())
    return found


def _tuples(values: Any) -> Any:
    return tuple([_tuples(v) for v in values]) if isinstance(values, list) else values


def type_name(dtype: object) -> str | None:
    """The name of a type that is asked for, None for none."""
    if dtype is None:
        return None
    return str(check_type(dtype, "dtype= takes").to_numpy())


def type_of(name: str | None, otherwise: Type) -> Type:
    """The type of a name."""
    return otherwise if name is None else check_type(name, "dtype= takes")


def one_of(value: object, legal: Sequence[str], what: str) -> str:
    """A word among some. Raises TypeMismatchError for others."""
    if isinstance(value, str) and value in legal:
        return value
    raise TypeMismatchError(
        f"{what} is one of some words, not {value!r:.60}", at=here(), legal=list(legal)
    )


__all__ = [
    "above_zero",
    "at_least",
    "border_name",
    "called",
    "check_window",
    "kernel",
    "number",
    "one_of",
    "pair",
    "sizes",
    "type_name",
    "type_of",
    "whole_number",
    "window",
]
