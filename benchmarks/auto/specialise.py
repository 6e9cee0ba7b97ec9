"""What a schedule gains by being made for its size: section 5.2 of the 2016 paper.

    python -m benchmarks.auto.specialise

Layers of VGG-16, Harris of several sizes and the local Laplacian filter of several
numbers of bins each run with the schedule that is made for them, and with those that
are made for the others, each re-used as the Python text that it is printed as. All that
run on one case do so in turn in one process. What is there already is not run again
(`--resume`). The single schedule they are compared with
is that for 2000 x 2000 pixels and for 8 bins; of the layers' schedules, that with the
best geometric mean over all layers of those that run on all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.auto import supervise, tuning_page
from benchmarks.auto.batch import Spec, run_batches
from benchmarks.auto.made import JOBS, Maker, Makers
from benchmarks.auto.points import Point
from benchmarks.auto.series import SERIES, Series
from benchmarks.auto.specialised import FILE, Entry, gains_of, seconds_of


def measured(
    series: Series,
    cases: Sequence[str],
    scheduler: str,
    threads: int,
    seconds: float,
    makers: Makers,
) -> dict[str, dict[str, Entry]]:
    """Of cases of a series, the entries of the schedules that run on them, by the case
    that they are made for."""
    told = tuple(Point(scheduler).told(threads).items())
    each = {n: Maker(case.name, scheduler, told) for n, case in series.cases.items()}
    wanted = {n: _made_for(series, n) for n in cases}
    made = makers.make(each[m] for names in wanted.values() for m in names)
    specs = []
    for name, names in wanted.items():
        right = [made[each[m]] for m in names if not made[each[m]].failed]
        # By digest: schedules of one text run once.
        texts = {one.digest: one.python for one in right}
        specs.append(Spec(series.cases[name].name, texts, list(texts)))
    results: dict[str, dict[str, Entry]] = {}
    every = run_batches(specs, threads, seconds)
    for (name, names), found in zip(wanted.items(), every, strict=True):
        entries = results[name] = {}
        for m in names:
            one = made[each[m]]
            if isinstance(found, supervise.Failed):
                entries[m] = {"failed": str(found)}
            elif one.failed:
                entries[m] = {"failed": one.failed}
            else:
                ran = {**found[0].get(one.digest, {}), "others": found[1]}
                entries[m] = {"schedule": one.seconds, "digest": one.digest, **ran}
    return results


def _made_for(series: Series, case: str) -> list[str]:
    """The cases whose schedules run on a case, itself first."""
    others = [series.fixed] if series.fixed else list(series.cases)
    return list(dict.fromkeys([case, *others]))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.auto.specialise",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--apps", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument(
        "--seconds", type=float, default=0.6, help="to measure one schedule"
    )
    parser.add_argument("--scheduler", default="Mullapudi2016")
    parser.add_argument(
        "--limit", type=int, help="only the first cases of each of them"
    )
    parser.add_argument("--json", type=Path, default=FILE, help="default: %(default)s")
    parser.add_argument(
        "--resume", action="store_true", help="measure only what the JSON file lacks"
    )
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("--page", type=Path, help="draw this page and its plot")
    return parser


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    names = [n for n in SERIES if n.startswith(tuple(options.apps))]
    if not names:
        parser.error(f"none of {', '.join(SERIES)} begins like that")
    results: dict[str, Any] = {}
    if options.json.exists():
        results = json.loads(options.json.read_text())
    if not options.draw:
        with Makers() as makers:
            for name in names:
                for threads in options.threads:
                    one_series(name, threads, options, results, makers)
    print(tuning_page.specialised(gains_of(results)))
    if options.page:
        tuning_page.write(options.page, specialise=options.json)
        print(f"wrote {options.page}")
    return 0


def one_series(
    name: str,
    threads: int,
    options: argparse.Namespace,
    results: dict[str, Any],
    makers: Makers,
) -> None:
    """Measures one series at one number of threads, as many cases at once as processes
    prepare, and writes after each: what an interruption leaves can be drawn."""
    series = SERIES[name]
    at = results.setdefault(name, {}).setdefault(str(threads), {})
    if not options.resume or at.get("scheduler") != options.scheduler:
        at |= {"scheduler": options.scheduler, "cases": {}}
    found: dict[str, Any] = at["cases"]
    cases = [c for c in list(series.cases)[: options.limit] if c not in found]
    for k in range(0, len(cases), JOBS):
        some = cases[k : k + JOBS]
        found |= measured(
            series, some, options.scheduler, threads, options.seconds, makers
        )
        for case in some:
            own = seconds_of(found[case], case)
            told = "failed" if own is None else f"{own * 1e3:.2f} ms"
            print(f"{name} {case}, {threads} thr: {told}", flush=True)
        write(results, options.json)


def write(results: Mapping[str, Any], path: Path) -> None:
    """Replaces the file as a whole, so that an interruption leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(results, indent=1) + "\n")
    fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
