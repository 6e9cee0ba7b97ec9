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
from dataclasses import field
from itertools import islice
from types import CodeType, FrameType

from parhelion.dataclass import dataclass
from parhelion.shown import view

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: What stands between a ``with`` of the user's and a function of the package.
_WITH = contextlib.__file__
#: The command line, around which there is no program of the user's.
_COMMANDS = PACKAGE + "cli" + os.sep
#: What runs under a name in <> and is no line of the user's: Python's importer, the
#: methods that dataclasses, attrs and decorators generate, and the package's own text.
#: Any other such name is that of a cell or an example, as IPython and doctest have it.
GENERATED = ("<frozen ", "<string>", "<attrs generated", "<decorator-gen", "<bounds>")


@dataclass(frozen=True, slots=True)
class Site:
    """A place in what the user wrote: where a Func was defined, used or scheduled.

    file, line: counted from 1. columns: of the line, the first character and the one
    behind the last, counted from 0; None stands for all of it. source: the line's text,
    where there is no file to read it from. frame: of a call in a Python program, its
    code and the instruction, by which the columns are found when they are asked for.
    scheduler: the automatic one that gave a directive there, in the user's place.
    column: counted from 1, for messages that are to tell it as a number, too; or 0.
    """

    file: str
    line: int
    columns: tuple[int, int] | None = None
    source: str | None = field(default=None, compare=False)
    frame: tuple[CodeType, int] | None = field(default=None, compare=False, repr=False)
    scheduler: str = field(default="", compare=False, repr=False)
    column: int = field(default=0, compare=False, repr=False)

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

    def of_name(self, name: str) -> Site:
        """The same place, with the columns of the first use of a Python variable in the
        line, if there is one."""
        import re  # not needed before something goes wrong

        found = re.search(rf"(?<![\w.'\"]){re.escape(name)}(?![\w'\"])", self._line())
        if found is None or self.source is not None:
            return self
        return Site(self.file, self.line, found.span(), scheduler=self.scheduler)

    def _line(self) -> str:
        if self.source is not None:
            return self.source
        return linecache.getline(self.file, self.line)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{place}:{self.column}" if self.column else place

    def __copy__(self) -> Site:
        return self

    def __deepcopy__(self, memo: object) -> Site:
        return self

    def __reduce__(self) -> tuple[type[Site], tuple[object, ...]]:
        return Site, (
            *(self.file, self.line, self.span(), self.source, None, self.scheduler),
            self.column,
        )


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
    user's. Around generated methods there is a file, except in ``python -c``."""
    given = _GIVEN.get()
    if given is not None:
        return given
    frame = sys._getframe(1)
    typed: Site | None = None
    while frame is not None:
        name = frame.f_code.co_filename
        if name == threading.__file__ or name.startswith(_COMMANDS):
            return None
        if not name.startswith((PACKAGE, *GENERATED, _numpy())) and name != _WITH:
            return Site(name, frame.f_lineno, frame=(frame.f_code, frame.f_lasti))
        if typed is None and _is_typed(frame):
            typed = Site(name, frame.f_lineno, frame=(frame.f_code, frame.f_lasti))
        if frame.f_back is None:
            return typed
        frame = frame.f_back
    return None


def _is_typed(frame: FrameType) -> bool:
    """Whether the code of a frame may be what ``python -c`` is given."""
    name = frame.f_code.co_filename
    return name == "<string>" and frame.f_globals.get("__name__") == "__main__"


