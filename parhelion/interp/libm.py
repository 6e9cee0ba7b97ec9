"""C's mathematical functions, element by element, by way of the C library itself.

Compiled code calls these for the operations that have no expansion in `ir.mathlib`;
calling the same functions here makes the results the same.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from collections.abc import Callable

import numpy as np

from parhelion.errors import DefinitionError
from parhelion.interp.values import Array, cast, dtype_of
from parhelion.ir.expr import Extern
from parhelion.ir.externs import FUNCTIONS
from parhelion.types import Float, Type


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


@functools.cache
def function(name: str, arity: int, width: int) -> Callable[..., Array]:
    """The C function `name` over arrays of `width`-bit floats."""
    scalar = ctypes.c_float if width == 32 else ctypes.c_double
    try:
        found = getattr(_library(), name)
    except AttributeError:
        raise DefinitionError(
            f"the interpreter cannot call the C function {name!r}: "
            "the C library's mathematical part has none of that name"
        ) from None
    found.restype = scalar
    found.argtypes = [scalar] * arity
    dtype = np.float32 if width == 32 else np.float64
    every = np.frompyfunc(found, arity, 1)

    def over(*args: Array) -> Array:
        made = every(*[a.astype(np.float64) for a in args])
        return np.asarray(made).astype(dtype)

    return over


def call(op: str, args: list[Array], t: Type) -> Array:
    """`op` (sinh, erf, …) of the float type `t`; narrow floats pass through float32."""
    if t.width == 16:
        wide = [cast(a, t, Float(32)) for a in args]
        return cast(call(op, wide, Float(32)), Float(32), t)
    name = op + "f" if t.width == 32 else op
    made = function(name, len(args), t.width)(*args)
    return made.astype(dtype_of(t))


def extern(e: Extern, args: list[Array]) -> Array:
    """A C function that the program named, or one of the C library."""
    known = FUNCTIONS.get(e.name)
    if known is None:
        return function(e.name, len(args), e.type.width)(*args)
    every = np.frompyfunc(known.call, len(args), 1)
    return np.asarray(every(*args)).astype(dtype_of(e.type))
