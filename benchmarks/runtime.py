"""Run times of one case under Parhelion, Halide and others, interleaved in a process.

Run as a module with a case's name; prints one JSON object. The number of threads comes
from HL_NUM_THREADS, which both read when their pools start, so each number of threads
needs a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from apps.common import Array
from benchmarks.case import Case, Image, load
from benchmarks.cases import case

#: Each contender runs at least so often, whatever the budget.
FEWEST = 3


def measure(
    runs: Mapping[str, Callable[[], object]], budget: float
) -> dict[str, dict[str, float]]:
    """Minimum and median seconds of each, taken in turn.

    Each may spend an equal share of the budget, so that a slow one does not take the
    time of the others.
    """
    share = budget / len(runs)
    times: dict[str, list[float]] = {name: [] for name in runs}
    spent = dict.fromkeys(runs, 0.0)
    while waiting := [
        name for name in runs if spent[name] < share or len(times[name]) < FEWEST
    ]:
        for name in waiting:
            start = time.perf_counter()
            runs[name]()
            taken = time.perf_counter() - start
            times[name].append(taken)
            spent[name] += taken
    return {
        name: {"min": min(t), "median": statistics.median(t), "runs": len(t)}
        for name, t in times.items()
    }


def prepare(
    case: Case, module: str, schedule: str, images: Mapping[str, Image]
) -> tuple[Callable[[], object], list[Array]]:
    """A function that runs the compiled case, and the arrays that it writes."""
    hl = load(module)
    app = case.build(hl, schedule)
    case.bind(hl, app, images)
    app.output.compile_jit()
    results = [output.new() for output in case.outputs]
    buffers = [image.buffer(hl) for image in results]
    where = buffers[0] if len(buffers) == 1 else buffers
    return lambda: app.output.realize(where), [image.array for image in results]


def run(case: Case, budget: float) -> dict[str, Any]:
    """Times of every schedule under both modules and of the rivals, and how far the
    results are apart. Names are ``module schedule``, and the rivals' own."""
    images = case.inputs()
    runs: dict[str, Callable[[], object]] = {}
    first: list[Array] | None = None
    worst = (0.0, 0.0)
    for schedule in case.schedules:
        for module in ("parhelion", "halide"):
            name = f"{module} {schedule}"
            runs[name], results = prepare(case, module, schedule, images)
            runs[name]()
            first = results if first is None else first
            found = case.difference(first, results)
            worst = (max(worst[0], found[0]), max(worst[1], found[1]))
    out: dict[str, Any] = {"times": measure(runs, budget)}
    rivals = case.rivals(images) if case.rivals else {}
    if rivals:
        # The C programs are near to us in speed: they run beside our first schedule.
        ours = f"parhelion {next(iter(case.schedules))}"
        out["rivals"] = measure({ours: runs[ours], **rivals}, budget / 2)
        del out["rivals"][ours]
    out["difference"], out["differing"] = worst
    out["same"] = case.same(worst)
    return out


def _threads() -> None:
    """Lets the other libraries use as many threads as we do."""
    threads = int(os.environ.get("HL_NUM_THREADS", "0"))
    if threads:
        import cv2

        cv2.setNumThreads(threads)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    _threads()
    json.dump(run(case(options.case), options.seconds), sys.stdout)
