"""From the text of a Forma program to its tree."""

from __future__ import annotations

import os
from pathlib import Path

from parhelion.errors import FormaError, HalideError, Site, TypeMismatchError, here
from parhelion.forma import kept
from parhelion.forma import tree as T
from parhelion.forma.spans import Source, Span

#: The longest program, in characters. One of this length takes some 5 s: 10 us a token.
LONGEST = 1_000_000


def parse(text: str, file: str = "<forma>") -> T.Program:
    """Return the tree of a program, which messages call `file`.

    Raises FormaError, with the place, for what is no Forma, and TypeMismatchError for
    what is no text.
    """
    return parse_source(source_of(text, file))


def source_of(text: str, file: str = "<forma>") -> Source:
    """The text of a program, and what messages call its file. Raises
    TypeMismatchError."""
    if not isinstance(text, str):
        raise _no_program(text)
    # The mark that editors of Windows put before a text in UTF-8 is none of it.
    return Source(text.removeprefix("\ufeff"), file)


def parse_source(source: Source) -> T.Program:
    """Return the tree of a program. Raises FormaError."""
    text = source.text
    if len(text) > LONGEST:
        raise Span(source, 0, 1).error(
            f"the program has {len(text)} characters, and at most {LONGEST} are read",
            hint="write stages that repeat as a loop, or as a vector function",
        )
    found = kept.find(source)
    if found is not None:
        return found
    try:
        from parhelion.forma.lalr import PARSER  # takes a tenth of a second
    except ImportError as error:
        raise HalideError(
            "reading programs of Forma needs the package lark",
            at=here(),
            hint='pip install "parhelion[forma]"',
        ) from error
    made = PARSER.parse(source)
    kept.keep(made)
    return made


def parse_file(path: str | Path) -> T.Program:
    """Return the tree of the program in a file. Raises FormaError and OSError, and
    TypeMismatchError for what is no path."""
    return parse_source(source_in(path))


def source_in(path: str | Path) -> Source:
    """The text in a file. Raises as `parse_file`."""
    if not isinstance(path, str | os.PathLike):
        raise _no_program(path)
    data = Path(path).read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise FormaError(
            f"the byte 0x{data[error.start]:02x} is not UTF-8",
            at=Site(str(path), line, (0, 1), "", column=column),
            hint="save the program as UTF-8",
        ) from None
    return Source(text.replace("\r\n", "\n"), str(path))


def _no_program(given: object) -> TypeMismatchError:
    """The error for what is neither a text nor a path."""
    return TypeMismatchError(
        f"a program of Forma is a text, the path of a file, or a function under"
        f" @forma.program, not {given!r:.60}",
        at=here(),
    )


__all__ = [
    "LONGEST",
    "parse",
    "parse_file",
    "parse_source",
    "source_in",
    "source_of",
]
