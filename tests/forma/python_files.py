"""Python programs given as text, which are read as those in files are."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

from parhelion.errors import FormaError


def run(
    text: str, file: str = "a.py", scope: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Runs a Python program, and returns what it defines, in the scope if given."""
    lines = text.splitlines(keepends=True)
    # Without a time, Python does not look for a file on the disk.
    linecache.cache[file] = (len(text), None, lines, file)
    scope = {"__name__": "a"} if scope is None else scope
    exec(compile(text, file, "exec"), scope)  # noqa: S102
    return scope


#: Ten lines, so that what comes next begins in line 11.
PREFIX = """\
from parhelion import forma
from parhelion.forma import Vector1, Vector2, at, clamped, constant, int8, mirror
from parhelion.forma import parameter, program, stencil, struct, vector
@struct
class RGB:
    r: float
    g: float
@stencil
def f(X: Vector2[float]):
    return X[-1, 0] + X
"""


def refused(text: str) -> str:
    """What is said of a Python program that has `PREFIX` before it."""
    with pytest.raises(FormaError) as caught:
        run(PREFIX + text)
    return str(caught.value)


__all__ = ["PREFIX", "refused", "run"]
