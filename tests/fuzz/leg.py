"""Random cases that are run in one way: the loop and the options of its command."""

from __future__ import annotations

import argparse
import random
import warnings
from collections import Counter
from collections.abc import Callable

from tests.fuzz.case import Case
from tests.fuzz.draw import draw
from tests.fuzz.run import seeds

#: Cases that neither count nor fail: they are refused, or are no case of the kind.
_SKIPPED = ("refused", "bounds", "no text", "not kept", "trivial", "too long")
#: After so many failures there is no use in more.
_MOST_FAILURES = 20


def run_leg(told: str | None, run: Callable[[Case, int], str]) -> int:
    """The exit status of a command that runs cases until so many are "clean". run: a
    case and its seed; its word for a case, which is a failure if it is none of ours."""
    parser = argparse.ArgumentParser(description=told)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    failures = 0
    warnings.simplefilter("ignore")
    for seed in seeds(options.seed):
        if counts["clean"] >= options.cases or failures >= _MOST_FAILURES:
            break
        try:
            found = run(draw(random.Random(seed)), seed)
        except Exception as error:  # what no case should cause
            found = f"{type(error).__name__}: {error}"
        if found == "clean" or found in _SKIPPED:
            counts[found] += 1
        else:
            failures += 1
            print(f"seed {seed}: {found}", flush=True)
    print(", ".join([f"{n} {what}" for what, n in counts.items()]))
    return 1 if failures else 0


__all__ = ["run_leg"]
