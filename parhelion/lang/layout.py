"""How a Buffer lies in memory: its dimensions, for users and for compiled code."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from parhelion.errors import BufferError_, here
from parhelion.lang import arrays
from parhelion.lang.arrays import Array
from parhelion.types import Type


class BufferDimension:
    """One dimension of a Buffer, read only."""

    __slots__ = ("_extent", "_min", "_stride")

    def __init__(self, min: int, extent: int, stride: int) -> None:
        self._min, self._extent, self._stride = min, extent, stride

    def min(self) -> int:
        """The first coordinate."""
        return self._min

    def max(self) -> int:
        """The last coordinate."""
        return self._min + self._extent - 1

    def extent(self) -> int:
        """How many coordinates there are."""
        return self._extent

    def stride(self) -> int:
        """Elements from one coordinate to the next in memory."""
        return self._stride

    def __repr__(self) -> str:
        return f"[{self._min},{self._extent},{self._stride}]"


class Layout:
    """What compiled code needs to know of a Buffer, ready to be copied.

    host: address of the element at the mins. packed: the bytes of its
    `halide_dimension_t`s. span: one more than the largest distance, in elements,
    between two elements. writeable: whether the array may be stored to.
    """

    __slots__ = (
        "extents",
        "host",
        "mins",
        "packed",
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
        self.strides = _strides(array.shape, [s // size for s in array.strides])
        self.host = arrays.address(array)
        self.writeable = array.flags.writeable
        self.span = 1 + sum(
            (e - 1) * abs(s)
            for e, s in zip(self.extents, self.strides, strict=True)
            if e > 1
        )
        fields: list[int] = []
        for m, e, s in zip(self.mins, self.extents, self.strides, strict=True):
            fields += (m, e, s, 0)
        try:
            self.packed = struct.pack(f"={len(fields)}i", *fields)
        except struct.error:
            raise BufferError_(
                f"a buffer with mins {self.mins}, extents {self.extents} and strides "
                f"{self.strides} does not fit 32-bit coordinates and strides",
                at=here(),
            ) from None


def _strides(extents: Sequence[int], strides: list[int]) -> tuple[int, ...]:
    """Strides in elements. NumPy leaves that of a dimension of extent 1 open; here it
    is what a dense array would have, so that it never looks like a special layout."""
    for d, extent in enumerate(extents):
        if extent <= 1:
            before = abs(strides[d - 1]) * extents[d - 1] if d else 1
            strides[d] = max(before, 1)
    return tuple(strides)
