"""``make bench``: every application side by side with Halide, from one definition.

Prints tables, keeps the figures in a JSON file, and draws ``docs/benchmarks.md`` from
that file. The file is written after each part of each case; one that fails is reported
at the end, and costs no other its figures. ``--resume`` measures what the file lacks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import loaded, report
from benchmarks.case import Case
from benchmarks.cases import all_cases
from benchmarks.machine import machine
from benchmarks.process import Failed, child

#: Largest acceptable seconds of `import parhelion` beyond `import numpy`.
IMPORT_LIMIT = 0.1

THREADS = (1, 2)


def run_times(case: Case, seconds: float) -> dict[str, Any]:
    """Times at each number of threads."""
    found = {}
    for threads in THREADS:
        share = str(seconds / len(THREADS))
        text = child(
            "-m", "benchmarks.runtime", case.name, "--seconds", share, threads=threads
        )
        found[str(threads)] = json.loads(text)
    return found


def compile_times(case: Case, repeats: int) -> dict[str, Any]:
    """Cold compiles of both modules in turn, and ours by pass."""
    found: dict[str, Any] = {"parhelion": [], "halide": []}
    for _ in range(repeats):
        for module, runs in found.items():
            text = child("-m", "benchmarks.compiletime", module, case.name)
            runs.append(json.loads(text))
    text = child("-m", "benchmarks.compiletime", "passes", case.name)
    return found | {"passes": json.loads(text)}


def start_times(case: Case, repeats: int) -> dict[str, Any]:
    """Starts of a program that uses the case: cold, with nothing kept of an earlier
    one, and warm, after one."""
    found: dict[str, Any] = {"cold": [], "warm": []}
    with tempfile.TemporaryDirectory() as bytecode:
        for k in range(repeats + 1):
            with tempfile.TemporaryDirectory() as folder:
                kept = {
                    "PYTHONDONTWRITEBYTECODE": "",
                    "PYTHONPYCACHEPREFIX": bytecode,
                    "PARHELION_BENCH_CACHE": folder,
                }
                for start in ("cold", "warm"):
                    command = ("-m", "benchmarks.starttime", case.name)
                    told = json.loads(child(*command, setting=kept))
                    if told["lowered"] != (start == "cold"):
                        raise Failed(f"a {start} start, but {told}")
                    # The first round only writes the byte code.
                    if k:
                        found[start].append(told)
    return found


def import_time(repeats: int) -> dict[str, Any]:
    code = (
        "import time, numpy; t = time.perf_counter(); import parhelion; "
        "print(time.perf_counter() - t)"
    )
    # As it is installed: with its byte code on disk, whatever this shell forbids.
    with tempfile.TemporaryDirectory() as folder:
        kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
        child("-c", code, setting=kept)
        taken = [float(child("-c", code, setting=kept)) for _ in range(repeats)]
    return {
        "min": min(taken),
        "median": statistics.median(taken),
        "limit": IMPORT_LIMIT,
    }


def overhead_times() -> dict[str, Any]:
    """What calls and parallel loops cost, in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "overhead.json"
        # It exits with 1 where a limit is missed, which the report says.
        child("-m", "benchmarks.overhead", "--json", str(path), accepted=(0, 1))
        found: dict[str, Any] = json.loads(path.read_text())
    return found


