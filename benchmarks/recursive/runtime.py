"""One point of a case: results are compared, then all contenders run in turn.

Run as a module with a case's name and the parameter's value, it prints a JSON object.
The number of threads comes from HL_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.recursive import images, signals, variants
from benchmarks.recursive.case import SCALES, Array, Case, Run, WrongResult, verify
from benchmarks.runtime import measure


def all_cases() -> dict[str, Case]:
    """By name, in the order of the page."""
    found = [*images.cases(), *variants.cases(), *signals.cases()]
    return {c.name: c for c in found}


def run(case: Case, value: int, scale: str, seconds: float) -> dict[str, Any]:
    """Times of all contenders at one value of the parameter.

    A contender with a wrong result is not timed: its entry says what was wrong.
    """
    setup = case.make(value, scale)
    exact: dict[Callable[[], Array], Array] = {}
    entries: dict[str, dict[str, Any]] = {}
    runs: dict[str, Run] = {}
    for one in setup.contenders:
        entry: dict[str, Any] = {"by": one.by, "name": one.name}
        entries[one.label] = entry
        ready = one.prepare()
        got = ready()
        if not one.check.none:
            compute = setup.exact_of(one)
            if compute not in exact:
                # One at a time: a large image fills much of the memory.
                exact.clear()
                exact[compute] = compute()
            try:
                entry["difference"] = verify(one, got, exact[compute])
            except WrongResult as error:
                entry["wrong"] = str(error)
                continue
            entry["unstable"] = one.check.unstable
        runs[one.label] = ready
    exact.clear()
    for label, times in measure(runs, seconds).items():
        entries[label] |= times
    return {"points": setup.points, "contenders": entries}


def wrong(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is wrong of one point's contenders."""
    return [e["wrong"] for e in entries.values() if "wrong" in e]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=list(all_cases()))
    parser.add_argument("value", type=int)
    parser.add_argument("--scale", choices=SCALES, default="usual")
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    case = all_cases()[options.case]
    json.dump(run(case, options.value, options.scale, options.seconds), sys.stdout)
