"""What a profiled call has done on devices: its launches and copies, in their order."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.runtime import devices
from parhelion.runtime.context import Context

_P, _I32, _I64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
_TOLD = ctypes.CFUNCTYPE(
    None,
    *(_P, _I64, ctypes.c_char_p, ctypes.c_char_p, _I64, _I64),
    *(ctypes.POINTER(_I32), _I32, _I32, _I64),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A launch of a kernel, or a copy.

    kind: `device_log_ir.LAUNCH`, `TO_DEVICE` or `TO_HOST`. name, func: the kernel's
        name and that of the Func it computes; "" of a copy.
    read, written: bytes of the device's memory.
    grid, block: how many blocks and threads there were along x, y and z.
    shared: bytes of shared memory of a block. registers: of a thread; 0 if not known.
    seconds: how long it took on the device; None if that is not known.
    """

    kind: int
    name: str
    func: str
    read: int
    written: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    registers: int
    seconds: float | None


@contextmanager
def noted(context: int) -> Iterator[list[Entry]]:
    """Has the call whose context is at an address note what it does on devices; it is
    in the list when the block ends."""
    found: list[Entry] = []
    place = ctypes.c_void_p()
    at = ctypes.addressof(place)
    told = Context.from_address(context)
    told.log = at
    try:
        yield found
    finally:
        told.log = None
        if place.value:
            found += _take(at)


def _take(log: int) -> list[Entry]:
    found: list[Entry] = []

    def told(user: int, kind: int, name: Any, func: Any, *rest: Any) -> None:
        read, written, sizes, shared, registers, nanos = rest
        numbers = [int(sizes[i]) for i in range(6)]
        found.append(
            Entry(
                kind,
                (name or b"").decode("utf-8", "replace"),
                (func or b"").decode("utf-8", "replace"),
                read,
                written,
                tuple(numbers[:3]),
                tuple(numbers[3:]),
                shared,
                registers,
                nanos / 1e9 if nanos >= 0 else None,
            )
        )

    take = ctypes.CFUNCTYPE(None, _P, _TOLD, _P)
    function = _TOLD(told)
    take(devices.symbols()["ph_device_take_log"])(log, function, None)
    return found[::-1]


__all__ = ["Entry", "noted"]
