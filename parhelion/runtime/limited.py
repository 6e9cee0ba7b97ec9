"""Runs of compiled code that end when a time limit is over.

A thread of Python's waits beside the run (which holds no lock of Python's), and marks
it as stopped in the word that compiled code looks at for Ctrl-C (`watch_ir`). So what
looks for Ctrl-C heeds limits, on every thread; code that does not is over at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from parhelion.ir.deadline import Deadline
from parhelion.runtime.context import ERROR_HEAD, Context
from parhelion.runtime.threads import stop_run

_STOP: int = Context.stop.offset
_NOTHING = bytes(4)


def run_within(
    deadline: Deadline,
    entry: Callable[[int, int], int],
    base: int,
    argv: int,
    memory: memoryview,
) -> tuple[int, bool]:
    """Runs compiled code in a context, and returns its code, and whether it was stopped
    as its time was over. memory: of the context, which begins at `base`."""
    guard = threading.Lock()
    over = stopped = False

    def end() -> None:
        nonlocal stopped
        with guard:
            if not over:
                stopped = True
                stop_run(base)

    timer = threading.Timer(deadline.left(), end)
    timer.daemon = True
    timer.start()
    try:
        code = entry(base, argv)
    finally:
        with guard:
            over = True
        timer.cancel()
    if stopped:
        # It may have come when the run had left already.
        memory[_STOP : _STOP + len(_NOTHING)] = _NOTHING
        if not code:
            memory[: ERROR_HEAD.size] = bytes(ERROR_HEAD.size)
    return code, stopped


__all__ = ["run_within"]
