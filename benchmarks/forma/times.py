"""Times of one program under all that compute it, in turn in this process.

    python -m benchmarks.forma.times emboss

prints one JSON object. The number of threads comes from HL_NUM_THREADS, so each number
needs a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
from typing import Any

from benchmarks.forma.contenders import (
    SIZES,
    SMALL,
    compare,
    contenders,
    in_python,
    size_of,
)
from benchmarks.runtime import measure


def times(
    name: str, seconds: float, scale: float = 1.0, is_automatic: bool = True
) -> dict[str, Any]:
    """Minima and medians by contender, and how far their results are from Forma's."""
    size = size_of(name, scale)
    found = contenders(name, size, is_automatic)
    differences = compare(name, found)
    return {
        "size": list(size),
        "apart": differences,
        "times": measure({who: one.run for who, one in found.items()}, seconds),
    }


def python_seconds(name: str, scale: float = 1.0) -> float:
    """How long the loops in Python take at the full size, by what a small one takes."""
    run = in_python(name)
    best = math.inf
    for _ in range(2):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    points = math.prod(size_of(name, scale)) / math.prod(SMALL[name])
    return best * points


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.forma.times", description=__doc__)
    parser.add_argument("name", choices=list(SIZES))
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--automatic", action="store_true")
    parser.add_argument("--python", action="store_true", help="the loops in Python")
    options = parser.parse_args()
    import cv2

    cv2.setNumThreads(int(os.environ.get("HL_NUM_THREADS") or os.cpu_count() or 1))
    with warnings.catch_warnings():
        # Halide's module warns of each constant that it takes for a float32.
        warnings.simplefilter("ignore", RuntimeWarning)
        name, scale = options.name, options.scale
        found = times(name, options.seconds, scale, options.automatic)
    if options.python:
        found["python"] = python_seconds(name, scale)
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

__all__ = ["python_seconds", "times"]
