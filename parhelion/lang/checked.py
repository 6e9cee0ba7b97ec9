"""Checks of numbers, words and lists that users give, with messages for wrong ones."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.lang.handles import is_func


def a_kind(value: object) -> str:
    """The type of a value, with its article: ``an Expr``, ``a uint8``."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def integer(value: object, what: str) -> int:
    """Returns a Python or NumPy integer as an int.

    `what` names it in the message, as in ``a dimension``. Raises TypeMismatchError for
    anything else.
    """
    kind = type(value)
    # Expressions have an ``__index__`` as well, only to raise an error of their own.
    if hasattr(kind, "__index__") and not hasattr(kind, "_node"):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:  # of an array of several numbers, or of others
            pass
    raise TypeMismatchError(f"{what} is an integer, not {value!r:.60}", at=here())


def boolean(value: object, what: str) -> bool:
    """Returns True or False, of Python or NumPy, as Python's.

    `what` names it in the message, as in ``reverse``. Raises TypeMismatchError for
    anything else: other values, as the string ``"False"``, would be taken for True.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeMismatchError(f"{what} is True or False, not {value!r:.60}", at=here())


def word(value: object, what: str) -> str:
    """Returns a string as it is.

    `what` names it in the message, as in ``the name of a Var``. Raises
    TypeMismatchError for anything else.
    """
    if isinstance(value, str):
        return value
    raise TypeMismatchError(f"{what} is a string, not {value!r:.60}", at=here())


def function(value: object, what: str) -> None:
    """Raises TypeMismatchError for what cannot be called; `what` names it."""
    if not callable(value) or is_func(value):
        raise TypeMismatchError(f"{what} is a function, not {value!r:.60}", at=here())


def items(value: object, what: str) -> Sequence[object]:
    """Returns a list or tuple as it is.

    `what` names it in the message, as in ``the bounds of repeat_edge``. Raises
    TypeMismatchError for anything else.
    """
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        hint = f"{value.tolist()!r:.60}"
    else:
        hint = f"[{value!r:.60}]"
    raise TypeMismatchError(
        f"{what} are a list, not {value!r:.60}", at=here(), hint=hint
    )


__all__ = ["a_kind", "boolean", "function", "integer", "items", "word"]
