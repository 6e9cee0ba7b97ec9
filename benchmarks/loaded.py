"""Whether code runs as fast where it was loaded as where it was compiled.

Two processes take turns: one that compiled the case, and kept it in the cache, and one
that loaded it from there. After the third run no page of memory is to be new in either.
Applications have the schedule that is ours, everyday pipelines that of the automatic
scheduler.

Run as a module, it is such a process: `python -m benchmarks.loaded app NAME` (or
``everyday NAME``) says when it is ready, and then runs as often as each line of its
input tells, and prints a JSON object.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.process import Failed, environment

#: How many everyday pipelines are taken.
EVERYDAY = 20
#: Most acceptable ratio of the minima, and pages per run.
LIMIT, FAULTS = 1.03, 0
#: How long a turn is about, in seconds, and at most in runs.
TURN, MOST = 0.05, 50
KINDS = ("compiled", "loaded")


def everyday_names() -> list[str]:
    """The pipelines that are taken: the first by name that may be looked at one by
    one."""
    from benchmarks.everyday.pipelines import all_pipelines

    shown = [p.name for p in all_pipelines() if p.group != "final"]
    return sorted(shown)[:EVERYDAY]


def _prepared(kind: str, name: str) -> Callable[[], object]:
    """What is run: compiled, or loaded."""
    from benchmarks.case import load
    from benchmarks.cases import case
    from benchmarks.everyday.pipelines import pipeline

    hl = load("parhelion")
    chosen = case(name) if kind == "app" else pipeline(name).case()
    if kind == "app":
        app = chosen.build(hl, next(iter(chosen.schedules)))
    else:
        app = chosen.algorithm(hl)
    chosen.bind(hl, app, chosen.inputs())
    if kind != "app":
        hl.autoschedule(app.output, list(chosen.outputs[0].size))
    app.output.compile_jit()
    made = [output.new().buffer(hl) for output in chosen.outputs]
    where = made[0] if len(made) == 1 else made
    return lambda: app.output.realize(where)


def _serve(kind: str, name: str) -> None:
    run = _prepared(kind, name)
    for _ in range(3):
        run()
    print("ready", flush=True)
    for line in sys.stdin:
        times: list[float] = []
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        told = {"times": times, "faults": (after - before) / len(times)}
        print(json.dumps(told), flush=True)


class _Process:
    """One of the two, with what it has found."""

    def __init__(self, kind: str, name: str, threads: int, folder: str) -> None:
        self.times: list[float] = []
        self.faults: list[float] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.loaded", kind, name],
            env=environment(threads, {"PARHELION_BENCH_CACHE": folder}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._name = name
        self._read("ready")

    def _read(self, wanted: str = "") -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line or wanted not in line:
            self.end()
            raise Failed(f"benchmarks.loaded {self._name}: it ended")
        return line

    def run(self, count: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        told = json.loads(self._read())
        self.times += told["times"]
        self.faults.append(told["faults"])

    def end(self) -> None:
        self._process.communicate()


def measured(kind: str, name: str, seconds: float, threads: int = 1) -> dict[str, Any]:
    """Minimum and median seconds of both, and the pages that a run faults, in the
    median of the turns. Raises Failed."""
    with tempfile.TemporaryDirectory() as folder:
        running: list[_Process] = []
        try:
            running.append(_Process(kind, name, threads, folder))
            kept = _files(folder)
            running.append(_Process(kind, name, threads, folder))
            if not kept or _files(folder) != kept:
                raise Failed(f"benchmarks.loaded {name}: it is not in the cache")
            _take_turns(running, seconds)
        finally:
            for one in running:
                one.end()
    return {
        what: {
            "min": min(one.times),
            "median": statistics.median(one.times),
            "faults": statistics.median(one.faults),
        }
        for what, one in zip(KINDS, running, strict=True)
    }


def _files(folder: str) -> list[str]:
    return sorted(str(p) for p in Path(folder).rglob("*") if p.is_file())


def _take_turns(running: Sequence[_Process], seconds: float) -> None:
    end = time.perf_counter() + seconds
    order = list(running)
    count = 3
    while time.perf_counter() < end or len(running[0].times) < 9:
        for one in order:
            one.run(count)
        order.reverse()
        count = max(1, min(MOST, int(TURN / min(running[0].times))))


def ratio(found: dict[str, Any]) -> float:
    """The loaded code's time over the compiled code's (minima)."""
    return float(found["loaded"]["min"] / found["compiled"]["min"])


def good(found: dict[str, Any]) -> bool:
    return ratio(found) <= LIMIT and found["loaded"]["faults"] <= FAULTS


def line(name: str, found: dict[str, Any]) -> str:
    """What was found, for eyes."""
    ms = [found[what]["min"] * 1e3 for what in KINDS]
    return (
        f"{name:18} compiled {ms[0]:.3f} ms  loaded {ms[1]:.3f} ms  "
        f"ratio {ratio(found):.3f}  pages {found['loaded']['faults']:.0f}  "
        f"{'ok' if good(found) else 'MISSED'}"
    )


if __name__ == "__main__":
    os.environ.setdefault("HL_NUM_THREADS", "1")
    _serve(*sys.argv[1:3])
