"""Runs cases in another process, so that a crash is an outcome like others.

    python -m tests.fuzz.worker [--guarded] [BUG]

reads the `repr` of one case per line and answers with one line of JSON each.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fuzz.bugs import plant
from tests.fuzz.case import Case
from tests.fuzz.execute import Outcome, Report, run_quietly

_ROOT = Path(__file__).resolve().parent.parent.parent

#: One case takes a fraction of a second; one that takes so long hangs.
_SECONDS = 120.0


class Worker:
    """A process that runs case after case; a new one takes over when it dies."""

    def __init__(self, bug: str = "", guarded: bool = False) -> None:
        """bug: one of `bugs.BUGS`, put into the compiler of the process.
        guarded: in memory with edges (see `guarded`)."""
        self.arguments = [*bug.split(), *["--guarded"] * guarded]
        self.process: subprocess.Popen[str] | None = None

    def run(self, case: Case, seconds: float = _SECONDS) -> Report:
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(repr(case) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], seconds)
            line = process.stdout.readline() if ready else ""
        except BrokenPipeError:
            ready, line = [process.stdout], ""
        if line:
            found = json.loads(line)
            return Report(
                Outcome(found["outcome"]),
                found["message"],
                Counter(found["drawn"]),
                Counter(found["accepted"]),
            )
        self.close()
        if not ready:
            return Report(Outcome.CRASH, f"no answer within {seconds:g} s")
        return Report(Outcome.CRASH, f"the process died: {process.returncode}")

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker", *self.arguments],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self.process

    def close(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def run_apart(case: Case, guarded: bool = False) -> Report:
    """`run_quietly` in a process of its own, which later calls use again."""
    worker = _shared.setdefault(guarded, Worker(guarded=guarded))
    return worker.run(case)


_shared: dict[bool, Worker] = {}


def main() -> None:
    from tests.fuzz.guarded import Guard
    from tests.fuzz.reduction import parse

    faulthandler.enable()
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
