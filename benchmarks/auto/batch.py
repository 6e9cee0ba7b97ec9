"""Schedules that a scheduler makes when told different things, timed on one case.

    python -m benchmarks.auto.batch SPEC LABEL...

SPEC is a file as `Spec` writes it. Each schedule is made, printed, and run from its
text. A text that is known, or that an earlier label has, is not run again. Says what
`benchmarks.auto.runtime` does; the number of threads comes from HL_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import parhelion as hl
from apps.common import Array
from benchmarks.auto import supervise
from benchmarks.auto.contenders import Ready, compiled, run_text
from benchmarks.auto.estimates import set_estimates
from benchmarks.auto.load import Others
from benchmarks.auto.runtime import SLOW, own_output, say, warm_up
from benchmarks.auto.series import find
from benchmarks.case import Case, Image
from benchmarks.runtime import measure


@dataclass(frozen=True)
class Maker:
    """Where a schedule comes from: the case whose sizes the scheduler is told, the
    scheduler, and its parameters."""

    made_for: str
    scheduler: str
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class Spec:
    """The case that is run, what makes its schedules by label, and the digests of
    schedules whose times are known."""

    case: str
    makers: Mapping[str, Maker]
    known: Sequence[str] = ()

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Spec:
        facts = json.loads(path.read_text())
        makers = {label: Maker(**m) for label, m in facts["makers"].items()}
        return cls(facts["case"], makers, facts["known"])


def digest(text: str) -> str:
    """The same for the same schedule, whatever the comments say: the first of them
    names the parameters."""
    code = ast.dump(ast.parse(text))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def run_batch(
    spec: Spec, threads: int, seconds: float
) -> tuple[dict[str, dict[str, Any]], float | None]:
    """What `supervise.measure` finds of the labels of a spec, in a process of its own
    with so many threads. seconds: to measure one schedule. Raises supervise.Failed."""
    labels = list(spec.makers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.json"
        spec.write(path)
        command = ["-m", "benchmarks.auto.batch", str(path)]
        return supervise.measure(command, labels, threads, seconds * len(labels))


def text_of(maker: Maker, case: Case, images: Mapping[str, Image]) -> str:
    """The schedule that is made for a case, as Python."""
    app = case.algorithm(hl)
    set_estimates(case, app, images)
    params = hl.AutoschedulerParams(maker.scheduler, dict(maker.parameters))
    pipeline = hl.Pipeline([app.output])
    return pipeline.apply_autoscheduler(hl.get_host_target(), params).to_python()


def run(spec: Spec, labels: Sequence[str], seconds: float, out: TextIO) -> None:
    """Makes the schedules of these labels, runs those that are new, and says to `out`
    what comes of it. seconds: to measure one."""
    subject = find(spec.case)
    images = subject.inputs()
    seen = set(spec.known)
    runs: dict[str, Callable[[], object]] = {}
    slow: dict[str, dict[str, float]] = {}
    alive: list[Ready] = []
    first: list[Array] | None = None
    errors = (RuntimeError, ValueError, TypeError, hl.HalideError)
    warm_up(hl)
    for label in labels:
        maker = spec.makers[label]
        say(out, preparing=label)
        facts: dict[str, Any] = {}
        try:
            own = maker.made_for == spec.case
            other = subject if own else find(maker.made_for)
            start = time.perf_counter()
            text = text_of(maker, other, images if own else other.inputs())
            facts |= {"schedule": time.perf_counter() - start, "digest": digest(text)}
            if facts["digest"] in seen:
                say(out, prepared=label, **facts)
                continue
            seen.add(facts["digest"])
            # Should it bring the process down, then it is known which schedule did.
            say(out, preparing=label, **facts)
            app = subject.algorithm(hl)
            run_text(hl, app, text, label)
            ready = compiled(hl, subject, app, images, facts)
            start = time.perf_counter()
            ready.run()
            taken = time.perf_counter() - start
        except errors as error:
            said = str(error).strip().splitlines() or [""]
            why = f"{type(error).__name__}: {said[0]}"
            say(out, prepared=label, **facts, failed=why)
            continue
        alive.append(ready)
        first = ready.results if first is None else first
        apart = subject.difference(first, ready.results)
        same = subject.same(apart)
        say(out, prepared=label, **facts, same=same, difference=apart[0], python=text)
        if taken > SLOW:
            slow[label] = {"min": taken, "median": taken, "runs": 1}
        else:
            runs[label] = ready.run
    others = Others()
    times = slow | (measure(runs, seconds * len(runs)) if runs else {})
    say(out, times=times, others=others.share())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("labels", nargs="+")
    parser.add_argument("--seconds", type=float, default=10.0, help="for all of them")
    options = parser.parse_args()
    spec = Spec.read(options.spec)
    each = options.seconds / len(spec.makers)
    run(spec, options.labels, each, own_output())


if __name__ == "__main__":
    main()