class HalideError(RuntimeError):
    """The class of all errors that Parhelion raises on purpose.

    The message has `what`, a sentence; the line of the user's program, whose place is
    `at`; `detail`; the alternatives, `legal`; and what to do, `hint`. `failure` names
    the check of compiled code that failed, if one did. Each subclass also inherits from
    the class of Python's that fits.

    >>> hl.Target("x86-64-lunix")
    Traceback (most recent call last):
        ...
    parhelion.errors.HalideError: the target 'x86-64-lunix' has the unknown part ...
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
        """Sets the place of an error that has none."""
        if self.at is None and at is not None:
            self.at = at
            self.args = (self._render(),)

    def advise(self, hint: str) -> None:
        """Replaces the hint of the error."""
        self.hint = hint
        self.args = (self._render(),)

    def _repr_html_(self) -> str:
        """What a notebook shows of an error that is the value of a cell."""
        return str(view("error")(self))

    def add(self, detail: str) -> None:
        """Adds lines to the details of the error."""
        self.detail = f"{self.detail}\n{detail}" if self.detail else detail
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
    """An algorithm makes no sense: a Func is not defined, a Var is unknown, ….

    >>> f = hl.Func("f")
    >>> f[x] = x + y
    Traceback (most recent call last):
        ...
    parhelion.errors.DefinitionError: the definition of Func 'f' mentions the ...
    """


class TypeMismatchError(HalideError, TypeError):
    """Types or numbers of dimensions do not fit together; also a TypeError.

    >>> hl.logical_not(3)
    Traceback (most recent call last):
        ...
    parhelion.errors.TypeMismatchError: logical_not takes a Bool, not ...
    """


class LiteralError(TypeMismatchError, OverflowError):
    """A Python number does not fit the type of the other operand; also an
    OverflowError.

    >>> hl.u8(200) + 300
    Traceback (most recent call last):
        ...
    parhelion.errors.LiteralError: the literal 300 does not fit uint8, ...
    """


class ScheduleError(HalideError, ValueError):
    """A directive is misused, or would change the result; also a ValueError.

    >>> f = hl.Func("f")
    >>> f[x] = x
    >>> f.parallel(y)
    Traceback (most recent call last):
        ...
    parhelion.errors.ScheduleError: f.parallel: ...
    """


class BoundsError(HalideError, IndexError):
    """A region is unbounded, or larger than the image given for it; also an IndexError.

    >>> hl.Buffer(np.zeros(3))[5]
    Traceback (most recent call last):
        ...
    parhelion.errors.BoundsError: index 5 is out of bounds for dimension 0 of Buffer ...
    """


class InvalidBufferError(HalideError, BufferError):
    """A Buffer has a layout or memory that does not fit; also a BufferError.

    >>> f = hl.Func("f")
    >>> f[x] = x
    >>> f.realize(np.broadcast_to(np.int32(0), 3))
    Traceback (most recent call last):
        ...
    parhelion.errors.InvalidBufferError: the buffer for the output of Func 'f' ...
    """


#: What `InvalidBufferError` was called before version 0.1, for scripts of that time.
BufferError_ = InvalidBufferError


class UnsetParamError(HalideError, ValueError):
    """A Param or an ImageParam that a pipeline needs has no value; also a ValueError.

    >>> f = hl.Func("f")
    >>> f[x] = x * hl.Param(hl.Int(32), "gain")
    >>> f.realize([3])
    Traceback (most recent call last):
        ...
    parhelion.errors.UnsetParamError: Param 'gain' has no value...
    """


class PipelineRuntimeError(HalideError):
    """Compiled code reported an error while it ran, such as a failed `require`.

    >>> f = hl.Func("f")
    >>> f[x] = hl.require(x < 2, x, "x is too large:", x)
    >>> f.realize([3])
    Traceback (most recent call last):
        ...
    parhelion.errors.PipelineRuntimeError: requirement failed: x is too large: 2...
    """


class OutOfMemoryError(HalideError, MemoryError):
    """Compiled code got no memory for an intermediate result; also a MemoryError.

    >>> issubclass(hl.OutOfMemoryError, MemoryError)
    True
    """


class TimeLimitError(HalideError, TimeoutError):
    """A time limit was over before the work was done (`time_limit`, ``timeout=``); also
    a TimeoutError.

    >>> issubclass(hl.TimeLimitError, TimeoutError)
    True
    """


class FormaError(HalideError, ValueError):
    """A program of the Forma language is wrong; also a ValueError.

    The place names the program's line and column.

    >>> from parhelion import forma
    >>> forma.parse("y = 3 * ;")
    Traceback (most recent call last):
        ...
    parhelion.errors.FormaError: expected an expression, not ';'...
    """


class MissingFolderError(HalideError, FileNotFoundError):
    """A file is to be written into a folder that is not there; also a
    FileNotFoundError.

    >>> f = hl.Func("f")
    >>> f[x] = x
    >>> f.compile_to_file("nowhere/f")
    Traceback (most recent call last):
        ...
    parhelion.errors.MissingFolderError: 'nowhere/f.o' cannot be written: ...
    """


class UnwritableFileError(HalideError, OSError):
    """A file cannot be written where it is to be, as where a folder is; also an
    OSError.

    >>> f = hl.Func("f")
    >>> f[x] = x
    >>> f.compile_to_object("/", [])
    Traceback (most recent call last):
        ...
    parhelion.errors.UnwritableFileError: '/' cannot be written: it is a folder...
    """


class SerialisationError(HalideError, ValueError):
    """What is read is no serialised pipeline, or is damaged, or cannot be written; also
    a ValueError.

    >>> hl.deserialize_pipeline(b"a picture")
    Traceback (most recent call last):
        ...
    parhelion.errors.SerialisationError: this is no serialised pipeline, ...
    """


class InternalError(HalideError):
    """Parhelion itself is wrong. Please report it with the program that shows it.

    >>> issubclass(hl.InternalError, hl.HalideError)
    True
    """


def internal_assert(condition: object, what: str) -> None:
    """Raises InternalError unless `condition` holds."""
    if not condition:
        raise InternalError(f"internal error: {what}")
