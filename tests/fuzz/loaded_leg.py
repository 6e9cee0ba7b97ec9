"""Random cases whose code comes from the persistent cache.

    python -m tests.fuzz.loaded_leg --cases 100 --seed 1

Each case of `draw` runs twice, with Funcs of its own each time, as `run` does: all
programs that the first run kept are what the second one loads, and both are compared
with the interpreter. Cases without a program that can be kept, as those with foreign
stages, do not count.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from parhelion.runtime import records
from tests.fuzz.case import Case
from tests.fuzz.execute import Outcome, run_case
from tests.fuzz.leg import run_leg

#: What becomes of a case that neither counts nor fails.
_SKIPPED = {Outcome.REFUSED: "refused", Outcome.TRIVIAL: "trivial"}


class Counted:
    """A function that is called as before, and how often it returned something."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.count = function, 0

    def __call__(self, *arguments: Any) -> Any:
        found = self.function(*arguments)
        self.count += found is not None
        return found


def run_loaded(case: Case, kept: Counted, loaded: Counted) -> str:
    """ "clean", another word for what does not count, or what is wrong. kept, loaded:
    the programs that were written to the cache and read from it; nothing is in it."""
    kept.count = 0
    before = run_case(case)
    if before.outcome in _SKIPPED:
        return _SKIPPED[before.outcome]
    if before.outcome is not Outcome.CLEAN:
        return f"compiled: {before.message}"
    if kept.count == 0:
        return "not kept"
    kept.count = loaded.count = 0
    after = run_case(case)
    if after.outcome is not Outcome.CLEAN:
        return f"loaded: {after.message}"
    if kept.count or not loaded.count:
        return f"{loaded.count} programs were loaded, {kept.count} compiled again"
    return "clean"


def main() -> int:
    kept, loaded = Counted(records.pack), Counted(records.kept)
    records.pack, records.kept = kept, loaded  # type: ignore[assignment]

    def run(case: Case, _: int) -> str:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PARHELION_CACHE"] = folder
            return run_loaded(case, kept, loaded)

    return run_leg(__doc__, run)


if __name__ == "__main__":
    sys.exit(main())
