"""Devices, from Python's side: the run time that compiled code calls, and its counts.

The run time itself is machine code (`device_ir`), built once in a process when it is
first needed.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parhelion.codegen.target import host_target, named_device
from parhelion.dataclass import dataclass
from parhelion.errors import here
from parhelion.runtime.after_fork import RUNTIME, freed_by_forks
from parhelion.runtime.context import (
    DEVICE,
    DRIVER_LOGS,
    STREAM,
    Context,
    Dimension,
    PixelType,
    RawBuffer,
    failed,
)
from parhelion.runtime.cuda_ir import DEVICE_VARIABLE
from parhelion.runtime.device_ir import COUNTERS, device_runtime
from parhelion.runtime.helpers import provided
from parhelion.runtime.layout import Layout

_P, _I32 = ctypes.c_void_p, ctypes.c_int32
_LOCK = threading.Lock()
freed_by_forks(_LOCK, RUNTIME)

#: What compiled pipelines may call.
NAMES = provided(__name__)
_CONTROLS = (
    "ph_device_counters",
    "ph_device_take_log",
    "ph_cuda_start",
    "ph_cuda_log",
    "ph_cuda_unload",
    "ph_cuda_time_kernels",
    "ph_cuda_take_times",
    "ph_cuda_release_memory",
    "ph_cuda_kept_memory",
    "ph_cuda_set_kept_memory",
)


@dataclass(frozen=True, slots=True)
class Counts:
    """What was done on devices: copies and bytes each way, launches of kernels, and
    blocks of memory that were allocated."""

    to_device: int
    bytes_to_device: int
    to_host: int
    bytes_to_host: int
    launches: int
    allocations: int


@dataclass(frozen=True, slots=True)
class _Runtime:
    library: Any
    addresses: dict[str, int]


_runtime: _Runtime | None = None


def _build() -> _Runtime:
    global _runtime
    with _LOCK:
        if _runtime is None:
            from parhelion.runtime import jit, threads
            from parhelion.runtime.versions import digest_of

            text = device_runtime()
            library, addresses = jit.load_kept(
                digest_of(text, host_target()),
                NAMES + _CONTROLS,
                lambda: jit.object_code(text, level=0),
            )
            # What is on a device can be freed as long as the process lives.
            jit.keep(library)
            _runtime = _Runtime(library, addresses)
            threads.ALSO_RELEASE.append(release_memory)
            DRIVER_LOGS.append(driver_log)
        return _runtime


def symbols() -> dict[str, int]:
    """Addresses of what compiled pipelines call; builds the run time at first use."""
    return _build().addresses


def _counters() -> Any:
    where = ctypes.CFUNCTYPE(ctypes.c_void_p)(symbols()["ph_device_counters"])
    return (ctypes.c_int64 * len(COUNTERS)).from_address(where())


def counts() -> Counts:
    """Returns what this process has done on devices since the counts were reset."""
    return Counts(**dict(zip(COUNTERS, _counters(), strict=True)))


def reset_counts() -> None:
    """Begins to count anew."""
    table = _counters()
    for i in range(len(COUNTERS)):
        table[i] = 0


def interface() -> int:
    """The interface of the device that kernels are made for here: the simulated one
    where PARHELION_GPU says so, else that of NVIDIA's GPUs."""
    return symbols()["ph_device_simulated" if is_simulated() else "ph_device_cuda"]


def is_simulated() -> bool:
    """Whether kernels are simulated here, as PARHELION_GPU says."""
    device = named_device()
    return device is not None and device.simulated


def cuda() -> int:
    """The interface of NVIDIA's GPUs."""
    return symbols()["ph_device_cuda"]


def start(about: str) -> None:
    """Makes the GPU ready. Raises PipelineRuntimeError if there is none."""
    kind = ctypes.CFUNCTYPE(_I32, _P)
    context = Context(device=DEVICE.get())
    check(kind(symbols()["ph_cuda_start"])(ctypes.addressof(context)), about)


def is_cuda(interface: int) -> bool:
    """Whether an interface is that of NVIDIA's GPUs; 0 is none."""
    return interface != 0 and interface == cuda()


def ordinal() -> int:
    """The number of the GPU that kernels run on: what `cuda_device` says, or
    HL_GPU_DEVICE."""
    if DEVICE.get():
        return DEVICE.get() - 1
    told = os.environ.get(DEVICE_VARIABLE, "").strip()
    return int(told) if told.isascii() and told.isdecimal() else 0


