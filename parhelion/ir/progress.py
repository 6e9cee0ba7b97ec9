"""One line on the standard error about work that takes more than two seconds.

A `task` is what the user asked for (to compile, to schedule); inside of it, `step` says
what is under way. Where the standard error is a terminal or a notebook's, a thread
writes one line after `PATIENCE` seconds, keeps it up to date, and removes it at the
end. Elsewhere, and where it is turned off, nothing is started and nothing is written.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from parhelion.errors import TypeMismatchError, here

#: Seconds before anything is shown, and between two looks at what is under way.
PATIENCE, _PAUSE = 2.0, 0.25
#: Characters of the line; what is longer is cut.
_WIDTH = 78

#: What `set_progress` was told; None leaves it to the environment.
_wanted: bool | None = None
_at = threading.local()


class Task:
    """Work that the user waits for, and the step of it that is under way."""

    __slots__ = ("_shown", "began", "done", "since", "step", "what")

    def __init__(self, what: str) -> None:
        self.what, self.step = what, ""
        self.began = self.since = time.monotonic()
        self.done = threading.Event()
        self._shown = ""

    def begin(self, step: str) -> None:
        """Says what is under way from now on."""
        self.step, self.since = step, time.monotonic()

    def line(self) -> str:
        """The line, as it is now."""
        now = time.monotonic()
        text = f"parhelion: {self.what}, {now - self.began:.0f} s"
        if self.step:
            text += f"; {self.step}, {now - self.since:.0f} s"
        return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"

    def watch(self) -> None:
        """Keeps the line until the task is done."""
        wait = PATIENCE
        while not self.done.wait(wait):
            self._write(self.line())
            wait = _PAUSE
        if self._shown:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _write(self, text: str) -> None:
        if text != self._shown:
            sys.stderr.write(f"\r{text:<{len(self._shown)}}")
            sys.stderr.flush()
            self._shown = text


def set_progress(on: bool | None) -> None:
    """Turns the line about long compilations and searches for schedules on or off.

    None, the default, leaves it to the environment: ``PARHELION_PROGRESS=0`` turns it
    off. Even when on, it is only written where the standard error is a terminal or a
    notebook's. Raises TypeMismatchError for what is neither a bool nor None.

    >>> hl.set_progress(False)
    >>> hl.set_progress(None)
    """
    global _wanted
    if on is not None and not isinstance(on, bool):
        raise TypeMismatchError(
            f"set_progress takes True, False or None, not {on!r:.60}", at=here()
        )
    _wanted = on


def is_shown() -> bool:
    """Whether tasks that begin now are to have a line."""
    on = _wanted
    if on is None:
        on = os.environ.get("PARHELION_PROGRESS", "").lower() not in ("0", "off")
    return on and (_is_terminal() or _is_notebook())


def _is_terminal() -> bool:
    # Without a console there is no standard error, and it may be closed.
    stream = sys.stderr
    return stream is not None and not stream.closed and stream.isatty()


def _is_notebook() -> bool:
    # Its stream is no terminal, and understands the return of the carriage.
    return type(sys.stderr).__module__.startswith("ipykernel")


def current() -> Task | None:
    """The task of this thread."""
    found: Task | None = getattr(_at, "task", None)
    return found


def adopt(task: Task | None) -> None:
    """Makes this thread one that works for a task of another, which waits for it."""
    _at.task = task


@contextmanager
def task(what: str) -> Iterator[None]:
    """Work that may take long. Inside of another task it is a step of that."""
    outer = current()
    if outer is not None:
        outer.begin(what)
        yield
        return
    if not is_shown():
        yield
        return
    made = Task(what)
    _at.task = made
    watcher = threading.Thread(target=made.watch, name="parhelion-progress")
    watcher.daemon = True
    watcher.start()
    try:
        yield
    finally:
        _at.task = None
        made.done.set()
        watcher.join()


def step(what: str) -> None:
    """Says what takes the time from now on, where there is a task."""
    found = current()
    if found is not None:
        found.begin(what)


__all__ = [
    "PATIENCE",
    "Task",
    "adopt",
    "current",
    "is_shown",
    "set_progress",
    "step",
    "task",
]
