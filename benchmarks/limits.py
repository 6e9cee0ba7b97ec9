"""What this machine can do at most, to measure the applications against.

Copies past the caches and through them (read and written bytes both count), and fused
multiply-adds on registers. Memory is shared with whatever else the machine does, so the
limits of a case are measured in turn with it. Run as a module with a number of threads,
this prints the limits alone, as JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from apps.common import Array
from benchmarks.case import LINE, Case, Image, zeros
from benchmarks.cpp import build

#: Rounds of multiply-adds for each run: some milliseconds.
ROUNDS = 2_000_000


@dataclass(frozen=True)
class Limit:
    """One run of it, and how many bytes or operations (`unit`) that is."""

    run: Callable[[], object]
    amount: float
    unit: str


def copies(source: Array) -> dict[str, Limit]:
    """Of an array's bytes; the number of threads is OMP_NUM_THREADS."""
    library = build("limits")
    size = source.nbytes // LINE * LINE
    target = zeros((size,), "u1")

    def limit(name: str) -> Limit:
        copy = getattr(library, name)

        def run() -> None:
            places = (ctypes.c_void_p(a.ctypes.data) for a in (source, target))
            copy(*places, ctypes.c_long(size))

        return Limit(run, 2 * size, "GB/s")

    return {
        "copy past the caches": limit("copy_past"),
        "copy": limit("copy_through"),
    }


def multiply_adds(threads: int) -> dict[str, Limit]:
    """On registers alone."""
    library = build("limits")
    library.multiply_add.restype = ctypes.c_double
    sink = ctypes.c_float()

    def run() -> float:
        rounds = ctypes.c_long(ROUNDS)
        done: float = library.multiply_add(rounds, threads, ctypes.byref(sink))
        return done

    return {"multiply-adds": Limit(run, run(), "Gflop/s")}


def of(case: Case, images: Mapping[str, Image], threads: int) -> dict[str, Limit]:
    """The limits that a case is measured against. What is copied is its largest input:
    where that is in the caches, the case found it there as well."""
    found: dict[str, Limit] = {}
    if case.moved is not None:
        found |= copies(max((i.array for i in images.values()), key=lambda a: a.nbytes))
    if case.operations is not None:
        found |= multiply_adds(threads)
    return found


if __name__ == "__main__":
    from benchmarks.runtime import measure

    every = copies(np.ones(61 << 20, np.uint8)) | multiply_adds(int(sys.argv[1]))
    times = measure({name: limit.run for name, limit in every.items()}, 3.0)
    rates = {name: limit.amount / times[name]["min"] for name, limit in every.items()}
    json.dump(rates, sys.stdout)
