"""What a recursive filter warns of: results that are less exact than they look."""

from __future__ import annotations

from parhelion.errors import here
from parhelion.schedule.rules import show_once


class RecFilterWarning(UserWarning):
    """A recursive filter that is legal, and less exact than it looks."""


def warn(what: str) -> None:
    """Warns at the user's line."""
    show_once(what, RecFilterWarning, here())


__all__ = ["RecFilterWarning", "warn"]
