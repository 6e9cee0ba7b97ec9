"""What a schedule gains by being made for its size: section 5.2 of the 2016 paper.

    python -m benchmarks.auto.specialise

Layers of VGG-16, Harris of several sizes and the local Laplacian filter of several
numbers of bins each run with the schedule that is made for them, and with those that
are made for the others, each re-used as the Python text that it is printed as. All that
run on one case do so in turn in one process. The single schedule they are compared with
is that for 2000 x 2000 pixels and for 8 bins; of the layers' schedules, that with the
best geometric mean over all layers of those that run on all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.auto import supervise, tuning_page
from benchmarks.auto.batch import Maker, Spec, run_batch
from benchmarks.auto.points import Point
from benchmarks.auto.series import SERIES, Series
from benchmarks.auto.specialised import FILE, Entry, gains_of, seconds_of


def measured(
    series: Series, case: str, scheduler: str, threads: int, seconds: float
) -> dict[str, Entry]:
    """Entries of the schedules that run on a case, by the case they are made for."""
    others_made_for = [series.fixed] if series.fixed else list(series.cases)
    made_for = dict.fromkeys([case, *others_made_for])
    told = Point(scheduler).told(threads)
    makers = {n: Maker(series.cases[n].name, scheduler, told) for n in made_for}
    spec = Spec(series.cases[case].name, makers)
    try:
        found, others = run_batch(spec, threads, seconds)
    except supervise.Failed as error:
        return {n: {"failed": str(error)} for n in makers}
    for entry in found.values():
        entry.pop("python", None)
        entry["others"] = others
    return dict(found)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.auto.specialise",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--apps", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="to measure one schedule"
    )
    parser.add_argument("--scheduler", default="Mullapudi2016")
    parser.add_argument(
        "--limit", type=int, help="only the first cases of each of them"
    )
    parser.add_argument("--json", type=Path, default=FILE, help="default: %(default)s")
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
        for name in names:
            series = SERIES[name]
            for threads in options.threads:
                found: dict[str, Any] = {}
                results.setdefault(name, {})[str(threads)] = {
                    "scheduler": options.scheduler,
                    "cases": found,
                }
                for case in list(series.cases)[: options.limit]:
                    found[case] = measured(
                        series, case, options.scheduler, threads, options.seconds
                    )
                    own = seconds_of(found[case], case)
                    told = "failed" if own is None else f"{own * 1e3:.2f} ms"
                    print(f"{name} {case}, {threads} thr: {told}", flush=True)
                    # After each: what an interruption leaves can be drawn.
                    write(results, options.json)
    print(tuning_page.specialised(gains_of(results)))
    if options.page:
        tuning_page.write(options.page, specialise=options.json)
        print(f"wrote {options.page}")
    return 0


def write(results: Mapping[str, Any], path: Path) -> None:
    """Replaces the file as a whole, so that an interruption leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(results, indent=1) + "\n")
    fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
