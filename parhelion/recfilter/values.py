"""What recursive filters compute, as values of the type that is filtered in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parhelion.ir.build import imm
from parhelion.lang import boundary
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.func import Func
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


def as_type(m: Matrix, t: Type) -> Matrix:
    """A matrix as an array of a type; integers wrap."""
    if not t.is_float():
        m = np.array([[_wrapped(int(a), t) for a in row] for row in m], object)
    return m.astype(t.to_numpy())


__all__ = ["Source", "as_type", "beyond", "coefficient", "constant", "of_func"]
