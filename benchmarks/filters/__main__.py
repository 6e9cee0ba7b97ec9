"""The filters of `hl.filters` beside OpenCV's, on photographs of several sizes.

    python -m benchmarks.filters --page PAGE

Both run in one process, in turns, on the same pixels and numbers of threads, and the
least time of each counts; what they compute is compared first. The first call of ours,
which compiles, is timed apart. Where other programs use the machine, ``--clock
processor`` measures the time of all threads of this process on processors, which
others hardly change.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import parhelion as hl
from benchmarks.filters.case import Case, Pixels
from benchmarks.filters.cases import BYTES, CASES
from benchmarks.machine import machine

#: What the ratios of times must keep: the mean, and the mean of chains. What each must
#: keep, its case says.
MEAN, CHAINS = 0.7, 0.4
TYPES = ("uint8", "uint16", "float32")
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
HEAD = ["filter", "image", "ours, ms", "OpenCV, ms", "ratio", "first call, s"]


def photo(megapixels: float, channels: int, dtype: str) -> Pixels:
    """A photograph of 4 by 3, with slopes and noise."""
    rows = max(round(math.sqrt(megapixels * 1e6 * 3 / 4)), 1)
    columns = max(round(rows * 4 / 3), 1)
    shape = (rows, columns, channels)[: 2 if channels == 1 else 3]
    noise = np.random.default_rng(0).integers(0, 64, shape)
    slope = np.add.outer(np.arange(rows), np.arange(columns)) % 192
    found = noise + (slope if channels == 1 else slope[..., None])
    scale = {"float32": 1 / 256, "uint16": 257}.get(dtype, 1)
    made: Pixels = (found * scale).astype(dtype)
    return made


def measure(
    case: Case, image: Pixels, rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Milliseconds of both, and seconds of our first call. Raises AssertionError if the
    results are further apart than they may be."""
    start = time.perf_counter()
    found = case.ours(image)
    first = time.perf_counter() - start
    apart = np.abs(found.astype(np.float64) - case.theirs(image)).max()
    # OpenCV's weights of 16 bits are rounded as those of 8 are: docs/filters.md.
    scale = {"uint8": 1.0, "uint16": 257.0}.get(image.dtype.name, 1e-5)
    limit = case.levels if image.dtype == np.uint8 else max(case.levels, case.floats)
    assert apart <= limit * scale, f"{case.name}: {apart} apart"
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _, (key, run) in itertools.product(
        range(rounds), (("ours", case.ours), ("theirs", case.theirs))
    ):
        start = clock()
        run(image)
        times[key].append((clock() - start) * 1e3)
    return {"ours": min(times["ours"]), "theirs": min(times["theirs"]), "first": first}


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean; 0 of none."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else 0.0


def summary(entries: Sequence[dict[str, Any]]) -> list[str]:
    """What the issue asks, beside what was found."""
    single = [e["ours"] / e["theirs"] for e in entries if not e["chain"]]
    chains = [e["ours"] / e["theirs"] for e in entries if e["chain"]]
    above = [e for e in entries if e["ours"] > e["limit"] * e["theirs"]]
    worst = sorted(above, key=lambda e: -e["ours"] / e["theirs"])
    lines = [
        f"- filters, geometric mean: {mean(single):.2f} (at most {MEAN} is wanted)"
    ]
    if chains:
        lines.append(
            f"- chains, geometric mean: {mean(chains):.2f} (at most {CHAINS} is wanted)"
        )
    told = [f"{e['name']} {e['ours'] / e['theirs']:.2f} ({e['image']})" for e in worst]
    return [*lines, f"- above their limits: {', '.join(told) or 'none'}"]


def cells(entry: dict[str, Any]) -> list[str]:
    ours, theirs = entry["ours"], entry["theirs"]
    numbers = [f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"]
    return [entry["name"], entry["image"], *numbers, f"{entry['first']:.2f}"]


def page(entries: Sequence[dict[str, Any]], threads: int, clock: str) -> str:
    """The page of a run."""
    lines = [
        "# Filters beside OpenCV",
        "",
        "Written by `python -m benchmarks.filters --page`:"
        f" least {clock} times of calls in turns, on {threads} threads; a ratio below 1"
        " is in favour of `hl.filters`.",
        "",
        *summary(entries),
        "",
        *[f"- {key}: {value}" for key, value in machine().items()],
        f"- OpenCV {cv2.__version__}",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|---|---|" + "---:|" * (len(HEAD) - 2),
        *["| " + " | ".join(cells(e)) + " |" for e in entries],
    ]
    return "\n".join(lines) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.filters",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--megapixels", type=float, nargs="*", default=[0.3, 2, 12])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=[*CLOCKS], default="wall")
    parser.add_argument("--types", nargs="*", choices=TYPES, default=TYPES[::2])
    parser.add_argument("--channels", type=int, nargs="*", choices=(1, 3))
    parser.add_argument("--rounds", type=int, default=20, help="calls of each")
    parser.add_argument("--names", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    parser.add_argument("--page", type=Path, help="write this page")
    options = parser.parse_args(given)
    hl.set_num_threads(options.threads)
    cv2.setNumThreads(options.threads)
    entries: list[dict[str, Any]] = []
    for size, channels, dtype in itertools.product(
        options.megapixels, options.channels or (1, 3), options.types
    ):
        image = photo(size, channels, dtype)
        for case in [*CASES, *(BYTES if dtype == "uint8" else [])]:
            named = case.name.startswith(tuple(options.names))
            if not named or not case.takes(channels):
                continue
            told = f"{size:g} MP, {channels} × {dtype}"
            entry = {"name": case.name, "image": told, "chain": case.chain}
            found = measure(case, image, options.rounds, CLOCKS[options.clock])
            entries.append({**entry, "limit": case.limit, **found})
            print("  ".join(cells(entries[-1])), flush=True)
    if not entries:
        parser.error("no filter begins so")
    print("\n".join(summary(entries)))
    if options.json:
        options.json.write_text(json.dumps(entries, indent=1) + "\n")
    if options.page:
        options.page.write_text(page(entries, options.threads, options.clock))
        print(f"wrote {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
