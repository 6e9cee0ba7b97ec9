"""The cells of notebooks that are programs of Forma: ``%%forma name``."""

from __future__ import annotations

import keyword
from typing import Any, Protocol

from parhelion.errors import FormaError
from parhelion.forma.check import check
from parhelion.forma.program import Program


class Publisher(Protocol):
    """What shows something below a cell."""

    def publish(self, data: dict[str, str]) -> None: ...


class Shell(Protocol):
    """What is needed of IPython's shell."""

    @property
    def display_pub(self) -> Publisher: ...

    def register_magic_function(
        self, func: Any, magic_kind: str, magic_name: str
    ) -> None: ...

    def push(self, variables: dict[str, object]) -> None: ...


def register(shell: Shell) -> None:
    """Makes ``%%forma`` known to a shell."""

    def forma(line: str, cell: str) -> None:
        """Compile the program in the cell, and bind it to a name: %%forma blur"""
        try:
            run_cell(shell, line, cell)
        except FormaError as error:
            # In place of the calls that led here, which are none of the user's.
            lines = rendered(error)
            error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
            raise

    shell.register_magic_function(forma, magic_kind="cell", magic_name="forma")


def run_cell(shell: Shell, line: str, cell: str) -> None:
    """Compiles the program in a cell, binds it to the name in its first line, and shows
    it in colours. Raises FormaError, with the line of the cell."""
    name = line.strip()
    if not name.isidentifier() or keyword.iskeyword(name):
        raise FormaError(
            f"'{name}' is no name for a program" if name else "the program has no name",
            hint="write the name of a variable: %%forma blur",
        )
    # The first line of the cell is that of the magic.
    program = Program(check(f"\n{cell}", f"%%forma {name}"), name=name)
    shell.push({name: program})
    shell.display_pub.publish(
        {"text/plain": repr(program), "text/html": coloured(cell, repr(program))}
    )


def coloured(text: str, caption: str = "") -> str:
    """A program as HTML, in the colours of its lexer, with a line above it."""
    from html import escape

    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    from parhelion.forma.lexer import FormaLexer

    page: str = highlight(text, FormaLexer(), HtmlFormatter(noclasses=True))
    return f"<p><code>{escape(caption)}</code></p>\n{page}" if caption else page


def rendered(error: FormaError) -> list[str]:
    """The message of an error, line by line, the line of the program in the colours of
    terminals, which notebooks show, too."""
    from pygments import highlight
    from pygments.formatters import TerminalFormatter

    from parhelion.forma.lexer import FormaLexer

    lines = f"FormaError: {error}".split("\n")
    quoted = next((k for k, one in enumerate(lines) if one.startswith("   |  ")), None)
    if quoted is not None:
        text = lines[quoted].removeprefix("   |  ")
        shown = highlight(text, FormaLexer(ensurenl=False), TerminalFormatter())
        lines[quoted] = f"   |  {shown.rstrip()}"
    return lines


__all__ = ["coloured", "register", "rendered", "run_cell"]
