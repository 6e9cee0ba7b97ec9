"""How an image lies in memory, as compiled code needs to know it."""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from parhelion.errors import BoundsError, InvalidBufferError, here
from parhelion.ir.symbols import COORDINATE_LIMIT
from parhelion.types import Type

if TYPE_CHECKING:
    from parhelion.runtime.device_copy import DeviceCopy

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Layout:
    """What compiled code needs to know of a Buffer, ready to be copied.

    host, host_bytes: address of the element at the mins. packed: the bytes of its
    `halide_dimension_t`s. span: one more than the largest distance, in elements,
    between two elements. low, high: addresses of the first byte in use and of the one
    after the last. writeable: whether the array may be stored to. plain: whether code
    for dense dimensions 0 and 32-bit indices serves it as it is. copy: of the image on
    a device, or None if it cannot have one that outlives a run.
    """

    __slots__ = (
        "_apart",
        "copy",
        "extents",
        "high",
        "host",
        "host_bytes",
        "low",
        "mins",
        "packed",
        "plain",
        "span",
        "strides",
        "type",
        "writeable",
    )

    def __init__(self, type: Type, array: Array, mins: Sequence[int]) -> None:
        size = array.itemsize
        self.type = type
        self.mins = tuple(mins)
        self.extents = array.shape
        self.strides = tuple([s // size for s in array.strides])
        self.host = address(array)
        self.host_bytes = self.host.to_bytes(8, sys.byteorder)
        self.writeable = array.flags.writeable
        self.span = 1 + sum(
            (e - 1) * abs(s)
            for e, s in zip(self.extents, self.strides, strict=True)
            if e > 1
        )
        self.low, self.high = self._span()
        self._apart: bool | None = None
        self.copy: DeviceCopy | None = None
        self.packed = self._pack()
        self.plain = (
            self.span < 2**31
            and all([e > 1 for e in self.extents])
            and (not self.strides or self.strides[0] == 1)
        )

    def _pack(self) -> bytes:
        fields: list[int] = []
        for d, m in enumerate(self.mins):
            e, s = self.extents[d], self.strides[d]
            if m < -COORDINATE_LIMIT or m + e > COORDINATE_LIMIT:
                raise BoundsError(
                    f"a buffer that covers {m} to {m + e - 1} in dimension {d} is out "
                    f"of range: coordinates lie within {COORDINATE_LIMIT} of 0",
                    at=here(),
                )
            fields += (m, e, s, 0)
        try:
            return struct.pack(f"={len(fields)}i", *fields)
        except struct.error:
            raise InvalidBufferError(
                f"a buffer with strides {self.strides} does not fit 32-bit strides",
                at=here(),
            ) from None

    def with_strides(self, strides: Mapping[int, int]) -> Layout:
        """This layout with other strides in some dimensions.

        Only for dimensions of extent 1, whose stride says nothing: NumPy leaves it
        open, while compiled code may have been promised one.
        """
        made = self._copy()
        made.strides = tuple([strides.get(d, s) for d, s in enumerate(self.strides)])
        made.packed = made._pack()
        return made

    def _copy(self) -> Layout:
        made = Layout.__new__(Layout)
        for name in Layout.__slots__:
            setattr(made, name, getattr(self, name))
        return made

    def moved(self, host: int) -> Layout:
        """This layout for an array at another address."""
        made = self._copy()
        made.host = host
        made.host_bytes = host.to_bytes(8, sys.byteorder)
        made.low += host - self.host
        made.high += host - self.host
        return made

    def pixels_apart(self) -> bool:
        """Whether no two pixels share a place in memory."""
        if self._apart is None:
            self._apart = self._are_apart()
        return self._apart

    def _are_apart(self) -> bool:
        sides = [(abs(s), e) for s, e in zip(self.strides, self.extents, strict=True)]
        reach = 0
        for stride, extent in sorted([one for one in sides if one[1] > 1]):
            if stride <= reach:
                break
            reach += stride * (extent - 1)
        else:
            return True
        if 0 in self.extents:
            return True
        count = math.prod(self.extents)
        if count > self.span:
            return False
        # Rows that reach into each other may still pass by each other's pixels.
        taken = np.zeros(self.span, np.bool_)
        as_strided(taken, self.extents, [abs(s) for s in self.strides])[...] = True
        return int(np.count_nonzero(taken)) == count

    def _span(self) -> tuple[int, int]:
        if 0 in self.extents:
            return self.host, self.host
        size = self.type.bytes()
        low = high = self.host
        for e, s in zip(self.extents, self.strides, strict=True):
            reach = (e - 1) * s * size
            low += min(reach, 0)
            high += max(reach, 0)
        return low, high + size


def address(array: Array) -> int:
    """Where element (0, 0, …) lies in memory."""
    if _FIELD_AT:
        return _pointer(id(array) + _FIELD_AT).value or 0
    return int(array.__array_interface__["data"][0])


_pointer = ctypes.c_void_p.from_address


def _field_of_address() -> int:
    """Where an array object keeps the address of its elements; 0 if that is unknown.

    It is the first field after the object's head: NumPy's C interface reads it there,
    inline, in every extension module, so that it cannot move. Reading it takes 0.4 µs;
    `__array_interface__`, which makes a dictionary, takes 1.9 µs.
    """
    at = object.__basicsize__
    probe = np.zeros(1, np.uint8)
    told = probe.__array_interface__["data"][0]
    known = sys.implementation.name == "cpython"
    return at if known and _pointer(id(probe) + at).value == told else 0


_FIELD_AT = _field_of_address()


def overlap(a: Layout, b: Layout) -> bool:
    """Whether two arrays may share memory, by the ranges that they span."""
    return a.low < b.high and b.low < a.high
