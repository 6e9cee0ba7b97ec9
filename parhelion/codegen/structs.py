"""The struct `halide_buffer_t`: in C, and where its fields are by the size of pointers.

The layout is that of Halide's public run-time header, so that callers written for it
can be served.
"""

from __future__ import annotations

from parhelion.dataclass import dataclass
from parhelion.ir.target import Target

#: The structs in C, unless Halide's own header or ours has come before.
C_STRUCTS = """\
#ifndef HALIDE_HALIDERUNTIME_H
#ifndef PARHELION_STRUCTS
#define PARHELION_STRUCTS
enum halide_type_code_t {
    halide_type_int,
    halide_type_uint,
    halide_type_float,
    halide_type_handle, // a pointer
    halide_type_bfloat,
};
struct halide_type_t {
    uint8_t code;   // one of halide_type_code_t
    uint8_t bits;
    uint16_t lanes; // 1
};
struct halide_dimension_t {
    int32_t min, extent, stride; // in pixels
    uint32_t flags;              // 0
};
struct halide_device_interface_t;
struct halide_buffer_t {
    uint64_t device;                                          // 0
    const struct halide_device_interface_t *device_interface; // NULL
    uint8_t *host; // the pixel at the mins; NULL asks for the region that is needed
    uint64_t flags;
    struct halide_type_t type;
    int32_t dimensions;
    struct halide_dimension_t *dim;
    void *padding;
};
#endif
#endif
"""

#: Bytes of a `halide_dimension_t`: min, extent, stride and flags, four bytes each.
DIMENSION_BYTES = 16

#: The flags of a buffer whose pixels in memory are newer than those on its device, and
#: the other way round.
HOST_DIRTY = 1
DEVICE_DIRTY = 2
#: Flags of our own. KEEPS: its owner wants the copy on the device when a run has ended.
#: OWNED: the run time has allocated that copy, so that it can be freed.
KEEPS = 1 << 62
OWNED = 1 << 63

#: What the run time is told of the next use of a buffer (`ph_device_sync`), in bits: it
#: is of the copy on the device (else of the host's), which is read, and is written.
ON_DEVICE, READS, WRITES = 1, 2, 4


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


def fields_of(target: Target) -> BufferStruct:
    """How `halide_buffer_t` is laid out on a target."""
    return buffer_struct(target.bits // 8)


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


__all__ = [
    "C_STRUCTS",
    "DEVICE_DIRTY",
    "DIMENSION_BYTES",
    "HOST_DIRTY",
    "KEEPS",
    "ON_DEVICE",
    "OWNED",
    "READS",
    "WRITES",
    "BufferStruct",
    "buffer_struct",
]
