"""Funcs that are computed on demand beside Funcs at root and inlined ones.

    python -m benchmarks.dynamic

prints what is to be reached and what was found; ``--page`` writes the page of the docs
and its plot. Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.dynamic import figures as made
from benchmarks.dynamic import page
from benchmarks.machine import machine

#: Where the figures are kept, and the page of the docs.
JSON, PAGE = Path("out/dynamic.json"), Path("docs/dynamic-benchmarks.md")


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.dynamic",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--side", type=int, default=2048, help="default: 2048 pixels")
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="for one comparison; default: 3"
    )
    parser.add_argument("--json", type=Path, default=JSON, help="where to keep figures")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument(
        "--page",
        type=Path,
        nargs="?",
        const=PAGE,
        help=f"write this page, and its plot beside; default: {PAGE}",
    )
    options = parser.parse_args(given)
    found: dict[str, Any]
    if options.draw:
        found = json.loads(options.json.read_text())
    else:
        found = made.all_figures(options.side, options.seconds)
        found["machine"] = machine()
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1))
    print(page.summary(found))
    if options.page:
        for path in page.write(found, options.page):
            print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
