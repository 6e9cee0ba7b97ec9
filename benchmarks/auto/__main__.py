"""``make bench-auto``: automatic schedules of the 2016 paper's fourteen applications.

Halide's Mullapudi2016 and Adams2019, the experts' schedules under both modules, and our
own schedulers, in turn in one process for each application and number of threads.
Prints tables and what must hold, keeps the figures in a JSON file, and with ``--page``
draws the page of the docs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.auto import adams, library, page, plain, steady, supervise, table
from benchmarks.auto.contenders import contenders, scaled
from benchmarks.auto.page import PINNED
from benchmarks.case import Case
from benchmarks.cases import ORDER, case
from benchmarks.machine import machine


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.auto", description=__doc__)
    parser.add_argument("--apps", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", nargs="*", default=[""], help="parts of labels")
    parser.add_argument("--list", action="store_true", help="print all labels")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="to measure a case at one count"
    )
    parser.add_argument(
        "--renamed", action="store_true", help="give every Func and Var another name"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of the images' sides; VGG: the batch"
    )
    parser.add_argument(
        "--pinned", action="store_true", help="run the kept schedules as well"
    )
    parser.add_argument(
        "--keep", action="store_true", help="write what our schedulers print"
    )
    parser.add_argument(
        "--search", action="store_true", help="only search with Adams2019, and keep it"
    )
    parser.add_argument(
        "--lean",
        action="store_true",
        help="only what the limits speak of: of the experts the two that were fastest"
        " in the plain run; with --pinned, our schedulers and what they printed",
    )
    parser.add_argument("--json", type=Path, help="default: out/bench-auto….json")
    parser.add_argument(
        "--update", action="store_true", help="keep the JSON file's other figures"
    )
    parser.add_argument(
        "--resume", action="store_true", help="measure only what the JSON file lacks"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="keep the lesser time of each contender, of this run and the JSON file's",
    )
    parser.add_argument("--page", type=Path, help="draw this page and its plot")
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing: print the JSON file"
    )
    return parser


def default_json(options: argparse.Namespace) -> Path:
    """Figures of one kind go into one file."""
    kind = "-renamed" if options.renamed else ""
    kind += f"-x{options.scale:g}" if options.scale != 1 else ""
    kind += "-pinned" if options.pinned else ""
    return table.PLAIN.with_name(f"{table.PLAIN.stem}{kind}.json")


def others(path: Path) -> dict[str, dict[str, Any]]:
    """The figures that lie beside a file: with other names, at other sizes, and of kept
    schedules."""
    kinds = {
        "renamed": "renamed",
        "x0.5": "half the size",
        "x2": "double the size",
        "pinned": PINNED,
    }
    found = {}
    for kind, words in kinds.items():
        beside = path.with_name(f"{path.stem}-{kind}.json")
        if beside.exists():
            found[words] = json.loads(beside.read_text())
    return found


def labels_of(case: Case, threads: int, options: argparse.Namespace) -> list[str]:
    """The contenders that the options ask for."""
    found = contenders(case, options.pinned)
    if options.lean:
        fastest: list[str] = [] if options.pinned else _fastest_experts(case, threads)
        found = [
            c
            for c in found
            if c.label in (table.PAPERS, table.DEFAULT, *fastest)
            or c.kind == "pinned"
            or (c.label == table.HALIDES and not options.pinned)
        ]
    return [c.label for c in found if any(part in c.label for part in options.only)]


def _fastest_experts(case: Case, threads: int) -> list[str]:
    """The two that were fastest in the plain run; all of them if there was none."""
    every = [c.label for c in contenders(case, pinned=False) if c.kind == "expert"]
    if not table.PLAIN.exists():
        return every
    found = table.rows(json.loads(table.PLAIN.read_text()), [case.name])
    row = next((r for r in found if r.threads == str(threads)), None)
    times = {} if row is None else {n: t for n in every if (t := row.time(n))}
    return sorted(times, key=times.__getitem__)[:2] or every


def measure(case: Case, threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """One case at one number of threads: its contenders, or why it failed."""
    labels = labels_of(case, threads, options)
    command = ["-m", "benchmarks.auto.runtime", case.name]
    command += ["--scale", str(options.scale)]
    if options.renamed:
        command.append("--renamed")
    start = time.perf_counter()
    entry: dict[str, Any] = {}
    try:
        found, others = supervise.measure(command, labels, threads, options.seconds)
        entry |= {"contenders": found, "others": others}
        for label, facts in found.items():
            python = facts.pop("python", None)
            if python is None:
                continue
            facts["digest"] = library.digest(python)
            of = label.split()[1], case.name, threads
            if options.scale == 1 and not options.renamed:
                facts["as_kept"] = library.is_as_kept(*of, python)
            if options.keep:
                library.keep_printed(*of, python)
    except supervise.Failed as error:
        entry["failed"] = str(error)
    entry["took"] = time.perf_counter() - start
    return entry


def write(results: Mapping[str, Any], path: Path) -> None:
    """Replaces the file as a whole, so that an interruption leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(results, indent=1) + "\n")
    fresh.replace(path)


def search(names: list[str], options: argparse.Namespace) -> None:
    """Keeps Adams2019's schedules, those that are there left alone."""
    for name in names:
        for threads in options.threads:
            if library.searched(adams.NAME, name, threads) is not None:
                continue
            text = adams.searched(name, threads)
            library.keep_searched(adams.NAME, name, threads, text)
            print(f"{name} {threads} thr: {text.splitlines()[0]}", flush=True)


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    names = [n for n in ORDER if n.startswith(tuple(options.apps))]
    if not names:
        parser.error(f"no application begins with {' or '.join(options.apps)}")
    if options.list:
        for name in names:
            print("\n".join(c.label for c in contenders(case(name), options.pinned)))
        return 0
    as_is = options.scale == 1 and not options.renamed
    if (options.keep or options.search) and not as_is:
        parser.error("what is kept is of the applications as they are")
    if options.search:
        search(names, options)
        return 0
    path = options.json or default_json(options)
    results: dict[str, Any] = {"cases": {}}
    old = options.update or options.resume or options.again or options.draw
    if old and path.exists():
        results = json.loads(path.read_text())
    if not options.draw:
        results["machine"] = machine()
        for name in names:
            chosen = scaled(case(name), options.scale)
            entry = results["cases"].setdefault(name, {})
            entry["size"] = chosen.size
            for threads in options.threads:
                at = entry.setdefault("threads", {})
                if options.resume and "contenders" in at.get(str(threads), {}):
                    continue
                found = measure(chosen, threads, options)
                if options.again:
                    found = steady.lesser(at.get(str(threads), {}), found)
                at[str(threads)] = found
                write(results, path)
                row = table.Row(name, str(threads), found.get("contenders", {}))
                told = found.get("failed") or "  ".join(table.time_cells(row)[2:])
                print(
                    f"{name:16} {threads} thr  {told}  [{found['took']:.0f} s]",
                    flush=True,
                )
        print(f"wrote {path}\n")
    order = list(ORDER)
    print(plain.text(results, order))
    if options.page:
        page.write(results, order, options.page, others(path))
        print(f"wrote {options.page}")
    return int(table.wrong(results, order))


if __name__ == "__main__":
    sys.exit(main())
