"""Schedules of one case, each run from its text, timed in turn in one process.

    python -m benchmarks.auto.batch SPEC LABEL...

SPEC is a file as `Spec` writes it. Says what `benchmarks.auto.runtime` does; the number
of threads comes from HL_NUM_THREADS. Several processes may prepare at once; each waits
until the others do nothing before it measures.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import parhelion as hl
from apps.common import Array
from benchmarks.auto import supervise
from benchmarks.auto.contenders import Ready, compiled, run_text
from benchmarks.auto.gate import Gate
from benchmarks.auto.load import Others
from benchmarks.auto.made import ERRORS, JOBS, reason
from benchmarks.auto.runtime import SLOW, own_output, say, warm_up
from benchmarks.auto.runtime import timed as timed_run
from benchmarks.auto.series import find
from benchmarks.auto.steady import steady
from benchmarks.runtime import measure

#: Times that are this much above the least are measured again, for so many times as
#: long, where only the fastest matter.
CLOSE, LONGER = 1.1, 4.0


@dataclass(frozen=True)
class Spec:
    """The case that is run, and its schedules by label. always: those whose times
    matter however slow they are; of the others, only the fastest's do."""

    case: str
    texts: Mapping[str, str]
    always: Sequence[str] = ()

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Spec:
        return cls(**json.loads(path.read_text()))


#: Of each label what is known of it, and the share of the computer that others used.
Found = tuple[dict[str, dict[str, Any]], float | None]


def run_batches(
    specs: Sequence[Spec],
    threads: int,
    seconds: float,
    silence: float = supervise.SILENCE,
) -> list[Found | supervise.Failed]:
    """What `supervise.measure` finds of each spec, in a process of its own with so many
    threads; as many of them at once as there are to prepare schedules.

    seconds: to measure one schedule. silence: what one may take to be prepared and run
    once. A process that failed leaves its error.
    """
    found: list[Found | supervise.Failed] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(JOBS) as pool:
        gate = Path(folder) / "gate"

        def one(k: int) -> Found | supervise.Failed:
            path = Path(folder) / f"{k}.json"
            specs[k].write(path)
            labels = list(specs[k].texts)
            command = ["-m", "benchmarks.auto.batch", str(path), "--gate", str(gate)]
            budget = seconds * len(labels)
            try:
                return supervise.measure(command, labels, threads, budget, silence)
            except supervise.Failed as error:
                return error

        # Not more at once, and no new ones before all have ended: those that begin
        # would disturb the one that measures.
        for k in range(0, len(specs), JOBS):
            found += pool.map(one, range(k, min(k + JOBS, len(specs))))
    return found


def run(
    spec: Spec, labels: Sequence[str], seconds: float, out: TextIO, gate: Gate
) -> None:
    """Compiles and runs the schedules of these labels, and says to `out` what comes of
    it. seconds: to measure one."""
    with gate.together():
        runs, slow, _alive = prepared(spec, labels, out)
    with gate.alone():
        others = Others()
        times = slow | timed(runs, spec.always, seconds)
        say(out, times=times, others=others.share())


def prepared(
    spec: Spec, labels: Sequence[str], out: TextIO
) -> tuple[dict[str, Callable[[], object]], dict[str, dict[str, float]], list[Ready]]:
    """What runs each schedule; the times of those that take long; all that must stay
    alive meanwhile."""
    subject = find(spec.case)
    images = subject.inputs()
    runs: dict[str, Callable[[], object]] = {}
    slow: dict[str, dict[str, float]] = {}
    alive: list[Ready] = []
    first: list[Array] | None = None
    warm_up(hl)
    for label in labels:
        say(out, preparing=label)
        facts: dict[str, Any] = {}
        try:
            app = subject.algorithm(hl)
            run_text(hl, app, spec.texts[label], label)
            ready = compiled(hl, subject, app, images, facts)
            taken = timed_run(ready.run)
            if taken > SLOW:
                # The first run has perhaps compiled for these sizes.
                taken = timed_run(ready.run)
        except ERRORS as error:
            say(out, prepared=label, **facts, failed=reason(error))
            continue
        alive.append(ready)
        first = ready.results if first is None else first
        apart = subject.difference(first, ready.results)
        same = subject.same(apart)
        say(out, prepared=label, **facts, same=same, difference=apart[0])
        if taken > SLOW:
            slow[label] = {"min": taken, "median": taken, "runs": 1}
        else:
            runs[label] = ready.run
    return runs, slow, alive


def timed(
    runs: Mapping[str, Callable[[], object]], always: Sequence[str], seconds: float
) -> dict[str, dict[str, float]]:
    """Times of all, good ones of those that matter."""
    matter = [name for name in runs if name in always]
    quick: dict[str, dict[str, float]] = {}
    longer = seconds
    if len(matter) < len(runs):
        quick = measure(runs, seconds * len(runs))
        least = min(times["min"] for times in quick.values())
        close = [n for n, t in quick.items() if t["min"] <= CLOSE * least]
        matter = list(dict.fromkeys([*matter, *close]))
        longer = seconds * LONGER
    found = steady({name: runs[name] for name in matter}, longer * len(matter))
    for name, times in quick.items():
        if name in found:
            found[name]["min"] = min(found[name]["min"], times["min"])
        else:
            found[name] = times
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("labels", nargs="+")
    parser.add_argument("--seconds", type=float, default=10.0, help="for all of them")
    parser.add_argument("--gate", type=Path, required=True, help="a file to lock")
    options = parser.parse_args()
    spec = Spec.read(options.spec)
    each = options.seconds / len(spec.texts)
    run(spec, options.labels, each, own_output(), Gate(options.gate))


if __name__ == "__main__":
    main()
