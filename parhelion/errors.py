"""The exceptions, and the user's source lines that their messages quote.

One root, `HalideError`; each subclass also inherits the Python builtin that fits.
`InternalError` alone means a bug of Parhelion's.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: The command line, around which there is no program of the user's.
_COMMANDS = _PACKAGE + "cli" + os.sep


@dataclass(frozen=True, slots=True)
class Site:
    """A line of the user's program: where a Func was defined, used or scheduled."""

    file: str
    line: int

    def text(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@functools.cache
def _numpy() -> str:
    """The folder of NumPy, whose functions call operators of Exprs."""
    import numpy

    return os.path.dirname(numpy.__file__) + os.sep


def here() -> Site | None:
    """The innermost frame outside this package: the user's own line. None on a thread
    of the package's own, where only who waits for it knows that line, and on the
    command line, which is called by no program of the user's."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == threading.__file__ or name.startswith(_COMMANDS):
            return None
        if not name.startswith((_PACKAGE, "<", _numpy())):
            return Site(name, frame.f_lineno)
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


class HalideError(RuntimeError):
    """Everything that Parhelion raises on purpose.

    The message is assembled from `what` (a sentence), the user's line, and
    optional facts: `legal` lists the alternatives, `hint` says what to do. `failure`
    names the entry of `ir.failures` if compiled code reported it.
    """

    def __init__(
        self,
        what: str,
        *,
        at: Site | None = None,
        legal: Sequence[str] = (),
        hint: str = "",
        detail: str = "",
    ) -> None:
        self.what = what
        self.at = at
        self.legal = tuple(legal)
        self.hint = hint
        self.detail = detail
        self.failure = ""
        super().__init__(self._render())

    def locate(self, at: Site | None) -> None:
        """Gives a place to an error that has none."""
        if self.at is None and at is not None:
            self.at = at
            self.args = (self._render(),)

    def advise(self, hint: str) -> None:
        """Gives the error another hint."""
        self.hint = hint
        self.args = (self._render(),)

    def _render(self) -> str:
        lines = [self.what]
        if self.at is not None:
            lines.append(f"  --> {self.at}")
            text = self.at.text()
            if text:
                lines += [f"   |  {text}", f"   |  {'^' * len(text)}"]
        if self.detail:
            lines.append(self.detail)
        if self.legal:
            lines.append("legal here:")
            lines += [f"  - {one}" for one in self.legal]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class DefinitionError(HalideError, ValueError):
    """An algorithm that does not make sense: undefined Func, bad recursion, …"""


class TypeMismatchError(HalideError, TypeError):
    """Types or dimensions that do not fit together."""


class LiteralError(TypeMismatchError, OverflowError):
    """A Python number that the other operand's type cannot hold."""


class ScheduleError(HalideError, ValueError):
    """A directive that is misused or would change the result."""


class BoundsError(HalideError, IndexError):
    """A region that is unbounded, or larger than the buffer given for it."""


class InvalidBufferError(HalideError, BufferError):
    """A buffer that cannot be wrapped or does not fit a parameter."""


#: What `InvalidBufferError` was called before version 0.1, for scripts of that time.
BufferError_ = InvalidBufferError


class UnsetParamError(HalideError, ValueError):
    """A Param or an ImageParam that a pipeline needs, and that has no value yet."""


class PipelineRuntimeError(HalideError):
    """An error that compiled code reported while it ran (`require`, …)."""


class OutOfMemoryError(HalideError, MemoryError):
    """Compiled code could not allocate an intermediate buffer."""


class InternalError(HalideError):
    """A bug of Parhelion's own. Please report it with the program that shows it."""


def internal_assert(condition: object, what: str) -> None:
    """Raises InternalError unless `condition` holds."""
    if not condition:
        raise InternalError(f"internal error: {what}")
