"""Run times of one case under Parhelion, Halide and NumPy, interleaved in one process.

Run as a module with a case's name; prints one JSON object. The number of threads comes
from HL_NUM_THREADS, which both read when their pools start, so each number of threads
needs a process of its own.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import Case, case, load

#: Seconds to spend on measuring one case.
BUDGET = float(os.environ.get("PARHELION_BENCH_SECONDS", "8"))


def measure(runs: dict[str, Callable[[], object]], budget: float) -> dict[str, Any]:
    """Minimum and median seconds of each, taken in turn until the budget is spent."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {
        name: {"min": min(t), "median": statistics.median(t), "runs": len(t)}
        for name, t in times.items()
    }


def prepare(case: Case, module: str, image: Any) -> tuple[Callable[[], object], Any]:
    """A function that runs the compiled case, and the array it writes."""
    hl = load(module)
    app = case.build(hl)
    case.bind(hl, app, image)
    app.output.compile_jit()
    result = np.zeros(case.size[::-1], app_type(case))
    buffer = hl.Buffer(result)
    return lambda: app.output.realize(buffer), result


def app_type(case: Case) -> Any:
    """The dtype of the output, which for these cases is the input's."""
    return case.dtype


def run(case: Case) -> dict[str, Any]:
    image = case.make_input()
    runs: dict[str, Callable[[], object]] = {}
    results: dict[str, Any] = {}
    for module in ("parhelion", "halide"):
        runs[module], results[module] = prepare(case, module, image)
        runs[module]()
    worst = float(
        np.abs(
            results["parhelion"].astype(np.float64)
            - results["halide"].astype(np.float64)
        ).max()
    )
    out = measure(runs, BUDGET)
    numpy_runs = {"numpy": lambda: case.app.with_numpy(image)}
    out |= measure(numpy_runs, min(BUDGET, 3.0))
    out["difference"] = worst
    out["same"] = worst <= case.tolerance
    return out


if __name__ == "__main__":
    json.dump(run(case(sys.argv[1])), sys.stdout)
