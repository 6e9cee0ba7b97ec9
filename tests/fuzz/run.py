"""Runs many random cases and says what became of them.

    python -m tests.fuzz.run --cases 2000 --seed 1

Cases are drawn until so many are clean: compiled under a schedule that the compiler
accepted, run, and equal to the interpreter. Refused and trivial draws do not count.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.fuzz.case import Case
from tests.fuzz.draw import draw, draw_wild
from tests.fuzz.execute import Outcome, Report
from tests.fuzz.worker import Worker


@dataclass
class Summary:
    """What became of the cases of a run. `accepted` is over the clean ones."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    stages: int = 0
    failures: list[tuple[int, Report]] = field(default_factory=list)

    def add(self, seed: int, case: Case, report: Report) -> None:
        self.outcomes[report.outcome] += 1
        self.drawn += report.drawn
        if report.outcome is Outcome.CLEAN:
            self.accepted += report.accepted
            self.stages += len(case.stages)
        elif report.outcome.failed:
            self.failures.append((seed, report))

    def text(self) -> str:
        clean = self.outcomes[Outcome.CLEAN]
        lines = [", ".join([f"{n} {o.value}" for o, n in self.outcomes.items()])]
        if clean:
            lines.append(f"{self.stages / clean:.1f} Funcs per clean case")
        lines.append(f"{'directive':26}{'drawn':>8}{'in clean cases':>16}")
        for name, count in sorted(self.drawn.items()):
            lines.append(f"{name:26}{count:8}{self.accepted[name]:16}")
        return "\n".join(lines)


def seeds(first: int) -> Iterator[int]:
    """The seeds of one run; runs of neighbouring numbers share none."""
    return itertools.count(first * 1_000_000)


def fuzz(
    cases: int,
    seed: int,
    jobs: int = 1,
    *,
    wild: bool = False,
    most_failures: int = 20,
    progress: Callable[[Summary], None] | None = None,
) -> Summary:
    """Draws cases until `cases` are clean (or, if `wild`, have been run), or so many
    have failed."""
    summary = Summary()
    numbers = seeds(seed)
    lock = threading.Lock()

    def done() -> bool:
        count = summary.outcomes[Outcome.CLEAN]
        if wild:
            count = sum(summary.outcomes.values())
        return count >= cases or len(summary.failures) >= most_failures

    def work() -> None:
        with Worker() as worker:
            while True:
                with lock:
                    if done():
                        return
                    number = next(numbers)
                case = (draw_wild if wild else draw)(random.Random(number))
                report = worker.run(case)
                with lock:
                    summary.add(number, case, report)
                    if progress is not None:
                        progress(summary)

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return summary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--wild", action="store_true", help="schedules drawn without regard to legality"
    )
    options = parser.parse_args()
    start = time.monotonic()
    shown = 0

    def progress(summary: Summary) -> None:
        nonlocal shown
        for seed, report in summary.failures[shown:]:
            text = report.message.strip()
            print(f"\rseed {seed}: {report.outcome.value}: {text}", flush=True)
        shown = len(summary.failures)
        clean = summary.outcomes[Outcome.CLEAN]
        print(f"\r{clean} clean", end="", file=sys.stderr, flush=True)

    summary = fuzz(
        options.cases,
        options.seed,
        options.jobs,
        wild=options.wild,
        progress=progress,
    )
    print(file=sys.stderr)
    print(summary.text())
    print(f"{time.monotonic() - start:.0f} s")
    for seed, _ in summary.failures:
        kind = "wild-" if options.wild else ""
        print(f"python -m parhelion.tools.reduce tests.fuzz.reduction {kind}{seed}")
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
