"""What it costs to start work: a call from Python, and a parallel loop.

``python -m benchmarks.overhead [--json FILE] [--rounds N]`` prints microseconds: the
least and the median of many calls. A parallel loop is timed from within one call, as
the difference between pipelines with many and with few such loops.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import parhelion as hl

#: What must hold, in microseconds: the least of many.
LIMITS = {
    "call": 10.0,
    "call_new_arrays": 10.0,
    "parallel_loop_2_threads": 10.0,
    "parallel_share_2_threads": 10.0,
}


def _timed(run: Callable[[], object], batch: int, rounds: int) -> dict[str, float]:
    """Microseconds for one run: the least and the median of `rounds` batches."""
    run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(batch):
            run()
        times.append((time.perf_counter() - start) / batch * 1e6)
    return {"min": min(times), "median": statistics.median(times)}


def _gain() -> hl.Callable:
    """``f(x, y) = image(x, y) + gain``, compiled."""
    image = hl.ImageParam(hl.UInt(8), 2)
    gain = hl.Param(hl.UInt(8))
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    f[x, y] = image[x, y] + gain
    return f.compile_to_callable([image, gain])


def _pixels() -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.zeros((16, 16), np.uint8)


def call(rounds: int) -> dict[str, float]:
    """A `Callable` of an image, a scalar and an output, on 16×16 arrays."""
    run, a, out = _gain(), _pixels(), _pixels()
    return _timed(lambda: run(a, 3, out), 200, rounds)


def call_buffers(rounds: int) -> dict[str, float]:
    """The same with Buffers in place of arrays."""
    run, a, out = _gain(), hl.Buffer(_pixels()), hl.Buffer(_pixels())
    return _timed(lambda: run(a, 3, out), 200, rounds)


def call_new_arrays(rounds: int) -> dict[str, float]:
    """The same with input arrays that are never the same twice in a while."""
    run, out = _gain(), _pixels()
    images = [_pixels() for _ in range(200)]

    def all_of_them() -> None:
        for a in images:
            run(a, 3, out)

    found = _timed(all_of_them, 1, rounds)
    return {k: v / len(images) for k, v in found.items()}


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = hl.set_num_threads(number)
    try:
        yield
    finally:
        hl.set_num_threads(before)


def call_parallel(rounds: int) -> dict[str, float]:
    """A `Callable` of one parallel loop of two trivial tasks, on 2 threads."""
    y, f = hl.Var("y"), hl.Func("f")
    f[y] = hl.cast(hl.UInt(8), y)
    f.parallel(y)
    run, out = f.compile_to_callable([]), np.zeros(2, np.uint8)
    with _threads(2):
        return _timed(lambda: run(out), 200, rounds)


def _loops(tasks: int, work: int) -> Callable[[int], Callable[[], object]]:
    """Pipelines that run a given number of parallel loops, one after the other.

    work: how many dependent multiplications make a task.
    """
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    r = hl.RDom([(0, work)])
    f[x, y] = hl.cast(hl.UInt(32), x + y)
    if work:
        f[x, y] = f[x, y] * 1664525 + hl.cast(hl.UInt(32), r.x)
        f.compute_root()
        f.update().reorder(r.x, x, y).parallel(x)
    else:
        f.parallel(x)
    run = f.compile_to_callable([])

    def prepared(count: int) -> Callable[[], object]:
        out = np.zeros((count, tasks), np.uint32)
        return lambda: run(out)

    return prepared


def parallel_loop(threads: int, rounds: int) -> dict[str, float]:
    """One parallel loop of `threads` trivial tasks, from start to join.

    A pipeline runs many, one after the other, as it does with parallel stages.
    """
    many, prepared = 400, _loops(threads, 0)
    with _threads(threads):
        large, small = prepared(many), prepared(1)
        with_many = _timed(large, 5, rounds)
        with_one = _timed(small, 5, rounds)
    return {k: (with_many[k] - with_one[k]) / (many - 1) for k in with_many}


def parallel_share(rounds: int) -> dict[str, float]:
    """What two tasks of some microseconds take on 2 threads beyond one of them: here
    the other thread must wake, take its task, and be waited for."""
    many, work = 100, 8000
    both = _loops(2, work)
    with _threads(2):
        two = _timed(both(many), 1, rounds)
    with _threads(1):
        single = _timed(both(many), 1, rounds)
    return {k: (two[k] - single[k] / 2) / many for k in two}


def measure(rounds: int = 60) -> dict[str, dict[str, float]]:
    """All of them."""
    return {
        "call": call(rounds),
        "call_buffers": call_buffers(rounds),
        "call_new_arrays": call_new_arrays(rounds),
        "call_parallel_2_threads": call_parallel(rounds),
        "parallel_loop_1_thread": parallel_loop(1, rounds),
        "parallel_loop_2_threads": parallel_loop(2, rounds),
        "parallel_share_2_threads": parallel_share(rounds),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", metavar="FILE", help="also write the figures here")
    given = parser.parse_args()
    found = measure(given.rounds)
    print(f"{'microseconds':26}{'min':>10}{'median':>10}{'limit':>10}")
    for name, times in found.items():
        limit = f"{LIMITS[name]:10.1f}" if name in LIMITS else ""
        print(f"{name:26}{times['min']:10.2f}{times['median']:10.2f}{limit}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as f:
            json.dump(found, f, indent=2)
    return int(any(found[name]["min"] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
