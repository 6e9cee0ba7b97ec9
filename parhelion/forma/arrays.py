"""Between the caller's arrays and the images of compiled programs.

A domain of [M, N] is an array of the shape (N, M). Points that are structs of one type
are those of a structured array, or the last dimension of an array of that type; structs
of several types are structured arrays. What compiled code cannot take as it is, is
copied: rows whose points are not side by side in memory, as every second column or a
mirrored row, and the fields of structs of several types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parhelion.dataclass import dataclass
from parhelion.errors import FormaError
from parhelion.forma.images import has_channels, scalars_of
from parhelion.forma.reference import dtype_of
from parhelion.forma.sizes import size_text
from parhelion.forma.spans import Span
from parhelion.forma.stages import Input, Output
from parhelion.forma.types import Element, Struct
from parhelion.lang.arrays import UNMASKED, hides
from parhelion.lang.placed import aligned
from parhelion.runtime.layout import address

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Domain:
    """What is known of the array of an input or an output.

    what: it is, for messages. sizes: as the program writes them. dtype: of an array of
    its points. channels: how many fields a point has side by side in memory, of the
    type channel_dtype; else 0.
    """

    what: str
    kind: Element
    sizes: tuple[str, ...]
    span: Span
    dtype: np.dtype[Any]
    channels: int
    channel_dtype: np.dtype[Any]

    @staticmethod
    def of(one: Input | Output) -> Domain:
        if isinstance(one, Input):
            kind, sizes, what = one.types[0], one.sizes, f"the input '{one.name}'"
        else:
            kind, sizes = one.source.type, one.source.sizes
            what = f"the output '{one.name}'"
        scalars = scalars_of(kind)
        return Domain(
            *(what, kind, tuple([size_text(s) for s in sizes]), one.span),
            dtype=dtype_of(kind),
            channels=len(scalars) if has_channels(kind) else 0,
            channel_dtype=dtype_of(scalars[0]),
        )

    def error(self, has: str, hint: str) -> FormaError:
        return self.span.error(
            f"{self.what} {has}", detail=f"it is {self.described()}", hint=hint
        )

    def described(self) -> str:
        """The arrays that stand for the domain, in words."""
        shape = ", ".join(reversed(self.sizes))
        plain = f"({shape},)" if len(self.sizes) == 1 else f"({shape})"
        if not isinstance(self.kind, Struct):
            return f"an array of {self.dtype} with the shape {plain}"
        names = ", ".join([name for name, _ in self.kind.fields])
        text = f"a structured array, fields {names}, with the shape {plain}"
        if self.channels:
            text += (
                f"; or an array of {self.channel_dtype} with the shape "
                f"({shape}, {self.channels})"
            )
        return text


@dataclass(frozen=True, slots=True)
class Given:
    """An array that a caller gives. whole: with its points, which are structs or not;
    extents: of its domain, dimension 0 first."""

    whole: Array
    structured: bool
    extents: tuple[int, ...]


def given(domain: Domain, array: object) -> Given:
    """An array for an input or an output, of the right type and dimensions."""
    if not isinstance(array, np.ndarray):
        raise domain.error(
            f"is given as {_a(array)}, not as an array", "np.asarray(…) makes arrays"
        )
    if hides(array):
        raise domain.error(
            "has no mask, and the array hides some of its elements by one", UNMASKED
        )
    dimensions = len(domain.sizes)
    structured = array.dtype.names is not None
    if structured and _same_fields(array.dtype, domain):
        wanted = dimensions
    elif domain.channels and array.dtype == domain.channel_dtype:
        wanted = dimensions + 1
    elif array.dtype == domain.dtype:
        wanted = dimensions
    else:
        raise domain.error(
            f"is given as an array of {array.dtype}", _advice(array, domain)
        )
    if array.ndim != wanted:
        raise domain.error(
            f"is given as an array of {array.ndim} dimensions, and has {wanted}",
            "the shape has the last dimension of the domain first: (N, M) for [M, N]",
        )
    if wanted > dimensions and array.shape[-1] != domain.channels:
        raise domain.error(
            f"is given with {array.shape[-1]} channels, and has {domain.channels}",
            "the fields of the struct are the last dimension of the array",
        )
    extents = array.shape[:dimensions][::-1]
    if 0 in extents:
        raise domain.error("is given as an array without points", "give a larger array")
    return Given(array, structured, extents)


def _a(value: object) -> str:
    return f"a {type(value).__name__}" if value is not None else "None"


def _same_fields(dtype: np.dtype[Any], domain: Domain) -> bool:
    """Whether a structured type has the fields of a struct, wherever they lie."""
    if dtype.names != domain.dtype.names or dtype.names is None:
        return False
    return all([dtype[name] == domain.dtype[name] for name in dtype.names])


def _advice(array: Array, domain: Domain) -> str:
    if array.dtype.names is not None or (
        isinstance(domain.kind, Struct) and not domain.channels
    ):
        return "a structured array has the names and types of the struct's fields"
    dtype = domain.channel_dtype
    unsigned = array.dtype.kind == "u" and dtype.kind == "i"
    if unsigned and array.itemsize >= dtype.itemsize:
        wider = {1: "int16", 2: "int"}.get(array.itemsize, "double")
        return (
            f"integers of Forma are signed: {wider} holds all values of "
            f"{array.dtype}; declare it so and convert the array"
        )
    return f"array.astype(np.{dtype}) converts it"


def planes(domain: Domain, one: Given) -> tuple[Array, ...]:
    """The arrays for the ImageParams or outputs of a domain, dimension 0 last: parts of
    the caller's array, or copies where compiled code cannot take it as it is."""
    array = one.whole
    if not domain.channels:
        if isinstance(domain.kind, Struct):
            names = [name for name, _ in domain.kind.fields]
            return tuple([np.array(array[name], order="C") for name in names])
        return (_with_rows(array),)
    if one.structured:
        if array.dtype != domain.dtype:
            array = array.astype(domain.dtype)
        array = with_channels(domain, _with_rows(array))
    elif (
        array.strides[-1] != array.itemsize
        or (
            array.shape[-2] > 1
            and array.strides[-2] != array.itemsize * array.shape[-1]
        )
        or not array.flags.aligned
    ):
        array = np.array(array, order="C")
    return (np.moveaxis(array, -1, 0),)


