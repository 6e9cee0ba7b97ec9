"""Tuning the parameters of schedulers by measuring: section 5.1 of the 2016 paper.

    python -m benchmarks.auto.tune --reduced | --full | --polymage

For each application every point of the search is scheduled, compiled and run, beside
the scheduler `Mullapudi2016` as it is; schedules that are the same are run once. What
is found is added to a file for each application and number of threads under
out/tune, and what is there is not run again, so that a search can be interrupted.
A batch of points has a process of its own. Times are compared within a process.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.auto import supervise, tuning_page
from benchmarks.auto.batch import Maker, Spec, run_batch
from benchmarks.auto.kept import FOLDER, Entry, Kept
from benchmarks.auto.points import KINDS, REFERENCE, Point
from benchmarks.cases import ORDER

#: Points of one process.
BATCH = 16


def measured(
    case: str,
    threads: int,
    seconds: float,
    points: Sequence[Point],
    known: Sequence[str],
) -> list[Entry]:
    """Entries of the reference and of these points, from one process."""
    chosen = (REFERENCE, *(p for p in points if p != REFERENCE))
    makers = {p.label: Maker(case, p.scheduler, p.told(threads)) for p in chosen}
    try:
        found, others = run_batch(Spec(case, makers, known), threads, seconds)
    except supervise.Failed as error:
        return [{"label": p.label, "failed": str(error)} for p in points]
    reference = found[REFERENCE.label].get("min")
    entries: list[Entry] = []
    for label, facts in found.items():
        entry: dict[str, Any] = {"label": label, **facts}
        if "min" in entry:
            entry["others"] = others
            if reference is not None:
                entry["reference"] = reference
        entries.append(entry)
    return entries


def sweep(
    known: Kept,
    points: Sequence[Point],
    run: Callable[[list[Point], list[str]], list[Entry]],
    progress: Callable[[int], object],
) -> None:
    """Runs, batch by batch, the points that are not known, and keeps what is found.

    run: gives the entries of points, and maybe the reference's, when told which digests
    are known. progress: is told how many points are done.
    """
    missing = known.missing(points)
    for k in range(0, len(missing), BATCH):
        batch = missing[k : k + BATCH]
        digests = known.digests
        # The reference runs in every process; its digest is known after the first.
        mine = known.entries.get(REFERENCE.label, {}).get("digest")
        entries = run(batch, [d for d in digests if d != mine])
        late = known.reference is None
        known.add(
            e
            for e in entries
            if e["label"] not in known.entries
            or (late and e["label"] == REFERENCE.label and "min" in e)
        )
        progress(len(batch))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.auto.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kind = parser.add_mutually_exclusive_group()
    for name, points in KINDS.items():
        kind.add_argument(
            f"--{name}",
            dest="kind",
            action="store_const",
            const=name,
            help=f"{len(points)} points of {points[0].scheduler}",
        )
    parser.add_argument("--apps", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="to measure one schedule"
    )
    parser.add_argument("--limit", type=int, help="only the first points")
    parser.add_argument("--out", type=Path, default=FOLDER, help="default: %(default)s")
    parser.add_argument(
        "--page", type=Path, help="draw this page from all that is kept"
    )
    return parser


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    names = [n for n in ORDER if n.startswith(tuple(options.apps))]
    if not names:
        parser.error(f"no application begins with {' or '.join(options.apps)}")
    if options.kind is None and options.page is None:
        parser.error("say --reduced, --full or --polymage, or --page")
    if options.kind is not None:
        # An extra: what draws the page alone does not need it.
        from tqdm import tqdm

        points = KINDS[options.kind][: options.limit]
        for name in names:
            for threads in options.threads:
                known = Kept(name, threads, options.out)
                done = len(points) - len(known.missing(points))
                with tqdm(
                    total=len(points), initial=done, desc=f"{name}, {threads} thr"
                ) as bar:
                    sweep(
                        known,
                        points,
                        partial(measured, name, threads, options.seconds),
                        bar.update,
                    )
    everything = [
        (n, t, Kept(n, t, options.out)) for n in names for t in options.threads
    ]
    print(tuning_page.tuned(everything))
    for *_, known in everything:
        if options.kind is not None:
            write_best(known, options.kind)
    if options.page:
        tuning_page.write(options.page, options.out)
        print(f"wrote {options.page}")
    return 0


def write_best(known: Kept, kind: str) -> None:
    """Keeps the fastest schedule that a search found as Python, beside its results."""
    best = known.best(KINDS[kind])
    if best is None:
        return
    entry = known.measured(best[0])
    assert entry is not None
    path = known.path.with_name(f"{known.path.stem}_{kind}.py")
    path.write_text(str(entry["python"]))


if __name__ == "__main__":
    sys.exit(main())
