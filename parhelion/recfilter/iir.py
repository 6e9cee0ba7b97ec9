"""Filters with SciPy's coefficients, on images and in pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from parhelion.errors import BoundsError, DefinitionError, here
from parhelion.lang.buffer import Buffer
from parhelion.lang.functions import cast
from parhelion.recfilter.coefficients import Number
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.filters import numbers
from parhelion.recfilter.recfilter import RecFilter
from parhelion.types import Float

Array = NDArray[Any]

#: The names of dimensions by position, the innermost first.
_NAMES = "xyzcw"


@overload
def iir(
    inp: Array,
    b: object,
    a: object,
    axis: int = -1,
    reverse: bool = False,
    border: str = "zero",
) -> Array: ...


@overload
def iir(
    inp: Buffer,
    b: object,
    a: object,
    axis: str,
    reverse: bool = False,
    border: str = "zero",
) -> Buffer: ...


def iir(
    inp: Array | Buffer,
    b: object,
    a: object,
    axis: int | str = -1,
    reverse: bool = False,
    border: str = "zero",
) -> Array | Buffer:
    """Returns ``a[0] y[n] = b[0] x[n] + b[1] x[n-1] + … - a[1] y[n-1] - …`` along an
    axis of an image, as `scipy.signal.lfilter` does, from zeros on.

    inp: an array, filtered along a NumPy axis, or a Buffer, along ``"x"``, ``"y"`` or
    ``"z"``; the result is of its kind and shape, in float32, or float64 if it is of
    that. b, a: numerator and denominator, real numbers. reverse: from the last point
    back.

    Raises DefinitionError for a filter that is unstable or a[0] = 0, TypeMismatchError
    for coefficients that are not numbers, and BoundsError for an axis that is not
    there. It compiles once for each shape and each filter.

    >>> from parhelion.recfilter import iir
    >>> iir(np.ones(4), [0.5], [1, -0.5]).tolist()
    [0.5, 0.75, 0.875, 0.9375]
    """
    image = inp if isinstance(inp, Buffer) else np.asarray(inp)
    buffer = image if isinstance(image, Buffer) else Buffer(_float(image))
    position = _position(axis, image)
    extents = [buffer.dim(k).extent() for k in range(buffer.dimensions())]
    if not extents or min(extents) == 0:
        return image.copy() if isinstance(image, Buffer) else _float(image).copy()
    t = buffer.type() if buffer.type().is_float() else Float(32)
    dims = [RecFilterDim(_NAMES[k], n) for k, n in enumerate(extents)]
    f = RecFilter("iir", border)
    at = [d + buffer.dim(k).min() for k, d in enumerate(dims)]
    f[tuple(dims)] = cast(t, buffer[tuple(at)])
    _add(f, position, not reverse, numbers(b, "iir: b", t), numbers(a, "iir: a", t))
    if isinstance(image, Buffer):
        return f.realize()
    result = np.empty(image.shape, t.to_numpy())
    f.realize(result)
    return result


def _add(
    f: RecFilter, dim: int, causal: bool, b: Sequence[Number], a: Sequence[Number]
) -> None:
    if a[0] == 0:
        raise DefinitionError("iir: a[0] is 0, by which all is divided", at=here())
    forward = [float(c) / a[0] for c in b]
    back = [-float(c) / a[0] for c in a[1:]]
    while len(forward) > 1 and forward[-1] == 0:
        forward.pop()
    f._add(dim, causal, forward, back, "iir")


def _float(image: Array) -> Array:
    """The image in a type that is filtered in: float64 stays, all else is float32."""
    kept = image.dtype in (np.dtype(np.float32), np.dtype(np.float64))
    return np.ascontiguousarray(image, None if kept else np.float32)


def _position(axis: int | str, image: Array | Buffer) -> int:
    """The dimension that an axis is, the innermost first."""
    count = image.dimensions() if isinstance(image, Buffer) else image.ndim
    if isinstance(axis, str):
        if axis in _NAMES[:count]:
            return _NAMES.index(axis)
    elif -count <= axis < count:
        return count - 1 - axis % count
    raise BoundsError(
        f"iir: an image of {count} dimensions has no axis {axis!r}", at=here()
    )


__all__ = ["iir"]
