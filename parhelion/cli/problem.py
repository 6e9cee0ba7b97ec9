"""What a user of the command line did wrong, in a sentence."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from parhelion.errors import HalideError

#: Where frames are of no interest to the user: this package, and Python's imports.
_OURS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, "<frozen importlib")


class Problem(Exception):
    """Ends the command with a message, and code 1. legal: what would be right."""

    def __init__(self, what: str, legal: Sequence[str] = (), hint: str = "") -> None:
        lines = [what]
        if legal:
            lines.append(f"  there is: {', '.join(legal)}")
        if hint:
            lines.append(f"  hint: {hint}")
        super().__init__("\n".join(lines))


def note(what: str) -> None:
    """Tells, on the standard error, what the user may not expect; the command goes
    on."""
    click.echo(f"parhelion: note: {what}", err=True)


@contextmanager
def running(path: Path) -> Iterator[None]:
    """Around the user's code: what it raises becomes a Problem with a traceback that
    begins where that code does. Errors of the language say by themselves where."""
    try:
        yield
    except (HalideError, Problem):
        raise
    except Exception as error:
        at = error.__traceback__
        while at is not None and at.tb_frame.f_code.co_filename.startswith(_OURS):
            at = at.tb_next
        lines = traceback.format_exception(type(error), error, at)
        raise Problem(f"{path} fails\n{''.join(lines).rstrip()}") from error


__all__ = ["Problem", "note", "running"]
