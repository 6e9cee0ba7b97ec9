"""Where the fields of `halide_buffer_t` are, which depends on the size of a pointer.

The layout is that of Halide's public run-time header, so that callers written for it
can be served.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes of a `halide_dimension_t`: min, extent, stride and flags, four bytes each.
DIMENSION_BYTES = 16


@dataclass(frozen=True, slots=True)
class BufferStruct:
    """Offsets in bytes. `type` has its code (a byte), bits (a byte) and lanes (two);
    `dim` points to the dimensions. size: of the whole."""

    device: int
    interface: int
    host: int
    flags: int
    type: int
    dimensions: int
    dim: int
    padding: int
    size: int


def buffer_struct(pointer_bytes: int) -> BufferStruct:
    """The layout for pointers of 4 or 8 bytes."""
    p = pointer_bytes
    # What is 8 bytes wide begins on a multiple of 8: after two pointers it does.
    flags = 8 + 2 * p
    dim = flags + 16
    return BufferStruct(
        device=0,
        interface=8,
        host=8 + p,
        flags=flags,
        type=flags + 8,
        dimensions=flags + 12,
        dim=dim,
        padding=dim + p,
        size=dim + 2 * p,
    )


__all__ = ["DIMENSION_BYTES", "BufferStruct", "buffer_struct"]
