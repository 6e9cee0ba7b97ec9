"""All contenders of one case, timed in turn in one process.

    python -m benchmarks.auto.runtime CASE LABEL...

Prints a JSON object a line: what it is about to prepare, what came of it, and at last
the times. So the one that starts it knows which contender has brought it down. The
number of threads comes from HL_NUM_THREADS, as both modules read it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

from apps.common import Array, Module
from benchmarks.auto.adams import NoAnswer
from benchmarks.auto.contenders import Setting, contenders, prepare
from benchmarks.case import Case, load
from benchmarks.cases import case
from benchmarks.runtime import measure

#: A first run of more seconds than this is the contender's time.
SLOW = 30.0


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def warm_up(hl: Module) -> None:
    """Compiles and runs something small, so that no contender pays for loading LLVM."""
    x, f = hl.Var("x"), hl.Func("warm")
    f[x] = x
    f.realize([16])


def run(case: Case, labels: list[str], setting: Setting, seconds: float) -> None:
    """Prepares the contenders of these labels, and measures those that could be."""
    images = case.inputs()
    runs: dict[str, Callable[[], object]] = {}
    slow: dict[str, dict[str, float]] = {}
    first: list[Array] | None = None
    for who in [c for c in contenders(case, pinned=True) if c.label in labels]:
        say(preparing=who.label)
        module = load(who.module)
        warm_up(module)
        try:
            ready = prepare(who, case, images, setting)
            start = time.perf_counter()
            ready.run()
            taken = time.perf_counter() - start
        except NoAnswer as error:
            say(prepared=who.label, absent=str(error))
            continue
        except (module.HalideError, RuntimeError, ValueError, TypeError) as error:
            say(prepared=who.label, failed=_last_line(error))
            continue
        first = ready.results if first is None else first
        apart = case.difference(first, ready.results)
        facts = ready.facts | {"difference": apart[0], "differing": apart[1]}
        say(prepared=who.label, **facts, same=case.same(apart))
        if taken > SLOW:
            slow[who.label] = {"min": taken, "median": taken, "runs": 1}
        else:
            runs[who.label] = ready.run
    say(times=slow | (measure(runs, seconds) if runs else {}))


def _last_line(error: BaseException) -> str:
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[-1] if said else ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("labels", nargs="+")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--renamed", action="store_true")
    options = parser.parse_args()
    threads = int(os.environ["HL_NUM_THREADS"])
    setting = Setting(threads, options.renamed)
    run(case(options.case), options.labels, setting, options.seconds)


if __name__ == "__main__":
    main()
