"""What tests of devices share: structs of arrays, and the run time's functions."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from parhelion.codegen.structs import ON_DEVICE, READS, WRITES
from parhelion.runtime import devices
from parhelion.runtime.context import Dimension, PixelType, RawBuffer

Array = np.ndarray[Any, np.dtype[Any]]
DEVICE_READS = ON_DEVICE | READS
DEVICE_WRITES = ON_DEVICE | WRITES
P, I32, I64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64


def start(a: Array) -> int:
    """The address of element (0, 0, …)."""
    return int(a.__array_interface__["data"][0])


def low(a: Array) -> int:
    """How many bytes element (0, 0, …) is above the lowest address."""
    reach: list[int] = [
        min((n - 1) * s, 0) for n, s in zip(a.shape, a.strides, strict=True)
    ]
    return -sum(reach)


def span(a: Array) -> int:
    """Bytes from the lowest address to the end of the last element."""
    reach: list[int] = [
        abs((n - 1) * s) for n, s in zip(a.shape, a.strides, strict=True)
    ]
    return a.itemsize + sum(reach)


def struct_of(a: Array, flags: int = 0) -> RawBuffer:
    """The struct of an array; NumPy's axes are its dimensions, in this order."""
    dims = (Dimension * max(a.ndim, 1))()
    for d in range(a.ndim):
        dims[d] = Dimension(d, a.shape[d], a.strides[d] // a.itemsize, 0)
    code = {"i": 0, "u": 1, "f": 2, "b": 1}[a.dtype.kind]
    bits = 1 if a.dtype == np.bool_ else 8 * a.itemsize
    type = PixelType(code, bits, 1)
    at = ctypes.cast(dims, P)
    made = RawBuffer(0, None, start(a), flags, type, a.ndim, at, None)
    made.kept = dims
    return made


def on_device(buffer: RawBuffer, a: Array) -> Array:
    """The copy of `a` on a device whose memory is the process's."""
    block = (ctypes.c_uint8 * span(a)).from_address(buffer.device - low(a))
    raw = np.ctypeslib.as_array(block)
    return np.ndarray(a.shape, a.dtype, raw, low(a), a.strides)


class DeviceRuntime:
    """The functions of the run time, for one device interface."""

    def __init__(
        self,
        interface: str = "ph_device_simulated",
        symbols: Mapping[str, int] | None = None,
    ) -> None:
        self._name, self._symbols = interface, symbols

    @property
    def symbols(self) -> Mapping[str, int]:
        """Where its functions are."""
        return self._symbols or devices.symbols()

    @property
    def interface(self) -> int:
        """Where the table of its device is."""
        return self.symbols[self._name]

    def call(self, name: str, result: Any, *args: tuple[Any, Any]) -> Any:
        """Calls a function with arguments, each with its type before it."""
        kinds, values = [kind for kind, _ in args], [value for _, value in args]
        return ctypes.CFUNCTYPE(result, *kinds)(self.symbols[name])(*values)

    def sync(self, b: RawBuffer, what: int, interface: int = 0, ctx: int = 0) -> int:
        where = (P, interface or self.interface)
        at = (P, ctypes.addressof(b))
        return int(self.call("ph_device_sync", I32, (P, ctx), where, at, (I32, what)))

    def leave(self, b: RawBuffer, failed: bool = False) -> int:
        at = (P, ctypes.addressof(b))
        return int(self.call("ph_device_leave", I32, (P, 0), at, (I32, int(failed))))

    def free(self, b: RawBuffer, ctx: int = 0) -> None:
        self.call("ph_device_free", None, (P, ctx), (P, ctypes.addressof(b)))

    def address(self, b: RawBuffer) -> int:
        at = (P, ctypes.addressof(b))
        return int(self.call("ph_device_address", P, at) or 0)

    def launch(
        self,
        kernel: int,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        shared: int = 0,
        arguments: int = 0,
        interface: int = 0,
        ctx: int = 0,
    ) -> int:
        """Runs the kernel whose record is at an address."""
        sizes = [(I32 * 3)(*grid), (I32 * 3)(*block)]
        at = [(P, ctypes.addressof(one)) for one in sizes]
        where = (P, interface or self.interface)
        args = ((P, ctx), where, (P, kernel), *at, (I32, shared), (P, arguments))
        return int(self.call("ph_device_launch", I32, *args))

    def finish(self, ctx: int = 0) -> int:
        where = (P, self.interface)
        return int(self.call("ph_device_finish", I32, (P, ctx), where))
