"""Runs cases in another process, so that a crash is an outcome like others.

    python -m tests.fuzz.worker [--guarded] [BUG]

reads the `repr` of one case per line and answers with one line of JSON each.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from collections import Counter

from tests.fuzz.bugs import plant
from tests.fuzz.case import Case
from tests.fuzz.execute import Outcome, Report, run_quietly
from tests.fuzz.process import NoAnswer, Process
from tests.support import objects

#: One case takes a fraction of a second; one that takes so long hangs.
SECONDS = 120.0


class Worker(Process):
    """A process that runs case after case."""

    def __init__(self, bug: str = "", guarded: bool = False) -> None:
        """bug: one of `bugs.BUGS`, put into the compiler of the process.
        guarded: in memory with edges (see `guarded`)."""
        super().__init__("tests.fuzz.worker", *bug.split(), *["--guarded"] * guarded)

    def run(self, case: Case, seconds: float = SECONDS) -> Report:
        try:
            found = json.loads(self.ask(repr(case), seconds))
        except NoAnswer as error:
            return Report(Outcome.CRASH, str(error))
        return Report(
            Outcome(found["outcome"]),
            found["message"],
            Counter(found["drawn"]),
            Counter(found["accepted"]),
        )


def run_apart(case: Case, guarded: bool = False) -> Report:
    """`run_quietly` in a process of its own, which later calls use again."""
    worker = _shared.setdefault(guarded, Worker(guarded=guarded))
    return worker.run(case)


_shared: dict[bool, Worker] = {}


def main() -> None:
    from tests.fuzz.guarded import Guard
    from tests.fuzz.reduction import parse

    faulthandler.enable()
    objects.share()
    bugs = [a for a in sys.argv[1:] if a != "--guarded"]
    guard = Guard() if "--guarded" in sys.argv else None
    for bug in bugs:
        plant(bug)
    # What the compiler or a library prints must not get into the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        report = run_quietly(parse(line))
        if guard is not None:
            guard.end(report)
        answer = {
            "outcome": report.outcome.value,
            "message": report.message,
            "drawn": dict(report.drawn),
            "accepted": dict(report.accepted),
        }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
