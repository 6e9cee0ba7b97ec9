"""What this machine can do at most, to measure the applications against.

Run as a module with a number of threads; prints JSON: bytes per second of a copy past
the caches and through them (read and written bytes both count), and floating-point
operations per second of fused multiply-adds.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.cpp import build

#: Bytes of a copy: those of the blur of 6400 x 4800 pixels of 16 bits.
COPIED = 6400 * 4800 * 2


def _best(run: Callable[[], object], seconds: float = 1.0) -> float:
    """The least time of many runs."""
    run()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def limits(threads: int) -> dict[str, float]:
    """The figures of so many threads."""
    library = build("limits")
    library.multiply_add.restype = ctypes.c_double
    space = np.ones(2 * COPIED + 128, np.uint8)
    start = -space.ctypes.data % 64
    source = ctypes.c_void_p(space.ctypes.data + start)
    target = ctypes.c_void_p(space.ctypes.data + start + COPIED)
    size, sink = ctypes.c_long(COPIED), ctypes.c_float()
    rounds = 1_000_000
    operations: float = library.multiply_add(
        ctypes.c_long(rounds), threads, ctypes.byref(sink)
    )
    return {
        "copy past the caches": 2
        * COPIED
        / _best(lambda: library.copy_past(source, target, size)),
        "copy": 2 * COPIED / _best(lambda: library.copy_through(source, target, size)),
        "multiply-adds": operations
        / _best(
            lambda: library.multiply_add(
                ctypes.c_long(rounds), threads, ctypes.byref(sink)
            )
        ),
    }


if __name__ == "__main__":
    json.dump(limits(int(sys.argv[1])), sys.stdout)
