"""Kernels on a GPU beside Halide's CUDA target, CUDA C++ of our own, and libraries.

    python -m benchmarks.gpu --page docs/gpu-benchmarks.md

measures in slices of at most eight minutes: figures are kept, a further call goes on
with what is missing, and the page is drawn at the end of each. Without a GPU it
measures what needs none, and the page says of the rest that it is not measured.
``--simulate`` runs our contenders on the simulator at small sizes, beside the CPU's
results.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.gpu import applications, page, simulate
from benchmarks.gpu.device import card
from benchmarks.gpu.jobs import every
from benchmarks.process import Failed, child

JSON, PAGE = Path("out/gpu.json"), Path("docs/gpu-benchmarks.md")
#: Seconds of a slice, and how often each compile is run.
SLICE, COMPILES = 480.0, 3
#: What no job takes: compiling CUB takes a minute.
PATIENCE = 400.0

Results = dict[str, Any]
#: Something to measure: its name, and what puts it into the results.
Task = tuple[str, Callable[[], None]]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--slice", type=float, default=SLICE, help="seconds at most")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each job")
    parser.add_argument(
        "--compiles", type=int, default=COMPILES, help="how often each is compiled"
    )
    parser.add_argument("--only", nargs="*", help="names of jobs; by default all")
    parser.add_argument(
        "--json", type=Path, default=JSON, help="where figures are kept"
    )
    parser.add_argument("--page", type=Path, nargs="?", const=PAGE, help="write it")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument(
        "--simulate", action="store_true", help="compare results, time nothing"
    )
    return parser


def compiled(results: Results, name: str, times: int) -> None:
    """Compiles a case under both modules, cold, and ours warm, so many times."""
    command = ["-m", "benchmarks.gpu.compiletime"]
    entry: dict[str, Any] = {"runs": times}
    plain = {"PARHELION_GPU": "sm_80", "PARHELION_BENCH_CACHE": "off"}
    for who in ("parhelion", "halide"):
        try:
            runs = [
                json.loads(child(*command, who, name, threads=1, setting=plain))
                for _ in range(times)
            ]
        except Failed as error:
            if who == "parhelion":
                raise
            entry["absent"] = str(error).strip().splitlines()[-1][:120]
            continue
        entry[who] = min([r["build"] + r["compile"] for r in runs])
    with tempfile.TemporaryDirectory() as folder:
        kept = {"PARHELION_GPU": "sm_80", "PARHELION_BENCH_CACHE": folder}
        runs = [
            json.loads(child(*command, "parhelion", name, threads=1, setting=kept))
            for _ in range(times + 1)
        ]
        if not any(Path(folder).rglob("*.bin")):
            raise RuntimeError(f"{name}: the cache has kept nothing")
    entry["warm"] = min([r["build"] + r["compile"] for r in runs[1:]])
    results.setdefault("compile", {})[name] = entry


def launched(results: Results, where: str) -> None:
    setting = {"PARHELION_GPU": "simulate"} if where == "simulated" else {}
    found = json.loads(child("-m", "benchmarks.gpu.launches", setting=setting))
    results.setdefault("launches", {})[where] = found | {"card": card() or ""}


def measured(results: Results, group: str, name: str, seconds: float) -> None:
    """A job in a process of its own, so that one that fails ends no other."""
    command = ["-m", "benchmarks.gpu.runtime", group, name, "--seconds", str(seconds)]
    try:
        entry = json.loads(child(*command, timeout=PATIENCE))
    except Failed as error:
        entry = {"failed": str(error).strip().splitlines()[-1][:200], "card": card()}
    results.setdefault("jobs", {}).setdefault(group, {})[name] = entry


def simulated(results: Results, group: str, name: str) -> None:
    found = {}
    for label, bad in simulate.run(group, name):
        found[label] = bad
        print(f"{name}, {label}: {bad or 'as the CPU'}", flush=True)
    results.setdefault("simulated", {})[name] = found


def tasks(results: Results, options: argparse.Namespace) -> Iterator[Task]:
    """What is missing, in the order in which it is measured."""

    def wanted(name: str) -> bool:
        return not options.only or name in options.only

    if options.simulate:
        for group, name in simulate.every():
            if wanted(name) and name not in results.get("simulated", {}):
                yield (
                    f"{name}, simulated",
                    lambda g=group, n=name: simulated(  # type: ignore[misc]
                        results, g, n
                    ),
                )
        return
    for name in applications.names():
        if wanted(name) and name not in results.get("compile", {}):
            yield (
                f"{name}, compiled",
                lambda n=name: compiled(  # type: ignore[misc]
                    results, n, options.compiles
                ),
            )
    places = ["simulated"] + ["device"] * (card() is not None)
    for where in places:
        if where not in results.get("launches", {}):
            yield f"launches, {where}", lambda w=where: launched(results, w)  # type: ignore[misc]
    if card() is None:
        return
    for group, name in every():
        known = results.get("jobs", {}).get(group, {}).get(name, {})
        if wanted(name) and "contenders" not in known:
            yield (
                f"{group}, {name}",
                lambda g=group, n=name: measured(  # type: ignore[misc]
                    results, g, n, options.seconds
                ),
            )


def take(results: Results, options: argparse.Namespace) -> int:
    """Does what is missing as long as the slice has room for what took longest so far;
    returns how many are left."""
    begin, longest = time.monotonic(), 0.0
    left = list(tasks(results, options))
    while left and time.monotonic() - begin + longest < options.slice:
        name, task = left.pop(0)
        start = time.monotonic()
        task()
        options.json.parent.mkdir(parents=True, exist_ok=True)
        kept = options.json.with_suffix(".new")
        kept.write_text(json.dumps(results, indent=1))
        os.replace(kept, options.json)
        took = time.monotonic() - start
        longest = max(longest, took)
        print(f"{name} [{took:.0f} s]", file=sys.stderr, flush=True)
    return len(left)


def troubles(results: Results) -> list[str]:
    """Jobs that failed, and contenders that were wrong."""
    found = [
        f"{name}, {label}: {bad}"
        for name, one in results.get("simulated", {}).items()
        for label, bad in one.items()
        if bad
    ]
    for jobs in results.get("jobs", {}).values():
        for name, entry in jobs.items():
            found += [f"{name}: {entry['failed']}"] if "failed" in entry else []
            for label, c in entry.get("contenders", {}).items():
                found += [f"{name}, {label}: {c['wrong']}"] if "wrong" in c else []
    return found


def main() -> int:
    options = arguments().parse_args()
    results: Results = {}
    if options.json.exists():
        results = json.loads(options.json.read_text())
    left = 0 if options.draw else take(results, options)
    if options.page:
        page.write(results, options.page)
        print(f"wrote {options.page}")
    if left:
        print(f"{left} are left: the same call goes on with them")
    elif card() is None and not options.simulate:
        print("no GPU is at hand: nothing was measured on one")
    for one in troubles(results):
        print(one)
    return int(bool(troubles(results)))


if __name__ == "__main__":
    sys.exit(main())
