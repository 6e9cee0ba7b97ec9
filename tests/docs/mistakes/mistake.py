"""A mistake as docs/errors.md tells it: a program, what it says, and the cure."""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import parhelion as hl

#: What all programs of the page begin with.
START = """\
import numpy as np
import parhelion as hl

x, y, c = hl.vars("x y c")
photo = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5  # 6 rows of 8 pixels
"""
#: The file that messages name.
FILE = "mistake.py"


@dataclass(frozen=True)
class Mistake:
    """A program that does not do what its author meant."""

    title: str
    program: str
    meaning: str
    cure: str


@dataclass(frozen=True)
class Outcome:
    """What a program printed and warned of, and the error that ended it."""

    printed: str
    warned: str
    error: hl.HalideError | None

    def told(self) -> str:
        """Return what a reader sees, without the numbers that make names unique."""
        parts = [self.printed, self.warned]
        if self.error is not None:
            parts.append(f"{type(self.error).__name__}: {self.error}")
        text = "\n".join([part.rstrip("\n") for part in parts if part])
        return re.sub(r"\$\d+", "", text)


def run(program: str) -> Outcome:
    """Run a program after `START`, as a file of its own whose lines errors quote.

    Errors that are not Parhelion's are raised.
    """
    scope: dict[str, object] = {}
    exec(compile(START, "start.py", "exec"), scope)  # noqa: S102
    printed, error = io.StringIO(), None
    back = Path.cwd()
    with TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        os.chdir(folder)
        try:
            Path(FILE).write_text(program)
            linecache.checkcache(FILE)
            with contextlib.redirect_stdout(printed):
                exec(compile(program, FILE, "exec"), scope)  # noqa: S102
        except hl.HalideError as caught:
            str(caught)  # quotes the file while it is there
            error = caught
        finally:
            linecache.cache.pop(FILE, None)
            os.chdir(back)
    told = [f"{one.category.__name__}: {one.message}" for one in seen]
    return Outcome(printed.getvalue(), "\n".join(told), error)