def struct_of(layout: Layout) -> tuple[RawBuffer, Any]:
    """The struct of an array that is on no device, and its dimensions, which have to
    live as long."""
    dims = (Dimension * max(len(layout.extents), 1))()
    ctypes.memmove(dims, layout.packed, len(layout.packed))
    type = PixelType(int(layout.type.kind), layout.type.width, 1)
    at = ctypes.cast(dims, ctypes.c_void_p)
    count = len(layout.extents)
    return RawBuffer(0, None, layout.host, 0, type, count, at, None), dims


def sync(buffer: RawBuffer, interface: int, what: int, about: str) -> None:
    """Makes one side's copy of a buffer ready for a use (see `ph_device_sync`).

    about: what it is, for the message. Raises PipelineRuntimeError if that fails.
    """
    kind = ctypes.CFUNCTYPE(_I32, _P, _P, _P, _I32)
    at, context = ctypes.addressof(buffer), _context(STREAM.get())
    ctx = ctypes.addressof(context)
    check(kind(symbols()["ph_device_sync"])(ctx, interface, at, what), about)


def _context(stream: int) -> Context:
    """The context of a call on a stream of the device in use."""
    return Context(stream=stream or None, device=DEVICE.get())


def finish(interface: int, about: str, stream: int = 0) -> None:
    """Waits until a device has done all that it was given, on one stream. Raises
    PipelineRuntimeError if some of that has failed."""
    kind = ctypes.CFUNCTYPE(_I32, _P, _P)
    context = _context(stream)
    at = ctypes.addressof(context)
    check(kind(symbols()["ph_device_finish"])(at, interface), about)


def free(buffer: RawBuffer, dims: object) -> None:
    """Ends the copy of a buffer on a device. dims: its dimensions, to be kept alive."""
    if buffer.device:
        kind = ctypes.CFUNCTYPE(None, _P, _P)
        kind(symbols()["ph_device_free"])(None, ctypes.addressof(buffer))


def driver_log() -> str:
    """What the driver of NVIDIA's GPUs has said last of code that it refuses."""
    kind = ctypes.CFUNCTYPE(ctypes.c_char_p)
    said: bytes = kind(symbols()["ph_cuda_log"])() or b""
    return said.decode("utf-8", "replace").strip()


@dataclass(frozen=True, slots=True)
class KernelTime:
    """What one launch of a kernel took on a GPU: seconds by the GPU's own clock, None
    if it has failed."""

    name: str
    seconds: float | None


@contextmanager
def time_kernels() -> Iterator[list[KernelTime]]:
    """Measures each kernel that any thread launches on a GPU inside of a ``with``
    block. At its end they are in the list that it gives, in the order of the launches.

    Simulated kernels are not measured. Raises PipelineRuntimeError if the GPU cannot
    be used at the end.
    """
    found: list[KernelTime] = []
    if not is_cuda(interface()):
        yield found
        return
    begin = ctypes.CFUNCTYPE(None, _I32)(symbols()["ph_cuda_time_kernels"])
    begin(1)
    try:
        yield found
    finally:
        begin(0)
        found += _take_times()


def _take_times() -> list[KernelTime]:
    found: list[KernelTime] = []

    def told(user: int, name: bytes | None, nanos: int) -> None:
        shown = (name or b"").decode("utf-8", "replace")
        found.append(KernelTime(shown, nanos / 1e9 if nanos >= 0 else None))

    kind = ctypes.CFUNCTYPE(None, _P, ctypes.c_char_p, ctypes.c_int64)
    function = kind(told)
    take = ctypes.CFUNCTYPE(_I32, kind, _P)(symbols()["ph_cuda_take_times"])
    check(take(function, None), "the times of kernels")
    return found[::-1]


def unload(image: int, library: object) -> None:
    """Ends the use of the code of kernels, before the library that holds it goes."""
    kind = ctypes.CFUNCTYPE(None, _P)
    kind(symbols()["ph_cuda_unload"])(image)


def check(status: int, about: str) -> None:
    """Raises PipelineRuntimeError for a status that is not 0. about: what the device
    was used for."""
    if status:
        raise failed("device_failed", (about, status), {}, here())


def release_memory() -> int:
    """Gives back the memory of GPUs that is kept for the next run; returns how many
    bytes that were."""
    if _runtime is None:
        return 0
    kind = ctypes.CFUNCTYPE(ctypes.c_int64)
    return int(kind(_runtime.addresses["ph_cuda_release_memory"])())


__all__ = [
    "Counts",
    "KernelTime",
    "check",
    "counts",
    "cuda",
    "driver_log",
    "finish",
    "free",
    "interface",
    "is_cuda",
    "is_simulated",
    "ordinal",
    "release_memory",
    "reset_counts",
    "start",
    "struct_of",
    "symbols",
    "sync",
    "time_kernels",
    "unload",
]
