"""The buffer structs of Halide's public run-time header, written down by hand."""

from __future__ import annotations

import ctypes

import numpy as np

import parhelion as hl


class Dimension(ctypes.Structure):
    """``halide_dimension_t``."""

    _fields_ = tuple((n, ctypes.c_int32) for n in ("min", "extent", "stride", "flags"))


class BufferStruct(ctypes.Structure):
    """``halide_buffer_t``."""

    _fields_ = (
        ("device", ctypes.c_uint64),
        ("device_interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.POINTER(Dimension)),
        ("padding", ctypes.c_void_p),
    )


def struct_for(array: np.ndarray) -> BufferStruct:
    """A struct for an array, whose last axis is dimension 0."""
    t = hl.Buffer(array).type()
    shape, strides = array.shape[::-1], array.strides[::-1]
    parts = zip(shape, strides, strict=True)
    dims = (Dimension * max(1, array.ndim))(
        *[Dimension(0, n, s // array.itemsize, 0) for n, s in parts]
    )
    kind = int(t.code())
    return BufferStruct(
        *(0, None, array.ctypes.data, 0, kind, t.bits(), 1, array.ndim, dims, None)
    )
