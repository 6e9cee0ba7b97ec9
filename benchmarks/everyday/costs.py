"""What other costs would do: schedules found with some of the model's costs changed.

    python -m benchmarks.everyday.costs row=0.5 far_byte=0.5,far_write=0.5

Each argument is one change: names of `machine.Machine`'s numbers, and by what they are
multiplied. Every pipeline is scheduled with each change, all different schedules are
timed in turn, and it is shown what each change does to the time. This is how the costs
of a family of processors are found: on the group to fit on, never on the last one.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.auto import supervise
from benchmarks.auto.batch import Spec, run_batches
from benchmarks.auto.made import JOBS, Maker, digest, make
from benchmarks.auto.plain import aligned
from benchmarks.everyday.pipeline import GROUPS
from benchmarks.everyday.pipelines import all_pipelines
from parhelion.autoschedule.machine import calibration
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.search import scheduler

#: Where times are kept, so that more changes do not measure the same again.
JSON = Path("out/costs.json")
PLAIN = "plain"
Change = tuple[tuple[str, float], ...]


def change(text: str) -> Change:
    """The names and factors that an argument gives."""
    parts = [one.partition("=") for one in text.split(",")]
    return tuple([(name, float(factor)) for name, _, factor in parts])


def changed(machine: Machine, changes: Change) -> Machine:
    """A machine with some of its numbers multiplied."""
    for name, factor in changes:
        value = getattr(machine, name)
        value = type(value)(value * factor)
        machine = replace(machine, **{name: value})
    return machine


def made(job: tuple[str, Change, int]) -> str:
    """The schedule, as Python, of a pipeline with a change, for so many threads."""
    name, changes, threads = job
    plain = calibration.known(threads)
    known = replace(plain, machine=changed(plain.machine, changes))
    maker = Maker(name, scheduler.NAME, (("parallelism", str(threads)),))
    with mock.patch.object(scheduler, "known", lambda _: known):
        found = make(maker)
    if found.failed:
        raise RuntimeError(f"{name}: {found.failed}")
    return found.python


def measured(
    specs: Sequence[Spec], threads: int, seconds: float
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The times of each pipeline's schedules over the plain one's."""
    for spec, found in zip(specs, run_batches(specs, threads, seconds), strict=True):
        if isinstance(found, supervise.Failed):
            print(f"{spec.case}: {found}", flush=True)
            continue
        entries, _ = found
        least = {k: e["min"] for k, e in entries.items() if "min" in e}
        failed = {k: e["failed"] for k, e in entries.items() if "failed" in e}
        for label, why in failed.items():
            print(f"{spec.case} {label}: {why}", flush=True)
        plain = least.pop(spec.always[0])
        yield spec.case, {k: t / plain for k, t in least.items()}


def table(
    texts: Mapping[str, Mapping[str, str]], times: Mapping[str, Mapping[str, float]]
) -> str:
    """For each change, what it does to all, and to those which it alters most."""
    rows = [["change", "geomean", "altered", "shorter and longer ones"]]
    for label in next(iter(texts.values())):
        logs: dict[str, float] = {}
        altered = 0
        for name, of in texts.items():
            key = of[label]
            if key == of[PLAIN]:
                logs[name] = 0.0
            elif key in times.get(name, {}):
                logs[name] = math.log(times[name][key])
                altered += 1
        by_gain = sorted(logs, key=lambda n: -abs(logs[n]))[:7]
        told = [f"{n} {math.exp(logs[n]):.2f}" for n in by_gain if abs(logs[n]) > 0.03]
        mean = math.exp(sum(logs.values()) / max(len(logs), 1))
        rows.append([label, f"{mean:.3f}", str(altered), ", ".join(told)])
    return aligned(rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("changes", nargs="+")
    parser.add_argument("--group", nargs="*", choices=GROUPS[:-1], default=["fit"])
    parser.add_argument("--names", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument(
        "--apps", nargs="*", default=[], help="applications beside them"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each schedule")
    options = parser.parse_args()
    taking = [
        p.name
        for p in all_pipelines()
        if p.group in options.group and p.name.startswith(tuple(options.names))
    ] + options.apps
    labels = {PLAIN: (), **{text: change(text) for text in options.changes}}
    jobs = [(n, c, options.threads) for n in taking for c in labels.values()]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(JOBS, mp_context=context) as pool:
        found = iter(list(pool.map(made, jobs, chunksize=4)))
    schedules: dict[str, dict[str, str]] = {}
    texts: dict[str, dict[str, str]] = {}
    for name in taking:
        schedules[name] = {label: next(found) for label in labels}
        texts[name] = {label: digest(t) for label, t in schedules[name].items()}
    kept: dict[str, Any] = json.loads(JSON.read_text()) if JSON.exists() else {}
    times: dict[str, dict[str, float]] = {}
    specs = []
    for name in taking:
        # Figures are over the plain schedule's, and hold as long as that is the same.
        plain = texts[name][PLAIN]
        known = kept.setdefault(f"{name} {options.threads} {plain}", {})
        times[name] = known
        new = {
            texts[name][label]: schedules[name][label]
            for label in labels
            if texts[name][label] not in {plain, *known}
        }
        if new:
            specs.append(Spec(name, {plain: schedules[name][PLAIN], **new}, [plain]))
    for name, ratios in measured(specs, options.threads, options.seconds):
        times[name].update(ratios)
        JSON.parent.mkdir(exist_ok=True)
        JSON.write_text(json.dumps(kept, indent=1))
    print(table(texts, times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
