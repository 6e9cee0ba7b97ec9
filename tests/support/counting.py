"""How much work something is, in calls of Python functions; no clock is read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from parhelion.ir.deep import run_deep

_R = TypeVar("_R")


class TooMuch(Exception):
    """More calls than are allowed."""


def calls(work: Callable[[], _R], most: int) -> tuple[_R, int]:
    """What `work` returns, and how many Python functions it called, on the compiler's
    big stack. Raises TooMuch, and ends it, once they are more than `most`."""
    count = 0

    def note(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        if event == "call":
            count += 1
            if count > most:
                sys.setprofile(None)
                raise TooMuch(f"more than {most:,} calls")

    def counted() -> _R:
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            return work()
        finally:
            sys.setprofile(before)

    return run_deep(counted), count
