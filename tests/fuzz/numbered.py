"""Runs random cases by their numbers, from the command line, and says which fail."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C")


def run(
    what: str | None, draw: Callable[[random.Random], C], difference: Callable[[C], str]
) -> int:
    """Draws as many cases as the command line asks for. Returns 1 if one fails.

    what: what is run, for the help. difference: what is wrong about a case; empty if
    nothing is.
    """
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start, failures = time.monotonic(), 0
    for n in range(options.cases):
        number = options.seed * 1_000_000 + n
        case = draw(random.Random(number))
        found = difference(case)
        if found:
            failures += 1
            print(f"\rseed {number}: {found}\n{case}", flush=True)
        print(f"\r{n + 1 - failures} clean", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    took = time.monotonic() - start
    print(f"{options.cases - failures} clean, {failures} failed, {took:.0f} s")
    return 1 if failures else 0
