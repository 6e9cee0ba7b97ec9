"""Everyday pipelines under the default scheduler, beside schedules that it must beat.

    python -m benchmarks.everyday --group fit look --threads 1,2

Some fifty pipelines in the manner of OpenCV's, scikit-image's, SciPy's and kornia's
users, in three groups by a hash of the name. Of the group "final" only figures of the
whole are printed, so that nobody chooses constants by its pipelines; ``--reveal`` shows
them. ``--search`` makes what is kept: Adams2019's schedules (up to 180 s each)
and the best of 30 random ones. ``--stability`` schedules with a fifth fewer and more
evaluations and with equal choices in other orders, and runs what differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.auto import adams, library, supervise
from benchmarks.auto.__main__ import write
from benchmarks.auto.batch import Spec, run_batches
from benchmarks.auto.made import digest
from benchmarks.auto.plain import aligned
from benchmarks.everyday import baselines, drawing, page, table, variants
from benchmarks.everyday.contenders import BASELINES, OURS
from benchmarks.everyday.pipeline import GROUPS, Pipeline
from benchmarks.everyday.pipelines import all_pipelines
from benchmarks.machine import machine

#: Where the figures are kept; those of the last group apart.
JSON = Path("out/everyday.json")
FINAL = JSON.with_name("everyday-final.json")


def numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",")]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.everyday",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--group", nargs="*", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--names", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="default: 1,2")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of labels")
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="to measure a pipeline at one count"
    )
    parser.add_argument(
        "--gate",
        type=Path,
        help="a file that is locked while times are taken, for others to keep still",
    )
    parser.add_argument("--list", action="store_true", help="print all pipelines")
    parser.add_argument(
        "--search", action="store_true", help="only make the schedules that are kept"
    )
    parser.add_argument(
        "--skip-adams", action="store_true", help="with --search: random ones only"
    )
    parser.add_argument(
        "--stability", action="store_true", help="only see what chances change"
    )
    parser.add_argument(
        "--resume", action="store_true", help="measure only what the files lack"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="forget what the files have"
    )
    parser.add_argument(
        "--reveal", action="store_true", help="show the last group's pipelines too"
    )
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("--page", type=Path, help="draw this page")
    return parser


def path_of(group: str) -> Path:
    return FINAL if group == GROUPS[-1] else JSON


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"cases": {}}
    if path.exists():
        found = json.loads(path.read_text())
    return found


def measure(p: Pipeline, threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """One pipeline at one number of threads: its contenders, or why it failed."""
    every = [c.label for c in (*BASELINES.values(), OURS)]
    labels = [n for n in every if any(part in n for part in options.only)]
    command = ["-m", "benchmarks.everyday.runtime", p.name]
    if options.gate:
        command += ["--gate", str(options.gate)]
    start = time.perf_counter()
    entry: dict[str, Any] = {}
    try:
        found, others = supervise.measure(command, labels, threads, options.seconds)
        for facts in found.values():
            python = facts.pop("python", None)
            if python is not None:
                facts["digest"] = library.digest(python)
        entry |= {"contenders": found, "others": others}
    except supervise.Failed as error:
        entry["failed"] = str(error)
    entry["took"] = time.perf_counter() - start
    return entry


def stability(p: Pipeline, threads: int, seconds: float) -> dict[str, float]:
    """By the variant of the scheduler, the time of its schedule over the plain one's;
    1 where it is the same. Raises supervise.Failed."""
    texts = variants.texts(p.case(), threads)
    keys = {name: digest(text) for name, text in texts.items()}
    different = {keys[name]: text for name, text in texts.items()}
    if len(different) == 1:
        return dict.fromkeys((n for n in texts if n != "plain"), 1.0)
    spec = Spec(p.name, different, list(different))
    (found,) = run_batches([spec], threads, seconds / len(different))
    if isinstance(found, supervise.Failed):
        raise found
    entries, _ = found
    failed = [e["failed"] for e in entries.values() if "failed" in e]
    if failed:
        raise supervise.Failed(failed[0])
    times = {name: float(entries[key]["min"]) for name, key in keys.items()}
    return {n: t / times["plain"] for n, t in times.items() if n != "plain"}


def search(p: Pipeline, threads: int, options: argparse.Namespace) -> None:
    """Makes the schedules that are not kept yet."""
    told = p.name if p.group != GROUPS[-1] or options.reveal else p.group
    known = library.searched(adams.NAME, p.name, threads)
    if known is None and not options.skip_adams:
        text = adams.searched(p.name, threads)
        library.keep_searched(adams.NAME, p.name, threads, text)
        said = text.splitlines()[0].removeprefix("# ")
        print(f"{told} {threads} thr, Adams2019: {said}", flush=True)
    if library.searched(baselines.RANDOM, p.name, threads) is None:
        said = drawing.keep_best(p.case(), threads, options.seconds / 40)
        print(f"{told} {threads} thr: {said}", flush=True)


def take(p: Pipeline, results: dict[str, Any], options: argparse.Namespace) -> None:
    """Measures a pipeline, into the results."""
    entry = results["cases"].setdefault(p.name, {})
    entry |= {"group": p.group, "area": p.area, "size": p.case().size}
    hidden = p.group == GROUPS[-1] and not options.reveal
    for threads in options.threads:
        at = entry.setdefault("threads", {}).setdefault(str(threads), {})
        wanted = "stability" if options.stability else "contenders"
        if options.resume and wanted in at:
            continue
        start = time.perf_counter()
        try:
            if options.stability:
                at["stability"] = stability(p, threads, options.seconds)
            else:
                fresh = measure(p, threads, options)
                if options.only != [""] and "contenders" in fresh:
                    # The others' figures are of another process, but better than none.
                    old = at.get("contenders", {})
                    fresh["contenders"] = {**old, **fresh["contenders"]}
                at.pop("failed", None)
                at.update(fresh)
        except supervise.Failed as error:
            at["failed"] = str(error)
        write(results, path_of(p.group))
        one = next(
            o for o in table.found(results, p.group)[str(threads)] if o.name == p.name
        )
        told = p.group if hidden else "  ".join(table.cells(one))
        print(f"{told}  [{time.perf_counter() - start:.0f} s]", flush=True)


def text(every: Mapping[str, Mapping[str, Any]], options: argparse.Namespace) -> str:
    """All tables of these groups."""
    lines: list[str] = []
    for group, results in every.items():
        named = group != GROUPS[-1] or options.reveal
        rows = [o for found in table.found(results, group).values() for o in found]
        if named and rows:
            rows.sort(key=lambda one: (one.name, one.row.threads))
            lines += [aligned([table.HEAD, *map(table.cells, rows)]), ""]
    whole = [row for g, results in every.items() for row in table.summary(results, g)]
    lines += [aligned([table.SUMMARY_HEAD, *whole]), ""]
    for group, results in every.items():
        named = group != GROUPS[-1] or options.reveal
        said = table.notes(results, group, named)
        lines += ["to note:", *(f"  {n}" for n in said)] if said else []
        held = table.limits(results, group, named)
        lines += [aligned([[m.what, m.found, m.verdict] for m in held])] if held else []
    return "\n".join(lines)


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    taking = [
        p
        for p in all_pipelines()
        if p.group in options.group and p.name.startswith(tuple(options.names))
    ]
    if not taking:
        parser.error("no pipeline of these groups begins so")
    if options.list:
        print(aligned([[p.name, p.group, p.area, p.case().size] for p in taking]))
        return 0
    baselines.register()
    if options.search:
        for p in taking:
            for threads in options.threads:
                try:
                    search(p, threads, options)
                except supervise.Failed as error:
                    print(f"{p.group} {threads} thr: {error}", flush=True)
        return 0
    files = {path_of(group): read(path_of(group)) for group in options.group}
    if not options.draw:
        for path, results in files.items():
            if options.fresh:
                results["cases"] = {}
            results["machine"] = machine()
            write(results, path)
        for p in taking:
            take(p, files[path_of(p.group)], options)
    every = {group: files[path_of(group)] for group in options.group}
    print(text(every, options))
    if options.page:
        page.write({g: read(path_of(g)) for g in GROUPS}, options.page)
        print(f"wrote {options.page}")
    return int(any(table.wrong(results) for results in files.values()))


if __name__ == "__main__":
    sys.exit(main())
