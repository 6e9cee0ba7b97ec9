"""What recursive filters compute, as values of the type that is filtered in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parhelion.ir.build import imm
from parhelion.lang import boundary
from parhelion.lang.buffer import Buffer
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import cast
from parhelion.lang.var import Var
from parhelion.recfilter.coefficients import Matrix, Number
from parhelion.recfilter.filters import Coefficient, Varying
from parhelion.types import Type

#: A value at coordinates, those of the filter's dimensions.
Source = Callable[..., Any]


#: What an image is beyond its edges.
_BEYOND = {
    "clamp": boundary.repeat_edge,
    "repeat": boundary.repeat_image,
    "mirror": boundary.mirror_image,
}


def of_func(f: Func) -> Source:
    """The values of a Func."""

    def at(*coordinates: Any) -> Any:
        return f[coordinates]

    return at


def beyond(
    source: Source, dims: Sequence[Var], position: int, extent: int, border: str
) -> Source:
    """The values of a source that has `extent` points along a dimension, which goes on
    along it as the border says."""
    inside = Func()
    inside[tuple(dims)] = source(*dims)
    bounds = [(0, extent) if k == position else None for k in range(len(dims))]
    return of_func(_BEYOND[border](inside, bounds))


def constant(a: Number, t: Type) -> Expr:
    """A coefficient as a value of a type; integers wrap."""
    return wrap(imm(float(a) if t.is_float() else _wrapped(int(a), t), t))


def coefficient(a: Coefficient, at: Sequence[Any], t: Type) -> Any:
    """A coefficient at a point of the image, as a value of a type."""
    return a.func[tuple(at)] if isinstance(a, Varying) else constant(a, t)


def _wrapped(a: int, t: Type) -> int:
    """An integer as one of a type of so many bits, which it wraps around in."""
    low = a % (1 << t.bits())
    return low - (1 << t.bits()) if t.is_int() and low >> (t.bits() - 1) else low


class Table:
    """Numbers of a type, by their places in an array; integers wrap.

    NumPy has no bfloat16: such numbers are kept in float32.
    """

    def __init__(self, numbers: Matrix, t: Type, name: str) -> None:
        self._type = t
        if not t.is_float():
            wrapped = [_wrapped(int(a), t) for a in numbers.flat]
            numbers = np.array(wrapped, object).reshape(numbers.shape)
        kept = np.dtype(np.float32) if t.is_bfloat() else t.to_numpy()
        self._buffer = Buffer(np.ascontiguousarray(numbers.astype(kept)), name)

    def __getitem__(self, place: Any) -> Any:
        value = self._buffer[place]
        return cast(self._type, value) if self._type.is_bfloat() else value


__all__ = [
    "Source",
    "Table",
    "beyond",
    "coefficient",
    "constant",
    "of_func",
]
