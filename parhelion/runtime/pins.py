"""Memory of compiled code that something still looks at when it is freed.

A Python function that computes a stage may keep an array of the pixels that it was
lent. The run fails then; the block that the array is in must nevertheless stay, or
whoever catches the error and reads the array reads memory that is unmapped. So a pin
is set at the array's address: `ph_free` leaves a block with a pin in it alone, and
notes it in the pin. When the arrays are gone, `settle` frees it.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any

from parhelion.runtime import threads
from parhelion.runtime.after_fork import RUNTIME, freed_by_forks

_LOCK = threading.Lock()
freed_by_forks(_LOCK, RUNTIME)


class _Pin(ctypes.Structure):
    """What `memory_ir` calls ``%ph.pin``."""

    _fields_ = (
        ("next", ctypes.c_void_p),
        ("low", ctypes.c_void_p),
        ("block", ctypes.c_void_p),
    )


#: All pins, in use or not: compiled code has their addresses for good. As many as
#: there ever were at once.
_PINS: list[_Pin] = []


def pin(low: int, owner: Any) -> None:
    """Keeps the block that has the address `low` while `owner` lives. The block must
    not have been freed yet."""
    settle()
    with _LOCK:
        made = next((p for p in _PINS if not p.low and not p.block), None)
        if made is not None:
            made.low = low
        else:
            made = _Pin(None, low, None)
            _PINS.append(made)
            add = threads.memory_function("ph_pin_memory", ctypes.c_void_p)
            add(ctypes.addressof(made))
    # Nothing but that: the end of an object may come anywhere, and hold any lock.
    weakref.finalize(owner, setattr, made, "low", None).atexit = False


def settle() -> None:
    """Frees the blocks whose pins are all out of use."""
    with _LOCK:
        owed = {p.block for p in _PINS if p.block and not p.low}
        owed -= {p.block for p in _PINS if p.low}
        for p in _PINS:
            if not p.low and p.block in owed:
                p.block = None
    if owed:
        free = threads.memory_function("ph_free", ctypes.c_void_p, ctypes.c_void_p)
        for block in owed:
            free(None, block)


threads.BEFORE_RELEASE.append(settle)


def pinned() -> int:
    """How many pins are in use, or have a block."""
    with _LOCK:
        return sum(bool(p.low or p.block) for p in _PINS)


__all__ = ["pin", "pinned", "settle"]
