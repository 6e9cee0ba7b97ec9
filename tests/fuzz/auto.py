"""Runs an automatic scheduler on random pipelines, compared with the interpreter.

    python -m tests.fuzz.auto --cases 500 --seed 1 --scheduler Mullapudi2016

Each pipeline of `tests.fuzz.draw` is scheduled without its own directives, for the size
that the case asks for, compiled, run at that size and at a smaller one, and compared.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

import parhelion as hl
from parhelion.schedule.rules import ScheduleWarning
from tests.fuzz.build import build
from tests.fuzz.case import Case
from tests.fuzz.draw import draw
from tests.fuzz.execute import (
    compare,
    compiled,
    interpreted,
)
from tests.fuzz.run import seeds

#: No pipeline may take longer, all sizes and the compiling included.
LIMIT = 30.0


@dataclass(frozen=True)
class Outcome:
    """seconds: to schedule, and for all. directives: how many there were. failure: what
    went wrong; empty if nothing did. notes: what the scheduler had to say."""

    schedule: float
    total: float
    directives: Counter[str]
    failure: str = ""
    notes: tuple[str, ...] = ()


def run_auto(case: Case, scheduler: str) -> Outcome:
    """Schedules, compiles, runs and compares one case."""
    start = time.monotonic()
    case = replace(case, schedule=())
    took, made = 0.0, Counter[str]()
    notes: tuple[str, ...] = ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ScheduleWarning)
            program = build(case)
            outputs = program.outputs()
            before = time.monotonic()
            result = hl.autoschedule(
                outputs, sizes=list(case.extents), scheduler=scheduler
            )
            took = time.monotonic() - before
            made.update(call.method for call in result.script.calls)
            notes = tuple(result.notes)
            failure = ""
            for sized in (case, shrunk(case)):
                program.case = sized
                failure = failure or compare(compiled(program), interpreted(program))
    except Exception as error:  # whatever it is, no scheduler should cause it
        failure = f"{type(error).__name__}: {error}"
    total = time.monotonic() - start
    if not failure and total > LIMIT:
        failure = f"it took {total:.0f} s"
    return Outcome(took, total, made, failure, notes)


def shrunk(case: Case) -> Case:
    """The same pipeline for outputs of a few points: less than a tile, or a vector."""
    return replace(case, extents=tuple([max(1, n // 7) for n in case.extents]))


@dataclass
class Summary:
    """What became of the cases of a run."""

    count: int = 0
    directives: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, 0)
    slowest_schedule: tuple[float, int] = (0.0, 0)

    def add(self, seed: int, found: Outcome) -> None:
        self.count += 1
        self.directives += found.directives
        self.notes.update(found.notes)
        self.slowest = max(self.slowest, (found.total, seed))
        self.slowest_schedule = max(self.slowest_schedule, (found.schedule, seed))
        if found.failure:
            self.failures.append((seed, found.failure))

    def text(self) -> str:
        lines = [f"{self.count} pipelines, {len(self.failures)} failures"]
        for what, (seconds, seed) in (
            ("slowest, all in all", self.slowest),
            ("slowest to schedule", self.slowest_schedule),
        ):
            lines.append(f"{what}: {seconds:.2f} s (seed {seed})")
        lines += [f"{name:16}{n:8}" for name, n in self.directives.most_common()]
        lines += [f"note, {n} times: {text}" for text, n in self.notes.most_common(8)]
        return "\n".join(lines)


def fuzz(
    cases: int,
    seed: int,
    scheduler: str,
    jobs: int = 1,
    failed: Callable[[int, str], None] | None = None,
) -> Summary:
    """Runs so many cases. failed: is told of each failure at once."""
    summary = Summary()
    numbers: Iterator[int] = seeds(seed)
    lock = threading.Lock()
    started = 0

    def work() -> None:
        nonlocal started
        while True:
            with lock:
                if started >= cases:
                    return
                started += 1
                number = next(numbers)
            found = run_auto(draw(random.Random(number)), scheduler)
            with lock:
                summary.add(number, found)
                if found.failure and failed is not None:
                    failed(number, found.failure)

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return summary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduler", default="Parhelion")
    options = parser.parse_args()

    def failed(seed: int, message: str) -> None:
        print(f"seed {seed}: {message.strip()}", flush=True)

    start = time.monotonic()
    with np.errstate(all="ignore"):
        summary = fuzz(options.cases, options.seed, options.scheduler, failed=failed)
    print(f"{options.scheduler}: {summary.text()}")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
