"""``make bench``: every application side by side with Halide, from one definition.

Prints tables, keeps the figures in a JSON file, and draws ``docs/benchmarks.md`` from
that file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.case import Case
from benchmarks.cases import all_cases
from benchmarks.machine import machine

#: Largest acceptable seconds of `import parhelion` beyond `import numpy`.
IMPORT_LIMIT = 0.1

THREADS = (1, 2)


def child(
    *args: str, threads: int | None = None, setting: Mapping[str, str] | None = None
) -> str:
    """Standard output of ``python args…`` in a fresh process."""
    env = {**os.environ, **(setting or {})}
    if threads is not None:
        for library in ("HL", "OPENBLAS", "OMP"):
            env[f"{library}_NUM_THREADS"] = str(threads)
    done = subprocess.run(
        [sys.executable, *args], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(args)} failed:\n{done.stderr}")
    return done.stdout


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--apps", nargs="*", help="names of cases, or their beginnings")
    parser.add_argument("--list", action="store_true", help="print the cases' names")
    parser.add_argument("--seconds", type=float, default=16.0, help="to measure a case")
    parser.add_argument("--repeats", type=int, default=3, help="of cold starts")
    parser.add_argument("--no-run", action="store_true", help="compile times only")
    parser.add_argument("--no-compile", action="store_true", help="run times only")
    parser.add_argument("--json", type=Path, default=Path("out/bench.json"))
    parser.add_argument(
        "--update", action="store_true", help="keep the JSON file's other figures"
    )
    parser.add_argument("--page", type=Path, help="draw this page and its plot")
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing: print the JSON file"
    )
    options = parser.parse_args()

    cases = all_cases()
    if options.apps:
        cases = [c for c in cases if c.name.startswith(tuple(options.apps))]
        if not cases:
            parser.error(f"no case is called {' or '.join(options.apps)}; see --list")
    if options.list:
        print("\n".join(f"{c.name:24} {c.size}" for c in cases))
        return

    results: dict[str, Any] = {"cases": {}}
    if options.update or options.draw:
        results = json.loads(options.json.read_text())
    if not options.draw:
        results["machine"] = machine()
        results["limits"] = {
            str(k): json.loads(child("-m", "benchmarks.limits", str(k), threads=k))
            for k in THREADS
        }
        for case in cases:
            entry = results["cases"].setdefault(case.name, {})
            entry |= {"size": case.size}
            entry |= {"moved": case.moved, "operations": case.operations}
            if not options.no_run:
                entry["run"] = run_times(case, options.seconds)
                print(report.run_lines(case.name, entry), flush=True)
            if not options.no_compile:
                entry["compile"] = compile_times(case, options.repeats)
                print(report.compile_line(case.name, entry), flush=True)
        results["import"] = import_time(options.repeats)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(results, indent=1) + "\n")
        print(f"wrote {options.json}\n")
    order = [c.name for c in all_cases()]
    print(report.summary(results, order))
    if options.page:
        report.write_page(results, order, options.page)
        print(f"wrote {options.page}")


if __name__ == "__main__":
    main()
