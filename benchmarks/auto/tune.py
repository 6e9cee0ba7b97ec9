"""Tuning the parameters of schedulers by measuring: section 5.1 of the 2016 paper.

    python -m benchmarks.auto.tune --baseline --reduced --polymage --full

For each application every point of the searches is scheduled, in several processes at
once; each schedule that is new is compiled and run, beside the scheduler
`Mullapudi2016` as it is. All are timed for a short while, the fastest and that one for
longer. What is found is added to a file for each application and number of threads
under out/tune, and what is there is not run again, so that a search can be interrupted,
or ended by `--within`: the points are taken in an order that is spread over the grid.
Times are compared within a process.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.auto import supervise, tuning_page
from benchmarks.auto.batch import Spec, run_batches
from benchmarks.auto.kept import FOLDER, Entry, Kept
from benchmarks.auto.made import JOBS, Made, Makers
from benchmarks.auto.points import KINDS, REFERENCE, Point, spread
from benchmarks.cases import ORDER

#: Points that are scheduled before their schedules are run, and schedules that one
#: process runs.
CHUNK, BATCH = 24, 12

#: From points to their schedules.
Make = Callable[[Sequence[Point]], Mapping[Point, Made]]
#: From schedules as Python, by label, to the entries of what ran.
Run = Callable[[Mapping[str, str]], list[Entry]]


def measured(
    case: str, threads: int, seconds: float, texts: Mapping[str, str]
) -> list[Entry]:
    """Entries of schedules, from as many processes as it takes; the reference, which is
    among them, runs in each."""
    labels = [label for label in texts if label != REFERENCE.label]
    beside = {n: text for n, text in texts.items() if n == REFERENCE.label}
    count = max(1, -(-len(labels) // BATCH))
    if len(labels) >= JOBS:  # Those that are prepared together are as many each time.
        count = -(-count // JOBS) * JOBS
    parts = [labels[k::count] for k in range(count)]
    specs = [
        Spec(case, beside | {n: texts[n] for n in part}, list(beside)) for part in parts
    ]
    entries: list[Entry] = []
    for spec, found in zip(specs, run_batches(specs, threads, seconds), strict=True):
        if isinstance(found, supervise.Failed):
            entries += [{"label": n, "failed": str(found)} for n in spec.texts]
        else:
            entries += _beside(*found)
    return entries


def _beside(
    found: Mapping[str, Mapping[str, Any]], others: float | None
) -> list[Entry]:
    """Entries that know what the reference took in their process."""
    reference = found.get(REFERENCE.label, {}).get("min")
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
    make: Make,
    run: Run,
    progress: Callable[[int], object],
    ends: float = float("inf"),
) -> None:
    """Schedules the points that are not known, chunk by chunk, and runs what is new as
    soon as that is enough for all processes; keeps what is found.

    progress: is told how many points are done. ends: when, by `time.monotonic`, no
    further chunk is begun.
    """
    missing = known.missing(points)
    waiting: list[Point] = []
    made: dict[Point, Made] = {}
    fresh: dict[str, Point] = {}
    for k in range(0, len(missing), CHUNK):
        chunk = missing[k : k + CHUNK]
        made |= make([REFERENCE, *chunk])
        waiting += chunk
        for point in chunk:
            if not made[point].failed and made[point].digest not in known.digests:
                fresh.setdefault(made[point].digest, point)
        late = time.monotonic() > ends
        if late or len(fresh) >= BATCH * JOBS or k + CHUNK >= len(missing):
            _run(known, waiting, made, list(fresh.values()), run)
            progress(len(waiting))
            waiting, fresh = [], {}
        if late:
            return


def _run(
    known: Kept,
    points: Sequence[Point],
    made: Mapping[Point, Made],
    fresh: Sequence[Point],
    run: Run,
) -> None:
    """Runs the schedules of the points in `fresh`, and keeps all points."""
    if known.reference is None:
        # It may be the schedule of a point as well.
        mine = made[REFERENCE].digest
        fresh = [REFERENCE, *[p for p in fresh if made[p].digest != mine]]
        points = [REFERENCE, *[p for p in points if p != REFERENCE]]
    ran: dict[str, Entry] = {}
    if fresh:
        texts = {p.label: made[p].python for p in (REFERENCE, *fresh)}
        for entry in run(texts):
            ran.setdefault(str(entry["label"]), entry)
    # An interruption leaves no point without the one that has its time.
    points = sorted(points, key=lambda p: p.label not in ran)
    known.add(_whole(p, made[p], ran.get(p.label, {})) for p in points)


def _whole(point: Point, made: Made, ran: Entry) -> Entry:
    """All that is kept of a point."""
    if made.failed:
        return {"label": point.label, "failed": made.failed}
    entry: dict[str, Any] = {"schedule": made.seconds, **ran}
    entry |= {"label": point.label, "digest": made.digest}
    if "min" in entry:
        entry["python"] = made.python
    return entry


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.auto.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, points in KINDS.items():
        are = "point" if len(points) == 1 else "points"
        parser.add_argument(
            f"--{name}",
            dest="kinds",
            action="append_const",
            const=name,
            help=f"{len(points)} {are} of {points[0].scheduler}",
        )
    parser.add_argument("--apps", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.2,
        help="to measure one schedule; fast ones get five times as long",
    )
    parser.add_argument(
        "--within",
        type=float,
        default=float("inf"),
        help="seconds after which the searches of one application, at one number of"
        " threads, take no further points; by default never",
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
    if options.kinds is None and options.page is None:
        every = ", ".join(f"--{kind}" for kind in KINDS)
        parser.error(f"say which searches: {every}; or --page")
    kinds = [kind for kind in KINDS if kind in (options.kinds or ())]
    if kinds:
        with Makers() as makers:
            for name in names:
                for threads in options.threads:
                    search(kinds, name, threads, options, makers)
    everything = [
        (n, t, Kept(n, t, options.out)) for n in names for t in options.threads
    ]
    print(tuning_page.tuned(everything))
    for *_, known in everything:
        for kind in kinds:
            write_best(known, kind)
    if options.page:
        tuning_page.write(options.page, options.out)
        print(f"wrote {options.page}")
    return 0


def search(
    kinds: Sequence[str],
    name: str,
    threads: int,
    options: argparse.Namespace,
    makers: Makers,
) -> None:
    """The searches of one application, one after the other, with a progress bar."""
    # An extra: what draws the page alone does not need it.
    from tqdm import tqdm

    each = [spread(KINDS[kind][: options.limit]) for kind in kinds]
    points = list(dict.fromkeys(p for some in each for p in some))
    known = Kept(name, threads, options.out)
    done = len(points) - len(known.missing(points))

    def make(some: Sequence[Point]) -> dict[Point, Made]:
        found = makers.make(p.maker(name, threads) for p in some)
        return {p: found[p.maker(name, threads)] for p in some}

    with tqdm(total=len(points), initial=done, desc=f"{name}, {threads} thr") as bar:
        run = partial(measured, name, threads, options.seconds)
        ends = time.monotonic() + options.within
        sweep(known, points, make, run, bar.update, ends)


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
