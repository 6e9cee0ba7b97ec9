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
from benchmarks import limits
from benchmarks.case import Case, Image, load
from benchmarks.cases import case

#: Each contender runs at least so often, unless that takes it the whole budget.
FEWEST = 3
#: How often one runs before it is the next one's turn: after the first time it finds in
#: the caches what it left there itself, not what the one before it did.
TURN = 3


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

    def waits(name: str) -> bool:
        few = len(times[name]) < FEWEST and spent[name] < budget
        return spent[name] < share or few

    while waiting := [name for name in runs if waits(name)]:
        for name in [n for n in waiting for _ in range(TURN)]:
            if waits(name):
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
    """A function that runs the compiled case, and the arrays that it writes, which
    begin away from those that it reads."""
    hl = load(module)
    app = case.build(hl, schedule)
    case.bind(hl, app, images)
    app.output.compile_jit()
    read = [image.array for image in images.values()]
    results = [output.new(read) for output in case.outputs]
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
    out: dict[str, Any] = {"times": measure(runs, budget / 2)}
    out |= beside(case, images, runs, out["times"], budget / 2)
    out["difference"], out["differing"] = worst
    out["same"] = case.same(worst)
    return out


def beside(
    case: Case,
    images: Mapping[str, Image],
    runs: Mapping[str, Callable[[], object]],
    times: Mapping[str, Mapping[str, float]],
    budget: float,
) -> dict[str, Any]:
    """The fastest schedule of either module, taken in turn with the rivals and with
    what the machine can do at most.

    rivals: their times. fastest: those of "parhelion" and "halide". limits: of each,
    the bytes or operations that it does in its time.
    """
    rivals = case.rivals(images) if case.rivals else {}
    most = limits.of(case, images, _threads())
    if not rivals and not most:
        return {}
    fastest = {
        module: min(
            (name for name in times if name.startswith(f"{module} ")),
            key=lambda name: times[name]["min"],
        )
        for module in ("parhelion", "halide")
    }
    taken = measure(
        {module: runs[name] for module, name in fastest.items()}
        | {name: limit.run for name, limit in most.items()}
        | dict(rivals),
        budget,
    )
    return {
        "fastest": {m: taken[m] | {"name": n} for m, n in fastest.items()},
        "rivals": {name: taken[name] for name in rivals},
        "limits": {
            name: taken[name] | {"amount": limit.amount, "unit": limit.unit}
            for name, limit in most.items()
        },
    }


def _threads() -> int:
    """How many threads both modules use."""
    return int(os.environ.get("HL_NUM_THREADS") or os.cpu_count() or 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    import cv2

    cv2.setNumThreads(_threads())
    json.dump(run(case(options.case), options.seconds), sys.stdout)
