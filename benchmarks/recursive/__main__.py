"""Recursive filters beside SciPy, OpenCV and Halide.

    python -m benchmarks.recursive --case gaussian3 sat_f32

prints nanoseconds for a pixel or a sample, what is to be reached, and lines of code;
``--page`` writes the page of the docs and its plots. Results are compared with exact
ones before anything is timed. The exit status is 1 if one was wrong, or failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.process import Failed, child
from benchmarks.recursive import page
from benchmarks.recursive.case import Case
from benchmarks.recursive.found import troubles
from benchmarks.recursive.runtime import all_cases

#: Where the figures are kept, and the page of the docs.
JSON, PAGE = Path("out/recursive.json"), Path("docs/recursive-filters-benchmarks.md")
#: Seconds after which one point is given up: large ones run SciPy for minutes.
PATIENCE = 1800.0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.recursive",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = list(all_cases())
    parser.add_argument("--case", nargs="*", choices=names, default=names)
    size = parser.add_mutually_exclusive_group()
    for scale, words in (
        ("quick", "small sizes, to see that all runs"),
        ("large", "images of up to 16384 x 16384, lines of 100 million samples"),
    ):
        size.add_argument(
            f"--{scale}", dest="scale", action="store_const", const=scale, help=words
        )
    parser.add_argument("--threads", default="1,2", help="default: 1,2")
    parser.add_argument(
        "--seconds",
        type=float,
        help="to measure one size on some threads; default: 6, quick 0.5",
    )
    parser.add_argument("--json", type=Path, default=JSON, help="where to keep figures")
    parser.add_argument(
        "--resume", action="store_true", help="measure only what the figures lack"
    )
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument(
        "--page",
        type=Path,
        nargs="?",
        const=PAGE,
        help=f"write this page, and its plots beside; default: {PAGE}",
    )
    parser.set_defaults(scale="usual")
    return parser


def measure(
    case: Case, value: int, threads: str, scale: str, seconds: float
) -> dict[str, Any]:
    """One point of a case, in a process of its own; or why it failed."""
    command = ["-m", "benchmarks.recursive.runtime", case.name, str(value)]
    command += ["--scale", scale, "--seconds", str(seconds)]
    try:
        text = child(*command, threads=int(threads), timeout=PATIENCE)
    except Failed as error:
        return {"failed": str(error)}
    found: dict[str, Any] = json.loads(text)
    return found


def take(results: dict[str, Any], options: argparse.Namespace) -> None:
    """Measures all points that were asked for, into the results."""
    seconds = options.seconds or (0.5 if options.scale == "quick" else 6.0)
    for name in options.case:
        case = all_cases()[name]
        for threads in options.threads.split(","):
            of_case = results["cases"].setdefault(name, {}).setdefault(threads, {})
            for value in case.values[options.scale]:
                if options.resume and "contenders" in of_case.get(str(value), {}):
                    continue
                start = time.perf_counter()
                entry = measure(case, value, threads, options.scale, seconds)
                of_case[str(value)] = entry
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(results, indent=1))
                took = time.perf_counter() - start
                print(
                    f"{name} {value}, {threads} thread(s) [{took:.0f} s]",
                    file=sys.stderr,
                    flush=True,
                )


def main() -> int:
    options = arguments().parse_args()
    results: dict[str, Any] = {"scale": options.scale, "cases": {}}
    if (options.draw or options.resume) and options.json.exists():
        kept = json.loads(options.json.read_text())
        if options.draw or kept["scale"] == options.scale:
            results = kept
    if not options.draw:
        results["machine"] = machine()
        take(results, options)
    print(page.summary(results, all_cases()))
    if options.page:
        for path in page.write(results, all_cases(), options.page):
            print(f"wrote {path}")
    return int(any(True for _ in troubles(results)))


if __name__ == "__main__":
    sys.exit(main())