def _with_rows(array: Array) -> Array:
    """The array, or a copy where the points of a row are not side by side."""
    apart = array.shape[-1] > 1 and array.strides[-1] != array.itemsize
    return np.array(array, order="C") if apart or not array.flags.aligned else array


def with_channels(domain: Domain, array: Array) -> Array:
    """A structured array as one of its fields' type, with them as last dimension."""
    dtype = domain.channel_dtype
    first = array[domain.dtype.names[0]] if domain.dtype.names else array
    return np.lib.stride_tricks.as_strided(
        first, (*array.shape, domain.channels), (*array.strides, dtype.itemsize)
    )


def made(
    domain: Domain, extents: Sequence[int], structured: bool, read: Sequence[Array]
) -> Array:
    """A new array for an output, which is computed from the arrays `read`."""
    shape, dtype = tuple(extents)[::-1], domain.dtype
    if domain.channels and not structured:
        shape, dtype = (*shape, domain.channels), domain.channel_dtype
    places = [address(one) for one in read]
    return aligned(np.dtype(dtype), math.prod(shape), places).reshape(shape)


def put(domain: Domain, into: Array, values: Sequence[Array]) -> None:
    """Copies what was computed into the caller's array, unless it is there already."""
    if len(values) > 1:
        assert into.dtype.names is not None
        for name, value in zip(into.dtype.names, values, strict=True):
            into[name] = value
        return
    value = values[0]
    if np.may_share_memory(into, value):
        return
    if not domain.channels:
        into[...] = value
    elif into.dtype.names is None:
        into[...] = np.moveaxis(value, 0, -1)
    else:
        for k, name in enumerate(into.dtype.names):
            into[name] = value[k]


__all__ = ["Array", "Domain", "Given", "given", "made", "planes", "put"]
