"""Fresh processes that measure, and what they are told of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

#: Seconds after which a process that measures is given up.
TIMEOUT = 300.0


class Failed(Exception):
    """A process that measures did not end well; the message is what it said."""


def environment(
    threads: int | None = None, setting: Mapping[str, str] | None = None
) -> dict[str, str]:
    """This process's environment, with the number of threads for all that have some."""
    env = {**os.environ, **(setting or {})}
    if threads is not None:
        for library in ("HL", "OPENBLAS", "OMP"):
            env[f"{library}_NUM_THREADS"] = str(threads)
        # OpenMP's threads would otherwise spin into the next one's turn.
        env["OMP_WAIT_POLICY"] = "PASSIVE"
    return env


def child(
    *args: str,
    threads: int | None = None,
    setting: Mapping[str, str] | None = None,
    accepted: tuple[int, ...] = (0,),
    timeout: float = TIMEOUT,
) -> str:
    """Standard output of ``python args…`` in a fresh process. Raises Failed."""
    command = " ".join(args)
    try:
        done = subprocess.run(
            [sys.executable, *args],
            env=environment(threads, setting),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command}: not done after {timeout:.0f} s") from error
    if done.returncode not in accepted:
        raise Failed(f"{command}: {done.stderr.strip() or f'exit {done.returncode}'}")
    return done.stdout
