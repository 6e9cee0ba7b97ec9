"""The tables and figures of the Forma paper, on this machine.

    python -m benchmarks.forma --page docs/forma-benchmarks.md

prints what is to be reached and what was found; ``--page`` writes the page of the docs
and its plot. Results are compared before anything is timed. The exit status is 1 if one
was wrong, or failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from apps.forma.programs import PROGRAMS
from benchmarks.forma import figures, page
from benchmarks.machine import machine

#: Where the figures are kept, and the page of the docs.
JSON, PAGE = Path("out/forma.json"), Path("docs/forma-benchmarks.md")
#: Programs that the autoscheduler Parhelion takes too long for.
TOO_LARGE = ("exposure_pyramid",)


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.forma",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = list(PROGRAMS)
    parser.add_argument("--program", nargs="*", choices=names, default=names)
    parser.add_argument("--threads", default="1,2", help="default: 1,2")
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="for one program; default: 8"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of the sizes; default: 1"
    )
    parser.add_argument("--json", type=Path, default=JSON, help="where to keep figures")
    parser.add_argument(
        "--resume", action="store_true", help="keep the figures of other programs"
    )
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument(
        "--page",
        type=Path,
        nargs="?",
        const=PAGE,
        help=f"write this page, and its plot beside; default: {PAGE}",
    )
    options = parser.parse_args(given)
    results: dict[str, Any] = figures.empty()
    if options.draw or (options.resume and options.json.exists()):
        results = json.loads(options.json.read_text())
    if not options.draw:
        results["machine"] = machine()
        threads = [int(count) for count in options.threads.split(",")]
        for name in options.program:
            is_automatic = name not in TOO_LARGE
            figures.take(
                *(results, [name], threads, options.seconds, options.scale),
                is_automatic,
            )
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(results, indent=1))
    print(page.summary(results))
    if options.page:
        for path in page.write(results, options.page):
            print(f"wrote {path}")
    return 1 if figures.failures(results) else 0


if __name__ == "__main__":
    sys.exit(main())
