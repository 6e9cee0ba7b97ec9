"""Shrinks a failing test case, and prints a test that shows what is left of it.

    python -m parhelion.tools.reduce tests.fuzz.reduction 17

The first argument names a module that knows one kind of case (`Reducible`), the
others are handed to its `load`. The search is greedy: the first smaller case that
still fails the same way becomes the case, until none does.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar, cast

_C = TypeVar("_C")


class Reducible(Protocol[_C]):
    """What a module says about its cases. Cases are compared by their `repr`."""

    def load(self, arguments: Sequence[str]) -> _C:
        """The case that the command line names."""

    def failure(self, case: _C) -> str | None:
        """How a case fails, as a word or two that stays the same while it shrinks;
        None if it does not fail. Must survive a crash of the code under test."""

    def smaller(self, case: _C) -> Iterable[_C]:
        """Cases with a part removed or made simpler, the most promising first."""

    def as_test(self, case: _C, failure: str) -> str:
        """The source of a test that fails because of the case."""


def reduce(
    case: _C,
    fails: Callable[[_C], bool],
    smaller: Callable[[_C], Iterable[_C]],
    *,
    seconds: float = float("inf"),
    progress: Callable[[_C], None] | None = None,
) -> _C:
    """The smallest case that greedy shrinking finds for which `fails` holds.

    Stops after so many `seconds` with the best so far. `progress` hears of each step.
    """
    end = time.monotonic() + seconds
    tried = {repr(case)}
    shrunk = True
    while shrunk:
        shrunk = False
        for candidate in smaller(case):
            text = repr(candidate)
            if text in tried:
                continue
            tried.add(text)
            if time.monotonic() > end:
                return case
            if fails(candidate):
                case, shrunk = candidate, True
                if progress is not None:
                    progress(case)
                break
    return case


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m parhelion.tools.reduce", description=__doc__
    )
    parser.add_argument("module", help="for instance tests.fuzz.reduction")
    parser.add_argument("case", nargs="*", help="handed to the module's load()")
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args(arguments)
    kind = cast("Reducible[object]", importlib.import_module(options.module))
    case = kind.load(options.case)
    failure = kind.failure(case)
    if failure is None:
        print("this case does not fail", file=sys.stderr)
        return 1
    print(f"fails: {failure}", file=sys.stderr)
    steps = 0

    def progress(_: object) -> None:
        nonlocal steps
        steps += 1
        print(f"\r{steps} steps", end="", file=sys.stderr, flush=True)

    case = reduce(
        case,
        lambda c: kind.failure(c) == failure,
        kind.smaller,
        seconds=options.seconds,
        progress=progress,
    )
    print(file=sys.stderr)
    print(kind.as_test(case, failure))
    return 0


if __name__ == "__main__":
    sys.exit(main())
