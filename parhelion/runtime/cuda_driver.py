"""What GPUs of NVIDIA's there are, as the driver tells; no context is made for it.

Code runs on them by the run time's own table of the driver's functions (`cuda_ir`).
Both find the library by the same rule.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.ir.device import Device
from parhelion.ir.device_status import Kind, error_name, explain, status
from parhelion.runtime.after_fork import DATA, freed_by_forks
from parhelion.runtime.context import DEVICE
from parhelion.runtime.cuda_ir import DEVICE_VARIABLE, DRIVER_VARIABLE, LIBRARY

#: The numbers of a device's attributes (cuda.h, `CUdevice_attribute`).
_THREADS, _SHARED, _WARP, _PROCESSORS = 1, 8, 10, 16
_MAJOR, _MINOR, _SHARED_MOST = 75, 76, 97
_CLOCK, _BUS = 36, 37
_RESIDENT, _ALL_SHARED, _REGISTERS, _BLOCKS, _RESERVED = 39, 81, 82, 106, 111

#: Registers are given to the warps of a block in portions of so many, and shared memory
#: to blocks in portions of so many bytes (NVIDIA's occupancy calculator, compute
#: capability 8.0 and 9.0).
_REGISTER_PORTION, _SHARED_PORTION = 256, 128
_PARTS = 4

#: Those of an address (`CUpointer_attribute`), and the kind of a device's memory.
_MEMORY_TYPE, _ORDINAL = 2, 9
_ON_DEVICE = 2


@dataclass(frozen=True, slots=True)
class Processor:
    """What one streaming multiprocessor holds at once: threads, blocks, registers of
    32 bits, bytes of shared memory, of which the system takes `reserved` for each
    block."""

    threads: int
    blocks: int
    registers: int
    shared: int
    reserved: int

    def resident(self, threads: int, registers: int, shared: int, warp: int) -> int:
        """How many blocks of so many threads fit in, of so many registers each, with
        so many bytes of shared memory."""
        warps = -(-threads // warp)
        of_warp = _rounded(registers * warp, _REGISTER_PORTION)
        of_block = _rounded(shared + self.reserved, _SHARED_PORTION)
        most = [self.blocks, self.threads // (warps * warp)]
        if of_warp:
            # The registers are in `_PARTS`, of which each serves warps of its own.
            most.append(self.registers // _PARTS // of_warp * _PARTS // warps)
        if of_block:
            most.append(self.shared // of_block)
        return min(most)


def _rounded(n: int, portion: int) -> int:
    return -(-n // portion) * portion


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU.

    capability: major and minor number, (9, 0). threads: the most of a block. shared:
    the bytes that the threads of a block share by default; shared_most: where a kernel
    asks for it. warp: how many threads go together. processors: how many blocks run at
    once at least. memory: in bytes. bandwidth: of the memory, bytes in a second at
    most; 0 if the driver does not tell. processor: the limits of one.
    """

    name: str
    capability: tuple[int, int]
    threads: int
    shared: int
    shared_most: int
    warp: int
    processors: int
    memory: int
    bandwidth: float
    processor: Processor

    @property
    def arch(self) -> str:
        """The name of its architecture, "sm_90"."""
        major, minor = self.capability
        return f"sm_{major}{minor}"

    def occupancy(self, threads: int, registers: int, shared: int) -> float:
        """Which part of the threads that the GPU can hold at once it holds, running a
        kernel: 0 to 1. threads: of a block. registers: of a thread. shared: bytes of a
        block."""
        p = self.processor
        blocks = p.resident(threads, registers, shared, self.warp)
        return blocks * _rounded(threads, self.warp) / p.threads

    def device(self) -> Device:
        """What kernels are made for."""
        return Device(self.arch, self.threads, self.shared_most, self.warp)


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver, and its GPUs in their order.

    status: 0, or why none can be used. version: of CUDA, (12, 8); (0, 0) if there is no
    driver.
    """

    status: int
    version: tuple[int, int] = (0, 0)
    gpus: tuple[Gpu, ...] = ()

    @property
    def problem(self) -> str:
        """A sentence that says why no GPU can be used and what to do; "" if one can."""
        if not self.status:
            return ""
        what, remedy = explain(self.status)
        return f"{what}: {remedy}"

    def chosen(self) -> Gpu | None:
        """The GPU that kernels run on: the one that `cuda_device` says, or
        HL_GPU_DEVICE by its number, or the first; None if there is no such."""
        said = DEVICE.get() - 1
        if said >= 0:
            return self.gpus[said] if said < len(self.gpus) else None
        told = os.environ.get(DEVICE_VARIABLE, "0").strip() or "0"
        number = int(told) if told.isascii() and told.isdecimal() else -1
        return self.gpus[number] if 0 <= number < len(self.gpus) else None


#: The drivers that were asked, by the name of their file, and of who asked: GPUs do not
#: change, but a forked child cannot use what its parent can.
_asked: dict[tuple[str, int], Driver] = {}
_LOCK = threading.Lock()
freed_by_forks(_LOCK, DATA)


def driver() -> Driver:
    """Returns what the driver of this computer's GPUs tells.

    A process that was forked after this cannot use them, as the driver's library does
    not survive forks.
    """
    path = os.environ.get(DRIVER_VARIABLE, LIBRARY)
    key = (path, os.getpid())
    with _LOCK:
        found = _asked.get(key)
        if found is None:
            found = _ask(path)
            if found.status == 0:
                _asked[key] = found
        return found


def gpu_of(address: int) -> int | None:
    """Returns the number of the GPU whose memory is at an address; None if it is none's
    that this process uses."""
    library = ctypes.CDLL(os.environ.get(DRIVER_VARIABLE, LIBRARY))
    kind, number = ctypes.c_uint(), ctypes.c_int()
    try:
        for value, which in ((kind, _MEMORY_TYPE), (number, _ORDINAL)):
            at = ctypes.c_uint64(address)
            _call(library, "cuPointerGetAttribute", ctypes.byref(value), which, at)
    except _Error:
        return None
    return number.value if kind.value == _ON_DEVICE else None


class _Error(Exception):
    """The driver has returned a number other than 0."""

    def __init__(self, number: int) -> None:
        super().__init__(error_name(number))
        self.number = number


def _ask(path: str) -> Driver:
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return Driver(status(Kind.NO_DRIVER))
    version = ctypes.c_int()
    try:
        _call(library, "cuDriverGetVersion", ctypes.byref(version))
        told = (version.value // 1000, version.value % 1000 // 10)
        try:
            _call(library, "cuInit", 0)
            count = ctypes.c_int()
            _call(library, "cuDeviceGetCount", ctypes.byref(count))
            gpus = tuple([_gpu(library, n) for n in range(count.value)])
        except _Error as error:
            return Driver(status(Kind.NO_DEVICE, error.number), told)
    except _Error as error:
        return Driver(status(Kind.OLD_DRIVER, error.number))
    except AttributeError:
        return Driver(status(Kind.OLD_DRIVER))
    return Driver(0 if gpus else status(Kind.NO_DEVICE, 100), told, gpus)


def _call(library: Any, name: str, *args: Any) -> None:
    number = getattr(library, name)(*args)
    if number:
        raise _Error(number)


def _gpu(library: Any, number: int) -> Gpu:
    device = ctypes.c_int()
    _call(library, "cuDeviceGet", ctypes.byref(device), number)
    name = ctypes.create_string_buffer(256)
    _call(library, "cuDeviceGetName", name, len(name), device)
    memory = ctypes.c_size_t()
    _call(library, "cuDeviceTotalMem_v2", ctypes.byref(memory), device)

    def attribute(which: int) -> int:
        value = ctypes.c_int()
        _call(library, "cuDeviceGetAttribute", ctypes.byref(value), which, device)
        return value.value

    processor = Processor(
        attribute(_RESIDENT),
        attribute(_BLOCKS),
        attribute(_REGISTERS),
        attribute(_ALL_SHARED),
        attribute(_RESERVED),
    )
    try:
        # The clock is in kHz, and memory sends twice in each of its cycles.
        bandwidth = 2e3 * attribute(_CLOCK) * attribute(_BUS) / 8
    except _Error:
        bandwidth = 0.0

    return Gpu(
        name.value.decode("utf-8", "replace"),
        (attribute(_MAJOR), attribute(_MINOR)),
        attribute(_THREADS),
        attribute(_SHARED),
        attribute(_SHARED_MOST),
        attribute(_WARP),
        attribute(_PROCESSORS),
        memory.value,
        bandwidth,
        processor,
    )


__all__ = ["Driver", "Gpu", "Processor", "driver", "gpu_of"]
