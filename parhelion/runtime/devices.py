"""Devices, from Python's side: the run time that compiled code calls, and its counts.

The run time itself is machine code (`device_ir`), built once in a process when it is
first needed.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from typing import Any

from parhelion.codegen.target import host_target
from parhelion.runtime.after_fork import RUNTIME, freed_by_forks
from parhelion.runtime.device_ir import COUNTERS, device_runtime
from parhelion.runtime.helpers import provided

_LOCK = threading.Lock()
freed_by_forks(_LOCK, RUNTIME)

#: What compiled pipelines may call.
NAMES = provided(__name__)
_CONTROLS = (
    "ph_device_counters",
    "ph_cuda_start",
    "ph_cuda_log",
    "ph_cuda_unload",
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
            from parhelion.runtime import jit
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


__all__ = ["Counts", "counts", "reset_counts", "symbols"]
