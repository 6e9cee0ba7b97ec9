"""What a function of arrays is given: arrays of any library, numbers, and the rest.

A call is sorted into `Arrays`, whose pixels are data, `Numbers`, which are data too,
and everything else, which is part of the program: a function is traced once for each
value of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.errors import TypeMismatchError, here
from parhelion.lang.arrays import AXIS_ORDER, array_of, pixel_type
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import a_kind
from parhelion.types import BOOL, Type
from parhelion.whole.core import MOST_CHANNELS
from parhelion.whole.declared import Declared
from parhelion.whole.operands import Names, axis_names
from parhelion.whole.promotion import FLOAT64, INT64

Pixels: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: Names of dimensions that other libraries write out, and the letters for them.
_LETTERS = {
    "row": "y",
    "rows": "y",
    "height": "y",
    "lat": "y",
    "latitude": "y",
    "column": "x",
    "columns": "x",
    "col": "x",
    "width": "x",
    "lon": "x",
    "longitude": "x",
    "time": "t",
    "depth": "z",
    "batch": "n",
    "channel": "c",
    "channels": "c",
    "band": "c",
    "bands": "c",
    "colour": "c",
}


@dataclass(frozen=True, slots=True)
class ArrayKind:
    """What a program knows of an array. shape: extents that are fixed, None elsewhere.
    strides: of the innermost loop and of channels, in elements, where they are fixed.
    """

    type: Type
    shape: tuple[int | None, ...]
    names: Names
    strides: tuple[int, int | None] | None


@dataclass(frozen=True, slots=True)
class NumberKind:
    """What a program knows of a number. weak: whether it is Python's."""

    type: Type
    weak: bool


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that is part of the program. told: what tells it from others, as 1
    equals 1.0 and True."""

    told: Hashable
    value: Hashable = field(compare=False)


Kind: TypeAlias = "ArrayKind | NumberKind | Fixed"


def has_pixels(value: object) -> bool:
    """Whether a value is an array of some library."""
    kind = type(value)
    if issubclass(kind, np.ndarray | Buffer):
        return True
    if issubclass(kind, np.generic | bool | int | float | str | bytes):
        return False
    names = ("__array_interface__", "__dlpack__", "__array__")
    return any([hasattr(value, n) for n in names])


def pixels(value: object, declared: Declared) -> tuple[Pixels, Names]:
    """The NumPy array of an argument, without a copy, and the names of its axes.

    Raises TypeMismatchError for what is no array, or does not have the axes that the
    function names.
    """
    names: Names | None = None
    dims = getattr(value, "dims", None)
    if isinstance(dims, tuple) and hasattr(value, "values"):  # as xarray's
        value, names = value.values, tuple([_letter(d) for d in dims])
    if isinstance(value, Buffer):
        value = np.asarray(value)
    if hasattr(value, "detach") and hasattr(value, "requires_grad"):  # a tensor
        value = value.detach()
    array = array_of(value)
    if declared.axes is not None:
        if names is not None and None not in names:
            array = _reordered(array, names, declared)
        elif array.ndim != len(declared.axes):
            raise TypeMismatchError(
                f"the argument {declared.name!r} has the axes {declared.axes!r}, and"
                f" the array given has the shape {array.shape}",
                at=here(),
                hint=f"an array of {len(declared.axes)} axes is wanted",
            )
        return array, axis_names(declared.axes, array.ndim)
    return array, (None,) * array.ndim if names is None else names


def _letter(dim: object) -> str | None:
    name = str(dim)
    return name if name in AXIS_ORDER and len(name) == 1 else _LETTERS.get(name.lower())


def _reordered(array: Pixels, names: Names, declared: Declared) -> Pixels:
    assert declared.axes is not None
    if sorted(map(str, names)) != sorted(declared.axes):
        raise TypeMismatchError(
            f"the argument {declared.name!r} has the axes {declared.axes!r}, and the"
            f" array given has {''.join(map(str, names))!r}",
            at=here(),
        )
    return array.transpose([names.index(letter) for letter in declared.axes])


def array_kind(array: Pixels, names: Names) -> ArrayKind:
    """What the program for an array may rely on: its type, extents below 2, the number
    of channels, and where the elements of the innermost loop lie."""
    t, array = pixel_type(array)
    rank = array.ndim
    shape: list[int | None] = [n if n < 2 else None for n in array.shape]
    channels = rank > 2 and 0 < array.shape[-1] <= MOST_CHANNELS
    if channels:
        shape[-1] = array.shape[-1]
    strides: tuple[int, int | None] | None = None
    if rank:
        steps = [s // array.itemsize for s in array.strides]
        if channels and steps[-2] == array.shape[-1] and steps[-1] == 1:
            strides = (steps[-2], 1)
        elif steps[-2 if channels else -1] == 1:
            strides = (1, None)
    return ArrayKind(t, tuple(shape), names, strides)


def number_kind(value: object, declared: Declared) -> NumberKind:
    """What the program for a number may rely on: its type."""
    if isinstance(value, np.generic):
        try:
            return NumberKind(Type.from_numpy(value.dtype), False)
        except TypeMismatchError as error:
            raise TypeMismatchError(error.what, at=here()) from None
    if isinstance(value, bool):
        return NumberKind(BOOL, True)
    is_float = isinstance(value, float) or declared.number is float
    return NumberKind(FLOAT64 if is_float else INT64, True)


def fixed(value: object, declared: Declared) -> Fixed:
    """A value that the function is traced for. Raises TypeMismatchError for one that
    cannot be told from others, as it has no hash."""
    try:
        hash(value)
    except (TypeError, ValueError):  # a memoryview that may be written to
        like = "a tuple" if isinstance(value, list) else "a value that can be hashed"
        raise TypeMismatchError(
            f"the argument {declared.name!r} is {a_kind(value)}, which has no hash: a"
            " function under hl.jit is traced once for each value of an argument that"
            " is no array and no number",
            at=here(),
            hint=f"give {like}, or np.array(…) for data",
        ) from None
    return Fixed(_told(value), value)


def _told(value: Any) -> Hashable:
    """What tells a value from those that Python takes for equal: its class, and the
    classes of what it holds, and the sign of a zero."""
    kind = type(value)
    if isinstance(value, tuple):
        return kind, tuple([_told(v) for v in value])
    if isinstance(value, frozenset):
        return kind, frozenset([_told(v) for v in value])
    if isinstance(value, float):
        return kind, float(value).hex()
    if isinstance(value, np.generic):
        return value.dtype, value.tobytes()
    return kind, value


def is_number(value: object, declared: Declared) -> bool:
    """Whether a value is a number that is given at each call."""
    if declared.static or isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, int | float | np.generic)


__all__ = [
    "ArrayKind",
    "Fixed",
    "Kind",
    "NumberKind",
    "Pixels",
    "array_kind",
    "fixed",
    "has_pixels",
    "is_number",
    "number_kind",
    "pixels",
]
