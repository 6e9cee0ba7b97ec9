"""NumPy's functions of expressions: operators are the language's, others are refused.

NumPy asks for ``array_scalar * expr`` as for ``np.multiply(array_scalar, expr)``.
"""

from __future__ import annotations

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
#: What the language has for other functions; not all names are NumPy's.
_INSTEAD = {
    **{
        name: f"hl.{name}(e)"
        for name in (
            *("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
            *("floor", "ceil", "trunc"),
        )
    },
    **{
        f"arc{name}": f"hl.a{name}(e)"
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    "arctan2": "hl.atan2(a, b)",
    "hypot": "hl.hypot(a, b)",
    "maximum": "hl.max(a, b)",
    "fmax": "hl.max(a, b)",
    "minimum": "hl.min(a, b)",
    "fmin": "hl.min(a, b)",
    "float_power": "hl.pow(a, b)",
    "absolute": "hl.abs(e)",
    "fabs": "hl.abs(e)",
    "rint": "hl.round(e)",
    "isnan": "hl.is_nan(e)",
    "isinf": "hl.is_inf(e)",
    "isfinite": "hl.is_finite(e)",
    "bitwise_count": "hl.popcount(e)",
    "negative": "-e",
    "invert": "~e",
    "square": "e * e",
    "reciprocal": "1 / e",
    "logical_not": "hl.logical_not(e)",
    "logical_and": "a & b",
    "logical_or": "a | b",
}


def apply(
    operand: Any, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Any
) -> Any:
    """What ``operand.__array_ufunc__`` returns: the value of an operator.

    Raises TypeMismatchError for other functions, and for `method`s such as ``reduce``.
    """
    name = ufunc.__name__
    if method == "__call__" and not options:
        if name in _OPERATORS:
            word = _OPERATORS[name]
            return _operated(operand, inputs, word, f"r{word}")
        if name in _COMPARISONS:
            return _compared(operand, inputs, *_COMPARISONS[name])
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


__all__ = ["apply"]
