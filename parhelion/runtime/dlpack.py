"""DLPack capsules of memory on a GPU: what NumPy makes of arrays, for other devices.

The structs are those of dlpack.h. A capsule holds its owner until whoever has taken the
tensor calls its deleter, or until the capsule dies without having been taken.
"""

from __future__ import annotations

import ctypes
from typing import Any

from parhelion.runtime.layout import Array
from parhelion.types import Type

#: Kinds of devices (dlpack.h, `DLDeviceType`).
CPU, CUDA = 1, 2

_NAME = b"dltensor"


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        # DLManagedTensor goes on.
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


#: What tensors in use need: by their addresses, their structs and owners.
_in_use: dict[int, tuple[object, ...]] = {}


def _forget(tensor: int) -> None:
    _in_use.pop(tensor, None)


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_forget)
_DELETER_AT = ctypes.cast(_DELETER, ctypes.c_void_p).value

# Capsules by their addresses: one that dies must not come to life again.
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


def _drop(capsule: int) -> None:
    """A capsule dies: if nobody has taken its tensor, that goes, too."""
    if _is_valid(capsule, _NAME):
        _forget(_pointer(capsule, _NAME))


_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_drop)
_new = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))


def capsule(
    owner: object, at: int, type: Type, array: Array, device: tuple[int, int]
) -> Any:
    """A capsule of pixels at an address on a device, of the shape and strides of an
    array, whose owner is kept meanwhile."""
    n, size = array.ndim, array.itemsize
    shape = (ctypes.c_int64 * max(n, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(n, 1))(*[s // size for s in array.strides])
    tensor = _Tensor(
        at,
        _Device(*device),
        n,
        _Type(_code(type), 8 if type.is_bool() else type.width, 1),
        ctypes.addressof(shape),
        ctypes.addressof(strides),
        0,
        None,
        _DELETER_AT,
    )
    address = ctypes.addressof(tensor)
    _in_use[address] = (tensor, shape, strides, owner)
    destructor = ctypes.cast(_DESTRUCTOR, ctypes.c_void_p).value
    return _new(address, _NAME, destructor)


def _code(type: Type) -> int:
    """dlpack.h's `DLDataTypeCode`."""
    if type.is_bool():
        return 6
    if type.is_bfloat():
        return 4
    return 2 if type.is_float() else (0 if type.is_int() else 1)


__all__ = ["CPU", "CUDA", "capsule"]
