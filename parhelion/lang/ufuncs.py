"""NumPy's functions of expressions: they are the language's, or they are refused.

NumPy asks for ``array_scalar * expr`` as for ``np.multiply(array_scalar, expr)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parhelion.errors import TypeMismatchError, here

#: The operators that NumPy has as functions, by the names of those.
_OPERATORS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "power": "pow",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "left_shift": "lshift",
    "right_shift": "rshift",
}
#: The comparisons, and what they are with the operands exchanged.
_COMPARISONS = {
    "less": ("lt", "gt"),
    "less_equal": ("le", "ge"),
    "greater": ("gt", "lt"),
    "greater_equal": ("ge", "le"),
    "equal": ("eq", "eq"),
    "not_equal": ("ne", "ne"),
}
#: The language's functions by the names of NumPy's: `numpy_names` fills them in, which
#: knows all of them.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
#: Those that NumPy has as plain functions.
ARRAY_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
#: What to write in place of others.
_INSTEAD = {"fmax": "hl.max(a, b)", "fmin": "hl.min(a, b)", "cbrt": "hl.pow(e, 1 / 3)"}


def apply(
    operand: Any, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Any
) -> Any:
    """What ``operand.__array_ufunc__`` returns: the value of a function.

    Raises TypeMismatchError for other functions, and for `method`s such as ``reduce``.
    """
    name = ufunc.__name__
    if method == "__call__" and not options:
        if name in _OPERATORS:
            word = _OPERATORS[name]
            return _operated(operand, inputs, word, f"r{word}")
        if name in _COMPARISONS:
            return _compared(operand, inputs, *_COMPARISONS[name])
        if name in FUNCTIONS:
            return FUNCTIONS[name](*inputs)
    if options.get("out") is not None and name in _OPERATORS:
        raise TypeMismatchError(
            f"{operand!r:.60} cannot be stored in an array: its value is known "
            "only when the pipeline runs",
            at=here(),
        )
    called = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
    instead = _INSTEAD.get(name) if method == "__call__" else None
    raise TypeMismatchError(
        f"{called} does not take expressions, such as {operand!r:.60}",
        at=here(),
        hint=f"{instead} does" if instead else "",
    )


def apply_function(
    operand: Any, function: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """What ``operand.__array_function__`` returns. Raises TypeMismatchError for
    functions that the language does not have."""
    known = ARRAY_FUNCTIONS.get(function)
    if known is None or named:
        raise TypeMismatchError(
            f"np.{function.__name__} does not take expressions, such as"
            f" {operand!r:.60}",
            at=here(),
            hint="expressions are numbers at a point; hl.jit makes functions of whole"
            " arrays, which more of NumPy's functions take",
        )
    return known(*args)


def _operated(operand: Any, inputs: tuple[Any, ...], word: str, reflected: str) -> Any:
    a, b = inputs
    first = operand is a
    method = getattr(type(operand), f"__{word if first else reflected}__")
    return method(operand, b if first else a)


def _compared(operand: Any, inputs: tuple[Any, ...], word: str, exchanged: str) -> Any:
    # NumPy makes arrays of the scalars that it compares.
    given = tuple(
        [i[()] if isinstance(i, np.ndarray) and i.ndim == 0 else i for i in inputs]
    )
    answer = _operated(operand, given, word, exchanged)
    if answer is NotImplemented and word in ("eq", "ne"):
        return (word == "eq") == (given[0] is given[1])
    return answer


__all__ = ["ARRAY_FUNCTIONS", "FUNCTIONS", "apply", "apply_function"]
