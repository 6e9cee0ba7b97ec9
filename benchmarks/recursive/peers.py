"""SciPy, NumPy and OpenCV doing the same job, and copies, for what memory allows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import limits
from benchmarks.case import zeros
from benchmarks.recursive.case import (
    COPY,
    LFILTER,
    OPENCV,
    SCIPY,
    Array,
    Check,
    Contender,
    Run,
)
from benchmarks.recursive.exact import Scan

#: Names of the copies.
NUMPY_COPY, STREAMED = "np.copyto", "copy past the caches"


def lfilter(
    image: Array,
    scans: Sequence[Scan],
    check: Check,
    after: Callable[[Array], Array] | None = None,
) -> Contender:
    """The scans by scipy.signal.lfilter in float32; `after` is done with the result."""

    def run() -> Array:
        result = image
        for scan in scans:
            result = scan.lfilter(result, "float32")
        return result if after is None else after(result)

    return Contender(LFILTER, SCIPY, lambda: run, check)


def box_of_table(table: Array, radius: int) -> Array:
    """Boxes from a summed-area table, by NumPy."""
    result = table
    for axis in (0, 1):
        n = table.shape[axis]
        pad = [(0, 0), (0, 0)]
        pad[axis] = (1, 0)
        padded = np.pad(result, pad)
        i = np.arange(n)
        later = np.take(padded, np.minimum(i + radius, n - 1) + 1, axis)
        result = later - np.take(padded, np.maximum(i - radius, 0), axis)
    return np.asarray(result * np.float32(1 / (2 * radius + 1) ** 2))


def opencv(name: str, run: Run, check: Check) -> Contender:
    """A function of OpenCV's, on as many threads as HL_NUM_THREADS says."""

    def prepare() -> Run:
        import cv2

        cv2.setNumThreads(threads())
        return run

    return Contender(name, OPENCV, prepare, check)


def threads() -> int:
    """How many threads all contenders use."""
    return int(os.environ.get("HL_NUM_THREADS") or os.cpu_count() or 1)


def copies(shape: tuple[int, ...], dtype: Any) -> list[Contender]:
    """Copies of an array: NumPy's, on one thread, and one that is written past the
    caches, on all, where there is a C++ compiler."""
    source = np.ones(shape, dtype)
    target = zeros(shape, dtype, [source])

    def copy() -> Array:
        np.copyto(target, source)
        return target

    def streamed() -> Run:
        past = limits.copies(source.reshape(-1))["copy past the caches"]

        def run() -> Array:
            past.run()
            return target

        return run

    made = [Contender(NUMPY_COPY, COPY, lambda: copy, Check(none=True))]
    if shutil.which("g++") is not None:
        made.append(Contender(STREAMED, COPY, streamed, Check(none=True)))
    return made
