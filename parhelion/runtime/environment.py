"""Numbers that users set in the environment, checked."""

from __future__ import annotations

import os
import warnings

from parhelion.errors import here

#: The settings that were warned of.
_warned: set[tuple[str, str]] = set()


def number(name: str, what: str, most: int | None = None) -> tuple[int | None, str]:
    """Returns the whole number that an environment variable is set to, None if it is
    not set; and what is wrong with it, "" if nothing is.

    what: what is counted, for the message. most: the largest number that serves.
    """
    given = os.environ.get(name, "").strip()
    if not given:
        return None, ""
    shown = given if len(given) <= 40 else f"{given[:40]}…"
    if not (given.isascii() and given.isdecimal()):
        return None, f"{name}={shown!r} is no whole number of {what}"
    if most is not None and (len(given) > 18 or int(given) > most):
        return None, f"{name}={shown!r} is more than {most} {what}"
    return int(given), ""


def warn(name: str, wrong: str, instead: str) -> None:
    """Warns, once, of a setting that does not serve. instead: what holds."""
    told = (name, wrong)
    if told not in _warned:
        _warned.add(told)
        at = here()
        if at is None:
            warnings.warn(f"{wrong}; {instead}", stacklevel=3)
        else:
            what = f"{wrong}; {instead}"
            warnings.warn_explicit(what, UserWarning, at.file, at.line)


__all__ = ["number", "warn"]
