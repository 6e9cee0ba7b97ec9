"""Tries what an automatic scheduler weighed and did not choose, on the benchmarks.

    python -m tests.fuzz.alternatives --apps blur,harris --keep build/failed

For each application, every option of every decision is applied to the schedule that was
found for the application's own size. What it gives for a few small outputs, none of
them a multiple of a tile, is compared with what the schedule by hand gives. Each option
runs in a process of its own, in memory with edges (see `guarded`).
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import parhelion as hl
from apps.common import App, Array
from benchmarks.auto.estimates import set_estimates
from benchmarks.case import Case
from benchmarks.cases import all_cases, case
from parhelion.autoschedule.result import AutoSchedulerResults
from tests.fuzz.execute import Outcome, Report
from tests.fuzz.guarded import Guard

#: Outputs are by so much smaller than the applications', where those are larger than
#: `KEPT`: planes and channels are not.
SHRINK = (8, 50)
KEPT = 64
#: Seconds for compiling and running one option.
LIMIT = 240
#: Applications that take minutes for each option.
LONG = {"vgg"}


@dataclass(frozen=True)
class Failure:
    """What went wrong: the application, the option, and the schedule as Python."""

    app: str
    option: str
    message: str
    schedule: str


def sizes(of: Case) -> list[list[int]]:
    """The extents of the outputs to be computed, all odd but for what is kept."""
    (output,) = of.outputs
    return [[n if n <= KEPT else n // s | 1 for n in output.size] for s in SHRINK]


def realized(app: App, of: Case) -> list[Array]:
    """The output at each size."""
    return [np.asarray(app.output.realize(size)) for size in sizes(of)]


def by_hand(of: Case) -> list[Array]:
    """The output at each size: parts of what the application's own schedule gives,
    which may be for multiples of its tiles only."""
    app = of.build(hl, next(iter(of.schedules)))
    of.bind(hl, app, of.inputs())
    (output,) = of.outputs
    whole = np.asarray(app.output.realize(list(output.size)))
    return [whole[tuple([slice(n) for n in size[::-1]])].copy() for size in sizes(of)]


def apart(work: Callable[[Guard], str]) -> str:
    """What `work` says went wrong, in a copy of this process, or how that died."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        signal.alarm(LIMIT)
        faulthandler.disable()
        try:
            guard = Guard()
            try:
                found = work(guard)
            except Exception as error:  # no option may raise anything
                found = f"{type(error).__name__}: {error}"
            report = Report(Outcome.CLEAN)
            guard.end(report)
            os.write(writer, (found or report.message).encode()[:4000])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        text = answer.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGALRM:
            return f"no answer within {LIMIT} s"
        return f"the process died of {signal.Signals(number).name}"
    return text


def options(
    found: AutoSchedulerResults,
) -> Iterator[tuple[str, AutoSchedulerResults]]:
    """The schedule itself, and each that differs from it by one decision, once."""
    seen = {found.script.to_python()}
    yield "as found", found
    for decision in found.decisions:
        for option in decision.options:
            if option is decision.chosen or option.make is None:
                continue
            made = found.alternative(decision, option)
            text = made.script.to_python()
            if text not in seen:
                seen.add(text)
                yield f"{decision.kind} of {decision.func}: {option.label}", made


def failures(
    of: Case,
    scheduler: str,
    parallelism: int,
    one_in: int = 1,
    tell: Callable[[str], None] = print,
) -> Iterator[Failure]:
    """Those of one application, of every so many options. `tell` hears of each one
    before it is tried."""
    wanted = by_hand(of)
    images = of.inputs()
    app = of.algorithm(hl)
    set_estimates(of, app, images)
    found = hl.autoschedule(app.output, scheduler=scheduler, parallelism=parallelism)
    of.bind(hl, app, images)
    for label, made in itertools.islice(options(found), 0, None, one_in):
        tell(f"{of.name}, {label}")

        def work(_: Guard, made: AutoSchedulerResults = made) -> str:
            made.apply()
            for size, ours, theirs in zip(
                sizes(of), realized(app, of), wanted, strict=True
            ):
                difference = of.difference([ours], [theirs])
                if not of.same(difference):
                    return (
                        f"{size}: differs by {difference[0]:g} at {difference[1]:.2%}"
                    )
            return ""

        message = apart(work)
        if message:
            yield Failure(of.name, label, message, made.to_python())


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.alternatives", description=__doc__
    )
    parser.add_argument("--apps", help="names of benchmarks; all that are not long")
    parser.add_argument("--scheduler", default="Parhelion")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--one-in", type=int, default=1, help="of so many options")
    parser.add_argument("--keep", type=Path, help="a folder for schedules that failed")
    given = parser.parse_args()
    cases = (
        [case(name) for name in given.apps.split(",")]
        if given.apps
        else [c for c in all_cases() if c.name not in LONG]
    )
    count = failed = 0

    def tell(what: str) -> None:
        nonlocal count
        count += 1
        print(what, flush=True)

    for of in cases:
        for one in failures(of, given.scheduler, given.parallelism, given.one_in, tell):
            failed += 1
            print(f"FAILED: {one.message}", flush=True)
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                path = given.keep / f"{one.app}_{failed}.py"
                what = one.message.replace("\n", "\n# ")
                path.write_text(f"# {one.app}, {one.option}\n# {what}\n{one.schedule}")
    print(f"{count} schedules, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
