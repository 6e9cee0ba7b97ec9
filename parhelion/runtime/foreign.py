"""Buffers as C structs, read and written from Python, for code that is not ours."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.errors import InvalidBufferError, Site
from parhelion.runtime.context import Dimension, PixelType, RawBuffer
from parhelion.types import Type

Array = NDArray[Any]

#: What Python code raised while compiled code ran, by the address of the run's context.
#: The run raises it again when it has left compiled code.
RAISED: dict[int, BaseException] = {}


class Struct:
    """A `halide_buffer_t` made here. It keeps the array that it describes."""

    def __init__(
        self,
        type: Type,
        shape: Sequence[tuple[int, int, int]],
        host: int = 0,
        keep: object = None,
    ) -> None:
        """shape: min, extent and stride of each dimension."""
        self.dims = (Dimension * max(len(shape), 1))()
        for d, (low, extent, stride) in enumerate(shape):
            self.dims[d] = Dimension(low, extent, stride, 0)
        self.raw = RawBuffer()
        self.raw.host = host or None
        self.raw.type = PixelType(int(type.kind), type.width, 1)
        self.raw.dimensions = len(shape)
        self.raw.dim = ctypes.addressof(self.dims)
        self._keep = keep

    @classmethod
    def of(cls, type: Type, pixels: Array, mins: Sequence[int]) -> Struct:
        """The struct of an array, whose axes are in dimension order."""
        host = int(pixels.__array_interface__["data"][0])
        strides = [s // pixels.itemsize for s in pixels.strides]
        shape = list(zip(mins, pixels.shape, strides, strict=True))
        return cls(type, shape, host, pixels)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.raw)

    def box(self) -> list[tuple[int, int]]:
        """(min, extent) of each dimension, as they are now."""
        return [
            (self.dims[d].min, self.dims[d].extent) for d in range(self.raw.dimensions)
        ]


def dimensions_at(raw: RawBuffer) -> Any:
    """The dimensions of a struct that is not ours."""
    return ctypes.cast(raw.dim, ctypes.POINTER(Dimension))


def box_at(address: int) -> list[tuple[int, int]]:
    """(min, extent) of each dimension of the struct at an address."""
    raw = RawBuffer.from_address(address)
    dims = dimensions_at(raw)
    return [(dims[d].min, dims[d].extent) for d in range(raw.dimensions)]


def set_box(address: int, box: Sequence[tuple[int, int]]) -> None:
    """Writes min and extent of each dimension of the struct at an address."""
    dims = dimensions_at(RawBuffer.from_address(address))
    for d, (low, extent) in enumerate(box):
        dims[d].min, dims[d].extent = low, extent


def is_query(address: int) -> bool:
    """Whether a struct has no pixels: a question about bounds."""
    raw = RawBuffer.from_address(address)
    return raw.host is None and raw.device == 0


def pixels_at(
    address: int, dtype: np.dtype[Any], writeable: bool
) -> tuple[Array, list[int]]:
    """The pixels of the struct at an address, axes in dimension order, and the mins.

    They are in the caller's memory, which is his own again after the call.
    """
    raw = RawBuffer.from_address(address)
    dims = dimensions_at(raw)
    n = raw.dimensions
    shape = [max(int(dims[d].extent), 0) for d in range(n)]
    steps = [int(dims[d].stride) * dtype.itemsize for d in range(n)]
    mins = [int(dims[d].min) for d in range(n)]
    if 0 in shape:
        return np.empty(shape, dtype), mins
    reach = [(e - 1) * s for e, s in zip(shape, steps, strict=True)]
    low = sum([min(r, 0) for r in reach])
    high = sum([max(r, 0) for r in reach]) + dtype.itemsize
    memory = (ctypes.c_uint8 * (high - low)).from_address((raw.host or 0) + low)
    made: Array = np.ndarray(shape, dtype, memoryview(memory), -low, steps)
    made.flags.writeable = writeable
    return made, mins


#: Says whether memory that `pixels_at` mapped has arrays left.
Owner = Callable[[], object]


def owner_of(pixels: Array) -> Owner:
    """Returns a function that gives the memory's owner while any view of `pixels`
    lives.

    `pixels` is an array of `pixels_at`. The function returns None afterwards.
    """
    if pixels.base is None:
        return lambda: None  # without pixels, and memory
    return weakref.ref(pixels.base)


def first_address(owner: Any) -> int:
    """The first address of the memory of such an owner."""
    return int(np.frombuffer(owner, np.uint8).__array_interface__["data"][0])


class KeptPixelsError(InvalidBufferError):
    """The error that foreign code keeps arrays of pixels after its call."""

    def __init__(
        self, owners: Sequence[Any], message: str, at: Site | None, hint: str
    ) -> None:
        super().__init__(message, at=at, hint=hint)
        self._owners = [weakref.ref(owner) for owner in owners]

    def hold(self, what: Iterable[object]) -> None:
        """Keeps these objects alive as long as the arrays live, which may use their
        memory."""
        held = tuple(what)
        for one in self._owners:
            if (owner := one()) is not None:
                weakref.finalize(owner, id, held).atexit = False


__all__ = [
    "RAISED",
    "Array",
    "KeptPixelsError",
    "Owner",
    "Struct",
    "box_at",
    "first_address",
    "is_query",
    "owner_of",
    "pixels_at",
    "set_box",
]
