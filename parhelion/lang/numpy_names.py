"""NumPy's functions of expressions: which of the language's each of them is."""

from __future__ import annotations

import numpy as np

from parhelion.lang import fixedpoint, functions, mathfuncs, ufuncs
from parhelion.lang.expr import Expr, ExprLike, logical_not, to_expr


def _square(e: ExprLike) -> Expr:
    return to_expr(e) * to_expr(e)


def register() -> None:
    """Makes them known to `ufuncs`, which expressions themselves ask."""
    same = ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    for name in (*same, "floor", "ceil", "trunc", "hypot"):
        ufuncs.FUNCTIONS[name] = getattr(mathfuncs, name)
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
        ufuncs.FUNCTIONS[f"arc{name}"] = getattr(mathfuncs, f"a{name}")
    ufuncs.FUNCTIONS |= {
        "arctan2": mathfuncs.atan2,
        "float_power": mathfuncs.pow,
        "rint": mathfuncs.round,
        "isnan": mathfuncs.is_nan,
        "isinf": mathfuncs.is_inf,
        "isfinite": mathfuncs.is_finite,
        "maximum": functions.max,
        "minimum": functions.min,
        "absolute": functions.abs,
        "fabs": functions.abs,
        "bitwise_count": fixedpoint.popcount,
        "logical_not": logical_not,
        "negative": lambda e: -to_expr(e),
        "positive": to_expr,
        "invert": lambda e: ~to_expr(e),
        "square": _square,
        "reciprocal": lambda e: 1 / to_expr(e),
        "logical_and": lambda a, b: to_expr(a) & b,
        "logical_or": lambda a, b: to_expr(a) | b,
    }
    ufuncs.ARRAY_FUNCTIONS |= {
        np.clip: functions.clamp,
        np.where: functions.select,
        np.round: mathfuncs.round,
    }


__all__ = ["register"]
