"""The GPU that measures: its name, its memory and its clock, by the driver's library.

Everything is in the device's primary context, which Parhelion's run time, CUDA's and
libraries use, so that events of one stream enclose the work of each.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from apps.common import Array
from benchmarks.gpu.contender import Absent
from parhelion.runtime.cuda_driver import driver
from parhelion.runtime.cuda_ir import DRIVER_VARIABLE, LIBRARY

#: What the page says where there is no figure.
NOT_MEASURED = "not measured: no device at hand"


def card() -> str | None:
    """The name of the GPU at hand; None if there is none."""
    gpu = driver().chosen()
    return f"{gpu.name}, {gpu.arch}" if gpu else None


def arch() -> str:
    """What code is made for: the GPU at hand, or one that is not there."""
    gpu = driver().chosen()
    return gpu.arch if gpu else "sm_80"


class Device:
    """The primary context of the first GPU, current in this thread. Raises Absent."""

    def __init__(self) -> None:
        if card() is None:
            raise Absent(driver().problem or "no device")
        self._driver = ctypes.CDLL(os.environ.get(DRIVER_VARIABLE, LIBRARY))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxPushCurrent_v2", context)
        self._begin, self._end = self._event(), self._event()

    def _call(self, name: str, *args: Any) -> None:
        status = getattr(self._driver, name)(*args)
        if status:
            raise RuntimeError(f"{name} has returned {status}")

    def _event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def wait(self) -> None:
        """Until all that was launched is done."""
        self._call("cuCtxSynchronize")

    def seconds(self, run: Callable[[], object], times: int) -> float:
        """Of one run among so many, by events on the default stream."""
        self._call("cuEventRecord", self._begin, None)
        for _ in range(times):
            run()
        self._call("cuEventRecord", self._end, None)
        self._call("cuEventSynchronize", self._end)
        ms = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(ms), self._begin, self._end)
        return ms.value / 1e3 / times

    def room(self, size: int) -> Memory:
        """So many bytes of the device's."""
        address = ctypes.c_uint64()
        at = ctypes.c_size_t(max(size, 1))
        self._call("cuMemAlloc_v2", ctypes.byref(address), at)
        return Memory(self, address.value, size)

    def copy_of(self, array: Array) -> Memory:
        """An array's values, in C's order."""
        dense = np.ascontiguousarray(array)
        made = self.room(dense.nbytes)
        where, size = ctypes.c_uint64(made.address), ctypes.c_size_t(dense.nbytes)
        source = ctypes.c_void_p(dense.ctypes.data)
        self._call("cuMemcpyHtoDAsync_v2", where, source, size, None)
        self.wait()
        return made


class Memory:
    """Bytes of a device's, until nobody holds them."""

    def __init__(self, device: Device, address: int, size: int) -> None:
        self.device, self.address, self.size = device, address, size

    @property
    def pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address)

    def read(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """What is there, when all is done, as an array."""
        out = np.empty(shape, dtype)
        size = ctypes.c_size_t(out.nbytes)
        source = ctypes.c_uint64(self.address)
        to = ctypes.c_void_p(out.ctypes.data)
        self.device._call("cuMemcpyDtoHAsync_v2", to, source, size, None)
        self.device.wait()
        return out

    def __del__(self) -> None:
        self.device._driver.cuMemFree_v2(ctypes.c_uint64(self.address))


__all__ = ["NOT_MEASURED", "Device", "Memory", "arch", "card"]
