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

from parhelion import TailStrategy
from tests.fuzz.apply import STAGES
from tests.fuzz.case import Case
from tests.fuzz.draw import DIRECTIVES, draw, draw_numbered, draw_wild
from tests.fuzz.execute import Outcome, Report
from tests.fuzz.worker import SECONDS, Worker

#: How often each directive is to be accepted in a run of so many clean cases.
LEAST, GOAL = 100, 5000

#: What every long run has: the directives of cases, by the names they are counted as.
EXPECTED = (
    *(name for name in DIRECTIVES if name not in ("place", "place_late", "window")),
    *(f"TailStrategy.{t.name}" for t in TailStrategy),
    *(f"split: {t.name}" for t in TailStrategy),
    *(f"tile, form {k}" for k in range(1, 5)),
    *("set_estimates", "unscheduled", "parallel (task size)", "memoize (EvictionKey)"),
    *("LoopLevel of an update", "LoopLevel of an RVar", "LoopLevel Var.outermost"),
    *("compute_lazy", "compute_lazy (tile)"),
    *STAGES.values(),
)


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
        lines.append(f"{'directive':34}{'drawn':>8}{'in clean cases':>16}")
        for name, count in sorted(self.drawn.items()):
            lines.append(f"{name:34}{count:8}{self.accepted[name]:16}")
        rare = self.rare()
        least = LEAST * max(clean, 1) / GOAL
        lines.append(
            f"accepted less often than {LEAST} times per {GOAL} clean cases"
            f" (here {least:g}): {', '.join(rare) or 'none'}"
        )
        return "\n".join(lines)

    def rare(self) -> list[str]:
        """The directives, and kinds of them, that a run of `GOAL` cases like these
        would accept less than `LEAST` times."""
        clean = self.outcomes[Outcome.CLEAN]
        # What only updates can have is counted as theirs.
        expected = [n for n in EXPECTED if f"{n} (update)" not in self.drawn]
        names = sorted({*self.drawn, *expected})
        return [n for n in names if self.accepted[n] * GOAL < LEAST * clean]


def seeds(first: int) -> Iterator[int]:
    """The seeds of one run; runs of neighbouring numbers share none."""
    return itertools.count(first * 1_000_000)


def fuzz(
    cases: int,
    seed: int,
    jobs: int = 1,
    *,
    wild: bool = False,
    guarded: bool = False,
    numbered: bool = False,
    most_failures: int = 20,
    seconds: float = SECONDS,
    progress: Callable[[Summary], None] | None = None,
) -> Summary:
    """Draws cases until `cases` are clean (or, if `wild`, have been run), or so many
    have failed. guarded: in memory with edges. numbered: small pipelines, all numbers
    of whose schedules may be Params. seconds: what takes longer hangs."""
    draws = draw_wild if wild else draw_numbered if numbered else draw
    summary = Summary()
    numbers = seeds(seed)
    lock = threading.Lock()

    def done() -> bool:
        count = summary.outcomes[Outcome.CLEAN]
        if wild:
            count = sum(summary.outcomes.values())
        return count >= cases or len(summary.failures) >= most_failures

    def work() -> None:
        with Worker(guarded=guarded) as worker:
            while True:
                with lock:
                    if done():
                        return
                    number = next(numbers)
                case = draws(random.Random(number))
                report = worker.run(case, seconds)
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
    parser.add_argument(
        "--numbered",
        action="store_true",
        help="small cases with numbers that are Params",
    )
    parser.add_argument(
        "--guarded", action="store_true", help="writes outside of buffers are failures"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="a case that takes longer hangs; more beside other work (%(default)g)",
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
        guarded=options.guarded,
        numbered=options.numbered,
        seconds=options.seconds,
        progress=progress,
    )
    print(file=sys.stderr)
    print(summary.text())
    print(f"{time.monotonic() - start:.0f} s")
    for seed, _ in summary.failures:
        kind = "wild-" if options.wild else "numbered-" if options.numbered else ""
        module = "guarded_reduction" if options.guarded else "reduction"
        print(f"python -m parhelion.tools.reduce tests.fuzz.{module} {kind}{seed}")
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
