"""Limits of time: ``timeout=`` of the methods that compile and run, and `time_limit`.

Whoever may take long asks for the limit: the compiler's threads (`deep`), which are
ended from outside, and runs of compiled code (`runtime.limited`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from parhelion.dataclass import dataclass
from parhelion.errors import TimeLimitError, TypeMismatchError, here


@dataclass(frozen=True, slots=True)
class Deadline:
    """When all is to be over, by `time.monotonic`, and how long that was at first."""

    end: float
    seconds: float

    def left(self) -> float:
        """Seconds until then, at least 0."""
        return max(self.end - time.monotonic(), 0.0)

    def error(self, doing: str, hint: str = "allow more seconds") -> TimeLimitError:
        """What is raised when it is over. doing: what was under way."""
        return TimeLimitError(
            f"the time limit of {self.seconds:g} s is over while {doing}",
            at=here(),
            hint=hint,
        )

    def check(self, doing: str) -> None:
        """Raises TimeLimitError if it is over."""
        if time.monotonic() >= self.end:
            raise self.error(doing)


#: The limit of this thread or task, if there is one.
DEADLINE: ContextVar[Deadline | None] = ContextVar("parhelion.time_limit", default=None)


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Limits the time of what is compiled, scheduled and run inside a ``with`` block.

    When the seconds are over, the compiler, the search for a schedule or the pipeline
    that runs is ended, and TimeLimitError raised; what was to be written is then
    undefined. The limit holds for this Python thread or asyncio task alone; inside of
    another one, the earlier end holds. LLVM is not ended in the middle of its work, nor
    is a function of the user's. Raises TypeMismatchError unless `seconds` is a positive
    number.

    >>> f = hl.Func()
    >>> f[x, y] = x + y
    >>> with hl.time_limit(20):
    ...     sums = f.realize([3, 2])
    """
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not seconds > 0:
        raise TypeMismatchError(
            f"a time limit is a positive number of seconds, not {seconds!r:.60}",
            at=here(),
        )
    return _limited(float(seconds))


def within(timeout: float | None) -> AbstractContextManager[None]:
    """The block of a method that takes ``timeout=``."""
    return nullcontext() if timeout is None else time_limit(timeout)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    made = Deadline(time.monotonic() + seconds, seconds)
    before = DEADLINE.get()
    token = DEADLINE.set(before if before and before.end < made.end else made)
    try:
        yield
    finally:
        DEADLINE.reset(token)


__all__ = ["DEADLINE", "Deadline", "time_limit", "within"]
