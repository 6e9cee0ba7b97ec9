"""The exceptions, and the user's source lines that their messages quote.

One root, `HalideError`; each subclass also inherits the Python builtin that fits.
`InternalError` alone means a bug of Parhelion's.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from types import CodeType

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: What stands between a ``with`` of the user's and a function of the package.
_WITH = contextlib.__file__
#: The command line, around which there is no program of the user's.
_COMMANDS = _PACKAGE + "cli" + os.sep


@dataclass(frozen=True, slots=True)
class Site:
    """A place in what the user wrote: where a Func was defined, used or scheduled.

    file, line: counted from 1. columns: of the line, the first character and the one
    behind the last, counted from 0; None stands for all of it. source: the line's text,
    where there is no file to read it from. frame: of a call in a Python program, its
    code and the instruction, by which the columns are found when they are asked for.
    """

    file: str
    line: int
    columns: tuple[int, int] | None = None
    source: str | None = field(default=None, compare=False)
    frame: tuple[CodeType, int] | None = field(default=None, compare=False, repr=False)

    def text(self) -> str:
        """The line, without the white space around it."""
        return self._line().strip()

    def marked(self) -> tuple[str, str]:
        """The line, and below it the marks of the columns."""
        line = self._line().rstrip()
        text = line.lstrip()
        margin = len(line) - len(text)
        first, last = self.span() or (margin, len(line))
        first = min(max(first - margin, 0), len(text))
        last = min(max(last - margin, first), len(text))
        if first == last:
            first, last = 0, len(text)
        return text, " " * first + "^" * (last - first)

    def span(self) -> tuple[int, int] | None:
        """`columns`, be they given or found."""
        if self.columns is not None or self.frame is None:
            return self.columns
        return _columns(*self.frame, self._line())

    def _line(self) -> str:
        if self.source is not None:
            return self.source
        return linecache.getline(self.file, self.line)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def __copy__(self) -> Site:
        return self

    def __deepcopy__(self, memo: object) -> Site:
        return self

    def __reduce__(self) -> tuple[type[Site], tuple[object, ...]]:
        return Site, (self.file, self.line, self.span(), self.source)


def _columns(code: CodeType, instruction: int, line: str) -> tuple[int, int] | None:
    """Where in a line an instruction comes from: of a chain of calls, the last one."""
    import ast  # neither is needed before something goes wrong
    import dis

    if dis.opname[code.co_code[instruction]].startswith("STORE_"):
        return None  # ``f[x] = value``: what is wrong may be on either side
    where = next(islice(code.co_positions(), instruction // 2, None))
    first_line, last_line, first, last = where
    if first is None or last is None:
        return None
    encoded = line.encode()
    if last_line != first_line:
        last = len(encoded.rstrip())
    with suppress(SyntaxError, ValueError):
        call = ast.parse(encoded[first:last].decode(), mode="eval").body
        inside = call.func if isinstance(call, ast.Call) else None
        if isinstance(inside, ast.Attribute) and inside.end_col_offset is not None:
            end = inside.value.end_col_offset
            first += end if inside.value.end_lineno == 1 and end is not None else 0
    return len(encoded[:first].decode()), len(encoded[:last].decode())


#: What stands in for the user's line, where it is in no frame of Python.
_GIVEN: ContextVar[Site | None] = ContextVar("site", default=None)


@contextmanager
def located(site: Site) -> Iterator[None]:
    """Everything in the block is at this place of the user's: what is defined and
    scheduled, and the errors. For front ends, which read programs of another language.
    """
    before = _GIVEN.set(site)
    try:
        yield
    finally:
        _GIVEN.reset(before)


@functools.cache
def _numpy() -> str:
    """The folder of NumPy, whose functions call operators of Exprs."""
    import numpy

    return os.path.dirname(numpy.__file__) + os.sep


def here() -> Site | None:
    """The place that `located` says, or else the innermost frame outside this package:
    the user's own line. None on a thread of the package's own, where only who waits for
    it knows that line, and on the command line, which is called by no program of the
    user's."""
    given = _GIVEN.get()
    if given is not None:
        return given
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == threading.__file__ or name.startswith(_COMMANDS):
            return None
        if not name.startswith((_PACKAGE, "<", _numpy())) and name != _WITH:
            at = frame.f_code, frame.f_lasti
            return Site(name, frame.f_lineno, frame=at)
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
            text, marks = self.at.marked()
            if text:
                lines += [f"   |  {text}", f"   |  {marks}"]
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
