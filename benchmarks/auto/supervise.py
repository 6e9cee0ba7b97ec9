"""Runs the process that measures, without those contenders that bring it down."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.process import environment

#: Seconds without a word after which the process is ended.
SILENCE = 150.0
#: And while it measures, beyond those that it was given.
MARGIN = 240.0


@dataclass
class Spoken:
    """What one process said before it ended.

    entries: of each contender. times: of those that were measured, None if it did not
    come to that. others: the share of the computer that others used meanwhile. busy:
    what it was preparing, or None, and begun: what it knew of that. why: how it ended,
    if not well.
    """

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    times: dict[str, dict[str, float]] | None = None
    others: float | None = None
    busy: str | None = None
    begun: dict[str, Any] = field(default_factory=dict)
    why: str = ""

    def hear(self, line: str) -> None:
        """Takes one line of the process's output."""
        facts = json.loads(line)
        if "preparing" in facts:
            self.busy, self.begun = facts.pop("preparing"), facts
        elif "prepared" in facts:
            self.entries[facts.pop("prepared")] = facts
            self.busy = None
        else:
            self.times, self.others = facts["times"], facts["others"]


def listen(
    command: Sequence[str], threads: int, seconds: float, silence: float = SILENCE
) -> Spoken:
    """Runs ``python command…`` until it ends or says nothing for too long."""
    said = Spoken()
    ended = threading.Event()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", *command],
            env=environment(threads),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

        def end() -> None:
            ended.set()
            process.kill()

        assert process.stdout is not None
        while True:
            patience = silence if said.busy else silence + MARGIN + seconds
            timer = threading.Timer(patience, end)
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            if not line:
                break
            said.hear(line)
        process.stdout.close()
        code = process.wait()
        errors.seek(0)
        told = errors.read().strip().splitlines()
    if ended.is_set():
        said.why = f"no end within {patience:.0f} s"
    elif code:
        said.why = told[-1] if told and code > 0 else f"crashed, exit {code}"
    return said


class Failed(Exception):
    """No contender is to blame for it."""


def measure(
    command: Sequence[str],
    labels: Sequence[str],
    threads: int,
    seconds: float,
    silence: float = SILENCE,
) -> tuple[dict[str, dict[str, Any]], float | None]:
    """Entries of all contenders, and the share of the computer that others used while
    they were measured. An entry has times, and what is known of the contender; "failed"
    or "absent" with the reason where there are none. A contender that brings the
    process down is noted, and the others are run without it; so is one that says
    nothing for `silence` seconds. Raises Failed."""
    fallen: dict[str, dict[str, Any]] = {}
    while True:
        taking = [label for label in labels if label not in fallen]
        if not taking:
            return fallen, None
        words = [*command, *taking, "--seconds", str(seconds)]
        said = listen(words, threads, seconds, silence)
        if said.times is not None and not said.why:
            for label, times in said.times.items():
                said.entries[label] |= times
            return said.entries | fallen, said.others
        if said.busy is None:
            raise Failed(said.why or "it said nothing")
        fallen[said.busy] = {**said.begun, "failed": said.why}
