"""Programs that are refused, each with its message: what tables of them share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from textwrap import dedent

import pytest

import parhelion as hl
from parhelion.schedule.legality import resolve
from tests.support.spec import spec_of

x, y, z, u, v, w = (hl.Var(n) for n in ("x", "y", "z", "u", "v", "w"))
ro, ri = hl.RVar("ro"), hl.RVar("ri")

Bad = Callable[[], object]


class Refusals:
    """A table of bad programs, which `bad` fills: ``table.cases`` are its rows."""

    def __init__(self) -> None:
        self.cases: list[tuple[Bad, str]] = []

    def bad(self, message: str) -> Callable[[Bad], Bad]:
        """Registers a program whose last line raises ScheduleError with `message`."""

        def register(program: Bad) -> Bad:
            self.cases.append((program, dedent(message).strip("\n")))
            return program

        return register


def name_of(c: object) -> str:
    """What a test of a row is called."""
    return getattr(c, "__name__", "message")


def check_refusal(program: Bad, message: str) -> None:
    """Runs a program that must be refused at one of its own lines, in these words."""
    with pytest.raises(hl.ScheduleError) as caught:
        program()
    error = caught.value
    file = inspect.getfile(program)
    assert error.at is not None and error.at.file == file
    lines, first = inspect.getsourcelines(program)
    assert first < error.at.line < first + len(lines)
    assert plain(error, file) == message


def plain(error: hl.HalideError, file: str) -> str:
    """The message without the quoted line, with the places in it hidden and the
    names as the program gave them."""
    shown = [
        line
        for line in str(error).split("\n")
        if not line.startswith(("  --> ", "   |  "))
    ]
    text = "\n".join(shown)
    text = re.sub(re.escape(file) + r":\d+", "SITE", text)
    return re.sub(r"\b([A-Za-z]\w*)\$\d+\b", r"\1", text)


def lower(*outputs: hl.Func) -> None:
    resolve(spec_of(*outputs))


def one() -> hl.Func:
    f = hl.Func("one")
    f[x, y] = x + y
    return f


def pair() -> tuple[hl.Func, hl.Func]:
    f, g = hl.Func("made"), hl.Func("used")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x, y + 1]
    return f, g


def scan() -> tuple[hl.Func, hl.RDom]:
    f = hl.Func("scan")
    r = hl.RDom([(1, 9), (0, 5)], "r")
    f[x, y] = x + y
    f[x, r.x] = 2 * f[x, r.x - 1] + r.y
    return f, r
