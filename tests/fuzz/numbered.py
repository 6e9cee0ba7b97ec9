"""Runs random cases by their numbers, from the command line, and says which fail."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
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
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    options = parser.parse_args()
    start, failures = time.monotonic(), 0
    first = options.seed * 1_000_000
    numbers = range(first, first + options.cases)
    # Of processes of their own, as a fork of one that has threads may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context) as pool:
        every = pool.map(partial(_tried, draw, difference), numbers)
        for n, (number, found) in enumerate(zip(numbers, every, strict=True), 1):
            if found:
                failures += 1
                case = draw(random.Random(number))
                print(f"\rseed {number}: {found}\n{case}", flush=True)
            print(f"\r{n - failures} clean", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    took = time.monotonic() - start
    print(f"{options.cases - failures} clean, {failures} failed, {took:.0f} s")
    return 1 if failures else 0


def _tried(
    draw: Callable[[random.Random], C], difference: Callable[[C], str], number: int
) -> str:
    """What is wrong about the case of a number; what is raised is."""
    try:
        return difference(draw(random.Random(number)))
    except Exception as error:
        return "".join(traceback.format_exception(error))