def write(results: Mapping[str, Any], path: Path) -> None:
    """Replaces the JSON file as a whole, so that an interruption leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(results, indent=1) + "\n")
    fresh.replace(path)


def describe(case: Case, entry: dict[str, Any]) -> None:
    """Notes what the report says of a case besides its times."""
    entry["size"] = case.size
    entry |= {"moved": case.moved, "operations": case.operations}
    entry |= {"shares": dict(case.shares), "ahead_of": list(case.ahead_of)}


def measure_part(
    entry: dict[str, Any], part: str, measured: Callable[[], dict[str, Any]]
) -> bool:
    """Measures one part of a case into its entry, with the seconds that it took. False
    if that failed, which is then noted in its place."""
    start = time.perf_counter()
    entry.pop(part, None)
    failed = entry.setdefault("failed", {})
    failed.pop(part, None)
    try:
        entry[part] = measured()
    except Failed as error:
        failed[part] = str(error)
    entry.setdefault("took", {})[part] = time.perf_counter() - start
    return part in entry


def measure_case(
    case: Case, entry: dict[str, Any], options: argparse.Namespace
) -> None:
    """Both parts of a case, as the options say, each printed when it is there."""
    describe(case, entry)
    parts: dict[str, tuple[Callable[[], dict[str, Any]], Callable[..., str]]] = {}
    if not options.no_run:
        parts["run"] = (lambda: run_times(case, options.seconds), report.run_lines)
    if not options.no_compile:
        repeats = options.repeats
        parts["compile"] = (lambda: compile_times(case, repeats), report.compile_line)
    if not options.no_start:
        starts = options.repeats
        parts["start"] = (lambda: start_times(case, starts), report.start_line)
        seconds = options.seconds / 6
        parts["loaded"] = (
            lambda: loaded.measured("app", case.name, seconds),
            report.loaded_line,
        )
    for part, (measured, lines) in parts.items():
        if options.resume and part in entry:
            continue
        good = measure_part(entry, part, measured)
        print(
            lines(case.name, entry) if good else f"{case.name:18} {part} FAILED",
            f"  [{entry['took'][part]:.0f} s]",
            flush=True,
        )


def measure_everyday(results: dict[str, Any], options: argparse.Namespace) -> None:
    """Loaded code of everyday pipelines beside compiled code."""
    entries = results.setdefault("everyday", {})
    for name in loaded.everyday_names():
        if options.resume and "loaded" in entries.get(name, {}):
            continue
        entry = entries.setdefault(name, {})
        seconds = options.seconds / 6
        good = measure_part(
            entry, "loaded", partial(loaded.measured, "everyday", name, seconds)
        )
        shown = report.loaded_line(name, entry) if good else f"{name:18} loaded FAILED"
        print(shown, flush=True)
        write(results, options.json)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--apps", nargs="*", help="names of cases, or their beginnings")
    parser.add_argument("--list", action="store_true", help="print the cases' names")
    parser.add_argument("--seconds", type=float, default=24.0, help="to measure a case")
    parser.add_argument("--repeats", type=int, default=3, help="of cold starts")
    parser.add_argument("--no-run", action="store_true", help="compile times only")
    parser.add_argument("--no-compile", action="store_true", help="run times only")
    parser.add_argument("--no-start", action="store_true", help="no starts")
    parser.add_argument("--json", type=Path, default=Path("out/bench.json"))
    parser.add_argument(
        "--update", action="store_true", help="keep the JSON file's other figures"
    )
    parser.add_argument(
        "--resume", action="store_true", help="measure only what the JSON file lacks"
    )
    parser.add_argument("--page", type=Path, help="draw this page and its plot")
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing: print the JSON file"
    )
    return parser


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    cases = all_cases()
    if options.apps:
        cases = [c for c in cases if c.name.startswith(tuple(options.apps))]
        if not cases:
            parser.error(f"no case is called {' or '.join(options.apps)}; see --list")
    if options.list:
        print("\n".join(f"{c.name:24} {c.size}" for c in cases))
        return 0

    results: dict[str, Any] = {"cases": {}}
    kept = options.update or options.draw or options.resume
    if kept and (options.draw or options.json.exists()):
        results = json.loads(options.json.read_text())
    if not options.draw:
        start = time.perf_counter()
        results["machine"] = machine()
        for case in cases:
            measure_case(case, results["cases"].setdefault(case.name, {}), options)
            write(results, options.json)
        results["import"] = import_time(options.repeats)
        results["overhead"] = overhead_times()
        if not options.no_start:
            measure_everyday(results, options)
        write(results, options.json)
        minutes = (time.perf_counter() - start) / 60
        print(f"wrote {options.json}, after {minutes:.1f} minutes\n")
    order = [c.name for c in all_cases()]
    print(report.summary(results, order))
    if options.page:
        report.write_page(results, order, options.page)
        print(f"wrote {options.page}")
    return int(any(True for _ in report.failures(results, order)))


if __name__ == "__main__":
    sys.exit(main())
